//! The names of schemas. The names of some types are clear only within their module.

use serde_json::Value;

use super::reference::SCHEMAS;

/// The names in the code and in the document, where the rule for bodies of requests is not enough. A generated client puts
/// all schemas into one namespace, often together with the language's own types.
const NAMES: [(&str, &str); 22] = [
    ("Channels", "ChannelOverview"),
    ("Error", "Problem"),
    ("RoleContent", "RoleInput"),
    ("Place", "RoleLocationInput"),
    ("QuickPost", "QuickPostInput"),
    ("Posted", "QuickPost"),
    ("Posting", "JobPosting"),
    ("PostingContent", "JobPostingContent"),
    ("PostingList", "JobPostingList"),
    ("PostingPatch", "JobPostingPatch"),
    ("RolePosting", "JobPostingInput"),
    ("Screen", "VoiceScreen"),
    ("ScreenDetail", "VoiceScreenDetail"),
    ("ScreenList", "VoiceScreenList"),
    ("ScreenResult", "VoiceScreenResult"),
    ("ScreenStatus", "VoiceScreenStatus"),
    ("NewScreen", "VoiceScreenInput"),
    ("Post", "XPost"),
    ("PostList", "XPostList"),
    ("NewPost", "XPostInput"),
    ("Style", "XPostStyle"),
    ("Turn", "TranscriptTurn"),
];

/// Renames the document's schemas and all references to them.
pub(super) fn rename(document: &mut Value) {
    let schemas = document["components"]["schemas"].as_object_mut().expect("schemas");
    for (in_code, _) in NAMES {
        assert!(schemas.contains_key(in_code), "{in_code} is not a schema");
    }
    let before = schemas.len();
    *schemas = std::mem::take(schemas).into_iter().map(|(name, schema)| (renamed(&name), schema)).collect();
    assert_eq!(schemas.len(), before, "two schemas have the same name");
    rename_references(document);
}

/// Returns the name in the document. `NewNote` becomes `NoteInput`: in Go, `NewNote` is the constructor of `Note`.
fn renamed(name: &str) -> String {
    if let Some((_, in_document)) = NAMES.into_iter().find(|(in_code, _)| *in_code == name) {
        return in_document.to_owned();
    }
    name.strip_prefix("New").map_or_else(|| name.to_owned(), |resource| format!("{resource}Input"))
}

fn rename_references(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(name) = text.strip_prefix(SCHEMAS) {
                *text = format!("{SCHEMAS}{}", renamed(name));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(rename_references),
        Value::Object(fields) => fields.values_mut().for_each(rename_references),
        _ => {}
    }
}
