//! The tools, prompts and resources that the MCP conformance suite calls, on the core of the function `mcp`; and a tool
//! that needs a confirmation.

use mcp::prompts::{Prompt, PromptArgument};
use mcp::request::McpRequest;
use mcp::resources::ResourceTemplate;
use mcp::rpc::{Answer, Message};
use mcp::server::{self, Server};
use mcp::tools::{Annotations, Call, Tool, ToolError, ToolResult, text};
use serde_json::{Value, json};
use shared::handlers::responses::role::Role;
use shared::handlers::roles;
use shared::http::{ApiRequest, Created, Error, Question, Reply, Route, Row, Unversioned};
use shared::model::{RoleContent, Scope};

/// A picture of one pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/// A sound without samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// The route of the endpoint with the fixtures.
pub fn routes() -> Vec<Route> {
    vec![Route::rpc("POST /mcp", answer)]
}

async fn answer(request: ApiRequest<Message>) -> Result<Reply<Unversioned<Answer>>, Error> {
    server::answer(&FIXTURES, request).await
}

static FIXTURES: Server =
    Server { tools: TOOLS, prompts: PROMPTS, resources: RESOURCES, instructions: "Fixtures for tests." };

const fn tool(name: &'static str, call: Call) -> Tool {
    Tool {
        name,
        title: name,
        description: "A fixture.",
        annotations: Annotations { read_only: true, destructive: false, idempotent: true, open_world: false },
        scopes: &[],
        input: || json!({ "type": "object", "properties": {} }),
        output: None,
        call,
    }
}

static TOOLS: &[Tool] = &[
    tool("test_simple_text", |_| {
        Box::pin(async { Ok(ToolResult::content(vec![text("This is a simple text response for testing.")])) })
    }),
    tool("test_image_content", |_| Box::pin(async { Ok(ToolResult::content(vec![image()])) })),
    tool("test_audio_content", |_| {
        Box::pin(async {
            Ok(ToolResult::content(vec![json!({ "type": "audio", "data": WAV, "mimeType": "audio/wav" })]))
        })
    }),
    tool("test_embedded_resource", |_| {
        Box::pin(async { Ok(ToolResult::content(vec![embedded("test://embedded-resource")])) })
    }),
    tool("test_multiple_content_types", |_| {
        Box::pin(async {
            let content = vec![
                text("Multiple content types test:"),
                image(),
                embedded("test://mixed-content-resource"),
            ];
            Ok(ToolResult::content(content))
        })
    }),
    tool("test_error_handling", |_| {
        Box::pin(async {
            Err(ToolError::Rejected("This tool intentionally returns an error for testing".to_owned()))
        })
    }),
    tool("test_logging_tool", |_| Box::pin(async { Ok(done()) })),
    tool("test_missing_capability", |request| {
        Box::pin(async { Err(request.ask(&json!({ "capital": sampling() }), None)?) })
    }),
    tool("test_streaming_elicitation", |request| {
        Box::pin(async { Err(request.ask(&json!({ "name": form("What is your name?", "name") }), None)?) })
    }),
    tool("test_input_required_result_elicitation", |request| {
        Box::pin(async {
            match request.response("user_name").and_then(|response| response["content"]["name"].as_str()) {
                Some(name) => Ok(ToolResult::content(vec![text(&format!("Hello, {name}!"))])),
                None => Err(request.ask(&json!({ "user_name": form("What is your name?", "name") }), None)?),
            }
        })
    }),
    tool("test_input_required_result_sampling", |request| {
        Box::pin(async {
            match request.response("capital_question") {
                Some(response) => {
                    Ok(ToolResult::content(vec![text(&response["content"]["text"].to_string())]))
                }
                None => Err(request.ask(&json!({ "capital_question": sampling() }), None)?),
            }
        })
    }),
    tool("test_input_required_result_list_roots", |request| {
        Box::pin(async {
            match request.response("client_roots") {
                Some(response) => Ok(ToolResult::content(vec![text(&response["roots"].to_string())])),
                None => Err(request.ask(&json!({ "client_roots": list_roots() }), None)?),
            }
        })
    }),
    tool("test_input_required_result_request_state", |request| Box::pin(async { with_state(request) })),
    tool("test_input_required_result_tampered_state", |request| Box::pin(async { with_state(request) })),
    tool("test_input_required_result_multiple_inputs", |request| {
        Box::pin(async {
            let names = ["user_name", "greeting", "client_roots"];
            if request.state()?.is_some() && names.iter().all(|name| request.response(name).is_some()) {
                return Ok(done());
            }
            let questions = json!({
                "user_name": form("What is your name?", "name"),
                "greeting": sampling(),
                "client_roots": list_roots(),
            });
            Err(request.ask(&questions, Some(&json!("all")))?)
        })
    }),
    tool("test_input_required_result_multi_round", |request| {
        Box::pin(async {
            let state = request.state()?.unwrap_or_default();
            match (state.as_u64(), request.response("step1"), request.response("step2")) {
                (Some(2), _, Some(_)) => Ok(done()),
                (Some(1), Some(_), _) => {
                    let question = json!({ "step2": form("Step 2: What is your favorite color?", "color") });
                    Err(request.ask(&question, Some(&json!(2)))?)
                }
                _ => {
                    let question = json!({ "step1": form("Step 1: What is your name?", "name") });
                    Err(request.ask(&question, Some(&json!(1)))?)
                }
            }
        })
    }),
    tool("test_input_required_result_capabilities", |request| {
        Box::pin(async {
            let mut questions = json!({});
            for (capability, question) in
                [("sampling", sampling()), ("elicitation", form("Confirm?", "ok")), ("roots", list_roots())]
            {
                if request.client().can(capability) {
                    questions[capability] = question;
                }
            }
            Err(request.ask(&questions, Some(&json!("asked")))?)
        })
    }),
    Tool {
        scopes: &[Scope::RolesWrite],
        annotations: Annotations {
            read_only: false,
            destructive: false,
            idempotent: false,
            open_world: true,
        },
        ..tool("test_confirmed", |request| Box::pin(create_role(request)))
    },
];

/// Creates a role with the title in the arguments, after a confirmation.
async fn create_role(request: &McpRequest) -> Result<ToolResult, ToolError> {
    let title = request.arguments().get("title").cloned().unwrap_or_default();
    let fields = [("title".to_owned(), title)].into_iter().collect();
    let call = request.call(None, fields)?;
    Ok(ToolResult::structured(request.carry_out_confirmed(call, create_confirmed).await?))
}

async fn create_confirmed(request: ApiRequest<RoleContent>) -> Result<Reply<Created<Role>>, Error> {
    request.confirm(|| Question::new("Create a role.")).await?;
    roles::create(request).await
}

fn with_state(request: &McpRequest) -> Result<ToolResult, ToolError> {
    match (request.state()?, request.response("confirm")) {
        (Some(_), Some(_)) => Ok(ToolResult::content(vec![text("state-ok")])),
        _ => Err(request.ask(&json!({ "confirm": form("Please confirm", "ok") }), Some(&json!("asked")))?),
    }
}

const fn prompt(
    name: &'static str,
    arguments: &'static [PromptArgument],
    write: mcp::prompts::Write,
) -> Prompt {
    Prompt { name, title: name, description: "A fixture.", arguments, scopes: &[], write }
}

const fn argument(name: &'static str) -> PromptArgument {
    PromptArgument { name, description: "An argument.", required: true }
}

static PROMPTS: &[Prompt] = &[
    prompt("test_simple_prompt", &[], |_| Ok(vec![user(&text("This is a simple prompt for testing."))])),
    prompt("test_prompt_with_arguments", &[argument("arg1"), argument("arg2")], |request| {
        let arguments = request.arguments();
        let sentence =
            format!("Prompt with arguments: arg1={}, arg2={}", arguments["arg1"], arguments["arg2"]);
        Ok(vec![user(&text(&sentence))])
    }),
    prompt("test_prompt_with_embedded_resource", &[argument("resourceUri")], |request| {
        let uri = request.arguments()["resourceUri"].as_str().unwrap_or_default();
        Ok(vec![user(&embedded(uri)), user(&text("Please process the embedded resource above."))])
    }),
    prompt("test_prompt_with_image", &[], |_| {
        Ok(vec![user(&image()), user(&text("Please analyze the image above."))])
    }),
    prompt("test_input_required_result_prompt", &[], |request| {
        let Some(response) = request.response("user_context") else {
            let question = json!({ "user_context": form("What context should the prompt use?", "context") });
            return Err(request.ask(&question, None)?);
        };
        Ok(vec![user(&text(&response["content"]["context"].to_string()))])
    }),
];

static RESOURCES: &[ResourceTemplate] = &[
    ResourceTemplate {
        uri: "test://static-text",
        name: "static-text",
        title: "A text",
        description: "A fixture.",
        mime_type: "text/plain",
        scopes: &[],
        read: |_, _| {
            Box::pin(async {
                Ok(Some(json!({ "text": "This is the content of the static text resource." })))
            })
        },
    },
    ResourceTemplate {
        uri: "test://static-binary",
        name: "static-binary",
        title: "A picture",
        description: "A fixture.",
        mime_type: "image/png",
        scopes: &[],
        read: |_, _| Box::pin(async { Ok(Some(json!({ "blob": PNG }))) }),
    },
    ResourceTemplate {
        uri: "test://template/{id}/data",
        name: "template",
        title: "A record",
        description: "A fixture.",
        mime_type: "application/json",
        scopes: &[],
        read: |_, id| {
            Box::pin(async move {
                let record = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
                Ok(Some(json!({ "text": record.to_string() })))
            })
        },
    },
];

fn done() -> ToolResult {
    ToolResult::content(vec![text("done")])
}

fn image() -> Value {
    json!({ "type": "image", "data": PNG, "mimeType": "image/png" })
}

fn embedded(uri: &str) -> Value {
    let resource =
        json!({ "uri": uri, "mimeType": "text/plain", "text": "This is an embedded resource content." });
    json!({ "type": "resource", "resource": resource })
}

fn user(content: &Value) -> Value {
    json!({ "role": "user", "content": content })
}

fn form(message: &str, field: &str) -> Value {
    let schema =
        json!({ "type": "object", "properties": { field: { "type": "string" } }, "required": [field] });
    json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": schema } })
}

fn sampling() -> Value {
    let message = json!({ "role": "user", "content": text("What is the capital of France?") });
    json!({ "method": "sampling/createMessage", "params": { "messages": [message], "maxTokens": 100 } })
}

fn list_roots() -> Value {
    json!({ "method": "roots/list", "params": {} })
}
