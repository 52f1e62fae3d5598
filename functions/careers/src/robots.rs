//! The `robots.txt` file (RFC 9309).

use std::future::{Ready, ready};

use shared::http::{Error, Output, PublicRequest, Reply};

/// Search engines may read the career pages and nothing else.
const ROBOTS: &str = "User-agent: *\nAllow: /careers/\nDisallow: /careers/*/apply\nDisallow: /\n";

/// The rules for search engines (RFC 9309).
pub(crate) enum Robots {}

impl Output for Robots {
    const STATUS: u16 = 200;
    const MEDIA: &'static str = "text/plain";
    const HEADERS: &'static [&'static str] = &[];
    type Body = String;
}

/// Returns the rules for search engines.
pub(crate) fn show_robots(_: PublicRequest) -> Ready<Result<Reply<Robots>, Error>> {
    let robots = Reply::document("text/plain; charset=utf-8", ROBOTS.to_owned());
    ready(Ok(robots.with("cache-control", "public, max-age=86400".to_owned())))
}
