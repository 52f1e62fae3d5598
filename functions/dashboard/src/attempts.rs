//! Wrong passwords and codes: their limits, and their record in the audit log.

use jiff::SignedDuration;
use shared::http::{Error, PageRequest};
use shared::id::Id;
use shared::model::{AuditAction, AuditActor, AuditTarget, AuditTargetKind, Mode, Tenant};

/// The maximum number of wrong passwords for an account, or from a browser that is known for the account, within
/// [`WINDOW`].
pub(crate) const ACCOUNT_LIMIT: u64 = 10;
/// The maximum number of wrong codes of a member within [`WINDOW`].
pub(crate) const CODE_LIMIT: u64 = 5;
/// The period in which wrong passwords and codes are counted.
pub(crate) const WINDOW: SignedDuration = SignedDuration::from_mins(15);

/// Returns the message after too many wrong passwords, with the number of minutes until the next attempt.
pub(crate) fn too_many_passwords(seconds: i64) -> String {
    format!("Too many incorrect passwords. Try again in {}.", minutes(seconds))
}

/// Returns the message after too many wrong codes, with the number of minutes until the next attempt.
pub(crate) fn too_many_codes(seconds: i64) -> String {
    format!("Too many incorrect codes. Try again in {}.", minutes(seconds))
}

fn minutes(seconds: i64) -> String {
    match (seconds + 59) / 60 {
        1 => "1 minute".to_owned(),
        minutes => format!("{minutes} minutes"),
    }
}

/// Records a wrong password or code in the audit log of the member's organization. An unknown address also takes a write, so
/// that the response time does not reveal whether it is known: the entry of an organization that never exists.
pub(crate) async fn record_failure(request: &PageRequest, account: Option<(Id, Id)>) -> Result<(), Error> {
    request.context.identify(AuditActor::unknown());
    let (organization, member) = account.unwrap_or((Id::LAST, Id::LAST));
    let (tenant, target) =
        (Tenant { organization, mode: Mode::Live }, AuditTarget::of(AuditTargetKind::Member, member));
    Ok(request.context.store().record(tenant, AuditAction::SignInFailed, Some(target), None).await?)
}
