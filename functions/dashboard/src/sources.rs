//! Where applications came from and who made changes, in words.

use shared::model::{Actor, ActorKind, Source};

/// Returns the source of an application, as text that follows its date.
pub(crate) fn source(source: &Source) -> &str {
    match source.as_str() {
        "manual" => "added manually",
        "career_page" => "via the career page",
        "api" => "via the API",
        other => other,
    }
}

/// Describes an actor. Keys, applications and members have names of their own choice, so their type follows the name.
pub(crate) fn actor(actor: &Actor) -> String {
    let kind = match actor.kind {
        ActorKind::ApiKey => "API key",
        ActorKind::App => "connected app",
        ActorKind::Member => "member",
        ActorKind::CareerPage | ActorKind::VoiceProvider | ActorKind::System => return actor.name.clone(),
    };
    format!("{} ({kind})", actor.name)
}
