//! The token that every form carries as `csrf`, so that no other site can send a form.
//!
//! It begins with a MAC of the browser's cookie. The token of a signed-in member's form also says whose form it is, so
//! that a form is still known after its session: such a form is never carried out before its member has signed in again.

use crate::id::Id;
use crate::mac_keys::MacKeys;
use crate::model::Tenant;

/// The form field with the token.
pub(super) const FIELD: &str = "csrf";
/// The purpose of the MAC of the cookie.
const BROWSER: &str = "form";
/// The purpose of the MAC that says whose form it is.
const OWNER: &str = "owner of a form";

/// The member who filled in a form, and the data that the dashboard showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FormOwner {
    pub(super) tenant: Tenant,
    pub(super) member: Id,
}

impl FormOwner {
    /// The owner as text: `17.live.4711`.
    pub(super) fn text(self) -> String {
        let Self { tenant, member } = self;
        format!("{}.{}.{member}", tenant.organization, tenant.mode.as_str())
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let (organization, mode, member) = (parts.next()?, parts.next()?, parts.next()?);
        let tenant = Tenant { organization: organization.parse().ok()?, mode: mode.parse().ok()? };
        let owner = Self { tenant, member: member.parse().ok()? };
        (owner.text() == text).then_some(owner)
    }
}

/// The token of the forms of a browser with this cookie, in which `owner` is signed in.
pub(super) fn token(keys: &MacKeys, cookie: &str, owner: Option<FormOwner>) -> String {
    let browser = keys.sign(&[BROWSER, cookie]);
    let Some(owner) = owner.map(FormOwner::text) else { return browser };
    let signature = keys.sign(&[OWNER, &browser, &owner]);
    format!("{browser}.{owner}.{signature}")
}

/// Whether a token was issued to the browser with this cookie.
pub(super) fn is_of_browser(keys: &MacKeys, cookie: &str, token: &str) -> bool {
    let browser = token.split('.').next().unwrap_or_default();
    keys.verify_signature(&[BROWSER, cookie], browser)
}

/// The member whose form has this token, in whichever browser and session.
pub(super) fn owner(keys: &MacKeys, token: &str) -> Option<FormOwner> {
    let (browser, rest) = token.split_once('.')?;
    let (owner, signature) = rest.rsplit_once('.')?;
    let is_genuine = keys.verify_signature(&[OWNER, browser, owner], signature);
    FormOwner::parse(owner).filter(|_| is_genuine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Mode;

    #[test]
    fn a_token_names_its_member_and_is_valid_in_one_browser() {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let tenant = Tenant { organization: Id::new(17).unwrap(), mode: Mode::Test };
        let ada = FormOwner { tenant, member: Id::new(4_711).unwrap() };
        let own = token(&keys, "cookie", Some(ada));
        assert!(own.contains(".17.test.4711."), "{own}");
        assert!(is_of_browser(&keys, "cookie", &own) && !is_of_browser(&keys, "other", &own));
        assert_eq!(owner(&keys, &own), Some(ada));
        let anonymous = token(&keys, "cookie", None);
        assert!(is_of_browser(&keys, "cookie", &anonymous));
        assert_eq!(owner(&keys, &anonymous), None);
        let (_, rest) = own.split_once('.').unwrap();
        let other = token(&keys, "other", None);
        for forged in [
            own.replace("4711", "4712"),
            own.replace("test", "live"),
            own.replace(".17.", ".017."),
            // The owner of one token does not fit another one.
            format!("{other}.{rest}"),
            format!("{own}A"),
            format!("{anonymous}.17.test.4711."),
            "...".to_owned(),
            String::new(),
        ] {
            assert_eq!(owner(&keys, &forged), None, "{forged}");
        }
    }
}
