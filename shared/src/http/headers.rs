//! Request headers.

// Not the crate headers: one foreign byte hides a whole header from it.

use std::iter;
use std::net::{IpAddr, SocketAddr};

use lambda_http::http::{HeaderMap, HeaderValue};

use super::Error;

/// The media type of forms.
pub const FORM: &str = "application/x-www-form-urlencoded";

/// A header or a part of one as text, if it is visible ASCII.
pub(super) fn text(bytes: &[u8]) -> Option<&str> {
    str::from_utf8(bytes).ok().filter(|text| text.is_ascii())
}

/// The parts of a header, without the spaces around them. Other programs also write parts, so a part that is not visible
/// ASCII is empty here, and the other parts stay readable.
fn parts(value: &HeaderValue, separator: u8) -> impl Iterator<Item = &str> {
    let parts = value.as_bytes().split(move |byte| *byte == separator);
    parts.map(|part| text(part.trim_ascii()).unwrap_or_default())
}

/// The parts of all headers with this name.
fn all_parts<'h>(headers: &'h HeaderMap, name: &str, separator: u8) -> impl Iterator<Item = &'h str> {
    headers.get_all(name).iter().flat_map(move |value| parts(value, separator))
}

/// A header that must not be sent more than once.
fn only<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h HeaderValue>, Error> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    if values.next().is_some() { Err(invalid(name, "must be sent only once")) } else { Ok(value) }
}

/// A header's value. Fails if the header was sent more than once or is not visible ASCII.
pub(super) fn single<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, Error> {
    let Some(value) = only(headers, name)? else { return Ok(None) };
    text(value.as_bytes()).map(Some).ok_or_else(|| invalid(name, "must be visible ASCII"))
}

/// The idempotency key: 1 to 255 visible characters, with or without quotes.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Error> {
    let Some(value) = single(headers, "idempotency-key")? else { return Ok(None) };
    let value = value.trim();
    let key = match value.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"').unwrap_or_default(),
        None => value,
    };
    if (1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(Some(key.to_owned()))
    } else {
        Err(invalid("idempotency-key", "must be 1 to 255 visible ASCII characters"))
    }
}

/// Whether `If-Match` (RFC 9110, section 13.1.1) allows a change to the resource with this strong `etag`.
pub(super) fn if_match(headers: &HeaderMap, etag: &str) -> Result<bool, Error> {
    let Some(value) = single(headers, "if-match")? else { return Ok(true) };
    if value.trim() == "*" {
        return Ok(true);
    }
    let mut matched = false;
    for tag in value.split(',').map(str::trim) {
        let opaque = tag.strip_prefix("W/").unwrap_or(tag);
        if opaque.len() < 2 || !opaque.starts_with('"') || !opaque.ends_with('"') {
            return Err(invalid("if-match", "must be * or entity tags in double quotes"));
        }
        matched |= identifies(tag, etag);
    }
    Ok(matched)
}

/// The entity tag of a response once it is compressed. A strong tag identifies the bytes of one form.
pub(super) fn compressed(etag: &str) -> String {
    format!("{}-gzip\"", etag.trim_end_matches('"'))
}

/// Whether an entity tag is that of the version with this strong `etag`, compressed or not.
fn identifies(tag: &str, etag: &str) -> bool {
    tag == etag || tag == compressed(etag)
}

/// The entity tags of `If-None-Match` (RFC 9110, section 13.1.2): the versions that the client has. Anything else in the
/// header is ignored, because the client then only gets the whole response.
pub(super) struct KnownTags(Vec<String>);

impl KnownTags {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        Self(all_parts(headers, "if-none-match", b',').map(str::to_owned).collect())
    }

    /// Whether the client has the version with this strong `etag`, compressed or not. Weak tags count, too.
    pub(super) fn include(&self, etag: &str) -> bool {
        self.0.iter().any(|tag| tag == "*" || identifies(tag.strip_prefix("W/").unwrap_or(tag), etag))
    }
}

/// Whether `Accept-Encoding` (RFC 9110, section 12.5.3) allows gzip, and does not prefer a response without compression.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let (mut gzip, mut any, mut identity) = (None, None, None);
    for coding in all_parts(headers, "accept-encoding", b',') {
        let (name, parameter) = coding.split_once(';').unwrap_or((coding, ""));
        let quality = parameter.trim().strip_prefix("q=").map_or(Ok(1.0), str::parse::<f32>).unwrap_or(0.0);
        match name.trim() {
            name if name.eq_ignore_ascii_case("gzip") => gzip = Some(quality),
            name if name.eq_ignore_ascii_case("identity") => identity = Some(quality),
            "*" => any = Some(quality),
            _ => {}
        }
    }
    let gzip = gzip.or(any).unwrap_or(0.0);
    gzip > 0.0 && gzip >= identity.unwrap_or(0.0)
}

/// The media type and the parameters of the content type; nothing if it was sent more than once.
fn content_type(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    only(headers, "content-type").ok().flatten().into_iter().flat_map(|value| parts(value, b';'))
}

/// Whether the content type is JSON in UTF-8.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let mut parts = content_type(headers);
    parts.next().is_some_and(|media| media.eq_ignore_ascii_case("application/json"))
        && parts.all(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            !name.eq_ignore_ascii_case("charset") || value.trim_matches('"').eq_ignore_ascii_case("utf-8")
        })
}

/// Whether the content type is that of a form.
pub(super) fn is_form(headers: &HeaderMap) -> bool {
    content_type(headers).next().is_some_and(|media| media.eq_ignore_ascii_case(FORM))
}

/// The boundary between the parts of a form with a file; `None` for other content types.
pub(super) fn boundary(headers: &HeaderMap) -> Option<String> {
    let mut parts = content_type(headers);
    let media = parts.next()?;
    let parameters = parts.filter(|parameter| !parameter.is_empty());
    multer::parse_boundary(iter::once(media).chain(parameters).collect::<Vec<_>>().join(";")).ok()
}

/// The header in which a CDN proves that a request comes through it.
pub(super) const ORIGIN_SECRET: &str = "x-origin-secret";
/// `CloudFront`'s header with the client's IP address. It always has a port, and IPv6 addresses have no brackets.
const CLOUDFRONT_ADDRESS: &str = "cloudfront-viewer-address";

/// The IP address in the value of the header `name`, with or without a port.
pub(super) fn ip_address(name: &str, value: &str) -> Option<IpAddr> {
    let value = value.trim();
    if name.eq_ignore_ascii_case(CLOUDFRONT_ADDRESS) {
        let (address, port) = value.rsplit_once(':')?;
        return port.parse::<u16>().ok().and_then(|_| address.parse().ok());
    }
    value.parse().ok().or_else(|| value.parse::<SocketAddr>().map(|address| address.ip()).ok())
}

/// Whether the client accepts HTML. Only browsers do.
pub(super) fn accepts_html(headers: &HeaderMap) -> bool {
    all_parts(headers, "accept", b',').any(|range| range.contains("text/html"))
}

/// The value of the first cookie with this name.
pub(super) fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut cookies = all_parts(headers, "cookie", b';').filter_map(|cookie| cookie.split_once('='));
    cookies.find(|(cookie, _)| *cookie == name).map(|(_, value)| value)
}

/// The names of the browser and the operating system in a `User-Agent` header: `Firefox on Linux`.
///
/// Most browsers also name those that they are compatible with, so the order matters.
pub(super) fn browser(headers: &HeaderMap) -> String {
    const BROWSERS: [(&str, &str); 8] = [
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("SamsungBrowser/", "Samsung Internet"),
        ("Firefox/", "Firefox"),
        ("FxiOS/", "Firefox"),
        ("CriOS/", "Chrome"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ];
    const SYSTEMS: [(&str, &str); 7] = [
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("CrOS", "ChromeOS"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ];
    let user_agent = headers.get("user-agent").map_or(&b""[..], HeaderValue::as_bytes);
    let user_agent = String::from_utf8_lossy(user_agent);
    let name_in = |known: &[(&str, &'static str)]| {
        known.iter().find(|(part, _)| user_agent.contains(part)).map(|(_, name)| *name)
    };
    let browser = name_in(&BROWSERS).unwrap_or("Unknown browser");
    name_in(&SYSTEMS).map_or_else(|| browser.to_owned(), |system| format!("{browser} on {system}"))
}

fn invalid(name: &str, problem: &str) -> Error {
    Error::BadRequest(format!("The header {name} {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lambda_http::http::HeaderName;

    fn with(name: &'static str, values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_part_with_foreign_bytes_leaves_the_other_parts_readable() {
        type Reader = fn(&HeaderMap) -> bool;
        let lists: [(&str, &str, &str, Reader); 5] = [
            ("cookie", "; ", "rolecall=x", |headers| cookie(headers, "rolecall") == Some("x")),
            ("if-none-match", ", ", "\"a\"", |headers| KnownTags::of(headers).include("\"a\"")),
            ("accept-encoding", ", ", "gzip", accepts_gzip),
            ("accept", ", ", "text/html", accepts_html),
            ("user-agent", " ", "(Linux) Firefox/145.0", |headers| browser(headers) == "Firefox on Linux"),
        ];
        let media: [(&str, Reader); 3] = [
            ("application/json; charset=utf-8", is_json),
            (FORM, is_form),
            ("multipart/form-data; boundary=x", |headers| boundary(headers).as_deref() == Some("x")),
        ];
        let one_value: [(&str, &str, Reader); 3] = [
            ("authorization", "Bearer x", |headers| single(headers, "authorization").is_err()),
            ("idempotency-key", "x", |headers| idempotency_key(headers).is_err()),
            ("if-match", "\"a\"", |headers| if_match(headers, "\"a\"").is_err()),
        ];
        let headers = |name: &str, parts: &[&[u8]]| {
            let value = HeaderValue::from_bytes(&parts.concat()).unwrap();
            HeaderMap::from_iter([(HeaderName::from_bytes(name.as_bytes()).unwrap(), value)])
        };
        for foreign in ["name=\"Grüße\"".as_bytes(), b"name=Gr\xfc\xdfe", b"\x80"] {
            for (name, separator, own, reads) in lists {
                let (separator, own) = (separator.as_bytes(), own.as_bytes());
                assert!(reads(&headers(name, &[foreign, separator, own])), "{name} after {foreign:?}");
                assert!(reads(&headers(name, &[own, separator, foreign])), "{name} before {foreign:?}");
            }
            for (own, reads) in media {
                assert!(
                    reads(&headers("content-type", &[own.as_bytes(), b"; ", foreign])),
                    "{own} {foreign:?}"
                );
                assert!(
                    !reads(&headers("content-type", &[foreign, b"; ", own.as_bytes()])),
                    "{foreign:?} {own}"
                );
            }
            for (name, own, refuses) in one_value {
                assert!(refuses(&headers(name, &[own.as_bytes(), foreign])), "{name} with {foreign:?}");
            }
        }
    }

    #[test]
    fn an_idempotency_key_has_1_to_255_visible_characters_and_may_be_quoted() {
        let key = |values: &[&str]| {
            idempotency_key(&with("idempotency-key", values)).map_err(|error| error.kind().0)
        };
        assert_eq!(key(&[]), Ok(None));
        for same in ["k-1", "\"k-1\"", " k-1 "] {
            assert_eq!(key(&[same]), Ok(Some("k-1".to_owned())));
        }
        assert!(key(&[&"k".repeat(255)]).is_ok());
        for bad in [
            &["\"\""][..],
            &["\"k-1"],
            &["\""],
            &["\"k\"1"],
            &[""],
            &["a b"],
            &["\u{e9}"],
            &[&"k".repeat(256)],
            &["a", "b"],
        ] {
            assert_eq!(key(bad), Err(400), "{bad:?}");
        }
    }

    #[test]
    fn if_match_compares_strongly() {
        let check =
            |value: &str| if_match(&with("if-match", &[value]), "\"a\"").map_err(|error| error.kind().0);
        for (value, matches) in
            [("*", true), ("\"a\"", true), ("\"b\", \"a\"", true), ("\"b\"", false), ("W/\"a\"", false)]
                .into_iter()
                .chain([
                    ("\"a-gzip\"", true),
                    ("W/\"a-gzip\"", false),
                    ("\"b-gzip\"", false),
                    ("\"-gzip\"", false),
                ])
        {
            assert_eq!(check(value), Ok(matches), "{value}");
        }
        for bad in ["a", "\"a", "", "\"a\", b"] {
            assert_eq!(check(bad), Err(400), "{bad}");
        }
    }

    #[test]
    fn if_none_match_compares_weakly_and_ignores_everything_else() {
        let known = |values: &[&str]| KnownTags::of(&with("if-none-match", values)).include("\"a\"");
        for values in [&["*"][..], &["\"a\""], &["W/\"a\""], &["\"b\" ,W/\"a\",\"c\""], &["\"b\"", " \"a\" "]]
            .into_iter()
            .chain([&["\"a-gzip\""][..], &["W/\"a-gzip\""]])
        {
            assert!(known(values), "{values:?}");
        }
        for values in [&[][..], &[""], &["\"b\""], &["a"], &["\"a"], &["W/a"], &["w/\"a\""], &["\"**\""]] {
            assert!(!known(values), "{values:?}");
        }
    }

    #[test]
    fn gzip_is_accepted_by_name_or_by_a_star_unless_its_quality_is_lower() {
        let accepted = |value: &str| accepts_gzip(&with("accept-encoding", &[value]));
        for value in
            ["gzip", "deflate, gzip;q=1.0, *;q=0.5", "GZIP", "*", "br;q=1.0,gzip; q=0.001", "gzip, *;q=0"]
                .into_iter()
                .chain(["identity;q=0.5, gzip;q=0.5", "gzip;q=0.1, identity;q=0"])
        {
            assert!(accepted(value), "{value}");
        }
        let preferred = ["identity, gzip;q=0.9", "gzip;q=0.5, Identity;q=0.8", "*;q=0.1, identity"];
        for value in ["", "br", "identity", "gzip;q=0", "*;q=0", "gzip;q=0.000, *", "gzip;q=x", "xgzip"]
            .into_iter()
            .chain(preferred)
        {
            assert!(!accepted(value), "{value}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn a_browser_is_named_with_its_operating_system() {
        let like = "AppleWebKit/537.36 (KHTML, like Gecko)";
        for (user_agent, name) in [
            ("Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0", "Firefox on Linux"),
            (
                &format!("Mozilla/5.0 (Windows NT 10.0; Win64; x64) {like} Chrome/142.0.0.0 Safari/537.36"),
                "Chrome on Windows",
            ),
            (
                &format!("Mozilla/5.0 (Windows NT 10.0) {like} Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0"),
                "Edge on Windows",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/26.0 Safari/605.1.15",
                "Safari on macOS",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) CriOS/142.0 Mobile/15E148 Safari/604.1",
                "Chrome on iPhone",
            ),
            (
                &format!("Mozilla/5.0 (Linux; Android 16) {like} Chrome/142.0.0.0 Mobile Safari/537.36"),
                "Chrome on Android",
            ),
            ("curl/8.9.1", "Unknown browser"),
            ("", "Unknown browser"),
        ] {
            assert_eq!(browser(&with("user-agent", &[user_agent])), name, "{user_agent}");
        }
    }

    #[test]
    fn an_ip_address_may_have_a_port() {
        for (value, expected) in [
            ("198.51.100.10", Some("198.51.100.10")),
            ("198.51.100.10:46532", Some("198.51.100.10")),
            ("2001:db8::1", Some("2001:db8::1")),
            ("[2001:db8::1]:46532", Some("2001:db8::1")),
            ("198.51.100.10, 203.0.113.1", None),
            ("unknown", None),
        ] {
            let address = ip_address("x-real-ip", value).map(|address| address.to_string());
            assert_eq!(address.as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn the_address_of_cloudfront_ends_at_the_last_colon() {
        for (value, expected) in [
            ("198.51.100.10:46532", Some("198.51.100.10")),
            ("2001:db8::1:443", Some("2001:db8::1")),
            ("2001:db8:1:2:3:4:5:6:46532", Some("2001:db8:1:2:3:4:5:6")),
            ("::1:80", Some("::1")),
            ("198.51.100.10", None),
            ("2001:db8::1:99999", None),
            ("2001:db8::1:", None),
            ("", None),
        ] {
            let address = ip_address("CloudFront-Viewer-Address", value).map(|address| address.to_string());
            assert_eq!(address.as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn a_json_body_requires_the_json_media_type_and_utf_8() {
        for good in
            ["application/json", "Application/JSON; charset=UTF-8", "application/json;charset=\"utf-8\""]
        {
            assert!(is_json(&with("content-type", &[good])), "{good}");
        }
        for bad in [
            "",
            "text/plain",
            "application/jsonx",
            "application/json; charset=latin1",
            "application/x-www-form-urlencoded",
        ] {
            assert!(!is_json(&with("content-type", &[bad])), "{bad}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
