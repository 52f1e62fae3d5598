//! What happens around the handler of an API route: the read is recorded, and a repeated call gets the stored reply.

use std::sync::Arc;

use super::api_request::{AdmittedRequest, HandlerCaller};
use super::context::RequestContext;
use super::expected_page::Expected;
use super::idempotency::IdempotencyKey;
use super::question::Given;
use super::{ApiRequest, Error, ExpectedPage, HandlerCall, Reply};
use crate::id::Id;
use crate::model::{AuditAction, AuditActor, AuditTarget, Tenant};
use crate::store::StoreError;

impl AdmittedRequest {
    pub(super) fn new(context: Arc<RequestContext>, caller: HandlerCaller, call: HandlerCall) -> Self {
        let idempotency_key = IdempotencyKey::of(&context, &caller.actor, caller.scopes, &call);
        let confirmed = Given::default();
        Self { context, caller, idempotency_key, call, confirmed }
    }

    /// Calls the handler of an API route: the same rules and receipts for requests, forms and tools.
    pub(super) async fn carry_out<I, O, H, F>(self, handler: H) -> Result<Reply<O>, Error>
    where
        H: FnOnce(ApiRequest<I>) -> F,
        F: Future<Output = Result<Reply<O>, Error>>,
    {
        let request = Arc::new(self);
        // On the heap, because the future has those of the handler and its transaction.
        let reply = Box::pin(async { handler(ApiRequest::new(request.clone())).await.map(Reply::typed) });
        request.answer(reply).await.map(Reply::typed)
    }

    /// Awaits the handler's reply, and records the read. If the handler failed because the same call was carried out
    /// before, returns the stored reply. Conflicts are left to whoever runs the handler again.
    pub(super) async fn answer(
        &self,
        reply: impl Future<Output = Result<Reply<()>, Error>>,
    ) -> Result<Reply<()>, Error> {
        let reading = self.call.reading.filter(|action| self.records(*action));
        let HandlerCall { id, ref expected, .. } = self.call;
        match recorded(&self.context, self.caller.tenant, reading, id, expected, reply).await {
            Err(error) if !error.is_conflict() && error.kind().0 < 500 => self.replay_or(error).await,
            result => result,
        }
    }

    /// Whether the audit log has an entry when the caller reads.
    pub(super) fn records(&self, action: AuditAction) -> bool {
        action.is_recorded_for(AuditActor::of(&self.caller.actor, None).kind)
    }
}

impl<P> ApiRequest<P> {
    /// Calls the handler of an API route for a tool. The request was counted already, and the tool has checked the
    /// scopes.
    pub async fn carry_out<I, O, H, F>(&self, call: HandlerCall, handler: H) -> Result<Reply<O>, Error>
    where
        H: FnOnce(ApiRequest<I>) -> F,
        F: Future<Output = Result<Reply<O>, Error>>,
    {
        self.admit(call).carry_out(handler).await
    }

    /// The stored reply, if the call was carried out before with its idempotency key.
    pub async fn find_reply(&self, call: HandlerCall) -> Result<Option<Reply<()>>, Error> {
        self.admit(call).find_reply().await
    }

    fn admit(&self, call: HandlerCall) -> AdmittedRequest {
        AdmittedRequest::new(self.context.clone(), self.admitted.caller.clone(), call)
    }
}

/// Awaits a reply with the data of people, and records the read in the audit log. Without the entry, nobody gets the
/// data.
///
/// The entry of one resource is written while the resource is read, even if there is none. The entry of a page contains the
/// number of items; a page without items has none. If the handler says how many it expects, the entry is written while they
/// are read, and corrected if fewer are left; otherwise it is written afterwards.
pub(super) async fn recorded(
    context: &RequestContext,
    tenant: Tenant,
    reading: Option<AuditAction>,
    id: Option<Id>,
    expected: &ExpectedPage,
    reply: impl Future<Output = Result<Reply<()>, Error>>,
) -> Result<Reply<()>, Error> {
    let Some(action) = reading else { return reply.await };
    let store = context.store();
    if let Some(kind) = action.resource() {
        let Some(id) = id else { return reply.await };
        let target = Some(AuditTarget::of(kind, id));
        let (reply, entry) = tokio::join!(reply, store.record(tenant, action, target, None));
        let reply = reply?;
        entry?;
        return Ok(reply);
    }
    let action = |is_search| match action {
        AuditAction::CandidatesListed if is_search => AuditAction::CandidatesSearched,
        action => action,
    };
    let entry = async {
        let Some(Expected { shown, is_search }) = expected.wait().await else { return Ok(None) };
        store.record_page(tenant, action(is_search), shown).await.map(Some)
    };
    // As soon as the handler has said it, so that the entry comes before that of the call.
    let (reply, entry) = tokio::join!(biased; expected.until(reply), entry);
    let (reply, entry) = (reply?, entry?);
    let shown = reply
        .shown
        .ok_or_else(|| StoreError::Internal("the number of people on a page is not known".to_owned()))?;
    match entry {
        Some(entry) => store.correct_page(entry, shown).await?,
        None if shown > 0 => _ = store.record_page(tenant, action(reply.is_search), shown).await?,
        None => {}
    }
    Ok(reply)
}
