//! The second factor of a member: codes from an authenticator app (TOTP, RFC 6238), and recovery codes.

use std::fmt;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use totp_rs::{Builder, Totp};

use super::Email;
use crate::clock::Timestamp;
use crate::random::Random;
use crate::token_encryption::EncryptedToken;

/// The name of the service in an authenticator app.
const ISSUER: &str = "Rolecall";
/// The number of bytes of a secret, as RFC 4226 recommends.
const SECRET_BYTES: usize = 20;
/// The number of recovery codes.
const RECOVERY_CODES: usize = 10;
/// The characters of recovery codes: none of them looks like another.
const ALPHABET: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz123456789";
/// The number of characters of a recovery code. It has 80 bits, so a fast hash protects it.
const RECOVERY_LENGTH: usize = 16;

/// The secret that a member's authenticator app shares with the service.
#[derive(Clone)]
pub struct TotpSecret([u8; SECRET_BYTES]);

impl TotpSecret {
    /// Generates a secret.
    pub fn generate(random: &Random) -> Self {
        Self(random.bytes())
    }

    /// Parses a secret in Base32. Returns `None` unless it has exactly 20 bytes.
    pub fn parse(base32: &str) -> Option<Self> {
        let secret = totp_rs::Secret::try_from_base32(base32).ok()?;
        secret.as_bytes().try_into().ok().map(Self)
    }

    /// The secret in Base32, for apps that cannot scan the QR code.
    pub fn base32(&self) -> String {
        totp_rs::Secret::new_stack(self.0).to_base32()
    }

    /// The URI in the QR code, which authenticator apps read.
    pub fn uri(&self, email: &Email, organization: &str) -> String {
        // A QR code has no room for the longest names.
        let organization: String = organization.chars().take(40).collect();
        let account = format!("{} ({organization})", email.as_str());
        let account = utf8_percent_encode(&account, NON_ALPHANUMERIC);
        format!("otpauth://totp/{ISSUER}:{account}?secret={}&issuer={ISSUER}", self.base32())
    }

    /// The time step of a code: the current one, the one before or the one after. Returns `None` for a wrong code.
    pub fn step_of(&self, code: &str, now: Timestamp) -> Option<u64> {
        self.totp().check(code, u64::try_from(now.as_second()).ok()?)
    }

    /// The code at this time.
    pub fn code_at(&self, now: Timestamp) -> String {
        self.totp().generate(u64::try_from(now.as_second()).unwrap_or(0)).to_string()
    }

    /// Six digits every 30 seconds from HMAC-SHA-1, which is what all authenticator apps support.
    fn totp(&self) -> Totp {
        Builder::new().with_secret(totp_rs::Secret::new_stack(self.0)).build_noncompliant()
    }
}

impl fmt::Debug for TotpSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// A member's second factor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondFactor {
    /// The encrypted secret.
    pub secret: EncryptedToken,
    /// The time step of the last accepted code. Only codes of later steps are accepted.
    pub last_step: u64,
    /// The hashes of the recovery codes that were not used.
    pub recovery_codes: Vec<String>,
    /// When the second factor was set up.
    pub added_at: Timestamp,
}

/// A code that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcceptedCode {
    /// A code from the authenticator app.
    Totp(SecondFactor),
    /// A recovery code.
    Recovery(SecondFactor),
}

impl AcceptedCode {
    /// The second factor, in which the code was used up.
    pub const fn second_factor(&self) -> &SecondFactor {
        match self {
            Self::Totp(after) | Self::Recovery(after) => after,
        }
    }
}

impl SecondFactor {
    /// A second factor, whose app has shown a code of this time step. Also returns the recovery codes, which are shown
    /// only once.
    pub fn set_up(secret: EncryptedToken, step: u64, random: &Random, now: Timestamp) -> (Self, Vec<String>) {
        let factor = Self { secret, last_step: step, recovery_codes: Vec::new(), added_at: now };
        factor.with_recovery_codes(random)
    }

    /// Replaces the recovery codes, and returns the new ones.
    pub fn with_recovery_codes(self, random: &Random) -> (Self, Vec<String>) {
        let codes: Vec<_> = (0..RECOVERY_CODES).map(|_| recovery_code(random)).collect();
        let recovery_codes = codes.iter().map(|code| hash(&plain(code))).collect();
        (Self { recovery_codes, ..self }, codes)
    }

    /// Uses up a code from the app or a recovery code, in any letter case and with any spaces and hyphens. Returns
    /// `None` if the code is wrong or was used before.
    pub fn accept(&self, secret: &TotpSecret, typed: &str, now: Timestamp) -> Option<AcceptedCode> {
        let code = plain(typed);
        if let Some(step) = secret.step_of(&code, now) {
            let after = Self { last_step: step, ..self.clone() };
            return (step > self.last_step).then_some(AcceptedCode::Totp(after));
        }
        let used = hash(&code);
        let place = self.recovery_codes.iter().position(|known| *known == used)?;
        let mut after = self.clone();
        after.recovery_codes.remove(place);
        Some(AcceptedCode::Recovery(after))
    }
}

/// A recovery code in groups of four characters.
fn recovery_code(random: &Random) -> String {
    let bytes: [u8; RECOVERY_LENGTH] = random.bytes();
    let characters: Vec<_> =
        bytes.iter().map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()])).collect();
    let groups: Vec<String> = characters.chunks(4).map(|group| group.iter().collect()).collect();
    groups.join("-")
}

/// A code without spaces and hyphens, in lower case.
fn plain(typed: &str) -> String {
    let kept = typed.chars().filter(|c| !c.is_whitespace() && *c != '-').take(RECOVERY_LENGTH + 1);
    kept.flat_map(char::to_lowercase).collect()
}

/// The hash of a recovery code, as hexadecimal digits.
fn hash(code: &str) -> String {
    Sha256::digest(code).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::secret::Secret;
    use crate::token_encryption::EncryptionKeys;
    use proptest::prelude::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// The secret of the test vectors in RFC 6238, appendix B.
    fn secret() -> TotpSecret {
        TotpSecret(*b"12345678901234567890")
    }

    fn factor(last_step: u64) -> (SecondFactor, Vec<String>) {
        let keys = EncryptionKeys::parse(&format!("k:{}", "s".repeat(32))).unwrap();
        let encrypted = keys.encrypt(&Secret::new("x"), "test", [1; 24]).unwrap();
        SecondFactor::set_up(encrypted, last_step, &Random::seeded(1), at(0))
    }

    #[test]
    fn codes_are_those_of_rfc_6238() {
        for (second, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
        ] {
            assert_eq!(secret().code_at(at(second)), code);
            assert_eq!(secret().step_of(code, at(second)), u64::try_from(second / 30).ok());
        }
    }

    #[test]
    fn a_code_is_valid_for_one_step_before_and_after_and_only_once() {
        let now = 1_111_111_111;
        let step = u64::try_from(now / 30).unwrap();
        let code = secret().code_at(at(now));
        for (shift, is_valid) in [(-61, false), (-30, true), (0, true), (30, true), (60, false)] {
            assert_eq!(secret().step_of(&code, at(now + shift)).is_some(), is_valid, "{shift}");
        }
        let (before, _) = factor(step - 5);
        let accepted = before.accept(&secret(), &code, at(now)).unwrap();
        let after = accepted.second_factor();
        assert_eq!((after.last_step, after.recovery_codes.len()), (step, 10));
        assert!(after.accept(&secret(), &code, at(now)).is_none(), "the same code again");
        let earlier = secret().code_at(at(now - 30));
        assert!(after.accept(&secret(), &earlier, at(now)).is_none(), "an earlier code");
        let next = secret().code_at(at(now + 30));
        assert!(after.accept(&secret(), &next, at(now + 30)).is_some());
    }

    #[test]
    fn each_recovery_code_is_accepted_once_in_any_form() {
        let (mut factor, codes) = factor(0);
        assert_eq!(codes.len(), 10);
        let letters: BTreeSet<_> = codes.concat().chars().collect();
        assert!(letters.len() > 28, "almost all 32 letters and digits, and the hyphen: {letters:?}");
        assert!(factor.accept(&secret(), &format!("{}x", codes[0]), at(60)).is_none(), "too long");
        for (number, code) in codes.iter().enumerate() {
            assert_eq!(code.len(), 19, "{code}");
            let typed = match number % 3 {
                0 => code.clone(),
                1 => code.to_uppercase(),
                _ => format!(" {} ", code.replace('-', " ")),
            };
            let accepted = factor.accept(&secret(), &typed, at(60)).unwrap();
            assert!(matches!(accepted, AcceptedCode::Recovery(_)));
            factor = accepted.second_factor().clone();
            assert!(factor.accept(&secret(), &typed, at(60)).is_none(), "used");
        }
        assert!(factor.recovery_codes.is_empty());
        let (_, renewed) = factor.with_recovery_codes(&Random::seeded(2));
        assert!(codes.iter().all(|code| !renewed.contains(code)));
    }

    #[test]
    fn a_secret_is_read_and_written_in_base32() {
        let text = secret().base32();
        assert_eq!(text, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        assert_eq!(TotpSecret::parse(&text).unwrap().0, secret().0);
        for invalid in ["", "GEZDGNBV", "1", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBV", "🦀"] {
            assert!(TotpSecret::parse(invalid).is_none(), "{invalid}");
        }
        let uri = |name| secret().uri(&"ada+x@acme.example".parse().unwrap(), name);
        assert_eq!(
            uri("Acme"),
            format!(
                "otpauth://totp/Rolecall:ada%2Bx%40acme%2Eexample%20%28Acme%29?secret={text}&issuer=Rolecall"
            )
        );
        assert_eq!(uri(&"x".repeat(200)).len(), uri("").len() + 40);
        assert_eq!(format!("{:?}", secret()), "***");
    }

    proptest! {
        #[test]
        fn any_typed_code_is_checked_without_panic(typed in "\\PC{0,60}|[0-9 -]{0,9}", second in 0i64..4_000_000_000) {
            let (factor, codes) = factor(u64::MAX);
            let accepted = factor.accept(&secret(), &typed, at(second));
            prop_assert!(accepted.is_none() || codes.iter().any(|code| plain(code) == plain(&typed)));
            let _ = TotpSecret::parse(&typed);
        }
    }
}
