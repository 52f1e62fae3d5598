//! The limits on wrong passwords and codes.

/// The maximum number of wrong passwords for an account, or from a browser that is known for the account, within
/// [`WINDOW`](shared::services::sign_in_limits::WINDOW).
pub(crate) const ACCOUNT_LIMIT: u64 = 10;
/// The maximum number of wrong codes of a member within [`WINDOW`](shared::services::sign_in_limits::WINDOW).
pub(crate) const CODE_LIMIT: u64 = 5;

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
