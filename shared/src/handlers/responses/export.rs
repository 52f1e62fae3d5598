//! Exports of candidates: everything that is stored about a person, as one document.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::application::Application;
use super::candidate::Candidate;
use super::consent::Consent;
use super::file::CandidateFile;
use super::note::Note;
use super::question::Answer;
use super::resume::ResumeLinks;
use super::screen::{Screen, ScreenAccess};
use super::submission::{FormContent, Submission};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{
    self, Assessment, CallState, CandidateRecord, Excerpt, LegalHold, ScreenRecord, Touchpoint, Turn,
    VoiceProvider,
};
use crate::providers::bucket::Bucket;
use crate::store::{CandidateData, ScreenData};

/// Everything that is stored about a candidate.
#[derive(Debug, Serialize, ToSchema)]
pub struct CandidateExport {
    #[serde(flatten)]
    candidate: Candidate,
    /// When the export was created.
    exported_at: Timestamp,
    /// The legal hold, which forbids an erasure.
    #[schema(value_type = Option<LegalHold>)]
    legal_hold: Option<LegalHold>,
    /// When the last legal hold was lifted.
    hold_lifted_at: Option<Timestamp>,
    /// The applications, newest first.
    applications: Vec<ExportedApplication>,
    /// The voice screens, newest first.
    voice_screens: Vec<ExportedScreen>,
    /// The candidate's history, newest first.
    touchpoints: Vec<Touchpoint>,
    /// The notes, newest first.
    notes: Vec<Note>,
    /// All recorded consents, newest first.
    consents: Vec<Consent>,
    /// The application forms that were submitted on the career page and are kept, newest first.
    submissions: Vec<Submission>,
    /// Application forms with the candidate's e-mail address that wait until a member accepts or discards them, the newest
    /// 100.
    suspect_forms: Vec<SuspectForm>,
    /// The uploaded files, newest first.
    files: Vec<CandidateFile>,
    /// What has no place of its own yet: by the plural of the kind's name.
    #[serde(flatten)]
    #[schema(ignore)]
    others: BTreeMap<String, Vec<Value>>,
}

/// An application with its answers.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExportedApplication {
    #[serde(flatten)]
    application: Application,
    /// The answers that the application came with.
    answers: Vec<Answer>,
}

/// A voice screen with everything that is stored about it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExportedScreen {
    #[serde(flatten)]
    screen: Screen,
    /// The provider that makes the call and the analysis.
    provider: VoiceProvider,
    /// The provider's identifier of the call.
    call_id: Option<String>,
    /// The transcript of the conversation; `null` if the export would be larger than 5 MB with all transcripts.
    transcript: Option<Vec<Turn>>,
    /// The path of the voice screen in the API, which has the transcript, if `transcript` is `null`.
    transcript_path: Option<String>,
    /// Points in favor of the candidate.
    highlights: Vec<Excerpt>,
    /// Concerns about the candidate.
    red_flags: Vec<Excerpt>,
    /// What produced the results; `null` if the call was not ordered.
    assessment: Option<Assessment>,
}

/// An application form that a program may have sent, and that belongs to no application.
#[derive(Debug, Serialize, ToSchema)]
pub struct SuspectForm {
    /// The identifier.
    id: Id,
    /// The role.
    role_id: Id,
    #[serde(flatten)]
    content: FormContent,
    /// The sender's network.
    network: String,
    /// Whether a file came with it.
    has_file: bool,
    /// When it was received.
    received_at: Timestamp,
}

impl From<model::SuspectForm> for SuspectForm {
    fn from(form: model::SuspectForm) -> Self {
        let model::SuspectForm { id, posting_id: _, role_id, received_at, network, signs: _, content, file } =
            form;
        Self { id, role_id, content: content.into(), network, has_file: file.is_some(), received_at }
    }
}

impl CandidateExport {
    /// The maximum size in bytes. A function's response can have 6 MB.
    pub const MAX_BYTES: usize = 5_000_000;

    /// The export of this data, with links to the files in the bucket.
    pub async fn of(data: CandidateData, bucket: Option<&Bucket>, now: Timestamp) -> Self {
        let CandidateData {
            record,
            screens,
            touchpoints,
            notes,
            consents,
            submissions,
            mut answers,
            files,
            suspects,
            others,
        } = data;
        let access = ScreenAccess::FULL;
        // Every part of the record is either exported or derived from what is exported.
        let CandidateRecord {
            candidate,
            own: _,
            applications,
            open_screens: _,
            consents: _,
            recorded_consents: _,
            legal_hold,
            hold_lifted_at,
            index_form: _,
            unfinished: _,
            retained_from: _,
            version: _,
        } = record;
        let links = ResumeLinks::of_history(bucket, now, &candidate.profile, &touchpoints).await;
        let mut exported = Vec::new();
        for file in files {
            exported.push(
                CandidateFile::of(candidate.id, candidate.profile.name.as_str(), file, bucket, now).await,
            );
        }
        let applications = applications.iter().rev().map(|one| {
            let found = answers.iter().position(|answers| answers.application_id == one.id);
            let found = found.map(|index| answers.swap_remove(index).answers).unwrap_or_default();
            ExportedApplication {
                application: Application::of(candidate.id, one),
                answers: Answer::all(found),
            }
        });
        Self {
            exported_at: now,
            legal_hold,
            hold_lifted_at,
            applications: applications.collect(),
            voice_screens: screens.into_iter().map(|screen| ExportedScreen::of(screen, access)).collect(),
            notes: notes.into_iter().map(|note| Note::of(candidate.id, note)).collect(),
            consents: consents.into_iter().map(|consent| Consent::of(candidate.id, consent)).collect(),
            submissions: submissions.into_iter().map(|form| Submission::of(candidate.id, form)).collect(),
            suspect_forms: suspects.into_iter().map(SuspectForm::from).collect(),
            files: exported,
            others,
            touchpoints: touchpoints
                .into_iter()
                .map(|touchpoint| links.touchpoint(touchpoint, access))
                .collect(),
            candidate: Candidate::of(candidate, &links),
        }
    }

    /// The same export with the paths of the transcripts instead of the transcripts.
    #[must_use]
    pub fn without_transcripts(mut self) -> Self {
        for screen in &mut self.voice_screens {
            screen.remove_transcript();
        }
        self
    }
}

impl ExportedScreen {
    fn of(data: ScreenData, access: ScreenAccess) -> Self {
        let ScreenData { record, transcript } = data;
        let ScreenRecord {
            screen,
            highlights,
            red_flags,
            transcript_parts: _,
            provider,
            assessment,
            base_url: _,
            dialing,
            orders: _,
            task_due: _,
            version: _,
        } = record;
        let call_id = match dialing {
            CallState::Due | CallState::Asked => None,
            CallState::Placed(id) => Some(id),
        };
        let is_omitted = transcript.is_none();
        let mut exported = Self {
            screen: access.screen(screen),
            provider,
            call_id,
            transcript,
            transcript_path: None,
            highlights,
            red_flags,
            assessment,
        };
        if is_omitted {
            exported.remove_transcript();
        }
        exported
    }

    fn remove_transcript(&mut self) {
        self.transcript = None;
        self.transcript_path = Some(format!("/api/v1/voice_screens/{}", self.screen.id));
    }
}
