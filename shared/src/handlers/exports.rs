//! Exports of an organization's data: beginning them, and the links to their files. A task writes the files.

use super::candidate_lookup::UNKNOWN_ROLE;
use super::responses::data_export::Export;
use crate::http::{ApiRequest, Change, Collection, Created, Error, Listing, Reply, Unversioned, input};
use crate::id::Id;
use crate::model::{
    self, AuditAction, Day, ExportFormat, ExportKind, ExportOrder, ExportStatus, Scope, TooManyExports,
};

input! {
    /// An export to begin.
    pub struct NewExport {
        /// What the export has; everything without it.
        kinds: list ExportKind[7],
        /// The format of the files.
        format: required ExportFormat,
        /// Limits the export to this role: its applications and voice screens, the people who have applied for it, what is known
        /// about them, and its job posting.
        role_id: optional Id,
    }
}

/// Lists the exports, newest first, without the URLs of their files.
pub async fn list_exports(request: ApiRequest<Listing<()>>) -> Result<Reply<Collection<Export>>, Error> {
    let ((), page) = request.listing()?;
    let listed = request.context.store().list_exports(request.tenant(), &page).await?;
    request.reply(listed, |export| Export::of(export, Vec::new()))
}

/// Returns an export with the URLs of its files, which are kept for 24 hours. The erasure of anybody ends all exports.
///
/// # Errors
///
/// - `expired`: the files were deleted.
pub async fn show_export(request: ApiRequest<()>) -> Result<Reply<Unversioned<Export>>, Error> {
    let (store, tenant, now) = (request.context.store(), request.tenant(), request.context.now());
    let export = store.find_export(tenant, request.id()?).await?.ok_or(Error::NotFound)?;
    request.input()?;
    if export.is_over(now) {
        return Err(Error::Expired);
    }
    if export.status != ExportStatus::Done {
        return Ok(Reply::ok(&Export::of(export, Vec::new()))?.unversioned());
    }
    // The task of the erasure ends the export, a moment later.
    if store.find_unfinished_erasure(tenant).await?.is_some_and(|erased_at| erased_at >= export.created_at) {
        return Err(Error::Expired);
    }
    let may_see = !export.has_results || request.scopes().contains(Scope::VoiceScreensRead);
    let mut urls = Vec::new();
    if may_see {
        let providers = request.context.providers().await;
        let bucket = providers.resumes().ok_or_else(|| unavailable(&"there is no bucket"))?;
        for kind in &export.kinds {
            let (key, name) = (export.file(tenant, *kind), export.file_name(*kind));
            let url = bucket.download_url(&key, &name, now).await.map_err(|error| unavailable(&error))?;
            urls.push(Some(url));
        }
        request.record_reading(AuditAction::ExportRead, export.id).await?;
    }
    Ok(Reply::ok(&Export::of(export, urls))?.unversioned())
}

/// Begins an export of everything, or of some kinds. Its files are written soon after. Those of people can be imported into another
/// organization. An export of everything has a `position`: whoever applies all events after it has what the API shows.
/// Results of voice screens are in it only with the scope `voice_screens:read`.
///
/// # Errors
///
/// - `invalid_transition`: three exports are being written.
/// - `plan_limit`: the plan has no more exports today.
pub async fn create_export(request: ApiRequest<NewExport>) -> Result<Reply<Created<Export>>, Error> {
    let NewExport { kinds, format, role_id } = request.input()?;
    let (context, tenant) = (&request.context, request.tenant());
    let (store, now) = (context.store(), context.now());
    let mut messages = Vec::new();
    let kinds = match kinds {
        Change::Set(kinds) if kinds.is_empty() => {
            messages.push("kinds must have at least one item".to_owned());
            kinds
        }
        Change::Set(kinds) => kinds,
        Change::Keep | Change::Clear => Vec::new(),
    };
    if let Some(id) = role_id
        && store.find_role(tenant, id).await?.is_none()
    {
        messages.push(UNKNOWN_ROLE.to_owned());
    }
    if context.providers().await.resumes().is_none() {
        messages.push("Files cannot be stored by this installation".to_owned());
    }
    if !messages.is_empty() {
        return Err(Error::Validation(messages));
    }
    let order = ExportOrder {
        format,
        kinds,
        role_id,
        has_results: request.scopes().contains(Scope::VoiceScreensRead),
        base_url: context.base_url().to_owned(),
    };
    let id = context.ids().next();
    let used = store.find_export_use(tenant).await?;
    let plan = request.organization().await.plan;
    let after = used.with(id, plan, Day::of(now)).map_err(|problem| match problem {
        TooManyExports::Running => Error::InvalidTransition(problem.to_string()),
        TooManyExports::Plan(_) => Error::PlanLimit(problem.to_string()),
    })?;
    // Before anything is read: what is committed, but not in the feed yet, comes after it.
    let position = if order.is_whole() { Some(store.get_feed_head(tenant).await?.seq) } else { None };
    let secret = context.random().token(model::Export::SECRET_LENGTH);
    let export = model::Export::new((id, secret), order, position, request.author().actor, now);
    let mut transaction = request.transaction();
    transaction.insert_export(&export)?;
    transaction.replace_export_use(&used, &after)?;
    let address = request.address("exports", id);
    let reply = Reply::resource(&Export::of(export, Vec::new()))?.created(address);
    request.commit(transaction, reply).await
}

fn unavailable(error: &dyn std::fmt::Display) -> Error {
    tracing::error!(trouble = %error, "the bucket failed in an export");
    Error::Upstream { sentence: "The links to the files could not be made".to_owned(), retry_after: None }
}
