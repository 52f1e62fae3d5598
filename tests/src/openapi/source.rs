//! Doc comments, read from the source code.

use std::collections::BTreeMap;
use std::path::Path;

use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Expr, ExprLit, Fields, Ident, Item, Lit, Meta, Token, Visibility, braced};

use crate::project::project;

/// The doc comments of the functions and of `shared`, by path, such as `roles::list` or
/// `shared::model::role::Role::id`.
#[derive(Debug)]
pub(crate) struct Source(BTreeMap<String, String>);

/// The doc comment of a handler.
#[derive(Debug)]
pub(super) struct HandlerDocs {
    /// The description.
    pub(super) text: String,
    /// The codes of the errors that only some handlers return, each with its cause.
    pub(super) errors: BTreeMap<String, String>,
}

impl Source {
    /// Reads the source code.
    pub(crate) fn read() -> Self {
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

    pub(crate) fn docs(&self, path: &str) -> Option<String> {
        self.0.get(path).cloned()
    }

    /// The description of a type.
    pub(super) fn of_type(&self, path: &str) -> String {
        self.docs(path).unwrap_or_else(|| panic!("{path} has no doc comment"))
    }

    /// The description of a package: the first paragraph of its doc comment, without the name before the colon.
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
                line.unwrap_or_else(|| panic!("{path}: an error must have the form \"- `code`: when.\""));
            (code.to_owned(), why.to_owned())
        });
        HandlerDocs { text: text.to_owned(), errors: errors.collect() }
    }

    /// The description of an error code, if the guide's table has a row for only this code.
    pub(super) fn rule(code: &str) -> Option<String> {
        let cell = format!(" | `{code}` | ");
        let guide = guide();
        let when = guide.lines().find_map(|line| line.split_once(&cell))?.1;
        Some(when.trim_end_matches(" |").to_owned())
    }
}

fn guide() -> String {
    std::fs::read_to_string(project("functions/README.md")).expect("the guide")
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
            insert(module, &file.attrs, comments);
            for item in &file.items {
                read_item(item, module, comments);
            }
        }
    }
}

fn read_item(item: &Item, module: &str, comments: &mut BTreeMap<String, String>) {
    match item {
        Item::Fn(function) => insert(&format!("{module}::{}", function.sig.ident), &function.attrs, comments),
        Item::Struct(item) => {
            let path = format!("{module}::{}", item.ident);
            insert(&path, &item.attrs, comments);
            read_fields(&item.fields, &path, comments);
        }
        Item::Enum(item) => {
            let path = format!("{module}::{}", item.ident);
            insert(&path, &item.attrs, comments);
            for variant in &item.variants {
                insert(&format!("{path}::{}", variant.ident), &variant.attrs, comments);
            }
        }
        Item::Macro(item) if item.mac.path.is_ident("input") => {
            let read = |input: ParseStream<'_>| read_inputs(input, module, comments);
            read.parse2(item.mac.tokens.clone()).expect("inputs");
        }
        _ => {}
    }
}

/// Reads the structs that `input!` declares. Their fields have no types of Rust, and end with a comma.
fn read_inputs(
    input: ParseStream<'_>,
    module: &str,
    comments: &mut BTreeMap<String, String>,
) -> syn::Result<()> {
    while !input.is_empty() {
        let attributes = input.call(Attribute::parse_outer)?;
        input.parse::<Visibility>()?;
        if input.parse::<Option<Token![impl]>>()?.is_none() {
            input.parse::<Token![struct]>()?;
        }
        let path = format!("{module}::{}", input.parse::<Ident>()?);
        insert(&path, &attributes, comments);
        let fields;
        braced!(fields in input);
        while !fields.is_empty() {
            let attributes = fields.call(Attribute::parse_outer)?;
            fields.parse::<Visibility>()?;
            insert(&format!("{path}::{}", fields.call(Ident::parse_any)?.unraw()), &attributes, comments);
            while fields.parse::<Option<Token![,]>>()?.is_none() {
                fields.step(|rest| Ok(((), rest.token_tree().expect("a comma").1)))?;
            }
        }
    }
    Ok(())
}

fn read_fields(fields: &Fields, path: &str, comments: &mut BTreeMap<String, String>) {
    for field in fields {
        if let Some(name) = &field.ident {
            insert(&format!("{path}::{}", name.unraw()), &field.attrs, comments);
        }
    }
}

/// Stores a doc comment. The lines of a paragraph are joined.
fn insert(path: &str, attributes: &[Attribute], comments: &mut BTreeMap<String, String>) {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
            Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) => Some(line.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    let mut text = String::new();
    for line in lines {
        let continues =
            !text.is_empty() && !text.ends_with('\n') && !line.is_empty() && !line.starts_with(['-', '|']);
        text.push_str(if continues {
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
