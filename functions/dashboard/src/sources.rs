//! Where applications came from and who made changes, in words.

use shared::model::{Actor, ActorKind, Source};

/// The sources that are not words of the organization, and their names on every page.
const NAMES: [(Source, &str); 3] =
    [(Source::CAREER_PAGE, "Career page"), (Source::MANUAL, "Added manually"), (Source::API, "API")];

/// Returns the source of an application, as text that follows its date.
pub(crate) fn source(source: &Source) -> &str {
    match source.as_str() {
        "manual" => "added manually",
        "career_page" => "via the career page",
        "api" => "via the API",
        other => other,
    }
}

/// Returns the name of a source, as a field or a table has it.
pub(crate) fn source_name(word: &str) -> &str {
    let known = NAMES.iter().find(|(source, _)| source.as_str() == word);
    known.map_or(word, |(_, name)| name)
}

/// Returns the word of the source that a member has typed: a name stands for the service's word.
pub(crate) fn source_word(typed: &str) -> &str {
    let known = NAMES.iter().find(|(_, name)| name.eq_ignore_ascii_case(typed.trim()));
    known.map_or(typed, |(source, _)| source.as_str())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_source_stands_for_its_word() {
        for (source, name) in NAMES {
            assert_eq!(source_name(source.as_str()), name);
            assert_eq!(source_word(&format!(" {} ", name.to_lowercase())), source.as_str());
            assert_eq!(source_word(source.as_str()), source.as_str());
        }
        assert_eq!((source_name("fair"), source_word("Fair ")), ("fair", "Fair "));
    }
}
