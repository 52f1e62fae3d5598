//! Passwords: what a good one is, and the one form that is kept of it.

use std::fmt;
use std::hint::black_box;

use argon2::password_hash::{self, phc};
use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use super::Email;
use crate::secret::Secret;

const MIN: usize = 12;
const MAX: usize = 128;
/// The most bytes that are hashed, so that nobody can make us hash a book.
const MAX_BYTES: usize = 1_024;
/// A shorter name is in too many good passwords.
const MIN_NAME: usize = 4;
const ROWS: [&str; 3] = ["0123456789", "abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm"];

/// Today's work.
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const OUTPUT_BYTES: usize = 32;
/// A hash of today's work, of no password that anybody knows.
const NOBODYS: &str = "$argon2id$v=19$m=19456,t=2,p=1$6/wKr/wiYxGYrwzdFJcRfw\
                       $dSecVOBGFe6Lgnrt4I8sqX5cd0xY5gF+AHxFlMLZQL0";

/// A password that a member may choose: 12 to 128 characters in Unicode's composed form (NFC).
#[derive(Clone, Debug)]
pub struct Password(Secret);

impl Password {
    /// Reads what the member with this address typed; says in a sentence what is wrong with it, and shows none of it.
    pub fn parse(typed: &str, email: &Email) -> Result<Self, String> {
        let text = composed(typed).unwrap_or_default();
        let count = text.chars().count();
        if typed.len() > MAX_BYTES || count > MAX {
            return Err(format!("must be at most {MAX} characters"));
        }
        if count < MIN {
            return Err(format!("must be at least {MIN} characters"));
        }
        let lower = text.to_lowercase();
        if is_row(&lower) || repeats(&lower) {
            return Err("must not be a row of keys, or the same few characters again and again".to_owned());
        }
        if has_name(&lower, email) {
            return Err("must not contain the name in your e-mail address".to_owned());
        }
        Ok(Self(Secret::new(text)))
    }
}

/// The form in which what is typed on any keyboard is the same; `None` where it is over 1,024 bytes.
fn composed(typed: &str) -> Option<String> {
    (typed.len() <= MAX_BYTES).then(|| typed.nfc().collect())
}

/// Neighbours in the alphabet, among the digits or on a keyboard, in either direction and round the end.
fn is_row(lower: &str) -> bool {
    let back: String = lower.chars().rev().collect();
    let round = |row: &str| row.repeat(lower.len() / row.len() + 2);
    ROWS.into_iter().map(round).any(|row| row.contains(lower) || row.contains(&back))
}

/// One to four characters, again and again.
fn repeats(lower: &str) -> bool {
    (1..=4).any(|step| lower.chars().zip(lower.chars().skip(step)).all(|(one, next)| one == next))
}

fn has_name(lower: &str, email: &Email) -> bool {
    let name = email.as_str().rsplit_once('@').map_or("", |(name, _)| name);
    let name = name.nfc().collect::<String>().to_lowercase();
    name.chars().count() >= MIN_NAME && lower.contains(&name)
}

/// Today's algorithm with today's work.
fn todays() -> password_hash::Result<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, Some(OUTPUT_BYTES))?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// What is kept of a password: argon2id, its parameters, salt and output, in the PHC string form.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PasswordHash(String);

impl PasswordHash {
    /// The hash by today's parameters: some 20 ms of work in 19 MiB. No password fails.
    pub fn of(password: &Password, salt: [u8; 16]) -> Result<Self, String> {
        let typed = password.0.expose().as_bytes();
        let hash = todays().and_then(|argon2| argon2.hash_password_with_salt(typed, &salt));
        hash.map(|hash| Self(hash.to_string())).map_err(|error| format!("no password hash: {error}"))
    }

    /// Whether this password was typed; as much work as the hashing was. Nothing over 1,024 bytes is hashed.
    pub fn verify(&self, typed: &str) -> bool {
        composed(typed).is_some_and(|typed| {
            // The work is the hash's own, not today's.
            Argon2::default().verify_password(typed.as_bytes(), self.0.as_str()).is_ok()
        })
    }

    /// The work of `verify` where there is no such member, so that the time does not tell; always false.
    pub fn verify_nobody(typed: &str) -> bool {
        // Work whose result is not used would be optimized away.
        black_box(Self(NOBODYS.to_owned()).verify(typed));
        false
    }

    /// Whether it was made by other parameters than today's: the next sign-in can make it anew.
    pub fn needs_rehash(&self) -> bool {
        let (Ok(hash), Ok(argon2)) = (phc::PasswordHash::new(&self.0), todays()) else { return true };
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

    fn parse(typed: &str) -> Result<Password, String> {
        Password::parse(typed, &"Jane.Doe@example.com".parse().unwrap())
    }

    fn hash(typed: &str, salt: u8) -> PasswordHash {
        PasswordHash::of(&parse(typed).unwrap(), [salt; 16]).unwrap()
    }

    #[test]
    fn a_good_password_is_long_and_neither_a_row_nor_a_name() {
        let long = |count: usize| "日本語🦀".chars().cycle().take(count - 1).chain(['x']).collect::<String>();
        for good in [
            GOOD,
            "correct horse",
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
            ("aaaaaaaaaaaa", "row"),
            ("aAaAaAaAaAaA", "row"),
            ("            ", "row"),
            ("🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀", "row"),
            ("abc!abc!abc!", "row"),
            ("123456789012", "row"),
            ("210987654321", "row"),
            ("ABCDEFGHIJKL", "row"),
            ("zyxwvutsrqponm", "row"),
            ("qwertyuiopas", "row"),
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
    fn a_hash_is_argon2id_with_the_stated_work_and_knows_its_password() {
        let kept = hash(GOOD, 1);
        let output = kept.0.strip_prefix("$argon2id$v=19$m=19456,t=2,p=1$AQEBAQEBAQEBAQEBAQEBAQ$").unwrap();
        assert_eq!(output.len(), 43, "32 bytes in base64");
        assert!(kept.verify(GOOD) && !kept.needs_rehash());
        for wrong in ["", "crab-apple jam 8", "Crab-apple jam 7", "crab-apple jam 7 ", "crab-apple jam", "\0"]
        {
            assert!(!kept.verify(wrong), "{wrong:?}");
        }
        assert!(hash(GOOD, 2) != kept && hash(GOOD, 1) == kept);
        let text: StrDeserializer<'_, serde::de::value::Error> = kept.0.as_str().into_deserializer();
        let stored = PasswordHash::deserialize(text).unwrap();
        assert!(stored.verify(GOOD));
    }

    #[test]
    fn two_keyboards_type_the_same_password() {
        let kept = hash("Zürich größer é", 1);
        assert!(kept.verify("Zu\u{308}rich gro\u{308}ßer e\u{301}"));
        assert!(!kept.verify("Zurich großer e"));
    }

    #[test]
    fn nothing_too_long_is_hashed() {
        let long = "x".repeat(1_025);
        let argon2 = todays().unwrap();
        let kept =
            PasswordHash(argon2.hash_password_with_salt(long.as_bytes(), &[1; 16]).unwrap().to_string());
        assert!(!kept.verify(&long));
        let kept = PasswordHash(
            argon2.hash_password_with_salt(&long.as_bytes()[1..], &[1; 16]).unwrap().to_string(),
        );
        assert!(kept.verify(&long[1..]));
    }

    #[test]
    fn other_work_than_todays_is_verified_and_made_anew() {
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
            assert!(other.needs_rehash() && other.verify(GOOD) && !other.verify("x"), "{}", other.0);
        }
    }

    #[test]
    fn nobody_has_a_hash_of_todays_work_and_no_password() {
        let nobodys = PasswordHash(NOBODYS.to_owned());
        assert!(!nobodys.needs_rehash());
        for typed in [GOOD, "", "nobody"] {
            assert!(!PasswordHash::verify_nobody(typed) && !nobodys.verify(typed));
        }
    }

    #[test]
    fn nothing_secret_is_shown() {
        let shown = format!("{:?} {:?}", parse(GOOD).unwrap(), hash(GOOD, 1));
        assert_eq!(shown, "Password(***) ***");
    }

    proptest! {
        #[test]
        fn whatever_is_typed_a_refusal_shows_none_of_it(typed in "(?s).{0,140}", name in "[a-z]{1,8}") {
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
        fn whatever_is_stored_nothing_panics(stored in "(?s).{0,40}|\\$argon2id\\$[$a-zA-Z0-9=,]{0,40}") {
            let stored = PasswordHash(stored);
            prop_assert!(!stored.verify(GOOD) && stored.needs_rehash());
        }
    }
}
