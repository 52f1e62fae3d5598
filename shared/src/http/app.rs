//! The app: dispatches the gateway's requests to the routes of a function.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use lambda_http::http::header::AUTHORIZATION;
use lambda_http::{Body, Request, Response};
use serde_json::value::RawValue;
use tracing::Instrument;
use tracing::field::Empty;

use super::api_request::{AdmittedRequest, SentBody};
use super::context::RequestContext;
use super::document::{DocumentHandler, DocumentRequest};
use super::envelope::{Envelope, Quota, Trace};
use super::idempotency::IdempotencyKey;
use super::route::{HandlerFn, MemberAccess, ReplyFuture};
use super::route_table::RouteTable;
use super::{Environment, Error, MemberRequest, PageRequest, Reply, ReplyFormat, Route, headers};
use crate::auth::{Caller, CredentialError};
use crate::id::{Id, Ids};
use crate::model::{Audience, AuditAction, AuditActor, AuditTarget, Day, Organization, Scopes, Tenant};
use crate::store::{Holder, HolderDetails, Store, StoreError, Verdict};

/// A function: its routes and its environment.
#[derive(Clone)]
pub struct App {
    environment: Arc<Environment>,
    ids: Ids,
    routes: Arc<RouteTable<Route>>,
    has_served: Arc<AtomicBool>,
}

/// The maximum size of a JSON body, in bytes.
const MAX_BODY: usize = 256 * 1024;
/// The maximum number of times that a handler runs for one request while its writes conflict with others.
const MAX_ATTEMPTS: u32 = 10;

impl App {
    /// Creates a function that serves `routes`.
    pub fn new(environment: Environment, routes: Vec<Route>) -> Self {
        let ids = Ids::new(environment.clock.clone(), environment.random.clone());
        let routes = RouteTable::new(routes.into_iter().map(|route| (route.key, route)));
        Self { environment: Arc::new(environment), ids, routes: Arc::new(routes), has_served: Arc::default() }
    }

    /// Handles one request.
    pub async fn handle(&self, request: Request) -> Response<Body> {
        let clock = &self.environment.clock;
        let store = self.environment.store.metered();
        let envelope = Envelope::of(&request, self.environment.config.base_url.as_deref(), clock.now());
        let route = self.routes.find(&envelope.route_key);
        // The response to an unknown route depends on the client, as on the default route.
        let format =
            route.as_ref().map_or(ReplyFormat::Negotiated, |route| route.format()).negotiated(&request);
        let is_first = !self.has_served.swap(true, Ordering::Relaxed);
        let mut trace = Trace { is_first, ..Trace::default() };
        let secret = headers::single(request.headers(), headers::ORIGIN_SECRET).ok().flatten();
        let result = match route {
            _ if !self.environment.config.edge.origin_secrets.admit(secret) => Err(Error::NotThroughCdn),
            Ok(route) => {
                let span = tracing::error_span!("request", request_id = envelope.request_id, actor = Empty);
                self.dispatch(request, route, &envelope, &store, &mut trace).instrument(span).await
            }
            Err(error) => Err(error),
        };
        trace.database = store.database_use();
        envelope.close(format, result, &trace, clock.now())
    }

    async fn dispatch(
        &self,
        request: Request,
        route: &Route,
        envelope: &Envelope,
        store: &Store,
        trace: &mut Trace,
    ) -> Result<Reply<()>, Error> {
        let (environment, store, ids) = (self.environment.clone(), store.clone(), self.ids.clone());
        let context = Arc::new(RequestContext::new(request, route.key, envelope, environment, store, ids));
        trace.origin = Some(context.origin.clone());
        (route.answer)(Dispatch { app: self, context, reading: route.reading, trace }).await
    }

    /// Runs the handler, retrying write conflicts with jitter.
    async fn retry_conflicts(&self, handler: impl Fn() -> ReplyFuture<'static>) -> Result<Reply<()>, Error> {
        let mut attempt = 1;
        loop {
            match handler().await {
                Err(error) if error.is_conflict() && attempt < MAX_ATTEMPTS => {
                    let pause = self.environment.random.below(10 << attempt.min(6));
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    /// Checks the credential and the quota in one step, then the network and the scopes. The first request of a
    /// credential also reads the details of its holder, beside the gate.
    async fn admit(
        &self,
        context: &RequestContext,
        audience: Audience,
        required: Scopes,
        trace: &mut Trace,
    ) -> Result<Admitted, Error> {
        let credential = match headers::single(context.headers(), AUTHORIZATION.as_str()) {
            Ok(authorization) => Caller::read(authorization, context.credential_keys()),
            Err(_) => Caller::Rejected(CredentialError::Malformed),
        };
        let credential = match credential {
            Caller::Anonymous => return Err(Error::Unauthorized { presented: false }),
            Caller::Rejected(error) => {
                trace.rejected_credential = Some(error.as_str());
                return Err(Error::Unauthorized { presented: true });
            }
            Caller::Presented(credential) => credential,
        };
        let (now, claims) = (context.received_at, credential.claims());
        if credential.is_expired(now) {
            trace.rejected_credential = Some("expired");
            return Err(Error::Unauthorized { presented: true });
        }
        let seconds_left = Day::of(now).seconds_left(now);
        let shard = self.environment.random.below(u64::MAX);
        let presented = credential.presented(&audience.url(context.base_url()));
        let (tenant, holder) = (presented.tenant, presented.holder);
        let verdict = context.store().admit(&presented, now, shard);
        let (verdict, details) =
            tokio::join!(verdict, Box::pin(self.find_holder(context.store(), tenant, holder)));
        let admission = match verdict? {
            Verdict::Unknown => return Err(Error::Unauthorized { presented: true }),
            Verdict::Exhausted { limit } => {
                if let Ok(Some(details)) = &details {
                    context.identify(AuditActor::of(&details.actor, details.member));
                }
                trace.tenant = Some(tenant);
                trace.quota = Some(Quota { limit, remaining: 0, seconds_left });
                return Err(Error::RateLimited { limit, retry_after: seconds_left });
            }
            Verdict::Admitted(admission) => admission,
        };
        trace.quota = admission.organization.plan.requests_per_day().map(|limit| Quota {
            limit,
            remaining: limit.saturating_sub(admission.counted_today),
            seconds_left,
        });
        trace.tenant = Some(tenant);
        let details = details?.ok_or(Error::Unauthorized { presented: true })?;
        context.identify(AuditActor::of(&details.actor, details.member));
        self.environment.known_holders.insert(tenant, holder, details.clone(), None);
        if admission.organization.suspended {
            return Err(Error::Suspended);
        }
        if !details.networks.allow(context.address()) {
            return Err(Error::NetworkNotAllowed(context.address()));
        }
        if !required.are_within(claims.scopes) {
            return Err(Error::InsufficientScope(required));
        }
        let organization = admission.organization;
        Ok(Admitted { organization, holder, details, scopes: claims.scopes })
    }

    /// The details of a credential's holder. They never change, so they are read only once.
    async fn find_holder(
        &self,
        store: &Store,
        tenant: Tenant,
        holder: Holder,
    ) -> Result<Option<Arc<HolderDetails>>, Error> {
        match self.environment.known_holders.find(tenant, holder) {
            Some(details) => Ok(Some(details)),
            None => Ok(store.find_holder(tenant, holder).await?.map(Arc::new)),
        }
    }

    /// Records the credential's use, once a day.
    async fn record_use(&self, store: &Store, tenant: Tenant, holder: Holder, now: Timestamp) {
        let day = Day::of(now);
        if self.environment.known_holders.is_first_use(tenant, holder, day)
            && let Err(error) = store.record_use(tenant, holder, day).await
        {
            tracing::warn!(%error, "the credential's last use was not stored");
        }
    }
}

/// What happens to a request before its handler, by the kind of route.
pub(super) struct Dispatch<'a> {
    app: &'a App,
    context: Arc<RequestContext>,
    /// How the audit log calls the read, if the reply has the data of people.
    reading: Option<AuditAction>,
    trace: &'a mut Trace,
}

impl Dispatch<'_> {
    pub(super) fn document(self, handler: &DocumentHandler) -> Result<Reply<()>, Error> {
        let context = &self.context;
        handler(&DocumentRequest {
            path: context.path(),
            base_url: context.base_url(),
            received_at: context.received_at,
            accepts_html: headers::accepts_html(context.headers()),
            edge: &self.app.environment.config.edge,
        })
    }

    pub(super) async fn public(self, handler: HandlerFn<Arc<RequestContext>>) -> Result<Reply<()>, Error> {
        self.app.retry_conflicts(|| handler(self.context.clone())).await
    }

    pub(super) async fn page(self, handler: HandlerFn<Arc<PageRequest>>) -> Result<Reply<()>, Error> {
        let page = Arc::new(PageRequest::new(self.context, false).await?);
        let reply = self.app.retry_conflicts(|| handler(page.clone())).await?;
        Ok(page.set_new_cookie(reply))
    }

    pub(super) async fn member_page(
        self,
        access: MemberAccess,
        handler: HandlerFn<Arc<MemberRequest>>,
    ) -> Result<Reply<()>, Error> {
        // A form from another site comes without the cookie. It fails here and gets no new cookie.
        let page = Arc::new(PageRequest::new(self.context, access.takes_file).await?);
        let Some(request) = MemberRequest::find(&page).await? else {
            // The path that a form is posted to may have no page.
            let return_to = if page.context.is_post() { "/dashboard" } else { &page.path_and_query() };
            return Ok(page.set_new_cookie(PageRequest::redirect_to_sign_in(return_to).typed()));
        };
        self.trace.tenant = Some(request.tenant());
        request.require(access.role)?;
        if let Some(session) = request.session().seen(request.context.now())
            && let Err(error) = request.replace_session(&session).await
        {
            tracing::warn!(%error, "the session's last use was not stored");
        }
        if let Some(reply) = request.second_factor_step(access.before_second_factor) {
            return Ok(reply.typed());
        }
        if let Some(form) = access.fresh_sign_in_for
            && let Some(reply) = request.confirmation(form)
        {
            return Ok(reply.typed());
        }
        let (tenant, request) = (request.tenant(), Arc::new(request));
        let reply = self.app.retry_conflicts(|| handler(request.clone()));
        recorded(&request.context, tenant, self.reading, request.context.id().ok(), reply).await
    }

    pub(super) async fn api(
        self,
        audience: Audience,
        scopes: Scopes,
        handler: HandlerFn<Arc<AdmittedRequest>>,
    ) -> Result<Reply<()>, Error> {
        let Self { app, context, reading, trace } = self;
        if audience == Audience::Mcp {
            own_origin(&context)?;
        }
        // The futures are on the heap, so that they are not copied between stack frames.
        let admitted = Box::pin(app.admit(&context, audience, scopes, trace)).await?;
        let (tenant, holder) = (admitted.organization.tenant(), admitted.holder);
        let (store, received_at) = (context.store().clone(), context.received_at);
        let is_recorded =
            |action: &AuditAction| trace.actor().is_some_and(|actor| action.is_recorded_for(actor.kind));
        let reading = reading.filter(is_recorded);
        let request = Arc::new(AdmittedRequest {
            organization: admitted.organization,
            actor: admitted.details.actor.clone(),
            scopes: admitted.scopes,
            idempotency_key: IdempotencyKey::of(&context, admitted.scopes)?,
            id: context.id().ok(),
            body: SentBody::Json(json_body(&context)?),
            confirmed: None,
            context,
        });
        let handled = async {
            let reply = app.retry_conflicts(|| handler(request.clone()));
            match recorded(&request.context, tenant, reading, request.id, reply).await {
                Err(error) if error.kind().0 < 500 => request.replay_or(error).await,
                result => result,
            }
        };
        let used = app.record_use(&store, tenant, holder, received_at);
        tokio::join!(Box::pin(handled), Box::pin(used)).0
    }
}

/// The caller of an admitted request.
struct Admitted {
    organization: Organization,
    holder: Holder,
    details: Arc<HolderDetails>,
    scopes: Scopes,
}

/// Awaits a reply with the data of people, and records the read in the audit log. Without the entry, nobody gets the
/// data.
///
/// The entry of one resource is written while the resource is read, even if there is none. The entry of a page is written
/// after the page was read, because it contains the number of items; a page without items has none.
pub(super) async fn recorded(
    context: &RequestContext,
    tenant: Tenant,
    reading: Option<AuditAction>,
    id: Option<Id>,
    reply: impl Future<Output = Result<Reply<()>, Error>>,
) -> Result<Reply<()>, Error> {
    let Some(action) = reading else { return reply.await };
    let store = context.store();
    if let Some(kind) = action.resource() {
        let Some(id) = id else { return reply.await };
        let target = Some(AuditTarget::of(kind, id));
        let (reply, entry) = tokio::join!(reply, store.record(tenant, action, target, None));
        let reply = reply?;
        entry?;
        return Ok(reply);
    }
    let reply = reply.await?;
    let (action, shown) = match (action, reply.shown) {
        (AuditAction::CandidatesListed, Some(shown)) if reply.is_search => {
            (AuditAction::CandidatesSearched, shown)
        }
        (action, Some(shown)) => (action, shown),
        (_, None) => {
            let message = "the number of people on a page is not known".to_owned();
            return Err(StoreError::Internal(message).into());
        }
    };
    if shown > 0 {
        store.record(tenant, action, None, Some(shown)).await?;
    }
    Ok(reply)
}

/// Returns the JSON body: at most 256 KB of well-formed `application/json` in UTF-8. It is empty for methods without a
/// body.
fn json_body(context: &RequestContext) -> Result<String, Error> {
    let bytes = context.body();
    if bytes.is_empty() || matches!(context.request.method().as_str(), "GET" | "HEAD" | "DELETE") {
        return Ok(String::new());
    }
    if bytes.len() > MAX_BODY {
        return Err(Error::PayloadTooLarge(MAX_BODY));
    }
    if !headers::is_json(context.headers()) {
        return Err(Error::UnsupportedMediaType("application/json"));
    }
    let text =
        str::from_utf8(bytes).map_err(|_| Error::BadRequest("The request body is not UTF-8".to_owned()))?;
    match serde_json::from_str::<&RawValue>(text) {
        Ok(json) => Ok(json.get().to_owned()),
        Err(error) => Err(Error::BadRequest(format!(
            "The request body is not JSON: line {}, column {}",
            error.line(),
            error.column()
        ))),
    }
}

/// Fails with 403 if a browser sends the request for another site. An attacker's page must not reach a service in the
/// visitor's own network, not even under another name (DNS rebinding).
fn own_origin(context: &RequestContext) -> Result<(), Error> {
    match headers::single(context.headers(), "origin") {
        Ok(None) => Ok(()),
        Ok(Some(origin)) if origin == context.base_url() => Ok(()),
        _ => Err(Error::ForeignOrigin),
    }
}
