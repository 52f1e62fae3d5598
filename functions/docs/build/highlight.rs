//! Code as HTML, with classes for its tokens.

use std::fmt::Write;

/// The language of code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Json,
    /// An HTTP message: its head, and a body in JSON.
    Http,
    Shell,
    Python,
    TypeScript,
    Text,
}

impl Language {
    /// Returns the language of a code block in Markdown.
    pub(crate) fn of(word: &str) -> Self {
        match word {
            "json" => Self::Json,
            "http" => Self::Http,
            "sh" => Self::Shell,
            "python" => Self::Python,
            "ts" => Self::TypeScript,
            _ => Self::Text,
        }
    }

    const fn keywords(self) -> &'static [&'static str] {
        match self {
            Self::Json => &["true", "false", "null"],
            Self::Python => &[
                "and", "break", "def", "else", "except", "for", "from", "if", "import", "in", "is", "not",
                "or", "pass", "print", "raise", "return", "try", "while", "False", "None", "True",
            ],
            Self::TypeScript => &[
                "as", "async", "await", "catch", "const", "do", "for", "from", "function", "if", "import",
                "let", "new", "of", "return", "throw", "try", "type", "while", "false", "null", "true",
            ],
            Self::Shell => &["cat", "curl", "done", "do", "export", "npm", "npx", "pip", "python3", "while"],
            Self::Http | Self::Text => &[],
        }
    }

    /// The characters that begin and end strings.
    const fn quotes(self) -> &'static str {
        match self {
            Self::Json => "\"",
            Self::Shell | Self::Python => "\"'",
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
        return http(code);
    }
    let mut html = String::with_capacity(code.len() * 2);
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let (class, length) = if language.quotes().contains(first) {
            let length = string_length(rest, first);
            let is_key = language == Language::Json && rest[length..].starts_with(':');
            (if is_key { "k" } else { "s" }, length)
        } else if first.is_ascii_alphanumeric() || first == '_' {
            let is_part = |character: char| character.is_ascii_alphanumeric() || "._".contains(character);
            let length = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
            let word = &rest[..length];
            let is_number =
                language != Language::Shell && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            let is_keyword = language.keywords().contains(&word);
            (
                if is_keyword {
                    "w"
                } else if is_number {
                    "n"
                } else {
                    ""
                },
                length,
            )
        } else {
            ("", first.len_utf8())
        };
        let (token, after) = rest.split_at(length);
        write_token(&mut html, class, token);
        rest = after;
    }
    html
}

fn write_token(html: &mut String, class: &str, token: &str) {
    let token = escaped(token);
    // Writing to a string cannot fail.
    let _ = if class.is_empty() {
        html.write_str(&token)
    } else {
        write!(html, "<span class=\"{class}\">{token}</span>")
    };
}

/// Returns the length of a string including its quotes.
fn string_length(code: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (index, character) in code.char_indices().skip(1) {
        if character == quote && !is_escaped {
            return index + character.len_utf8();
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    code.len()
}

fn http(message: &str) -> String {
    let (head, body) = message.split_once("\n\n").unwrap_or((message, ""));
    let mut html = String::new();
    for (index, line) in head.trim_end().lines().enumerate() {
        if index > 0 {
            html.push('\n');
        }
        match line.split_once(": ") {
            Some((name, value)) if index > 0 => {
                write_token(&mut html, "k", name);
                write_token(&mut html, "", &format!(": {value}"));
            }
            _ => write_token(&mut html, "w", line),
        }
    }
    if !body.trim().is_empty() {
        html.push_str("\n\n");
        html.push_str(&highlighted(body.trim_end(), Language::Json));
    }
    html
}
