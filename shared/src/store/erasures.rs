//! Erased candidates: their records, and the removal of everything else that is stored about them.
//!
//! One transaction replaces the candidate's record and takes the candidate out of lists and searches. A task removes the
//! rest. What is found through an item is removed before that item, so a task that was killed is repeated.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::candidates::{Touchpoints, list_key};
use super::deletion::Deletion;
use super::finding::Reference;
use super::item::number;
use super::keys::{self, EXPIRES_AT, Key};
use super::list::Range;
use super::maybe_erased::is_erased;
use super::receipts::Receipt;
use super::screens::call_task;
use super::tasks::Task;
use super::{CommitError, Owner, ReceiptSlot, Store, StoreError, Transaction, item, recording};
use crate::clock::{Timestamp, later};
use crate::id::Id;
use crate::model::{
    AuditAction, AuditTarget, AuditTargetKind, CandidateRecord, Delivery, Email, ErasedCandidate, Mode,
    ResumeFile, Screen, ScreenRecord, Source, SuspectForm, TaskKind, Tenant, Touchpoint, TouchpointKind,
};

/// What an erasure has to know about an expected upload, or about a file that the candidate does not have yet, or no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadTrace {
    /// The hash of the upload's ticket.
    pub hash: String,
    /// The key that the file is uploaded to.
    pub key: String,
    /// When the ticket expires.
    pub until: Timestamp,
}

/// The time for which a form that was given out, or a request that is running, may still upload a file.
const STILL_UPLOADING: SignedDuration = SignedDuration::from_mins(15);

impl UploadTrace {
    /// When nothing can be uploaded any more.
    pub fn over(&self) -> Timestamp {
        later(self.until, STILL_UPLOADING)
    }
}

/// An item that leads from a candidate to another item, whose key does not contain the candidate.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Trace {
    /// A receipt whose response may contain the candidate's data.
    Receipt { route: String, idempotency_key: String },
    /// An expected upload.
    Upload(UploadTrace),
    /// A file in the bucket that the candidate does not have yet, or no more.
    Unattached(UploadTrace),
    /// A question about a call of an assistant.
    Confirmation { hash: String },
    /// A webhook endpoint's answer to an event about the candidate.
    Answer { endpoint: Id, delivery: Id, at: Timestamp },
    /// The suspect forms with an e-mail address that the candidate had before.
    FormerAddress { suspects: String },
}

/// What the traces of an erased candidate lead to in other places than the table's items.
#[derive(Default)]
pub struct Traced {
    /// The expected uploads, whose files are to be deleted.
    pub uploads: Vec<UploadTrace>,
    /// Where the suspect forms with the candidate's former e-mail addresses are.
    pub suspects: Vec<String>,
}

impl Trace {
    /// The key of the item that the trace leads to, if that is one.
    fn target(&self, tenant: Tenant) -> Option<Key> {
        match self {
            Self::Receipt { route, idempotency_key } => Some(keys::receipt(tenant, idempotency_key, route)),
            Self::Upload(upload) => Some(keys::upload(tenant, &upload.hash)),
            Self::Confirmation { hash } => Some(keys::confirmation(tenant, hash)),
            Self::Answer { endpoint, delivery, at } => {
                Some(keys::delivery_answer(tenant, *endpoint, *delivery, *at))
            }
            Self::Unattached(_) | Self::FormerAddress { .. } => None,
        }
    }
}

/// The time after which uploaded files that were not attached are deleted from the bucket, in seconds. S3 does that at
/// the end of the next day.
const UPLOADS_KEPT: i64 = 2 * 24 * 60 * 60;
/// The number of applications that one transaction removes, with at most five actions each beside one for the tenant's
/// counters.
const APPLICATIONS: usize = 16;
/// How often roles may be closed or reopened while an erasure removes applications.
const MAX_CONFLICTS: u32 = 5;
/// The number of traces that one transaction removes, with two actions each.
const TRACES: usize = 40;

impl Transaction {
    /// Replaces a candidate's record with what is kept of it, takes the candidate out of lists and searches, and adds the
    /// task that removes everything else. Nobody is told of somebody of whom nobody was told, because the import was not finished.
    pub fn erase_candidate(
        &mut self,
        before: &CandidateRecord,
        erased: &ErasedCandidate,
    ) -> Result<(), StoreError> {
        let (tenant, id) = (self.tenant, before.candidate.id);
        self.audit(AuditAction::CandidateErased, Some(AuditTarget::of(AuditTargetKind::Candidate, id)));
        let email = before.candidate.profile.email.as_ref();
        let suspects = email.map(|email| keys::suspects_with_email(tenant, email));
        let erased = &ErasedCandidate { suspects, ..erased.clone() };
        self.forget(before.version, item::write(erased, keys::candidate_record(tenant, id), None)?)?;
        self.record([recording::erased_candidate(erased)]);
        self.delete(list_key(tenant, before));
        if !before.is_shown() {
            self.keep_silent();
        }
        if let Some(email) = email {
            self.delete(keys::email(tenant, email));
        }
        self.replace_index(Some(before), None)?;
        self.replace_retention_start(id, before.retention_start(), None)?;
        self.put(item::write(&erased.erasure, keys::erased_candidate(tenant, id), None)?)?;
        self.put(item::write(&Reference { id }, keys::unfinished_erasure(tenant, id), None)?)?;
        self.put_erasure_task(erased)
    }

    fn replace_erased(
        &mut self,
        before: &ErasedCandidate,
        after: &ErasedCandidate,
    ) -> Result<(), StoreError> {
        let key = keys::candidate_record(self.tenant, after.erasure.id);
        self.forget(before.version, item::write(after, key, None)?)
    }

    fn put_erasure_task(&mut self, erased: &ErasedCandidate) -> Result<(), StoreError> {
        if let Some(due) = erased.task_due {
            self.put(Task::new(self.tenant, TaskKind::Erasure, erased.erasure.id, due).item()?)?;
        }
        Ok(())
    }

    pub(super) fn put_receipt_trace(&mut self, candidate: Id, slot: &ReceiptSlot) -> Result<(), StoreError> {
        let (route, idempotency_key) = (slot.route.to_owned(), slot.idempotency_key.clone());
        let key = keys::receipt_trace(self.tenant, candidate, &route, &idempotency_key);
        let trace = Trace::Receipt { route, idempotency_key };
        self.put_trace(&trace, key, Some(slot.expires_at.as_second()))
    }

    pub(super) fn put_confirmation_trace(
        &mut self,
        candidate: Id,
        hash: &str,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        let key = keys::confirmation_trace(self.tenant, candidate, hash);
        self.put_trace(&Trace::Confirmation { hash: hash.to_owned() }, key, Some(until.as_second()))
    }

    /// Fails if the candidate was erased: the erasure would not find the answer any more.
    pub(super) fn put_answer_trace(
        &mut self,
        candidate: Id,
        delivery: &Delivery,
        at: Timestamp,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        self.require_absence(keys::erased_candidate(self.tenant, candidate));
        let key = keys::answer_trace(self.tenant, candidate, delivery.id, at);
        let trace = Trace::Answer { endpoint: delivery.endpoint, delivery: delivery.id, at };
        self.put_trace(&trace, key, Some(until.as_second()))
    }

    /// Remembers a former e-mail address of a candidate as long as suspect forms with it are kept.
    pub(super) fn put_former_address_trace(
        &mut self,
        candidate: Id,
        email: &Email,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let suspects = keys::suspects_with_email(self.tenant, email);
        let key = keys::former_address_trace(self.tenant, candidate, &suspects);
        let until = later(now, SuspectForm::KEPT).as_second();
        self.put_trace(&Trace::FormerAddress { suspects }, key, Some(until))
    }

    /// Records an upload that a ticket allows until `upload.until`, so that an erasure finds it.
    pub fn put_upload_trace(&mut self, candidate: Id, upload: UploadTrace) -> Result<(), StoreError> {
        let key = keys::upload_trace(self.tenant, candidate, &upload.hash);
        let expires_at = upload.until.as_second() + UPLOADS_KEPT;
        self.put_trace(&Trace::Upload(upload), key, Some(expires_at))
    }

    /// A trace that does not expire, because S3 does not delete the file.
    pub(super) fn put_unattached_trace(
        &mut self,
        candidate: Id,
        upload: UploadTrace,
    ) -> Result<(), StoreError> {
        let key = keys::unattached_trace(self.tenant, candidate, &upload.hash);
        self.put_trace(&Trace::Unattached(upload), key, None)
    }

    fn put_trace(&mut self, trace: &Trace, key: Key, expires_at: Option<i64>) -> Result<(), StoreError> {
        let mut item = item::write(trace, key, None)?;
        item.extend(expires_at.map(|seconds| (EXPIRES_AT.to_owned(), number(seconds))));
        self.put(item)
    }

    /// Removes the response from a receipt. Its idempotency key stays used.
    fn empty_receipt(&mut self, key: Key, candidate: Id) {
        let empty = || AttributeValue::S(String::new());
        self.update(
            key,
            "SET #body = :empty, #fingerprint = :empty, #headers = :none",
            "#candidate = :candidate",
            [
                ("#body", "body"),
                ("#fingerprint", "fingerprint"),
                ("#headers", "headers"),
                ("#candidate", "candidate"),
            ]
            .map(|(name, attribute)| (name, attribute.to_owned()))
            .to_vec(),
            vec![
                (":empty", empty()),
                (":none", AttributeValue::L(Vec::new())),
                (":candidate", number(i128::from(candidate.get()))),
            ],
        );
    }

    /// Deletes a screen's record and its entries in lists.
    fn delete_screen(&mut self, record: &ScreenRecord) {
        let Screen { id, candidate_id, .. } = record.screen;
        self.delete_version(keys::screen_record(self.tenant, id), record.version);
        self.delete(keys::candidate_screen(self.tenant, candidate_id, id));
        self.delete_from_lists(record);
    }

    fn delete_from_lists(&mut self, record: &ScreenRecord) {
        let Screen { id, role_id, .. } = record.screen;
        self.delete(keys::screen(self.tenant, id));
        self.delete(keys::role_screen(self.tenant, role_id, id));
        if let Some(task) = call_task(self.tenant, record) {
            self.delete_task(&task);
        }
    }
}

impl Store {
    /// The record of an erased candidate.
    pub async fn find_erased(&self, tenant: Tenant, id: Id) -> Result<Option<ErasedCandidate>, StoreError> {
        let record = self.read(keys::candidate_record(tenant, id)).await?;
        record.filter(is_erased).map(item::read).transpose()
    }

    /// A candidate of the organization who is on legal hold, if there is one.
    pub async fn find_legal_hold(&self, organization: Id) -> Result<Option<(Mode, Id)>, StoreError> {
        for mode in Mode::ALL {
            let holds = keys::legal_holds(Tenant { organization, mode });
            let (held, _) = self.query(&holds, 1, Range::Before(None)).await?;
            if let Some(item) = held.into_iter().next() {
                return Ok(Some((mode, item::read::<Reference>(item)?.id)));
            }
        }
        Ok(None)
    }

    /// The tenant's erased candidates whose data has not been removed completely.
    pub(super) async fn list_unfinished_erasures(&self, tenant: Tenant) -> Result<Vec<Id>, StoreError> {
        let items = self.read_partition(&keys::unfinished_erasures(tenant), usize::MAX).await?.into_iter();
        items.map(|(_, item)| item::read(item).map(|Reference { id }| id)).collect()
    }

    /// Removes the applications of an erased candidate from the lists and from the numbers of current applications.
    pub async fn remove_applications(
        &self,
        tenant: Tenant,
        erased: ErasedCandidate,
    ) -> Result<ErasedCandidate, CommitError> {
        let mut erased = erased;
        let mut conflicts = 0;
        while !erased.applications.is_empty() {
            let mut transaction = Transaction::new(tenant);
            let mut left = erased.applications.clone();
            let removed = left.drain(..left.len().min(APPLICATIONS)).collect::<Vec<_>>();
            let closed = self.find_closed_roles(tenant, removed.iter().map(|one| one.role_id)).await?;
            for application in removed {
                let is_closed = closed.contains(&application.role_id);
                transaction.remove_application(erased.erasure.id, &application, is_closed);
            }
            let version = erased.version + 1;
            let after = ErasedCandidate { applications: left, version, ..erased.clone() };
            transaction.replace_erased(&erased, &after)?;
            match self.commit(transaction).await {
                Ok(()) => erased = after,
                Err(CommitError::RoleChanged) if conflicts < MAX_CONFLICTS => conflicts += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(erased)
    }

    /// Removes what the traces of an erased candidate lead to: empties the receipts, and deletes questions, answers and the
    /// expected uploads. Returns what is to be removed elsewhere.
    pub async fn remove_traced(&self, tenant: Tenant, candidate: Id) -> Result<Traced, CommitError> {
        let mut traced = Traced::default();
        let traces = self.read_partition(&keys::traces(tenant, candidate), usize::MAX).await?;
        for traces in traces.chunks(TRACES) {
            let traces: Vec<Trace> =
                traces.iter().map(|(_, trace)| item::read(trace.clone())).collect::<Result<_, _>>()?;
            let mut stored = self.read_many(traces.iter().filter_map(|trace| trace.target(tenant))).await?;
            let mut transaction = Transaction::new(tenant);
            for trace in traces {
                let Some(key) = trace.target(tenant) else {
                    match trace {
                        Trace::FormerAddress { suspects } => traced.suspects.push(suspects),
                        Trace::Unattached(upload) => traced.uploads.push(upload),
                        _ => {}
                    }
                    continue;
                };
                let target = key.clone().take_from(&mut stored);
                match trace {
                    Trace::Receipt { route, idempotency_key } => {
                        transaction.delete(keys::receipt_trace(tenant, candidate, &route, &idempotency_key));
                        // After the receipt has expired, another request can use its key.
                        let receipt = target.map(item::read::<Receipt>).transpose()?;
                        if receipt.is_some_and(|receipt| receipt.candidate == Some(candidate)) {
                            transaction.empty_receipt(key, candidate);
                        }
                    }
                    Trace::Confirmation { hash } => {
                        transaction.delete(keys::confirmation_trace(tenant, candidate, &hash));
                        if target.is_some() {
                            transaction.delete(key);
                        }
                    }
                    Trace::Answer { delivery, at, .. } => {
                        transaction.delete(keys::answer_trace(tenant, candidate, delivery, at));
                        if target.is_some() {
                            transaction.delete(key);
                        }
                    }
                    Trace::Upload(upload) => {
                        if target.is_some() {
                            transaction.delete(key);
                        }
                        traced.uploads.push(upload);
                    }
                    Trace::Unattached(_) | Trace::FormerAddress { .. } => {}
                }
            }
            if !transaction.is_empty() {
                self.commit(transaction).await?;
            }
        }
        Ok(traced)
    }

    /// Forgets a former e-mail address of an erased candidate, whose suspect forms are deleted.
    pub async fn forget_former_address(
        &self,
        tenant: Tenant,
        candidate: Id,
        suspects: &str,
    ) -> Result<(), CommitError> {
        let mut transaction = Transaction::new(tenant);
        transaction.delete(keys::former_address_trace(tenant, candidate, suspects));
        self.commit(transaction).await
    }

    /// Forgets the upload of an erased candidate, whose files are deleted.
    pub async fn forget_upload(
        &self,
        tenant: Tenant,
        candidate: Id,
        upload: &UploadTrace,
    ) -> Result<(), CommitError> {
        let mut transaction = Transaction::new(tenant);
        transaction.delete(keys::upload_trace(tenant, candidate, &upload.hash));
        transaction.delete(keys::unattached_trace(tenant, candidate, &upload.hash));
        self.commit(transaction).await
    }

    /// The files in the bucket that the candidate does not have yet, or no more.
    pub async fn list_unattached_files(
        &self,
        tenant: Tenant,
        candidate: Id,
    ) -> Result<Vec<UploadTrace>, StoreError> {
        let items = self.read_partition(&keys::unattached_files(tenant, candidate), usize::MAX).await?;
        let traces = items.into_iter().map(|(_, item)| item::read::<Trace>(item));
        let uploads = traces.filter_map(|trace| match trace {
            Ok(Trace::Unattached(upload)) => Some(Ok(upload)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        });
        uploads.collect()
    }

    /// The screens of an erased candidate that have not been removed.
    pub async fn list_screens_to_erase(&self, tenant: Tenant, candidate: Id) -> Result<Vec<Id>, StoreError> {
        let items = self.read_partition(&keys::candidate_screens(tenant, candidate), usize::MAX).await?;
        items.into_iter().map(|(_, item)| item::read::<Screen>(item).map(|screen| screen.id)).collect()
    }

    /// Removes a screen completely. Fails if the screen has changed.
    pub async fn remove_screen(&self, tenant: Tenant, record: &ScreenRecord) -> Result<(), CommitError> {
        self.remove_all(tenant, [keys::screen_extras(tenant, record.screen.id)]).await?;
        let mut transaction = Transaction::new(tenant);
        transaction.delete_screen(record);
        self.commit(transaction).await
    }

    /// Replaces a screen with what is needed to erase its call at the provider, and takes it out of the lists. Fails if
    /// the screen has changed.
    pub async fn empty_screen(
        &self,
        tenant: Tenant,
        before: &ScreenRecord,
        after: &ScreenRecord,
    ) -> Result<(), CommitError> {
        let Screen { id, candidate_id, .. } = after.screen;
        self.remove_all(tenant, [keys::screen_extras(tenant, id)]).await?;
        let mut transaction = Transaction::new(tenant);
        transaction.forget(before.version, item::write(after, keys::screen_record(tenant, id), None)?)?;
        let entry = keys::candidate_screen(tenant, candidate_id, id);
        transaction.overwrite(item::write(&after.screen, entry, None)?);
        transaction.delete_from_lists(before);
        self.commit(transaction).await
    }

    /// The files in an erased candidate's history.
    pub async fn list_files_in_history(
        &self,
        tenant: Tenant,
        candidate: Id,
    ) -> Result<Vec<ResumeFile>, StoreError> {
        let mut files = Vec::new();
        for (_, item) in self.read_partition(&keys::candidate_history(tenant, candidate), usize::MAX).await? {
            let touchpoints = item::read::<Touchpoints>(item)?.newest_first();
            let file = |touchpoint: Touchpoint| touchpoint.resume()?.file().cloned();
            files.extend(touchpoints.filter_map(file));
        }
        Ok(files)
    }

    /// The source that an erased candidate was added with, if the client chose it, as long as the history says so.
    pub async fn find_chosen_source(
        &self,
        tenant: Tenant,
        candidate: Id,
    ) -> Result<Option<Source>, StoreError> {
        let range = Range::Prefix { prefix: keys::HISTORY, after: None };
        let (first, _) = self.query(&keys::candidate_partition(tenant, candidate), 1, range).await?;
        let Some(first) = first.into_iter().next() else { return Ok(None) };
        Ok(match item::read::<Touchpoints>(first)?.newest_first().last().map(|oldest| oldest.kind) {
            Some(TouchpointKind::Created { source }) => Some(source).filter(Source::is_chosen),
            _ => None,
        })
    }

    /// Removes everything that belongs to an erased candidate, except the record and what has a step of its own: screens, and
    /// traces with what they lead to.
    pub async fn remove_belongings(&self, tenant: Tenant, candidate: Id) -> Result<(), StoreError> {
        let own = [keys::candidate_partition(tenant, candidate), keys::traces(tenant, candidate)];
        let belongings = self.partitions_of(Owner::Candidate, tenant, Some(candidate));
        self.remove_all(tenant, belongings.into_iter().filter(|partition| !own.contains(partition))).await?;
        self.remove_all(tenant, keys::candidate_extras(tenant, candidate)).await
    }

    async fn remove_all(
        &self,
        tenant: Tenant,
        partitions: impl IntoIterator<Item = keys::Partition>,
    ) -> Result<(), StoreError> {
        let mut deletion = Deletion { store: self, tenant, deleted: 0 };
        for partition in partitions {
            deletion.delete_partition(&partition).await?;
        }
        Ok(())
    }

    /// Finishes the task of an erasure; or, with `due`, postpones it.
    pub async fn finish_erasure(
        &self,
        task: &Task,
        erased: &ErasedCandidate,
        due: Option<Timestamp>,
    ) -> Result<(), CommitError> {
        if due.is_none() {
            Box::pin(self.forget_quarantined(task.tenant(), Some(erased.erasure.id))).await?;
        }
        let after = erased.clone().due(due);
        let mut transaction = Transaction::new(task.tenant());
        transaction.delete_task(task);
        transaction.replace_erased(erased, &after)?;
        transaction.put_erasure_task(&after)?;
        if due.is_none() {
            transaction.delete(keys::unfinished_erasure(task.tenant(), after.erasure.id));
        }
        self.commit(transaction).await
    }
}
