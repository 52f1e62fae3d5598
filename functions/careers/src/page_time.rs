//! The time of a page with an application form, signed, in a hidden field of the form.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use shared::clock::Timestamp;
use shared::http::RequestContext;
use shared::id::Id;
use shared::model::Tenant;

/// The field.
pub(crate) const OPENED: &str = "opened";
/// The length of the MAC, in bytes.
const MAC_LENGTH: usize = 16;

/// The value of the field on a page that is shown now.
pub(crate) fn now(context: &RequestContext, tenant: Tenant, posting: Id) -> String {
    let seconds = context.now().as_second().to_string();
    let parts = signed_parts(tenant, posting, &seconds);
    let mac = context.signing_keys().mac(&parts.each_ref().map(String::as_str)).unwrap_or_default();
    format!("{seconds}.{}", URL_SAFE_NO_PAD.encode(&mac[..MAC_LENGTH]))
}

/// The time in the field; `None` unless the page of this posting had this value.
pub(crate) fn read(context: &RequestContext, tenant: Tenant, posting: Id, value: &str) -> Option<Timestamp> {
    let (seconds, signature) = value.split_once('.')?;
    let mac: [u8; MAC_LENGTH] = URL_SAFE_NO_PAD.decode(signature).ok()?.try_into().ok()?;
    let parts = signed_parts(tenant, posting, seconds);
    let is_authentic = context.signing_keys().verify(&parts.each_ref().map(String::as_str), mac);
    let time = Timestamp::from_second(seconds.parse().ok()?).ok()?;
    is_authentic.then_some(time)
}

/// What the MAC covers.
fn signed_parts(tenant: Tenant, posting: Id, seconds: &str) -> [String; 4] {
    ["page time".to_owned(), tenant.to_string(), posting.to_string(), seconds.to_owned()]
}
