//! Calls of handlers on behalf of a member that a task can go on with, or repeat: the receipts do not depend on who makes
//! them, a request or a task.

use std::sync::Arc;

use super::api_request::{AdmittedRequest, HandlerCaller};
use super::context::RequestContext;
use super::{ApiRequest, Environment, Error, ExpectedPage, HandlerCall, Parameters, Reply, SentInput};
use crate::clock::Timestamp;
use crate::id::{Id, Ids};
use crate::model::{Actor, Organization, Tenant};
use crate::store::{AuditOrigin, Transaction};

/// A member on whose behalf handlers are called.
pub struct OnBehalf {
    /// A context without a request.
    pub context: Arc<RequestContext>,
    organization: Organization,
    actor: Actor,
}

impl OnBehalf {
    pub(super) const fn new(context: Arc<RequestContext>, organization: Organization, actor: Actor) -> Self {
        Self { context, organization, actor }
    }

    /// The member for whom a task works. `origin` says who is the author of what is written, and `base_url` is that of the
    /// request that the task continues.
    pub fn in_task(
        environment: Environment,
        (ids, now): (Ids, Timestamp),
        origin: AuditOrigin,
        (organization, actor): (Organization, Actor),
        base_url: String,
    ) -> Self {
        let origin = Arc::new(origin);
        let store = environment.store.clone().with_origin(origin.clone());
        let context = RequestContext::apart(Arc::new(environment), store, ids, origin, now, base_url);
        Self::new(Arc::new(context), organization, actor)
    }

    /// The tenant.
    pub const fn tenant(&self) -> Tenant {
        self.organization.tenant()
    }

    /// The member.
    pub const fn actor(&self) -> &Actor {
        &self.actor
    }

    /// An empty transaction of the tenant.
    pub const fn transaction(&self) -> Transaction {
        Transaction::new(self.tenant())
    }

    /// A call with these fields about a resource, which takes effect only once for a key.
    pub fn call(&self, id: Id, key: &str, fields: Parameters) -> HandlerCall {
        HandlerCall {
            id: Some(id),
            input: SentInput::Form(fields),
            key: Some(key.to_owned()),
            seen: None,
            assistant: None,
            reading: None,
            expected: ExpectedPage::default(),
        }
    }

    /// Calls the handler of an API route: the same rules as for a member's form, with a receipt.
    pub async fn carry_out<I, O, H, F>(&self, call: HandlerCall, handler: H) -> Result<Reply<O>, Error>
    where
        H: FnOnce(ApiRequest<I>) -> F,
        F: Future<Output = Result<Reply<O>, Error>>,
    {
        let caller = HandlerCaller::of_member(self.organization.clone(), self.actor.clone());
        AdmittedRequest::new(self.context.clone(), caller, call).carry_out(handler).await
    }
}
