//! What the recorded events of `events/` name: roles, candidates, members and all the rest, each in the state that its event
//! needs. An event changes nothing that another one needs: any of them succeeds, in any order, once.
//!
//! Like the demonstration organizations, they can exist only here: their secrets are public.

use std::error::Error;

use jiff::Timestamp;
use shared::auth::{Credential, Kind};
use shared::clock::to_second;
use shared::id::Id;
use shared::model::{
    CandidateFile, Client, ClientAuthentication, Code, Email, Grant, Invitation, Link, Member, MemberRole,
    Mode, OpenScreen, Opening, Posting, PostingContent, Profile, Role, RoleContent, SalaryRange, Scopes,
    ScreenFile, Session, Slug, Tenant, Text, TokenSet, VoiceProvider, challenge,
};
use shared::store::{ApiKey, NewApiKey, Store, Writes};

use crate::demo::DEMOS;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The application that the events name.
const CLIENT: &str = "rc_client_recorded";
/// Proves to be who the code was given to.
const VERIFIER: &str = "recorded-verifier-of-forty-three-characters-x";

/// Creates it all, in the live mode of the first demonstration organization.
pub async fn create(store: &Store, now: Timestamp) -> Outcome<()> {
    let acme = Recorded { store, tenant: DEMOS[0].tenant(Mode::Live)?, now: to_second(now) };
    acme.hiring().await?;
    acme.people().await?;
    acme.grants().await
}

/// The one with this number. The tens are variations: 12 is another role than 1, in another state.
fn id(number: u64) -> Outcome<Id> {
    Ok(Id::new(1_700_000_000_000_000 + number).ok_or("not an id")?)
}

fn text<const MAX: usize>(words: &str) -> Outcome<Text<MAX>> {
    Ok(Text::parse(words)?.ok_or("a text needs words")?)
}

/// Fills up a secret.
fn secret(name: &str) -> String {
    format!("{name:0<27}")
}

struct Recorded<'s> {
    store: &'s Store,
    tenant: Tenant,
    now: Timestamp,
}

impl Recorded<'_> {
    async fn hiring(&self) -> Outcome<()> {
        let now = self.now;
        let role = |number| -> Outcome<Role> {
            let content = RoleContent {
                title: text("Recorded")?,
                department: None,
                description: None,
                location: None,
                remote_policy: None,
                salary: SalaryRange::default(),
            };
            Ok(Role::draft(id(number)?, content, now))
        };
        self.role(role(1)?.publish(now)?, Some((2, "recorded", true))).await?;
        self.role(role(11)?, None).await?;
        self.role(role(12)?.publish(now)?, Some((22, "recorded-to-publish", false))).await?;
        self.role(role(13)?.publish(now)?.pause(now)?, Some((23, "recorded-to-unpublish", true))).await?;
        self.role(role(14)?.publish(now)?, None).await?;
        self.role(role(15)?.close(now), None).await?;

        let candidate = |number| -> Outcome<CandidateFile> {
            let email = format!("recorded-{number}@example.com").parse()?;
            let profile = Profile { name: text("Recorded")?, email, phone: None, resume: None };
            Ok(CandidateFile::new(id(number)?, profile, now))
        };
        for number in 31..=34 {
            self.candidate(&candidate(number)?).await?;
        }
        self.candidate(&candidate(35)?.reject(now)?).await?;
        // One that waits for its day, and one whose call is due.
        let tomorrow = now.saturating_add(jiff::SignedDuration::from_hours(24))?;
        self.screen(candidate(3)?, 4, Some(tomorrow)).await?;
        self.screen(candidate(36)?, 41, None).await
    }

    async fn role(&self, role: Role, posting: Option<(u64, &str, bool)>) -> Outcome<()> {
        let mut writes = Writes::new(self.tenant);
        let Some((number, slug, published)) = posting else {
            writes.insert_role(&role)?;
            return Ok(self.store.commit(writes).await?);
        };
        let slug = Slug::of(slug, "job");
        let content =
            PostingContent { title: text("Recorded")?, public_description: None, requirements: None };
        let draft = Posting::draft(id(number)?, &role, slug.clone(), content, self.now);
        let posting = if published { draft.publish(role.status, self.now)? } else { draft };
        let role = role.link(posting.link(), self.now);
        writes.insert_role(&role)?;
        writes.insert_posting(&posting, &slug, 1)?;
        writes.replace_opening(None, Opening::of(&role, &posting).as_ref())?;
        Ok(self.store.commit(writes).await?)
    }

    async fn candidate(&self, file: &CandidateFile) -> Outcome<()> {
        let mut writes = Writes::new(self.tenant);
        writes.insert_candidate(&CandidateFile { version: 1, ..file.clone() })?;
        Ok(self.store.commit(writes).await?)
    }

    /// A candidate who is invited to a screen for the first role.
    async fn screen(
        &self,
        candidate: CandidateFile,
        number: u64,
        scheduled_at: Option<Timestamp>,
    ) -> Outcome<()> {
        let (candidate_id, screen, role_id) = (candidate.candidate.id, id(number)?, id(1)?);
        self.candidate(&candidate.invite(OpenScreen { id: screen, role_id }, self.now)?).await?;
        let invitation = Invitation { id: screen, candidate_id, role_id, scheduled_at };
        let mut writes = Writes::new(self.tenant);
        writes.insert_screen(&ScreenFile::invited(
            invitation,
            VoiceProvider::Simulator,
            String::new(),
            self.now,
        ))?;
        Ok(self.store.commit(writes).await?)
    }

    async fn people(&self) -> Outcome<()> {
        let organization = self.tenant.organization;
        let owner = self.store.find_member(organization, organization).await?.ok_or("nobody owns it")?;
        for browser in ["RecordedSession", "RecordedSwitch", "RecordedSignOut"] {
            self.session(&owner, browser).await?;
        }
        for number in [6, 61, 62, 63, 64, 65] {
            let email: Email = format!("recorded-{number}@acme.example").parse()?;
            let member = Member::invited(id(number)?, email, text("Recorded")?, MemberRole::Member, self.now);
            let link = Credential::with_secret(Kind::Link, self.tenant, member.id, &secret("RecordedLink"));
            let link = Link { hash: link.hash(), expires_at: self.now.saturating_add(Link::INVITATION)? };
            let accepted = number >= 64;
            let member = Member {
                password: owner.password.clone().filter(|_| accepted),
                link: (!accepted).then_some(link),
                ..member
            };
            let mut writes = Writes::new(self.tenant);
            writes.insert_member(&member)?;
            self.store.commit(writes).await?;
            if accepted {
                self.session(&member, "RecordedSession").await?;
            }
        }
        let credential = Credential::with_secret(Kind::ApiKey, self.tenant, id(7)?, &secret("RecordedKey"));
        let key = ApiKey {
            id: credential.id(),
            name: "Recorded".to_owned(),
            scopes: Scopes::all(),
            created_at: self.now,
            expires_at: None,
            revoked_at: None,
        };
        Ok(self.store.insert_api_key(self.tenant, &NewApiKey { key, hash: credential.hash() }).await?)
    }

    async fn session(&self, member: &Member, browser: &str) -> Outcome<()> {
        let session = Credential::with_secret(Kind::Session, self.tenant, member.id, &secret(browser));
        let mut writes = Writes::new(self.tenant);
        writes.insert_session(&session.hash(), &Session::begin(member, self.now))?;
        Ok(self.store.commit(writes).await?)
    }

    /// One whose code was not exchanged yet, and three with tokens.
    async fn grants(&self) -> Outcome<()> {
        let client = Client {
            id: CLIENT.to_owned(),
            name: text("Recorded")?,
            redirect_uris: vec!["http://127.0.0.1/callback".parse()?],
            authentication: ClientAuthentication::None,
            secret_hash: None,
            uri: None,
            created_at: self.now,
        };
        self.store.insert_client(&client).await?;
        let expires_at = self.now.saturating_add(TokenSet::REFRESH_LIFE)?;
        for number in [5, 51, 52, 53] {
            let id = id(number)?;
            let code = secret("RecordedCode");
            let code = Credential::with_secret(Kind::AuthorizationCode, self.tenant, id, &code);
            let tokens = secret("RecordedFamily") + &secret("RecordedRefresh");
            let refresh = Credential::with_secret(Kind::RefreshToken, self.tenant, id, &tokens);
            let tokens = TokenSet {
                access: String::new(),
                family: refresh.family_hash(),
                refresh: refresh.hash(),
                previous: None,
                expires_at,
            };
            let grant = Grant {
                id,
                client_id: client.id.clone(),
                client_name: client.name.clone(),
                redirect_host: "127.0.0.1".to_owned(),
                member: self.tenant.organization,
                scopes: Scopes::all(),
                code: Code {
                    hash: code.hash(),
                    redirect_uri: "http://127.0.0.1:8765/callback".to_owned(),
                    challenge: challenge(VERIFIER),
                    expires_at,
                },
                tokens: (number != 5).then_some(tokens),
                created_at: self.now,
                revoked_at: None,
                version: 1,
            };
            let mut writes = Writes::new(self.tenant);
            writes.insert_grant(&grant)?;
            self.store.commit(writes).await?;
        }
        Ok(())
    }
}
