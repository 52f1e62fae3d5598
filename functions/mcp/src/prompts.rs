//! Prompts: tasks that a member can start with one command. They carry identifiers, never stored text.

use serde_json::{Value, json};
use shared::model::{Scope, Scopes};

use crate::request::McpRequest;
use crate::tools::ToolError;

/// The prompts of this service.
pub static TABLE: &[Prompt] = &[];

/// Writes the messages of a prompt from the arguments of the request. Required ones are strings.
pub type Write = fn(&McpRequest) -> Result<Vec<Value>, ToolError>;

/// A prompt.
pub struct Prompt {
    /// The name.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What the prompt is for.
    pub description: &'static str,
    /// The arguments.
    pub arguments: &'static [PromptArgument],
    /// The scopes that the work needs.
    pub scopes: &'static [Scope],
    /// Writes the messages.
    pub write: Write,
}

/// An argument of a prompt.
pub struct PromptArgument {
    /// The name.
    pub name: &'static str,
    /// What it is.
    pub description: &'static str,
    /// Whether it must be given.
    pub required: bool,
}

impl Prompt {
    /// The scopes that the work needs.
    pub fn scopes(&self) -> Scopes {
        self.scopes.iter().copied().collect()
    }

    /// The prompt, as lists show it.
    pub fn describe(&self) -> Value {
        let argument = |argument: &PromptArgument| {
            let PromptArgument { name, description, required } = argument;
            json!({ "name": name, "description": description, "required": required })
        };
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "arguments": self.arguments.iter().map(argument).collect::<Vec<_>>(),
        })
    }
}
