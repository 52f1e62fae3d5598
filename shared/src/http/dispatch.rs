//! Dispatch: what happens to a request before its handler, by the kind of route.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use lambda_http::http::header::AUTHORIZATION;
use serde_json::value::RawValue;

use super::answering::recorded;
use super::api_request::{AdmittedRequest, HandlerCaller};
use super::context::RequestContext;
use super::document::{DocumentHandler, DocumentRequest};
use super::envelope::{Quota, Trace};
use super::fields::MAX_BODY;
use super::form_token::FormOwner;
use super::kept_form::KeptForm;
use super::page::style_version;
use super::sign_in_pages::NotCarriedOutPage;
use super::{
    ApiRequest, Assistant, ConfirmPage, Error, ExpectedPage, HandlerCall, MemberRequest, PageRequest, Reply,
    SentForm, SentInput, SignInPage, headers, return_to, rpc,
};
use crate::auth::{Caller, Claims, CredentialError};
use crate::model::{
    ActorKind, Audience, AuditAction, AuditActor, Day, MemberRole, Organization, Resource, Scopes, Tenant,
};
use crate::store::{Admission, Holder, HolderDetails, PendingAdmission, PresentedCredential, Store, Verdict};

/// The maximum number of times that a handler runs for one request while its writes conflict with others.
const MAX_ATTEMPTS: u32 = 10;

const PASSKEY_REQUIRED: &str = "Your organization requires a second factor. Sign in with your passkey.";

pub(super) type ReplyFuture<'a> = BoxFuture<'a, Result<Reply<()>, Error>>;

pub(super) type HandlerFn<R> = Arc<dyn Fn(R) -> ReplyFuture<'static> + Send + Sync>;

/// What a page requires of a signed-in member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberAccess {
    /// The member has this role or a higher one.
    pub role: MemberRole,
    /// The member has given the password or a passkey in the last 15 minutes. Otherwise the member is asked for it. What the
    /// member has typed is then sent on; without any, the member is redirected to this page, which has the form. `{id}` in
    /// it stands for the one in the request's path.
    pub fresh_sign_in_for: Option<&'static str>,
    /// The page is also for members who have yet to set up the second factor that their organization requires.
    pub before_second_factor: bool,
    /// The form may contain a file.
    pub takes_file: bool,
}

impl MemberAccess {
    /// A role, and a fresh sign-in before the form of the page `form` has an effect.
    pub const fn fresh(role: MemberRole, form: &'static str) -> Self {
        Self { role, fresh_sign_in_for: Some(form), before_second_factor: false, takes_file: false }
    }

    /// The same access, also for members who have yet to set up a second factor.
    #[must_use]
    pub const fn before_second_factor(self) -> Self {
        Self { before_second_factor: true, ..self }
    }

    /// The same access, with a form that may contain a file.
    #[must_use]
    pub const fn with_file(self) -> Self {
        Self { takes_file: true, ..self }
    }
}

impl From<MemberRole> for MemberAccess {
    fn from(role: MemberRole) -> Self {
        Self { role, fresh_sign_in_for: None, before_second_factor: false, takes_file: false }
    }
}

/// What happens to a request before its handler, by the kind of route.
pub(super) struct Dispatch<'a> {
    pub(super) context: RequestContext,
    /// How the audit log calls the read, if the reply has the data of people.
    pub(super) reading: Option<AuditAction>,
    /// The path of the page that has the form of the route.
    pub(super) form_page: String,
    pub(super) trace: &'a mut Trace,
}

impl Dispatch<'_> {
    pub(super) fn document(self, handler: &DocumentHandler) -> Result<Reply<()>, Error> {
        let context = &self.context;
        handler(&DocumentRequest {
            method: context.request.method(),
            path: context.path(),
            query: context.query_string(),
            base_url: context.base_url(),
            received_at: context.received_at,
            accepts_html: headers::accepts_html(context.headers()),
            edge: context.edge(),
        })
    }

    pub(super) async fn public(self, handler: HandlerFn<Arc<RequestContext>>) -> Result<Reply<()>, Error> {
        let context = Arc::new(self.context);
        retry_conflicts(&context, || handler(context.clone())).await
    }

    pub(super) async fn page(self, handler: HandlerFn<Arc<PageRequest>>) -> Result<Reply<()>, Error> {
        let page = Arc::new(PageRequest::new(Arc::new(self.context), false).await?);
        self.trace.sent = page.sent_form().filter(|_| page.has_kept_form());
        if !page.is_own() {
            return continue_sign_in(&page).await;
        }
        let reply = retry_conflicts(&page.context, || handler(page.clone())).await?;
        Ok(page.set_new_cookie(reply))
    }

    pub(super) async fn member_page(
        self,
        access: MemberAccess,
        handler: HandlerFn<Arc<MemberRequest>>,
    ) -> Result<Reply<()>, Error> {
        let Self { context, reading, form_page, trace } = self;
        let page = Arc::new(PageRequest::new(Arc::new(context), access.takes_file).await?);
        let (is_own, kept) = (page.is_own(), page.keep());
        // A form from another site comes without the cookie. It fails here and gets no new cookie.
        if !is_own && kept.is_none() {
            trace.sent = page.sent_form().filter(|_| page.is_from_own_page()).map(SentForm::only_to_copy);
            return Err(Error::ForeignForm);
        }
        trace.sent = page.sent_form();
        let request = match MemberRequest::find(&page).await? {
            Some(request) if is_own || (page.is_sent_on() && request.is_fresh()) => request,
            _ => return ask_to_sign_in(&page, kept, &form_page).await,
        };
        if page.is_sent_on()
            && let Some(sentence) = kept.as_ref().and_then(|kept| refusal(kept, &request))
        {
            return not_carried_out(kept, sentence, (&form_page, "Open the page"));
        }
        trace.tenant = Some(request.tenant());
        request.require(access.role)?;
        if let Err(error) = request.record_use().await {
            tracing::warn!(%error, "the session's last use was not stored");
        }
        if let Some(reply) = request.second_factor_step(access.before_second_factor) {
            let Some(kept) = kept else { return Ok(reply.typed()) };
            if request.member().has_second_factor() {
                let email = request.member().email.as_str();
                let asked = SignInPage::of(&page, &form_page, email, "").before(&page, &kept);
                let asked = asked.with_error(PASSKEY_REQUIRED.to_owned());
                return Ok(Reply::page(&asked)?.with_status(401).typed());
            }
            let step = (reply.location().unwrap_or("/dashboard"), "Set up a second factor");
            let sentence = "Your organization requires a second factor. Set one up, and send the form again.";
            return not_carried_out(Some(kept), sentence.to_owned(), step);
        }
        if let Some(form) = access.fresh_sign_in_for {
            let form = match request.context.id() {
                Ok(id) => form.replace("{id}", &id.to_string()),
                Err(_) => form.to_owned(),
            };
            if let Some(reply) = request.confirmation(&form) {
                let Some(kept) = kept else { return Ok(reply.typed()) };
                let asked = ConfirmPage::of(&request, &form, None).before(&page, &kept);
                return Ok(Reply::page(&asked)?.with_status(401).typed());
            }
        }
        if page.lacks_part() && !access.takes_file {
            let sentence = "The page has not kept the password or the token of this form. Enter it again.";
            return not_carried_out(kept, sentence.to_owned(), (&form_page, "Open the form"));
        }
        let (tenant, request) = (request.tenant(), Arc::new(request));
        let reply = retry_conflicts(&request.context, || handler(request.clone()));
        let id = request.context.id().ok();
        recorded(&request.context, tenant, reading, id, &request.expected, reply).await
    }

    pub(super) async fn api(
        self,
        resource: Resource,
        scopes: Scopes,
        max_body: usize,
        handler: HandlerFn<Arc<AdmittedRequest>>,
    ) -> Result<Reply<()>, Error> {
        let Self { context, reading, trace, .. } = self;
        if resource == Resource::Mcp {
            own_origin(&context)?;
        }
        // The futures are on the heap, so that they are not copied between stack frames.
        let caller = Box::pin(find_caller(&context, resource, trace)).await?;
        let (gate, admission) = (context.store().clone(), PendingAdmission::default());
        let context = Arc::new(context.behind(admission.clone()));
        let request = prepare(&context, &caller, scopes, max_body, reading, admission.clone());
        // Nothing is read beside the gate for whoever will be refused, as far as that can be known, nor for whoever comes to
        // this instance first: a second connection would take longer than the read.
        let is_refused = request.is_err();
        let comes_after_gate =
            is_refused || !caller.is_known || context.known_holders().expect_refusal(&caller.credential);
        let admitted = async {
            let organization = admit(&context, &gate, resource, &caller, trace).await?;
            admission.admit(organization);
            if !is_refused {
                record_use(&context, caller.credential.tenant, caller.credential.holder).await;
            }
            Ok::<_, Error>(())
        };
        // If the gate refuses the request, whatever the handler has read until then is dropped.
        let handled = async {
            if comes_after_gate {
                admission.organization().await;
            }
            Ok(match request {
                Ok(request) => handle(request, handler).await,
                Err(error) => Err(error),
            })
        };
        tokio::try_join!(biased; Box::pin(admitted), Box::pin(handled))?.1
    }
}

/// Why a form that was sent on after a sign-in is not carried out for this member.
fn refusal(kept: &KeptForm, request: &MemberRequest) -> Option<String> {
    let (owner, signed_in) = (kept.owner()?, request.form_owner());
    let same_account = |other: FormOwner| (other.tenant.organization, other.member);
    if same_account(owner) != same_account(signed_in) {
        Some(
            "Another member filled in this form, so it was not sent. Sign in with that account to send it."
                .to_owned(),
        )
    } else if owner != signed_in {
        let [before, now] = [owner, signed_in].map(|owner| owner.tenant.mode.as_str());
        Some(format!(
            "This form is about {before} data, and the dashboard shows {now} data, so it was not sent."
        ))
    } else {
        let is_late = kept.is_late(request.context.now());
        is_late.then(|| {
            "You signed in more than a day after you sent this form, so it was not sent on.".to_owned()
        })
    }
}

/// Shows what was typed in a form that is not carried out, with a link.
fn not_carried_out(
    kept: Option<KeptForm>,
    sentence: String,
    link: (&str, &'static str),
) -> Result<Reply<()>, Error> {
    let typed = kept.map(|kept| kept.typed()).unwrap_or_default();
    let page = NotCarriedOutPage { style_version: style_version(), sentence, typed, link };
    Ok(Reply::page(&page)?.with_status(409).typed())
}

/// Asks for a sign-in, with the form that waits for it. Without one, redirects to the sign-in page, which then redirects to
/// the page that was asked for, or to `form_page`, which has the form.
async fn ask_to_sign_in(
    page: &PageRequest,
    kept: Option<KeptForm>,
    form_page: &str,
) -> Result<Reply<()>, Error> {
    let query = page.path_and_query();
    let query = query.split_once('?').map(|(_, query)| format!("?{query}")).unwrap_or_default();
    let return_to = match page.form().non_empty("return_to") {
        Some(next) => return_to(next).to_owned(),
        None => format!("{form_page}{query}"),
    };
    let Some((kept, owner)) = kept.and_then(|kept| kept.owner().map(|owner| (kept, owner))) else {
        return Ok(page.set_new_cookie(PageRequest::redirect_to_sign_in(&return_to).typed()));
    };
    let member = page.context.store().find_member(owner.tenant.organization, owner.member).await?;
    let email = member.as_ref().map_or("", |member| member.email.as_str());
    let asked = SignInPage::of(page, &return_to, email, "").before(page, &kept);
    Ok(page.set_new_cookie(Reply::page(&asked)?.with_status(401).typed()))
}

/// Answers a form of a sign-in that was issued to an earlier session of the browser. If a form waits for the sign-in, it is
/// sent on if its member has just signed in; otherwise the member is asked again.
async fn continue_sign_in(page: &Arc<PageRequest>) -> Result<Reply<()>, Error> {
    let kept = page.keep().filter(|_| page.has_kept_form()).ok_or(Error::ForeignForm)?;
    if let Some(request) = MemberRequest::find(page).await?
        && request.is_fresh()
        && kept.owner() == Some(request.form_owner())
    {
        return Ok(page.continue_to("/dashboard").typed());
    }
    ask_to_sign_in(page, Some(kept), "/dashboard").await
}

/// Runs the handler of an API route, and stores the question if a member has to confirm the call.
async fn handle(
    request: AdmittedRequest,
    handler: HandlerFn<Arc<AdmittedRequest>>,
) -> Result<Reply<()>, Error> {
    let request = Arc::new(request);
    let reply = retry_conflicts(&request.context, || handler(request.clone()));
    let handled = request.answer(reply).await;
    if let Err(Error::ConfirmationRequired(unconfirmed)) = &handled {
        ApiRequest::<()>::new(request.clone()).ask_on_page(unconfirmed).await?;
    }
    handled
}

/// Runs the handler, retrying write conflicts with jitter.
async fn retry_conflicts(
    context: &RequestContext,
    handler: impl Fn() -> ReplyFuture<'static>,
) -> Result<Reply<()>, Error> {
    let mut attempt = 1;
    loop {
        match handler().await {
            Err(error) if error.is_conflict() && attempt < MAX_ATTEMPTS => {
                let pause = context.random().below(10 << attempt.min(6));
                tokio::time::sleep(Duration::from_millis(pause)).await;
                attempt += 1;
            }
            result => return result,
        }
    }
}

/// Checks everything about the credential that needs no call, and finds its holder. The first request of a holder reads the
/// details, which say from which networks a request counts.
async fn find_caller(
    context: &RequestContext,
    resource: Resource,
    trace: &mut Trace,
) -> Result<PresentedCaller, Error> {
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
    if !claims.audience.includes(resource) {
        trace.rejected_credential = Some("for another resource");
        return Err(Error::Unauthorized { presented: true });
    }
    let (credential, known) = (credential.presented(), context.known_holders());
    let unknown = Error::Unauthorized { presented: true };
    if known.is_refused(&credential, now) {
        return Err(unknown);
    }
    let (tenant, holder) = (credential.tenant, credential.holder);
    let remembered = known.find(tenant, holder);
    let is_known = remembered.is_some();
    let details = match remembered {
        Some(details) => Some(details),
        None => context.store().find_holder(tenant, holder).await?.map(Arc::new),
    };
    let Some(details) = details else {
        known.refuse(&credential, now);
        return Err(unknown);
    };
    let is_in_network = details.networks.allow(context.address());
    Ok(PresentedCaller { credential, claims, details, is_known, is_in_network })
}

/// The request for the handler. Fails with what refuses the request whatever the gate says: its network, its scopes, its
/// headers or its body. The gate's refusal comes first, and counts the request.
fn prepare(
    context: &Arc<RequestContext>,
    caller: &PresentedCaller,
    required: Scopes,
    max_body: usize,
    reading: Option<AuditAction>,
    admission: PendingAdmission,
) -> Result<AdmittedRequest, Error> {
    let PresentedCaller { credential, claims, details, is_in_network, .. } = caller;
    if !is_in_network {
        return Err(Error::NetworkNotAllowed(context.address()));
    }
    if !required.are_within(claims.scopes) {
        return Err(Error::InsufficientScope(required));
    }
    let is_assistant = claims.audience == Audience::Both && details.actor.kind == ActorKind::App;
    let call = HandlerCall {
        id: context.id().ok(),
        key: if context.is_post() { headers::idempotency_key(context.headers())? } else { None },
        input: SentInput::Json(json_body(context, max_body)?),
        seen: None,
        assistant: is_assistant.then_some(Assistant::AtApi),
        reading,
        expected: ExpectedPage::default(),
    };
    let caller = HandlerCaller {
        tenant: credential.tenant,
        actor: details.actor.clone(),
        member: details.member,
        scopes: claims.scopes,
        last_known: context.known_holders().find_organization(credential.tenant),
        admission,
    };
    Ok(AdmittedRequest::new(context.clone(), caller, call))
}

/// Checks the credential and the quota in one step, then whether the organization is suspended. `gate` waits for nothing.
async fn admit(
    context: &RequestContext,
    gate: &Store,
    resource: Resource,
    caller: &PresentedCaller,
    trace: &mut Trace,
) -> Result<Organization, Error> {
    let PresentedCaller { credential, details, is_in_network, .. } = caller;
    let (now, known, tenant) = (context.received_at, context.known_holders(), credential.tenant);
    let seconds_left = Day::of(now).seconds_left(now);
    let cost = match resource {
        Resource::Mcp if context.body().len() <= MAX_BODY => rpc::cost(context.body()),
        // Longer bodies are refused unread.
        Resource::Mcp | Resource::Api => 1,
    };
    let verdict = if *is_in_network {
        gate.admit(credential, cost, now, context.random().below(u64::MAX)).await?
    } else {
        gate.authenticate(credential, now).await?
    };
    let Admission { organization, counted_today } = match verdict {
        Verdict::Unknown => {
            known.refuse(credential, now);
            return Err(Error::Unauthorized { presented: true });
        }
        Verdict::Exhausted { limit, counted } => {
            known.exhaust(tenant);
            context.identify(AuditActor::of(&details.actor, details.member));
            trace.tenant = Some(tenant);
            trace.quota = Some(Quota { limit, remaining: limit.saturating_sub(counted), seconds_left });
            return Err(Error::RateLimited { limit, retry_after: seconds_left });
        }
        Verdict::Admitted(admission) => *admission,
    };
    trace.quota = organization.plan.requests_per_day().map(|limit| Quota {
        limit,
        remaining: limit.saturating_sub(counted_today),
        seconds_left,
    });
    trace.tenant = Some(tenant);
    context.identify(AuditActor::of(&details.actor, details.member));
    known.insert(tenant, credential.holder, details.clone());
    let is_used_up = trace.quota.as_ref().is_some_and(|quota| quota.remaining == 0);
    known.admit(&organization, organization.suspended || is_used_up);
    if organization.suspended { Err(Error::Suspended) } else { Ok(organization) }
}

/// Records the credential's use, once a day.
async fn record_use(context: &RequestContext, tenant: Tenant, holder: Holder) {
    let day = Day::of(context.received_at);
    if context.known_holders().is_first_use(tenant, holder, day)
        && let Err(error) = context.store().record_use(tenant, holder, day).await
    {
        tracing::warn!(%error, "the credential's last use was not stored");
    }
}

/// The holder of a credential that this service issued and that has not expired.
struct PresentedCaller {
    credential: PresentedCredential,
    claims: Claims,
    details: Arc<HolderDetails>,
    /// Whether this instance knew the details, which never change.
    is_known: bool,
    /// Whether the credential may be used from the request's network.
    is_in_network: bool,
}

/// Returns the JSON body: at most `max` bytes of well-formed `application/json` in UTF-8. It is empty for methods without a
/// body.
fn json_body(context: &RequestContext, max: usize) -> Result<String, Error> {
    let bytes = context.body();
    if bytes.is_empty() || matches!(context.request.method().as_str(), "GET" | "HEAD" | "DELETE") {
        return Ok(String::new());
    }
    if bytes.len() > max {
        return Err(Error::PayloadTooLarge(max));
    }
    if !context.is_json() {
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
