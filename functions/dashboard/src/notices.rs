//! Settings > Account > Security notices: what has happened to the member's account.

use std::sync::Arc;

use askama::Template;
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::id::Id;
use shared::model::Session;

use crate::dates::{self, Time};
use crate::layout::{Layout, Section};
use crate::messages::Notice;

const PATH: &str = "/dashboard/settings/account/notices";

#[derive(Template)]
#[template(path = "notices.html")]
struct NoticesPage<'p> {
    layout: Layout<'p>,
    /// The notices, newest first.
    notices: Vec<NoticeRow>,
    /// The newest notice on the page.
    newest: Option<u64>,
}

struct NoticeRow {
    at: Time,
    sentence: String,
}

/// Shows the notices that the member has not dismissed.
pub(crate) async fn list(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (organization, member) = (request.tenant().organization, request.member().id);
    let notices = request.context.store().list_notices(organization, member).await?;
    let zone = dates::zone(&request);
    Reply::page(&NoticesPage {
        layout: Layout::of(&request, Section::Account),
        newest: notices.first().map(|notice| notice.id.get()),
        notices: notices
            .iter()
            .map(|notice| NoticeRow { at: zone.minute(notice.at), sentence: notice.event.sentence() })
            .collect(),
    })
}

/// Dismisses the notices that the page has shown.
pub(crate) async fn dismiss(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let newest: Id = request.page.form().get("newest").parse().map_err(|_| {
        Error::BadRequest("The form must name the newest notice that it dismisses".to_owned())
    })?;
    let (organization, member, store) =
        (request.tenant().organization, request.member().id, request.context.store());
    let notices = store.list_notices(organization, member).await?;
    let mut transaction = request.transaction();
    let (shown, newer): (Vec<_>, Vec<_>) = notices.into_iter().partition(|notice| notice.id <= newest);
    for notice in shown {
        transaction.delete_notice(member, notice.id);
    }
    let session = Session { has_notices: !newer.is_empty(), ..request.session().clone() };
    transaction.replace_session(request.session_hash(), &session)?;
    store.commit(transaction).await?;
    Ok(Notice::NoticesDismissed.redirect_to(PATH))
}
