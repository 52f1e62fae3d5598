//! Comments, which only the source has.

use std::collections::BTreeMap;
use std::path::Path;

use syn::{Attribute, Expr, ExprLit, Fields, Item, Lit, Meta};

use crate::project;

/// The comments of the functions' and the shared code, by path: `roles::list`, `shared::http::error::Error::NotFound`.
#[derive(Debug)]
pub(super) struct Source(BTreeMap<String, String>);

/// A handler's comment.
#[derive(Debug)]
pub(super) struct HandlerDocs {
    /// What it does.
    pub(super) text: String,
    /// What it refuses that others don't, by code, and why.
    pub(super) errors: BTreeMap<String, String>,
}

impl Source {
    /// Reads the source.
    pub(super) fn read() -> Self {
        let mut comments = BTreeMap::new();
        for function in std::fs::read_dir(project("functions")).expect("functions") {
            let function = function.expect("a folder");
            let package = function.file_name().into_string().expect("a package's name");
            let folder = function.path().join("src");
            if folder.is_dir() {
                read_folder(&folder, &package, &mut comments);
            }
        }
        read_folder(&project("shared/src"), "shared", &mut comments);
        Self(comments)
    }

    pub(super) fn docs(&self, path: &str) -> Option<String> {
        self.0.get(path).cloned()
    }

    /// What a type is.
    pub(super) fn of_type(&self, path: &str) -> String {
        self.docs(path).unwrap_or_else(|| panic!("{path} has no comment"))
    }

    /// What a package is about: the first paragraph of its comment, without the name that it begins with.
    pub(super) fn module(&self, package: &str) -> String {
        let docs = self.of_type(package);
        let first = docs.split("\n\n").next().unwrap_or_default();
        let (_, about) = first.split_once(": ").unwrap_or(("", first));
        let (initial, rest) = about.split_at(1);
        format!("{}{rest}", initial.to_uppercase())
    }

    pub(super) fn handler(&self, path: &str) -> HandlerDocs {
        let docs = self.of_type(path);
        let (text, errors) = docs.split_once("\n\n# Errors\n\n").unwrap_or((&docs, ""));
        let errors = errors.lines().map(|line| {
            let line = line.strip_prefix("- `").and_then(|line| line.split_once("`: "));
            let (code, why) =
                line.unwrap_or_else(|| panic!("{path}: an error is written \"- `code`: when.\""));
            (code.to_owned(), why.to_owned())
        });
        HandlerDocs { text: text.to_owned(), errors: errors.collect() }
    }

    /// The rules that hold for every operation of the API, as its own page has them.
    pub(super) fn rules() -> String {
        let page = page();
        let from = page.find("## Requests").expect("a section on requests");
        let to = page.find("## Roles").expect("a section on roles");
        let about = page[..from].split("\n\n").nth(1).and_then(|about| about.split_once(". "));
        let (about, _) = about.expect("a sentence on what the rules are");
        format!("{about}.\n\n{}", &page[from..to])
            .replace("([OAuth](#oauth))", "(OAuth)")
            .trim_end()
            .to_owned()
    }

    /// When an error has this code, where the page says so of this code alone.
    pub(super) fn rule(code: &str) -> Option<String> {
        let cell = format!(" | `{code}` | ");
        let page = page();
        let when = page.lines().find_map(|line| line.split_once(&cell))?.1;
        Some(when.trim_end_matches(" |").to_owned())
    }
}

fn page() -> String {
    std::fs::read_to_string(project("functions/README.md")).expect("the rules")
}

fn read_folder(folder: &Path, module: &str, comments: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let below = format!("{module}::{stem}");
        if path.is_dir() {
            read_folder(&path, &below, comments);
        } else if path.extension().is_some_and(|extension| extension == "rs") && stem != "main" {
            let module = if stem == "lib" || stem == "mod" { module } else { &below };
            let file = syn::parse_file(&std::fs::read_to_string(&path).expect("a file")).expect("Rust");
            note(module, &file.attrs, comments);
            for item in &file.items {
                read_item(item, module, comments);
            }
        }
    }
}

fn read_item(item: &Item, module: &str, comments: &mut BTreeMap<String, String>) {
    match item {
        Item::Fn(function) => note(&format!("{module}::{}", function.sig.ident), &function.attrs, comments),
        Item::Struct(item) => {
            let path = format!("{module}::{}", item.ident);
            note(&path, &item.attrs, comments);
            read_fields(&item.fields, &path, comments);
        }
        Item::Enum(item) => {
            let path = format!("{module}::{}", item.ident);
            note(&path, &item.attrs, comments);
            for variant in &item.variants {
                note(&format!("{path}::{}", variant.ident), &variant.attrs, comments);
            }
        }
        _ => {}
    }
}

fn read_fields(fields: &Fields, path: &str, comments: &mut BTreeMap<String, String>) {
    for field in fields {
        if let Some(name) = &field.ident {
            note(&format!("{path}::{name}"), &field.attrs, comments);
        }
    }
}

/// Keeps a comment: its lines joined where they are one paragraph.
fn note(path: &str, attributes: &[Attribute], comments: &mut BTreeMap<String, String>) {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
            Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) => Some(line.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    let mut text = String::new();
    for line in lines {
        let goes_on =
            !text.is_empty() && !text.ends_with('\n') && !line.is_empty() && !line.starts_with(['-', '|']);
        text.push_str(if goes_on {
            " "
        } else if text.is_empty() {
            ""
        } else {
            "\n"
        });
        text.push_str(&line);
    }
    if !text.is_empty() {
        comments.insert(path.to_owned(), text);
    }
}
