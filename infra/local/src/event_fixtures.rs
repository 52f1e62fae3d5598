//! The records that the sample events in `events/` use: roles, candidates, members and so on, each in the state that its
//! event requires. No event changes the records of another event, so each event succeeds once, in any order.
//!
//! Like the demo organizations, the records exist only in the local service, because their secrets are public.

use std::error::Error;

use shared::auth::{Claims, Credential, Kind};
use shared::clock::{Timestamp, later};
use shared::id::Id;
use shared::model::{
    Actor, ActorKind, Analysis, ApplicationForm, AssignedFile, Attempt, Audience, AuditTarget,
    AuditTargetKind, CandidateFile, CandidateFileKind, CandidateRecord, Cause, Client, Code, ConsentPurpose,
    Delivery, DeliveryOrigin, DeliveryStatus, Device, Email, EndedBy, EndpointProgress, EventType, Export,
    ExportFormat, ExportOrder, FileContent, FileOrigin, GateHash, Grant, Import, ImportFindings,
    ImportStatus, ImportZip, Invitation, LegalHold, Link, Logo, Member, MemberRole, Mode, Move, Note,
    OpenScreen, Outcome as CallOutcome, Passkey, Posting, PostingContent, Profile, Report, ResumeFile, Role,
    RoleContent, Scopes, Scores, ScreenRecord, SecondFactor, Session, Slug, Source, Speaker, StoredKeys,
    Submission, SubmittedConsent, SuspectForm, SuspectSign, Tenant, Text, TokenSet, Turn, VoiceProvider,
    WebhookEndpoint, WebhookKeys, challenge,
};
use shared::random::Random;
use shared::secret::Secret;
use shared::store::{Confirmation, Fact, MaybeErased, Store, Transaction};
use shared::token_encryption::EncryptionKeys;

use crate::demo::{self, DEMOS, SEALING_KEYS};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The client id of the OAuth application in the events.
const CLIENT: &str = "rc_client_recorded";
/// A picture of one grey pixel.
pub const LOGO: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\x0aIDATx\xdach\x00\x00\x00\x82\x00\x81\xdaE\x08;\x00\x00\x00\x00IEND\xaeB`\x82";
/// The PKCE code verifier of the authorization codes.
const VERIFIER: &str = "recorded-verifier-of-forty-three-characters-x";

/// Creates all records, in the live mode of the first demo organization.
pub async fn create(store: &Store, now: Timestamp) -> Outcome<()> {
    let fixtures = EventFixtures { store, tenant: DEMOS[0].tenant(Mode::Live)?, now };
    fixtures.create_hiring_records().await?;
    fixtures.create_members_and_keys().await?;
    fixtures.create_webhook_endpoints().await?;
    fixtures.create_imports().await?;
    create_export(store, fixtures.tenant, id(61)?, now).await?;
    fixtures.create_grants().await?;
    fixtures.create_confirmations().await
}

/// The id with this number. The first digit stands for the type of record, and a second digit for a variant: role 12 is
/// in a different state from role 1.
fn id(number: u64) -> Outcome<Id> {
    Ok(Id::new(1_700_000_000_000_000 + number).ok_or("not an id")?)
}

fn text<const MAX: usize, const MULTILINE: bool>(text: &str) -> Outcome<Text<MAX, MULTILINE>> {
    Ok(Text::parse(text)?.ok_or("the text must not be blank")?)
}

/// Pads a name to the length of a secret.
fn secret(name: &str) -> String {
    format!("{name:0<27}")
}

/// A second factor with a public secret.
fn second_factor(now: Timestamp) -> Outcome<SecondFactor> {
    let secret =
        EncryptionKeys::parse(SEALING_KEYS)?.encrypt(&Secret::new("recorded"), "recorded", [7; 24])?;
    Ok(SecondFactor { secret, last_step: 0, recovery_codes: Vec::new(), added_at: now })
}

/// A passkey that nobody can use.
fn passkey(now: Timestamp) -> Outcome<Passkey> {
    let credential = "{}".to_owned();
    Ok(Passkey { id: id(91)?, name: text("Recorded")?, credential, added_at: now, used_at: None })
}

/// The URL of the endpoints. Nobody listens there.
pub const WEBHOOK_URL: &str = "https://hooks.example.com/";

/// Creates a webhook endpoint whose keys are public: those of a random generator that begins with the id.
pub async fn create_webhook_endpoint(
    store: &Store,
    tenant: Tenant,
    id: Id,
    url: &str,
    now: Timestamp,
) -> Outcome<()> {
    let random = Random::seeded(id.get());
    let keys = WebhookKeys::generate(&random);
    let keys = StoredKeys::encrypt(&keys, tenant, id, &EncryptionKeys::parse(SEALING_KEYS)?, &random)?;
    let endpoint = WebhookEndpoint {
        id,
        url: url.parse()?,
        description: None,
        types: Vec::new(),
        hmac: true,
        disabled_reason: None,
        keys,
        previous_keys: None,
        created_by: None,
        url_chosen_by: None,
        created_at: now,
        updated_at: now,
        version: 1,
    };
    let mut transaction = Transaction::new(tenant);
    transaction.insert_webhook_endpoint(&endpoint, &EndpointProgress::beginning_at(tenant, id, 0))?;
    Ok(store.commit(transaction).await?)
}

/// Creates an import without rows that is checked, with a file that a member has assigned, or done.
pub async fn create_import(
    store: &Store,
    tenant: Tenant,
    id: Id,
    status: ImportStatus,
    now: Timestamp,
) -> Outcome<()> {
    let waiting = Import::new(id, secret("import"), Actor::system(), now);
    let checked = waiting.check(now).read(ImportFindings::default(), 0, 0, 0, now);
    let import = if status == ImportStatus::Done {
        Import {
            status,
            run_at: Some(now),
            ended_at: Some(now),
            task_due: Some(later(now, Import::KEPT)),
            ..checked
        }
    } else {
        let matched = checked.clone().with_zip(now).zip_matched(0, 0, "", now);
        let file = AssignedFile { number: 1, row: 1, kind: CandidateFileKind::Resume };
        let zip = matched.zip.map(|zip| ImportZip { assigned: vec![file], etag: None, ..zip });
        Import { zip, ..checked }
    };
    let mut transaction = Transaction::new(tenant);
    transaction.insert_import(&import)?;
    Ok(store.commit(transaction).await?)
}

/// Creates an export that is being written.
pub async fn create_export(store: &Store, tenant: Tenant, id: Id, now: Timestamp) -> Outcome<()> {
    let order = ExportOrder {
        format: ExportFormat::Ndjson,
        kinds: Vec::new(),
        role_id: None,
        has_results: true,
        base_url: "https://api.rolecall.example".to_owned(),
    };
    let export = Export::new((id, secret("export")), order, Some(0), Actor::system(), now);
    let mut transaction = Transaction::new(tenant);
    // Nobody works on it.
    transaction.insert_export(&Export { task_due: None, ..export })?;
    Ok(store.commit(transaction).await?)
}

/// A submitted form.
pub fn submission(id: Id, application_id: Id, role_id: Id, now: Timestamp) -> Outcome<Submission> {
    let content = application_form("recorded@example.com")?;
    Ok(Submission { id, application_id, role_id, content, resume_file_id: None, submitted_at: now })
}

fn application_form(email: &str) -> Outcome<ApplicationForm> {
    Ok(ApplicationForm {
        source: None,
        name: text("Recorded")?,
        email: email.parse()?,
        phone: Some("+14155550100".parse()?),
        phone_as_typed: None,
        resume_url: None,
        note: Some(text("Recorded")?),
        consents: vec![SubmittedConsent { purpose: ConsentPurpose::Recording, wording: text("Recorded")? }],
        answers: Vec::new(),
    })
}

/// Lets a candidate apply again. The form offers a telephone number and a consent.
pub async fn apply_again(
    store: &Store,
    tenant: Tenant,
    candidate: Id,
    application: Id,
    form: Id,
    now: Timestamp,
) -> Outcome<()> {
    let found = store.find_candidate(tenant, candidate).await?.and_then(MaybeErased::present);
    let before = found.ok_or("the candidate is missing")?;
    let applied = before.applications.iter().find(|one| one.id == application);
    let role = applied.ok_or("the application is missing")?.role.id;
    let form = submission(form, application, role, now)?;
    let mut transaction = Transaction::new(tenant);
    transaction.insert_submission(candidate, &form)?;
    transaction.replace_candidate(&before, &before.clone().reapply(&form).record, &[])?;
    Ok(store.commit(transaction).await?)
}

/// Creates a suspect form for a role.
pub async fn create_suspect_form(
    store: &Store,
    tenant: Tenant,
    id: Id,
    role: Id,
    now: Timestamp,
) -> Outcome<()> {
    let form = SuspectForm {
        id,
        posting_id: role,
        role_id: role,
        received_at: now,
        network: "203.0.113.0/24".to_owned(),
        signs: vec![SuspectSign::Trap],
        content: application_form(&format!("suspect-{id}@example.com"))?,
        file: None,
    };
    let mut transaction = Transaction::new(tenant);
    transaction.insert_suspect(&form)?;
    Ok(store.commit(transaction).await?)
}

/// Gives a candidate a cover letter, whose content is nowhere, or one that was refused.
pub async fn create_file(
    store: &Store,
    tenant: Tenant,
    candidate: Id,
    id: Id,
    is_here: bool,
    now: Timestamp,
) -> Outcome<()> {
    let content = if is_here {
        FileContent::Kept(ResumeFile::new(tenant, &format!("recorded-{id}"), "txt"))
    } else {
        FileContent::Refused("This file is empty.".to_owned())
    };
    let file = CandidateFile {
        id,
        application_id: None,
        kind: CandidateFileKind::CoverLetter,
        question_id: None,
        name: Some(text("Recorded")?),
        content,
        size: 5,
        origin: FileOrigin::Team,
        created_at: now,
        created_by: Actor::system(),
        opened_at: None,
        digest: None,
    };
    let mut transaction = Transaction::new(tenant);
    transaction.insert_file(candidate, &file)?;
    Ok(store.commit(transaction).await?)
}

/// Creates a delivery that has failed.
pub async fn create_delivery(
    store: &Store,
    tenant: Tenant,
    endpoint: Id,
    id: Id,
    now: Timestamp,
) -> Outcome<()> {
    let attempt = Attempt {
        at: now,
        status: Some(503),
        error: None,
        duration_ms: 12,
        answer: Some("The queue is full.".to_owned()),
    };
    let delivery = Delivery {
        id,
        endpoint,
        event_id: id,
        seq: Some(1),
        kind: EventType::RolePublished,
        origin: DeliveryOrigin::Event,
        status: DeliveryStatus::Failed,
        next_attempt_at: None,
        attempts: vec![attempt.clone()],
        tries: 10,
        body: "{}".to_owned(),
        created_at: now,
        version: 1,
    };
    let mut transaction = Transaction::new(tenant);
    transaction.insert_delivery(&delivery)?;
    transaction.put_answer(&delivery, &attempt, None)?;
    Ok(store.commit(transaction).await?)
}

struct EventFixtures<'s> {
    store: &'s Store,
    tenant: Tenant,
    now: Timestamp,
}

impl EventFixtures<'_> {
    /// Creates the logo of the career page in test mode.
    async fn create_logo(&self) -> Outcome<()> {
        let tenant = Tenant { mode: Mode::Test, ..self.tenant };
        let found = self.store.find_organization(tenant).await?.ok_or("the organization is missing")?;
        let mut transaction = Transaction::new(tenant);
        transaction.put_logo(&found.organization, Some(Logo::check(LOGO)?))?;
        Ok(self.store.commit(transaction).await?)
    }

    /// Creates roles, job postings, candidates and voice screens.
    async fn create_hiring_records(&self) -> Outcome<()> {
        self.create_logo().await?;
        let now = self.now;
        let role = |number| -> Outcome<Role> {
            Ok(Role::draft(id(number)?, RoleContent::titled(text("Recorded")?), now))
        };
        self.create_role(role(1)?.publish(now)?, Some((2, "recorded", true))).await?;
        self.create_role(role(11)?, None).await?;
        self.create_role(role(12)?.publish(now)?, Some((22, "recorded-to-publish", false))).await?;
        self.create_role(role(13)?.publish(now)?.pause(now)?, Some((23, "recorded-to-unpublish", true)))
            .await?;
        self.create_role(role(14)?.publish(now)?, None).await?;
        self.create_role(role(15)?.close(now), None).await?;
        self.create_role(role(16)?, Some((24, "recorded-to-open", false))).await?;
        self.create_role(role(17)?.publish(now)?, None).await?;

        let candidate = |number| -> Outcome<CandidateRecord> {
            let email = format!("recorded-{number}@example.com").parse()?;
            Ok(CandidateRecord::new(id(number)?, Profile::new(text("Recorded")?, email), now))
        };
        for number in [31, 32, 33, 34, 40] {
            self.create_candidate(candidate(number)?).await?;
        }
        let moved =
            |record: CandidateRecord, step| -> Outcome<_> { Ok(record.make(&step, None, now)?.record) };
        let rejection = Move::Reject { cause: Cause::by(EndedBy::Team), notes: None };
        self.create_candidate(moved(candidate(35)?, rejection)?).await?;
        self.create_candidate(moved(candidate(37)?, Move::Hire { start_date: None })?).await?;
        let applicant = candidate(38)?.apply(id(39)?, &role(14)?.publish(now)?, Source::MANUAL, now)?;
        self.create_candidate(applicant).await?;
        // Two screens are scheduled for tomorrow; the other's call is due now.
        let tomorrow = now.saturating_add(jiff::SignedDuration::from_hours(24))?;
        self.create_screen(candidate(3)?, 4, Some(tomorrow)).await?;
        let note = Note {
            id: id(8)?,
            text: text("Recorded")?,
            actor: Actor::system(),
            created_at: now,
            updated_at: None,
        };
        let mut transaction = Transaction::new(self.tenant);
        transaction.insert_note(id(3)?, &note)?;
        // Only its author edits a note.
        for (candidate, number, kind) in [(30, 93, ActorKind::ApiKey), (52, 94, ActorKind::Member)] {
            let author = Actor { kind, id: Some(self.tenant.organization), name: "Recorded".to_owned() };
            transaction
                .insert_note(id(candidate)?, &Note { id: id(number)?, actor: author, ..note.clone() })?;
        }
        self.store.commit(transaction).await?;
        let form = submission(id(82)?, id(83)?, id(1)?, now)?;
        let mut transaction = Transaction::new(self.tenant);
        transaction.insert_submission(id(3)?, &form)?;
        self.store.commit(transaction).await?;
        let role = role(17)?.publish(now)?;
        let applicant = candidate(46)?.apply(id(47)?, &role, Source::MANUAL, now)?;
        self.create_candidate(applicant).await?;
        apply_again(self.store, self.tenant, id(46)?, id(47)?, id(48)?, now).await?;
        self.create_screen(candidate(36)?, 41, None).await?;
        // For the forms of the dashboard: candidates with and without applications, a note and a screen.
        for (number, application) in [(52, 53), (58, 59)] {
            let applicant = candidate(number)?.apply(id(application)?, &role, Source::MANUAL, now)?;
            self.create_candidate(applicant).await?;
        }
        let note = Note { id: id(81)?, ..note };
        let mut transaction = Transaction::new(self.tenant);
        transaction.insert_note(id(51)?, &note)?;
        self.store.commit(transaction).await?;
        self.create_screen(candidate(54)?, 55, Some(tomorrow)).await?;
        // The links to files differ from one service to the next, so only files to delete have any.
        for (candidate, number, is_here) in
            [(3, 84, false), (3, 85, false), (30, 86, true), (51, 87, false), (51, 88, false), (30, 89, true)]
        {
            create_file(self.store, self.tenant, id(candidate)?, id(number)?, is_here, now).await?;
        }
        // Two candidates to erase, and two for legal holds.
        for number in [43, 44, 51, 56, 57] {
            self.create_candidate(candidate(number)?).await?;
        }
        let hold = LegalHold { reason: text("Recorded")?, set_at: now, actor: Actor::system() };
        let (before, after) = (candidate(45)?, candidate(45)?.hold(hold));
        self.create_candidate(before.clone()).await?;
        let mut transaction = Transaction::new(self.tenant);
        transaction.replace_candidate(&before, &after, &[])?;
        self.store.commit(transaction).await?;
        for number in [71, 72] {
            create_suspect_form(self.store, self.tenant, id(number)?, id(17)?, now).await?;
        }
        self.create_screen(candidate(30)?, 42, Some(tomorrow)).await?;
        self.create_completed_screen(candidate(91)?, 92).await
    }

    /// Creates imports that can be read, run, cancelled and undone.
    async fn create_imports(&self) -> Outcome<()> {
        for (number, status) in [
            (100, ImportStatus::Checked),
            (101, ImportStatus::Checked),
            (102, ImportStatus::Checked),
            (103, ImportStatus::Done),
            (104, ImportStatus::Checked),
            (105, ImportStatus::Checked),
            (106, ImportStatus::Done),
            (107, ImportStatus::Checked),
            (108, ImportStatus::Checked),
        ] {
            create_import(self.store, self.tenant, id(number)?, status, self.now).await?;
        }
        Ok(())
    }

    /// Creates webhook endpoints, and a delivery to one of them.
    async fn create_webhook_endpoints(&self) -> Outcome<()> {
        for number in [61, 62, 63, 64, 66, 67, 68] {
            create_webhook_endpoint(self.store, self.tenant, id(number)?, WEBHOOK_URL, self.now).await?;
        }
        create_delivery(self.store, self.tenant, id(61)?, id(65)?, self.now).await
    }

    async fn create_role(&self, role: Role, posting: Option<(u64, &str, bool)>) -> Outcome<()> {
        let mut transaction = Transaction::new(self.tenant);
        let Some((number, slug, published)) = posting else {
            transaction.insert_role(&role)?;
            return Ok(self.store.commit(transaction).await?);
        };
        let slug = Slug::of(slug, "job");
        let content = PostingContent::default();
        let draft = Posting::draft(id(number)?, &role, slug.clone(), content, self.now);
        let posting = if published { draft.publish(&role, self.now)? } else { draft };
        let role = role.link(posting.link(), self.now);
        transaction.insert_role_and_posting(&role, &posting, &slug, 1)?;
        Ok(self.store.commit(transaction).await?)
    }

    async fn create_candidate(&self, record: CandidateRecord) -> Outcome<()> {
        let mut transaction = Transaction::new(self.tenant);
        transaction.insert_candidate(record, &[])?;
        Ok(self.store.commit(transaction).await?)
    }

    /// Creates a candidate with an invitation to a screen for the first role.
    async fn create_screen(
        &self,
        candidate: CandidateRecord,
        number: u64,
        scheduled_at: Option<Timestamp>,
    ) -> Outcome<()> {
        let (candidate_id, screen, role_id) = (candidate.candidate.id, id(number)?, id(1)?);
        let open = OpenScreen { id: screen, role_id, role_version: 1, cancel: None };
        self.create_candidate(candidate.invite(open, self.now)?.record).await?;
        let invitation = Invitation { id: screen, candidate_id, role_id, scheduled_at };
        let mut transaction = Transaction::new(self.tenant);
        transaction.insert_screen(&ScreenRecord::invited(
            invitation,
            VoiceProvider::Simulator,
            scheduled_at.unwrap_or(self.now),
            String::new(),
            self.now,
        ))?;
        Ok(self.store.commit(transaction).await?)
    }

    /// Creates a candidate with a completed screen for the first role, which has a result.
    async fn create_completed_screen(&self, candidate: CandidateRecord, number: u64) -> Outcome<()> {
        let (candidate_id, screen, role_id) = (candidate.candidate.id, id(number)?, id(1)?);
        let invitation = Invitation { id: screen, candidate_id, role_id, scheduled_at: None };
        let invited =
            ScreenRecord::invited(invitation, VoiceProvider::Simulator, self.now, String::new(), self.now);
        let turn = Turn { speaker: Speaker::Candidate, text: "Recorded".to_owned(), at_seconds: 60 };
        let scores = Scores { overall: Some(84), ..Scores::default() };
        let report = Report {
            transcript: vec![turn; 3],
            analysis: Some(Analysis { scores, ..Analysis::default() }),
            ..Report::without_conversation(CallOutcome::Completed)
        };
        self.create_candidate(candidate).await?;
        let mut transaction = Transaction::new(self.tenant);
        transaction.insert_screen(&invited.end(report, self.now))?;
        Ok(self.store.commit(transaction).await?)
    }

    /// Creates members with their sessions and links, and an API key.
    async fn create_members_and_keys(&self) -> Outcome<()> {
        let organization = self.tenant.organization;
        let owner = self.store.find_member(organization, organization).await?;
        let owner = owner.ok_or("the organization has no owner")?;
        for session in ["RecordedSession", "RecordedSwitch", "RecordedSignOut"] {
            self.create_session(&owner, session).await?;
        }
        let passkeys =
            owner.passkeys.clone().with(passkey(self.now)?).ok_or("the owner has too many passkeys")?;
        let mut transaction = Transaction::new(self.tenant);
        transaction.replace_member(&owner, &owner.clone().with_passkeys(passkeys))?;
        self.store.commit(transaction).await?;
        for number in [6, 61, 62, 63, 64, 65, 66, 67, 68, 69] {
            let email: Email = format!("recorded-{number}@acme.example").parse()?;
            let member = Member::invited(id(number)?, email, text("Recorded")?, MemberRole::Member, self.now);
            let link = self.credential(Kind::Link, member.id, &secret("RecordedLink"))?;
            let link = Link { hash: link.hash(), expires_at: self.now.saturating_add(Link::INVITATION)? };
            let accepted = number >= 64;
            let member = Member {
                password: owner.password.clone().filter(|_| accepted),
                accepted_at: accepted.then_some(self.now),
                link: (!accepted).then_some(link),
                second_factor: (number >= 67).then(|| second_factor(self.now)).transpose()?,
                ..member
            };
            let mut transaction = Transaction::new(self.tenant);
            transaction.insert_member(&member)?;
            self.store.commit(transaction).await?;
            if accepted {
                self.create_session(&member, "RecordedSession").await?;
            }
        }
        for number in [7, 71] {
            let credential = self.credential(Kind::ApiKey, id(number)?, &secret("RecordedKey"))?;
            let key = credential.api_key("Recorded".to_owned(), self.now);
            self.store.insert_api_key(Transaction::new(self.tenant), &key).await?;
        }
        Ok(())
    }

    fn credential(&self, kind: Kind, id: Id, secret: &str) -> Outcome<Credential> {
        let scopes = if kind == Kind::ApiKey { Scopes::EVERY } else { Scopes::default() };
        let claims = Claims { scopes, expires_at: None, ..Claims::default() };
        Ok(Credential::with_secret(kind, self.tenant, id, claims, &demo::credential_keys()?, secret))
    }

    async fn create_session(&self, member: &Member, name: &str) -> Outcome<()> {
        let session = self.credential(Kind::Session, member.id, &secret(name))?;
        let mut transaction = Transaction::new(self.tenant);
        let device = Device { browser: "Recorded".to_owned(), network: "127.0.0.1".to_owned() };
        transaction.insert_session(&session.hash(), &Session::begin(member, device, false, self.now))?;
        Ok(self.store.commit(transaction).await?)
    }

    /// Creates the questions whether calls of an assistant may be carried out.
    async fn create_confirmations(&self) -> Outcome<()> {
        let question = Confirmation {
            tool: "move_candidate".to_owned(),
            summary: "Reject a candidate.".to_owned(),
            facts: vec![Fact { label: "Reason".to_owned(), text: "Recorded".to_owned() }],
            target: Some(AuditTarget::of(AuditTargetKind::Candidate, id(3)?)),
            actor: Actor { kind: ActorKind::App, id: Some(id(51)?), name: "Recorded".to_owned() },
            member: None,
            confirmed_by: None,
            until: self.now.saturating_add(TokenSet::REFRESH_LIFE)?,
            version: 1,
        };
        for call in ["recorded-call", "recorded-decision"] {
            self.store.put_confirmation(self.tenant, call, &question).await?;
        }
        Ok(())
    }

    /// Creates one grant whose code has not been exchanged yet, and four with tokens.
    async fn create_grants(&self) -> Outcome<()> {
        let client = Client {
            id: CLIENT.to_owned(),
            name: text("Recorded")?,
            redirect_uris: vec!["http://127.0.0.1/callback".parse()?],
            secret_hash: None,
            uri: None,
            scopes: Some(Scopes::all()),
            created_at: self.now,
        };
        self.store.insert_client(&client).await?;
        let expires_at = self.now.saturating_add(TokenSet::REFRESH_LIFE)?;
        for number in [5, 51, 52, 53, 54] {
            let id = id(number)?;
            let code = secret("RecordedCode");
            let code = self.credential(Kind::AuthorizationCode, id, &code)?;
            let tokens = secret("RecordedFamily") + &secret("RecordedRefresh");
            let refresh = self.credential(Kind::RefreshToken, id, &tokens)?;
            let tokens = TokenSet {
                access: GateHash::of(""),
                access_expires_at: self.now,
                previous_access: None,
                family: refresh.family_hash(),
                refresh: refresh.hash(),
                used: None,
                expires_at,
            };
            let grant = Grant {
                id,
                client_id: client.id.clone(),
                client_name: client.name.clone(),
                redirect_host: "127.0.0.1".to_owned(),
                member: self.tenant.organization,
                scopes: Scopes::all(),
                audience: Audience::Api,
                code: Code {
                    hash: code.hash(),
                    redirect_uri: "http://127.0.0.1:8765/callback".to_owned(),
                    challenge: challenge(VERIFIER),
                    expires_at,
                },
                tokens: (number != 5).then_some(tokens),
                created_at: self.now,
                last_used_on: None,
                revoked_at: None,
                version: 1,
            };
            let mut transaction = Transaction::new(self.tenant);
            transaction.insert_grant(&grant)?;
            self.store.commit(transaction).await?;
        }
        self.narrow_app().await
    }

    /// Narrows an application on a site of its own, so that this can be lifted.
    async fn narrow_app(&self) -> Outcome<()> {
        let grant = self.store.find_grant(self.tenant, id(54)?).await?.ok_or("no grant")?;
        let code =
            Code { redirect_uri: "https://narrowed.example/callback".to_owned(), ..grant.code.clone() };
        let mut transaction = Transaction::new(self.tenant);
        transaction.narrow_grant(&Grant { code, ..grant }, self.now)?;
        Ok(self.store.commit(transaction).await?)
    }
}
