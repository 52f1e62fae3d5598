//! Request bodies and queries: the OpenAPI document describes every body that the service accepts.

use std::sync::LazyLock;

use ::tests::contract::{CONTRACT, trimmed};
use serde_json::Value;
use serde_json::value::RawValue;
use shared::http::{
    Access, ApiRequest, Error, Input, Output, Payload, PublicRequest, Reply, ReplyFormat, Row, read_body,
    read_query,
};
use shared::model::{AuditAction, Scopes};
use url::form_urlencoded;

use crate::input::{first_line, text};

/// A route's own parser of its input.
struct InputParser {
    key: &'static str,
    /// Parses a body, or a query for a GET.
    parse: fn(&str) -> Result<(), Error>,
}

impl Row for InputParser {
    fn new<I, O, H, F>(key: &'static str, _: impl Into<Scopes>, _: H) -> Self
    where
        I: Input + 'static,
        O: Output + 'static,
        H: Fn(ApiRequest<I>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        Self { key, parse: if key.starts_with("GET ") { parse_query::<I> } else { parse_body::<I> } }
    }

    fn rpc<P, O, H, F>(key: &'static str, _: H) -> Self
    where
        P: Payload + 'static,
        O: Output + 'static,
        H: Fn(ApiRequest<P>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        // The handler parses the message itself.
        Self { key, parse: |_| Ok(()) }
    }

    fn open<P, O, H, F>(key: &'static str, _: Access, _: ReplyFormat, _: H) -> Self
    where
        P: Payload + 'static,
        O: Output + 'static,
        H: Fn(PublicRequest<P>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        // The handler parses the input itself.
        Self { key, parse: |_| Ok(()) }
    }

    fn reading(self, _: AuditAction) -> Self {
        self
    }
}

fn parse_query<I: Input>(query: &str) -> Result<(), Error> {
    let pairs: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
    read_query::<I>(pairs.iter().map(|(name, value)| (name.as_ref(), value.as_ref()))).map(drop)
}

fn parse_body<I: Input>(body: &str) -> Result<(), Error> {
    read_body::<I>(body, std::iter::empty()).map(drop)
}

static PARSERS: LazyLock<Vec<InputParser>> = LazyLock::new(|| {
    [
        applications::routes(),
        candidates::routes(),
        channels::routes(),
        events::routes(),
        job_postings::routes(),
        organization::routes(),
        quick_post::routes(),
        roles::routes(),
        voice_screens::routes(),
        webhook_endpoints::routes(),
        data::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
});

/// The first line is a route key, or its first byte chooses the route. The rest is a body, or a query for a GET.
pub fn request_bodies(input: &[u8]) {
    let (key, rest) = first_line(input);
    let (key, given) = (text(key), text(rest));
    let choice = usize::from(input.first().copied().unwrap_or_default()) % PARSERS.len();
    let parser = PARSERS.iter().find(|parser| parser.key == key).unwrap_or(&PARSERS[choice]);
    let is_query = parser.key.starts_with("GET ");
    // Handlers get only well-formed JSON.
    let body = match serde_json::from_str::<&RawValue>(&given) {
        _ if is_query || given.is_empty() => given.as_str(),
        Ok(json) => json.get(),
        Err(_) => return,
    };
    match (parser.parse)(body) {
        Ok(()) if !is_query => assert_described(parser.key, body),
        Ok(()) => {}
        Err(Error::Validation(messages)) => {
            assert!((1..=101).contains(&messages.len()));
            let error = Error::Validation(messages).body("id");
            assert!(serde_json::from_str::<Value>(&error).is_ok(), "{error}");
        }
        Err(error) => panic!("{error:?}"),
    }
}

fn assert_described(key: &str, body: &str) {
    let body = if body.is_empty() { "{}" } else { body };
    let value: Value = serde_json::from_str(body).expect("JSON");
    let (method, path) = key.split_once(' ').expect("a route key");
    let path = path.replace('/', "~1");
    let schema =
        format!("/paths/{path}/{}/requestBody/content/application~1json/schema", method.to_ascii_lowercase());
    if CONTRACT.document.pointer(&schema).is_some() {
        let mismatches = CONTRACT.mismatches(&schema, &trimmed(value));
        assert!(mismatches.is_empty(), "{key} {body}: {mismatches:?}");
    } else {
        assert_eq!(value, Value::Object(serde_json::Map::new()), "{key}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rolecall_local::functions::tables;
    use std::collections::BTreeSet;

    #[test]
    fn every_route_for_credentials_is_a_choice() {
        let routes = tables().into_iter().flat_map(|tables| tables.routes);
        let routes = routes.filter(|route| matches!(route.access(), Access::Scopes(_)));
        let keys: BTreeSet<_> = routes.map(|route| route.key).collect();
        assert_eq!(PARSERS.iter().map(|parser| parser.key).collect::<BTreeSet<_>>(), keys);
    }
}
