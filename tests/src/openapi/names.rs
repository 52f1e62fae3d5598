//! The names of schemas. The names of some types are clear only within their module.

use serde_json::Value;

use super::reference::SCHEMAS;

/// The names in the code and in the document. A generated client puts all schemas into one namespace, often together
/// with the language's own types.
const NAMES: [(&str, &str); 20] = [
    ("Error", "ApiError"),
    ("RoleContent", "NewRole"),
    ("QuickPost", "NewQuickPost"),
    ("Posted", "QuickPost"),
    ("Posting", "JobPosting"),
    ("PostingContent", "JobPostingContent"),
    ("PostingList", "JobPostingList"),
    ("PostingPatch", "JobPostingPatch"),
    ("RolePosting", "NewJobPosting"),
    ("Screen", "VoiceScreen"),
    ("ScreenDetail", "VoiceScreenDetail"),
    ("ScreenList", "VoiceScreenList"),
    ("ScreenResult", "VoiceScreenResult"),
    ("ScreenStatus", "VoiceScreenStatus"),
    ("NewScreen", "NewVoiceScreen"),
    ("Post", "XPost"),
    ("PostList", "XPostList"),
    ("NewPost", "NewXPost"),
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

fn renamed(name: &str) -> String {
    let found = NAMES.into_iter().find(|(in_code, _)| *in_code == name);
    found.map_or(name, |(_, in_document)| in_document).to_owned()
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
