//! The imports between source files. Layers use only lower layers, and no imports form a cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use syn::buffer::{Cursor, TokenBuffer};
use tests::{project, sources};

/// The modules of `shared`, lowest first. A module uses only itself and those before it.
const LAYERS: [&str; 20] = [
    "base62",
    "invisible",
    "descriptions",
    "clock",
    "random",
    "id",
    "secret",
    "spreadsheet",
    "mac_keys",
    "token_encryption",
    "documents",
    "model",
    "store",
    "config",
    "providers",
    "auth",
    "services",
    "http",
    "handlers",
    "runtime",
];

/// The items of `model` that `http` may use: request senders and values, but no resources.
const MODEL_IN_HTTP: [&str; 29] = [
    "Actor",
    "ActorKind",
    "Audience",
    "AuditAction",
    "AuditActor",
    "AuditTarget",
    "AuditTargetKind",
    "Day",
    "Device",
    "Email",
    "GateHash",
    "Member",
    "MemberRole",
    "Mode",
    "NamedOrganization",
    "Organization",
    "PasswordCost",
    "Resource",
    "Scalar",
    "Scope",
    "Scopes",
    "NoticeEvent",
    "Notice",
    "Session",
    "SignInMethod",
    "Slug",
    "Tenant",
    "Value",
    "schema",
];

/// The errors of `model` that `http::error` converts.
const ERRORS_IN_HTTP: [&str; 5] =
    ["ApplicationError", "InvalidTransition", "MoveError", "PublishError", "TooManyConsents"];

/// A `use` declaration of one name.
struct Use {
    name: String,
    path: String,
    is_public: bool,
}

/// The imports of a file.
#[derive(Default)]
struct File {
    uses: Vec<Use>,
    /// The paths outside `use` declarations, such as `Error` and `super::error::Error`, and other tokens.
    paths: BTreeSet<String>,
}

impl File {
    fn parse(code: &str) -> Self {
        let tokens = TokenBuffer::new2(syn::parse_str(code).unwrap());
        let mut file = Self::default();
        file.read(tokens.begin());
        file
    }

    /// Reads tokens. A path is a sequence of tokens with `::` between them.
    fn read(&mut self, mut cursor: Cursor<'_>) {
        let (mut path, mut is_public) = (String::new(), false);
        while !cursor.eof() {
            let token = if let Some((group, .., rest)) = cursor.any_group() {
                self.read(group);
                cursor = rest;
                "()".to_owned()
            } else {
                let (token, rest) = cursor.token_tree().unwrap();
                cursor = rest;
                token.to_string()
            };
            // `use<'a>` in a type is not a declaration.
            if token == "use" && cursor.punct().is_none_or(|(next, _)| next.as_char() != '<') {
                cursor = self.read_use(cursor, "", is_public);
            }
            // A group may appear between `pub` and `use`, as in `pub(crate) use`.
            is_public = token == "pub" || is_public && token == "()";
            if token != ":" && !path.ends_with("::") {
                self.paths.insert(std::mem::take(&mut path));
            }
            path.push_str(&token);
        }
        self.paths.insert(path);
    }

    /// Reads a part of a `use` declaration, which ends at a comma or a semicolon. Returns the rest.
    fn read_use<'c>(&mut self, mut cursor: Cursor<'c>, prefix: &str, is_public: bool) -> Cursor<'c> {
        let (mut path, mut alias) = (prefix.to_owned(), None);
        while !cursor.eof() {
            if let Some((mut group, .., rest)) = cursor.any_group() {
                while !group.eof() {
                    group = self.read_use(group, &path, is_public);
                }
                path.clear();
                cursor = rest;
                continue;
            }
            let (token, rest) = cursor.token_tree().unwrap();
            cursor = rest;
            match token.to_string().as_str() {
                "," | ";" => break,
                "as" => alias = Some(String::new()),
                part => alias.as_mut().unwrap_or(&mut path).push_str(part),
            }
        }
        let path = path.trim_end_matches("::self").to_owned();
        if !path.is_empty() {
            let name = alias.unwrap_or_else(|| path.rsplit("::").next().unwrap().to_owned());
            self.uses.push(Use { name, path, is_public });
        }
        cursor
    }

    /// Returns the path of a name that is in scope.
    fn path_of(&self, name: &str) -> Option<&str> {
        self.uses.iter().find(|used| used.name == name).map(|used| used.path.as_str())
    }

    /// Returns the paths that the code uses. A re-exported name counts only if the file itself uses it.
    fn used(&self) -> impl Iterator<Item = String> {
        let first = |path: &str| path.split("::").next().unwrap_or_default().to_owned();
        let firsts: BTreeSet<_> = self.paths.iter().map(|path| first(path)).collect();
        let uses = self.uses.iter().filter(move |used| !used.is_public || firsts.contains(&used.name));
        let paths = self.paths.iter().filter_map(|path| {
            let (first, rest) = path.split_once("::")?;
            Some(format!("{}::{rest}", self.path_of(first).unwrap_or(first)))
        });
        uses.map(|used| used.path.clone()).chain(paths)
    }
}

/// The files of a crate by module, such as `crate::http::error`.
struct Crate(BTreeMap<String, File>);

impl Crate {
    /// Parses files, given by path and code.
    fn parse(files: &[(String, String)]) -> Self {
        let root = if files.iter().any(|(path, _)| path == "lib.rs") { "lib" } else { "main" };
        let module = |path: &str| {
            let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
            if path == root { "crate".to_owned() } else { format!("crate/{path}").replace('/', "::") }
        };
        Self(files.iter().map(|(path, code)| (module(path), File::parse(code))).collect())
    }

    /// Returns the module whose file defines the target of a path, unless the target is a module or in another crate.
    fn resolve(&self, from: &str, path: &str) -> Option<String> {
        let mut module = from.to_owned();
        let segments: Vec<_> = path.split("::").collect();
        for (index, name) in segments.iter().enumerate() {
            let child = format!("{module}::{name}");
            let rest = &segments[index + 1..];
            let import = self.0[&module].path_of(name).filter(|_| index > 0);
            match (*name, import) {
                ("crate", _) => module = String::from("crate"),
                ("self", _) => {}
                ("super", _) => module.truncate(module.rfind("::")?),
                _ if self.0.contains_key(&child) && (import.is_none() || !rest.is_empty()) => module = child,
                (_, Some(import)) => {
                    let path = [&[import], rest].concat().join("::");
                    return self.resolve(&module, &path).or(Some(module));
                }
                (_, None) => return (index > 0).then_some(module),
            }
        }
        None
    }

    /// Returns the modules that each module imports from.
    fn imports(&self) -> BTreeMap<&str, BTreeSet<String>> {
        let imports = |(module, file): (&String, &File)| -> BTreeSet<_> {
            let used = file.used().filter_map(|path| self.resolve(module, &path));
            used.filter(|used| used != module).collect()
        };
        self.0.iter().map(|entry| (entry.0.as_str(), imports(entry))).collect()
    }

    /// Returns a cycle of modules: each one imports from the next, and the last one imports from the first.
    fn cycle(&self) -> Option<String> {
        let mut imports = self.imports();
        // A module that imports none of the remaining modules is not in a cycle.
        loop {
            let before = imports.len();
            let modules: BTreeSet<_> = imports.keys().map(|module| (*module).to_owned()).collect();
            imports.retain(|_, used| !used.is_disjoint(&modules));
            if imports.len() == before {
                break;
            }
        }
        let mut cycle = vec![*imports.keys().next()?];
        loop {
            let used = &imports[cycle.last()?];
            let next = imports.keys().find(|module| used.contains(**module))?;
            if let Some(start) = cycle.iter().position(|module| module == next) {
                return Some(cycle[start..].join(" -> "));
            }
            cycle.push(next);
        }
    }
}

/// Returns the path and the code of each source file in a folder.
fn files(folder: &str) -> Vec<(String, String)> {
    let relative = |(path, code): (PathBuf, String)| {
        (path.strip_prefix(project(folder)).unwrap().to_str().unwrap().to_owned(), code)
    };
    sources(folder).into_iter().map(relative).collect()
}

/// Removes the unit tests, which are at the end of a file.
fn without_unit_tests((path, code): (String, String)) -> (String, String) {
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
    (path, code)
}

#[test]
fn layers_use_only_lower_layers() {
    let files = files("shared/src");
    let layer = |module: &str| {
        let name = module.split("::").nth(1)?;
        let layer = LAYERS.iter().position(|layer| *layer == name);
        Some(layer.unwrap_or_else(|| panic!("add {name} to LAYERS")))
    };
    for (module, imports) in Crate::parse(&files).imports() {
        for used in imports {
            assert!(
                layer(&used) <= layer(module) || module == "crate",
                "{module} uses the higher layer {used}"
            );
        }
    }
    for (path, code) in files.into_iter().map(without_unit_tests) {
        if !path.starts_with("store") && !path.starts_with("runtime") {
            assert!(!code.contains("aws_sdk_dynamodb"), "{path} uses DynamoDB");
        }
        if path.starts_with("model") {
            assert!(!code.contains("serde_json"), "{path} uses the wire format");
        }
    }
    for (path, code) in sources("functions") {
        assert!(!code.contains("aws_sdk") && !code.contains("std::env"), "{}", path.display());
    }
}

#[test]
fn http_uses_no_resources_of_the_model() {
    let files: Vec<_> = files("shared/src/http").into_iter().map(without_unit_tests).collect();
    assert!(files.len() > 10);
    for (path, code) in files {
        for used in File::parse(&code).used() {
            let Some(name) = used.strip_prefix("crate::model::").and_then(|path| path.split("::").next())
            else {
                continue;
            };
            let is_error = path == "error.rs" && ERRORS_IN_HTTP.contains(&name);
            assert!(is_error || MODEL_IN_HTTP.contains(&name), "http/{path} uses {used}");
        }
    }
}

#[test]
fn imports_form_no_cycles() {
    let mut folders = vec!["shared/src".to_owned(), "tests/src".to_owned()];
    for group in ["functions", "infra"] {
        for entry in std::fs::read_dir(project(group)).unwrap() {
            let folder = format!("{group}/{}/src", entry.unwrap().file_name().display());
            folders.extend(project(&folder).is_dir().then_some(folder));
        }
    }
    assert!(folders.len() >= 16);
    for folder in folders {
        let files: Vec<_> = files(&folder).into_iter().map(without_unit_tests).collect();
        let cycle = Crate::parse(&files).cycle();
        assert_eq!(
            cycle, None,
            "{folder}: move the shared code of these files into a file that they all import"
        );
    }
}

#[test]
fn cycles_are_found_through_all_kinds_of_imports() {
    let cycle = |files: &[(&str, &str)]| {
        let files: Vec<_> =
            files.iter().map(|(path, code)| ((*path).to_owned(), (*code).to_owned())).collect();
        Crate::parse(&files.into_iter().map(without_unit_tests).collect::<Vec<_>>()).cycle()
    };
    for (files, expected) in [
        // Nested groups, and `super`.
        (
            vec![
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "use std::fmt; use crate::{b::{self, C, D as E}, f};"),
                ("b.rs", "pub use super::a::F; type G = F;"),
            ],
            "crate::a -> crate::b",
        ),
        // Paths in expressions and macros, and imported modules.
        (
            vec![
                ("main.rs", "mod a; mod b; mod c;"),
                ("a.rs", "fn f() { let x: u8 = crate::b::f(); }"),
                ("b.rs", "fn f() { print!(\"{}\", super::c::f()) }"),
                ("c.rs", "use super::a; fn f() { a::f() }"),
            ],
            "crate::a -> crate::b -> crate::c",
        ),
        // Re-exports lead to the file that defines the name.
        (
            vec![
                ("lib.rs", "mod m;"),
                ("m/mod.rs", "mod a; mod b; pub use a::A; pub(crate) use b::B;"),
                ("m/a.rs", "use super::B; pub struct A;"),
                ("m/b.rs", "use crate::m::A; pub struct B;"),
            ],
            "crate::m::a -> crate::m::b",
        ),
        // A child module by name.
        (
            vec![
                ("lib.rs", "mod m;"),
                ("m/mod.rs", "mod a; pub const N: u8 = a::N;"),
                ("m/a.rs", "use super::N as M; pub const N: u8 = M;"),
            ],
            "crate::m -> crate::m::a",
        ),
        // A re-exported name that the file itself uses.
        (
            vec![
                ("lib.rs", "mod a; pub use a::A; pub struct B(A);"),
                ("a.rs", "use crate::B; pub struct A;"),
            ],
            "crate -> crate::a",
        ),
    ] {
        assert_eq!(cycle(&files).as_deref(), Some(expected), "{files:?}");
    }
    for files in [
        // A parent that only re-exports.
        vec![
            ("lib.rs", "mod m;"),
            ("m/mod.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
            ("m/a.rs", "use super::B;"),
            ("m/b.rs", "pub struct B;"),
        ],
        // Unit tests, comments and strings.
        vec![
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B;"),
            (
                "b.rs",
                "/// crate::a\nconst A: &str = \"crate::a::A\";\n#[cfg(test)]\nmod tests { use crate::a::A; }",
            ),
        ],
        // Another crate with the name of a module.
        vec![
            ("lib.rs", "mod http; mod a;"),
            ("http.rs", "use crate::a::A;"),
            ("a.rs", "use http::Method; use std::http;"),
        ],
    ] {
        assert_eq!(cycle(&files), None, "{files:?}");
    }
}
