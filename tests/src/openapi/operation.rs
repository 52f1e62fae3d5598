//! What a row of a route table tells of itself.

use std::any::type_name;

use serde_json::{Map, Value, json};
use shared::http::{
    Access, Call, DocumentRequest, DocumentRow, Error, Form, Input, Output, Payload, Reply, Row, Sent,
};
use shared::model::Scope;

use super::Example;
use super::input::Description;
use super::schema::Described;

/// A row of a route table, described.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The gateway's route key.
    pub key: &'static str,
    /// Who may send it.
    pub access: Access,
    /// In what form it is answered.
    pub form: Form,
    /// The handler's path in the code: `roles::list`.
    pub(super) handler: String,
    pub(super) taken: Taken,
    pub(super) status: u16,
    pub(super) media: &'static str,
    pub(super) headers: &'static [&'static str],
    /// The path in the code of the type that is answered.
    pub(super) answer: &'static str,
    pub(super) output: Described,
}

/// What an operation takes.
#[derive(Clone, Debug)]
pub(super) enum Taken {
    /// Fields, of a JSON body or of a query.
    Fields(Description),
    /// A body of this type, and parameters.
    Payload { media: Option<&'static str>, parameters: &'static [&'static str], body: Described },
}

impl Row for Operation {
    fn new<I, O, H, F>(key: &'static str, scope: Scope, _: H) -> Self
    where
        I: Input + 'static,
        O: Output + 'static,
        H: Fn(Call<I>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        let taken = Taken::Fields(Description::of::<I>());
        Self::described::<O, H>(key, Access::Scope(scope), Form::Api, taken)
    }

    fn open<P, O, H, F>(key: &'static str, access: Access, form: Form, _: H) -> Self
    where
        P: Payload + 'static,
        O: Output + 'static,
        H: Fn(Sent<P>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        let body = Described::of::<P::Body>();
        let taken = Taken::Payload { media: P::MEDIA, parameters: P::PARAMETERS, body };
        Self::described::<O, H>(key, access, form, taken)
    }
}

impl DocumentRow for Operation {
    fn document<O, H>(key: &'static str, _: H) -> Self
    where
        O: Output + 'static,
        H: Fn(&DocumentRequest<'_>) -> Result<Reply<O>, Error> + Send + Sync + 'static,
    {
        let taken = Taken::Payload { media: None, parameters: &[], body: Described::of::<()>() };
        Self::described::<O, H>(key, Access::Public, Form::Document, taken)
    }
}

impl Operation {
    fn described<O: Output, H>(key: &'static str, access: Access, form: Form, taken: Taken) -> Self {
        Self {
            key,
            access,
            form,
            handler: type_name::<H>().to_owned(),
            taken,
            status: O::STATUS,
            media: O::MEDIA,
            headers: O::HEADERS,
            answer: type_name::<O>(),
            output: Described::of::<O::Body>(),
        }
    }

    pub(super) fn method(&self) -> &'static str {
        self.key.split_once(' ').expect("a route key").0
    }

    pub(super) fn path(&self) -> &'static str {
        self.key.split_once(' ').expect("a route key").1
    }

    pub(super) fn has_id(&self) -> bool {
        self.path().contains("{id}")
    }

    /// The names in the path: `id`, `org`.
    pub(super) fn path_parameters(&self) -> impl Iterator<Item = &'static str> {
        self.path().split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }

    /// Whether it is for whoever has a credential of the API.
    pub(super) fn is_scoped(&self) -> bool {
        matches!(self.access, Access::Scope(_))
    }

    /// Whether the client says who it is as OAuth has it: in a header, or in the form.
    pub(super) fn knows_clients(&self) -> bool {
        matches!(&self.taken, Taken::Payload { body, .. } if body.has_field("client_secret"))
    }

    /// Whether it reads a body, even if no field of it. (It refuses every field then.)
    pub fn reads_body(&self) -> bool {
        matches!(self.method(), "POST" | "PATCH")
    }

    /// Whether its answer depends on what is sent. What always answers the same has nothing to fail at.
    pub(super) fn can_fail(&self) -> bool {
        self.is_scoped() || self.reads_body() || self.path_parameters().next().is_some()
    }

    /// Whether whoever has its answer may ask whether that is still the one.
    pub(super) fn is_cached(&self) -> bool {
        self.form == Form::Document && self.headers.contains(&"etag")
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
        match self.handler.rsplit("::").next().unwrap_or_default() {
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
        let filters = match &self.taken {
            Taken::Fields(fields) => Some(fields.names()),
            Taken::Payload { .. } => None,
        };
        let mut parameters: Map<_, _> = filters
            .into_iter()
            .flatten()
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
    let words = name.split('_').enumerate().map(|(index, word)| match word {
        "api" => "API".to_owned(),
        "oauth" => "OAuth".to_owned(),
        "openapi" => "OpenAPI".to_owned(),
        word if index == 0 => capitalized(word),
        word => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The word with its first letter in upper case.
pub(super) fn capitalized(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}
