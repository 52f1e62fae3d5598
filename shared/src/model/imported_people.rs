//! Imports of people: those whose import is not finished, and applications with their past.

use super::application::{Application, Move, Origin, RoleCopy};
use super::candidate::{CandidateRecord, Step, Unfinished};
use super::index_form::IndexForm;
use super::role::InvalidTransition;
use super::touchpoint::TouchpointKind;
use crate::clock::Timestamp;
use crate::id::Id;

/// An application that an import brings.
#[derive(Clone, Debug)]
pub struct ImportedApplication {
    /// The identifier.
    pub id: Id,
    /// The role, in any status: an application that has not ended is closed with it.
    pub role: RoleCopy,
    /// Where it comes from.
    pub origin: Origin,
    /// When the candidate applied.
    pub applied_at: Timestamp,
    /// The moves since then with their times, oldest first. A time that is too early is that of the move before.
    pub moves: Vec<(Timestamp, Move)>,
}

/// What happened to an imported application.
enum Happened {
    Applied(Box<Application>),
    Moved(Id, Move),
}

impl CandidateRecord {
    /// The number of applications that the last write of an import puts into lists and counters.
    // Each takes four of the 100 actions of a transaction: two entries, a counter, and the application beside the record. Up to
    // 33 are for the person.
    pub const LISTED_AT_ONCE: usize = 15;
    /// The number of applications, of the first ones, that the last write of an import tells of. The events of the others follow.
    // A transaction has at most 90 events.
    pub const TOLD_AT_ONCE: usize = 80;

    /// Whether the person is seen and counted: not while an import has yet to bring a part.
    pub const fn is_shown(&self) -> bool {
        self.unfinished.is_none()
    }

    /// The record, if the person is seen.
    pub fn shown(&self) -> Option<&Self> {
        self.is_shown().then_some(self)
    }

    /// The applications that are in lists and counters.
    pub fn listed(&self) -> &[Application] {
        let listed = self.unfinished.and_then(|unfinished| self.applications.get(..unfinished.listed));
        listed.unwrap_or(&self.applications)
    }

    /// Begins the import of a new person, which takes several writes.
    #[must_use]
    pub fn begin_import(self, import_id: Id) -> Self {
        Self { unfinished: Some(Unfinished { import_id, listed: 0 }), ..self }
    }

    /// The record with more of its applications in lists, if the last write has no room for all that are not there yet.
    #[must_use]
    pub fn list_ahead(&self) -> Option<Self> {
        let unfinished = self.unfinished?;
        let left = self.applications.len().saturating_sub(unfinished.listed);
        let more = left.saturating_sub(Self::LISTED_AT_ONCE).min(Self::LISTED_AT_ONCE);
        let listed = Unfinished { listed: unfinished.listed + more, ..unfinished };
        (more > 0).then(|| Self { unfinished: Some(listed), ..self.clone() }.advance_version())
    }

    /// Ends the import of a new person, who is seen from now on.
    #[must_use]
    pub fn finish_import(self, now: Timestamp) -> Self {
        Self { unfinished: None, index_form: IndexForm::NEWEST, ..self }.updated(now)
    }

    /// Removes applications.
    #[must_use]
    pub fn without_applications(mut self, ids: &[Id], now: Timestamp) -> Self {
        self.applications.retain(|application| !ids.contains(&application.id));
        self.updated(now)
    }

    /// Adds applications with their past, in the order of their times, whatever the status of their roles. Each time is one
    /// version of the record, so what depends on the order of changes, such as the candidate's stage, is as if they had been made
    /// then. Also returns what happened, oldest first, for the history.
    ///
    /// Fails if a move does not fit the stage of its application.
    pub fn import_applications(
        mut self,
        imported: Vec<ImportedApplication>,
        now: Timestamp,
    ) -> Result<(Self, Vec<(Timestamp, TouchpointKind)>), InvalidTransition> {
        let mut happened = Vec::new();
        let ids: Vec<_> = imported.iter().map(|application| application.id).collect();
        for ImportedApplication { id, role, origin, applied_at, moves } in imported {
            let mut last = applied_at;
            let application = Application::new(id, role, origin, 0, applied_at);
            happened.push((last, Happened::Applied(application.into())));
            for (at, step) in moves {
                last = last.max(at);
                happened.push((last, Happened::Moved(id, step)));
            }
        }
        happened.sort_by_key(|(at, _)| *at);
        let mut history = Vec::new();
        for (at, happened) in happened {
            self.version += 1;
            match happened {
                Happened::Applied(application) => {
                    let (application_id, role_id) = (application.id, application.role.id);
                    let source = application.source.clone();
                    history.push((
                        at,
                        TouchpointKind::Applied { application_id, role_id, source, submission_id: None },
                    ));
                    self.applications.push(Application { since: self.version, ..*application });
                }
                Happened::Moved(id, step) => {
                    let mut applications = self.applications.iter_mut();
                    let Some(application) = applications.find(|application| application.id == id) else {
                        continue;
                    };
                    let before = application.clone();
                    application.make(&step, self.version, at)?;
                    application.past_stays.extend(before.stay(application));
                    let step_made = Step {
                        role_id: Some(application.role.id),
                        from: before.stage,
                        to: application.stage,
                    };
                    history.push((at, TouchpointKind::of(&step, step_made)));
                }
            }
        }
        // Whatever happened long ago, nobody could see it before.
        for application in self.applications.iter_mut().filter(|application| ids.contains(&application.id)) {
            application.updated_at = now;
        }
        Ok((self.updated(now), history))
    }
}
