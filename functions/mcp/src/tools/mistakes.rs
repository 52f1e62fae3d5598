//! The errors of the API as an assistant reads them. They have no text of strangers, and say what would be right.

use std::borrow::Cow;

use shared::http::Error;

use super::fence::clean_text;

/// The maximum number of characters of an error.
const MAX: usize = 1_500;

/// What an assistant reads about a failed call; `None` if the whole request failed.
pub(super) fn explain(error: &Error) -> Option<String> {
    let (status, code) = error.kind();
    let text = match error {
        Error::Validation(messages) => {
            let messages: Vec<_> = messages.iter().map(|message| in_words(message)).collect();
            format!("The arguments are not valid: {}.", messages.join("; "))
        }
        Error::Duplicate { messages, existing } => {
            let existing = existing.map(|existing| format!(" It is {} {}.", existing.kind, existing.id));
            format!("{}.{}", messages.join("; "), existing.unwrap_or_default())
        }
        Error::InvalidTransition(message)
        | Error::ChannelNotConnected(message)
        | Error::ConsentRequired(message)
        | Error::PlanLimit(message) => format!("{}: {message}.", error.sentence()),
        Error::NotFound => "There is no such record in this organization. Candidates' ids come from \
                            search_candidates, roles' ids from list_roles, and voice screens' ids from get_candidate."
            .to_owned(),
        Error::Erased => "The candidate was erased. Nothing else is known about the candidate.".to_owned(),
        Error::IdempotencyMismatch => {
            "This idempotency_key was used for another call. Use a new one for a new call.".to_owned()
        }
        Error::BadRequest(_) | Error::PreconditionFailed | Error::Upstream { .. } => format!("{}.", error.sentence()),
        // The arguments are not the cause of other errors: credentials, scopes, the quota, or the service itself.
        _ if code == "conflict" || !(404..429).contains(&status) => return None,
        _ => format!("{}.", error.sentence()),
    };
    Some(clean_text(&in_tools(&text), MAX))
}

/// A blank argument counts as absent, so one that is required is missing.
fn in_words(message: &str) -> Cow<'_, str> {
    match message.strip_suffix(" can't be blank") {
        Some(name) if !name.ends_with(']') => format!("{name} is missing").into(),
        _ => message.into(),
    }
}

/// Names the tools in place of the routes.
fn in_tools(text: &str) -> String {
    let mut named = String::new();
    let mut rest = text;
    while let Some((before, route)) = split_route(rest) {
        named.push_str(before);
        let end = route.find([' ', ';', ',']).unwrap_or_else(|| route.trim_end_matches('.').len());
        let action = route[..end].rsplit('/').next().unwrap_or_default();
        let action = if action.starts_with('{') { "close" } else { action };
        named.push_str("set_role_status, action ");
        named.push_str(action);
        rest = &route[end..];
    }
    named + rest
}

fn split_route(text: &str) -> Option<(&str, &str)> {
    ["POST /api/v1/roles/", "DELETE /api/v1/roles/"]
        .iter()
        .filter_map(|prefix| text.find(prefix).map(|at| (at, at + prefix.len())))
        .min()
        .map(|(at, end)| (&text[..at], &text[end..]))
}
