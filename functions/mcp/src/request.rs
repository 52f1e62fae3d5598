//! A call of a tool: the caller, the arguments, and what the tool may do with them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use shared::clock::{Timestamp, later};
use shared::http::{
    ApiRequest, Error, ExpectedPage, HandlerCall, Reply, RequestContext, SentInput, Unconfirmed,
};
use shared::id::Id;
use shared::model::{Actor, AuditAction, Scopes, Tenant};
use shared::secret::Secret;
use shared::store::StoreError;
use shared::token_encryption::EncryptedToken;

use crate::era::Client;
use crate::failure::ToolError;
use crate::rpc::{Message, RpcError};

/// A call of a tool, a prompt or a resource.
pub struct McpRequest {
    request: ApiRequest<Message>,
    client: Client,
    /// The name of the tool, the prompt or the resource.
    name: &'static str,
    arguments: Map<String, Value>,
    /// The answers to the questions of an earlier result.
    responses: Map<String, Value>,
    /// The state of the earlier result.
    state: Option<String>,
    /// What a handler says about the people that the result shows before it has read them.
    expected: ExpectedPage,
}

/// A state that the client carries, with its end.
#[derive(Serialize, Deserialize)]
struct Carried {
    state: Value,
    until: Timestamp,
}

/// The time for which a client may carry a state, in minutes.
const STATE_MINUTES: i64 = 15;

impl McpRequest {
    pub(crate) fn new(
        request: &ApiRequest<Message>,
        client: &Client,
        name: &'static str,
        params: &Map<String, Value>,
    ) -> Result<Self, RpcError> {
        let object = |name: &str| match params.get(name) {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(fields)) => Ok(fields.clone()),
            Some(_) => Err(RpcError::invalid_params(format!("params.{name} must be an object"))),
        };
        let state = params.get("requestState").and_then(Value::as_str).map(str::to_owned);
        Ok(Self {
            request: request.clone(),
            client: client.clone(),
            name,
            arguments: object("arguments")?,
            responses: object("inputResponses")?,
            state,
            expected: ExpectedPage::default(),
        })
    }

    /// The same call with other arguments.
    pub(crate) fn with_arguments(self, arguments: Map<String, Value>) -> Self {
        Self { arguments, ..self }
    }

    /// The request and its environment.
    pub fn context(&self) -> &RequestContext {
        &self.request.context
    }

    /// What the request says about its client.
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// What the handlers of the call say about the people that the result shows, the first one that shows any.
    pub(crate) const fn expected(&self) -> &ExpectedPage {
        &self.expected
    }

    /// The name of the tool, the prompt or the resource.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The API key or the application that calls.
    pub fn actor(&self) -> &Actor {
        self.request.actor()
    }

    /// The member who connected the application; `None` for an API key.
    pub fn member(&self) -> Option<Id> {
        self.request.member()
    }

    /// The tenant whose data the call may use.
    pub fn tenant(&self) -> Tenant {
        self.request.tenant()
    }

    /// The scopes of the credential.
    pub fn scopes(&self) -> Scopes {
        self.request.scopes()
    }

    /// The arguments of a prompt or a resource as they were sent; those of a tool without the absent ones.
    pub const fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// The client's answer to the question with this name.
    pub fn response(&self, name: &str) -> Option<&Value> {
        self.responses.get(name)
    }

    /// A call of the handler of an API route: the resource that the route has in its path, and the fields of its input.
    ///
    /// The argument `idempotency_key` is the key of the call. A tool with several changes in one call must not use it.
    pub fn call(&self, id: Option<Id>, fields: Map<String, Value>) -> Result<HandlerCall, ToolError> {
        let input = SentInput::Arguments { tool: self.name, fields };
        let key = self.idempotency_key()?;
        let expected = self.expected.clone();
        Ok(HandlerCall { id, input, key, seen: None, assistant: None, reading: None, expected })
    }

    /// Calls the handler of an API route: the same rules, receipts and entries in the audit log.
    pub async fn carry_out<I, O, H, F>(&self, call: HandlerCall, handler: H) -> Result<Value, ToolError>
    where
        H: FnOnce(ApiRequest<I>) -> F,
        F: Future<Output = Result<Reply<O>, Error>>,
    {
        let reply = self.request.carry_out(call, handler).await?;
        Ok(serde_json::from_str(reply.body()).unwrap_or_default())
    }

    /// The stored reply, if the handler was called before with the same idempotency key.
    pub async fn find_reply(&self, call: &HandlerCall) -> Result<Option<Value>, ToolError> {
        let reply = self.request.find_reply(call.clone()).await?;
        Ok(reply.map(|reply| serde_json::from_str(reply.body()).unwrap_or_default()))
    }

    /// Stores the question whether a call may happen, so that a member can answer it on a page of the dashboard.
    pub(crate) async fn ask_on_page(&self, unconfirmed: &Unconfirmed) -> Result<(), Error> {
        self.request.ask_on_page(unconfirmed).await
    }

    /// Records that the caller reads a candidate's name.
    pub(crate) async fn record_reading(&self, candidate: Id) -> Result<(), Error> {
        self.request.record_reading(AuditAction::CandidateRead, candidate).await
    }

    fn idempotency_key(&self) -> Result<Option<String>, ToolError> {
        match self.arguments.get("idempotency_key") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(key))
                if (1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic()) =>
            {
                Ok(Some(key.clone()))
            }
            Some(_) => {
                let message = "idempotency_key must be 1 to 255 visible ASCII characters";
                Err(ToolError::Rejected(message.to_owned()))
            }
        }
    }

    /// The result with which the client asks the member these questions, and then repeats the call with the answers and
    /// the state. Fails if the client has not declared that it can ask them.
    pub fn ask(&self, questions: &Value, state: Option<&Value>) -> Result<ToolError, ToolError> {
        let methods = questions.as_object().into_iter().flat_map(Map::values);
        for method in methods.filter_map(|question| question["method"].as_str()) {
            let (capability, _) = method.split_once('/').unwrap_or((method, ""));
            if !self.client.can(capability) {
                return Err(RpcError::missing_capability(capability).into());
            }
        }
        let mut result = json!({ "resultType": "input_required", "inputRequests": questions });
        if let Some(state) = state {
            result["requestState"] = self.sealed(state)?.into();
        }
        Ok(ToolError::Ask(result))
    }

    /// The state of the earlier result. Fails if it was changed, belongs to another caller or another call, or has ended.
    pub fn state(&self) -> Result<Option<Value>, ToolError> {
        let Some(sealed) = &self.state else { return Ok(None) };
        let invalid = || RpcError::invalid_params("requestState is not valid for this call, or has expired");
        let keys = self.context().sealing_keys().ok_or_else(invalid)?;
        let token: EncryptedToken = serde_json::from_str(sealed).map_err(|_| invalid())?;
        let text = keys.decrypt(&token, &self.purpose()).map_err(|_| invalid())?;
        let carried: Carried = serde_json::from_str(text.expose()).map_err(|_| invalid())?;
        if carried.until <= self.context().now() {
            return Err(invalid().into());
        }
        Ok(Some(carried.state))
    }

    fn sealed(&self, state: &Value) -> Result<String, Error> {
        let missing = || StoreError::Internal("there is no key to encrypt a request's state".to_owned());
        let keys = self.context().sealing_keys().ok_or_else(missing)?;
        let until = later(self.context().now(), jiff::SignedDuration::from_mins(STATE_MINUTES));
        let text = json!(Carried { state: state.clone(), until }).to_string();
        let nonce = self.context().random().bytes();
        let token = keys.encrypt(&Secret::new(text), &self.purpose(), nonce);
        let token = token.map_err(|error| StoreError::Internal(error.to_string()))?;
        Ok(json!(token).to_string())
    }

    /// What a state is encrypted for: one caller and one call.
    fn purpose(&self) -> String {
        let Actor { kind, id, .. } = self.actor();
        let mut arguments = self.arguments.clone();
        arguments.retain(|name, _| !matches!(name.as_str(), "idempotency_key" | "response_format"));
        let mut call = json!([self.name, arguments]);
        call.sort_all_objects();
        format!("mcp\n{} {} {id:?}\n{call}", self.tenant(), kind.as_str())
    }
}
