//! Passkeys (`WebAuthn`): sign-in without a password, and the page that adds a passkey to a member's account.
//!
//! These are the only pages with a script, because a browser offers passkeys only to scripts. They are a function of their
//! own, so that no other function carries the cryptography.
//!
//! Each page begins a ceremony: it stores a random challenge for five minutes, and the browser answers it once. The crate
//! `webauthn-rs` verifies the answers. Of the libraries without OpenSSL, it is the one that is used and audited most;
//! `webauthn_rp` and `passkey-auth` have fewer dependencies, but one author each, and they depend on older versions of the
//! cryptography that the project uses elsewhere. The challenges come from the service's own source of randomness, and
//! the library reads its clock only for certificates of devices, which the service does not ask for.

mod add;
mod ceremony;
mod messages;
mod passkey;
mod relying_party;
mod script;

use shared::http::{MemberAccess, Route};
use shared::model::MemberRole::Member;

/// The route table.
pub fn pages() -> Vec<Route> {
    let access = MemberAccess::fresh(Member, add::PATH).before_second_factor();
    vec![
        Route::public("GET /dashboard/passkeys.js", script::show),
        Route::page("GET /dashboard/sign-in/passkey", passkey::show),
        Route::page("POST /dashboard/sign-in/passkey", passkey::sign_in),
        Route::member("GET /dashboard/settings/account/passkeys", access, add::show),
        Route::member("POST /dashboard/settings/account/passkeys", access, add::create),
    ]
}
