//! Settings > Account > Notices: what has happened to the member's account, what owners should know of, who mentioned the member,
//! and which imports and exports ended.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::id::Id;
use shared::model::{self, MemberRole, NoticeEvent, Session};

use crate::dates::{self, Time};
use crate::layout::{Layout, Section};
use crate::messages::Notice;
use crate::told::{Told, told};

const PATH: &str = "/dashboard/settings/account/notices";
/// The maximum number of notices of each kind that are dismissed at once, so that a transaction has room for them.
const MOST: usize = 49;

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
    told: Told,
}

/// Shows the notices that the member has not dismissed.
pub(crate) async fn list(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (mut notices, for_owners) = find(&request).await?;
    notices.extend(for_owners);
    notices.sort_by_key(|notice| Reverse(notice.id));
    let zone = dates::zone(&request);
    let names = names(&request, &notices).await?;
    let row = |notice: &model::Notice| {
        let about = candidate_of(notice, &request);
        let told = match about.map(|candidate| names.get(&candidate)) {
            Some(Some(name)) => told(&notice.event, &request, name),
            Some(None) => Told {
                link: None,
                after: "a candidate who was erased.".to_owned(),
                ..told(&notice.event, &request, "")
            },
            None => told(&notice.event, &request, ""),
        };
        NoticeRow { at: zone.minute(notice.at), told }
    };
    let mut layout = Layout::of(&request, Section::Account);
    if notices.is_empty() && request.session().has_notices {
        // The member has dismissed them in another browser.
        let session = Session { has_notices: false, newest_notice: None, ..request.session().clone() };
        request.replace_session(&session).await?;
        layout.newest_notice = None;
    }
    let page = Reply::page(&NoticesPage {
        layout,
        newest: notices.first().map(|notice| notice.id.get()),
        notices: notices.iter().map(row).collect(),
    });
    Ok(page?.showing(names.len()))
}

/// The candidate whom a notice is about, in the mode that the dashboard shows.
fn candidate_of(notice: &model::Notice, request: &MemberRequest) -> Option<Id> {
    match &notice.event {
        NoticeEvent::Mentioned { candidate, mode, .. } if *mode == request.tenant().mode => Some(*candidate),
        _ => None,
    }
}

/// The names of the candidates whom notices are about. Those who were erased have none.
async fn names(request: &MemberRequest, notices: &[model::Notice]) -> Result<HashMap<Id, String>, Error> {
    let mut ids: Vec<Id> = notices.iter().filter_map(|notice| candidate_of(notice, request)).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let found = request.context.store().find_candidates(request.tenant(), &ids).await?;
    Ok(found.into_iter().map(|found| (found.id, found.profile.name.as_str().to_owned())).collect())
}

/// Dismisses the notices that the page has shown.
pub(crate) async fn dismiss(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let newest: Id = request.page.form().get("newest").parse().map_err(|_| {
        Error::BadRequest("The form must name the newest notice that it dismisses".to_owned())
    })?;
    let (notices, for_owners) = find(&request).await?;
    let (member, mut transaction) = (request.member().id, request.transaction());
    let is_newer = |notice: &model::Notice| notice.id > newest;
    let has_notices = notices.iter().chain(&for_owners).any(is_newer)
        || [&notices, &for_owners].into_iter().any(|listed| listed.len() > MOST);
    let left = notices.iter().chain(&for_owners).filter(|notice| is_newer(notice));
    let newest_notice = left.max_by_key(|notice| notice.id).map(|notice| notice.event.clone());
    for notice in notices.iter().filter(|notice| !is_newer(notice)).take(MOST) {
        transaction.delete_notice(member, notice.id);
    }
    for notice in for_owners.iter().filter(|notice| !is_newer(notice)).take(MOST) {
        transaction.dismiss_owners_notice(member, notice.id);
    }
    let session = Session { has_notices, newest_notice, ..request.session().clone() };
    transaction.replace_session(request.session_hash(), &session)?;
    request.context.store().commit(transaction).await?;
    Ok(Notice::NoticesDismissed.redirect_to(PATH))
}

/// The member's own notices, and those for all owners if the member is one.
async fn find(request: &MemberRequest) -> Result<(Vec<model::Notice>, Vec<model::Notice>), Error> {
    let (organization, member) = (request.tenant().organization, request.member());
    let store = request.context.store();
    let own = store.list_notices(organization, member.id).await?;
    let for_owners = match member.role {
        MemberRole::Owner => store.list_owners_notices(organization, member.id).await?,
        MemberRole::Member => Vec::new(),
    };
    Ok((own, for_owners))
}
