//! The second factor: the second step of a sign-in, and its set-up under Settings > Account.

use std::sync::Arc;

use askama::Template;
use jiff::SignedDuration;
use qrcode::{Color, EcLevel, QrCode};
use shared::clock::later;
use shared::http::page::{Problem, Sources, problem_of, style_version, version_of};
use shared::http::{Error, Html, MemberRequest, PageRequest, Reply, RequestContext, SignInPage, return_to};
use shared::id::Id;
use shared::model::{
    AcceptedCode, Member, Mode, NoticeEvent, SecondFactor, SignInMethod, Tenant, TotpSecret,
};
use shared::services::second_factor;
use shared::services::sign_in_limits::{self, WINDOW};
use shared::store::{StoreError, Transaction};
use shared::token_encryption::{DecryptionError, EncryptionKeys};

use crate::attempts::{CODE_LIMIT, too_many_codes};
use crate::dates::{self, Time};
use crate::layout::{Layout, SCRIPT, Section};
use crate::messages::{Alert, Notice};

pub(crate) const PATH: &str = "/dashboard/settings/account/second-factor";
/// The time between the password and the code.
const STEP_LIFE: SignedDuration = SignedDuration::from_mins(5);
/// The width of the white border that scanners need, in modules of the QR code.
const BORDER: usize = 4;

const WRONG: &str = "Incorrect code. Wait for the next code in your app, or use a recovery code.";

#[derive(Template)]
#[template(path = "second_step.html")]
struct SecondStepPage<'p> {
    style_version: &'static str,
    csrf: String,
    /// The proof that this browser has sent the password.
    proof: &'p str,
    return_to: &'p str,
    /// The form that waits for the sign-in; empty if there is none.
    kept: String,
    error: Option<String>,
}

#[derive(Template)]
#[template(path = "second_factor.html")]
struct SecondFactorPage<'p> {
    layout: Layout<'p>,
    /// Whether the organization requires a second factor.
    is_required: bool,
    /// Whether the service offers passkeys at this address.
    offers_passkeys: bool,
    state: State,
    /// Problems with the field `code`.
    problems: Vec<Problem>,
}

enum State {
    /// The member has no second factor yet. The page shows the secret for the app.
    SetUp { secret: String, qr_code: DrawnCode },
    /// The member has a second factor.
    On { since: Time, codes_left: usize },
    /// The recovery codes were just created, and are shown once.
    NewCodes(Vec<String>),
}

/// A QR code as an SVG path.
struct DrawnCode {
    /// The width and the height of the drawing.
    size: usize,
    path: String,
}

impl DrawnCode {
    fn of(text: &str) -> Result<Self, Error> {
        let code = QrCode::with_error_correction_level(text, EcLevel::M)
            .map_err(|error| StoreError::Internal(format!("a QR code cannot be drawn: {error}")))?;
        let width = code.width();
        let dark = code.to_colors().into_iter().enumerate().filter(|(_, color)| *color == Color::Dark);
        let path =
            dark.map(|(place, _)| format!("M{} {}h1v1h-1z", place % width + BORDER, place / width + BORDER));
        Ok(Self { size: width + 2 * BORDER, path: path.collect() })
    }
}

/// The purpose of the signature of a [`PasswordProof`].
const SECOND_STEP: &str = "second step";

/// A sign-in between the password and the code: the organization, the member, the member's epoch and the time when it
/// expires, joined by dots.
struct PasswordProof {
    organization: Id,
    member: Id,
    epoch: u64,
    expires_at: i64,
}

impl PasswordProof {
    /// The text in the form: the values and a signature that depends on the browser's cookie.
    fn text(&self, request: &PageRequest) -> String {
        let Self { organization, member, epoch, expires_at } = self;
        let values = format!("{organization}.{member}.{epoch}.{expires_at}");
        let signature = request.context.signing_keys().sign(&[SECOND_STEP, request.cookie(), &values]);
        format!("{values}.{signature}")
    }

    /// Parses the text if it was made for this browser and has not expired.
    fn parse(request: &PageRequest, text: &str) -> Option<Self> {
        let (values, signature) = text.rsplit_once('.')?;
        let keys = request.context.signing_keys();
        if !keys.verify_signature(&[SECOND_STEP, request.cookie(), values], signature) {
            return None;
        }
        let mut parts = values.split('.');
        let organization = parts.next()?.parse().ok()?;
        let member = parts.next()?.parse().ok()?;
        let epoch = parts.next()?.parse().ok()?;
        let expires_at = parts.next()?.parse().ok()?;
        let proof = Self { organization, member, epoch, expires_at };
        (request.context.now().as_second() < expires_at).then_some(proof)
    }
}

/// Asks for the code after the right password.
pub(crate) fn ask(
    request: &PageRequest,
    organization: Id,
    member: &Member,
    return_to: &str,
) -> Result<Reply<Html>, Error> {
    let expires_at = later(request.context.now(), STEP_LIFE).as_second();
    let proof = PasswordProof { organization, member: member.id, epoch: member.epoch, expires_at };
    let page = step_page(request, &proof.text(request), return_to, None)?;
    Ok(request.remember_organization(page, organization, &member.email))
}

fn step_page(
    request: &PageRequest,
    proof: &str,
    return_to: &str,
    error: Option<String>,
) -> Result<Reply<Html>, Error> {
    let (style_version, csrf) = (style_version(), request.csrf());
    Reply::page(&SecondStepPage { style_version, csrf, proof, return_to, kept: request.kept_text(), error })
}

/// Shows the sign-in form again after a step that took too long, with the form that waits for the sign-in.
fn password_again(request: &PageRequest, return_to: &str) -> Result<Reply<Html>, Error> {
    if !request.has_kept_form() {
        return Ok(Notice::SignInExpired.redirect_to("/dashboard/sign-in"));
    }
    let notice = Some(Notice::SignInExpired.sentence());
    Reply::page(&SignInPage::of(request, return_to, "", "").with_notice(notice))
}

/// Signs a member in with a code, after the right password.
pub(crate) async fn sign_in(request: Arc<PageRequest>) -> Result<Reply<Html>, Error> {
    let (form, context) = (request.form(), &request.context);
    let (proof_text, next) = (form.get("proof"), return_to(form.get("return_to")));
    let expired = || password_again(&request, next);
    let Some(proof) = PasswordProof::parse(&request, proof_text) else { return expired() };
    let (store, now, organization) = (context.store(), context.now(), proof.organization);
    let subject = sign_in_limits::second_factor(organization, proof.member);
    if let Some(seconds) = store.count_attempt(&subject, CODE_LIMIT, WINDOW, now).await? {
        let reply = step_page(&request, proof_text, next, Some(too_many_codes(seconds)))?;
        return Ok(reply.with_status(429).with("retry-after", seconds.to_string()));
    }
    let member = store.find_member(organization, proof.member).await?;
    let member = member.filter(|member| member.epoch == proof.epoch);
    let Some((member, factor)) =
        member.and_then(|member| member.second_factor.clone().map(|factor| (member, factor)))
    else {
        return expired();
    };
    let secret = second_factor::decrypt(sealing_keys(context)?, organization, member.id, &factor.secret)
        .map_err(unusable)?;
    let Some(accepted) = factor.accept(&secret, form.get("code"), now) else {
        request.record_failed_sign_in(Some((organization, member.id))).await?;
        return Ok(step_page(&request, proof_text, next, Some(WRONG.to_owned()))?.with_status(401));
    };
    store.uncount_attempt(&subject, WINDOW, now).await?;
    let after = member.clone().with_second_factor(Some(accepted.second_factor().clone()));
    let mut transaction = Transaction::new(Tenant { organization, mode: Mode::Live });
    transaction.replace_member(&member, &after)?;
    if let AcceptedCode::Recovery(factor) = &accepted {
        let event = NoticeEvent::RecoveryCodeUsed { left: factor.recovery_codes.len() };
        transaction.insert_notice(member.id, &context.notice(event))?;
    }
    request.report_new_browser(organization, &member, &mut transaction)?;
    let method = SignInMethod::Password;
    request.sign_in(organization, &after, method, transaction, request.continue_to(next)).await
}

fn sealing_keys(context: &RequestContext) -> Result<&EncryptionKeys, Error> {
    let missing = || StoreError::Internal("SEALING_KEYS is not set".to_owned());
    Ok(context.sealing_keys().ok_or_else(missing)?)
}

fn unusable(error: DecryptionError) -> StoreError {
    StoreError::Internal(format!("the secret of a second factor: {error}"))
}

/// Shows the second factor, or a new secret to set one up.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let state = match &request.member().second_factor {
        Some(factor) => {
            let since = dates::zone(&request).day(factor.added_at);
            State::On { since, codes_left: factor.recovery_codes.len() }
        }
        None => set_up_state(&request, &TotpSecret::generate(request.context.random()))?,
    };
    page(&request, state, Vec::new())
}

fn set_up_state(request: &MemberRequest, secret: &TotpSecret) -> Result<State, Error> {
    let qr_code = DrawnCode::of(&secret.uri(&request.member().email, request.organization_name()))?;
    Ok(State::SetUp { secret: secret.base32(), qr_code })
}

fn page(request: &MemberRequest, state: State, problems: Vec<Problem>) -> Result<Reply<Html>, Error> {
    let is_required = request.requires_second_factor();
    let layout = Layout::of(request, Section::Account);
    let offers_passkeys = request.page.passkey_origin().is_some();
    // The script copies new codes.
    let sources = Sources { script: matches!(state, State::NewCodes(_)), ..Sources::default() };
    let page = SecondFactorPage { layout, is_required, offers_passkeys, state, problems };
    Ok(Reply::page(&page)?.using(&sources))
}

/// Sets up the second factor with the first code from the app, and shows the recovery codes once.
pub(crate) async fn set_up(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (form, context) = (request.page.form(), &request.context);
    let secret = TotpSecret::parse(form.get("secret"));
    let secret =
        secret.ok_or_else(|| Error::BadRequest("The form must contain a secret of 20 bytes".to_owned()))?;
    let member = current(&request).await?;
    if member.second_factor.is_some() {
        return Ok(Reply::see_other(PATH));
    }
    let code: String = form.get("code").chars().filter(|c| !c.is_whitespace()).collect();
    let Some(step) = secret.step_of(&code, context.now()) else {
        let sentence = "The code is incorrect. Enter the six digits that your app shows now.".to_owned();
        let problems = vec![Problem { field: "code", sentence }];
        return Ok(page(&request, set_up_state(&request, &secret)?, problems)?.with_status(422));
    };
    let (organization, random) = (request.tenant().organization, context.random());
    let secret = second_factor::encrypt(sealing_keys(context)?, organization, member.id, &secret, random)
        .map_err(unusable)?;
    let (factor, codes) = SecondFactor::set_up(secret, step, random, context.now());
    replace(&request, &member, Some(factor), NoticeEvent::SecondFactorAdded).await?;
    page(&request, State::NewCodes(codes), Vec::new())
}

/// Replaces the recovery codes and shows the new ones once.
pub(crate) async fn renew_codes(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let member = current(&request).await?;
    let Some(factor) = member.second_factor.clone() else { return Ok(Reply::see_other(PATH)) };
    let (factor, codes) = factor.with_recovery_codes(request.context.random());
    replace(&request, &member, Some(factor), NoticeEvent::RecoveryCodesRenewed).await?;
    page(&request, State::NewCodes(codes), Vec::new())
}

/// Turns the second factor off, unless the organization requires one.
pub(crate) async fn remove(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    if request.requires_second_factor() {
        return Ok(Alert::SecondFactorRequired.redirect_to(PATH));
    }
    let member = current(&request).await?;
    if member.second_factor.is_some() {
        replace(&request, &member, None, NoticeEvent::SecondFactorRemoved).await?;
    }
    Ok(Notice::SecondFactorRemoved.redirect_to(Section::Account.path()))
}

/// Reads the signed-in member again.
async fn current(request: &MemberRequest) -> Result<Member, Error> {
    let (organization, id) = (request.tenant().organization, request.member().id);
    request.context.store().find_member(organization, id).await?.ok_or(Error::NotFound)
}

async fn replace(
    request: &MemberRequest,
    member: &Member,
    factor: Option<SecondFactor>,
    event: NoticeEvent,
) -> Result<(), Error> {
    let mut transaction = request.transaction();
    transaction.replace_member(member, &member.clone().with_second_factor(factor))?;
    transaction.insert_notice(member.id, &request.context.notice(event))?;
    Ok(request.context.store().commit(transaction).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_qr_code_is_drawn_with_a_border() {
        let code =
            DrawnCode::of("otpauth://totp/Rolecall:a?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ").unwrap();
        assert!(code.path.starts_with("M4 4h1v1h-1z") && code.size > 29, "{}", code.size);
    }
}
