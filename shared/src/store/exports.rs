//! Exports: everything that is stored about a candidate.

use super::maybe_erased::{MaybeErased, read_record};
use super::screens::{read_part, read_transcript};
use super::{Item, MAX_BATCH, Store, StoreError, item, keys};
use crate::id::Id;
use crate::model::{
    CandidateRecord, Consent, Note, Screen, ScreenRecord, Submission, SubmittedFile, SuspectForm, Tenant,
    Touchpoint, Turn,
};

/// Everything that is stored about a candidate.
#[derive(Clone, Debug)]
pub struct CandidateData {
    /// The candidate and the applications, with current copies of their roles.
    pub record: CandidateRecord,
    /// The voice screens, newest first.
    pub screens: Vec<ScreenData>,
    /// The history, newest first.
    pub touchpoints: Vec<Touchpoint>,
    /// The notes, newest first.
    pub notes: Vec<Note>,
    /// The consents, newest first.
    pub consents: Vec<Consent>,
    /// The submitted forms that are kept, newest first.
    pub submissions: Vec<Submission>,
    /// The files that came with forms.
    pub files: Vec<SubmittedFile>,
    /// The newest suspect forms with the candidate's e-mail address.
    pub suspects: Vec<SuspectForm>,
}

/// Everything that is stored about a voice screen.
#[derive(Clone, Debug)]
pub struct ScreenData {
    /// The screen with its analysis.
    pub record: ScreenRecord,
    /// The transcript; `None` if the transcripts of the candidate are too large.
    pub transcript: Option<Vec<Turn>>,
}

/// The maximum number of parts of transcripts in a batch. DynamoDB returns at most 16 MB per call.
const MAX_PARTS: usize = 40;
/// The maximum number of suspect forms in an export. Anyone can send forms with a person's e-mail address.
const MAX_SUSPECTS: u32 = 100;

impl Store {
    /// Everything that is stored about a candidate. Omits all transcripts if they have more than `max_bytes` together.
    pub async fn find_candidate_data(
        &self,
        tenant: Tenant,
        id: Id,
        max_bytes: usize,
    ) -> Result<Option<MaybeErased<CandidateData>>, StoreError> {
        let (mut record, mut screens, mut touchpoints) = (None, Vec::new(), Vec::new());
        let (mut consents, mut submissions, mut files) = (Vec::new(), Vec::new(), Vec::new());
        for (range, item) in self.read_partition(&keys::candidate_partition(tenant, id), usize::MAX).await? {
            if range.starts_with(keys::HISTORY) {
                touchpoints.push(item::read(item)?);
            } else if range.starts_with(keys::SCREEN) {
                screens.push(item::read::<Screen>(item)?.id);
            } else if range.starts_with(keys::CONSENT) {
                consents.push(item::read(item)?);
            } else if range.starts_with(keys::SUBMISSION) {
                submissions.push(item::read(item)?);
            } else if range.starts_with(keys::FILE) {
                files.push(item::read(item)?);
            } else if range == keys::RECORD {
                record = Some(read_record(item)?);
            } else {
                return Err(StoreError::Internal("an export cannot contain an item of this kind".to_owned()));
            }
        }
        let record = match record {
            Some(MaybeErased::Present(record)) => record,
            Some(MaybeErased::Erased(erasure)) => return Ok(Some(MaybeErased::Erased(erasure))),
            None => return Ok(None),
        };
        let roles = record.applications.iter().map(|application| application.role.id);
        let roles = self.find_roles(tenant, roles).await?;
        let at = record.candidate.updated_at;
        let record = match record.clone().follow(roles.values(), at) {
            Some(followed) => followed.record,
            None => record,
        };
        let screens = self.find_screen_data(tenant, &screens, max_bytes).await;
        let notes = self.read_partition(&keys::notes(tenant, id), usize::MAX).await?;
        let notes = notes.into_iter().map(|(_, note)| item::read(note)).collect::<Result<_, _>>()?;
        let suspects = self.list_suspects_with(tenant, &record.candidate.profile.email, MAX_SUSPECTS).await?;
        // If the candidate has been erased in the meantime, a part may be missing.
        if let Some(MaybeErased::Erased(erasure)) = self.find_candidate(tenant, id).await? {
            return Ok(Some(MaybeErased::Erased(erasure)));
        }
        Ok(Some(MaybeErased::Present(CandidateData {
            record,
            screens: screens?,
            touchpoints,
            notes,
            consents,
            submissions,
            files,
            suspects,
        })))
    }

    /// The screens with their transcripts, in the given order.
    async fn find_screen_data(
        &self,
        tenant: Tenant,
        ids: &[Id],
        max_bytes: usize,
    ) -> Result<Vec<ScreenData>, StoreError> {
        let mut records: Vec<ScreenRecord> = Vec::new();
        for ids in ids.chunks(MAX_BATCH) {
            let keys: Vec<_> = ids.iter().map(|id| keys::screen_record(tenant, *id)).collect();
            let mut items = self.read_many(keys.iter().cloned()).await?;
            for key in keys {
                records.extend(key.take_from(&mut items).map(item::read).transpose()?);
            }
        }
        let transcripts = self.find_transcripts(tenant, &records, max_bytes).await?;
        let transcripts = transcripts.map_or_else(
            || records.iter().map(|_| None).collect::<Vec<_>>(),
            |transcripts| transcripts.into_iter().map(Some).collect(),
        );
        let screens = records.into_iter().zip(transcripts);
        Ok(screens.map(|(record, transcript)| ScreenData { record, transcript }).collect())
    }

    /// The transcripts of the screens; `None` if they have more than `max_bytes` together.
    async fn find_transcripts(
        &self,
        tenant: Tenant,
        records: &[ScreenRecord],
        max_bytes: usize,
    ) -> Result<Option<Vec<Vec<Turn>>>, StoreError> {
        let parts = records.iter().enumerate().flat_map(|(index, record)| {
            let key = move |part| (index, keys::transcript_part(tenant, record.screen.id, part));
            (0..record.transcript_parts).map(key)
        });
        let parts: Vec<_> = parts.collect();
        let mut bytes: Vec<Vec<u8>> = vec![Vec::new(); records.len()];
        let mut total = 0;
        for parts in parts.chunks(MAX_PARTS) {
            let mut items: Vec<Item> = self.read_many(parts.iter().map(|(_, key)| key.clone())).await?;
            for (index, key) in parts {
                let part = key.take_from(&mut items).map(read_part).transpose()?;
                let part =
                    part.ok_or_else(|| StoreError::Unavailable("a transcript has changed".to_owned()))?;
                total += part.len();
                bytes[*index].extend(part);
            }
            if total > max_bytes {
                return Ok(None);
            }
        }
        bytes.iter().map(|bytes| read_transcript(bytes)).collect::<Result<_, _>>().map(Some)
    }
}
