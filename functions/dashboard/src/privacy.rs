//! Settings > Privacy: the organization's own text on the privacy page of its career site.

use std::sync::Arc;

use askama::Template;
use shared::http::page::{Problem, problem_of};
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::model::{MemberRole, PrivacyText, Text};
use shared::resources::posting::career_portal_url;

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
    /// Problems with the field `text`.
    problems: Vec<Problem>,
}

/// Shows the current text.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let text = request.context.store().find_privacy_text(request.tenant()).await?;
    page(&request, text.as_ref().map_or("", Text::as_str), Vec::new())
}

/// Changes the text. Without a text, the page shows the general one.
pub(crate) async fn change(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let typed = request.page.form().get("text");
    let text = match PrivacyText::parse(typed) {
        Ok(text) => text,
        Err(message) => {
            let problems = vec![problem("text", "The text", &message)];
            return Ok(page(&request, typed, problems)?.with_status(422));
        }
    };
    let mut transaction = request.transaction();
    transaction.put_privacy_text(text)?;
    request.context.store().commit(transaction).await?;
    Ok(Notice::PrivacyChanged.redirect_to(PATH))
}

fn page(request: &MemberRequest, text: &str, problems: Vec<Problem>) -> Result<Reply<Html>, Error> {
    let portal = career_portal_url(request.context.base_url(), request.organization());
    Reply::page(&PrivacyPage {
        layout: Layout::of(request, Section::Privacy),
        is_owner: request.member().role == MemberRole::Owner,
        url: format!("{portal}/privacy"),
        text,
        problems,
    })
}
