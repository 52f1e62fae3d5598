//! What a row of a route table tells of itself.

use std::any::type_name;

use serde_json::{Map, Value, json};
use shared::http::{Call, Error, Input, Output, Reply, Row};
use shared::model::Scope;

use super::Example;
use super::input::Description;
use super::schema::Described;

/// A row, described.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The gateway's route key.
    pub key: &'static str,
    /// The scope that it demands.
    pub scope: Scope,
    /// The handler's path in the code: `roles::list`.
    pub(super) handler: String,
    pub(super) input: Description,
    pub(super) status: u16,
    pub(super) headers: &'static [&'static str],
    pub(super) output: Described,
}

impl Row for Operation {
    fn new<I, O, H, F>(key: &'static str, scope: Scope, _: H) -> Self
    where
        I: Input + 'static,
        O: Output + 'static,
        H: Fn(Call<I>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        Self {
            key,
            scope,
            handler: type_name::<H>().to_owned(),
            input: Description::of::<I>(),
            status: O::STATUS,
            headers: O::HEADERS,
            output: Described::of::<O::Body>(),
        }
    }
}

impl Operation {
    pub(super) fn method(&self) -> &'static str {
        self.key.split_once(' ').expect("a route key").0
    }

    pub(super) fn path(&self) -> &'static str {
        self.key.split_once(' ').expect("a route key").1
    }

    pub(super) fn has_id(&self) -> bool {
        self.path().contains("{id}")
    }

    /// Whether there is a body that it reads. (One that reads no field of it refuses every other field, too.)
    pub(super) fn takes_body(&self) -> bool {
        self.reads_body() && !self.input.is_empty()
    }

    pub(super) fn reads_body(&self) -> bool {
        matches!(self.method(), "POST" | "PATCH")
    }

    pub(super) fn is_list(&self) -> bool {
        self.headers.contains(&"link")
    }

    /// The function's package.
    pub(super) fn function(&self) -> &str {
        self.handler.split_once("::").expect("a handler in a package").0
    }

    /// One of what the function is about: `job_posting`.
    pub(super) fn noun(&self) -> &str {
        self.function().trim_end_matches('s')
    }

    /// The package in words.
    pub(super) fn tag(&self) -> String {
        in_words(self.function())
    }

    /// Verb and noun: those of the handler, or its verb and the function's noun.
    pub(super) fn id(&self) -> String {
        match self.handler.split_once("::").expect("a handler in a package").1 {
            both if both.contains('_') => both.to_owned(),
            "list" => format!("list_{}", self.function()),
            verb => format!("{verb}_{}", self.noun()),
        }
    }

    pub(super) fn summary(&self) -> String {
        in_words(&self.id())
    }

    /// Where the answer leads to. From a list: to its first item, and to the next page. From what was created: to
    /// everything that can be done with it, and to what it belongs to.
    pub(super) fn links(&self, all: &[Self], example: &Example) -> Map<String, Value> {
        if self.is_list() {
            return self.links_of_list(all);
        }
        let mut links = Map::new();
        if self.status != 201 {
            return links;
        }
        let mut found = Vec::new();
        identifiers(&example.response, "", &mut found);
        for (pointer, id) in found {
            let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
            let parent = parent.trim_start_matches('/');
            let created = match example.location.rsplit('/').collect::<Vec<_>>()[..] {
                [last, collection, ..] if last == id.to_string() => Some(collection.to_owned()),
                _ => None,
            };
            let collection = match (name, created, parent) {
                ("id", Some(collection), _) => collection,
                ("id", None, parent) => format!("{parent}s"),
                (name, ..) => format!("{}s", name.trim_end_matches("_id")),
            };
            let prefix = format!("/api/v1/{collection}/{{id}}");
            let targets = all.iter().filter(|target| match name {
                "id" => target.path().starts_with(&prefix),
                _ => target.path() == prefix && target.method() == "GET",
            });
            for target in targets {
                let parameters = json!({ "id": format!("$response.body#{pointer}") });
                let link = json!({ "operationId": target.id(), "parameters": parameters });
                links.entry(target.id()).or_insert(link);
            }
        }
        links
    }

    fn links_of_list(&self, all: &[Self]) -> Map<String, Value> {
        let mut links = Map::new();
        let item = format!("{}/{{id}}", self.path());
        for show in all.iter().filter(|target| target.path() == item && target.method() == "GET") {
            let parameters = json!({ "id": "$response.body#/data/0/id" });
            links.insert(show.id(), json!({ "operationId": show.id(), "parameters": parameters }));
        }
        // A cursor is good only with the filters that it came with.
        let mut parameters: Map<_, _> = self
            .input
            .names()
            .map(|name| (name.to_owned(), format!("$request.query.{name}").into()))
            .collect();
        parameters.insert("cursor".to_owned(), "$response.body#/next_cursor".into());
        links.insert("next_page".to_owned(), json!({ "operationId": self.id(), "parameters": parameters }));
        links
    }
}

/// Every identifier in a body, by its pointer.
fn identifiers(value: &Value, pointer: &str, found: &mut Vec<(String, u64)>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let pointer = format!("{pointer}/{name}");
        match value.as_u64() {
            Some(id) if name == "id" || name.ends_with("_id") => found.push((pointer, id)),
            _ => identifiers(value, &pointer, found),
        }
    }
}

fn in_words(name: &str) -> String {
    let words = name.replace('_', " ");
    let (first, rest) = words.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}
