//! The stylesheet of the career pages.

use std::future::{Ready, ready};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use shared::http::{Error, Html, PublicRequest, Reply};

/// The stylesheet's content.
pub(crate) const STYLE: &str = include_str!("../style.css");

/// Returns the stylesheet's version, a hash of its content. It is part of the stylesheet's URL, so browsers can cache
/// the file for a year.
pub(crate) fn style_version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| URL_SAFE_NO_PAD.encode(&Sha256::digest(STYLE)[..9]));
    &VERSION
}

/// Serves the stylesheet.
pub(crate) fn style(_: PublicRequest) -> Ready<Result<Reply<Html>, Error>> {
    ready(Ok(Reply::file("text/css; charset=utf-8", STYLE)))
}
