//! Exports: everything that is stored about a candidate.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::candidate_records::see;
use super::candidates::Touchpoints;
use super::item::FORM;
use super::keys::{self, EXPIRES_AT, FILTER, PK, SK, STATUS_FILTER};
use super::maybe_erased::MaybeErased;
use super::screens::{read_part, read_transcript};
use super::{Item, MAX_BATCH, Owner, Store, StoreError, item};
use crate::id::Id;
use crate::model::{
    Answers, CandidateFile, CandidateRecord, Consent, Note, Screen, ScreenRecord, Submission, SuspectForm,
    Tenant, Touchpoint, Turn,
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
    /// The answers of applications.
    pub answers: Vec<Answers>,
    /// The files, newest first.
    pub files: Vec<CandidateFile>,
    /// The newest suspect forms with the candidate's e-mail address.
    pub suspects: Vec<SuspectForm>,
    /// Everything else that belongs to the candidate, by the plural of the kind's name, newest first.
    pub others: BTreeMap<String, Vec<Value>>,
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
        let mut found: BTreeMap<&'static str, Vec<Item>> = BTreeMap::new();
        for partition in self.partitions_of(Owner::Candidate, tenant, Some(id)) {
            if partition == keys::traces(tenant, id) {
                continue;
            }
            for (_, item) in self.read_partition(&partition, usize::MAX).await? {
                found.entry(self.kind_of(&item)?.name).or_default().push(item);
            }
        }
        let of_record = ["candidate_record", "candidate_application"].map(|kind| found.remove(kind));
        let seen = match see(of_record.into_iter().flatten().flatten())? {
            Ok(record) => record,
            Err(_) => self.find_any_candidate(tenant, id).await?,
        };
        let record = match seen {
            Some(MaybeErased::Present(record)) if record.is_shown() => record,
            Some(MaybeErased::Erased(erasure)) => return Ok(Some(MaybeErased::Erased(erasure))),
            Some(MaybeErased::Present(_)) | None => return Ok(None),
        };
        let screens =
            take::<Screen>(&mut found, "candidate_screen")?.iter().map(|screen| screen.id).collect();
        let (screens, suspects, changes) = tokio::join!(
            self.find_screen_data(tenant, screens, max_bytes),
            async {
                match &record.candidate.profile.email {
                    Some(email) => self.list_suspects_with(tenant, email, MAX_SUSPECTS).await,
                    None => Ok(Vec::new()),
                }
            },
            self.list_role_changes(tenant),
        );
        let (suspects, record) = (suspects?, record.with_roles(&changes?));
        // If the candidate has been erased in the meantime, a part may be missing.
        if let Some(MaybeErased::Erased(erasure)) = self.find_candidate(tenant, id).await? {
            return Ok(Some(MaybeErased::Erased(erasure)));
        }
        Ok(Some(MaybeErased::Present(CandidateData {
            record,
            screens: screens?,
            touchpoints: take(&mut found, "touchpoints")?
                .into_iter()
                .flat_map(Touchpoints::newest_first)
                .collect(),
            notes: take(&mut found, "note")?,
            consents: take(&mut found, "consent")?,
            submissions: take(&mut found, "submission")?,
            answers: take(&mut found, "application_answers")?,
            files: take(&mut found, "file")?,
            suspects,
            others: found.into_iter().map(as_stored).collect::<Result<_, _>>()?,
        })))
    }

    /// The screens with their transcripts, in the given order.
    async fn find_screen_data(
        &self,
        tenant: Tenant,
        ids: Vec<Id>,
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

/// The items of a kind.
fn take<T: DeserializeOwned>(
    found: &mut BTreeMap<&'static str, Vec<Item>>,
    kind: &str,
) -> Result<Vec<T>, StoreError> {
    found.remove(kind).unwrap_or_default().into_iter().map(item::read).collect()
}

/// Items of a kind that has no place of its own in an export: what is stored, without what only the table needs.
fn as_stored((kind, items): (&str, Vec<Item>)) -> Result<(String, Vec<Value>), StoreError> {
    let shown = items.into_iter().map(|mut item| {
        item.retain(|name, _| ![PK, SK, FORM, FILTER, STATUS_FILTER, EXPIRES_AT].contains(&&**name));
        serde_dynamo::from_item(item)
            .map_err(|error| StoreError::Internal(format!("an item cannot be exported: {error}")))
    });
    Ok((format!("{kind}s"), shown.collect::<Result<_, _>>()?))
}
