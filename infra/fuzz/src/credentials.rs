//! Credentials: only what the service issued is a credential, and it says exactly what it was issued with.

use std::sync::LazyLock;

use shared::auth::{Caller, Claims, Credential, Kind};
use shared::id::Id;
use shared::mac_keys::MacKeys;
use shared::model::{Mode, Scopes, Tenant};
use shared::random::Random;

use crate::input::{edited, text};

/// The length of the MAC and the checksum at the end of a credential.
const SEALS: usize = 11 + 6;

static KEYS: LazyLock<MacKeys> = LazyLock::new(|| rolecall_local::demo::credential_keys().expect("keys"));

/// A credential of each kind.
static ISSUED: LazyLock<[Credential; 6]> = LazyLock::new(|| {
    let tenant = Tenant { organization: Id::new(7).expect("an id"), mode: Mode::Test };
    let claims = Claims { scopes: Scopes::all(), expires_at: None, ..Claims::default() };
    Kind::ALL.map(|kind| Credential::generate(kind, tenant, Id::LAST, claims, &KEYS, &Random::seeded(1)))
});

/// The first byte chooses the form of the rest: text, text that the service has signed, or changes to a credential.
pub fn credentials(input: &[u8]) {
    let Some((form, rest)) = input.split_first() else { return };
    match form % 3 {
        0 => read(&text(rest)),
        1 => read(&signed(text(rest))),
        _ => {
            let Some((kind, replacements)) = rest.split_first() else { return };
            let issued = ISSUED[usize::from(*kind) % ISSUED.len()].reveal();
            let Some(changed) = edited(issued, replacements) else { return };
            assert_eq!(Credential::read(&changed, &KEYS).is_ok(), changed == issued, "{changed}");
            read(&changed);
        }
    }
}

/// Appends the MAC and the checksum, as the service does.
fn signed(text: String) -> String {
    let mac = KEYS.mac(&["credential", &text]).expect("a key");
    let mac = u64::from_be_bytes(*mac.first_chunk().expect("eight bytes"));
    let text = text + &base62(mac, 11);
    let checksum = base62(crc32fast::hash(text.as_bytes()).into(), 6);
    text + &checksum
}

fn base62(mut number: u64, length: usize) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut digits = vec![b'0'; length];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[usize::try_from(number % 62).expect("a digit")];
        number /= 62;
    }
    text(&digits)
}

fn read(given: &str) {
    let as_header = Caller::read(Some(given), &KEYS);
    assert!(!matches!(as_header, Caller::Anonymous));
    let result = Credential::read(given, &KEYS);
    let in_header = Caller::read(Some(&format!("bEARER  {given}")), &KEYS);
    let Ok(credential) = result else {
        assert!(matches!(in_header, Caller::Rejected(_)), "{given}");
        return;
    };
    assert_eq!(credential.reveal(), given);
    let opens_api = matches!(credential.kind(), Kind::ApiKey | Kind::AccessToken);
    assert_eq!(matches!(in_header, Caller::Presented(_)), opens_api, "{given}");

    // The same contents give the same text.
    let length = if credential.kind() == Kind::RefreshToken { 54 } else { 27 };
    let end = given.len() - SEALS;
    let secret = &given[end - length..end];
    let (kind, tenant, id, claims) =
        (credential.kind(), credential.tenant(), credential.id(), credential.claims());
    let again = Credential::with_secret(kind, tenant, id, claims, &KEYS, secret);
    assert_eq!(again.reveal(), given);
    assert_eq!((again.hash(), again.ending()), (credential.hash(), credential.ending()));
    assert!(!format!("{credential:?}").contains(secret));

    if kind == Kind::RefreshToken {
        let (access, next) = credential.exchange(claims, &KEYS);
        assert!(Credential::read(access.reveal(), &KEYS).is_ok());
        let next = Credential::read(next.reveal(), &KEYS).expect("a credential");
        assert_eq!(next.family_hash(), credential.family_hash());
        assert_ne!(next.hash(), credential.hash());
    }
}
