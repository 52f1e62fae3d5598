//! The protocol: answers messages with what a server offers.

// Not the crate rmcp: it would add 17 crates to a function that has to start in milliseconds. The tests use its client.

use serde_json::{Map, Value, json};
use shared::http::{ApiRequest, Error, MAX_BATCH, Reply, Unversioned};
use shared::model::Scopes;

use crate::era::{self, Client};
use crate::failure::{Failure, ToolError};
use crate::prompts::{Prompt, PromptArgument};
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
    /// What every assistant has to know.
    pub instructions: &'static str,
}

/// The time for which a client may keep a list, in milliseconds. Lists change only with a release or a new credential.
const LIST_LIFE: u32 = 300_000;

/// Answers a message, or a batch of messages.
pub async fn answer(
    server: &'static Server,
    request: ApiRequest<Message>,
) -> Result<Reply<Unversioned<Answer>>, Error> {
    let body: Value = serde_json::from_str(request.json()).unwrap_or_default();
    match body {
        Value::Array(messages) => answer_batch(server, &request, messages).await,
        message => answer_one(server, &request, message).await,
    }
}

async fn answer_one(
    server: &'static Server,
    request: &ApiRequest<Message>,
    message: Value,
) -> Result<Reply<Unversioned<Answer>>, Error> {
    let id = message.get("id").filter(|id| era::is_id(id)).cloned();
    match handle(server, request, message).await {
        Ok(Some(answer)) => Ok(Reply::ok(&answer)?.unversioned()),
        Ok(None) => Ok(Reply::<Answer>::accepted_message().unversioned()),
        Err(Failure::Rpc(error)) => {
            Ok(Reply::<Answer>::status(error.status, &error.answer(id.as_ref()))?.unversioned())
        }
        Err(Failure::Request(error)) => Err(error),
    }
}

/// Answers a batch, which only the oldest revision has. A message that fails does not run again, because others may have
/// had an effect.
async fn answer_batch(
    server: &'static Server,
    request: &ApiRequest<Message>,
    messages: Vec<Value>,
) -> Result<Reply<Unversioned<Answer>>, Error> {
    let revision = request.context.header("mcp-protocol-version");
    let problem = if revision.is_some_and(|revision| revision != Revision::March2025.as_str()) {
        Some("Batches are part of revision 2025-03-26 only")
    } else if messages.is_empty() || messages.len() > MAX_BATCH {
        Some("A batch must have 1 to 10 messages")
    } else {
        None
    };
    if let Some(problem) = problem {
        let error = RpcError::invalid_request(problem);
        return Ok(Reply::<Answer>::status(error.status, &error.answer(None))?.unversioned());
    }
    let needed = messages.iter().flat_map(|message| server.scopes_of(message).iter()).collect::<Scopes>();
    if !needed.are_within(request.scopes()) {
        return Err(Error::InsufficientScope(needed));
    }
    let mut answers = Vec::new();
    for message in messages {
        let id = message.get("id").filter(|id| era::is_id(id)).cloned();
        let error = match handle(server, request, message).await {
            Ok(None) => continue,
            Ok(Some(answer)) => {
                answers.push(answer);
                continue;
            }
            Err(Failure::Rpc(error)) => error,
            Err(Failure::Request(error)) => RpcError::failed(error.sentence()),
        };
        answers.push(error.answer(id.as_ref()));
    }
    if answers.is_empty() {
        return Ok(Reply::<Answer>::accepted_message().unversioned());
    }
    Ok(Reply::<Answer>::status(200, &answers)?.unversioned())
}

/// Handles one message. Returns `None` for a notification, and for the answer to a request, which this server never
/// sends.
async fn handle(
    server: &'static Server,
    request: &ApiRequest<Message>,
    message: Value,
) -> Result<Option<Answer>, Failure> {
    let is_answer = message.get("method").is_none()
        && (message.get("result").is_some() || message.get("error").is_some());
    if is_answer {
        return Ok(None);
    }
    let id = match message.get("id") {
        Some(id) if !era::is_id(id) => {
            return Err(RpcError::invalid_request("id must be a string or a whole number").into());
        }
        id => id.cloned(),
    };
    let message: Message = serde_json::from_value(message).map_err(|_| {
        RpcError::invalid_request("The message must have jsonrpc, method, and an object as params")
    })?;
    if message.jsonrpc != "2.0" {
        return Err(RpcError::invalid_request("jsonrpc must be \"2.0\"").into());
    }
    let Some(id) = id else { return Ok(None) };
    let client = Client::of(&request.context, &message)?;
    let result = server.result(request, &client, message).await?;
    Ok(Some(Answer::new(id, client.complete(result))))
}

impl Server {
    /// The scopes that a message needs.
    fn scopes_of(&self, message: &Value) -> Scopes {
        let parameter = |name: &str| message["params"][name].as_str().unwrap_or_default();
        let found = match message["method"].as_str() {
            Some("tools/call") => self.tool(parameter("name")).map(Tool::scopes),
            Some("prompts/get") => self.prompt(parameter("name")).map(Prompt::scopes),
            Some("resources/read") => self.resource(parameter("uri")).map(|(found, _)| found.scopes()),
            _ => None,
        };
        found.unwrap_or_default()
    }

    fn tool(&self, name: &str) -> Option<&'static Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    fn prompt(&self, name: &str) -> Option<&'static Prompt> {
        self.prompts.iter().find(|prompt| prompt.name == name)
    }

    /// The resource with this URI, and the text in place of the template's variable.
    fn resource<'u>(&self, uri: &'u str) -> Option<(&'static ResourceTemplate, &'u str)> {
        self.resources.iter().find_map(|template| Some((template, template.matches(uri)?)))
    }

    fn capabilities(&self) -> Value {
        let mut capabilities = json!({ "tools": {} });
        if !self.prompts.is_empty() {
            capabilities["prompts"] = json!({});
        }
        if !self.resources.is_empty() {
            capabilities["resources"] = json!({});
        }
        capabilities
    }

    async fn result(
        &self,
        request: &ApiRequest<Message>,
        client: &Client,
        message: Message,
    ) -> Result<Value, Failure> {
        let (scopes, params) = (request.scopes(), message.params);
        Ok(match message.method.as_str() {
            "server/discover" if client.revision.is_modern() => era::cached(
                json!({
                    "supportedVersions": Revision::ALL.map(Revision::as_str),
                    "capabilities": self.capabilities(),
                    "instructions": self.instructions,
                }),
                LIST_LIFE,
            ),
            "initialize" if !client.revision.is_modern() => json!({
                "protocolVersion": era::negotiated(&params).as_str(),
                "capabilities": self.capabilities(),
                "serverInfo": era::server_info(),
                "instructions": self.instructions,
            }),
            "ping" if !client.revision.is_modern() => json!({}),
            "tools/list" => {
                let tools = self.tools.iter().filter(|tool| tool.scopes().are_within(scopes));
                list("tools", &tools.map(Tool::describe).collect::<Vec<_>>(), &params)?
            }
            "prompts/list" if !self.prompts.is_empty() => {
                let prompts = self.prompts.iter().filter(|prompt| prompt.scopes().are_within(scopes));
                list("prompts", &prompts.map(Prompt::describe).collect::<Vec<_>>(), &params)?
            }
            "resources/list" if !self.resources.is_empty() => {
                list("resources", &self.describe_resources(scopes, false), &params)?
            }
            "resources/templates/list" if !self.resources.is_empty() => {
                list("resourceTemplates", &self.describe_resources(scopes, true), &params)?
            }
            "tools/call" => self.call_tool(request, client, &params).await?,
            "prompts/get" if !self.prompts.is_empty() => self.get_prompt(request, client, &params)?,
            "resources/read" if !self.resources.is_empty() => {
                self.read_resource(request, client, &params).await?
            }
            method => return Err(RpcError::unknown_method(method).into()),
        })
    }

    fn describe_resources(&self, scopes: Scopes, are_templates: bool) -> Vec<Value> {
        let chosen = self.resources.iter().filter(|resource| {
            resource.is_template() == are_templates && resource.scopes().are_within(scopes)
        });
        chosen.map(ResourceTemplate::describe).collect()
    }

    async fn call_tool(
        &self,
        request: &ApiRequest<Message>,
        client: &Client,
        params: &Map<String, Value>,
    ) -> Result<Value, Failure> {
        let name = text(params, "name")?;
        let tool = self.tool(name).ok_or_else(|| RpcError::invalid_params("There is no such tool"))?;
        require(request, tool.scopes())?;
        let request = McpRequest::new(request, client, tool.name, params)?;
        tools::call(tool, request).await
    }

    fn get_prompt(
        &self,
        request: &ApiRequest<Message>,
        client: &Client,
        params: &Map<String, Value>,
    ) -> Result<Value, Failure> {
        let name = text(params, "name")?;
        let prompt = self.prompt(name).ok_or_else(|| RpcError::invalid_params("There is no such prompt"))?;
        require(request, prompt.scopes())?;
        let request = McpRequest::new(request, client, prompt.name, params)?;
        let missing = |argument: &&PromptArgument| {
            let given = request.arguments().get(argument.name);
            argument.required && !given.is_some_and(Value::is_string)
        };
        if let Some(argument) = prompt.arguments.iter().find(missing) {
            return Err(RpcError::invalid_params(format!("{} must be a string", argument.name)).into());
        }
        match (prompt.write)(&request) {
            Ok(messages) => Ok(json!({ "description": prompt.description, "messages": messages })),
            Err(ToolError::Rejected(message)) => Err(RpcError::invalid_params(message).into()),
            Err(error) => error.ask(),
        }
    }

    async fn read_resource(
        &self,
        request: &ApiRequest<Message>,
        client: &Client,
        params: &Map<String, Value>,
    ) -> Result<Value, Failure> {
        let uri = text(params, "uri")?;
        let unknown = || RpcError::unknown_resource(uri);
        let (resource, variable) = self.resource(uri).ok_or_else(unknown)?;
        require(request, resource.scopes())?;
        let request = McpRequest::new(request, client, resource.name, params)?;
        let contents = match (resource.read)(&request, variable).await {
            Ok(contents) => contents.ok_or_else(unknown)?,
            Err(ToolError::Rejected(_) | ToolError::Failed(Error::NotFound | Error::Erased)) => {
                return Err(unknown().into());
            }
            Err(error) => return error.ask(),
        };
        let mut contents = contents;
        contents["uri"] = uri.into();
        contents["mimeType"] = resource.mime_type.into();
        // A record changes at any time.
        Ok(era::cached(json!({ "contents": [contents] }), 0))
    }
}

/// Fails with all the scopes that a request needs, unless the credential has them.
fn require(request: &ApiRequest<Message>, scopes: Scopes) -> Result<(), Error> {
    if scopes.are_within(request.scopes()) { Ok(()) } else { Err(Error::InsufficientScope(scopes)) }
}

/// A parameter that must be a string.
fn text<'p>(params: &'p Map<String, Value>, name: &str) -> Result<&'p str, RpcError> {
    let value = params.get(name).and_then(Value::as_str);
    value.ok_or_else(|| RpcError::invalid_params(format!("params.{name} must be a string")))
}

/// The only page of a list, so that no cursor is valid.
fn list(name: &str, items: &[Value], params: &Map<String, Value>) -> Result<Value, RpcError> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(era::cached(json!({ name: items }), LIST_LIFE)),
        Some(_) => Err(RpcError::invalid_params("The cursor is not valid: the list has one page")),
    }
}
