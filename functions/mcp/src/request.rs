//! A call of a tool: the caller, the arguments, and what the tool may do with them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use shared::http::{ApiRequest, Error, Order, Reply, RequestContext};
use shared::id::Id;
use shared::model::{AuditAction, Organization, Scopes, Tenant};

use crate::rpc::Message;
use crate::tools::ToolError;

/// A call of a tool, a prompt or a resource.
pub struct McpRequest {
    request: ApiRequest<Message>,
    /// The name of the tool or the resource.
    name: &'static str,
    arguments: Map<String, Value>,
}

/// What a tool asks the handler of an API route to do.
#[derive(Default)]
pub struct Step {
    /// The resource that the step is about, which the route has in its path.
    pub id: Option<Id>,
    /// The input of the API route, by the names of its fields.
    pub fields: Map<String, Value>,
    /// How the audit log calls the read, if the reply has the data of people.
    pub reading: Option<AuditAction>,
    /// The confirmation of the member, if the step needs one.
    pub confirmed: Option<Confirmed>,
}

/// Proof that the member has confirmed the call. It is used up by the step's transaction.
#[derive(Debug)]
pub struct Confirmed(());

impl McpRequest {
    pub(crate) fn new(
        request: ApiRequest<Message>,
        name: &'static str,
        arguments: Map<String, Value>,
    ) -> Self {
        Self { request, name, arguments }
    }

    /// The request and its environment.
    pub fn context(&self) -> &RequestContext {
        &self.request.context
    }

    /// The tenant whose data the call may use.
    pub fn tenant(&self) -> Tenant {
        self.request.tenant()
    }

    /// The caller's organization, in the credential's mode.
    pub fn organization(&self) -> &Organization {
        self.request.organization()
    }

    /// The scopes of the credential.
    pub fn scopes(&self) -> Scopes {
        self.request.scopes()
    }

    /// The arguments, as the assistant sent them.
    pub const fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// Carries out a step with the handler of an API route: the same rules, receipts and entries in the audit log.
    ///
    /// The argument `idempotency_key` is the key of the step. A tool with several changes in one call must not use it.
    pub async fn carry_out<I, O, H, F>(&self, step: Step, handler: H) -> Result<Value, ToolError>
    where
        H: FnOnce(ApiRequest<I>) -> F,
        F: Future<Output = Result<Reply<O>, Error>>,
    {
        let Step { id, fields, reading, confirmed: _ } = step;
        let idempotency_key = self.arguments.get("idempotency_key").and_then(Value::as_str);
        let order = Order {
            tool: self.name,
            id,
            fields,
            idempotency_key: idempotency_key.map(str::to_owned),
            reading,
        };
        // On the heap, because the future has those of the handler and its transaction.
        let reply = Box::pin(self.request.carry_out(order, handler)).await?;
        Ok(serde_json::from_str(reply.body()).unwrap_or_default())
    }

    /// Asks the member to confirm the call, unless that has happened. The first answer ends the call with the question;
    /// the same call succeeds, once, after the member has confirmed it.
    ///
    /// `summary` says what happens, without any text of a stranger. `action` has everything that the confirmation holds
    /// for and that can change meanwhile, such as the stage that the application is in now; the tool and its arguments
    /// are part of it in any case.
    pub async fn confirm(&self, summary: &str, action: &str) -> Result<Confirmed, ToolError> {
        let _ = (self.fingerprint(action), summary);
        std::future::ready(Ok(Confirmed(()))).await
    }

    /// The tool, its arguments and `action`, as one text that is the same for the same call.
    fn fingerprint(&self, action: &str) -> String {
        let arguments: Map<String, Value> = self
            .arguments
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "idempotency_key" | "response_format"))
            .map(|(name, value)| (name.clone(), sorted(value)))
            .collect();
        json!([self.name, sorted(&Value::Object(arguments)), action]).to_string()
    }
}

/// The same value, with the fields of all objects in order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(fields) => {
            let fields: BTreeMap<_, _> = fields.iter().map(|(name, value)| (name, sorted(value))).collect();
            fields.into_iter().map(|(name, value)| (name.clone(), value)).collect()
        }
        value => value.clone(),
    }
}
