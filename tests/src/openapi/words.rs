//! Converts names to words: `job_postings` becomes "Job postings".

/// Converts a name to words.
pub(super) fn in_words(name: &str) -> String {
    let words = name.split('_').enumerate().map(|(index, word)| match word {
        "api" => "API".to_owned(),
        "mcp" => "MCP".to_owned(),
        "oauth" => "OAuth".to_owned(),
        "openapi" => "OpenAPI".to_owned(),
        word if index == 0 => capitalized(word),
        word => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Capitalizes the first letter.
pub(super) fn capitalized(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}
