//! Reads the table for an export, page by page, and adds rows to its output.

use std::future::ready;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::stream::{self, StreamExt};
use jiff::SignedDuration;
use shared::clock::Clock;
use shared::handlers::export_rows::{self, PersonRow};
use shared::handlers::responses::posting::Posting as PostingRow;
use shared::handlers::responses::role::Role as RoleRow;
use shared::handlers::responses::screen::ScreenAccess;
use shared::model::{Export, ExportKind, ExportStep, Organization, Posting, Role, Tenant};
use shared::store::{Listed, Paging, Store, Wanted};

use super::output::Output;
use crate::TaskError;

/// The number of roles that one query reads.
const ROLES: u32 = 100;
/// The number of people that one query lists.
const PEOPLE: u32 = 50;
/// The number of people who are read at a time.
const CONCURRENCY: usize = 8;
/// The number of people after which a turn ends.
const ENOUGH_PEOPLE: usize = 1_000;
/// The number of bytes after which a turn ends.
const ENOUGH_BYTES: usize = 4 * 1024 * 1024;
/// The time after which a turn ends. A run may take two minutes.
const ENOUGH_TIME: SignedDuration = SignedDuration::from_secs(20);

/// What is read next, and where its list goes on.
type Next = (ExportStep, Option<String>);

/// What reading needs.
pub(super) struct Reader<'j> {
    pub(super) store: &'j Store,
    pub(super) clock: &'j Clock,
    pub(super) tenant: Tenant,
    pub(super) export: &'j Export,
    pub(super) organization: &'j Organization,
}

impl Reader<'_> {
    fn has_any(&self, kinds: &[ExportKind]) -> bool {
        kinds.iter().any(|kind| self.export.has(*kind))
    }

    /// Reads roles with their job postings.
    pub(super) async fn read_roles(&self, output: &mut Output) -> Result<Next, TaskError> {
        let Self { store, clock, tenant, export, .. } = self;
        let people = (ExportStep::People, None);
        // People name their roles by external ids.
        if !self.has_any(&[ExportKind::Roles, ExportKind::JobPostings, ExportKind::Candidates]) {
            return Ok(people);
        }
        if let Some(id) = export.role_id {
            if let Some((role, posting)) = store.find_role_to_export(*tenant, id).await? {
                self.add_role(output, role, posting.as_ref())?;
            }
            return Ok(people);
        }
        let (started, mut before) = (clock.now(), export.place.clone());
        loop {
            let page = Paging { limit: ROLES, before };
            let Listed { items, next } = store.list_roles_and_postings(*tenant, &page).await?;
            for (role, posting) in items {
                self.add_role(output, role, posting.as_ref())?;
            }
            before = next;
            if before.is_none() {
                return Ok(people);
            }
            if output.added >= ENOUGH_BYTES || clock.now().duration_since(started) > ENOUGH_TIME {
                return Ok((ExportStep::Roles, before));
            }
        }
    }

    fn add_role(&self, output: &mut Output, role: Role, posting: Option<&Posting>) -> Result<(), TaskError> {
        let Self { clock, export, organization, .. } = self;
        if let Some(external_id) =
            role.content.external_id.clone().filter(|_| export.has(ExportKind::Candidates))
        {
            output.roles.insert(role.id, external_id);
        }
        if let Some(posting) = posting {
            let row = PostingRow::of(posting, &role, organization, &export.base_url, clock.now());
            output.add(ExportKind::JobPostings, &row)?;
        }
        output.add(ExportKind::Roles, &RoleRow::of(role, organization, &export.base_url))
    }

    /// Reads people and everything about them, newest first.
    pub(super) async fn read_people(&self, output: &mut Output) -> Result<Next, TaskError> {
        let Self { store, clock, tenant, export, .. } = self;
        let all = (ExportStep::Files, None);
        let of_people = [
            ExportKind::Candidates,
            ExportKind::Applications,
            ExportKind::Notes,
            ExportKind::VoiceScreens,
            ExportKind::Touchpoints,
        ];
        if !self.has_any(&of_people) {
            return Ok(all);
        }
        let wanted = Wanted {
            notes: self.has_any(&[ExportKind::Candidates, ExportKind::Notes]),
            screens: export.has(ExportKind::VoiceScreens) && export.has_results,
        };
        let changes = store.list_role_changes(*tenant).await?;
        let (started, mut before, mut seen) = (clock.now(), export.place.clone(), 0);
        loop {
            let page = Paging { limit: PEOPLE, before };
            let Listed { items, next } = store.list_people_to_export(*tenant, export.role_id, &page).await?;
            seen += items.len();
            // Nobody is read twice: who is being read when a turn has enough is the last one of it.
            let has_enough = &AtomicBool::new(false);
            let read =
                async |(id, place)| (place, store.find_person_to_export(*tenant, id, wanted, &changes).await);
            let items = stream::iter(items).take_while(|_| ready(!has_enough.load(Ordering::Relaxed)));
            let mut people = items.map(read).buffered(CONCURRENCY);
            let mut last = None;
            while let Some((place, person)) = people.next().await {
                has_enough.store(output.added >= ENOUGH_BYTES, Ordering::Relaxed);
                last = Some(place);
                let Some(person) = person? else { continue };
                let person = match export.role_id {
                    Some(role) => export_rows::about_role(person, role),
                    None => Some(person),
                };
                let Some(person) = person else { continue };
                self.add_person(output, &person)?;
            }
            if has_enough.load(Ordering::Relaxed) {
                return Ok((ExportStep::People, last));
            }
            before = next;
            if before.is_none() {
                return Ok(all);
            }
            let is_enough = seen >= ENOUGH_PEOPLE
                || output.added >= ENOUGH_BYTES
                || clock.now().duration_since(started) > ENOUGH_TIME;
            if is_enough {
                return Ok((ExportStep::People, before));
            }
        }
    }

    fn add_person(
        &self,
        output: &mut Output,
        person: &shared::store::ExportedPerson,
    ) -> Result<(), TaskError> {
        let Self { export, .. } = self;
        let access = ScreenAccess::with_results(export.has_results);
        if export.has(ExportKind::Candidates) {
            let row = PersonRow::of(person, |role| output.roles.get(&role).cloned());
            output.add_person(&row)?;
        }
        if export.has(ExportKind::Applications) {
            for row in export_rows::applications(person) {
                output.add(ExportKind::Applications, &row)?;
            }
        }
        if export.has(ExportKind::Notes) {
            for row in export_rows::notes(person) {
                output.add(ExportKind::Notes, &row)?;
            }
        }
        if export.has(ExportKind::VoiceScreens) {
            for row in export_rows::screens(person, access) {
                output.add(ExportKind::VoiceScreens, &row)?;
            }
        }
        if export.has(ExportKind::Touchpoints) {
            for row in export_rows::touchpoints(person, access) {
                output.add(ExportKind::Touchpoints, &row)?;
            }
        }
        Ok(())
    }
}
