//! Cursors: signed positions in a list. Only this service can create them, and each is valid for only one list.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::mac_keys::MacKeys;

const MAC_LENGTH: usize = 16;
/// The minimum length of a cursor: the code in base64 and a position.
pub(super) const MIN_LENGTH: usize = 23;
/// The maximum length of a cursor.
pub(super) const MAX_LENGTH: usize = 1_024;

/// Returns the cursor for `position` in `list`, a string with the tenant, the path and the filters.
pub fn seal(keys: &MacKeys, list: &str, position: &str) -> String {
    let mac = keys.mac(&["cursor", list, position]).unwrap_or_default();
    let mut bytes = mac[..MAC_LENGTH].to_vec();
    bytes.extend_from_slice(position.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns the position if the cursor is valid for this list.
pub fn open(keys: &MacKeys, list: &str, cursor: &str) -> Option<String> {
    if cursor.len() > MAX_LENGTH {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let (mac, position) = bytes.split_first_chunk::<MAC_LENGTH>()?;
    let position = std::str::from_utf8(position).ok()?;
    keys.verify(&["cursor", list, position], *mac).then(|| position.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(key: &str) -> MacKeys {
        MacKeys::parse(&key.repeat(32)).unwrap()
    }

    proptest! {
        #[test]
        fn a_cursor_is_valid_for_only_one_list_and_key(
            list in "\\PC{0,30}", other in "\\PC{0,30}", position in "\\PC{0,30}",
        ) {
            let key = keys("k");
            let cursor = seal(&key, &list, &position);
            prop_assert_eq!(open(&key, &list, &cursor), Some(position));
            prop_assert_eq!(open(&key, &other, &cursor).is_some(), list == other);
            prop_assert_eq!(open(&keys("o"), &list, &cursor), None);
        }

        #[test]
        fn a_changed_cursor_is_invalid(position in "[0-9]{16}", at in 0usize..42, other in "[A-Za-z0-9_-]") {
            let key = keys("k");
            let cursor = seal(&key, "list", &position);
            let mut changed = cursor.clone();
            changed.replace_range(at..=at, &other);
            prop_assume!(changed != cursor);
            prop_assert_eq!(open(&key, "list", &changed), None);
        }

        #[test]
        fn arbitrary_text_is_not_a_cursor(text in "\\PC{0,60}") {
            prop_assert_eq!(open(&keys("k"), "list", &text), None);
        }
    }

    #[test]
    fn a_cursor_of_more_than_1024_characters_is_invalid() {
        let key = keys("k");
        let cursor = seal(&key, "list", &"9".repeat(800));
        assert!(cursor.len() > 1_024);
        assert_eq!(open(&key, "list", &cursor), None);
    }
}
