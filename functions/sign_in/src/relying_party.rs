//! The service as a relying party of `WebAuthn`: what it asks of browsers, and how it verifies their answers.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use shared::http::{Error, PageRequest};
use shared::id::Id;
use shared::model::{Member, NamedOrganization, Passkey, Passkeys};
use shared::random::Random;
use shared::store::StoreError;
use webauthn_rs::prelude as webauthn;
use webauthn_rs::prelude::{
    DiscoverableAuthentication, DiscoverableKey, PasskeyRegistration, PublicKeyCredential,
    RegisterPublicKeyCredential, Url, Uuid, WebauthnBuilder,
};

use crate::messages::Failure;

/// The maximum size of a stored credential, in bytes. Those of devices have about 800.
const MAX_CREDENTIAL: usize = 4 * 1024;

const NO_DOMAIN: &str = "Passkeys need the service's own domain name. Open the service at that name, or sign in with your \
                         password";

/// The service at one domain name.
pub(crate) struct RelyingParty(webauthn::Webauthn);

/// A challenge, for the browser and for the table.
pub(crate) struct Challenge {
    /// The options for the browser, as JSON.
    pub(crate) options: String,
    /// What verifies the answer, as JSON.
    pub(crate) state: String,
}

/// The answer of a browser with a passkey, and whom it claims to be from. Nothing of it is verified.
pub(crate) struct Claim {
    credential: PublicKeyCredential,
    /// The organization.
    pub(crate) organization: Id,
    /// The member.
    pub(crate) member: Id,
}

impl RelyingParty {
    /// The service that the browser visits. Fails if it has no domain name.
    pub(crate) fn of(request: &PageRequest) -> Result<Self, Error> {
        let origin = request.passkey_origin().ok_or_else(|| Error::BadRequest(NO_DOMAIN.to_owned()))?;
        Ok(Self::at(&origin).map_err(|error| broken(&error))?)
    }

    fn at(origin: &Url) -> Result<Self, webauthn::WebauthnError> {
        let id = origin.domain().unwrap_or_default();
        WebauthnBuilder::new(id, origin)?.rp_name("Rolecall").build().map(Self)
    }

    /// The challenge to create a passkey. Devices that already have one of the member's passkeys do not create another.
    pub(crate) fn creation(
        &self,
        organization: &NamedOrganization,
        member: &Member,
        random: &Random,
    ) -> Result<Challenge, Error> {
        let known = member.passkeys.iter().filter_map(|passkey| Some(read(passkey)?.cred_id().clone()));
        let handle = handle(organization.organization.id, member.id);
        // A person may have a passkey in several organizations, and devices show only this when they offer them.
        let account = format!("{} ({})", member.email.as_str(), organization.name.as_str());
        let begun =
            self.0.start_passkey_registration(handle, &account, member.name.as_str(), Some(known.collect()));
        let (options, state) = begun.map_err(|error| broken(&error))?;
        let (mut options, mut state) = (value(&options.public_key)?, value(&state)?);
        // The library only asks for what the device prefers. A passkey that the device does not list is of no use here.
        options["authenticatorSelection"]["residentKey"] = json!("required");
        options["authenticatorSelection"]["requireResidentKey"] = json!(true);
        set_challenge(&mut options, &mut state["rs"], random);
        Ok(Challenge { options: options.to_string(), state: state.to_string() })
    }

    /// Verifies the answer to the challenge to create a passkey. Returns the credential.
    pub(crate) fn created(&self, state: &str, answer: &str) -> Result<String, Failure> {
        let state: PasskeyRegistration = serde_json::from_str(state).map_err(|_| Failure::Expired)?;
        let answer: RegisterPublicKeyCredential =
            serde_json::from_str(answer).map_err(|_| Failure::NotCreated)?;
        if answer.extensions.cred_props.as_ref().is_some_and(|properties| properties.rk == Some(false)) {
            return Err(Failure::NotDiscoverable);
        }
        let passkey = self.0.finish_passkey_registration(&answer, &state);
        let passkey = passkey.map_err(|error| {
            tracing::info!(%error, "a passkey was not created");
            Failure::NotCreated
        })?;
        let credential = serde_json::to_string(&passkey).map_err(|_| Failure::NotCreated)?;
        Some(credential).filter(|text| text.len() <= MAX_CREDENTIAL).ok_or(Failure::NotCreated)
    }

    /// The challenge to sign in with any passkey of this service.
    pub(crate) fn request(&self, random: &Random) -> Result<Challenge, Error> {
        let (options, state) = self.0.start_discoverable_authentication().map_err(|error| broken(&error))?;
        let (mut options, mut state) = (value(&options.public_key)?, value(&state)?);
        set_challenge(&mut options, &mut state["ast"], random);
        Ok(Challenge { options: options.to_string(), state: state.to_string() })
    }

    /// Verifies the answer to the challenge to sign in. Returns the passkey of the member that was used, with its new
    /// counter.
    pub(crate) fn used(&self, state: &str, claim: &Claim, passkeys: &Passkeys) -> Option<Passkey> {
        let state: DiscoverableAuthentication = serde_json::from_str(state).ok()?;
        let known = passkeys.iter().filter_map(|passkey| Some((passkey, read(passkey)?)));
        let (passkey, mut credential) =
            known.into_iter().find(|(_, known)| known.cred_id() == &claim.credential.raw_id)?;
        let key = DiscoverableKey::from(&credential);
        let result = self.0.finish_discoverable_authentication_v2(&claim.credential, state, &key);
        let result = result.inspect_err(|error| tracing::info!(%error, "a passkey was not accepted")).ok()?;
        credential.update_credential(&result)?;
        Some(Passkey { credential: serde_json::to_string(&credential).ok()?, ..passkey.clone() })
    }
}

impl Claim {
    /// Parses the answer of a browser.
    pub(crate) fn parse(answer: &str) -> Option<Self> {
        let credential: PublicKeyCredential = serde_json::from_str(answer).ok()?;
        let handle = Uuid::from_slice(credential.response.user_handle.as_deref()?).ok()?;
        let (organization, member) = handle.as_u64_pair();
        Some(Self { credential, organization: Id::new(organization)?, member: Id::new(member)? })
    }
}

/// The 16 bytes that a passkey has of its member: two identifiers, which name nobody outside the service.
fn handle(organization: Id, member: Id) -> Uuid {
    Uuid::from_u64_pair(organization.get(), member.get())
}

/// The library's form of a stored passkey.
fn read(passkey: &Passkey) -> Option<webauthn::Passkey> {
    serde_json::from_str(&passkey.credential).ok()
}

fn value(part: &impl serde::Serialize) -> Result<Value, Error> {
    Ok(serde_json::to_value(part)
        .map_err(|error| StoreError::Internal(format!("a challenge cannot be written: {error}")))?)
}

/// Replaces the library's challenge by one from the service's own source of randomness.
fn set_challenge(options: &mut Value, state: &mut Value, random: &Random) {
    let challenge = json!(URL_SAFE_NO_PAD.encode(random.bytes::<32>()));
    options["challenge"] = challenge.clone();
    state["challenge"] = challenge;
}

fn broken(error: &webauthn::WebauthnError) -> StoreError {
    StoreError::Internal(format!("passkeys: {error}"))
}
