//! Where applications came from, in words.

use shared::model::Source;

/// Returns the source of an application, as text that follows its date.
pub(crate) fn source(source: &Source) -> &str {
    match source.as_str() {
        "manual" => "added manually",
        "career_page" => "via the career page",
        "api" => "via the API",
        other => other,
    }
}
