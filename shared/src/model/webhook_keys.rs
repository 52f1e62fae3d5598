//! The keys of a webhook endpoint, and the signatures of its requests (Standard Webhooks 1.0.0).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use ring::signature::{Ed25519KeyPair, KeyPair};
use sha2::Sha256;

use crate::clock::Timestamp;
use crate::random::Random;
use crate::secret::Secret;

/// The prefixes of a shared secret, of a private key and of a public key.
const SECRET: &str = "whsec_";
const PRIVATE_KEY: &str = "whsk_";
const PUBLIC_KEY: &str = "whpk_";

/// A shared secret, and the seed of an ed25519 key pair.
#[derive(Clone)]
pub struct WebhookKeys {
    secret: [u8; 32],
    seed: [u8; 32],
}

impl WebhookKeys {
    /// New random keys.
    pub fn generate(random: &Random) -> Self {
        Self { secret: random.bytes(), seed: random.bytes() }
    }

    /// The shared secret, as receivers configure it: `whsec_` and base64.
    pub fn secret(&self) -> String {
        format!("{SECRET}{}", STANDARD.encode(self.secret))
    }

    /// The public key, as receivers configure it: `whpk_` and base64.
    pub fn public_key(&self) -> String {
        format!("{PUBLIC_KEY}{}", STANDARD.encode(self.pair().public_key()))
    }

    /// Both private parts as text, to be encrypted.
    pub fn reveal(&self) -> Secret {
        Secret::new(format!("{} {PRIVATE_KEY}{}", self.secret(), STANDARD.encode(self.seed)))
    }

    /// Reads what [`Self::reveal`] returned; `None` if it is something else.
    pub fn read(revealed: &Secret) -> Option<Self> {
        let (secret, seed) = revealed.expose().split_once(' ')?;
        let bytes = |text: &str, prefix| {
            let bytes = STANDARD.decode(text.strip_prefix(prefix)?).ok()?;
            <[u8; 32]>::try_from(bytes).ok()
        };
        Some(Self { secret: bytes(secret, SECRET)?, seed: bytes(seed, PRIVATE_KEY)? })
    }

    #[expect(clippy::expect_used, reason = "every seed of 32 bytes is accepted")]
    fn pair(&self) -> Ed25519KeyPair {
        Ed25519KeyPair::from_seed_unchecked(&self.seed).expect("a seed of 32 bytes")
    }

    fn hmac(&self, content: &[u8]) -> String {
        let mut code = [0; 32];
        // HMAC accepts a key of any length.
        if let Ok(mut hmac) = Hmac::<Sha256>::new_from_slice(&self.secret) {
            hmac.update(content);
            code.copy_from_slice(&hmac.finalize().into_bytes());
        }
        format!("v1,{}", STANDARD.encode(code))
    }

    fn signature(&self, content: &[u8]) -> String {
        format!("v1a,{}", STANDARD.encode(self.pair().sign(content)))
    }
}

/// The headers of a request, except `content-type`: its id, its time and its signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookHeaders {
    /// The value of `webhook-id`.
    pub id: String,
    /// The value of `webhook-timestamp`.
    pub timestamp: String,
    /// The value of `webhook-signature`.
    pub signature: String,
}

impl WebhookHeaders {
    /// Signs `body` with each of `keys`, the newest first. With `hmac`, the signature that both sides can make comes before
    /// the one that only this service can make.
    pub fn sign(keys: &[WebhookKeys], hmac: bool, id: &str, at: Timestamp, body: &str) -> Self {
        let timestamp = at.as_second().to_string();
        let content = format!("{id}.{timestamp}.{body}");
        let content = content.as_bytes();
        let signatures = keys.iter().flat_map(|keys| {
            let shared = hmac.then(|| keys.hmac(content));
            shared.into_iter().chain([keys.signature(content)])
        });
        Self { id: id.to_owned(), timestamp, signature: signatures.collect::<Vec<_>>().join(" ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{ED25519, UnparsedPublicKey};
    use standardwebhooks::Webhook;

    const BODY: &str = r#"{"id":1,"seq":7,"type":"role.published","data":{}}"#;

    fn keys(seed: u64) -> WebhookKeys {
        WebhookKeys::generate(&Random::seeded(seed))
    }

    /// The library reads the system's clock, so the requests of these tests are sent now.
    fn now() -> Timestamp {
        crate::clock::Clock::system().now()
    }

    fn headers(headers: &WebhookHeaders) -> http::HeaderMap {
        let mut map = http::HeaderMap::new();
        map.insert("webhook-id", headers.id.parse().unwrap());
        map.insert("webhook-timestamp", headers.timestamp.parse().unwrap());
        map.insert("webhook-signature", headers.signature.parse().unwrap());
        map
    }

    /// Whether the published library accepts a request.
    fn accepts(keys: &WebhookKeys, sent: &WebhookHeaders, body: &str) -> bool {
        Webhook::new(&keys.secret()).unwrap().verify(body.as_bytes(), &headers(sent)).is_ok()
    }

    /// Whether one of the `v1a` signatures is valid for a public key.
    fn is_signed(public_key: &str, sent: &WebhookHeaders, body: &str) -> bool {
        let key = STANDARD.decode(public_key.strip_prefix("whpk_").unwrap()).unwrap();
        let content = format!("{}.{}.{body}", sent.id, sent.timestamp);
        let mut signatures = sent.signature.split(' ').filter_map(|text| text.strip_prefix("v1a,"));
        signatures.any(|signature| {
            let signature = STANDARD.decode(signature).unwrap();
            UnparsedPublicKey::new(&ED25519, &key).verify(content.as_bytes(), &signature).is_ok()
        })
    }

    #[test]
    fn the_published_library_accepts_a_request_and_rejects_a_changed_or_late_one() {
        let keys = keys(1);
        let sent = WebhookHeaders::sign(std::slice::from_ref(&keys), true, "17", now(), BODY);
        assert!(accepts(&keys, &sent, BODY));
        assert!(!accepts(&keys, &sent, &BODY.replace('7', "8")));
        assert!(!accepts(&keys, &WebhookHeaders { id: "18".to_owned(), ..sent.clone() }, BODY));
        let earlier = now().as_second() - 1;
        assert!(!accepts(&keys, &WebhookHeaders { timestamp: earlier.to_string(), ..sent }, BODY));
        let late = Timestamp::from_second(now().as_second() - 301).unwrap();
        let late = WebhookHeaders::sign(std::slice::from_ref(&keys), true, "17", late, BODY);
        assert!(!accepts(&keys, &late, BODY), "replayed after five minutes");
    }

    #[test]
    fn the_public_key_verifies_the_asymmetric_signature() {
        let keys = keys(1);
        let sent = WebhookHeaders::sign(std::slice::from_ref(&keys), false, "17", now(), BODY);
        assert!(sent.signature.starts_with("v1a,") && !sent.signature.contains(' '));
        assert!(is_signed(&keys.public_key(), &sent, BODY));
        assert!(!is_signed(&keys.public_key(), &sent, &BODY.replace('7', "8")));
        assert!(!is_signed(&self::keys(2).public_key(), &sent, BODY));
    }

    #[test]
    fn both_keys_sign_newest_first_during_a_rotation_and_only_the_new_one_afterwards() {
        let (new, old) = (keys(2), keys(1));
        let sent = WebhookHeaders::sign(&[new.clone(), old.clone()], true, "17", now(), BODY);
        let versions: Vec<_> =
            sent.signature.split(' ').map(|signature| signature.split_once(',').unwrap().0).collect();
        assert_eq!(versions, ["v1", "v1a", "v1", "v1a"]);
        for keys in [&new, &old] {
            assert!(accepts(keys, &sent, BODY) && is_signed(&keys.public_key(), &sent, BODY));
        }
        let alone = WebhookHeaders::sign(std::slice::from_ref(&new), true, "17", now(), BODY);
        assert!(sent.signature.starts_with(&alone.signature));
        assert!(!accepts(&old, &alone, BODY) && !is_signed(&old.public_key(), &alone, BODY));
    }

    #[test]
    fn the_signatures_of_the_standards_example_are_the_same() {
        // From the reference implementation's tests.
        let mut keys = keys(1);
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let content = br#"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}"#;
        let mut hmac = Hmac::<Sha256>::new_from_slice(&secret).unwrap();
        hmac.update(content);
        let expected = "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(STANDARD.encode(hmac.finalize().into_bytes()), expected);
        // RFC 8032, section 7.1, test 1: an empty message.
        let hex = |text: &str| -> Vec<u8> {
            let pairs = text.as_bytes().chunks(2);
            pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
        };
        let seed = hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
        keys.seed = seed.try_into().unwrap();
        let public = hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
        assert_eq!(keys.public_key(), format!("whpk_{}", STANDARD.encode(public)));
    }

    #[test]
    fn revealed_keys_are_read_again() {
        let keys = keys(1);
        let read = WebhookKeys::read(&keys.reveal()).unwrap();
        assert_eq!((read.secret(), read.public_key()), (keys.secret(), keys.public_key()));
        assert_eq!(keys.secret().len(), "whsec_".len() + 44);
        for broken in ["", " ", "whsec_ whsk_", &keys.secret(), "whsec_AAAA whsk_AAAA", "x y"] {
            assert!(WebhookKeys::read(&Secret::new(broken)).is_none(), "{broken}");
        }
    }
}
