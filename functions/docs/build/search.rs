//! The index of the search: a title, a URL, a label and more words for each heading of the guide, operation and object. The words are
//! those of the text, each once: the search asks only whether they are there.

use std::collections::BTreeSet;

use serde_json::json;

use crate::Resource;
use crate::markdown::Section;

/// Returns the index as JSON.
pub(crate) fn index(sections: &[Section], resources: &[Resource]) -> String {
    let mut entries = Vec::new();
    for resource in resources {
        let page = format!("/docs/{}", resource.page);
        entries.push(json!([resource.title, page, "Reference", words(&resource.summary)]));
        for operation in &resource.operations {
            let label = format!("{} {}", operation.method, operation.path);
            entries.push(json!([
                operation.title,
                format!("{page}#{}", operation.id),
                label,
                words(&operation.words)
            ]));
        }
        for object in &resource.objects {
            entries.push(json!([
                object.name,
                format!("{page}#{}", object.name),
                "Object",
                words(&object.words)
            ]));
        }
    }
    for section in sections {
        for passage in &section.passages {
            let is_section = passage.anchor.is_empty();
            let mark = if is_section { "" } else { "#" };
            let url = format!("/docs/{}{mark}{}", section.page, passage.anchor);
            let label = if is_section { "Guide".to_owned() } else { format!("Guide: {}", section.title) };
            entries.push(json!([passage.title, url, label, words(&passage.text)]));
        }
    }
    json!(entries).to_string()
}

/// The words of a text in lower case, in alphabetical order, without the marks around them. The script takes these from a question, too.
fn words(text: &str) -> String {
    let text = text.to_lowercase();
    let words = text.split_whitespace().map(|word| word.trim_matches(|mark| ".,;:!?()\"".contains(mark)));
    let words: BTreeSet<_> = words.filter(|word| !word.is_empty()).collect();
    words.into_iter().collect::<Vec<_>>().join(" ")
}
