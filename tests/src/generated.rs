//! Generated files. Each file has a test that fails if the file is out of date. `.ci/renew` runs these tests with
//! `RENEW` set, which makes them write the files.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::fmt::Write;

use rolecall_local::functions::{Tables, tables};
use rolecall_local::template::DEFAULT;

use crate::openapi::operations;
use crate::openapi::source::Source;
use crate::project::project;

/// How the paths of pages begin.
const PAGES: [&str; 3] = ["/careers/", "/dashboard", "/docs"];

/// Whether the generated files are to be written.
pub(crate) fn renews() -> bool {
    std::env::var_os("RENEW").is_some()
}

/// Fails if a file of the project does not have this content. If `RENEW` is set, writes the file instead.
pub fn assert_current(path: &str, content: &str) {
    let file = project(path);
    let previous = std::fs::read_to_string(&file);
    if previous.as_ref().is_ok_and(|previous| previous == content) {
        return;
    }
    if renews() {
        std::fs::write(file, content).expect("a writable file");
        return;
    }
    let previous = previous.unwrap_or_else(|_| panic!("{path} is missing: run .ci/renew"));
    let equal = previous.lines().zip(content.lines()).take_while(|(previous, line)| previous == line).count();
    let line = |text: &str| text.lines().nth(equal).unwrap_or("(the end of the file)").to_owned();
    panic!(
        "{path} is out of date: run .ci/renew\nline {}:  {}\nexpected: {}",
        equal + 1,
        line(&previous),
        line(content)
    );
}

/// Returns `template.yaml` with the current routes of the gateway, and its permissions to invoke functions.
pub fn template() -> String {
    let template = std::fs::read_to_string(project("template.yaml")).expect("the template");
    let (mut routes, mut permissions, mut aliases) = (BTreeMap::new(), Vec::new(), Vec::new());
    for tables in tables() {
        let function = tables.function;
        let short = function.trim_end_matches("Function");
        aliases.push(format!("      - {function}Aliaslive"));
        permissions.push(format!(
            "  {short}Permission: {{Type: AWS::Lambda::Permission, Properties: {{Action: lambda:InvokeFunction, \
             FunctionName: !Ref {function}.Alias, Principal: apigateway.amazonaws.com, SourceArn: !Sub \
             'arn:${{AWS::Partition}}:execute-api:${{AWS::Region}}:${{AWS::AccountId}}:${{Api}}/*'}}}}"
        ));
        for row in tables.rows() {
            let path = row.key.split_once(' ').map_or(row.key, |(_, path)| path);
            let is_default = if path == DEFAULT { "isDefaultRoute: true, " } else { "" };
            let route = format!(
                "          {path}: {{x-amazon-apigateway-any-method: {{{is_default}responses: {{}}, \
                 x-amazon-apigateway-integration: {{type: aws_proxy, httpMethod: POST, payloadFormatVersion: '2.0', \
                 uri: !Sub 'arn:${{AWS::Partition}}:apigateway:${{AWS::Region}}:lambda:path/2015-03-31/functions/\
                 ${{{function}.Arn}}:live/invocations'}}}}}}"
            );
            routes.insert(path, route);
        }
    }
    let template = with_list(&template, "    DependsOn:", &aliases);
    let template = with_list(&template, "        paths:", &routes.into_values().collect::<Vec<_>>());
    with_list(&template, "  # The gateway may invoke the live alias of each function.", &permissions)
}

/// Returns the source file with the default function's list of pages.
pub fn pages() -> String {
    let rows = tables().into_iter().flat_map(Tables::rows);
    let mut paths: Vec<_> = rows.filter_map(|row| row.key.strip_prefix("GET ")).collect();
    paths.retain(|path| PAGES.iter().any(|root| path.starts_with(root)));
    paths.sort_unstable();
    let mut file =
        "//! The pages of the service, because this function does not see the route tables of the others. `.ci/renew` \
                    generates\n\
                    //! this file.\n\n\
                    /// The paths in alphabetical order.\n\
                    pub(crate) const PAGES: &[&str] = &[\n"
            .to_owned();
    for path in paths {
        writeln!(file, "    \"{path}\",").expect("a string");
    }
    file + "];\n"
}

/// Returns the binary of a function, such as `job_postings` for `JobPostingsFunction`.
pub fn binary(function: &str) -> String {
    let mut binary = String::new();
    for letter in function.trim_end_matches("Function").chars() {
        if letter.is_uppercase() && !binary.is_empty() {
            binary.push('_');
        }
        binary.push(letter.to_ascii_lowercase());
    }
    binary
}

/// Returns the package of a function. It has the name of the function's binary, or its first word if several functions
/// share the package: `dashboard` for `DashboardRolesFunction`.
pub fn package(function: &str) -> String {
    let binary = binary(function);
    match binary.split_once('_') {
        Some((package, _)) if !project("functions").join(&binary).exists() => package.to_owned(),
        _ => binary,
    }
}

/// Returns `functions/TOOLS.md`.
pub fn tools() -> String {
    let mut file = "# Tools of assistants\n\n\
                    The tools of the [MCP endpoint](README.md#tools), in the words that assistants read. `.ci/renew` generates this file.\n\n\
                    | Tool | Description | Scopes | Effect |\n\
                    |---|---|---|---|\n"
        .to_owned();
    for tool in mcp::tools::TABLE {
        let scopes: Vec<_> = tool.scopes.iter().map(|scope| format!("`{}`", scope.as_str())).collect();
        let hints = tool.annotations;
        let effect = match (hints.read_only, hints.destructive, hints.open_world) {
            (true, ..) => "reads",
            (false, true, true) => "reaches people, and cannot be undone",
            (false, true, false) => "changes or ends what is there",
            (false, false, true) => "publishes",
            (false, false, false) => "adds",
        };
        let (name, description) = (tool.name, tool.description);
        writeln!(file, "| `{name}` | {description} | {} | {effect} |", scopes.join(", ")).expect("a string");
    }
    file
}

/// Returns `functions/ROUTES.md` with current tables.
pub fn routes() -> String {
    let document = std::fs::read_to_string(project("functions/ROUTES.md")).expect("the routes");
    let rows = document.lines().filter_map(|line| {
        let (key, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        let (binary, text) = rest.strip_suffix(" |")?.split_once(" | ")?;
        Some((key, binary, text))
    });
    let (mut binaries, mut descriptions) = (Vec::new(), BTreeMap::new());
    for (key, binary, text) in rows {
        binaries.push(binary);
        descriptions.insert(key.to_owned(), text.to_owned());
    }
    // Existing functions keep their order, and new functions come last.
    let position = |function: &str| {
        let binary = binary(function);
        binaries.iter().position(|known| *known == binary).unwrap_or(usize::MAX)
    };
    let mut functions: Vec<_> = tables().into_iter().map(|tables| (tables.function, tables)).collect();
    functions.sort_by_key(|(function, _)| position(function));
    let descriptions = Descriptions::new(descriptions);
    let (mut routes, mut pages) = (Vec::new(), Vec::new());
    for (function, tables) in functions {
        let (binary, package) = (binary(function), package(function));
        let row = |key: &str| format!("| `{key}` | {binary} | {} |", descriptions.of(&package, key));
        routes.extend(tables.routes.iter().map(|route| row(route.key)));
        pages.extend(tables.pages.iter().filter(|route| route.key != DEFAULT).map(|route| row(route.key)));
    }
    let document = with_rows(&document, "| Route | Function |", &routes);
    with_rows(&document, "| Page | Function |", &pages)
}

/// Replaces the rows of the Markdown table whose first line begins with `header`.
pub(crate) fn with_rows(text: &str, header: &str, rows: &[String]) -> String {
    with_lines(text, header, 1, |line| line.starts_with('|'), rows)
}

/// Replaces the rows of the list in YAML after the line `header`.
fn with_list(text: &str, header: &str, rows: &[String]) -> String {
    let indentation = rows[0].len() - rows[0].trim_start().len();
    let prefix = " ".repeat(indentation);
    with_lines(text, header, 0, |line| line.starts_with(&prefix), rows)
}

/// Replaces the lines that are rows, `skipped` lines after the line that begins with `header`.
fn with_lines(
    text: &str,
    header: &str,
    skipped: usize,
    is_row: impl Fn(&str) -> bool,
    rows: &[String],
) -> String {
    let lines: Vec<_> = text.lines().collect();
    let start = lines.iter().position(|line| line.starts_with(header));
    let start = start.unwrap_or_else(|| panic!("no line begins with {header:?}")) + 1 + skipped;
    let count = lines[start..].iter().take_while(|line| is_row(line)).count();
    let rows = rows.iter().map(String::as_str);
    let lines = lines[..start].iter().copied().chain(rows).chain(lines[start + count..].iter().copied());
    lines.fold(String::new(), |text, line| text + line + "\n")
}

/// The descriptions of routes: the existing ones from a table, or the first sentence of the handler's doc comment for a
/// new route.
struct Descriptions {
    existing: BTreeMap<String, String>,
    /// The handlers of API routes, which several functions may share.
    handlers: LazyCell<BTreeMap<&'static str, String>>,
    source: LazyCell<Source>,
}

impl Descriptions {
    fn new(existing: BTreeMap<String, String>) -> Self {
        let handlers =
            || operations().into_iter().map(|operation| (operation.key, operation.handler)).collect();
        Self { existing, handlers: LazyCell::new(handlers), source: LazyCell::new(Source::read) }
    }

    fn of(&self, package: &str, key: &str) -> String {
        self.existing.get(key).cloned().unwrap_or_else(|| {
            let handler = self.handlers.get(key).cloned().unwrap_or_else(|| handler(package, key));
            let docs = self.source.docs(&handler).unwrap_or_else(|| panic!("{handler} has no doc comment"));
            phrase(&docs)
        })
    }
}

/// Returns the first sentence of a doc comment for a table cell, without the initial capital and the full stop.
fn phrase(docs: &str) -> String {
    let sentence = docs.lines().next().unwrap_or_default().split(". ").next().unwrap_or_default();
    let sentence = sentence.trim_end_matches('.').replace('|', "\\|");
    let mut letters = sentence.chars();
    match (letters.next(), letters.next()) {
        // Two capital letters are an abbreviation.
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(sentence.chars().skip(1)).collect()
        }
        _ => sentence,
    }
}

/// Returns the path of a route's handler, such as `dashboard::members::list`, from the function's route table.
pub fn handler(package: &str, key: &str) -> String {
    let source = std::fs::read_to_string(project(&format!("functions/{package}/src/lib.rs")));
    let source = source.expect("the function");
    let row = source.split_once(&format!("\"{key}\""));
    let (before, after) = row.unwrap_or_else(|| panic!("{package} has no row for {key}"));
    let handler = last_argument(after).or_else(|| {
        // Several routes may share a handler, as in `preflight("OPTIONS /oauth/token")`.
        let name = before.trim_end().strip_suffix('(')?.rsplit([' ', '\n']).next()?;
        last_argument(source.split_once(&format!("let {name} = "))?.1.split_once('(')?.1)
    });
    format!("{package}::{}", handler.unwrap_or_else(|| panic!("the row for {key} has no handler")))
}

/// Returns the last argument of a call. `code` starts inside the argument list.
fn last_argument(code: &str) -> Option<&str> {
    let mut depth = 0;
    let end = code.find(|letter| match letter {
        '(' => {
            depth += 1;
            false
        }
        ')' => {
            depth -= 1;
            depth < 0
        }
        _ => false,
    })?;
    code[..end].rsplit(',').map(str::trim).find(|argument| !argument.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_a_table_are_replaced() {
        let text = "a\n| A | B |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\n| C |\n";
        let rows = ["| 5 | 6 |".to_owned()];
        assert_eq!(with_rows(text, "| A |", &rows), "a\n| A | B |\n|---|---|\n| 5 | 6 |\n\n| C |\n");
    }

    #[test]
    fn the_rows_of_a_list_are_replaced() {
        let text = "Api:\n  paths:\n    /a: 1\n    /b: 2\n\nOther:\n  paths:\n    /c: 3\n";
        let rows = ["    /d: 4".to_owned()];
        let replaced = "Api:\n  paths:\n    /d: 4\n\nOther:\n  paths:\n    /c: 3\n";
        assert_eq!(with_list(text, "  paths:", &rows), replaced);
    }

    #[test]
    fn a_new_row_has_the_first_sentence_of_the_doc_comment() {
        for (docs, text) in [
            ("Lists the notes. The newest is first.", "lists the notes"),
            ("Returns `a|b`.\n\nMore.", "returns `a\\|b`"),
            ("CORS preflight", "CORS preflight"),
            ("", ""),
        ] {
            assert_eq!(phrase(docs), text);
        }
    }

    #[test]
    fn every_route_has_a_handler() {
        for tables in tables() {
            let package = package(tables.function);
            for route in tables.rows() {
                let handler = handler(&package, route.key);
                assert!(
                    handler.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:".contains(&byte)),
                    "{handler}"
                );
            }
        }
        assert_eq!(handler("oauth", "OPTIONS /oauth/token"), "oauth::metadata::preflight");
        assert_eq!(handler("dashboard", "GET /dashboard/settings/members"), "dashboard::members::list");
    }
}
