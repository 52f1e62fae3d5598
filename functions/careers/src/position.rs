//! Positions in the list of openings. The query parameter `before` contains one.

use shared::http::Parameters;

/// The length of a position in digits: the milliseconds of a time, and an identifier.
const LENGTH: usize = 31;

/// Reads the position at which a page of the list begins; `None` if it is missing or malformed.
pub(crate) fn read(parameters: &Parameters) -> Option<String> {
    let before = parameters.get("before");
    (before.len() == LENGTH && before.bytes().all(|byte| byte.is_ascii_digit())).then(|| before.to_owned())
}

/// Returns the position of the first page: every opening sorts before it.
pub(crate) fn first() -> String {
    "9".repeat(LENGTH)
}
