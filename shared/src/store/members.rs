//! Members, their sessions, and the limits on attempts to sign in.

use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::item::number;
use super::keys::{self, EXPIRES_AT};
use super::{Item, Store, StoreError, Transaction, UniqueField, item};
use crate::id::Id;
use crate::model::{
    AuditAction, AuditTarget, AuditTargetKind, Email, Member, Mode, Organization, Session, Tenant,
};

/// A session with its member and organization.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// The session.
    pub session: Session,
    /// The member.
    pub member: Member,
    /// The member's organization, in the session's mode.
    pub organization: Organization,
}

/// A claim on an e-mail address. It identifies the member who signs in with the address.
#[derive(Serialize, Deserialize)]
struct MemberEmail {
    organization: Id,
    id: Id,
}

/// The maximum number of 1 MB pages to read for an organization's members.
const MAX_PAGES: usize = 5;
const ATTEMPTS: &str = "attempts";

impl Transaction {
    /// Inserts a member of the organization.
    pub fn insert_member(&mut self, member: &Member) -> Result<(), StoreError> {
        let organization = self.tenant.organization;
        self.insert(item::write(member, keys::member(organization, member.id), None)?);
        let claim = MemberEmail { organization, id: member.id };
        self.insert_claim(UniqueField::Email, item::write(&claim, keys::member_email(&member.email), None)?);
        self.audit(AuditAction::MemberInvited, Some(target(member)));
        Ok(())
    }

    /// Replaces a member.
    pub fn replace_member(&mut self, before: &Member, after: &Member) -> Result<(), StoreError> {
        // A password that was only hashed again ends no session.
        let ends_sessions = after.epoch > before.epoch;
        let acts = [
            (AuditAction::MemberRoleChanged, after.role != before.role),
            (AuditAction::MemberLinkCreated, after.link.is_some() && after.link != before.link),
            (AuditAction::PasswordChanged, ends_sessions && after.password != before.password),
            (AuditAction::SessionsEnded, ends_sessions && after.password == before.password),
        ];
        for (action, _) in acts.into_iter().filter(|(_, done)| *done) {
            self.audit(action, Some(target(after)));
        }
        let key = keys::member(self.tenant.organization, after.id);
        self.replace(item::write(after, key, None)?, before.version, after.version)
    }

    /// Deletes a member. The member's sessions stay in the table, but are invalid without the member.
    pub fn delete_member(&mut self, member: &Member) {
        self.delete_version(keys::member(self.tenant.organization, member.id), member.version);
        self.delete(keys::member_email(&member.email));
        self.audit(AuditAction::MemberRemoved, Some(target(member)));
    }

    /// Requires that the member does not change before the commit.
    pub fn require_member(&mut self, member: &Member) {
        self.require(keys::member(self.tenant.organization, member.id), member.version);
    }

    /// Inserts a session.
    pub fn insert_session(&mut self, hash: &str, session: &Session) -> Result<(), StoreError> {
        let item = self.session_item(hash, session)?;
        self.insert(item);
        self.audit(
            AuditAction::SessionCreated,
            Some(AuditTarget::of(AuditTargetKind::Member, session.member)),
        );
        Ok(())
    }

    /// Replaces a session. The commit fails if the session was deleted.
    pub fn replace_session(&mut self, hash: &str, session: &Session) -> Result<(), StoreError> {
        let item = self.session_item(hash, session)?;
        self.replace_existing(item);
        Ok(())
    }

    fn session_item(&self, hash: &str, session: &Session) -> Result<Item, StoreError> {
        let mut item = item::write(session, keys::session(self.tenant.organization, hash), None)?;
        item.insert(EXPIRES_AT.to_owned(), number(session.ends_at.as_second()));
        Ok(item)
    }

    /// Ends a session of this member.
    pub fn end_session(&mut self, hash: &str, member: &Member) {
        self.delete_session(self.tenant.organization, hash);
        self.audit(AuditAction::SessionEnded, Some(target(member)));
    }

    /// Deletes a session that a new one replaces. It may belong to any organization, or not exist.
    pub fn delete_session(&mut self, organization: Id, hash: &str) {
        self.delete(keys::session(organization, hash));
    }
}

fn target(member: &Member) -> AuditTarget {
    AuditTarget::of(AuditTargetKind::Member, member.id)
}

impl Store {
    /// The member with this e-mail address, and the member's organization.
    pub async fn find_member_by_email(&self, email: &Email) -> Result<Option<(Id, Member)>, StoreError> {
        let claim = self.read(keys::member_email(email)).await?.map(item::read).transpose()?;
        // An unknown address also takes a second read, so the response time does not reveal whether it is known.
        let MemberEmail { organization, id } =
            claim.unwrap_or(MemberEmail { organization: Id::LAST, id: Id::LAST });
        Ok(self.find_member(organization, id).await?.map(|member| (organization, member)))
    }

    /// The organization's member with this identifier.
    pub async fn find_member(&self, organization: Id, id: Id) -> Result<Option<Member>, StoreError> {
        self.read(keys::member(organization, id)).await?.map(item::read).transpose()
    }

    /// All of an organization's members, newest first.
    pub async fn list_members(&self, organization: Id) -> Result<Vec<Member>, StoreError> {
        let members = self.read_partition(&keys::members(organization), MAX_PAGES).await?;
        members.into_iter().map(|(_, member)| item::read(member)).collect()
    }

    /// The session with this hash, if it belongs to the member and is still valid. The same call also reads the
    /// organization.
    pub async fn find_session(
        &self,
        organization: Id,
        member: Id,
        hash: &str,
        now: Timestamp,
    ) -> Result<Option<SignedIn>, StoreError> {
        let gates = Mode::ALL.map(|mode| keys::gate(Tenant { organization, mode }));
        let keys = [keys::member(organization, member), keys::session(organization, hash)];
        let mut items = self.read_many(keys.clone().into_iter().chain(gates.clone())).await?;
        let [member, session] = keys.map(|key| key.take_from(&mut items));
        let (Some(member), Some(session)) = (member, session) else { return Ok(None) };
        let (member, session): (Member, Session) = (item::read(member)?, item::read(session)?);
        if !session.is_good(&member, now) {
            return Ok(None);
        }
        let gate = keys::gate(Tenant { organization, mode: session.mode }).take_from(&mut items);
        let Some(organization) = gate.map(item::read).transpose()? else { return Ok(None) };
        Ok(Some(SignedIn { session, member, organization }))
    }

    /// Counts an attempt by `subject`. Each `window` of time allows `limit` attempts. Returns `None` if the attempt is
    /// allowed, or otherwise the number of seconds until the next window.
    pub async fn count_attempt(
        &self,
        subject: &str,
        limit: u64,
        window: SignedDuration,
        now: Timestamp,
    ) -> Result<Option<i64>, StoreError> {
        let ends_at = window_end(window, now);
        let seconds_left = ends_at - now.as_second();
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
                Some(UpdateItemError::ConditionalCheckFailedException(_)) => Ok(Some(seconds_left)),
                _ => Err(StoreError::of(&error)),
            },
        }
    }

    /// Subtracts an attempt that was counted in this window, because it succeeded.
    pub async fn uncount_attempt(
        &self,
        subject: &str,
        window: SignedDuration,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let call = self
            .client
            .update_item()
            .table_name(&*self.table)
            .set_key(Some(keys::attempts(subject, window_end(window, now)).attributes()))
            .update_expression("ADD #attempts :less")
            .expression_attribute_names("#attempts", ATTEMPTS)
            .expression_attribute_values(":less", number(-1));
        self.count(call.send()).await.map(|_| ()).map_err(|error| StoreError::of(&error))
    }
}

/// The end of the window that contains `now`, in epoch seconds.
fn window_end(window: SignedDuration, now: Timestamp) -> i64 {
    let length = window.as_secs().max(1);
    now.as_second() + length - now.as_second().rem_euclid(length)
}
