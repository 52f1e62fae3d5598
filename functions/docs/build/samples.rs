//! Samples of requests in curl, Python and TypeScript.

use serde_json::Value;

use crate::document::{Document, Endpoint, list, members, text};
use crate::highlight::{Language, highlighted};

/// The base URL in the document's examples. The pages show the URL of the service instead.
pub(crate) const BASE_URL: &str = "https://api.rolecall.test";
/// The API key in the pages. The local service shows its demo key instead.
pub(crate) const API_KEY: &str = "YOUR_API_KEY";
/// The longest array or object on one line.
const MAX_LINE: usize = 60;

/// A sample in one language.
pub(crate) struct Sample {
    pub(crate) language: &'static str,
    pub(crate) code: String,
}

/// How a request authenticates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Authentication {
    /// An API key or an access token.
    Credential,
    /// The signature of a voice provider.
    Signature,
    /// Nothing in the headers.
    None,
}

impl Authentication {
    pub(crate) fn of(endpoint: &Endpoint<'_>) -> Self {
        let schemes = list(&endpoint.value["security"]);
        let uses = |name: &str| schemes.iter().any(|scheme| scheme.get(name).is_some());
        match () {
            () if uses("token") => Self::Credential,
            () if uses("signature") => Self::Signature,
            () => Self::None,
        }
    }
}

/// The value of a header.
enum HeaderValue {
    /// A prefix and the name of an environment variable.
    Variable(&'static str, &'static str),
    /// A new random value.
    Random,
}

/// A request as samples show it.
pub(crate) struct Request<'d> {
    method: String,
    url: String,
    authentication: Authentication,
    takes_idempotency_key: bool,
    /// The content type and the value of the body.
    body: Option<(&'d str, &'d Value)>,
    /// Whether the response is JSON.
    is_json: bool,
}

impl<'d> Request<'d> {
    pub(crate) fn of(document: &'d Document, endpoint: &Endpoint<'d>) -> Self {
        let response = endpoint.success(document).map(|(_, response)| &response["content"]);
        let mut parameters =
            list(&endpoint.value["parameters"]).iter().map(|parameter| document.resolve(parameter));
        Self {
            method: endpoint.method.to_uppercase(),
            url: format!("{BASE_URL}{}", example_path(document, endpoint)),
            authentication: Authentication::of(endpoint),
            takes_idempotency_key: parameters.any(|parameter| parameter["name"] == "Idempotency-Key"),
            body: body(endpoint),
            is_json: response.is_some_and(|content| content.get("application/json").is_some()),
        }
    }

    pub(crate) fn samples(&self) -> [Sample; 3] {
        [
            ("curl", self.curl(), Language::Script),
            ("Python", self.python(), Language::Script),
            ("TypeScript", self.typescript(), Language::TypeScript),
        ]
        .map(|(name, code, language)| Sample { language: name, code: highlighted(&code, language) })
    }

    fn headers(&self) -> Vec<(&'static str, HeaderValue)> {
        let mut headers = match self.authentication {
            Authentication::Credential => {
                vec![("Authorization", HeaderValue::Variable("Bearer ", "ROLECALL_KEY"))]
            }
            Authentication::Signature => vec![
                ("X-Timestamp", HeaderValue::Variable("", "TIMESTAMP")),
                ("X-Signature", HeaderValue::Variable("", "SIGNATURE")),
            ],
            Authentication::None => vec![],
        };
        if self.takes_idempotency_key {
            headers.push(("Idempotency-Key", HeaderValue::Random));
        }
        headers
    }

    fn curl(&self) -> String {
        let method = if self.method == "GET" { String::new() } else { format!("-X {} ", self.method) };
        let mut lines = vec![format!("curl {method}{}", self.url)];
        lines.extend(self.headers().into_iter().map(|(name, value)| match value {
            HeaderValue::Variable(prefix, variable) => format!("-H \"{name}: {prefix}${variable}\""),
            // Not all systems with a shell have `uuidgen` or `openssl`.
            HeaderValue::Random => format!("-H \"{name}: $(od -An -N8 -tx8 /dev/urandom | tr -d ' ')\""),
        }));
        match self.body {
            Some(("application/json", value)) => {
                lines.push("-H \"Content-Type: application/json\"".to_owned());
                let body = literal(value, &JSON, "  ").replace('\'', "'\\''");
                lines.push(format!("-d '{body}'"));
            }
            Some((_, form)) => {
                lines.extend(
                    members(form).map(|(name, value)| format!("--data-urlencode '{name}={}'", text(value))),
                );
            }
            None => {}
        }
        lines.join(" \\\n  ")
    }

    fn python(&self) -> String {
        let mut arguments = vec![format!("\"{}\"", self.url)];
        let headers = self.headers().into_iter().map(|(name, value)| match value {
            HeaderValue::Variable("", variable) => format!("\"{name}\": os.environ[\"{variable}\"]"),
            HeaderValue::Variable(prefix, variable) => {
                format!("\"{name}\": f\"{prefix}{{os.environ['{variable}']}}\"")
            }
            HeaderValue::Random => format!("\"{name}\": str(uuid.uuid4())"),
        });
        let headers: Vec<_> = headers.collect();
        match headers.as_slice() {
            [] => {}
            [header] => arguments.push(format!("headers={{{header}}}")),
            headers => {
                arguments.push(format!("headers={{\n        {},\n    }}", headers.join(",\n        ")));
            }
        }
        if let Some((media, value)) = self.body {
            let name = if media == "application/json" { "json" } else { "data" };
            arguments.push(format!("{name}={}", literal(value, &PYTHON, "    ")));
        }
        let imports = match (headers.is_empty(), self.takes_idempotency_key) {
            (true, _) => "import httpx",
            (false, false) => "import os\n\nimport httpx",
            (false, true) => "import os\nimport uuid\n\nimport httpx",
        };
        let method = self.method.to_lowercase();
        let call = match arguments.as_slice() {
            [url] => format!("httpx.{method}({url})"),
            arguments => format!("httpx.{method}(\n    {},\n)", arguments.join(",\n    ")),
        };
        let read = if self.is_json { "response.json()" } else { "response.text" };
        format!("{imports}\n\nresponse = {call}\nresponse.raise_for_status()\nprint({read})")
    }

    fn typescript(&self) -> String {
        let mut options = vec![];
        if self.method != "GET" {
            options.push(format!("method: \"{}\"", self.method));
        }
        let headers = self.headers().into_iter().map(|(name, value)| {
            let name = if name.contains('-') { format!("\"{name}\"") } else { name.to_owned() };
            match value {
                HeaderValue::Variable(prefix, variable) => {
                    format!("{name}: `{prefix}${{process.env.{variable}}}`")
                }
                HeaderValue::Random => format!("{name}: crypto.randomUUID()"),
            }
        });
        let mut headers: Vec<_> = headers.collect();
        let mut body = None;
        match self.body {
            Some(("application/json", value)) => {
                headers.push("\"Content-Type\": \"application/json\"".to_owned());
                body = Some(format!("body: JSON.stringify({})", literal(value, &TYPESCRIPT, "  ")));
            }
            Some((_, form)) => {
                body = Some(format!("body: new URLSearchParams({})", literal(form, &TYPESCRIPT, "  ")));
            }
            None => {}
        }
        match headers.as_slice() {
            [] => {}
            [header] => options.push(format!("headers: {{ {header} }}")),
            headers => options.push(format!("headers: {{\n    {},\n  }}", headers.join(",\n    "))),
        }
        options.extend(body);
        let call = match options.as_slice() {
            [] => format!("fetch(\"{}\")", self.url),
            options => format!("fetch(\"{}\", {{\n  {},\n}})", self.url, options.join(",\n  ")),
        };
        let read = if self.is_json { "json" } else { "text" };
        format!(
            "const response = await {call};\nif (!response.ok) throw new Error(await response.text());\n\
             console.log(await response.{read}());"
        )
    }
}

/// Returns the content type and the example of the request's body.
pub(crate) fn body<'d>(endpoint: &Endpoint<'d>) -> Option<(&'d str, &'d Value)> {
    let (media, content) = members(&endpoint.value["requestBody"]["content"]).next()?;
    content.get("example").map(|example| (media, example))
}

/// Returns the path with examples of its parameters.
fn example_path(document: &Document, endpoint: &Endpoint<'_>) -> String {
    let mut path = endpoint.path.to_owned();
    for parameter in list(&endpoint.value["parameters"]).iter().map(|parameter| document.resolve(parameter)) {
        if parameter["in"] == "path" {
            let name = text(&parameter["name"]);
            path = path.replace(&format!("{{{name}}}"), &example(document, endpoint, parameter));
        }
    }
    path
}

/// Returns an example of a parameter of the path: its first value, or the identifier of the first item in the list to
/// which the path before the parameter leads.
fn example(document: &Document, endpoint: &Endpoint<'_>, parameter: &Value) -> String {
    let name = text(&parameter["name"]);
    let value = document.resolve(&parameter["schema"])["enum"][0].as_str();
    let (list, _) = endpoint.path.split_once(&format!("/{{{name}}}")).unwrap_or_default();
    let first = document.example_of(list).and_then(|example| example["data"][0]["id"].as_u64());
    match (value, first) {
        (Some(value), _) => value.to_owned(),
        (None, Some(first)) => first.to_string(),
        // The organization of the document's examples.
        (None, None) => "acme".to_owned(),
    }
}

/// The notation of values in a language.
pub(crate) struct Notation {
    truth: [&'static str; 2],
    null: &'static str,
    quotes_keys: bool,
    /// The characters between the braces and the members of an object on one line.
    padding: &'static str,
    /// What follows the last item if each has a line of its own.
    last: &'static str,
}

pub(crate) const JSON: Notation =
    Notation { truth: ["false", "true"], null: "null", quotes_keys: true, padding: "", last: "" };
const PYTHON: Notation =
    Notation { truth: ["False", "True"], null: "None", quotes_keys: true, padding: "", last: "," };
const TYPESCRIPT: Notation =
    Notation { truth: ["false", "true"], null: "null", quotes_keys: false, padding: " ", last: "," };

/// Returns a value in a notation. `indent` is the indentation of the line on which it begins.
pub(crate) fn literal(value: &Value, notation: &Notation, indent: &str) -> String {
    let step = if notation.truth[1] == "True" { "    " } else { "  " };
    let deeper = format!("{indent}{step}");
    let (open, close, padding, items): (_, _, _, Vec<String>) = match value {
        Value::Null => return notation.null.to_owned(),
        Value::Bool(truth) => return notation.truth[usize::from(*truth)].to_owned(),
        Value::Array(items) => {
            ('[', ']', "", items.iter().map(|item| literal(item, notation, &deeper)).collect())
        }
        Value::Object(members) => {
            let items = members.iter().map(|(name, value)| {
                let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                let quote = if notation.quotes_keys || !is_word { "\"" } else { "" };
                format!("{quote}{name}{quote}: {}", literal(value, notation, &deeper))
            });
            ('{', '}', notation.padding, items.collect())
        }
        Value::Number(_) | Value::String(_) => return value.to_string(),
    };
    let line = items.join(", ");
    if items.is_empty() {
        format!("{open}{close}")
    } else if line.len() <= MAX_LINE && !line.contains('\n') {
        format!("{open}{padding}{line}{padding}{close}")
    } else {
        let lines = items.join(&format!(",\n{deeper}"));
        format!("{open}\n{deeper}{lines}{}\n{indent}{close}", notation.last)
    }
}
