//! The names of stages elsewhere.

use shared::model::Stage;

/// What stages are called elsewhere, in lower case.
const STAGES: &[(Stage, &[&str])] = &[
    (
        Stage::Applied,
        &["new", "new applicant", "new lead", "application", "application review", "inbox", "sourced"],
    ),
    (
        Stage::Screening,
        &[
            "screen",
            "phone screen",
            "phone interview",
            "preliminary phone screen",
            "recruiter screen",
            "assessment",
        ],
    ),
    (
        Stage::Interview,
        &["interviewing", "interviews", "onsite", "on-site", "on-site interview", "face to face"],
    ),
    (Stage::Offer, &["offered", "offer extended", "offer sent"]),
    (Stage::Hired, &["hire", "offer accepted"]),
    (Stage::Rejected, &["archived", "declined", "disqualified", "not selected"]),
];

/// The stage with this name, here or elsewhere. Fails with the end of a sentence that begins with the name of a field.
pub(crate) fn named(name: &str) -> Result<Stage, String> {
    let name = name.trim().to_lowercase();
    let known = STAGES.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(stage, _)| *stage);
    known.map_or_else(|| name.parse(), Ok)
}
