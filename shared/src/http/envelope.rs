//! The parts that all requests have in common: the gateway's metadata, the response, and the log line.

use std::sync::Arc;

use lambda_http::aws_lambda_events::apigw::ApiGatewayV2httpRequestContext;
use lambda_http::http::StatusCode;
use lambda_http::http::header::{HeaderName, HeaderValue, SET_COOKIE};
use lambda_http::request::RequestContext;
use lambda_http::{Body, Context, Request, RequestExt, Response};
use tracing::Level;

use super::delivery::{Delivery, Outgoing};
use super::{Error, Reply, ReplyFormat, SentForm, headers, page, route_table};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{AuditActor, Resource, Tenant};
use crate::store::{AuditOrigin, DatabaseUse};

/// The metadata of a request, from its arrival to its response.
pub(super) struct Envelope {
    /// The method, and the path of the route; or `$default`.
    pub(super) route_key: String,
    /// The base URL of public links.
    pub(super) base_url: String,
    pub(super) received_at: Timestamp,
    pub(super) request_id: String,
    /// The identifier of the request's X-Ray trace, if it is recorded.
    xray_trace_id: Option<String>,
    delivery: Delivery,
}

/// Facts about a request for the response headers and the log.
#[derive(Default)]
pub(super) struct Trace {
    pub(super) tenant: Option<Tenant>,
    /// Who sent the request.
    pub(super) origin: Option<Arc<AuditOrigin>>,
    pub(super) quota: Option<Quota>,
    /// Why the request's credential was rejected without a call to the table.
    pub(super) rejected_credential: Option<&'static str>,
    /// The form of a member, which the error page shows if it is not carried out.
    pub(super) sent: Option<SentForm>,
    /// Whether this is the first request of the function's instance.
    pub(super) is_first: bool,
    pub(super) database: DatabaseUse,
}

/// The daily quota of a plan.
pub(super) struct Quota {
    pub(super) limit: u64,
    pub(super) remaining: u64,
    pub(super) seconds_left: u64,
}

impl Trace {
    /// Who sent the request, as far as that is known.
    pub(super) fn actor(&self) -> Option<AuditActor> {
        self.origin.as_ref().and_then(|origin| origin.actor())
    }
}

impl Envelope {
    /// Creates the envelope of a request that arrives now. The default for `base_url` is the domain of the request.
    pub(super) fn of(request: &Request, base_url: Option<&str>, now: Timestamp) -> Self {
        let context = gateway_context(request);
        let base_url = base_url.map(str::to_owned);
        Self {
            base_url: base_url
                .unwrap_or_else(|| format!("https://{}", context.domain_name.unwrap_or_default())),
            route_key: route_table::key(request.method(), &context.route_key.unwrap_or_default()),
            request_id: context.request_id.unwrap_or_default(),
            xray_trace_id: request.lambda_context_ref().and_then(xray_trace_id),
            received_at: now,
            delivery: Delivery::of(request),
        }
    }

    /// Creates the response and logs the request.
    pub(super) fn close(
        self,
        format: ReplyFormat,
        result: Result<Reply<()>, Error>,
        trace: &Trace,
        now: Timestamp,
    ) -> Response<Body> {
        let detail = result.as_ref().err().and_then(Error::detail);
        let outgoing = respond(format, result, trace, &self.request_id, &self.base_url);
        let response = self.delivery.deliver(outgoing);
        let (actor, database) = (trace.actor(), trace.database);
        let elapsed = now.duration_since(self.received_at);
        macro_rules! log {
            ($level:expr) => {
                tracing::event!(
                    $level,
                    request_id = self.request_id,
                    route = self.route_key,
                    tenant = trace.tenant.map(|tenant| tenant.to_string()),
                    actor = actor.map(|actor| actor.term().to_string()),
                    member = actor.and_then(|actor| actor.member).map(Id::get),
                    status = response.status().as_u16(),
                    failed = u8::from(response.status().is_server_error()),
                    milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(0),
                    starts = trace.is_first.then_some(1_u8),
                    dynamodb_calls = database.calls,
                    dynamodb_milliseconds = database.milliseconds,
                    dynamodb_retries = Some(database.retries).filter(|number| *number > 0),
                    dynamodb_throttled = Some(database.throttled).filter(|number| *number > 0),
                    dynamodb_conflicts = Some(database.conflicts).filter(|number| *number > 0),
                    gate_shards = Some(database.gate_shards).filter(|number| *number > 0),
                    xray_trace_id = self.xray_trace_id,
                    rejected_credential = trace.rejected_credential,
                    detail,
                    "request"
                )
            };
        }
        // A rejected request is the client's affair, and a failed one is the operator's.
        if response.status().is_server_error() {
            log!(Level::ERROR);
        } else {
            log!(Level::INFO);
        }
        response
    }
}

impl ReplyFormat {
    /// The format for this request, after content negotiation.
    pub(super) fn negotiated(self, request: &Request) -> Self {
        match self {
            Self::Negotiated if headers::accepts_html(request.headers()) => Self::Page,
            Self::Negotiated => Self::Api,
            format => format,
        }
    }
}

/// The identifier of the X-Ray trace of an event, if X-Ray records it.
pub fn xray_trace_id(context: &Context) -> Option<String> {
    let header = context.xray_trace_id.as_deref()?;
    let mut parts = header.split(';').filter_map(|part| part.trim().split_once('='));
    let is_recorded = parts.clone().any(|part| part == ("Sampled", "1"));
    parts.find(|(name, _)| *name == "Root").filter(|_| is_recorded).map(|(_, root)| root.to_owned())
}

pub(super) fn gateway_context(request: &Request) -> ApiGatewayV2httpRequestContext {
    match request.request_context_ref() {
        Some(RequestContext::ApiGatewayV2(context)) => context.clone(),
        _ => ApiGatewayV2httpRequestContext::default(),
    }
}

fn respond(
    format: ReplyFormat,
    result: Result<Reply<()>, Error>,
    trace: &Trace,
    request_id: &str,
    base_url: &str,
) -> Outgoing {
    let reply = result.unwrap_or_else(|error| {
        let body = match format {
            ReplyFormat::Api | ReplyFormat::Document | ReplyFormat::Negotiated => error.body(request_id),
            ReplyFormat::Rpc => error.rpc_body(request_id),
            ReplyFormat::OAuth => error.oauth_body(),
            ReplyFormat::Page => page::of_error(&error, request_id, Some("/dashboard"), trace.sent.as_ref()),
            ReplyFormat::PublicPage => page::of_error(&error, request_id, None, None),
        };
        let reply = Reply::new(error.kind().0, body);
        let resource = if format == ReplyFormat::Rpc { Resource::Mcp } else { Resource::Api };
        error
            .headers(base_url, resource)
            .into_iter()
            .fold(reply, |reply, (name, value)| reply.with(name, value))
    });
    let mut headers = match format {
        ReplyFormat::Api | ReplyFormat::Rpc | ReplyFormat::Document | ReplyFormat::Negotiated => {
            vec![("content-type", "application/json".to_owned()), ("cache-control", "no-store".to_owned())]
        }
        ReplyFormat::OAuth => vec![
            ("content-type", "application/json".to_owned()),
            ("cache-control", "no-store".to_owned()),
            ("pragma", "no-cache".to_owned()),
            ("access-control-allow-origin", "*".to_owned()),
            ("access-control-expose-headers", "WWW-Authenticate".to_owned()),
        ],
        ReplyFormat::Page | ReplyFormat::PublicPage => page::headers(),
    };
    headers.push(("x-request-id", request_id.to_owned()));
    headers.push(("x-content-type-options", "nosniff".to_owned()));
    if base_url.starts_with("https://") {
        headers.push(("strict-transport-security", "max-age=31536000; includeSubDomains".to_owned()));
    }
    if let Some(Quota { limit, remaining, seconds_left }) = &trace.quota {
        headers.push(("ratelimit-policy", format!(r#""daily";q={limit};w=86400"#)));
        headers.push(("ratelimit", format!(r#""daily";r={remaining};t={seconds_left}"#)));
    }
    // A page for one browser contains its form token, next to values from the URL. Compressed, its length would reveal
    // the token to somebody who chooses the URL and observes the length (BREACH).
    let is_compressible = format != ReplyFormat::Page || reply.sets("cache-control");
    let is_revalidated = reply.is_revalidated;
    let body = reply.bytes.map_or_else(|| Body::Text(reply.body), Body::Binary);
    let mut response = Response::new(body);
    let status = StatusCode::from_u16(reply.status).ok();
    let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(reply.headers);
    for (name, value) in headers {
        match (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(&value)) {
            (Ok(name), Ok(value)) if name == SET_COOKIE => {
                response.headers_mut().append(name, value);
            }
            // A handler's header replaces the default.
            (Ok(name), Ok(value)) => {
                response.headers_mut().insert(name, value);
            }
            _ => tracing::error!(name, "a header could not be sent"),
        }
    }
    *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Outgoing { response, is_revalidated, is_compressible }
}
