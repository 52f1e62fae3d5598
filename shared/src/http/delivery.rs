//! How a reply is sent: not at all if the client already has it, compressed if the client allows it, and without its body
//! in response to HEAD.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use lambda_http::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, ETAG, HeaderValue, VARY};
use lambda_http::http::{HeaderMap, Method, StatusCode};
use lambda_http::{Body, Request, Response};

use super::headers::{self, KnownTags};

/// The size in bytes from which a body is compressed.
const MIN_COMPRESSED: usize = 1_024;
/// The level of compression. Higher levels take twice as long and save less than 5%.
const LEVEL: Compression = Compression::new(5);

/// The delivery that a request asks for.
pub(super) struct Delivery {
    method: Method,
    known: KnownTags,
    accepts_gzip: bool,
}

/// A response before its delivery.
pub(super) struct Outgoing {
    pub(super) response: Response<Body>,
    /// Whether the entity tag identifies the whole body, so that the response may become a 304.
    pub(super) is_revalidated: bool,
    /// Whether the body may be compressed.
    pub(super) is_compressible: bool,
}

impl Delivery {
    pub(super) fn of(request: &Request) -> Self {
        let headers = request.headers();
        Self {
            method: request.method().clone(),
            known: KnownTags::of(headers),
            accepts_gzip: headers::accepts_gzip(headers),
        }
    }

    /// Completes the response.
    pub(super) fn deliver(&self, outgoing: Outgoing) -> Response<Body> {
        let Outgoing { mut response, is_revalidated, is_compressible } = outgoing;
        let is_text = matches!(response.body(), Body::Text(text) if text.len() >= MIN_COMPRESSED);
        let is_compressible = is_compressible && is_text;
        if is_compressible {
            vary_by_encoding(response.headers_mut());
        }
        if is_revalidated && self.has(&response) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            if is_compressible && self.accepts_gzip {
                tag_compressed(response.headers_mut());
            }
            return response.map(|_| Body::Empty);
        }
        let (mut parts, mut body) = response.into_parts();
        if is_compressible
            && self.accepts_gzip
            && let Some(compressed) = gzip(&body)
        {
            parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            tag_compressed(&mut parts.headers);
            body = Body::Binary(compressed);
        }
        if self.method == Method::HEAD && !body.is_empty() {
            parts.headers.insert(CONTENT_LENGTH, body.len().into());
            body = Body::Empty;
        }
        Response::from_parts(parts, body)
    }

    /// Whether the client already has this response (RFC 9110, section 13.1.2).
    fn has(&self, response: &Response<Body>) -> bool {
        let tag = response.headers().get(ETAG).map(HeaderValue::as_bytes).and_then(headers::text);
        matches!(self.method, Method::GET | Method::HEAD)
            && response.status() == StatusCode::OK
            && tag.is_some_and(|tag| self.known.include(tag))
    }
}

/// Says that the response depends on `Accept-Encoding`, in one header with what the handler says.
fn vary_by_encoding(headers: &mut HeaderMap) {
    const OWN: &str = "Accept-Encoding";
    let others = headers.get(VARY).map(HeaderValue::as_bytes).and_then(headers::text);
    let all = others.and_then(|others| HeaderValue::try_from(format!("{others}, {OWN}")).ok());
    headers.insert(VARY, all.unwrap_or(HeaderValue::from_static(OWN)));
}

/// Replaces the entity tag by that of the compressed response (RFC 9110, section 8.8.3.3).
fn tag_compressed(headers: &mut HeaderMap) {
    let tag = headers.get(ETAG).map(HeaderValue::as_bytes).and_then(headers::text).map(headers::compressed);
    if let Some(tag) = tag.and_then(|tag| HeaderValue::try_from(tag).ok()) {
        headers.insert(ETAG, tag);
    }
}

/// Compresses a body. Returns `None` if that does not make the event for the gateway smaller, in which a compressed body
/// is base64.
fn gzip(body: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), LEVEL);
    encoder.write_all(body).ok()?;
    let compressed = encoder.finish().ok()?;
    (compressed.len() / 3 * 4 < body.len()).then_some(compressed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;

    fn delivery(method: &Method, headers: &[(&str, &str)]) -> Delivery {
        let request = lambda_http::http::Request::builder().method(method);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        Delivery::of(&request.body(Body::Empty).unwrap())
    }

    fn outgoing(status: u16, body: &str) -> Outgoing {
        let response = Response::builder().status(status).header("etag", "\"a\"").header("x-request-id", "x");
        let response = response.body(Body::from(body)).unwrap();
        Outgoing { response, is_revalidated: true, is_compressible: true }
    }

    fn header<'r>(response: &'r Response<Body>, name: &str) -> Option<&'r str> {
        response.headers().get(name).map(|value| str::from_utf8(value.as_bytes()).unwrap())
    }

    #[test]
    fn a_known_response_to_a_read_is_not_sent_again() {
        let known = [("if-none-match", "\"a\"")];
        for (method, status, sent) in [
            (Method::GET, 200, 304),
            (Method::HEAD, 200, 304),
            (Method::POST, 200, 200),
            (Method::PATCH, 200, 200),
            (Method::GET, 404, 404),
            (Method::GET, 303, 303),
        ] {
            let response = delivery(&method, &known).deliver(outgoing(status, "body"));
            assert_eq!(response.status(), sent, "{method} {status}");
            assert_eq!(response.body().is_empty(), sent == 304 || method == Method::HEAD);
            assert_eq!(
                (header(&response, "etag"), header(&response, "x-request-id")),
                (Some("\"a\""), Some("x"))
            );
        }
        let aging = Outgoing { is_revalidated: false, ..outgoing(200, "body") };
        assert_eq!(delivery(&Method::GET, &known).deliver(aging).status(), 200);
        let mut untagged = outgoing(200, "body");
        untagged.response.headers_mut().remove("etag");
        assert_eq!(delivery(&Method::GET, &[("if-none-match", "*")]).deliver(untagged).status(), 200);
    }

    #[test]
    fn bodies_of_a_kilobyte_are_compressed() {
        let text = "a role ".repeat(200);
        let gzip = [("accept-encoding", "br, gzip")];
        let response = delivery(&Method::GET, &gzip).deliver(outgoing(200, &text));
        assert_eq!(header(&response, "content-encoding"), Some("gzip"));
        assert_eq!(header(&response, "vary"), Some("Accept-Encoding"));
        assert_eq!(header(&response, "etag"), Some("\"a-gzip\""));
        let Body::Binary(compressed) = response.body() else { panic!("the gateway needs base64") };
        let mut read = String::new();
        GzDecoder::new(compressed.as_slice()).read_to_string(&mut read).unwrap();
        assert_eq!(read, text);
        let length = compressed.len().to_string();
        let head = delivery(&Method::HEAD, &gzip).deliver(outgoing(200, &text));
        assert!(head.body().is_empty());
        assert_eq!(header(&head, "content-length"), Some(length.as_str()));
        assert_eq!(header(&head, "content-encoding"), Some("gzip"));

        let plain = delivery(&Method::GET, &[]).deliver(outgoing(200, &text));
        assert_eq!(
            (header(&plain, "content-encoding"), header(&plain, "vary")),
            (None, Some("Accept-Encoding"))
        );
        assert_eq!(header(&plain, "etag"), Some("\"a\""));
        // A client may have either form. The tag is that of the form which it would get.
        for tag in ["*", "\"a\"", "\"a-gzip\"", "W/\"a-gzip\""] {
            for (accepted, own) in [(&gzip[..], "\"a-gzip\""), (&[], "\"a\"")] {
                let headers = [accepted, &[("if-none-match", tag)]].concat();
                let known = delivery(&Method::GET, &headers).deliver(outgoing(200, &text));
                assert_eq!((known.status().as_u16(), header(&known, "vary")), (304, Some("Accept-Encoding")));
                assert_eq!((header(&known, "content-encoding"), header(&known, "etag")), (None, Some(own)));
            }
        }
        let small = delivery(&Method::GET, &gzip).deliver(outgoing(200, &text[..1_023]));
        assert_eq!((header(&small, "content-encoding"), header(&small, "vary")), (None, None));
        let secret = Outgoing { is_compressible: false, ..outgoing(200, &text) };
        let secret = delivery(&Method::GET, &gzip).deliver(secret);
        assert_eq!((header(&secret, "content-encoding"), header(&secret, "vary")), (None, None));
    }

    #[test]
    fn what_a_response_depends_on_is_in_one_header() {
        let mut outgoing = outgoing(200, &"a role ".repeat(200));
        outgoing.response.headers_mut().insert("vary", HeaderValue::from_static("Accept"));
        let response = delivery(&Method::GET, &[]).deliver(outgoing);
        let all: Vec<_> = response.headers().get_all("vary").iter().collect();
        assert_eq!(all, ["Accept, Accept-Encoding"]);
    }

    #[test]
    fn head_has_the_length_but_not_the_body() {
        let response = delivery(&Method::HEAD, &[]).deliver(outgoing(404, "Grüße"));
        assert_eq!((response.status().as_u16(), header(&response, "content-length")), (404, Some("7")));
        assert!(response.body().is_empty());
    }
}
