//! What happens around the handler of an API route: the read is recorded, and a repeated call gets the stored reply.

use std::sync::Arc;

use super::api_request::AdmittedRequest;
use super::context::RequestContext;
use super::idempotency::IdempotencyKey;
use super::question::Given;
use super::{ApiRequest, Error, HandlerCall, Reply};
use crate::id::Id;
use crate::model::{Actor, AuditAction, AuditTarget, Organization, Scopes, Tenant};
use crate::store::StoreError;

impl AdmittedRequest {
    pub(super) fn new(
        context: Arc<RequestContext>,
        organization: Organization,
        actor: Actor,
        scopes: Scopes,
        call: HandlerCall,
    ) -> Self {
        let idempotency_key = IdempotencyKey::of(&context, &actor, scopes, &call);
        let confirmed = Given::default();
        Self { context, organization, actor, scopes, idempotency_key, call, confirmed }
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
        match recorded(&self.context, self.organization.tenant(), reading, self.call.id, reply).await {
            Err(error) if !error.is_conflict() && error.kind().0 < 500 => self.replay_or(error).await,
            result => result,
        }
    }

    /// Whether the audit log has an entry when the caller reads.
    pub(super) fn records(&self, action: AuditAction) -> bool {
        self.context.origin.actor().is_some_and(|actor| action.is_recorded_for(actor.kind))
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
        let (organization, actor) = (self.organization().clone(), self.actor().clone());
        AdmittedRequest::new(self.context.clone(), organization, actor, self.scopes(), call)
    }
}

/// Awaits a reply with the data of people, and records the read in the audit log. Without the entry, nobody gets the
/// data.
///
/// The entry of one resource is written while the resource is read, even if there is none. The entry of a page is written
/// after the page was read, because it contains the number of items; a page without items has none.
pub(super) async fn recorded(
    context: &RequestContext,
    tenant: Tenant,
    reading: Option<AuditAction>,
    id: Option<Id>,
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
    let reply = reply.await?;
    let (action, shown) = match (action, reply.shown) {
        (AuditAction::CandidatesListed, Some(shown)) if reply.is_search => {
            (AuditAction::CandidatesSearched, shown)
        }
        (action, Some(shown)) => (action, shown),
        (_, None) => {
            let message = "the number of people on a page is not known".to_owned();
            return Err(StoreError::Internal(message).into());
        }
    };
    if shown > 0 {
        store.record(tenant, action, None, Some(shown)).await?;
    }
    Ok(reply)
}
