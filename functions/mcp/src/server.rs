//! The protocol: answers messages with what a server offers.

use serde_json::{Value, json};
use shared::http::{ApiRequest, Error, Reply, Unversioned};
use shared::model::Scopes;

use crate::prompts::Prompt;
use crate::request::McpRequest;
use crate::resources::ResourceTemplate;
use crate::rpc::{Answer, Message, Revision, RpcError};
use crate::tools::{self, Tool};

/// What a server offers.
pub struct Server {
    /// The tools.
    pub tools: &'static [Tool],
    /// The prompts.
    pub prompts: &'static [Prompt],
    /// The resources.
    pub resources: &'static [ResourceTemplate],
}

impl Server {
    /// The tools that a caller with these scopes can call.
    pub fn tools(&self, scopes: Scopes) -> impl Iterator<Item = &'static Tool> {
        self.tools.iter().filter(move |tool| tool.scopes().are_within(scopes))
    }
}

/// Answers a message.
pub async fn answer(
    server: &'static Server,
    request: ApiRequest<Message>,
) -> Result<Reply<Unversioned<Answer>>, Error> {
    let message: Message = match serde_json::from_str(request.json()) {
        Ok(message) => message,
        Err(_) => return Err(Error::BadRequest("The message is not a JSON-RPC request".to_owned())),
    };
    let Some(id) = message.id.clone() else { return Ok(Reply::status(202, &())?.unversioned()) };
    match result(server, request, message).await? {
        Ok(result) => Ok(Reply::ok(&Answer::new(id, result))?.unversioned()),
        Err(error) => Ok(Reply::<Answer>::status(error.status, &error.answer(&id))?.unversioned()),
    }
}

async fn result(
    server: &'static Server,
    request: ApiRequest<Message>,
    message: Message,
) -> Result<Result<Value, RpcError>, Error> {
    let scopes = request.scopes();
    Ok(match message.method.as_str() {
        "initialize" => Ok(json!({
            "protocolVersion": Revision::November2025.as_str(),
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "rolecall", "version": env!("CARGO_PKG_VERSION") },
        })),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": server.tools(scopes).map(Tool::describe).collect::<Vec<_>>() })),
        "tools/call" => {
            let name = message.params.get("name").and_then(Value::as_str).unwrap_or_default();
            let Some(tool) = server.tools.iter().find(|tool| tool.name == name) else {
                return Ok(Err(RpcError::invalid_params(format!("There is no tool {name:?}"))));
            };
            let arguments = message.params.get("arguments").and_then(Value::as_object).cloned();
            let request = McpRequest::new(request, tool.name, arguments.unwrap_or_default());
            Ok(tools::call(tool, &request).await?.to_json())
        }
        method => Err(RpcError::unknown_method(method)),
    })
}
