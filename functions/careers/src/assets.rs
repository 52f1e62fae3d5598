//! The stylesheet of the career pages, and the script of their application form.

use std::future::{Ready, ready};
use std::sync::LazyLock;

use shared::http::page::{FILE_SIZE_SCRIPT, version_of};
use shared::http::{Error, Html, PublicRequest, Reply};

/// The stylesheet's content.
pub(crate) const STYLE: &str = concat!(
    include_str!("../../../shared/style/base.css"),
    include_str!("../../../shared/style/forms_and_texts.css"),
    include_str!("../style.css"),
);

/// Returns the stylesheet's version, a hash of its content. It is part of the stylesheet's URL, so browsers can cache
/// the file for a year.
pub(crate) fn style_version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| version_of(STYLE));
    &VERSION
}

/// Returns the script's version, like that of the stylesheet.
pub(crate) fn script_version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| version_of(FILE_SIZE_SCRIPT));
    &VERSION
}

/// Serves the script.
pub(crate) fn script(_: PublicRequest) -> Ready<Result<Reply<Html>, Error>> {
    ready(Ok(Reply::file("text/javascript; charset=utf-8", FILE_SIZE_SCRIPT)))
}

/// Serves the stylesheet.
pub(crate) fn style(_: PublicRequest) -> Ready<Result<Reply<Html>, Error>> {
    ready(Ok(Reply::file("text/css; charset=utf-8", STYLE)))
}
