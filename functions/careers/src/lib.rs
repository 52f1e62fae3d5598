//! The career pages: public pages, feeds and application forms for an organization's open postings. All pages are
//! rendered on the server. They need no scripts, set no cookies and load nothing from other sites except the
//! organization's logo, if it was not uploaded.

mod application_form;
mod applications;
mod assets;
mod author;
mod confirmation;
mod feed_formats;
mod feed_handlers;
mod form_document;
mod form_file;
mod formatting;
mod job_boards;
mod job_page;
mod json_ld;
mod kept_file;
mod logo;
mod openings;
mod page_time;
mod pages;
mod position;
mod preview;
mod privacy_page;
mod question_fields;
mod resume_error;
mod resumes;
mod robots;
mod site;
mod suspects;
mod upload_ticket;
#[cfg(test)]
mod xss_tests;

pub use preview::Preview;
use shared::http::{Access, ReplyFormat, Route, Row};

/// The routes for programs and search engines.
pub fn routes<R: Row>() -> Vec<R> {
    let (access, format) = (Access::Public, ReplyFormat::Document);
    vec![
        R::open("GET /robots.txt", access, format, robots::show_robots),
        R::open("GET /careers/{org}/jobs.json", access, format, feed_handlers::list_jobs),
        R::open("GET /careers/{org}/sitemap.xml", access, format, feed_handlers::show_sitemap),
        R::open("GET /careers/{org}/feeds/indeed.xml", access, format, job_boards::show_indeed),
        R::open("GET /careers/{org}/feeds/linkedin.xml", access, format, job_boards::show_linkedin),
        R::open("GET /careers/{org}/{slug}/form.json", access, format, form_document::show_form),
    ]
}

/// The pages for candidates.
pub fn pages() -> Vec<Route> {
    vec![
        Route::public_page("GET /careers/style.css", assets::style),
        Route::public_page("GET /careers/script.js", assets::script),
        Route::public_page("GET /careers/{org}", openings::list),
        Route::public_page("GET /careers/{org}/privacy", privacy_page::show),
        Route::public_page("GET /careers/{org}/logo.image/{hash}", logo::show),
        Route::public_page("GET /careers/{org}/{slug}", job_page::show),
        Route::public_page("POST /careers/{org}/{slug}/apply", applications::apply),
        Route::public_page("GET /careers/{org}/{slug}/apply", confirmation::received),
    ]
}
