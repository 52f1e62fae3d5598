//! Inviting candidates to voice screens, cancelling voice screens, and reviewing their results.

use super::responses::screen::{Screen, ScreenAccess};
use crate::clock::Timestamp;
use crate::http::{ApiRequest, Created, Error, Reply, input};
use crate::id::Id;
use crate::model::{
    CancelReason, ConsentPurpose, Invitation, OpenScreen, Review, ReviewDecision, ReviewNote, RoleState,
    ScreenRecord, Step, TouchpointKind,
};
use crate::services::calls::check_number;
use crate::services::screening;
use crate::store::MaybeErased;

use super::candidate_lookup::{UNKNOWN_ROLE, find_with_role};
use super::consents::CallConsent;
use super::questions;

input! {
    /// A voice screen to create.
    pub struct NewScreen {
        /// An open or paused role.
        role_id: required Id,
        /// When to call, at most 90 days ahead. If absent, the call is made immediately.
        scheduled_at: optional Timestamp,
        /// The candidate's consent to AI calls and to their transcripts, which is recorded for both purposes. A provider that
        /// makes real calls requires it, unless it has been recorded before.
        consent: optional_object CallConsent,
    }
}

/// Invites a candidate to a voice screen for a role. The call is made immediately or at `scheduled_at`.
///
/// # Errors
///
/// - `invalid_transition`: the candidate is hired or rejected.
/// - `channel_not_connected`: no voice provider is set up.
/// - `consent_required`: the provider makes real calls, and the candidate has not agreed to them and to their transcripts.
/// - `confirmation_required`: an assistant sent the request, and a member has to confirm it on the page `page`.
pub async fn invite_screen(request: ApiRequest<NewScreen>) -> Result<Reply<Created<Screen>>, Error> {
    let (input, before, role) = find_with_role(&request, |input| Some(input.role_id)).await?;
    let NewScreen { role_id, scheduled_at, consent } = input;
    let now = request.context.now();
    let voice = request.context.providers().await.voice(request.tenant().mode);
    let mut messages = Vec::new();
    match &role {
        None => messages.push(UNKNOWN_ROLE.to_owned()),
        Some(role) => {
            let error = before.check_invitation(role).err();
            messages.extend(error.map(|error| error.to_string()));
        }
    }
    messages.extend(check_schedule(scheduled_at, now).map(str::to_owned));
    messages.extend(consent.as_ref().and_then(|consent| consent.check(now)).map(str::to_owned));
    if voice.is_some_and(|voice| voice.needs_phone) {
        match &before.candidate.profile.phone {
            None => messages.push("phone can't be blank: the candidate has no number to call".to_owned()),
            Some(phone) => {
                let (store, providers) = (request.context.store(), request.context.providers().await);
                let chosen = store.find_call_countries(request.tenant()).await?;
                let allowed = chosen.as_deref().unwrap_or(providers.default_call_countries());
                messages.extend(check_number(phone, allowed).err().map(|error| format!("phone {error}")));
            }
        }
    }
    let (Some(role), true) = (role, messages.is_empty()) else { return Err(Error::Validation(messages)) };
    let voice = voice.ok_or_else(|| {
        Error::ChannelNotConnected("voice calls are not set up: no voice provider is configured".to_owned())
    })?;
    let (id, candidate_id) = (request.context.ids().next(), before.candidate.id);
    let (author, mut transaction, mut kinds) = (request.author(), request.transaction(), Vec::new());
    let followed = before.clone().follow([RoleState::of(&role)], now);
    let mut current = followed.map_or_else(|| before.clone(), |followed| followed.record);
    for consent in consent.map(|consent| consent.records(&author)).into_iter().flatten() {
        transaction.insert_consent(candidate_id, &consent)?;
        kinds.push(TouchpointKind::of_consent(&consent));
        current = current.record_consent(consent)?;
    }
    let missing: Vec<_> = current.missing_consents().map(ConsentPurpose::as_str).collect();
    let invited = current.invite(OpenScreen::new(id, &role), now)?;
    if voice.needs_consent && !missing.is_empty() {
        return Err(Error::ConsentRequired(format!(
            "consent must be given by the candidate to {} before the call, and not be withdrawn later",
            missing.join(" and ")
        )));
    }
    request.confirm(|| questions::of_invitation(&before.candidate, &role, scheduled_at)).await?;
    let invitation = Invitation { id, candidate_id, role_id, scheduled_at };
    let order_at = voice.order_at(scheduled_at, now);
    let screen = ScreenRecord::invited(
        invitation,
        voice.provider,
        order_at,
        request.context.base_url().to_owned(),
        now,
    );

    transaction.insert_screen(&screen)?;
    kinds.push(TouchpointKind::ScreenInvited { screen_id: id, role_id, scheduled_at });
    let moved = |Step { role_id, from, to }| TouchpointKind::StageChanged { role_id, from, to };
    kinds.extend(invited.steps.into_iter().map(moved));
    transaction.replace_candidate(&before, &invited.record, &author.touchpoints(kinds))?;
    transaction.require_role_state(&role);
    let address = request.address("voice_screens", id);
    let screen = ScreenAccess::of(request.scopes()).screen(screen.screen);
    request.commit(transaction, Reply::resource(&screen)?.created(address)).await
}

/// Returns a validation message if no screen can be scheduled at this time.
fn check_schedule(scheduled_at: Option<Timestamp>, now: Timestamp) -> Option<&'static str> {
    let lead_time = scheduled_at?.duration_since(now);
    if !lead_time.is_positive() {
        return Some("scheduled_at must be in the future");
    }
    (lead_time > screening::MAX_LEAD_TIME).then_some("scheduled_at must be within 90 days")
}

/// Cancels a voice screen whose conversation has not begun.
///
/// The candidate is not called. If the provider has the call already, it is cancelled there shortly afterwards.
///
/// # Errors
///
/// - `invalid_transition`: the conversation has begun, or the screen has ended.
/// - `erased`: an earlier request with the same idempotency key cancelled a screen of a candidate who was erased.
pub async fn cancel(request: ApiRequest<()>) -> Result<Reply<Screen>, Error> {
    let (store, tenant) = (request.context.store(), request.tenant());
    let before = store.find_screen(tenant, request.id()?).await?.ok_or(Error::NotFound)?;
    let candidate = store.find_candidate(tenant, before.screen.candidate_id).await?;
    let candidate = candidate.and_then(MaybeErased::present).ok_or(Error::NotFound)?;
    request.input()?;
    let reason = CancelReason::Requested;
    let after = before.clone().cancel(reason, request.context.now())?;
    let mut transaction = request.transaction();
    let author = request.author();
    screening::cancel(&mut transaction, &before, &after, &candidate, reason, &author)?;
    let screen = ScreenAccess::of(request.scopes()).screen(after.screen);
    request.commit(transaction, Reply::resource(&screen)?).await
}

input! {
    /// A decision about the result of a voice screen.
    pub struct NewReview {
        /// `confirmed`, or `overruled`: then the result is removed, and no longer counts in the role's statistics.
        decision: required ReviewDecision,
        /// Why.
        note: optional ReviewNote,
    }
}

/// Confirms or overrules the result of a voice screen. A later decision replaces an earlier one.
///
/// The scores stay. A decision moves nobody.
///
/// # Errors
///
/// - `invalid_transition`: the screen has no overall score, so there is no result to decide about.
pub async fn review(request: ApiRequest<NewReview>) -> Result<Reply<Screen>, Error> {
    let (store, tenant) = (request.context.store(), request.tenant());
    let before = store.find_screen(tenant, request.id()?).await?.ok_or(Error::NotFound)?;
    let candidate = store.find_candidate(tenant, before.screen.candidate_id).await?;
    let candidate = candidate.and_then(MaybeErased::present).ok_or(Error::NotFound)?;
    let NewReview { decision, note } = request.input()?;
    let author = request.author();
    let review =
        Review { requested_at: None, decided_at: author.at, decision, note, actor: author.actor.clone() };
    let after = before.clone().review(review)?;
    let mut transaction = request.transaction();
    transaction.replace_screen(&before, &after)?;
    let (screen_id, role_id) = (after.screen.id, after.screen.role_id);
    let kind = TouchpointKind::ScreenReviewed { screen_id, role_id, decision: Some(decision) };
    let reviewed = candidate.clone().advance_version();
    transaction.replace_candidate(&candidate, &reviewed, &author.touchpoints([kind]))?;
    let screen = ScreenAccess::of(request.scopes()).screen(after.screen);
    request.commit(transaction, Reply::resource(&screen)?).await
}
