//! The index of the search: a title, a URL, a label and more words for each heading of the guide, operation and object.

use serde_json::json;

use crate::Resource;
use crate::markdown::Section;

/// Returns the index as JSON.
pub(crate) fn index(sections: &[Section], resources: &[Resource]) -> String {
    let mut entries = Vec::new();
    for resource in resources {
        let page = format!("/docs/{}", resource.page);
        entries.push(json!([resource.title, page, "Reference", resource.summary]));
        for operation in &resource.operations {
            let label = format!("{} {}", operation.method, operation.path);
            entries.push(json!([
                operation.title,
                format!("{page}#{}", operation.id),
                label,
                operation.words
            ]));
        }
        for object in &resource.objects {
            entries.push(json!([object.name, format!("{page}#{}", object.name), "Object", object.words]));
        }
    }
    for section in sections {
        for passage in &section.passages {
            let is_section = passage.anchor.is_empty();
            let mark = if is_section { "" } else { "#" };
            let url = format!("/docs/{}{mark}{}", section.page, passage.anchor);
            let label = if is_section { "Guide".to_owned() } else { format!("Guide: {}", section.title) };
            let words: Vec<_> = passage.text.split_whitespace().collect();
            entries.push(json!([passage.title, url, label, words.join(" ")]));
        }
    }
    json!(entries).to_string()
}
