//! The chart of the table in the page about the architecture.

use shared::store::KINDS;

use crate::generated::{binary, with_rows};
use crate::permissions::{POLICIES, Policy, is_like, sample_key};
use crate::project::project;

/// Returns the page about the architecture with the current chart of the table.
pub fn current() -> String {
    let document = std::fs::read_to_string(project("shared/README.md")).expect("the page");
    let cell =
        |key: Option<&str>| key.map_or(String::new(), |key| format!("`{}`", key.replace(":016}", "}")));
    let rows = KINDS.iter().map(|kind| {
        let keys = [Some(kind.pk), kind.filter, kind.status_filter].map(|key| key.map(sample_key));
        let is_used = |policy: &Policy| {
            let mut patterns = policy.patterns().map(|(pattern, _)| pattern.as_bytes());
            patterns.any(|pattern| keys.iter().flatten().any(|key| is_like(pattern, key.as_bytes())))
        };
        let used =
            POLICIES.iter().filter(|(_, policy)| is_used(policy)).map(|(function, _)| binary(function));
        let used = match used.collect::<Vec<_>>() {
            all if all.len() == POLICIES.len() => "all".to_owned(),
            some => some.join(", "),
        };
        format!(
            "|{}{} | `{}` | {} | {} | {} | {} | {} | {used} |",
            kind.about,
            if kind.expires { " *" } else { "" },
            kind.name,
            cell(Some(kind.pk)),
            cell(Some(kind.sk)),
            cell(kind.filter),
            cell(kind.status_filter),
            format!("{:?}", kind.owner).to_lowercase(),
        )
    });
    with_rows(&document, "| Item | Kind | `pk` |", &rows.collect::<Vec<_>>())
}
