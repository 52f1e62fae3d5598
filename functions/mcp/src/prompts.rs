//! Prompts: tasks that a member can start with one command. They carry identifiers, never stored text.

use serde_json::{Map, Value};
use shared::model::{Scope, Scopes};

/// The prompts of this service.
pub static TABLE: &[Prompt] = &[];

/// Writes the messages of a prompt from its arguments. The error says what would be right.
pub type Write = fn(&Map<String, Value>) -> Result<Vec<Value>, String>;

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
}
