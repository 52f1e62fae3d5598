//! Passwords: the rules for new passwords, and their hashes.

// Not the crate zxcvbn: it would add 37 crates, among them regex, which functions must not link.

use std::collections::HashSet;
use std::fmt;
use std::hint::black_box;
use std::sync::LazyLock;

use argon2::password_hash::{self, phc};
use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use super::Email;
use crate::secret::Secret;

const MIN: usize = 12;
const MAX: usize = 128;
/// The maximum size of a hashed input, in bytes. It limits the work that a request can cause.
const MAX_BYTES: usize = 1_024;
/// The minimum length of the name that a password must not contain. Shorter names occur in too many good passwords.
const MIN_NAME: usize = 4;
const ROWS: [&str; 3] = ["0123456789", "abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm"];

/// The most common passwords, one a line, without trailing digits and signs. Its first lines name the source.
const COMMON_PASSWORDS: &str = include_str!("common_passwords.txt");

const LANES: u32 = 1;
const OUTPUT_BYTES: usize = 32;

/// A valid new password: 12 to 128 characters in Unicode's composed form (NFC).
#[derive(Clone, Debug)]
pub struct Password(Secret);

impl Password {
    /// Validates a new password for the member with this e-mail address. The error contains no part of the password.
    pub fn parse(typed: &str, email: &Email) -> Result<Self, String> {
        let text = composed(typed).filter(|text| text.chars().count() <= MAX);
        let text = text.ok_or_else(|| format!("must be at most {MAX} characters"))?;
        if text.chars().count() < MIN {
            return Err(format!("must be at least {MIN} characters"));
        }
        let lower = text.to_lowercase();
        if is_sequence(&lower) || is_repetition(&lower) {
            return Err("must not be a simple sequence or a repeated pattern".to_owned());
        }
        if is_common(&lower) {
            return Err("must not be a common password or consist of two common words".to_owned());
        }
        if contains_name(&lower, email) {
            return Err("must not contain the name in your e-mail address".to_owned());
        }
        Ok(Self(Secret::new(text)))
    }
}

/// Normalizes the text, because keyboards compose characters differently. Returns `None` for more than 1,024 bytes.
fn composed(typed: &str) -> Option<String> {
    (typed.len() <= MAX_BYTES).then(|| typed.nfc().collect())
}

/// Whether the characters are consecutive in the digits, the alphabet or the letters of a keyboard. The sequence may
/// run backwards and may wrap around.
fn is_sequence(lower: &str) -> bool {
    let reversed: String = lower.chars().rev().collect();
    let cyclic = |row: &str| row.repeat(MAX);
    ROWS.into_iter().map(cyclic).any(|row| row.contains(lower) || row.contains(&reversed))
}

/// Whether the text only repeats its first one to four characters.
fn is_repetition(lower: &str) -> bool {
    (1..=4).any(|step| lower.chars().zip(lower.chars().skip(step)).all(|(one, next)| one == next))
}

/// Whether the text is a common password or two of them, also with digits and signs after each.
fn is_common(lower: &str) -> bool {
    static COMMON: LazyLock<HashSet<&str>> =
        LazyLock::new(|| COMMON_PASSWORDS.lines().filter(|line| !line.starts_with('#')).collect());
    let stripped = |text: &'_ str| COMMON.contains(text.trim_end_matches(|c: char| !c.is_alphabetic()));
    stripped(lower) || lower.char_indices().any(|(at, _)| stripped(&lower[..at]) && stripped(&lower[at..]))
}

fn contains_name(lower: &str, email: &Email) -> bool {
    let name = email.as_str().rsplit_once('@').map_or("", |(name, _)| name);
    let name = name.nfc().collect::<String>().to_lowercase();
    name.chars().count() >= MIN_NAME && lower.contains(&name)
}

/// The cost of hashing a password with Argon2id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PasswordCost {
    memory_kib: u32,
    passes: u32,
}

impl PasswordCost {
    /// The cost of new hashes.
    pub const CURRENT: Self = Self { memory_kib: 19_456, passes: 2 };
    /// The lowest cost, for simulations only.
    pub const LOWEST: Self = Self { memory_kib: 8, passes: 1 };

    fn argon2(self) -> password_hash::Result<Argon2<'static>> {
        let params = Params::new(self.memory_kib, self.passes, LANES, Some(OUTPUT_BYTES))?;
        Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
    }
}

/// Tests count these events, because a sign-in must hash exactly one password, whatever it finds.
fn count_hash() {
    tracing::trace!("a password is hashed");
}

/// The hash of a password in the PHC string format: argon2id, parameters, salt and output.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PasswordHash(String);

impl PasswordHash {
    /// Hashes a password. At the current cost, this takes about 20 ms and 19 MiB.
    pub fn of(password: &Password, salt: [u8; 16], cost: PasswordCost) -> Result<Self, String> {
        count_hash();
        let typed = password.0.expose().as_bytes();
        let hash = cost.argon2().and_then(|argon2| argon2.hash_password_with_salt(typed, &salt));
        hash.map(|hash| Self(hash.to_string()))
            .map_err(|error| format!("the password cannot be hashed: {error}"))
    }

    /// Whether this is the password. The check takes as much work as hashing. An input over 1,024 bytes is rejected
    /// without hashing.
    pub fn verify(&self, typed: &str) -> bool {
        composed(typed).is_some_and(|typed| {
            count_hash();
            // This uses the parameters of the stored hash, not the current ones.
            Argon2::default().verify_password(typed.as_bytes(), self.0.as_str()).is_ok()
        })
    }

    /// Hashes the input, which takes the same time as `verify`, and returns false. It is used for unknown members, so that
    /// the response time does not reveal whether a member exists.
    pub fn verify_dummy(typed: &str, cost: PasswordCost) -> bool {
        let hash = |typed: String| {
            count_hash();
            cost.argon2()?.hash_password_with_salt(typed.as_bytes(), &[0; 16])
        };
        // `black_box` keeps the compiler from removing the work because its result is unused.
        black_box(composed(typed).map(hash).is_some_and(|hash| hash.is_ok()));
        false
    }

    /// Whether the hash was made at another cost. The next sign-in should replace it.
    pub fn needs_rehash(&self, cost: PasswordCost) -> bool {
        let (Ok(hash), Ok(argon2)) = (phc::PasswordHash::new(&self.0), cost.argon2()) else { return true };
        hash.algorithm != Algorithm::Argon2id.ident()
            || hash.version != Some(Version::V0x13.into())
            || Params::try_from(&hash).as_ref() != Ok(argon2.params())
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::de::IntoDeserializer;
    use serde::de::value::StrDeserializer;

    const GOOD: &str = "crab-apple jam 7";
    const CURRENT: PasswordCost = PasswordCost::CURRENT;

    fn parse(typed: &str) -> Result<Password, String> {
        Password::parse(typed, &"Jane.Doe@example.com".parse().unwrap())
    }

    fn hash(typed: &str, salt: u8) -> PasswordHash {
        PasswordHash::of(&parse(typed).unwrap(), [salt; 16], CURRENT).unwrap()
    }

    #[test]
    fn short_simple_or_personal_passwords_are_rejected() {
        let long = |count: usize| "日本語🦀".chars().cycle().take(count - 1).chain(['x']).collect::<String>();
        for good in [
            GOOD,
            "correct horse",
            "monkey sunshine princess",
            "sunshine of Zürich",
            "            x",
            "1234567890ab",
            "JaneDoe loves jam",
            &long(12),
            &long(128),
        ] {
            assert!(parse(good).is_ok(), "{good}");
        }
        for (bad, why) in [
            ("", "at least 12"),
            ("elevenchars", "at least 12"),
            ("e\u{301}levenchar\u{302}", "at least 12"),
            (&long(129), "at most 128"),
            (&"\u{301}".repeat(600), "at most 128"),
            ("aaaaaaaaaaaa", "sequence"),
            ("aAaAaAaAaAaA", "sequence"),
            ("            ", "sequence"),
            ("🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀", "sequence"),
            ("abc!abc!abc!", "sequence"),
            ("123456789012", "sequence"),
            ("210987654321", "sequence"),
            ("ABCDEFGHIJKL", "sequence"),
            ("zyxwvutsrqponm", "sequence"),
            ("qwertyuiopas", "sequence"),
            (&"7890123456".repeat(6), "sequence"),
            (&"zyxwvutsrqponmlkjihgfedcba".repeat(4), "sequence"),
            ("Password1234!", "common"),
            ("QWERTYqwerty2026", "common"),
            ("passwordpassword", "common"),
            ("monkey-Sunshine!!", "common"),
            ("Summer2025winter2026", "common"),
            ("1qaz2wsx3edc4rfv", "common"),
            ("my jane.doe password", "e-mail"),
            ("JANE.DOE 2026!", "e-mail"),
        ] {
            let wrong = parse(bad).unwrap_err();
            assert!(wrong.contains(why), "{bad}: {wrong}");
        }
        for (email, typed, good) in [
            ("joe@example.com", "joe's password", true),
            ("joel@example.com", "joel's password", false),
            ("Jo\u{eb}l@example.com", "JOE\u{308}L's password", false),
        ] {
            assert_eq!(Password::parse(typed, &email.parse().unwrap()).is_ok(), good, "{email}");
        }
    }

    #[test]
    fn the_list_of_common_passwords_is_small_sorted_and_without_endings() {
        assert!(COMMON_PASSWORDS.len() < 200_000);
        let words: Vec<_> = COMMON_PASSWORDS.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(words.len() > 20_000 && words.is_sorted());
        for word in words {
            assert!(word.len() >= 3 && word == word.to_lowercase(), "{word}");
            assert!(word.ends_with(|c: char| c.is_ascii_lowercase()), "{word}");
        }
    }

    #[test]
    fn a_hash_is_argon2id_with_the_stated_parameters_and_verifies_its_password() {
        let stored = hash(GOOD, 1);
        let output = stored.0.strip_prefix("$argon2id$v=19$m=19456,t=2,p=1$AQEBAQEBAQEBAQEBAQEBAQ$").unwrap();
        assert_eq!(output.len(), 43, "32 bytes in base64");
        assert!(stored.verify(GOOD) && !stored.needs_rehash(CURRENT));
        for wrong in ["", "crab-apple jam 8", "Crab-apple jam 7", "crab-apple jam 7 ", "crab-apple jam", "\0"]
        {
            assert!(!stored.verify(wrong), "{wrong:?}");
        }
        assert!(hash(GOOD, 2) != stored && hash(GOOD, 1) == stored);
        let text: StrDeserializer<'_, serde::de::value::Error> = stored.0.as_str().into_deserializer();
        let stored = PasswordHash::deserialize(text).unwrap();
        assert!(stored.verify(GOOD));
    }

    #[test]
    fn composed_and_decomposed_characters_are_equal() {
        let stored = hash("Zürich größer é", 1);
        assert!(stored.verify("Zu\u{308}rich gro\u{308}ßer e\u{301}"));
        assert!(!stored.verify("Zurich großer e"));
    }

    #[test]
    fn too_long_inputs_are_rejected() {
        let long = "x".repeat(1_025);
        let argon2 = CURRENT.argon2().unwrap();
        let stored =
            PasswordHash(argon2.hash_password_with_salt(long.as_bytes(), &[1; 16]).unwrap().to_string());
        assert!(!stored.verify(&long));
        let stored = PasswordHash(
            argon2.hash_password_with_salt(&long.as_bytes()[1..], &[1; 16]).unwrap().to_string(),
        );
        assert!(stored.verify(&long[1..]));
    }

    #[test]
    fn a_hash_with_other_parameters_is_verified_and_needs_a_rehash() {
        let made = |algorithm, version, memory, passes, lanes, output| {
            let params = Params::new(memory, passes, lanes, Some(output)).unwrap();
            let hash =
                Argon2::new(algorithm, version, params).hash_password_with_salt(GOOD.as_bytes(), &[1; 16]);
            PasswordHash(hash.unwrap().to_string())
        };
        let (id, v19) = (Algorithm::Argon2id, Version::V0x13);
        assert_eq!(made(id, v19, 19_456, 2, 1, 32), hash(GOOD, 1));
        for other in [
            made(id, v19, 8_192, 2, 1, 32),
            made(id, v19, 19_456, 1, 1, 32),
            made(id, v19, 19_456, 2, 2, 32),
            made(id, v19, 19_456, 2, 1, 16),
            made(Algorithm::Argon2i, v19, 19_456, 2, 1, 32),
            made(id, Version::V0x10, 19_456, 2, 1, 32),
        ] {
            assert!(other.needs_rehash(CURRENT) && other.verify(GOOD) && !other.verify("x"), "{}", other.0);
        }
    }

    #[test]
    fn the_dummy_verification_accepts_no_password() {
        for typed in [GOOD, "", "nobody"] {
            assert!(!PasswordHash::verify_dummy(typed, CURRENT));
        }
    }

    #[test]
    fn a_hash_at_another_cost_is_valid_and_needs_a_rehash() {
        let lowest = PasswordCost::LOWEST;
        let cheap = PasswordHash::of(&parse(GOOD).unwrap(), [1; 16], lowest).unwrap();
        assert!(cheap.verify(GOOD) && !cheap.verify("another password"));
        assert!(cheap.needs_rehash(CURRENT) && !cheap.needs_rehash(lowest));
        assert!(!PasswordHash::verify_dummy(GOOD, lowest));
    }

    #[test]
    fn debug_output_shows_no_secret() {
        let shown = format!("{:?} {:?}", parse(GOOD).unwrap(), hash(GOOD, 1));
        assert_eq!(shown, "Password(***) ***");
    }

    proptest! {
        #[test]
        fn error_messages_contain_no_part_of_the_password(typed in "(?s).{0,140}", name in "[a-z]{1,8}") {
            let email = format!("{name}@example.com").parse().unwrap();
            match Password::parse(&typed, &email) {
                Ok(password) => {
                    let count = password.0.expose().chars().count();
                    prop_assert!((12..=128).contains(&count));
                    prop_assert!(Password::parse(password.0.expose(), &email).is_ok());
                }
                Err(wrong) => prop_assert!(wrong.is_ascii() && wrong.starts_with("must ")),
            }
        }

        #[test]
        fn verifying_any_stored_text_never_panics(stored in "(?s).{0,40}|\\$argon2id\\$[$a-zA-Z0-9=,]{0,40}") {
            let stored = PasswordHash(stored);
            prop_assert!(!stored.verify(GOOD) && stored.needs_rehash(CURRENT));
        }
    }
}
