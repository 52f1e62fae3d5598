//! Calls of the handlers of API routes: by a request with a credential, by a member's form, or by a tool.

use serde_json::{Map, Value};

use super::{Assistant, ExpectedPage, Parameters};
use crate::id::Id;
use crate::model::AuditAction;

/// A call of the handler of an API route.
#[derive(Clone)]
pub struct HandlerCall {
    /// The resource that the call is about, which the route has in its path.
    pub id: Option<Id>,
    /// The input of the route.
    pub input: SentInput,
    /// The key with which the call has an effect only once: that of a form, or the idempotency key of a client.
    pub key: Option<String>,
    /// The version of the resource that a member saw: its entity tag, or its stage.
    pub seen: Option<String>,
    /// The assistant who calls, or may do so, if a member has to confirm some of its calls.
    pub assistant: Option<Assistant>,
    /// How the audit log calls the read, if the reply has the data of people.
    pub reading: Option<AuditAction>,
    /// What the handler says about the page before it has read it.
    pub expected: ExpectedPage,
}

/// The input of a route, as it was sent.
#[derive(Clone)]
pub enum SentInput {
    /// A JSON body; empty if there is none. The input of a GET is in the query.
    Json(String),
    /// The fields of a member's form.
    Form(Parameters),
    /// The arguments of a tool.
    Arguments {
        /// The name of the tool.
        tool: &'static str,
        /// The fields, by name.
        fields: Map<String, Value>,
    },
}
