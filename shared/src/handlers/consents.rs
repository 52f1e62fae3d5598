//! Consents of candidates.

use super::responses::consent::Consent;
use crate::clock::Timestamp;
use crate::http::{Added, ApiRequest, Error, Reply, Visible, input};
use crate::model::{self, ConsentPurpose, ConsentWording, TouchpointKind};
use crate::services::Author;

use super::candidate_lookup::find;

input! {
    /// A consent to record.
    #[derive(Clone, Debug)]
    pub struct NewConsent {
        /// What the consent is for.
        pub purpose: required ConsentPurpose,
        /// Whether the candidate gave the consent; `false` if the candidate refused or withdrew it.
        pub granted: required bool,
        /// When the candidate said so, not in the future.
        pub obtained_at: required Timestamp,
        /// The text that the candidate agreed to, or in which the candidate withdrew the consent.
        pub wording: required ConsentWording,
    }

    /// A consent to AI calls and to their transcripts.
    #[derive(Clone)]
    pub struct CallConsent {
        /// When the candidate gave the consent, not in the future.
        obtained_at: required Timestamp,
        /// The text that the candidate agreed to. It must cover both AI calls and their transcripts.
        wording: required ConsentWording,
    }
}

impl CallConsent {
    /// Returns a validation message if the time is in the future.
    pub fn check(&self, now: Timestamp) -> Option<&'static str> {
        (self.obtained_at > now).then_some("consent.obtained_at must not be in the future")
    }

    /// The consents to record, one for each purpose.
    pub fn records(self, author: &Author<'_>) -> [model::Consent; 2] {
        let Self { obtained_at, wording } = self;
        ConsentPurpose::FOR_CALLS.map(|purpose| {
            record(NewConsent { purpose, granted: true, obtained_at, wording: wording.clone() }, author)
        })
    }
}

/// Records that a candidate gave, refused or withdrew a consent.
///
/// For each purpose, the consent with the latest `obtained_at` counts. If it withdraws or refuses `voice_screen` or
/// `recording`, the candidate's unfinished voice screens are cancelled. A candidate has at most 100 consents; after that,
/// only the withdrawal of a consent in force is recorded.
pub async fn create_consent(
    request: ApiRequest<NewConsent>,
) -> Result<Reply<Added<Visible<Consent>>>, Error> {
    let before = find(&request).await?;
    let new = request.input()?;
    let (candidate_id, author) = (before.candidate.id, request.author());
    if new.obtained_at > author.at {
        return Err(Error::Validation(vec!["obtained_at must not be in the future".to_owned()]));
    }
    let consent = record(new, &author);
    let after = before.clone().record_consent(consent.clone())?;
    let mut transaction = request.transaction();
    transaction.insert_consent(candidate_id, &consent)?;
    let history = author.touchpoints([TouchpointKind::of_consent(&consent)]);
    transaction.replace_candidate(&before, &after, &history)?;
    let consent = request.visible(Consent::of(candidate_id, consent));
    let reply = Reply::ok(&consent)?.created_without_address();
    request.commit(transaction, reply).await
}

fn record(new: NewConsent, author: &Author<'_>) -> model::Consent {
    let NewConsent { purpose, granted, obtained_at, wording } = new;
    let (id, actor, created_at) = (author.ids.next(), author.actor.clone(), author.at);
    model::Consent { id, purpose, granted, obtained_at, wording, actor, created_at }
}
