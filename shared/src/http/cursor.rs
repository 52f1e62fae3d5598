//! Cursors: where a list goes on, signed so that only we can write one, and only for the list that it came from.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::secret::Secret;

const MAC_LENGTH: usize = 16;
/// The longest cursor that is looked at.
pub(super) const MAX_LENGTH: usize = 1_024;

/// The cursor for `position` in `list`, which names tenant, route and filters.
pub(super) fn seal(key: &Secret, list: &str, position: &str) -> String {
    let mut bytes = mac(key, list, position).to_vec();
    bytes.extend_from_slice(position.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The position, if the cursor is one of ours for this list.
pub(super) fn open(key: &Secret, list: &str, cursor: &str) -> Option<String> {
    if cursor.len() > MAX_LENGTH {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let (signature, position) = bytes.split_at_checked(MAC_LENGTH)?;
    let position = std::str::from_utf8(position).ok()?;
    let genuine: bool = subtle::ConstantTimeEq::ct_eq(signature, mac(key, list, position).as_slice()).into();
    genuine.then(|| position.to_owned())
}

fn mac(key: &Secret, list: &str, position: &str) -> [u8; MAC_LENGTH] {
    let mut mac = [0; MAC_LENGTH];
    mac.copy_from_slice(&key.mac(&["cursor", list, position])[..MAC_LENGTH]);
    mac
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cursor_opens_only_its_own_list(list in "\\PC{0,30}", other in "\\PC{0,30}", position in "\\PC{0,30}") {
            let key = Secret::new("k".repeat(32));
            let cursor = seal(&key, &list, &position);
            prop_assert_eq!(open(&key, &list, &cursor), Some(position));
            prop_assert_eq!(open(&key, &other, &cursor).is_some(), list == other);
            prop_assert_eq!(open(&Secret::new("o".repeat(32)), &list, &cursor), None);
        }

        #[test]
        fn a_changed_cursor_opens_nothing(position in "[0-9]{16}", at in 0usize..42, other in "[A-Za-z0-9_-]") {
            let key = Secret::new("k".repeat(32));
            let cursor = seal(&key, "list", &position);
            let mut changed = cursor.clone();
            changed.replace_range(at..=at, &other);
            prop_assume!(changed != cursor);
            prop_assert_eq!(open(&key, "list", &changed), None);
        }

        #[test]
        fn junk_is_no_cursor(junk in "\\PC{0,60}") {
            prop_assert_eq!(open(&Secret::new("k".repeat(32)), "list", &junk), None);
        }
    }

    #[test]
    fn a_cursor_over_a_kilobyte_is_not_looked_at() {
        let key = Secret::new("k".repeat(32));
        let cursor = seal(&key, "list", &"9".repeat(800));
        assert!(cursor.len() > 1_024);
        assert_eq!(open(&key, "list", &cursor), None);
    }
}
