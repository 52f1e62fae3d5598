//! External services (X, WhatsApp and voice providers) and the simulators that replace them.
//!
//! Each service has a port with a real adapter and a simulator. [`Providers`] chooses the adapter for a tenant; test
//! tenants always get simulators.

mod aws_signer;
pub mod bucket;
pub mod client;
pub mod client_document;
pub mod lambda;
pub mod public_address;
pub mod public_web;
#[cfg(test)]
mod test_server;
pub mod voice;
pub mod webhooks;
pub mod whatsapp;
pub mod x;
pub mod x_simulator;

use std::sync::{Arc, OnceLock};

use crate::config::{Config, Services};
use crate::model::{Country, Mode};
use crate::secret::Secret;
use crate::token_encryption::EncryptionKeys;

use bucket::Bucket;
use client::HttpClient;
use client_document::ClientDocuments;
use lambda::LambdaFunction;
use webhooks::{WebhookReach, WebhookSender};
use whatsapp::WhatsApp;
use x::X;

/// The external services that a function can use.
#[derive(Clone)]
pub struct Providers(Arc<Inner>);

/// The clients are created on first use, because most functions need none.
struct Inner {
    http_client: OnceLock<Option<HttpClient>>,
    client_documents: OnceLock<Option<ClientDocuments>>,
    resumes: OnceLock<Option<Bucket>>,
    deliver_function: OnceLock<Option<LambdaFunction>>,
    webhook_reach: WebhookReach,
    webhook_sender: OnceLock<Option<WebhookSender>>,
    services: Services,
    simulator_secrets: Vec<Secret>,
}

/// The X adapter of a tenant.
pub enum XPort<'p> {
    /// The client for X, and the keys that encrypt the tokens of the tenant's account.
    Real(X, &'p EncryptionKeys),
    /// The simulator.
    Simulated,
    /// No adapter, because the service has no X app.
    Missing,
}

/// The `WhatsApp` adapter of a tenant.
pub enum WhatsAppPort<'p> {
    /// The client for `WhatsApp`, and the keys that encrypt the token of the tenant's number.
    Real(WhatsApp, &'p EncryptionKeys),
    /// The simulator.
    Simulated,
    /// No adapter, because the service has no encryption keys.
    Missing,
}

impl Providers {
    /// Creates the services from a configuration.
    pub fn new(config: &Config) -> Self {
        Self::build(config, OnceLock::new(), WebhookReach::public())
    }

    /// Creates the services with another HTTP client, another source of client metadata documents and another reach of
    /// webhooks, for simulations only.
    pub fn simulated(
        config: &Config,
        client: HttpClient,
        documents: ClientDocuments,
        reach: WebhookReach,
    ) -> Self {
        let providers = Self::build(config, OnceLock::from(Some(documents)), reach);
        let _ = providers.0.http_client.set(Some(client));
        providers
    }

    /// Creates the services with another source of client metadata documents, for tests only.
    pub fn with_client_documents(config: &Config, documents: ClientDocuments) -> Self {
        Self::build(config, OnceLock::from(Some(documents)), WebhookReach::public())
    }

    /// Creates the services with another reach of webhooks, for the local service and for tests.
    pub fn with_webhook_reach(config: &Config, reach: WebhookReach) -> Self {
        Self::build(config, OnceLock::new(), reach)
    }

    fn build(
        config: &Config,
        client_documents: OnceLock<Option<ClientDocuments>>,
        webhook_reach: WebhookReach,
    ) -> Self {
        Self(Arc::new(Inner {
            http_client: OnceLock::new(),
            client_documents,
            resumes: OnceLock::new(),
            deliver_function: OnceLock::new(),
            webhook_reach,
            webhook_sender: OnceLock::new(),
            services: config.services.clone(),
            simulator_secrets: config
                .signing_keys
                .signatures(&["voice simulator"])
                .into_iter()
                .map(Secret::new)
                .collect(),
        }))
    }

    /// The HTTP client for external services; `None` if it cannot be created on this system.
    pub fn http_client(&self) -> Option<&HttpClient> {
        let create = || {
            let client = HttpClient::new();
            client.inspect_err(|sentence| tracing::error!(sentence, "no external services")).ok()
        };
        self.0.http_client.get_or_init(create).as_ref()
    }

    /// The client that fetches the metadata documents of OAuth clients; `None` if it cannot be created on this system.
    pub fn client_documents(&self) -> Option<&ClientDocuments> {
        let create = || {
            let documents = ClientDocuments::new();
            documents.inspect_err(|sentence| tracing::error!(sentence, "no client documents")).ok()
        };
        self.0.client_documents.get_or_init(create).as_ref()
    }

    /// Where webhooks may be sent.
    pub fn webhook_reach(&self) -> &WebhookReach {
        &self.0.webhook_reach
    }

    /// The client that sends events to webhook endpoints; `None` if it cannot be created on this system.
    pub fn webhook_sender(&self) -> Option<&WebhookSender> {
        let create = || {
            let sender = WebhookSender::new(&self.0.webhook_reach);
            sender.inspect_err(|sentence| tracing::error!(sentence, "no webhooks")).ok()
        };
        self.0.webhook_sender.get_or_init(create).as_ref()
    }

    /// The bucket of uploaded resumes, if one is configured.
    pub fn resumes(&self) -> Option<&Bucket> {
        let create = || {
            let access = self.0.services.resumes.as_ref()?;
            let (http, credentials) = (self.http_client()?.clone(), access.aws.credentials());
            let (region, endpoint) = (&access.aws.region, access.endpoint.as_deref());
            let bucket = Bucket::new(http, credentials, &access.name, region, endpoint);
            let bucket = bucket.map(|bucket| bucket.waiting_for_scans(access.waits_for_scans));
            bucket.inspect_err(|sentence| tracing::error!(sentence, "no bucket for resumes")).ok()
        };
        self.0.resumes.get_or_init(create).as_ref()
    }

    /// The function that delivers events to webhook endpoints, if one is configured.
    pub fn deliver_function(&self) -> Option<&LambdaFunction> {
        let create = || {
            let access = self.0.services.deliver.as_ref()?;
            let (http, credentials) = (self.http_client()?.clone(), access.aws.credentials());
            let (region, endpoint) = (&access.aws.region, access.endpoint.as_deref());
            let function = LambdaFunction::new(http, credentials, &access.name, region, endpoint);
            function.inspect_err(|sentence| tracing::error!(sentence, "no function that delivers")).ok()
        };
        self.0.deliver_function.get_or_init(create).as_ref()
    }

    /// The countries that an organization may call until an owner chooses others.
    pub fn default_call_countries(&self) -> &[Country] {
        &self.0.services.call_countries
    }

    /// The X adapter for a tenant in this mode.
    pub fn x(&self, mode: Mode) -> XPort<'_> {
        if self.simulates(mode) {
            return XPort::Simulated;
        }
        let Services { x, sealing_keys, addresses, .. } = &self.0.services;
        match (x, sealing_keys, self.http_client()) {
            (Some(access), Some(keys), Some(http)) => {
                let (id, secret) = (access.client_id.clone(), access.client_secret.clone());
                XPort::Real(X::new(http.clone(), addresses, id, secret), keys)
            }
            _ => XPort::Missing,
        }
    }

    /// The `WhatsApp` adapter for a tenant in this mode.
    pub fn whatsapp(&self, mode: Mode) -> WhatsAppPort<'_> {
        if self.simulates(mode) {
            return WhatsAppPort::Simulated;
        }
        let Services { sealing_keys, addresses, .. } = &self.0.services;
        match (sealing_keys, self.http_client()) {
            (Some(keys), Some(http)) => {
                WhatsAppPort::Real(WhatsApp::new(http.clone(), addresses.whatsapp.clone()), keys)
            }
            _ => WhatsAppPort::Missing,
        }
    }

    fn simulates(&self, mode: Mode) -> bool {
        mode == Mode::Test || self.0.services.simulated
    }
}
