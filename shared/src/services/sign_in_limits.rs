//! Whose wrong passwords and codes are counted, and how an operator allows further attempts.

use jiff::SignedDuration;

use crate::auth::hash;
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::Member;
use crate::store::{Store, StoreError};

/// The period in which wrong passwords and codes are counted.
pub const WINDOW: SignedDuration = SignedDuration::from_mins(15);

/// Sign-ins with an e-mail address, which is folded, to an organization. Those without an organization are counted by
/// themselves: if they counted for the account that they reach, the limit would reveal its organization.
pub fn sign_in(organization: Option<Id>, address: &str) -> String {
    let address = hash(address);
    match organization {
        Some(organization) => format!("sign-in to {address} at {organization}"),
        None => format!("sign-in to {address}"),
    }
}

/// Confirmations of a signed-in member with the password.
pub fn password(organization: Id, member: Id) -> String {
    format!("password of {organization} {member}")
}

/// Codes of a member's second factor.
pub fn second_factor(organization: Id, member: Id) -> String {
    format!("second factor of {organization} {member}")
}

/// Forgets a member's wrong passwords and codes. Those in browsers that are known for the member stay counted, because
/// their names are not stored.
pub async fn unlock(
    store: &Store,
    organization: Id,
    member: &Member,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (id, address) = (member.id, member.email.normalized());
    let sign_ins = [Some(organization), None].map(|organization| sign_in(organization, &address));
    for subject in sign_ins.into_iter().chain([password(organization, id), second_factor(organization, id)]) {
        store.forget_attempts(&subject, WINDOW, now).await?;
    }
    Ok(())
}
