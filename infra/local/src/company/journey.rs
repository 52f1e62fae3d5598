//! A person's way through the demo company's pipeline.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use shared::clock::{Clock, Timestamp, later};
use shared::id::{Id, Ids};
use shared::model::{
    Actor, Answers, ApplicationForm, Assessment, CallState, CancelReason, CandidateRecord, Consent,
    ConsentPurpose, EndedBy, Failure, Followed, Invitation, Move, Moved, Note, OpenScreen,
    Outcome as CallOutcome, Profile, RejectionReasons, Report, ScreenRecord, ScreenStatus, Source, Stage,
    Step, Submission, SubmittedConsent, Tags, Touchpoint, TouchpointKind, VoiceProvider,
};
use shared::providers::voice::{CallOrder, simulated_report};
use shared::services::Author;
use shared::services::screening::Reference;
use shared::store::Transaction;

use super::people::Person;
use super::questions::answers;
use super::roles::PlannedRole;
use super::setting::{Company, Outcome, text};

const HOUR: u64 = 60;
const DAY: u64 = 24 * HOUR;

/// The consents that the form on the career page asks for.
const CONSENTS: [(ConsentPurpose, &str); 3] = [
    (ConsentPurpose::Application, "I agree that my data is stored and used to consider my application."),
    (ConsentPurpose::VoiceScreen, "I agree that an AI interviewer calls me about my application."),
    (ConsentPurpose::Recording, "I agree that calls with the AI interviewer are transcribed."),
];
const MESSAGES: [&str; 6] = [
    "I have used your service as a customer for two years and would love to work on it.",
    "I can start in six weeks. Please call in the afternoon, I am at work until three.",
    "A former colleague works with you and spoke so well of the team that I am writing.\n\nMy portfolio is on my website.",
    "I am moving to the city in spring anyway.",
    "My résumé looks unusual because I changed careers. I am happy to explain.",
    "Looking forward to hearing from you!",
];
const TAGS: [&str; 7] = [
    "relocation",
    "remote only",
    "bilingual",
    "career changer",
    "former intern",
    "night owl",
    "speaks at events",
];
/// Why an application ends: the reason in the list that every organization begins with, and a text.
type Why = (u64, &'static str);
const UNSUITABLE: [Why; 4] = [
    (1, "Not enough experience for this level"),
    (3, "The salary expectation is far above the range"),
    (5, "No work permit, and we cannot sponsor one for this role"),
    (8, "The application does not fit the role"),
];
const AFTER_SCREEN: [Why; 3] = [
    (1, "The voice screen showed too little relevant experience"),
    (2, "The answers in the voice screen stayed vague"),
    (8, "Not motivated for this role in particular"),
];
const AFTER_INTERVIEW: [Why; 4] = [
    (7, "Strong, but another candidate has more experience with our stack"),
    (2, "The team missed depth in the technical conversation"),
    (11, "Would rather work fully remote than we can offer"),
    (1, "Good conversation, but not senior enough"),
];
const AFTER_OFFER: [Why; 2] = [(9, "Accepted another offer"), (10, "We could not agree on the salary")];
const NOTES: [&str; 8] = [
    "Good first impression. Asked precise questions about the team.",
    "Spoke with a reference: reliable, kind, sometimes too modest.",
    "Notice period is three months. Could start earlier if we talk to the employer.",
    "The case study was excellent. See the last page.",
    "Prefers mornings for interviews.",
    "Would also fit the team in London. Keep in mind.",
    "Nervous at the start, very convincing after ten minutes.",
    "Salary expectation is at the upper end of our range.",
];

/// The result of inviting a person to a voice screen.
enum Screened {
    /// The conversation has this score.
    Scored(u8),
    /// There was no conversation.
    Silent,
    /// The call is still to come, or there was no time for it.
    Waiting,
}

/// A person's way so far. Each step is a version of the record with its touchpoints.
pub(super) struct Journey<'c> {
    company: &'c Company<'c>,
    clock: Arc<AtomicI64>,
    /// The end of what can have happened.
    until: Timestamp,
    ids: Ids,
    pub(super) record: CandidateRecord,
    past: Vec<(CandidateRecord, Vec<Touchpoint>)>,
    transaction: Transaction,
}

impl<'c> Journey<'c> {
    /// Begins with an application.
    pub(super) fn begin(
        company: &'c Company<'c>,
        person: Person,
        role: &PlannedRole,
        applied_at: Timestamp,
    ) -> Outcome<Self> {
        let dice = &company.dice;
        let millis = applied_at.as_millisecond() + i64::try_from(dice.below(1_000))?;
        let clock = Arc::new(AtomicI64::new(millis));
        let time = clock.clone();
        let time = move || Timestamp::from_millisecond(time.load(Ordering::Relaxed)).unwrap_or_default();
        let ids = Ids::new(Clock::from_fn(time), dice.random());
        let (source, actor) = match dice.below(100) {
            0..45 => (Source::CAREER_PAGE, Actor::career_page()),
            45..65 => (company.sources.linkedin.clone(), company.staff.program.clone()),
            65..80 => (company.sources.referral.clone(), company.staff.recruiter.clone()),
            80..92 => (company.sources.x.clone(), company.staff.program.clone()),
            _ => (Source::MANUAL, company.staff.recruiter.clone()),
        };
        let tags: Result<Vec<_>, _> = (0..dice.below(3)).map(|_| text(dice.pick(&TAGS))).collect();
        let Person { name, email, phone } = person;
        let profile = Profile {
            phone: phone.clone(),
            source: Some(source.clone()),
            tags: Tags::of(tags?),
            ..Profile::new(name.clone(), email.clone())
        };
        let record = CandidateRecord::new(ids.next(), profile, applied_at);
        let transaction = Transaction::new(company.tenant);
        let mut journey =
            Self { company, clock, until: company.now, ids, record, past: Vec::new(), transaction };
        let mut kinds = vec![TouchpointKind::Created { source: source.clone() }];
        let mut form = None;
        if source == Source::CAREER_PAGE {
            let count = if dice.chance(75) { CONSENTS.len() } else { 1 };
            let mut consents = Vec::new();
            for (purpose, wording) in CONSENTS.into_iter().take(count) {
                consents.push(SubmittedConsent { purpose, wording: text(wording)? });
            }
            let note = if dice.chance(40) { Some(text(dice.pick(&MESSAGES))?) } else { None };
            kinds.extend(journey.consent(&consents, &actor)?);
            let (phone_as_typed, resume_url) = (None, None);
            let number = journey.record.candidate.id.get();
            let answers = match &role.posting {
                Some(posting) => answers(role.plan.questions(), &posting.content.questions, number)?,
                None => Vec::new(),
            };
            form = Some(ApplicationForm {
                name,
                email,
                phone,
                phone_as_typed,
                resume_url,
                note,
                consents,
                source: None,
                answers,
            });
        }
        kinds.push(journey.application(role, source, form)?);
        journey.step(actor, kinds);
        Ok(journey)
    }

    /// Records consents. Returns their touchpoints.
    fn consent(&mut self, consents: &[SubmittedConsent], actor: &Actor) -> Outcome<Vec<TouchpointKind>> {
        let (at, mut kinds) = (self.now(), Vec::new());
        for SubmittedConsent { purpose, wording } in consents.iter().cloned() {
            let consent = Consent {
                id: self.ids.next(),
                purpose,
                granted: true,
                obtained_at: at,
                wording,
                actor: actor.clone(),
                created_at: at,
            };
            self.transaction.insert_consent(self.record.candidate.id, &consent)?;
            kinds.push(TouchpointKind::of_consent(&consent));
            self.record = self.record.clone().record_consent(consent)?;
        }
        Ok(kinds)
    }

    /// Adds an application. Returns its touchpoint.
    fn application(
        &mut self,
        role: &PlannedRole,
        source: Source,
        form: Option<ApplicationForm>,
    ) -> Outcome<TouchpointKind> {
        let application_id = self.ids.next();
        let now = self.now();
        self.record = self.record.clone().apply(application_id, &role.open, source.clone(), now)?;
        let role_id = role.open.id;
        let mut submission_id = None;
        if let Some(content) = form {
            let id = self.ids.next();
            let (resume_file_id, submitted_at) = (None, now);
            let form = Submission { id, application_id, role_id, content, resume_file_id, submitted_at };
            self.transaction.insert_submission(self.record.candidate.id, &form)?;
            self.record = self.record.clone().with_first_submission(&form, false);
            let answers = form.content.answers;
            if !answers.is_empty() {
                let candidate = self.record.candidate.id;
                self.transaction.insert_answers(candidate, &Answers { application_id, answers })?;
                self.record = self.record.clone().with_answers(application_id);
            }
            submission_id = Some(id);
        }
        Ok(TouchpointKind::Applied { application_id, role_id, source, submission_id })
    }

    /// Applies for another role a few days later, if the person was not hired and the role is open.
    pub(super) fn apply_again(&mut self, role: &PlannedRole) -> Outcome<bool> {
        self.until = self.company.now;
        if self.record.candidate.stage == Stage::Hired || !role.is_open() {
            return Ok(false);
        }
        if !self.wait(DAY, 5 * DAY) || role.opened_at().is_none_or(|opened_at| opened_at > self.now()) {
            return Ok(false);
        }
        let applied = self.application(role, Source::API, None)?;
        self.step(self.company.staff.program.clone(), vec![applied]);
        Ok(true)
    }

    /// Follows the person through the pipeline until the present or the end of the role. A lucky person is hired.
    pub(super) fn walk(&mut self, role: &PlannedRole, hires: &mut u64, lucky: bool) -> Outcome<()> {
        let dice = &self.company.dice;
        self.until = role.ended_at().unwrap_or(self.company.now);
        if !self.wait(4 * HOUR, 4 * DAY) {
            return Ok(());
        }
        if !lucky && dice.chance(25) {
            return self.reject(role, dice.pick(&UNSUITABLE), false);
        }
        if lucky || dice.chance(88) {
            let is_good = match self.screen(role, lucky)? {
                Screened::Waiting => return Ok(()),
                Screened::Scored(score) => dice.chance(if score >= 70 { 88 } else { 12 }),
                Screened::Silent => dice.chance(40),
            };
            if !self.wait(4 * HOUR, 3 * DAY) {
                return Ok(());
            }
            if !lucky && !is_good {
                return self.reject(role, dice.pick(&AFTER_SCREEN), dice.chance(30));
            }
        }
        self.advance(role, Stage::Interview)?;
        if dice.chance(55) && self.wait(6 * HOUR, 3 * DAY) {
            self.note()?;
        }
        if !self.wait(2 * DAY, 7 * DAY) {
            return Ok(());
        }
        if !lucky && dice.chance(50) {
            return self.reject(role, dice.pick(&AFTER_INTERVIEW), dice.chance(50));
        }
        self.advance(role, Stage::Offer)?;
        if !self.wait(DAY, 5 * DAY) {
            return Ok(());
        }
        if *hires > 0 && (lucky || dice.chance(60)) {
            *hires -= 1;
            return self.hire(role);
        }
        if dice.chance(70) { self.reject(role, dice.pick(&AFTER_OFFER), false) } else { Ok(()) }
    }

    /// Closes the application if the role was closed.
    pub(super) fn follow(&mut self, role: &PlannedRole) {
        let Some(closed_at) = role.closed_at() else { return };
        if let Some(Followed { record, statuses }) = self.record.clone().follow([&role.role], closed_at) {
            self.clock.store(closed_at.as_millisecond(), Ordering::Relaxed);
            self.record = record;
            self.step(Actor::system(), statuses.iter().map(TouchpointKind::of_status).collect());
        }
    }

    /// The transaction that stores everything.
    pub(super) fn end(mut self) -> Outcome<Transaction> {
        self.transaction.insert_candidate_with_past(&self.past)?;
        Ok(self.transaction)
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.clock.load(Ordering::Relaxed)).unwrap_or_default()
    }

    /// Lets some minutes pass. Returns whether there is time for that.
    fn wait(&mut self, low: u64, high: u64) -> bool {
        let minutes = i64::try_from(self.company.dice.between(low, high)).unwrap_or(0);
        let millis = self.clock.load(Ordering::Relaxed).saturating_add(minutes * 60_000);
        let has_time = millis < self.until.as_millisecond();
        if has_time {
            self.clock.store(millis, Ordering::Relaxed);
        }
        has_time
    }

    /// Keeps the record as a version, with the touchpoints of the change that led to it.
    fn step(&mut self, actor: Actor, kinds: Vec<TouchpointKind>) {
        let author = Author { ids: &self.ids, actor, at: self.now() };
        self.past.push((self.record.clone(), author.touchpoints(kinds)));
    }

    fn make(&mut self, role: &PlannedRole, step: &Move) -> Outcome<()> {
        let Moved { record, steps } = self.record.clone().make(step, Some(role.open.id), self.now())?;
        self.record = record;
        let kinds = steps.into_iter().map(|made| TouchpointKind::of(step, made)).collect();
        self.step(self.company.staff.recruiter.clone(), kinds);
        Ok(())
    }

    fn advance(&mut self, role: &PlannedRole, stage: Stage) -> Outcome<()> {
        self.make(role, &Move::Advance(stage))
    }

    /// Ends the application. A reason of candidates means that the person withdraws.
    fn reject(&mut self, role: &PlannedRole, (reason, why): Why, with_note: bool) -> Outcome<()> {
        let reasons = RejectionReasons::default();
        let reason = Id::new(reason).and_then(|id| reasons.find(id)).ok_or("the list has no such reason")?;
        let cause = reasons.cause(reason.by, reason.id, Some(text(why)?))?;
        let notes = if with_note { Some(text(self.company.dice.pick(&NOTES))?) } else { None };
        let notes = notes.filter(|_| reason.by == EndedBy::Team);
        self.make(role, &Move::Reject { cause, notes })
    }

    fn hire(&mut self, role: &PlannedRole) -> Outcome<()> {
        let start = later(self.now(), SignedDuration::from_hours(35 * 24));
        self.make(role, &Move::Hire { start_date: Some(start.to_zoned(TimeZone::UTC).date()) })
    }

    fn note(&mut self) -> Outcome<()> {
        let (id, actor) = (self.ids.next(), self.company.staff.recruiter.clone());
        let note = text(self.company.dice.pick(&NOTES))?;
        let note = Note { id, text: note, actor: actor.clone(), created_at: self.now(), updated_at: None };
        self.transaction.insert_note(self.record.candidate.id, &note)?;
        self.record.candidate.has_notes = true;
        self.record = self.record.clone().advance_version();
        self.step(actor, vec![TouchpointKind::NoteAdded { note_id: id }]);
        Ok(())
    }

    /// Invites the person to a voice screen, a second time if there was no conversation.
    fn screen(&mut self, role: &PlannedRole, lucky: bool) -> Outcome<Screened> {
        let dice = &self.company.dice;
        let mut screened = Screened::Silent;
        for is_last in [false, true] {
            if !self.wait(2 * HOUR, 20 * HOUR) {
                return Ok(Screened::Waiting);
            }
            let scheduled_at = dice.chance(60).then(|| self.slot(role)).flatten();
            let invited = self.invite(role, scheduled_at)?;
            let call_at = scheduled_at.unwrap_or_else(|| later(self.now(), SignedDuration::from_secs(5)));
            let outcome = if lucky || is_last { 0 } else { dice.below(100) };
            if outcome >= 95 {
                self.cancel(&invited)?;
                continue;
            }
            if call_at >= self.until {
                self.transaction.insert_screen(&invited)?;
                return Ok(Screened::Waiting);
            }
            self.clock.store(call_at.as_millisecond(), Ordering::Relaxed);
            let silent = Report::without_conversation;
            let report = match outcome {
                0..80 => self.conversation(role, &invited, call_at)?,
                80..87 => silent(CallOutcome::NoAnswer),
                87..91 => silent(CallOutcome::Declined),
                _ => silent(CallOutcome::Failed(Failure::Broken)),
            };
            let is_declined = report.outcome == CallOutcome::Declined;
            screened = self.end_screen(&invited, report)?;
            if is_declined || matches!(screened, Screened::Scored(_)) {
                return Ok(screened);
            }
        }
        Ok(screened)
    }

    /// A quarter of an hour on one of the next days at which the person can be called, if the role is open until then.
    fn slot(&self, role: &PlannedRole) -> Option<Timestamp> {
        const QUARTER: i64 = 15 * 60;
        let minutes = i64::try_from(self.company.dice.between(3 * HOUR, 3 * DAY)).unwrap_or(0);
        let at = later(self.now(), SignedDuration::from_mins(minutes)).as_second();
        let slot = Timestamp::from_second(at - at % QUARTER + QUARTER).ok()?;
        (role.is_open() || slot < self.until).then_some(slot)
    }

    /// Invites the person to a voice screen. The screen is not stored yet.
    fn invite(&mut self, role: &PlannedRole, scheduled_at: Option<Timestamp>) -> Outcome<ScreenRecord> {
        let (id, now, role_id) = (self.ids.next(), self.now(), role.open.id);
        let invited = self.record.clone().invite(OpenScreen::new(id, &role.open), now)?;
        self.record = invited.record;
        let mut kinds = vec![TouchpointKind::ScreenInvited { screen_id: id, role_id, scheduled_at }];
        let moved = |Step { role_id, from, to }| TouchpointKind::StageChanged { role_id, from, to };
        kinds.extend(invited.steps.into_iter().map(moved));
        self.step(self.company.staff.recruiter.clone(), kinds);
        let invitation = Invitation { id, candidate_id: self.record.candidate.id, role_id, scheduled_at };
        let call_at = scheduled_at.unwrap_or(now);
        let base_url = self.company.base_url.clone();
        Ok(ScreenRecord::invited(invitation, VoiceProvider::Simulator, call_at, base_url, now))
    }

    /// The report on a conversation that begins now.
    fn conversation(
        &self,
        role: &PlannedRole,
        invited: &ScreenRecord,
        started_at: Timestamp,
    ) -> Outcome<Report> {
        let (company, candidate) = (self.company, &self.record.candidate);
        let content = &role.open.content;
        let order = CallOrder {
            tenant: company.tenant,
            reference: Reference { tenant: company.tenant, screen: invited.screen.id }.to_string(),
            candidate_id: candidate.id,
            candidate_name: candidate.profile.name.as_str().to_owned(),
            phone: candidate.profile.phone.as_ref().map(|phone| phone.as_str().to_owned()),
            organization_name: company.organization.name.as_str().to_owned(),
            privacy_url: format!(
                "{}/careers/{}/privacy",
                company.base_url, company.organization.organization.slug
            ),
            role_id: role.open.id,
            role_title: content.title.as_str().to_owned(),
            role_description: content.description.as_ref().map(|text| text.as_str().to_owned()),
            ordered_at: started_at,
            scheduled_at: invited.screen.scheduled_at,
            callback_url: String::new(),
        };
        let report = simulated_report(&order, company.dice.below(u64::MAX), started_at);
        Ok(report.ok_or("the simulator made no report")?)
    }

    /// Ends a screen with a report, and stores it.
    fn end_screen(&mut self, invited: &ScreenRecord, report: Report) -> Outcome<Screened> {
        let id = invited.screen.id;
        let started_at = self.now();
        let mut record = invited.clone().dial(CallState::Asked, None, started_at, started_at);
        record.assessment = Some(Assessment {
            provider: VoiceProvider::Simulator,
            model: None,
            prompt_version: None,
            rubric_version: None,
        });
        if let Some(ended_at) = report.ended_at {
            record = record.begin(started_at);
            // A conversation that is not over yet ends early.
            let ended_at = ended_at.min(self.until);
            self.clock.store(ended_at.as_millisecond(), Ordering::Relaxed);
        }
        if !report.transcript.is_empty() {
            record.transcript_parts = self.transaction.put_transcript(id, &report.transcript)?;
        }
        let record = record.end(report, self.now());
        // The simulator keeps nothing of a declined call that would have to be deleted.
        let record = record.clone().follow_call(record.dialing, None);
        self.transaction.insert_screen(&record)?;
        let screen = &record.screen;
        let completed =
            TouchpointKind::ScreenCompleted { screen_id: id, role_id: screen.role_id, result: screen.result };
        let kinds = if screen.status == ScreenStatus::Completed { vec![completed] } else { Vec::new() };
        self.record = self.record.clone().end_screen(screen);
        self.step(Actor::voice_provider(), kinds);
        Ok(screen.scores.overall.map_or(Screened::Silent, Screened::Scored))
    }

    /// Cancels a screen before its call, and stores it.
    fn cancel(&mut self, invited: &ScreenRecord) -> Outcome<()> {
        let (screen_id, role_id, reason) =
            (invited.screen.id, invited.screen.role_id, CancelReason::Requested);
        self.transaction.insert_screen(&invited.clone().cancel(reason, self.now())?)?;
        self.record = self.record.clone().close_screen(screen_id);
        let cancelled = TouchpointKind::ScreenCancelled { screen_id, role_id, reason };
        self.step(self.company.staff.recruiter.clone(), vec![cancelled]);
        Ok(())
    }
}
