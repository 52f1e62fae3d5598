//! The context of a request: the gateway's event, parsed once, and the function's environment.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use jiff::SignedDuration;
use lambda_http::aws_lambda_events::query_map::QueryMap;
use lambda_http::http::{HeaderMap, Method};
use lambda_http::{Request, RequestExt};

use super::envelope::{Envelope, gateway_context};
use super::multipart::{self, SubmittedForm};
use super::parameters::Parameters;
use super::{Environment, Error, KnownHolders, KnownSites, headers};
use crate::clock::{Clock, Timestamp};
use crate::config::Edge;
use crate::id::{Id, Ids};
use crate::mac_keys::MacKeys;
use crate::model::{AuditActor, Device, Notice, NoticeEvent, PasswordCost};
use crate::providers::Providers;
use crate::random::Random;
use crate::store::{AuditOrigin, PendingAdmission, Store};
use crate::token_encryption::EncryptionKeys;

/// The maximum size of a form body, in bytes.
const MAX_FORM: usize = 64 * 1024;
/// The maximum size of the fields of a form with a file, in bytes. What is longer comes back cut, so this is more than any
/// field can hold.
const MAX_FORM_WITH_FILE: usize = 256 * 1024;

/// What stands for the route in receipts of calls without a request.
const APART: &str = "APART";

/// A request and its environment.
pub struct RequestContext {
    pub(super) request: Request,
    pub(super) route: &'static str,
    pub(super) received_at: Timestamp,
    base_url: String,
    environment: Arc<Environment>,
    store: Store,
    ids: Ids,
    /// Who sent the request, and from where, for the audit log and the request log.
    pub(super) origin: Arc<AuditOrigin>,
}

impl RequestContext {
    /// Creates the context of a request for `route`. `store` counts its DynamoDB calls. From here on, it also knows who
    /// writes through it.
    pub(super) fn new(
        request: Request,
        route: &'static str,
        envelope: &Envelope,
        environment: Arc<Environment>,
        store: Store,
        ids: Ids,
    ) -> Self {
        let (received_at, base_url) = (envelope.received_at, envelope.base_url.clone());
        let network = Some(network(&request, environment.config.client_address_header.as_deref()));
        let origin = AuditOrigin::new(network, environment.clock.clone(), ids.clone());
        let origin = Arc::new(origin.caused_by(Some(envelope.request_id.clone())));
        let store = store.with_origin(origin.clone());
        Self { request, route, received_at, base_url, environment, store, ids, origin }
    }

    /// A context without a request, for what a request begins and a task goes on with. In the receipts, `APART` stands for
    /// the route.
    pub(super) fn apart(
        environment: Arc<Environment>,
        store: Store,
        ids: Ids,
        origin: Arc<AuditOrigin>,
        received_at: Timestamp,
        base_url: String,
    ) -> Self {
        let request = Request::default();
        Self { request, route: APART, received_at, base_url, environment, store, ids, origin }
    }

    /// The same context, as a task would have it.
    pub(super) fn without_request(&self) -> Self {
        let Self { environment, store, ids, origin, received_at, base_url, .. } = self;
        Self::apart(
            environment.clone(),
            store.clone(),
            ids.clone(),
            origin.clone(),
            *received_at,
            base_url.clone(),
        )
    }

    /// Says who sent the request, for the audit log and for every line of the log. Only the first call has an effect.
    pub fn identify(&self, actor: AuditActor) {
        if let Some(actor) = self.origin.identify(actor) {
            tracing::Span::current().record("actor", tracing::field::display(actor.term()));
        }
    }

    /// The path, percent-decoded by the gateway.
    pub fn path(&self) -> &str {
        self.request.raw_http_path()
    }

    /// The path of a page that is about no single thing: its route has no parameters and takes no form.
    pub fn path_without_parameters(&self) -> Option<&'static str> {
        self.route.strip_prefix("GET ").filter(|path| !path.contains('{'))
    }

    /// The path parameter that the route calls `name`; empty if the route has none.
    pub fn path_parameter(&self, name: &str) -> &str {
        self.request.path_parameters_ref().and_then(|parameters| parameters.first(name)).unwrap_or_default()
    }

    /// The path parameter `id`. Fails with 404 if it cannot be an identifier.
    pub fn id(&self) -> Result<Id, Error> {
        self.path_parameter("id").parse().map_err(|_| Error::NotFound)
    }

    /// The query string as sent.
    pub(super) fn query_string(&self) -> &str {
        self.request.uri().query().unwrap_or_default()
    }

    /// The query parameters.
    pub fn query(&self) -> Parameters {
        Parameters::parse(self.query_string().as_bytes())
    }

    /// The names and values of the query as decoded by the gateway, in no particular order.
    pub(super) fn query_parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        self.request.query_string_parameters_ref().into_iter().flat_map(QueryMap::iter)
    }

    pub(super) fn is_post(&self) -> bool {
        self.request.method() == Method::POST
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        self.request.headers()
    }

    /// A header's value, if it was sent only once and is visible ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        headers::single(self.headers(), name).ok().flatten()
    }

    /// The body's bytes.
    pub fn body(&self) -> &[u8] {
        self.request.body().as_ref()
    }

    /// Whether the content type is JSON in UTF-8.
    pub fn is_json(&self) -> bool {
        headers::is_json(self.headers())
    }

    /// The body's parameters, if it is a form of at most 64 KB.
    pub fn form(&self) -> Result<Parameters, Error> {
        self.form_within(MAX_FORM)
    }

    /// The body's parameters, if it is a form of at most `max` bytes.
    pub(super) fn form_within(&self, max: usize) -> Result<Parameters, Error> {
        if self.body().len() > max {
            return Err(Error::PayloadTooLarge(max));
        }
        if !headers::is_form(self.headers()) {
            return Err(Error::UnsupportedMediaType(headers::FORM));
        }
        Ok(Parameters::parse(self.body()))
    }

    /// The submitted form, which may contain a file. If its fields have more than 256 KB, they are cut.
    pub async fn form_with_file(&self) -> Result<SubmittedForm, Error> {
        self.form_cut_after(MAX_FORM_WITH_FILE).await
    }

    /// The submitted form, which may contain a file. Its fields have at most `max` bytes.
    pub(super) async fn form_with_file_within(&self, max: usize) -> Result<SubmittedForm, Error> {
        let form = self.form_cut_after(max).await?;
        if form.is_cut { Err(Error::PayloadTooLarge(max)) } else { Ok(form) }
    }

    async fn form_cut_after(&self, max: usize) -> Result<SubmittedForm, Error> {
        match headers::boundary(self.headers()) {
            Some(boundary) => multipart::parse(boundary, self.body(), max).await,
            None => Ok(SubmittedForm { fields: self.form_within(max)?, ..SubmittedForm::default() }),
        }
    }

    /// The client's IP address: the one in the configured header of a CDN, or else the one that connects to the
    /// gateway. `None` if the header is configured but was not sent.
    pub fn address(&self) -> Option<IpAddr> {
        address(&self.request, self.environment.config.client_address_header.as_deref())
    }

    /// The client's network: an IPv4 address, or the /64 network of an IPv6 address, the size of a household's network.
    ///
    /// A configured CDN header takes precedence over the IP address that connects to the gateway.
    pub fn source(&self) -> String {
        network(&self.request, self.environment.config.client_address_header.as_deref())
    }

    /// The network around [`Self::source`]: the /24 network of an IPv4 address, or the /48 network of an IPv6 address, the
    /// sizes in which networks are usually given to companies.
    pub fn wide_source(&self) -> String {
        self.address().map_or_else(|| self.source(), wide_network)
    }

    /// The base URL of public links.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The base URL that the operator has configured.
    pub(super) fn configured_base_url(&self) -> Option<&str> {
        self.environment.config.base_url.as_deref()
    }

    /// The same request, whose writes and calls of external services wait for this admission.
    pub(super) fn behind(self, admission: PendingAdmission) -> Self {
        Self { store: self.store.behind(admission), ..self }
    }

    /// The table.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// The time of the request.
    pub const fn now(&self) -> Timestamp {
        self.received_at
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.environment.clock
    }

    /// How old a change is before lists of changes have it.
    pub fn settling(&self) -> SignedDuration {
        self.environment.config.settling
    }

    /// A notice about something that the request does.
    pub fn notice(&self, event: NoticeEvent) -> Notice {
        Notice { id: self.ids.next(), at: self.now(), event }
    }

    /// The browser and the network that sent the request.
    pub fn device(&self) -> Device {
        Device { browser: headers::browser(self.headers()), network: self.source() }
    }

    /// Generates identifiers.
    pub const fn ids(&self) -> &Ids {
        &self.ids
    }

    /// Generates random values.
    pub fn random(&self) -> &Random {
        &self.environment.random
    }

    /// The cost of hashing a password.
    pub fn password_cost(&self) -> PasswordCost {
        self.environment.password_cost
    }

    /// The configuration of the CDN in front of the gateway.
    pub(super) fn edge(&self) -> &Edge {
        &self.environment.config.edge
    }

    /// The credentials that this function has admitted.
    pub(super) fn known_holders(&self) -> &KnownHolders {
        &self.environment.known_holders
    }

    /// The career sites that this function has seen.
    pub fn known_sites(&self) -> &KnownSites {
        &self.environment.known_sites
    }

    /// The keys for signatures that only this service verifies.
    pub fn signing_keys(&self) -> &MacKeys {
        &self.environment.config.signing_keys
    }

    /// The keys that authenticate credentials.
    pub fn credential_keys(&self) -> &MacKeys {
        &self.environment.config.credential_keys
    }

    /// The keys that encrypt stored secrets.
    pub fn sealing_keys(&self) -> Option<&EncryptionKeys> {
        self.environment.config.services.sealing_keys.as_ref()
    }

    /// Whether files can be stored.
    pub fn stores_files(&self) -> bool {
        self.environment.providers.resumes().is_some()
    }

    /// The external services. Nobody reaches them before the gate has admitted the request, and nobody gets a link to a
    /// file.
    pub async fn providers(&self) -> &Providers {
        self.store.admitted().await;
        &self.environment.providers
    }
}

/// The client's IP address. `header` is the CDN header with it, if one is configured.
fn address(request: &Request, header: Option<&str>) -> Option<IpAddr> {
    match header {
        Some(name) => headers::ip_address(name, headers::single(request.headers(), name).ok().flatten()?),
        None => gateway_context(request).http.source_ip.and_then(|address| address.parse().ok()),
    }
}

/// The /24 network of an IPv4 address, or the /48 network of an IPv6 address.
fn wide_network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            format!("{a}.{b}.{c}.0/24")
        }
        IpAddr::V6(address) => {
            let [a, b, c, ..] = address.segments();
            format!("{}/48", Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0))
        }
    }
}

/// The client's network. `header` is the CDN header with the client's address, if one is configured.
fn network(request: &Request, header: Option<&str>) -> String {
    let source = address(request, header).map_or_else(
        || gateway_context(request).http.source_ip.unwrap_or_default(),
        |address| address.to_string(),
    );
    match source.parse::<Ipv6Addr>() {
        Ok(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{}/64", Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        Err(_) => source,
    }
}
