//! Members, their sessions, and how often somebody has tried to sign in.

use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::keys::{self, EXPIRES_AT};
use super::writes::number;
use super::{Failure, Item, Store, Writes, item};
use crate::id::Id;
use crate::model::{Email, Member, Mode, Organization, Session, Tenant};

/// A session with all that it stands for.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// The session.
    pub session: Session,
    /// Whose it is.
    pub member: Member,
    /// The member's organization, as the session's mode has it.
    pub organization: Organization,
}

/// A claim on an e-mail address: whom it signs in.
#[derive(Serialize, Deserialize)]
struct MemberEmail {
    organization: Id,
    id: Id,
}

/// The most pages of 1 MB that are read of an organization's members.
const MAX_PAGES: usize = 5;
const ATTEMPTS: &str = "attempts";

impl Writes {
    /// A new member of the organization.
    pub fn insert_member(&mut self, member: &Member) -> Result<(), Failure> {
        let organization = self.tenant.organization;
        self.insert(item::write(member, keys::member(organization, member.id), None)?);
        let claim = MemberEmail { organization, id: member.id };
        self.insert_email(item::write(&claim, keys::member_email(&member.email), None)?);
        Ok(())
    }

    /// A member in place of the version before.
    pub fn replace_member(&mut self, member: &Member) -> Result<(), Failure> {
        let key = keys::member(self.tenant.organization, member.id);
        self.replace(item::write(member, key, None)?, member.version);
        Ok(())
    }

    /// No such member any more. The sessions end with the member.
    pub fn delete_member(&mut self, member: &Member) {
        self.delete_version(keys::member(self.tenant.organization, member.id), member.version);
        self.delete(keys::member_email(&member.email));
    }

    /// No write, but the member must still be as read.
    pub fn require_member(&mut self, member: &Member) {
        self.require(keys::member(self.tenant.organization, member.id), member.version);
    }

    /// A new session.
    pub fn insert_session(&mut self, hash: &str, session: &Session) -> Result<(), Failure> {
        let item = self.session_item(hash, session)?;
        self.insert(item);
        Ok(())
    }

    /// A session in place of what was known of it; one that has ended stays ended.
    pub fn replace_session(&mut self, hash: &str, session: &Session) -> Result<(), Failure> {
        let item = self.session_item(hash, session)?;
        self.rewrite(item);
        Ok(())
    }

    fn session_item(&self, hash: &str, session: &Session) -> Result<Item, Failure> {
        let mut item = item::write(session, keys::session(self.tenant.organization, hash), None)?;
        item.insert(EXPIRES_AT.to_owned(), number(session.ends_at.as_second()));
        Ok(item)
    }

    /// No such session any more, of whichever organization it was.
    pub fn delete_session(&mut self, organization: Id, hash: &str) {
        self.delete(keys::session(organization, hash));
    }
}

impl Store {
    /// Who signs in with this address.
    pub async fn find_member_by_email(&self, email: &Email) -> Result<Option<(Id, Member)>, Failure> {
        let claim = self.read(keys::member_email(email)).await?.map(item::read).transpose()?;
        // As much is read where there is nobody: how long it takes tells nothing.
        let MemberEmail { organization, id } =
            claim.unwrap_or(MemberEmail { organization: Id::LAST, id: Id::LAST });
        Ok(self.find_member(organization, id).await?.map(|member| (organization, member)))
    }

    /// One of an organization's members.
    pub async fn find_member(&self, organization: Id, id: Id) -> Result<Option<Member>, Failure> {
        self.read(keys::member(organization, id)).await?.map(item::read).transpose()
    }

    /// All of an organization's members, newest first.
    pub async fn list_members(&self, organization: Id) -> Result<Vec<Member>, Failure> {
        let members = self.whole(&keys::members(organization), MAX_PAGES).await?;
        members.into_iter().map(|(_, member)| item::read(member)).collect()
    }

    /// The session with this hash, if it is the member's and still good: one call, its organization included.
    pub async fn find_session(
        &self,
        organization: Id,
        member: Id,
        hash: &str,
        now: Timestamp,
    ) -> Result<Option<SignedIn>, Failure> {
        let gates = Mode::ALL.map(|mode| keys::gate(Tenant { organization, mode }));
        let wanted = [keys::member(organization, member), keys::session(organization, hash)];
        let mut found = self.read_many(wanted.clone().into_iter().chain(gates.clone())).await?;
        let [member, session] = wanted.map(|key| key.take_from(&mut found));
        let (Some(member), Some(session)) = (member, session) else { return Ok(None) };
        let (member, session): (Member, Session) = (item::read(member)?, item::read(session)?);
        if !session.is_good(&member, now) {
            return Ok(None);
        }
        let gate = keys::gate(Tenant { organization, mode: session.mode }).take_from(&mut found);
        let Some(organization) = gate.map(item::read).transpose()? else { return Ok(None) };
        Ok(Some(SignedIn { session, member, organization }))
    }

    /// Counts an attempt of `subject`, of which there may be `limit` in each `window` of time. `None` says that it may be
    /// made; otherwise, in how many seconds the next may.
    pub async fn count_attempt(
        &self,
        subject: &str,
        limit: u64,
        window: SignedDuration,
        now: Timestamp,
    ) -> Result<Option<i64>, Failure> {
        let ends_at = window_end(window, now);
        let left = ends_at - now.as_second();
        let call = self
            .client
            .update_item()
            .table_name(&*self.table)
            .set_key(Some(keys::attempts(subject, ends_at).attributes()))
            .update_expression("SET #expires = :expires ADD #attempts :one")
            .condition_expression("attribute_not_exists(#attempts) OR #attempts < :limit")
            .expression_attribute_names("#expires", EXPIRES_AT)
            .expression_attribute_names("#attempts", ATTEMPTS)
            .expression_attribute_values(":expires", number(ends_at))
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":limit", number(limit));
        match self.count(call.send()).await {
            Ok(_) => Ok(None),
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(_)) => Ok(Some(left)),
                _ => Err(Failure::of(&error)),
            },
        }
    }

    /// Takes back an attempt that was counted in this window, because it succeeded.
    pub async fn uncount_attempt(
        &self,
        subject: &str,
        window: SignedDuration,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let call = self
            .client
            .update_item()
            .table_name(&*self.table)
            .set_key(Some(keys::attempts(subject, window_end(window, now)).attributes()))
            .update_expression("ADD #attempts :less")
            .expression_attribute_names("#attempts", ATTEMPTS)
            .expression_attribute_values(":less", number(-1));
        self.count(call.send()).await.map(|_| ()).map_err(|error| Failure::of(&error))
    }
}

/// The end of the window of time that `now` lies in, in epoch seconds.
fn window_end(window: SignedDuration, now: Timestamp) -> i64 {
    let length = window.as_secs().max(1);
    now.as_second() + length - now.as_second().rem_euclid(length)
}

impl keys::Key {
    /// The item with this key, out of those found.
    pub(super) fn take_from(&self, found: &mut Vec<Item>) -> Option<Item> {
        let is = |item: &Item, name: &str, value: &str| {
            item.get(name).and_then(|attribute| attribute.as_s().ok()).is_some_and(|held| held == value)
        };
        let at =
            found.iter().position(|item| is(item, keys::PK, &self.pk) && is(item, keys::SK, &self.sk))?;
        Some(found.swap_remove(at))
    }
}
