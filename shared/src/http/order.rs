//! Orders: what a tool call does, with the handlers of API routes.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::api_request::{AdmittedRequest, SentBody};
use super::dispatch::recorded;
use super::idempotency::IdempotencyKey;
use super::{ApiRequest, Error, Reply};
use crate::id::Id;
use crate::model::AuditAction;
use crate::store::Confirmed;

/// What a tool call asks the handler of an API route to do.
pub struct Order {
    /// The name of the tool.
    pub tool: &'static str,
    /// The resource that the order is about, which the route has in its path.
    pub id: Option<Id>,
    /// The input of the API route, by the names of its fields.
    pub fields: Map<String, Value>,
    /// The idempotency key, if the order is a change.
    pub idempotency_key: Option<String>,
    /// The member's confirmation, if the order needs one. The order's transaction uses it up.
    pub confirmed: Option<Confirmed>,
    /// How the audit log calls the read, if the reply has the data of people.
    pub reading: Option<AuditAction>,
}

impl<P> ApiRequest<P> {
    /// Carries out an order with the handler of an API route: the same rules, receipts and entries in the audit log. The
    /// request was counted already, and the caller has checked the scopes.
    pub async fn carry_out<I, O, H, F>(&self, order: Order, handler: H) -> Result<Reply<O>, Error>
    where
        H: FnOnce(ApiRequest<I>) -> F,
        F: Future<Output = Result<Reply<O>, Error>>,
    {
        let (id, reading) = (order.id, order.reading);
        let admitted = Arc::new(self.admit(order));
        let is_recorded = |action: &AuditAction| {
            self.context.origin.actor().is_some_and(|actor| action.is_recorded_for(actor.kind))
        };
        let reply = async { handler(ApiRequest::new(admitted.clone())).await.map(Reply::typed) };
        let result = recorded(&self.context, self.tenant(), reading.filter(is_recorded), id, reply).await;
        match result {
            Err(error) if !error.is_conflict() && error.kind().0 < 500 => admitted.replay_or(error).await,
            result => result,
        }
        .map(Reply::typed)
    }

    /// The stored reply, if the order was carried out before with its idempotency key.
    pub async fn find_reply(&self, order: Order) -> Result<Option<Reply<()>>, Error> {
        self.admit(order).find_reply().await
    }

    fn admit(&self, order: Order) -> AdmittedRequest {
        let Order { tool, id, fields, idempotency_key, confirmed, reading: _ } = order;
        let context = self.context.clone();
        let idempotency_key = idempotency_key
            .map(|key| IdempotencyKey::of_order(&context, self.scopes(), tool, id, &fields, key));
        AdmittedRequest {
            organization: self.admitted.organization.clone(),
            actor: self.admitted.actor.clone(),
            scopes: self.scopes(),
            idempotency_key,
            id,
            body: SentBody::Order { tool, fields },
            confirmed,
            context,
        }
    }
}
