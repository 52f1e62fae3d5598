//! Settings, Career page: how the organization looks to candidates.

use std::sync::Arc;

use shared::http::page::Problem;
use shared::http::{Desk, Error, Page, Reply};
use shared::model::{Accent, Branding, CareerSite, Introduction, Text, WebAddress};
use shared::resources::posting::career_portal_url;
use shared::store::{Denied, Failure};

use crate::frame::{done, frame, problem};
use crate::pages::{CareerPage, Section};

const PATH: &str = "/dashboard/settings/career-page";

/// Shows how it looks.
pub(crate) async fn show(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let Branding { name, introduction, accent, logo_url } = find(&desk).await?.branding;
    let accent = accent.map(|accent| accent.on_light().to_string());
    page(
        &desk,
        [
            name.as_str(),
            introduction.as_ref().map_or("", Text::as_str),
            accent.as_deref().unwrap_or_default(),
            logo_url.as_ref().map_or("", WebAddress::as_str),
        ],
        Vec::new(),
    )
}

/// Changes how it looks.
pub(crate) async fn change(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let form = desk.form();
    let mut problems = Vec::new();
    let mut wrong = |field, label, what: &str| problems.push(problem(field, label, what));
    let name = match Text::parse(form.get("name")) {
        Ok(Some(name)) => Some(name),
        Ok(None) => {
            wrong("name", "The name", "can't be blank");
            None
        }
        Err(what) => {
            wrong("name", "The name", &what);
            None
        }
    };
    // A form's lines end in two characters, and a paragraph is one line.
    let introduction = form.get("introduction").split_whitespace().collect::<Vec<_>>().join(" ");
    let introduction = Introduction::parse(&introduction).unwrap_or_else(|what| {
        wrong("introduction", "The introduction", &what);
        None
    });
    let accent = match form.get("accent").trim() {
        "" => None,
        colour => colour.parse::<Accent>().map_err(|what| wrong("accent", "The colour", &what)).ok(),
    };
    let logo_url = match form.get("logo_url").trim() {
        "" => None,
        address if !address.starts_with("https://") => {
            wrong("logo_url", "The logo's address", "must begin with https://");
            None
        }
        address => {
            address.parse().map_err(|what: String| wrong("logo_url", "The logo's address", &what)).ok()
        }
    };
    let (Some(name), true) = (name, problems.is_empty()) else {
        let typed = ["name", "introduction", "accent", "logo_url"].map(|field| form.get(field));
        return Ok(page(&desk, typed, problems)?.refused(422));
    };
    let branding = Branding { name, introduction, accent, logo_url };
    match desk.store().set_branding(desk.organization(), &branding).await {
        Ok(()) => Ok(done(PATH, "career-page-changed")),
        Err(Denied::Failed(failure)) => Err(failure.into()),
        Err(denied) => Err(Failure::Internal(denied.to_string()).into()),
    }
}

async fn find(desk: &Desk) -> Result<CareerSite, Error> {
    desk.store().find_career_site(&desk.organization().slug).await?.ok_or(Error::NotFound)
}

fn page(desk: &Desk, typed: [&str; 4], problems: Vec<Problem>) -> Result<Reply<Page>, Error> {
    let [name, introduction, accent, logo_url] = typed;
    let address = career_portal_url(desk.base_url(), desk.organization());
    Reply::page(&CareerPage {
        frame: frame(desk, Section::CareerPage),
        address: &address,
        name,
        introduction,
        accent,
        logo_url,
        problems,
    })
}
