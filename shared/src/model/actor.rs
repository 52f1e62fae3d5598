//! Actors: who made a change.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::string_enum::string_enum;
use crate::id::Id;

string_enum! {
    /// The type of an actor.
    pub enum ActorKind {
        /// An API key.
        ApiKey = "api_key",
        /// An application with OAuth access.
        App = "app",
        /// A member, in the dashboard.
        Member = "member",
        /// An applicant, on the career page.
        CareerPage = "career_page",
        /// A voice provider, in a report on a call.
        VoiceProvider = "voice_provider",
        /// The service itself.
        System = "system",
    }
}

/// Who made a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Actor {
    /// The type.
    #[serde(rename = "type")]
    pub kind: ActorKind,
    /// The API key, the application's grant or the member; `null` for the other types.
    pub id: Option<Id>,
    /// The name at the time of the change.
    pub name: String,
}

/// An actor without the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActorId {
    /// The type.
    #[serde(rename = "type")]
    pub kind: ActorKind,
    /// The API key, the application's grant or the member; `null` for the other types.
    pub id: Option<Id>,
}

impl Actor {
    /// The actor without the name.
    pub const fn without_name(&self) -> ActorId {
        ActorId { kind: self.kind, id: self.id }
    }

    /// Who it is, at the beginning of a sentence to members.
    pub fn described(&self) -> String {
        match self.kind {
            ActorKind::ApiKey => format!("The API key \u{201c}{}\u{201d}", self.name),
            ActorKind::App => format!("The app \u{201c}{}\u{201d}", self.name),
            _ => self.name.clone(),
        }
    }

    /// An applicant on the career page.
    pub fn career_page() -> Self {
        Self { kind: ActorKind::CareerPage, id: None, name: "career page".to_owned() }
    }

    /// A voice provider.
    pub fn voice_provider() -> Self {
        Self { kind: ActorKind::VoiceProvider, id: None, name: "voice provider".to_owned() }
    }

    /// The service itself.
    pub fn system() -> Self {
        Self { kind: ActorKind::System, id: None, name: "Rolecall".to_owned() }
    }
}
