//! Outside services: X, WhatsApp, the voice provider, and the simulators that stand in for them.
//!
//! A port has two adapters, the real one and the simulator; which of them a tenant gets is decided here, once. A test
//! tenant gets simulators, whatever is configured.

pub mod client;
pub mod client_document;
mod public_address;
pub mod resumes;
#[cfg(test)]
mod stand_in;
pub mod vapi;
pub mod voice;
pub mod voice_simulator;
pub mod whatsapp;
pub mod x;
pub mod x_simulator;

use std::sync::{Arc, OnceLock};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::config::{Config, Services};
use crate::model::{Mode, VoiceProvider};
use crate::sealed::SealingKeys;
use crate::secret::Secret;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;

use client::Outside;
use client_document::ClientDocuments;
use resumes::Bucket;
use vapi::Vapi;
use whatsapp::WhatsApp;
use x::X;

/// The outside services that a function may use.
#[derive(Clone)]
pub struct Providers(Arc<Inner>);

struct Inner {
    /// Made when it is first needed, as the next: most functions never do.
    outside: OnceLock<Option<Outside>>,
    documents: OnceLock<Option<ClientDocuments>>,
    resumes: OnceLock<Option<Bucket>>,
    services: Services,
    simulator_secret: Secret,
}

/// X, as a tenant gets it.
pub enum XPort<'p> {
    /// X itself, by the tenant's account, whose tokens are sealed with these keys.
    Real(X, &'p SealingKeys),
    /// The simulator.
    Simulated,
    /// Nothing: the service has no app on X.
    Missing,
}

/// `WhatsApp`, as a tenant gets it.
pub enum WhatsAppPort<'p> {
    /// `WhatsApp` itself, by the tenant's number, whose token is sealed with these keys.
    Real(WhatsApp, &'p SealingKeys),
    /// The simulator.
    Simulated,
    /// Nothing: there are no keys to keep a token with.
    Missing,
}

impl Providers {
    /// The services of this configuration.
    pub fn new(config: &Config) -> Self {
        Self::with_documents(config, OnceLock::new())
    }

    /// The same, with the documents of OAuth clients from elsewhere: for tests only.
    pub fn given_documents(config: &Config, documents: ClientDocuments) -> Self {
        Self::with_documents(config, OnceLock::from(Some(documents)))
    }

    fn with_documents(config: &Config, documents: OnceLock<Option<ClientDocuments>>) -> Self {
        Self(Arc::new(Inner {
            outside: OnceLock::new(),
            documents,
            resumes: OnceLock::new(),
            services: config.services.clone(),
            simulator_secret: Secret::new(
                URL_SAFE_NO_PAD.encode(config.signing_key.mac(&["voice simulator"])),
            ),
        }))
    }

    /// The client for what has no adapter; `None` where the system does not allow for one.
    pub fn outside(&self) -> Option<&Outside> {
        let make =
            || Outside::new().inspect_err(|sentence| tracing::error!(sentence, "no outside services")).ok();
        self.0.outside.get_or_init(make).as_ref()
    }

    /// The documents of OAuth clients; `None` where the system does not allow for fetching.
    pub fn client_documents(&self) -> Option<&ClientDocuments> {
        let make = || {
            let made = ClientDocuments::new();
            made.inspect_err(|sentence| tracing::error!(sentence, "no client documents")).ok()
        };
        self.0.documents.get_or_init(make).as_ref()
    }

    /// The bucket that keeps uploaded résumés, where there is one.
    pub fn resumes(&self) -> Option<&Bucket> {
        let make = || {
            let access = self.0.services.resumes.as_ref()?;
            let credentials = Credentials::new(
                access.access_key_id.clone(),
                access.secret_access_key.expose(),
                access.session_token.as_ref().map(|token| token.expose().to_owned()),
                None,
                "environment",
            );
            let (name, region, endpoint) = (&access.name, &access.region, access.endpoint.as_deref());
            let credentials = SharedCredentialsProvider::new(credentials);
            let made = Bucket::new(self.outside()?.clone(), credentials, name, region, endpoint);
            made.inspect_err(|sentence| tracing::error!(sentence, "no bucket for résumés")).ok()
        };
        self.0.resumes.get_or_init(make).as_ref()
    }

    /// Who makes the calls of a tenant in this mode; `None` where nobody is configured.
    pub fn voice_provider(&self, mode: Mode) -> Option<VoiceProvider> {
        match mode {
            _ if self.simulates(mode) => Some(VoiceProvider::Simulator),
            _ if self.0.services.vapi.is_some() => Some(VoiceProvider::Vapi),
            _ => None,
        }
    }

    /// Vapi, where it is configured.
    pub fn vapi(&self) -> Option<Vapi> {
        let access = self.0.services.vapi.as_ref()?;
        Some(Vapi::new(
            self.outside()?.clone(),
            &self.0.services.addresses.vapi,
            access.api_key.clone(),
            access.phone_number_id.clone(),
            access.credential_id.clone(),
        ))
    }

    /// What a voice provider signs its callbacks with.
    pub fn webhook_secret(&self, provider: VoiceProvider) -> Option<&Secret> {
        match provider {
            VoiceProvider::Simulator => Some(&self.0.simulator_secret),
            VoiceProvider::Vapi => self.0.services.vapi.as_ref().map(|access| &access.webhook_secret),
        }
    }

    /// Where a voice provider reports to.
    pub fn callback_url(&self, provider: VoiceProvider, base_url: &str) -> String {
        let base_url = self.0.services.callback_url.as_deref().unwrap_or(base_url);
        format!("{base_url}/webhooks/voice/{}", provider.as_str())
    }

    /// X for a tenant in this mode.
    pub fn x(&self, mode: Mode) -> XPort<'_> {
        if self.simulates(mode) {
            return XPort::Simulated;
        }
        let Services { x, sealing_keys, addresses, .. } = &self.0.services;
        match (x, sealing_keys, self.outside()) {
            (Some(access), Some(keys), Some(outside)) => {
                let (id, secret) = (access.client_id.clone(), access.client_secret.clone());
                XPort::Real(X::new(outside.clone(), addresses, id, secret), keys)
            }
            _ => XPort::Missing,
        }
    }

    /// `WhatsApp` for a tenant in this mode.
    pub fn whatsapp(&self, mode: Mode) -> WhatsAppPort<'_> {
        if self.simulates(mode) {
            return WhatsAppPort::Simulated;
        }
        let Services { sealing_keys, addresses, .. } = &self.0.services;
        match (sealing_keys, self.outside()) {
            (Some(keys), Some(outside)) => {
                WhatsAppPort::Real(WhatsApp::new(outside.clone(), addresses.whatsapp.clone()), keys)
            }
            _ => WhatsAppPort::Missing,
        }
    }

    fn simulates(&self, mode: Mode) -> bool {
        mode == Mode::Test || self.0.services.simulated
    }
}
