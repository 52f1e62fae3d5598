//! The career pages: what candidates and search engines see of an organization's postings. Pages from the server; nothing here
//! needs a script, sets a cookie, or asks anybody else for anything.
//!
//! | Method | Path | What |
//! |---|---|---|
//! | GET | `/robots.txt` | what search engines may read |
//! | GET | `/careers/{org}/jobs.json` | open postings for programs, with descriptions |
//! | GET | `/careers/{org}/sitemap.xml` | the same for search engines |
//! | GET | `/careers/style.css` | the stylesheet of the career pages |
//! | GET | `/careers/{org}` | open postings, by words, department, place and remote policy where given |
//! | GET | `/careers/{org}/{slug}` | a posting with the form to apply |
//! | POST | `/careers/{org}/{slug}/apply` | apply |
//! | GET | `/careers/{org}/{slug}/apply` | thanks, and the form to send a résumé file |

mod applications;
mod feed;
mod feeds;
#[cfg(test)]
mod hostile;
mod job_posting;
mod jobs;
mod markdown;
mod openings;
mod pages;
mod resumes;
mod site;
mod words;

use std::future::{Ready, ready};
use std::sync::Arc;

use shared::http::{Access, Error, Form, Output, Page, Reply, Route, Row, Sent, Visit};

/// What programs and search engines send.
pub fn routes<R: Row>() -> Vec<R> {
    let (anybody, form) = (Access::Public, Form::Document);
    vec![
        R::open("GET /robots.txt", anybody, form, show_robots),
        R::open("GET /careers/{org}/jobs.json", anybody, form, feeds::list_jobs),
        R::open("GET /careers/{org}/sitemap.xml", anybody, form, feeds::show_sitemap),
    ]
}

/// What a candidate's browser asks for.
pub fn pages() -> Vec<Route> {
    vec![
        Route::site("GET /careers/style.css", style),
        Route::site("GET /careers/{org}", openings::list),
        Route::site("GET /careers/{org}/{slug}", jobs::show),
        Route::site("POST /careers/{org}/{slug}/apply", applications::apply),
        Route::site("GET /careers/{org}/{slug}/apply", applications::received),
    ]
}

/// Career pages may be read; everything else is nobody's business but its users'.
const ROBOTS: &str = "User-agent: *\nAllow: /careers/\nDisallow: /careers/*/apply\nDisallow: /\n";

/// What search engines may read (RFC 9309).
enum Robots {}

impl Output for Robots {
    const STATUS: u16 = 200;
    const MEDIA: &'static str = "text/plain";
    const HEADERS: &'static [&'static str] = &[];
    type Body = String;
}

/// Tells search engines what they may read.
fn show_robots(_: Sent<()>) -> Ready<Result<Reply<Robots>, Error>> {
    let robots = Reply::document("text/plain; charset=utf-8", ROBOTS.to_owned());
    ready(Ok(robots.with("cache-control", "public, max-age=86400".to_owned())))
}

fn style(_: Arc<Visit>) -> Ready<Result<Reply<Page>, Error>> {
    ready(Ok(Reply::file("text/css; charset=utf-8", site::STYLE)))
}
