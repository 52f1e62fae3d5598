//! A form that arrived without the sign-in that it needs. The page that asks for the sign-in has it as a hidden field, and
//! sends it on afterwards, so that nothing that a member typed is lost.
//!
//! The field is signed. Only a form with the token of a member's form is kept, and it is carried out only for this member,
//! after a fresh sign-in. Nothing is stored.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::form_token::{FIELD, FormOwner};
use super::{Parameters, return_to};
use crate::clock::Timestamp;
use crate::mac_keys::MacKeys;

/// The field with a kept form.
pub(super) const KEPT: &str = "kept";
/// The purpose of the signature.
const PURPOSE: &str = "kept form";
/// The time for which a kept form is carried out: as long as receipts are stored, so that it has an effect only once.
const LIFE: SignedDuration = SignedDuration::from_hours(24);
/// The fields that nobody has typed.
const UNTYPED: [&str; 7] = [FIELD, "key", "seen", "from", "preview", "return_to", KEPT];
/// The fields that no page repeats: passwords, access tokens, and what is valid for one page only.
const SECRETS: [&str; 8] =
    ["password", "repeated", "current", "token", "code", "secret", "ceremony", "credential"];

/// A form that waits for a sign-in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct KeptForm {
    /// The path and the query that the form was sent to.
    pub(super) path: String,
    /// The member who filled it in, as [`FormOwner::text`].
    owner: String,
    kept_at: Timestamp,
    /// What was sent, without secrets.
    fields: Vec<(String, String)>,
    /// Whether a file or a secret was sent, too. The member has to enter it again.
    pub(super) lacks_part: bool,
}

impl KeptForm {
    /// Keeps a form. `None` if nothing was typed that a page may repeat, or if no page of the dashboard has the path.
    pub(super) fn of(
        path: String,
        owner: FormOwner,
        fields: &Parameters,
        has_file: bool,
        now: Timestamp,
    ) -> Option<Self> {
        let lacks_part = has_file || has_secret(fields);
        let fields: Vec<_> = fields
            .iter()
            .filter(|(name, _)| !is_secret(name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let is_typed =
            |(name, value): &(String, String)| !UNTYPED.contains(&name.as_str()) && !value.is_empty();
        let is_kept = return_to(&path) == path && fields.iter().any(is_typed);
        is_kept.then(|| Self { path, owner: owner.text(), kept_at: now, fields, lacks_part })
    }

    /// The value of the hidden field: the form as JSON in base64url, and a signature.
    pub(super) fn text(&self, keys: &MacKeys) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        let form = URL_SAFE_NO_PAD.encode(json);
        let signature = keys.sign(&[PURPOSE, &form]);
        format!("{form}.{signature}")
    }

    /// Parses the value of the hidden field. `None` if this service has not made it.
    pub(super) fn parse(text: &str, keys: &MacKeys) -> Option<Self> {
        let (form, signature) = text.split_once('.')?;
        if !keys.verify_signature(&[PURPOSE, form], signature) {
            return None;
        }
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(form).ok()?).ok()
    }

    /// The member who filled in the form.
    pub(super) fn owner(&self) -> Option<FormOwner> {
        FormOwner::parse(&self.owner)
    }

    /// The fields as they were sent.
    pub(super) fn fields(&self) -> Parameters {
        self.fields.iter().cloned().collect()
    }

    /// Whether the form has waited too long to be carried out.
    pub(super) fn is_late(&self, now: Timestamp) -> bool {
        now.duration_since(self.kept_at) >= LIFE
    }

    /// What was typed, as [`typed`].
    pub(super) fn typed(&self) -> Vec<(String, String)> {
        typed(&self.fields())
    }
}

/// A form that was not carried out, as the error page shows it.
pub(super) struct SentForm {
    /// The path and the query that it was sent to.
    pub(super) path: String,
    pub(super) fields: Vec<(String, String)>,
    /// What the member has typed.
    pub(super) typed: Vec<(String, String)>,
    /// Whether the form had a file or a secret, so that the page cannot send it again.
    pub(super) lacks_part: bool,
}

impl SentForm {
    /// The same form, only to copy from.
    pub(super) fn only_to_copy(self) -> Self {
        Self { lacks_part: true, ..self }
    }
}

/// Whether a form has a secret.
pub(super) fn has_secret(fields: &Parameters) -> bool {
    fields.iter().any(|(name, value)| is_secret(name) && !value.is_empty())
}

/// Whether no page repeats the value of the field with this name.
fn is_secret(name: &str) -> bool {
    SECRETS.contains(&name)
}

/// What a member has typed or chosen in a form, with the names of the fields as words, for a page that shows it.
pub(super) fn typed(fields: &Parameters) -> Vec<(String, String)> {
    let is_shown =
        |name: &str, value: &str| !UNTYPED.contains(&name) && !is_secret(name) && !value.trim().is_empty();
    let shown = fields.iter().filter(|(name, value)| is_shown(name, value));
    shown.map(|(name, value)| (in_words(name), value.to_owned())).collect()
}

/// `salary_min` as `Salary min`.
fn in_words(name: &str) -> String {
    let words = name.replace(['_', '.'], " ");
    let mut letters = words.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;
    use crate::model::{Mode, Tenant};

    const NOTE: &str = "/dashboard/candidates/7/notes?list=a";

    fn keep(path: &str, fields: &[(&str, &str)], has_file: bool) -> Option<KeptForm> {
        let tenant = Tenant { organization: Id::new(17).unwrap(), mode: Mode::Live };
        let owner = FormOwner { tenant, member: Id::new(4_711).unwrap() };
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        KeptForm::of(path.to_owned(), owner, &fields, has_file, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_kept_form_has_everything_but_secrets_and_cannot_be_changed() {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let fields = [("csrf", "t"), ("key", "k"), ("text", "Grüße\r\n\u{1}\"<b>"), ("password", "secret")];
        let kept = keep(NOTE, &fields, false).unwrap();
        assert!(kept.lacks_part);
        let text = kept.text(&keys);
        let read = KeptForm::parse(&text, &keys).unwrap();
        let names: Vec<_> = read.fields.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, read.path.as_str()), (vec!["csrf", "key", "text"], NOTE));
        assert_eq!(read.typed(), [("Text".to_owned(), fields[2].1.to_owned())]);
        for changed in ["", ".", &text[1..], &format!("{text}A"), &text.replace('.', "A.")] {
            assert!(KeptForm::parse(changed, &keys).is_none());
        }
        let hour = |hours: i64| Timestamp::from_second(hours * 3_600).unwrap();
        assert!(!kept.is_late(hour(23)) && kept.is_late(hour(24)));
    }

    #[test]
    fn only_what_a_page_may_repeat_is_kept() {
        let text = [("text", "a")];
        assert!(keep(NOTE, &text, false).is_some_and(|kept| !kept.lacks_part));
        assert!(keep(NOTE, &text, true).is_some_and(|kept| kept.lacks_part));
        for path in ["/dashboard/%2e%2e/oauth/token", "https://evil.example", "/api/v1/roles"] {
            assert!(keep(path, &text, false).is_none(), "{path}");
        }
        for nothing in [&[("csrf", "t"), ("key", "k")][..], &[("password", "p")], &[("text", "")], &[]] {
            assert!(keep(NOTE, nothing, false).is_none(), "{nothing:?}");
        }
        assert_eq!(in_words("consent.obtained_at"), "Consent obtained at");
    }
}
