//! Settings > Privacy: the organization's own text on the privacy page of its career site, and the general text.

use std::sync::Arc;

use askama::Template;
use shared::handlers::responses::posting::career_portal_url;
use shared::http::page::{Problem, problem_of};
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::model::{Email, MemberRole, PrivacyText, Text};

use crate::form::problem;
use crate::layout::{Layout, Section};
use crate::messages::Notice;

const PATH: &str = "/dashboard/settings/privacy";

#[derive(Template)]
#[template(path = "privacy.html")]
struct PrivacyPage<'p> {
    layout: Layout<'p>,
    /// Whether the signed-in member is an owner. Only owners can change the text.
    is_owner: bool,
    /// The URL of the privacy page.
    url: String,
    text: &'p str,
    /// Whether the organization has a text of its own.
    has_own_text: bool,
    /// The name of the organization on its career page.
    name: &'p str,
    /// The address that the pages name for questions.
    contact: Option<&'p Email>,
    /// Problems with the field `text`.
    problems: Vec<Problem>,
}

/// Shows the current text.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    page(&request, None, Vec::new()).await
}

/// Changes the text. Without a text, the page shows the general one.
pub(crate) async fn change(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let typed = request.page.form().get("text");
    let text = match PrivacyText::parse(typed) {
        Ok(text) => text,
        Err(message) => {
            let problems = vec![problem("text", "The text", &message)];
            return Ok(page(&request, Some(typed), problems).await?.with_status(422));
        }
    };
    let mut transaction = request.transaction();
    transaction.put_privacy_text(text)?;
    request.context.store().commit(transaction).await?;
    Ok(Notice::PrivacyChanged.redirect_to(PATH))
}

/// The page with the text that was typed, or the stored one.
async fn page(
    request: &MemberRequest,
    typed: Option<&str>,
    problems: Vec<Problem>,
) -> Result<Reply<Html>, Error> {
    let (store, organization) = (request.context.store(), request.organization());
    let own = store.find_privacy_text(request.tenant()).await?;
    let site = store.find_career_site(&organization.slug).await?.ok_or(Error::NotFound)?;
    let portal = career_portal_url(request.context.base_url(), organization);
    Reply::page(&PrivacyPage {
        layout: Layout::of(request, Section::Privacy),
        is_owner: request.member().role == MemberRole::Owner,
        url: format!("{portal}/privacy"),
        text: typed.unwrap_or_else(|| own.as_ref().map_or("", Text::as_str)),
        has_own_text: own.is_some(),
        name: site.branding.name.as_str(),
        contact: request.named_organization().settings.contact_email.as_ref(),
        problems,
    })
}
