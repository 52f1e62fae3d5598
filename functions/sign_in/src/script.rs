//! The script of the pages for passkeys.

use std::future::{Ready, ready};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use shared::http::{Error, Html, PublicRequest, Reply};

const SCRIPT: &str = include_str!("../script/passkeys.js");

/// The version in the script's URL. It changes with the content, so browsers may cache the script.
pub(crate) fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| URL_SAFE_NO_PAD.encode(&Sha256::digest(SCRIPT)[..9]));
    &VERSION
}

/// The script of the pages for passkeys.
pub(crate) fn show(_: PublicRequest) -> Ready<Result<Reply<Html>, Error>> {
    ready(Ok(Reply::file("text/javascript; charset=utf-8", SCRIPT)))
}
