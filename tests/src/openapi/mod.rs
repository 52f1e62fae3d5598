//! Generates the contract, which describes every route exactly, and from it the OpenAPI document that the service
//! returns. Parameters and schemas come from the route tables and their types, descriptions from doc comments, error
//! responses from error values, and examples from recorded requests.

mod components;
mod errors;
mod example;
mod gateway;
mod headers;
mod input;
mod names;
mod operation;
mod paths;
mod published;
mod reference;
mod schema;
pub(crate) mod source;
mod words;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::project::BASE_URL;
use reference::remove_unused;
use schema::Schemas;
use source::Source;

pub use example::{Example, Refused};
pub use operation::Operation;
pub use paths::DOCUMENT;
pub use published::{is_portable, published};

/// The version of the OpenAPI specification.
const VERSION: &str = "3.1.1";

/// The description of the API, which ends with a link. Generators copy it into each file.
const ABOUT: &str = "The API of Rolecall for roles, job postings, candidates and voice screens. The rules for all \
                     operations are in the guide at";

/// The operations of all route tables, in the order of the document.
pub fn operations() -> Vec<Operation> {
    let tables = [
        ("quick_post", quick_post::routes()),
        ("roles", roles::routes()),
        ("job_postings", job_postings::routes()),
        ("candidates", candidates::routes()),
        ("applications", applications::routes()),
        ("voice_screens", voice_screens::routes()),
        ("channels", channels::routes()),
        ("organization", organization::routes()),
        ("data", data::routes()),
        ("mcp", mcp::routes()),
        ("webhook_endpoints", webhook_endpoints::routes()),
        ("events", events::routes()),
        ("oauth", oauth::routes()),
        ("voice_webhook", voice_webhook::routes()),
        ("careers", careers::routes()),
        ("docs", docs::routes()),
    ];
    let of = |(function, routes): (_, Vec<Operation>)| {
        routes.into_iter().map(move |operation| Operation { function, ..operation })
    };
    tables.into_iter().flat_map(of).collect()
}

/// Generates the contract. `examples` has one example for each route.
pub fn contract(examples: &BTreeMap<&str, Example>) -> Value {
    let (source, operations) = (Source::read(), operations());
    for (id, _) in operation::TITLES {
        assert!(operations.iter().any(|operation| operation.id() == id), "{id} is not an operation");
    }
    let schemas = Schemas::of(operations.iter().flat_map(Operation::bodies));
    let mut responses = Map::new();
    responses.insert("too_large_header".to_owned(), gateway::too_large_header());
    responses.insert("too_large_body".to_owned(), gateway::too_large_body());
    let mut paths = Map::new();
    let mut tags = Vec::new();
    for operation in &operations {
        let tag = operation.tag();
        if !tags.iter().any(|known: &Value| known["name"] == *tag) {
            tags.push(json!({ "name": tag, "description": source.module(operation.function) }));
        }
        let described = paths::describe(operation, &operations, &source, &schemas, examples, &mut responses);
        paths::insert(&mut paths, operation.key, described);
    }
    let mut document = json!({
        "openapi": VERSION,
        "info": {
            "title": "Rolecall",
            "summary": "A hiring API.",
            "description": format!("{ABOUT} <{BASE_URL}/docs>."),
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
            "version": env!("CARGO_PKG_VERSION"),
        },
        "servers": [{ "url": BASE_URL, "description": "The service that returned this document." }],
        "tags": tags,
        "paths": paths,
        "components": {
            "schemas": components::schemas(&schemas, &operations, &source),
            "responses": responses,
            "parameters": components::parameters(),
            "examples": errors::examples(),
            "headers": headers::headers(),
            "securitySchemes": components::security_schemes(),
        },
    });
    remove_unused(&mut document);
    names::rename(&mut document);
    document
}
