//! Rewriting: what an earlier release has stored about people is written as this release writes it.
//!
//! The people of a tenant are read in the order of their list. Each record that this release would write differently is replaced
//! on the condition that it has not changed, together with what the candidate is found by. Whoever is added or edited meanwhile
//! is written by this release anyway. After each page, the item with the organization's name keeps how far the run has come,
//! so an interrupted run continues there. When everybody is done, the gate says so, and searches no longer ask for older
//! entries.

use aws_sdk_dynamodb::types::AttributeValue;

use super::changes::Changes;
use super::item::number;
use super::keys::{self, Key};
use super::list::Range;
use super::maybe_erased::MaybeErased;
use super::organizations::ATTEMPTS;
use super::{CommitError, FeedRun, Item, Sequenced, Store, StoreError, Transaction};
use crate::clock::Timestamp;
use crate::id::Ids;
use crate::model::{Actor, CandidateRecord, IndexForm, SearchWords, Tenant, Touchpoint, TouchpointKind};

/// How often a run waits for the search index.
const WAITS: usize = 100;
/// The number of people of a page.
const PAGE: u32 = 100;
/// The attribute of the item with the organization's name that says how far a run has come: the form that it writes, and the
/// last range key.
const PROGRESS: &str = "rewritten_to";
/// The attribute of the gate with the form of the oldest entries in the search index.
const INDEX_FORM: &str = "index_form";

/// What a run has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewriting {
    /// The number of people who were read.
    pub people: u64,
    /// The number of them who were written again, or would be.
    pub rewritten: u64,
}

/// The work on a page, which a pause follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageWork {
    /// The number of items that were read.
    pub read: usize,
    /// The number of items that were written.
    pub written: usize,
}

impl Store {
    /// Writes all people of a tenant again whom this release would write differently; without `writes`, only counts them.
    /// `pause` is awaited after each page. A changed telephone number is a touchpoint.
    pub async fn rewrite_people<P: Future<Output = ()>>(
        &self,
        tenant: Tenant,
        writes: bool,
        run: FeedRun<'_>,
        pause: impl Fn(PageWork) -> P,
    ) -> Result<Rewriting, StoreError> {
        let (ids, now) = (run.ids, run.clock.now());
        let mut done = Rewriting::default();
        let Some(profile) = self.read(keys::profile(tenant)).await? else { return Ok(done) };
        let mut before = progress(&profile);
        let mut everybody = true;
        loop {
            let range = Range::Before(before.as_deref());
            let (listed, next) = self.query(&keys::candidates(tenant, None, None), PAGE, range).await?;
            let mut work = PageWork { read: 2 * listed.len(), written: 0 };
            let keys = listed.iter().map(|item| Ok(keys::candidate_record(tenant, Key::of(item)?.id()?)));
            let keys = keys.collect::<Result<Vec<_>, StoreError>>()?;
            let records = if keys.is_empty() { Vec::new() } else { self.read_many(keys).await? };
            done.people += records.len() as u64;
            for record in records {
                match self.complete_record(tenant, record).await {
                    Ok(Some(MaybeErased::Present(record))) => {
                        let written = Box::pin(self.rewrite(tenant, record, writes, ids, now)).await?;
                        work.written += written;
                        done.rewritten += u64::from(written > 0);
                    }
                    Ok(_) => {}
                    // It is reported. Whoever restores it runs the command again.
                    Err(StoreError::Unreadable(_)) => everybody = false,
                    Err(error) => return Err(error),
                }
            }
            if work.written > 0 && writes {
                self.follow(tenant, run).await?;
            }
            before = next;
            if let Some(position) = before.as_ref().filter(|_| writes && everybody) {
                self.keep_progress(tenant, Some(position)).await?;
            }
            pause(work).await;
            if before.is_none() {
                break;
            }
        }
        if writes && everybody {
            self.await_words(tenant, run, &pause).await?;
            self.finish_rewriting(tenant).await?;
        }
        Ok(done)
    }

    /// Writes a record again, unless it is as this release writes it. Returns the number of items that were written, or that
    /// would be.
    async fn rewrite(
        &self,
        tenant: Tenant,
        record: CandidateRecord,
        writes: bool,
        ids: &Ids,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        let id = record.candidate.id;
        let mut current = Some(record);
        for _ in 0..ATTEMPTS {
            let Some((before, after)) =
                current.and_then(|before| before.rewritten(now).map(|after| (before, after)))
            else {
                return Ok(0);
            };
            let kind = TouchpointKind::Updated { fields: vec!["phone".to_owned()], resume: None };
            let is_changed = before.candidate != after.candidate;
            let touchpoint =
                is_changed.then(|| Touchpoint { id: ids.next(), kind, at: now, actor: Actor::system() });
            let mut transaction = Transaction::new(tenant);
            transaction.replace_candidate(&before, &after, touchpoint.as_slice())?;
            // The feed then writes an entry for each word.
            let words = SearchWords::of(&after.candidate.profile, after.index_form);
            let written = transaction.len() + words.iter().count();
            if !writes || self.attempt(transaction).await? {
                return Ok(written);
            }
            // Somebody has changed or erased the person.
            current = self.find_candidate(tenant, id).await?.and_then(MaybeErased::present);
        }
        Err(StoreError::Unavailable(format!("the candidate {id} of {tenant} changes all the time")))
    }

    /// Moves the changes of a tenant to the feed, which writes the search index, unless another run does.
    async fn follow(&self, tenant: Tenant, run: FeedRun<'_>) -> Result<(), StoreError> {
        let mut moved = Sequenced { has_more: true, ..Sequenced::default() };
        while moved.has_more {
            match self.sequence(tenant, run, &mut moved).await {
                Ok(()) => {}
                Err(CommitError::Store(error)) => return Err(error),
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Waits until the search index has all words that were written.
    async fn await_words<P: Future<Output = ()>>(
        &self,
        tenant: Tenant,
        run: FeedRun<'_>,
        pause: &impl Fn(PageWork) -> P,
    ) -> Result<(), StoreError> {
        for _ in 0..WAITS {
            self.follow(tenant, run).await?;
            if !self.awaits_entries(tenant, None).await? {
                return Ok(());
            }
            pause(PageWork { read: PAGE as usize, written: 0 }).await;
        }
        Err(StoreError::Unavailable(format!("the search index of {tenant} is behind: run the command again")))
    }

    /// Keeps how far a run has come; `None` after its end.
    async fn keep_progress(&self, tenant: Tenant, position: Option<&str>) -> Result<(), StoreError> {
        let progress = |position| AttributeValue::S(format!("{}#{position}", u8::from(IndexForm::NEWEST)));
        let changes = match position {
            Some(position) => Changes::set(PROGRESS, progress(position)),
            None => Changes::between(&Item::from([(PROGRESS.to_owned(), progress(""))]), &Item::new()),
        };
        let mut transaction = Transaction::new(tenant);
        transaction.change_existing(keys::profile(tenant), changes);
        self.commit_any(transaction).await
    }

    /// Records that all entries of the search index have the newest form.
    async fn finish_rewriting(&self, tenant: Tenant) -> Result<(), StoreError> {
        let newest = number(u8::from(IndexForm::NEWEST));
        let mut transaction = Transaction::new(tenant);
        transaction.change_existing(keys::gate(tenant), Changes::set(INDEX_FORM, newest));
        self.commit_any(transaction).await?;
        self.keep_progress(tenant, None).await
    }
}

/// How far an interrupted run of this release has come.
fn progress(profile: &Item) -> Option<String> {
    let (form, position) = profile.get(PROGRESS)?.as_s().ok()?.split_once('#')?;
    (form.parse() == Ok(u8::from(IndexForm::NEWEST))).then(|| position.to_owned())
}
