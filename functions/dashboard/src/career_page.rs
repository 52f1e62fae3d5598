//! Settings > Career page: the organization's name, introduction, colour and logo for candidates.

use std::sync::Arc;

use askama::Template;
use shared::handlers::responses::posting::{career_portal_url, logo_path};
use shared::http::page::{Problem, problem_of};
use shared::http::{Error, Html, MemberRequest, Parameters, Reply};
use shared::model::{Accent, Branding, CareerSite, Introduction, Logo, Text, WebAddress, non_blank};
use shared::store::{OrganizationError, StoreError};

use crate::form::{collect, problem, required};
use crate::layout::{Layout, Section};
use crate::messages::Notice;

const PATH: &str = "/dashboard/settings/career-page";
/// The colour with which the picker opens if the career page has the service's own colour.
const DEFAULT_ACCENT: &str = "#2450d3";

#[derive(Template)]
#[template(path = "career_page.html")]
struct BrandingPage<'p> {
    layout: Layout<'p>,
    /// The career page's URL.
    url: &'p str,
    name: &'p str,
    introduction: &'p str,
    accent: &'p str,
    /// The colour with which the picker opens, and which the form was opened with.
    picked: &'p str,
    logo_url: &'p str,
    /// The path of the uploaded logo.
    logo: Option<String>,
    /// Problems with the fields `name`, `introduction`, `accent`, `logo_url` and `logo`.
    problems: Vec<Problem>,
}

/// Shows the current branding.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    stored(&request, Vec::new()).await
}

/// The page with the stored values.
async fn stored(request: &MemberRequest, problems: Vec<Problem>) -> Result<Reply<Html>, Error> {
    let site = find(request).await?;
    let Branding { name, introduction, accent, logo_url } = &site.branding;
    let accent = accent.map(|accent| accent.on_light().to_string());
    let values = [
        name.as_str(),
        introduction.as_ref().map_or("", Text::as_str),
        accent.as_deref().unwrap_or_default(),
        logo_url.as_ref().map_or("", WebAddress::as_str),
    ];
    page(request, &site, values, problems)
}

/// Replaces the logo by a file, or removes it.
pub(crate) async fn change_logo(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let refuse = async |message: &str| {
        let page = stored(&request, vec![problem("logo", "The logo", message)]).await?;
        Ok(page.with_status(422))
    };
    let (logo, notice) = match (request.page.form().get("action"), request.page.file()) {
        ("remove", _) => (None, Notice::LogoRemoved),
        (_, None) => return refuse("is missing: choose a file").await,
        (_, Some(content)) => match Logo::check(&content) {
            Ok(logo) => (Some(logo), Notice::LogoChanged),
            Err(message) => return refuse(message).await,
        },
    };
    let mut transaction = request.transaction();
    transaction.put_logo(request.organization(), logo)?;
    request.context.store().commit(transaction).await?;
    Ok(notice.redirect_to(PATH))
}

/// Changes the branding.
pub(crate) async fn change(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let form = request.page.form();
    let mut problems = Vec::new();
    let name = collect(required("name", "The name", Text::parse(form.get("name"))), &mut problems);
    // Browsers send line breaks as CR LF, but the introduction is one line.
    let introduction = form.get("introduction").split_whitespace().collect::<Vec<_>>().join(" ");
    let introduction = Introduction::parse(&introduction)
        .map_err(|message| problem("introduction", "The introduction", &message));
    let introduction = collect(introduction, &mut problems).flatten();
    let accent = collect(accent(chosen_accent(form)), &mut problems).flatten();
    let logo_url = collect(logo_url(form.get("logo_url")), &mut problems).flatten();
    let (Some(name), true) = (name, problems.is_empty()) else {
        let mut values = ["name", "introduction", "accent", "logo_url"].map(|field| form.get(field));
        values[2] = chosen_accent(form);
        return Ok(page(&request, &find(&request).await?, values, problems)?.with_status(422));
    };
    let branding = Branding { name, introduction, accent, logo_url };
    match request.context.store().set_branding(request.organization(), &branding).await {
        Ok(()) => Ok(Notice::CareerPageChanged.redirect_to(PATH)),
        Err(OrganizationError::Store(error)) => Err(error.into()),
        Err(error) => Err(StoreError::Internal(error.to_string()).into()),
    }
}

/// The colour as text: of the picker if that was changed, otherwise of the text field. The picker always has a colour, so
/// the form also has the one that it was opened with.
fn chosen_accent(form: &Parameters) -> &str {
    match (form.non_empty("accent_picker"), form.get("accent_opened")) {
        (Some(picked), opened) if !picked.eq_ignore_ascii_case(opened) => picked,
        _ => form.get("accent"),
    }
}

fn accent(text: &str) -> Result<Option<Accent>, Problem> {
    let Some(text) = non_blank(text) else { return Ok(None) };
    text.parse().map(Some).map_err(|message: String| problem("accent", "The colour", &message))
}

fn logo_url(text: &str) -> Result<Option<WebAddress>, Problem> {
    let Some(text) = non_blank(text) else { return Ok(None) };
    let problem = |message: &str| problem("logo_url", "The logo URL", message);
    if !text.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://")) {
        return Err(problem("must start with https://"));
    }
    text.parse().map(Some).map_err(|message: String| problem(&message))
}

async fn find(request: &MemberRequest) -> Result<CareerSite, Error> {
    let slug = &request.organization().slug;
    request.context.store().find_career_site(slug).await?.ok_or(Error::NotFound)
}

fn page(
    request: &MemberRequest,
    site: &CareerSite,
    values: [&str; 4],
    problems: Vec<Problem>,
) -> Result<Reply<Html>, Error> {
    let [name, introduction, accent, logo_url] = values;
    let url = career_portal_url(request.context.base_url(), request.organization());
    Reply::page(&BrandingPage {
        layout: Layout::of(request, Section::CareerPage),
        url: &url,
        name,
        introduction,
        accent,
        picked: if accent.parse::<Accent>().is_ok() && accent.len() == DEFAULT_ACCENT.len() {
            accent
        } else {
            DEFAULT_ACCENT
        },
        logo_url,
        logo: site.logo.as_ref().map(|hash| logo_path(&site.slug, hash)),
        problems,
    })
}
