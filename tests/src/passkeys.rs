//! A device that creates and uses passkeys, as a browser and its authenticator do (`WebAuthn`, sections 5 and 6).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::BASE_URL;
use crate::browser::plain;

/// The user has touched the device.
pub const PRESENT: u8 = 1;
/// The device has verified the user, with a fingerprint for example.
pub const VERIFIED: u8 = 4;
/// The data has a new credential.
const ATTESTED: u8 = 64;

/// A device with one passkey.
#[derive(Clone, Debug)]
pub struct Device {
    key: SigningKey,
    /// The identifier of the passkey.
    pub id: Vec<u8>,
    /// The user handle, which the service has chosen.
    pub handle: Vec<u8>,
    /// The number of signatures so far. Each adds one.
    pub counter: u32,
    /// What the device reports about the user.
    pub flags: u8,
    /// The origin that the browser reports.
    pub origin: String,
    /// The relying party that the device signs for.
    pub relying_party: String,
    /// Whether the device lists the passkey at sign-in.
    pub is_discoverable: bool,
}

impl Device {
    /// A device that has no passkey yet. Devices with the same seed have the same key.
    pub fn new(seed: u8) -> Self {
        Self {
            key: SigningKey::from_slice(&[seed; 32]).expect("a key"),
            id: vec![seed; 32],
            handle: Vec::new(),
            counter: 0,
            flags: PRESENT | VERIFIED,
            origin: BASE_URL.to_owned(),
            relying_party: BASE_URL.trim_start_matches("https://").to_owned(),
            is_discoverable: true,
        }
    }

    /// A device that claims to have this passkey, but has another key.
    #[must_use]
    pub fn forged(&self, seed: u8) -> Self {
        Self { key: Self::new(seed).key, ..self.clone() }
    }

    /// Creates the passkey that a page asks for. Returns what the browser sends.
    pub fn create(&mut self, page: &str) -> String {
        let options = &options(page);
        self.handle = decoded(&options["user"]["id"]);
        let point = self.key.verifying_key().to_sec1_point(false);
        let (x, y) = (point.x().expect("a point"), point.y().expect("a point"));
        // The key type is an elliptic curve, the algorithm ES256 and the curve P-256 (RFC 9053).
        let key =
            [&[0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32], &x[..], &[0x22, 0x58, 32], &y[..]].concat();
        let length = u16::try_from(self.id.len()).expect("a short identifier").to_be_bytes();
        let attested = [&[0; 16], &length[..], &self.id, &key].concat();
        let data = self.authenticator_data(ATTESTED, &attested);
        let length = u16::try_from(data.len()).expect("short data").to_be_bytes();
        let object = [b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59", &length[..], &data].concat();
        let answer = json!({
            "id": URL_SAFE_NO_PAD.encode(&self.id),
            "rawId": URL_SAFE_NO_PAD.encode(&self.id),
            "type": "public-key",
            "response": {
                "attestationObject": URL_SAFE_NO_PAD.encode(object),
                "clientDataJSON": URL_SAFE_NO_PAD.encode(self.client_data("webauthn.create", options)),
            },
            "extensions": { "credProps": { "rk": self.is_discoverable } },
        });
        answer.to_string()
    }

    /// Signs the challenge of a page. Returns what the browser sends.
    pub fn sign(&mut self, page: &str) -> Value {
        let client_data = self.client_data("webauthn.get", &options(page));
        self.counter += 1;
        let data = self.authenticator_data(0, &[]);
        let signed = [&data[..], &Sha256::digest(&client_data)].concat();
        let signature: Signature = self.key.sign(&signed);
        json!({
            "id": URL_SAFE_NO_PAD.encode(&self.id),
            "rawId": URL_SAFE_NO_PAD.encode(&self.id),
            "type": "public-key",
            "response": {
                "authenticatorData": URL_SAFE_NO_PAD.encode(data),
                "clientDataJSON": URL_SAFE_NO_PAD.encode(client_data),
                "signature": URL_SAFE_NO_PAD.encode(signature.to_der()),
                "userHandle": URL_SAFE_NO_PAD.encode(&self.handle),
            },
        })
    }

    fn authenticator_data(&self, flags: u8, attested: &[u8]) -> Vec<u8> {
        let party = Sha256::digest(&self.relying_party);
        [&party[..], &[self.flags | flags], &self.counter.to_be_bytes(), attested].concat()
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        let data = json!({
            "type": kind,
            "challenge": options["challenge"],
            "origin": self.origin,
            "crossOrigin": false,
        });
        data.to_string().into_bytes()
    }
}

/// The options that a page has for the browser.
pub fn options(page: &str) -> Value {
    let text = page.split("data-options=\"").nth(1).and_then(|rest| rest.split('"').next());
    let text = plain(text.unwrap_or_else(|| panic!("no options: {page}")));
    serde_json::from_str(&text).expect("options in JSON")
}

/// The bytes of a value in base64url.
pub fn decoded(value: &Value) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(value.as_str().expect("a text")).expect("base64url")
}
