//! Lists of candidates that the team has saved under a name.

use std::sync::Arc;

use shared::http::{Error, Html, MemberRequest, Parameters, Reply};
use shared::model::{SavedView, SavedViews, ViewName};

use crate::candidate_list::ListPage;
use crate::messages::Notice;

/// Saves a list under a name, in place of the one that has it, or deletes the list with the name.
pub(crate) async fn save(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (form, store, tenant) = (request.page.form(), request.context.store(), request.tenant());
    let page = ListPage::read(&Parameters::parse(form.get("query").as_bytes()))?;
    let list = ListPage::first(page.list);
    let name = ViewName::parse(form.get("name"))
        .ok()
        .flatten()
        .ok_or_else(|| Error::BadRequest("A list is saved under a name of 1 to 60 characters".to_owned()))?;
    let before = store.list_views(tenant).await?;
    let (after, notice) = if form.get("action") == "delete" {
        (Some(before.without(&name)), Notice::ViewDeleted)
    } else {
        (before.with(SavedView { name, query: list.query() }), Notice::ViewSaved)
    };
    let after = after.ok_or_else(|| {
        Error::BadRequest(format!("A team has at most {} saved lists: delete one first", SavedViews::MAX))
    })?;
    let mut transaction = request.transaction();
    transaction.replace_views(&before, &after)?;
    store.commit(transaction).await?;
    Ok(notice.redirect_to(&list.path()))
}
