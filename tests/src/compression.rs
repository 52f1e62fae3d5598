//! The compression of responses.

use std::io::Read;

use flate2::read::GzDecoder;
use http::{HeaderMap, HeaderValue};

/// Returns the content of a body, which may be compressed.
pub(crate) fn uncompressed(headers: &HeaderMap, body: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    match headers.get("content-encoding").map(HeaderValue::as_bytes) {
        None => content.extend_from_slice(body),
        Some(b"gzip") if body.is_empty() => {}
        Some(b"gzip") => drop(GzDecoder::new(body).read_to_end(&mut content).expect("gzip")),
        Some(other) => panic!("the content encoding is {other:?}"),
    }
    content
}
