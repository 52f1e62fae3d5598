//! Signatures of callbacks: the hexadecimal HMAC-SHA256 of the timestamp, a dot and the body.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use crate::clock::Timestamp;
use crate::secret::Secret;

/// The maximum difference between a callback's timestamp and our clock.
const TOLERANCE_MILLIS: u64 = 5 * 60 * 1_000;
/// Timestamps from this value on are in milliseconds. In seconds, they would be after the year 5000.
const FIRST_MILLIS: u64 = 100_000_000_000;

/// Returns the signature of a body that is sent at `timestamp_seconds`.
pub fn sign(secret: &Secret, timestamp_seconds: i64, body: &[u8]) -> String {
    mac(secret, &timestamp_seconds.to_string(), body).unwrap_or_default()
}

/// Whether `signature` is valid for this body and timestamp, and the timestamp is at most five minutes away from `now`.
/// The timestamp is in seconds or milliseconds.
pub(super) fn verify(secret: &Secret, signature: &str, timestamp: &str, body: &[u8], now: Timestamp) -> bool {
    let Ok(sent) = timestamp.parse::<i64>() else { return false };
    let sent_millis = if sent.unsigned_abs() < FIRST_MILLIS { sent * 1_000 } else { sent };
    let fresh = sent_millis.abs_diff(now.as_millisecond()) <= TOLERANCE_MILLIS;
    let signature = signature.to_ascii_lowercase();
    let genuine = mac(secret, timestamp, body)
        .is_some_and(|expected| expected.as_bytes().ct_eq(signature.as_bytes()).into());
    fresh && genuine
}

fn mac(secret: &Secret, timestamp: &str, body: &[u8]) -> Option<String> {
    let hmac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).ok()?;
    let hmac = hmac.chain_update(timestamp).chain_update(".").chain_update(body);
    let bytes = hmac.finalize().into_bytes();
    Some(bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: i64 = 1_700_000_000;
    const BODY: &[u8] = br#"{"message":{}}"#;

    fn secret() -> Secret {
        Secret::new("a secret of ours")
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn signature_is_hmac_sha256_over_timestamp_and_body() {
        let signature = sign(&secret(), NOW, BODY);
        assert_eq!(signature, "91f99a4568008f18133da03df379f3aefe82545b4a0837f85ed1f8003fb41564");
        let verified = |secret: &str, signature: &str, timestamp: &str, body: &[u8]| {
            verify(&Secret::new(secret), signature, timestamp, body, at(NOW))
        };
        let ours = "a secret of ours";
        assert!(verified(ours, &signature, "1700000000", BODY));
        assert!(verified(ours, &signature.to_uppercase(), "1700000000", BODY));
        assert!(!verified("another secret", &signature, "1700000000", BODY));
        assert!(!verified(ours, &signature, "1700000001", BODY));
        assert!(!verified(ours, &signature, "01700000000", BODY));
        assert!(!verified(ours, &signature, "1700000000", br#"{"message": {}}"#));
        for junk in ["", "0", "zz", &signature[1..], &format!("{signature}0"), &format!(" {signature}"), "é"]
        {
            assert!(!verified(ours, junk, "1700000000", BODY), "{junk}");
        }
        for junk in ["", "now", "1700000000.0", " 1700000000", "9999999999999999999", "-9223372036854775808"]
        {
            let signature = mac(&secret(), junk, BODY).unwrap();
            assert!(!verified(ours, &signature, junk, BODY), "{junk}");
        }
    }

    #[test]
    fn signature_is_valid_for_five_minutes_before_and_after_its_timestamp() {
        for (age_millis, valid) in [
            (0, true),
            (299_000, true),
            (300_000, true),
            (300_001, false),
            (301_000, false),
            (-299_000, true),
            (-300_000, true),
            (-301_000, false),
            (86_400_000, false),
        ] {
            let now = Timestamp::from_millisecond(NOW * 1_000 + age_millis).unwrap();
            for timestamp in [NOW, NOW * 1_000] {
                let signature = sign(&secret(), timestamp, BODY);
                let verified = verify(&secret(), &signature, &timestamp.to_string(), BODY, now);
                assert_eq!(verified, valid, "{age_millis}");
            }
        }
    }

    proptest! {
        #[test]
        fn verify_never_panics(bytes: Vec<u8>, text: String, now: i32) {
            verify(&secret(), &text, &text, &bytes, at(i64::from(now)));
        }

        #[test]
        fn signed_body_is_verified_within_five_minutes(
            body: Vec<u8>,
            key: String,
            age in -600..600_i64,
            more: u8,
        ) {
            let key = Secret::new(key);
            let signature = sign(&key, NOW, &body);
            let verified = verify(&key, &signature, &NOW.to_string(), &body, at(NOW + age));
            prop_assert_eq!(verified, age.abs() <= 300);
            let mut changed = body;
            changed.push(more);
            prop_assert!(!verify(&key, &signature, &NOW.to_string(), &changed, at(NOW)));
        }
    }
}
