//! Operations: the descriptions of the routes in the route tables.

use std::any::type_name;

use serde_json::{Map, Value, json};
use shared::http::{
    Access, ApiRequest, DocumentRequest, DocumentRow, Error, Input, Output, Payload, PublicRequest, Reply,
    ReplyFormat, Resource, Row,
};
use shared::model::{AuditAction, Scopes};

use super::example::Example;
use super::input::Description;
use super::schema::Described;
use super::words::in_words;

/// The titles of operations whose id is a poor title.
pub(super) const TITLES: [(&str, &str); 17] = [
    ("apply_candidate", "Create application"),
    ("complete_file", "Complete upload"),
    ("create_quick_post", "Post a job"),
    ("invite_screen", "Invite to voice screen"),
    ("list_posts", "List X posts"),
    ("post_job", "Post a job on X"),
    ("redeliver_webhook_endpoint", "Redeliver event"),
    ("replay_webhook_endpoint", "Replay events"),
    ("send_message", "Send MCP message"),
    ("show_form", "Show application form"),
    ("show_indeed", "Show Indeed feed"),
    ("show_linkedin", "Show LinkedIn feed"),
    ("show_openapi", "Show OpenAPI document"),
    ("show_protected_api", "Show API metadata"),
    ("show_protected_host", "Show host metadata"),
    ("show_protected_mcp_endpoint", "Show MCP metadata"),
    ("show_robots", "Show robots.txt"),
];

type Whole<O> = <<O as Output>::Body as Resource>::Whole;
type Reference<O> = <<O as Output>::Body as Resource>::Reference;

/// The description of a route.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The gateway's route key.
    pub key: &'static str,
    /// The access that requests need.
    pub access: Access,
    /// The format of the responses.
    pub format: ReplyFormat,
    /// The package of the function.
    pub(super) function: &'static str,
    /// The handler's path in the code, such as `shared::handlers::roles::create`.
    pub(crate) handler: String,
    pub(super) content: RequestContent,
    pub(super) status: u16,
    pub(super) media: &'static str,
    pub(super) headers: &'static [&'static str],
    /// The path of the output type in the code.
    pub(super) output_type: &'static str,
    pub(super) output: Described,
    /// What a caller gets who may not read people, if that is something else.
    pub(super) reference: Option<Described>,
}

/// The content of an operation's requests.
#[derive(Clone, Debug)]
pub(super) enum RequestContent {
    /// The fields of a JSON body or a query.
    Fields(Description),
    /// A body of this type and parameters.
    Payload { media: Option<&'static str>, parameters: &'static [&'static str], body: Described },
}

impl Row for Operation {
    fn new<I, O, H, F>(key: &'static str, scopes: impl Into<Scopes>, _: H) -> Self
    where
        I: Input + 'static,
        O: Output + 'static,
        H: Fn(ApiRequest<I>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        let content = RequestContent::Fields(Description::of::<I>());
        Self::described::<O, H>(key, Access::Scopes(scopes.into()), ReplyFormat::Api, content)
    }

    fn rpc<P, O, H, F>(key: &'static str, _: H) -> Self
    where
        P: Payload + 'static,
        O: Output + 'static,
        H: Fn(ApiRequest<P>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        let body = Described::of::<P::Body>();
        let content = RequestContent::Payload { media: P::MEDIA, parameters: P::PARAMETERS, body };
        Self::described::<O, H>(key, Access::Credential, ReplyFormat::Rpc, content)
    }

    fn open<P, O, H, F>(key: &'static str, access: Access, format: ReplyFormat, _: H) -> Self
    where
        P: Payload + 'static,
        O: Output + 'static,
        H: Fn(PublicRequest<P>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        let body = Described::of::<P::Body>();
        let content = RequestContent::Payload { media: P::MEDIA, parameters: P::PARAMETERS, body };
        Self::described::<O, H>(key, access, format, content)
    }

    fn reading(self, _: AuditAction) -> Self {
        self
    }
}

impl DocumentRow for Operation {
    fn document<O, H>(key: &'static str, _: H) -> Self
    where
        O: Output + 'static,
        H: Fn(&DocumentRequest<'_>) -> Result<Reply<O>, Error> + Send + Sync + 'static,
    {
        let content = RequestContent::Payload { media: None, parameters: &[], body: Described::of::<()>() };
        Self::described::<O, H>(key, Access::Public, ReplyFormat::Document, content)
    }
}

impl Operation {
    fn described<O: Output, H>(
        key: &'static str,
        access: Access,
        format: ReplyFormat,
        content: RequestContent,
    ) -> Self {
        Self {
            key,
            access,
            format,
            function: "",
            handler: type_name::<H>().to_owned(),
            content,
            status: O::STATUS,
            media: O::MEDIA,
            headers: O::HEADERS,
            output_type: type_name::<O>(),
            output: Described::of::<Whole<O>>().with_items(O::items()),
            reference: (type_name::<Reference<O>>() != type_name::<()>()).then(Described::of::<Reference<O>>),
        }
    }

    /// The types of the bodies.
    pub(super) fn bodies(&self) -> Vec<&Described> {
        let request = match &self.content {
            RequestContent::Payload { body, .. } => Some(body),
            RequestContent::Fields(_) => None,
        };
        [&self.output].into_iter().chain(request).chain(&self.reference).collect()
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

    /// The names of the path parameters, such as `id` or `org`.
    pub(super) fn path_parameters(&self) -> impl Iterator<Item = &'static str> {
        self.path().split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }

    /// Whether the operation requires an API credential.
    pub(super) fn is_scoped(&self) -> bool {
        matches!(self.access, Access::Scopes(_) | Access::Credential)
    }

    /// Whether the bodies are JSON-RPC messages, or batches of them.
    pub(super) fn is_rpc(&self) -> bool {
        self.format == ReplyFormat::Rpc
    }

    /// Whether OAuth clients authenticate, in a header or in the form.
    pub(super) fn authenticates_clients(&self) -> bool {
        matches!(&self.content, RequestContent::Payload { body, .. } if body.has_field("client_secret"))
    }

    /// Whether the operation reads a body. An operation without fields rejects every field.
    pub fn reads_body(&self) -> bool {
        matches!(self.method(), "POST" | "PATCH" | "PUT")
    }

    /// Whether the operation can fail. An operation whose response never varies cannot.
    pub(super) fn can_fail(&self) -> bool {
        self.is_scoped() || self.reads_body() || self.path_parameters().next().is_some()
    }

    /// Whether clients can send `If-None-Match`.
    pub(super) fn is_revalidated(&self) -> bool {
        self.method() == "GET" && self.headers.contains(&"etag")
    }

    /// Whether clients can send `If-Match`: with a change of a whole resource.
    pub(super) fn has_precondition(&self) -> bool {
        self.method() == "PATCH" || (self.method() == "PUT" && !self.is_about_candidate())
    }

    /// Whether the operation fails if the candidate was erased.
    pub(super) fn is_about_candidate(&self) -> bool {
        self.path().starts_with("/api/v1/candidates/{id}") && !self.path().ends_with("/erase")
    }

    pub(super) fn is_list(&self) -> bool {
        self.headers.contains(&"link")
    }

    /// The singular name of the function's resource, such as `job_posting`.
    pub(super) fn noun(&self) -> &str {
        self.function.trim_end_matches('s')
    }

    /// The display name of the package.
    pub(super) fn tag(&self) -> String {
        in_words(self.function)
    }

    /// The operation id: verb and noun. If the handler's name is only a verb, the noun comes from the function.
    pub(super) fn id(&self) -> String {
        match self.handler.rsplit("::").next().unwrap_or_default() {
            both if both.contains('_') => both.to_owned(),
            "list" => format!("list_{}", self.function),
            verb => format!("{verb}_{}", self.noun()),
        }
    }

    pub(super) fn summary(&self) -> String {
        let id = self.id();
        let title = TITLES.into_iter().find(|(titled, _)| *titled == id);
        title.map_or_else(|| in_words(&id), |(_, title)| title.to_owned())
    }

    /// The links of a response. A list links to its first item and to the next page. A created resource links to all
    /// operations on it and to the resources that it refers to.
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
        // A cursor is valid only with the filters of the page that it came from.
        let filters = match &self.content {
            RequestContent::Fields(fields) => Some(fields.names()),
            RequestContent::Payload { .. } => None,
        };
        let mut parameters: Map<_, _> = filters
            .into_iter()
            .flatten()
            // Another name of the cursor of the change feed.
            .filter(|name| *name != "after")
            .map(|name| (name.to_owned(), format!("$request.query.{name}").into()))
            .collect();
        let path =
            self.path_parameters().map(|name| (name.to_owned(), format!("$request.path.{name}").into()));
        parameters.extend(path);
        parameters.insert("cursor".to_owned(), "$response.body#/next_cursor".into());
        links.insert("next_page".to_owned(), json!({ "operationId": self.id(), "parameters": parameters }));
        links
    }
}

/// Collects every identifier in a body with its JSON pointer.
fn identifiers(value: &Value, pointer: &str, found: &mut Vec<(String, u64)>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let pointer = format!("{pointer}/{name}");
        match value.as_u64() {
            Some(id) if name == "id" || name.ends_with("_id") => found.push((pointer, id)),
            _ => identifiers(value, &pointer, found),
        }
    }
}
