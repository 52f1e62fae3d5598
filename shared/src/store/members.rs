//! Members, their sessions and notices, and the limits on attempts to sign in.

use std::cmp::Reverse;

use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::AttributeValue;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::changes::Changes;
use super::deletion::Deletion;
use super::item::number;
use super::keys::{self, EXPIRES_AT};
use super::list::Range;
use super::recording::{self, Recorded};
use super::{Item, Listed, Owner, Paging, Store, StoreError, Transaction, UniqueField, item};
use crate::clock::{Timestamp, later};
use crate::id::Id;
use crate::model::{
    AuditAction, AuditTarget, AuditTargetKind, Email, Member, Mode, NamedOrganization, Notice, Session,
    SubjectType, Tenant,
};

/// A session with its member and organization.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// The session.
    pub session: Session,
    /// The member.
    pub member: Member,
    /// The member's organization, in the session's mode.
    pub organization: NamedOrganization,
    /// Whether the organization requires a second factor of its members.
    pub requires_second_factor: bool,
}

/// A claim on an e-mail address in an organization. It identifies the member who signs in with the address.
#[derive(Serialize, Deserialize)]
pub(super) struct MemberEmail {
    organization: Id,
    id: Id,
    /// When the member accepted the invitation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accepted_at: Option<Timestamp>,
}

/// Whether an organization requires a second factor of its members.
#[derive(Serialize, Deserialize)]
pub(super) struct SecondFactorSetting {
    required: bool,
}

/// A notice for all owners of an organization.
#[derive(Serialize, Deserialize)]
pub(super) struct OwnersNotice {
    notice: Notice,
    /// The owners who have dismissed it.
    dismissed_by: Vec<Id>,
}

/// The maximum number of 1 MB pages to read for an organization's members.
const MAX_PAGES: usize = 5;
const ATTEMPTS: &str = "attempts";

/// The time for which a notice that nobody dismisses is kept.
const NOTICE_LIFE: SignedDuration = SignedDuration::from_hours(400 * 24);
/// The maximum number of notices that are shown at once.
const NOTICES: u32 = 50;

impl Transaction {
    /// Inserts a member of the organization. A member with a password also claims the e-mail address.
    pub fn insert_member(&mut self, member: &Member) -> Result<(), StoreError> {
        let key = keys::member(self.tenant.organization, member.id);
        self.insert(item::write(member, key, None)?);
        self.record([recording::new_member(member)]);
        if !member.is_invited() {
            self.claim_email(member)?;
        }
        self.audit(AuditAction::MemberInvited, Some(target(member)));
        Ok(())
    }

    /// Claims the e-mail address of a member who accepts the invitation. The commit fails if another member of the
    /// organization has it.
    pub fn claim_email(&mut self, member: &Member) -> Result<(), StoreError> {
        let organization = self.tenant.organization;
        let claim = MemberEmail { organization, id: member.id, accepted_at: member.accepted_at };
        let key = keys::claim_of(organization, member);
        self.insert_claim(UniqueField::Email, item::write(&claim, key, None)?);
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
            (AuditAction::SecondFactorAdded, after.second_factor.is_some() && before.second_factor.is_none()),
            (
                AuditAction::SecondFactorRemoved,
                after.second_factor.is_none() && before.second_factor.is_some(),
            ),
            (AuditAction::PasskeyAdded, has_more_passkeys(after, before)),
            (AuditAction::PasskeyRemoved, has_more_passkeys(before, after)),
        ];
        for (action, _) in acts.into_iter().filter(|(_, done)| *done) {
            self.audit(action, Some(target(after)));
        }
        let item = |member| item::write(member, keys::member(self.tenant.organization, after.id), None);
        self.replace(&item(before)?, &item(after)?)?;
        self.record(recording::member_changes(before, after));
        Ok(())
    }

    /// Deletes a member. [`Store::delete_member_items`] deletes the member's sessions and notices.
    pub fn delete_member(&mut self, member: &Member) {
        self.delete_version(keys::member(self.tenant.organization, member.id), member.version);
        self.record([recording::removed_member(member)]);
        if !member.is_invited() {
            self.delete(keys::claim_of(self.tenant.organization, member));
        }
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
        self.replace_existing(item)
    }

    /// Stores when a session was last used. The commit fails if the session was deleted.
    pub fn put_session_use(&mut self, hash: &str, session: &Session) -> Result<(), StoreError> {
        let key = keys::session(self.tenant.organization, session.member, hash);
        let seen_at = item::value(&session.seen_at)?;
        self.change_existing(key, Changes::set("seen_at", seen_at));
        Ok(())
    }

    fn session_item(&self, hash: &str, session: &Session) -> Result<Item, StoreError> {
        let key = keys::session(self.tenant.organization, session.member, hash);
        let mut item = item::write(session, key, None)?;
        item.insert(EXPIRES_AT.to_owned(), number(session.ends_at.as_second()));
        Ok(item)
    }

    /// Ends a session of this member.
    pub fn end_session(&mut self, hash: &str, member: &Member) {
        self.delete_session(self.tenant.organization, member.id, hash);
        self.audit(AuditAction::SessionEnded, Some(target(member)));
    }

    /// Deletes a session that a new one replaces. It may belong to any organization, or not exist.
    pub fn delete_session(&mut self, organization: Id, member: Id, hash: &str) {
        self.delete(keys::session(organization, member, hash));
    }

    /// Sets whether the organization requires a second factor of its members.
    pub fn put_second_factor_setting(&mut self, required: bool) -> Result<(), StoreError> {
        let key = keys::second_factor_setting(self.tenant.organization);
        self.put(item::write(&SecondFactorSetting { required }, key, None)?)?;
        self.record([Recorded::setting(SubjectType::SecondFactorRule).in_mode(Mode::Live)]);
        let rule = AuditTarget::only(AuditTargetKind::SecondFactorRule);
        self.audit(AuditAction::SettingsChanged, Some(rule));
        Ok(())
    }

    /// Inserts a notice for a member, who sees it from the next sign-in.
    pub fn insert_notice(&mut self, member: Id, notice: &Notice) -> Result<(), StoreError> {
        let key = keys::notice(self.tenant.organization, member, notice.id);
        let mut item = item::write(notice, key, None)?;
        item.insert(EXPIRES_AT.to_owned(), number(later(notice.at, NOTICE_LIFE).as_second()));
        self.insert(item);
        Ok(())
    }

    /// Inserts a notice for a member, who sees it at once in these sessions. The commit fails if one of them was deleted.
    pub fn tell_member(
        &mut self,
        member: Id,
        notice: &Notice,
        sessions: impl IntoIterator<Item = String>,
    ) -> Result<(), StoreError> {
        self.insert_notice(member, notice)?;
        let newest = item::value(&notice.event)?;
        for hash in sessions {
            let key = keys::session(self.tenant.organization, member, &hash);
            let shown = [("has_notices", AttributeValue::Bool(true)), ("newest_notice", newest.clone())];
            let shown = shown.map(|(name, value)| (name.to_owned(), value));
            self.change_existing(key, Changes::to_attributes(shown));
        }
        Ok(())
    }

    /// Inserts a notice for all owners. Whoever inserts it needs to know none of them.
    pub fn insert_owners_notice(&mut self, notice: Notice) -> Result<(), StoreError> {
        let key = keys::owners_notice(self.tenant.organization, notice.id);
        let expires_at = later(notice.at, NOTICE_LIFE).as_second();
        let mut item = item::write(&OwnersNotice { notice, dismissed_by: Vec::new() }, key, None)?;
        item.insert(EXPIRES_AT.to_owned(), number(expires_at));
        self.insert(item);
        Ok(())
    }

    /// Dismisses a notice for all owners. The others still see it.
    pub fn dismiss_owners_notice(&mut self, owner: Id, notice: Id) {
        self.update(
            keys::owners_notice(self.tenant.organization, notice),
            "SET #dismissed = list_append(#dismissed, :owner)",
            "attribute_exists(pk)",
            vec![("#dismissed", "dismissed_by".to_owned())],
            vec![(":owner", AttributeValue::L(vec![number(owner.get())]))],
        );
    }

    /// Deletes a notice.
    pub fn delete_notice(&mut self, member: Id, notice: Id) {
        self.delete(keys::notice(self.tenant.organization, member, notice));
    }
}

/// Whether `one` has a passkey that `other` does not have.
fn has_more_passkeys(one: &Member, other: &Member) -> bool {
    one.passkeys.iter().any(|passkey| other.passkeys.find(passkey.id).is_none())
}

fn target(member: &Member) -> AuditTarget {
    AuditTarget::of(AuditTargetKind::Member, member.id)
}

impl Store {
    /// The member with this e-mail address in the organization, with the organization. Without an organization, it is the
    /// one whose invitation was accepted first. Neither the calls nor the response time reveal in how many organizations the
    /// address is.
    pub async fn find_member_by_email(
        &self,
        email: &Email,
        organization: Option<Id>,
    ) -> Result<Option<(Id, Member)>, StoreError> {
        // One page has thousands of claims, and a second one would take another call.
        let (claims, _) = self.query(&keys::member_emails(email), u32::MAX, Range::Before(None)).await?;
        let mut claims = claims.into_iter().filter_map(item::read_listed::<MemberEmail>);
        let claim = match organization {
            Some(organization) => claims.find(|claim| claim.organization == organization),
            None => claims.min_by_key(|claim| (claim.accepted_at, claim.organization)),
        };
        // Without a claim, there is a second read as well.
        let (organization, id) = claim.map_or((Id::LAST, Id::LAST), |claim| (claim.organization, claim.id));
        Ok(self.find_member(organization, id).await?.map(|member| (organization, member)))
    }

    /// The organization's member with this identifier.
    pub async fn find_member(&self, organization: Id, id: Id) -> Result<Option<Member>, StoreError> {
        self.read(keys::member(organization, id)).await?.map(item::read).transpose()
    }

    /// All of an organization's members, newest first.
    pub async fn list_members(&self, organization: Id) -> Result<Vec<Member>, StoreError> {
        let members = self.read_partition(&keys::members(organization), MAX_PAGES).await?;
        Ok(members.into_iter().filter_map(|(_, member)| item::read_listed(member)).collect())
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
        let tenants = Mode::ALL.map(|mode| Tenant { organization, mode });
        let organizations =
            tenants.into_iter().flat_map(|tenant| [keys::gate(tenant), keys::profile(tenant)]);
        let keys = [
            keys::member(organization, member),
            keys::session(organization, member, hash),
            keys::second_factor_setting(organization),
        ];
        let mut items = self.read_many(keys.clone().into_iter().chain(organizations)).await?;
        let [member, session, setting] = keys.map(|key| key.take_from(&mut items));
        let setting: Option<SecondFactorSetting> = setting.map(item::read).transpose()?;
        let (Some(member), Some(session)) = (member, session) else { return Ok(None) };
        let (member, session): (Member, Session) = (item::read(member)?, item::read(session)?);
        if !session.is_good(&member, now) {
            return Ok(None);
        }
        let tenant = Tenant { organization, mode: session.mode };
        let Some(organization) = NamedOrganization::take_from(&mut items, tenant)? else { return Ok(None) };
        let requires_second_factor = setting.is_some_and(|setting| setting.required);
        Ok(Some(SignedIn { session, member, organization, requires_second_factor }))
    }

    /// The member's valid sessions with their hashes, newest first.
    pub async fn list_sessions(
        &self,
        organization: Id,
        member: &Member,
        now: Timestamp,
    ) -> Result<Vec<(String, Session)>, StoreError> {
        let stored = self.read_partition(&keys::sessions(organization, member.id), MAX_PAGES).await?;
        let sessions =
            stored.into_iter().filter_map(|(hash, item)| Some((hash, item::read_listed::<Session>(item)?)));
        let mut sessions: Vec<_> = sessions.collect();
        // Sessions that have ended stay in the table for up to a day.
        sessions.retain(|(_, session)| session.is_good(member, now));
        sessions.sort_by_key(|(_, session)| Reverse(session.created_at));
        Ok(sessions)
    }

    /// The member's newest notices, newest first.
    pub async fn list_notices(&self, organization: Id, member: Id) -> Result<Vec<Notice>, StoreError> {
        let page = Paging { limit: NOTICES, before: None };
        Ok(self.read_page(&keys::notices(organization, member), &page).await?.items)
    }

    /// The newest notices for all owners that this one has not dismissed, newest first.
    pub async fn list_owners_notices(&self, organization: Id, owner: Id) -> Result<Vec<Notice>, StoreError> {
        let page = Paging { limit: NOTICES, before: None };
        let listed: Listed<OwnersNotice> = self.read_page(&keys::owners_notices(organization), &page).await?;
        let shown = listed.items.into_iter().filter(|notice| !notice.dismissed_by.contains(&owner));
        Ok(shown.map(|OwnersNotice { notice, .. }| notice).collect())
    }

    /// Deletes the sessions and the notices of a member who was removed.
    pub async fn delete_member_items(&self, organization: Id, member: Id) -> Result<(), StoreError> {
        let tenant = Tenant { organization, mode: Mode::Live };
        Deletion { store: self, tenant, deleted: 0 }.delete_owned_by(Owner::Member, member).await
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

    /// Forgets the attempts by `subject` in this window.
    pub async fn forget_attempts(
        &self,
        subject: &str,
        window: SignedDuration,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let key = keys::attempts(subject, window_end(window, now)).attributes();
        let call = self.client.delete_item().table_name(&*self.table).set_key(Some(key));
        self.count(call.send()).await.map(|_| ()).map_err(|error| StoreError::of(&error))
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
