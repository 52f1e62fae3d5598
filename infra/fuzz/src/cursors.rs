//! Cursors: one is valid only for the list that it was issued for.

use std::sync::LazyLock;

use shared::http::cursor::{open, seal};
use shared::mac_keys::MacKeys;

use crate::input::{edited, first_line, text};

/// The maximum length of a cursor.
const MAX: usize = 1_024;

static KEYS: LazyLock<MacKeys> = LazyLock::new(|| rolecall_local::demo::signing_keys().expect("keys"));

/// The first line is a list, the second one a position. The rest is a cursor, and also changes to the cursor of this
/// position.
pub fn cursors(input: &[u8]) {
    let (list, rest) = first_line(input);
    let (position, rest) = first_line(rest);
    let (list, position, given) = (text(list), text(position), text(rest));

    let sealed = seal(&KEYS, &list, &position);
    let opened = open(&KEYS, &list, &sealed);
    assert_eq!(opened.as_deref(), (sealed.len() <= MAX).then_some(position.as_str()));
    assert_eq!(open(&KEYS, &format!("{list} "), &sealed), None);
    if let Some(position) = open(&KEYS, &list, &given) {
        assert_eq!(seal(&KEYS, &list, &position), given);
    }
    if let Some(changed) = edited(&sealed, rest) {
        assert_eq!(open(&KEYS, &list, &changed).is_some(), changed == sealed && sealed.len() <= MAX);
    }
}
