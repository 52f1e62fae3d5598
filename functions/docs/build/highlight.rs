//! Code as HTML, with classes for the values of strings and for the first line of an HTTP message.

/// The language of code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Json,
    /// An HTTP message: its head, and a body in JSON.
    Http,
    /// A shell's or Python.
    Script,
    TypeScript,
    Text,
}

impl Language {
    /// Returns the language of a code block in Markdown.
    pub(crate) fn of(word: &str) -> Self {
        match word {
            "json" => Self::Json,
            "http" => Self::Http,
            "sh" | "python" => Self::Script,
            "ts" => Self::TypeScript,
            _ => Self::Text,
        }
    }

    /// The characters that begin and end strings.
    const fn quotes(self) -> &'static str {
        match self {
            Self::Json => "\"",
            Self::Script => "\"'",
            Self::TypeScript => "\"`",
            Self::Http | Self::Text => "",
        }
    }
}

/// Escapes text for HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns the HTML of code.
pub(crate) fn highlighted(code: &str, language: Language) -> String {
    if language == Language::Http {
        let (line, rest) = code.trim_end().split_once('\n').unwrap_or((code, ""));
        let (head, body) = rest.split_once("\n\n").unwrap_or((rest, ""));
        let body = highlighted(body, Language::Json);
        return format!("{}\n{}\n\n{body}", token("w", line), escaped(head)).trim_end().to_owned();
    }
    let mut html = String::with_capacity(code.len() * 2);
    let mut rest = code;
    while let Some(start) = rest.find(|character| language.quotes().contains(character)) {
        let (before, string) = rest.split_at(start);
        let (string, after) = string.split_at(string_length(string));
        html.push_str(&escaped(before));
        let is_key = language == Language::Json && after.starts_with(':');
        html.push_str(&if is_key { escaped(string) } else { token("s", string) });
        rest = after;
    }
    html + &escaped(rest)
}

fn token(class: &str, text: &str) -> String {
    format!("<span class=\"{class}\">{}</span>", escaped(text))
}

/// Returns the length of the string at the beginning of code, including its quotes.
fn string_length(code: &str) -> usize {
    let quote = code.chars().next();
    let mut is_escaped = false;
    for (index, character) in code.char_indices().skip(1) {
        if Some(character) == quote && !is_escaped {
            return index + character.len_utf8();
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    code.len()
}
