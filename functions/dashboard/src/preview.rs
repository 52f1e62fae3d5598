//! The preview of a job: what the career page would show of it.

use shared::descriptions;
use shared::model::{
    Country, EmploymentType, PostingContent, PublicContent, RemotePolicy, RoleContent, Text,
};

/// A job as the career page shows it.
pub(crate) struct JobPreview {
    /// The title.
    pub(crate) title: String,
    /// The facts beside the description, with their names.
    pub(crate) facts: Vec<(&'static str, String)>,
    /// The description, as safe HTML.
    pub(crate) description: String,
    /// The requirements, as safe HTML.
    pub(crate) requirements: String,
}

impl JobPreview {
    /// The preview of a role with a posting.
    pub(crate) fn of(role: &RoleContent, posting: &PostingContent) -> Self {
        let PublicContent { title, description, requirements, .. } = posting.shown(role);
        let html = |text: Option<&str>| text.map(descriptions::html).unwrap_or_default();
        let facts = [
            ("Department", role.department.as_ref().map(|department| department.as_str().to_owned())),
            ("Location", listed(role.places.names())),
            ("Country", listed(role.places.countries().into_iter().map(Country::name))),
            ("Workplace", role.remote_policy().map(RemotePolicy::words).map(str::to_owned)),
            ("Employment", role.employment_type.map(EmploymentType::words).map(str::to_owned)),
            (role.pay.label(), role.pay.words()),
            ("Last day to apply", role.closes_on.map(|day| day.strftime("%-d %B %Y").to_string())),
        ];
        Self {
            title: title.as_str().to_owned(),
            facts: facts.into_iter().filter_map(|(name, fact)| Some((name, fact?))).collect(),
            description: html(description.map(Text::as_str)),
            requirements: html(requirements.map(Text::as_str)),
        }
    }
}

/// Several words as one; `None` without any.
fn listed<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Option<String> {
    let words: Vec<String> = words.into_iter().map(Into::into).collect();
    (!words.is_empty()).then(|| words.join(" · "))
}
