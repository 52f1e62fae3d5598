//! What clients call the types whose own name says enough only within its module.

use serde_json::Value;

use super::SCHEMAS;

/// The name in the code, and the name in the document. Generated clients have one name space for all of them, and often
/// one for the language's own types, too.
const NAMES: [(&str, &str); 21] = [
    ("Error", "ApiError"),
    ("RoleContent", "NewRole"),
    ("QuickPost", "NewQuickPost"),
    ("Posted", "QuickPost"),
    ("Posting", "JobPosting"),
    ("NewPosting", "JobPostingContent"),
    ("PostingList", "JobPostingList"),
    ("PostingPatch", "JobPostingPatch"),
    ("RolePosting", "NewJobPosting"),
    ("Source", "ApplicationSource"),
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

/// Gives the document's schemas, and what refers to them, their names.
pub(super) fn rename(document: &mut Value) {
    let schemas = document["components"]["schemas"].as_object_mut().expect("schemas");
    for (ours, _) in NAMES {
        assert!(schemas.contains_key(ours), "{ours} is no schema");
    }
    let before = schemas.len();
    *schemas = std::mem::take(schemas).into_iter().map(|(name, schema)| (renamed(&name), schema)).collect();
    assert_eq!(schemas.len(), before, "two schemas have one name");
    refer(document);
}

fn renamed(name: &str) -> String {
    let found = NAMES.into_iter().find(|(ours, _)| *ours == name);
    found.map_or(name, |(_, theirs)| theirs).to_owned()
}

fn refer(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(name) = text.strip_prefix(SCHEMAS) {
                *text = format!("{SCHEMAS}{}", renamed(name));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(refer),
        Value::Object(fields) => fields.values_mut().for_each(refer),
        _ => {}
    }
}
