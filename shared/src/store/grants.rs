//! OAuth: clients, grants, and the access tokens on the gate item.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::api_keys::KEYS;
use super::gate::{ALIVE, FRESH, Holder, UNTIL_PREFIX, element, hashes, replaced, set_of, until_attribute};
use super::item::number;
use super::keys::{self, EXPIRES_AT};
use super::{Item, Listed, Paging, Store, StoreError, Transaction, item};
use crate::clock::{Timestamp, later};
use crate::id::Id;
use crate::model::{
    AuditAction, AuditTarget, AuditTargetKind, Client, Day, GateHash, Grant, PreviousAccess, Tenant, TokenSet,
};

/// The hashes on a tenant's gate item.
#[derive(Clone, Debug)]
pub struct AccessTokens {
    /// The access tokens that were never used.
    fresh: BTreeSet<GateHash>,
    /// The access tokens that were used, and the API keys.
    alive: BTreeSet<GateHash>,
    /// The number of API keys among them.
    keys: u64,
    /// The replaced access tokens by the time at which they end, in epoch seconds.
    replaced: BTreeMap<i64, BTreeSet<GateHash>>,
}

/// A cached metadata document.
#[derive(Serialize, Deserialize)]
pub(super) struct Document {
    client: Client,
    expires_at: i64,
}

/// The maximum number of applications that can have access tokens for a tenant at once. Each request writes the item
/// with these tokens.
const MAX_APPS: usize = 50;
/// The maximum number of replaced access tokens on that item. Beyond it, a refresh ends the access token at once.
const MAX_REPLACED: usize = 4;
/// The number of grants or keys per read.
const PAGE: u32 = 100;
/// The time a registered client is kept if no member connects it.
const UNUSED_CLIENT: SignedDuration = SignedDuration::from_hours(90 * 24);
/// The time a grant is kept after its last token has expired, so that token reuse is detected.
const GRANT_RETENTION: SignedDuration = SignedDuration::from_hours(24);

impl AccessTokens {
    /// Whether the access token of these tokens was never used.
    pub fn are_unused(&self, tokens: &TokenSet) -> bool {
        self.fresh.contains(&tokens.access)
    }

    /// Whether an access token can be added that replaces the one of `tokens`.
    pub fn have_room_for(&self, tokens: Option<&TokenSet>) -> bool {
        tokens.is_some_and(|tokens| self.contain(tokens.access)) || self.count() < MAX_APPS
    }

    /// The access token of `before` as it stays valid for a while after a refresh. If that token `was_lost`, because its
    /// client never received it, the one before it stays instead.
    pub fn previous_access(
        &self,
        before: &TokenSet,
        was_lost: bool,
        now: Timestamp,
    ) -> Option<PreviousAccess> {
        if was_lost {
            return before.previous_access;
        }
        let hash = before.access;
        let dropped = before.previous_access.map(|previous| previous.hash);
        let others = self.replaced.range(now.as_second() + 1..).flat_map(|(_, hashes)| hashes);
        let others = others.filter(|other| Some(**other) != dropped).count();
        let is_kept = self.contain(hash) && before.access_expires_at > now && others < MAX_REPLACED;
        let ends_at = later(now, TokenSet::REPLACED_LIFE).min(before.access_expires_at);
        is_kept.then_some(PreviousAccess { hash, ends_at })
    }

    fn contain(&self, hash: GateHash) -> bool {
        self.fresh.contains(&hash) || self.alive.contains(&hash)
    }

    fn count(&self) -> usize {
        (self.fresh.len() + self.alive.len()).saturating_sub(usize::try_from(self.keys).unwrap_or(usize::MAX))
    }
}

impl Transaction {
    /// Removes the expiry of a registered client, because a member is connecting it.
    pub fn keep_client(&mut self, id: &str) {
        self.update(
            keys::client(id),
            "REMOVE #expires",
            "attribute_exists(pk)",
            vec![("#expires", EXPIRES_AT.to_owned())],
            Vec::new(),
        );
    }

    /// Inserts a grant.
    pub fn insert_grant(&mut self, grant: &Grant) -> Result<(), StoreError> {
        let item = self.grant_item(grant)?;
        self.insert(item);
        self.audit(AuditAction::GrantCreated, Some(AuditTarget::of(AuditTargetKind::Grant, grant.id)));
        Ok(())
    }

    /// Replaces a grant.
    pub fn replace_grant(&mut self, before: &Grant, after: &Grant) -> Result<(), StoreError> {
        let (before, after) = (self.grant_item(before)?, self.grant_item(after)?);
        self.replace(&before, &after)
    }

    /// Narrows a grant to reading, and ends its access tokens. The application gets new ones with its refresh token.
    pub fn narrow_grant(&mut self, grant: &Grant, now: Timestamp) -> Result<(), StoreError> {
        if let Some(tokens) = &grant.tokens {
            self.delete_access_tokens(tokens, now);
        }
        self.audit(AuditAction::GrantNarrowed, Some(AuditTarget::of(AuditTargetKind::Grant, grant.id)));
        self.replace_grant(grant, &grant.clone().narrowed())
    }

    /// Revokes a grant and its access token.
    pub fn revoke_grant(&mut self, grant: &Grant, now: Timestamp) -> Result<(), StoreError> {
        if let Some(tokens) = &grant.tokens {
            self.delete_access_tokens(tokens, now);
        }
        self.audit(AuditAction::GrantRevoked, Some(AuditTarget::of(AuditTargetKind::Grant, grant.id)));
        self.replace_grant(grant, &grant.clone().revoked(now))
    }

    /// Requires that the grant does not change before the commit.
    pub fn require_grant(&mut self, grant: &Grant) {
        self.require(keys::grant(self.tenant, grant.id), grant.version);
    }

    fn grant_item(&self, grant: &Grant) -> Result<Item, StoreError> {
        let last = grant.tokens.as_ref().map_or(grant.code.expires_at, |tokens| tokens.expires_at);
        let mut item = item::write(grant, keys::grant(self.tenant, grant.id), None)?;
        item.insert(EXPIRES_AT.to_owned(), seconds_after(last, GRANT_RETENTION));
        Ok(item)
    }

    /// Puts the access token of `after` on the gate item, in place of the one of `before`, and the previous one beside
    /// it. The commit fails if the tokens have changed since `known` was read.
    pub fn put_access_token(
        &mut self,
        before: Option<&TokenSet>,
        after: &TokenSet,
        known: &AccessTokens,
        now: Timestamp,
    ) {
        let (mut set, mut delete) = (vec!["#fresh = :fresh"], Vec::new());
        let mut conditions = vec!["attribute_exists(pk)"];
        let mut names = vec![("#fresh", FRESH.to_owned())];
        let mut values = Vec::new();
        let mut fresh = known.fresh.clone();
        let dropped = before.and_then(|before| before.previous_access);
        let dropped =
            dropped.filter(|dropped| dropped.ends_at > now && after.previous_access != Some(*dropped));
        let added = after
            .previous_access
            .filter(|_| before.map(|b| b.previous_access) != Some(after.previous_access));
        if let Some(before) = before {
            fresh.remove(&before.access);
            if known.alive.contains(&before.access) {
                delete.push("#alive :used");
                // The token may have been revoked since it was read.
                conditions.push("contains(#alive, :access)");
                names.push(("#alive", ALIVE.to_owned()));
                values.push((":used", set_of([before.access])));
                values.push((":access", element(before.access)));
            }
        }
        fresh.insert(after.access);
        values.push((":fresh", set_of(fresh)));
        let unchanged = |name: [&'static str; 2], before: Option<&BTreeSet<GateHash>>| match before {
            Some(before) if !before.is_empty() => (name[0], Some(set_of(before.iter().copied()))),
            _ => (name[1], None),
        };
        let (condition, value) =
            unchanged(["#fresh = :fresh_before", "attribute_not_exists(#fresh)"], Some(&known.fresh));
        conditions.push(condition);
        values.extend(value.map(|value| (":fresh_before", value)));
        if let Some(added) = added {
            let end = added.ends_at.as_second();
            let mut until = known.replaced.get(&end).cloned().unwrap_or_default();
            until.extend([added.hash]);
            if let Some(dropped) = dropped.filter(|dropped| dropped.ends_at == added.ends_at) {
                until.remove(&dropped.hash);
            }
            set.push("#until = :until");
            names.push(("#until", until_attribute(added.ends_at)));
            values.push((":until", set_of(until)));
            let (condition, value) = unchanged(
                ["#until = :until_before", "attribute_not_exists(#until)"],
                known.replaced.get(&end),
            );
            conditions.push(condition);
            values.extend(value.map(|value| (":until_before", value)));
        }
        if let Some(dropped) = dropped
            && added.is_none_or(|added| added.ends_at != dropped.ends_at)
        {
            delete.push("#dropped :dropped");
            names.push(("#dropped", until_attribute(dropped.ends_at)));
            values.push((":dropped", set_of([dropped.hash])));
        }
        let mut expression = format!("SET {}", set.join(", "));
        if !delete.is_empty() {
            expression = format!("{expression} DELETE {}", delete.join(", "));
        }
        let ended = known.replaced.keys().filter(|end| **end <= now.as_second());
        // Each refresh leaves at most MAX_REPLACED, so these names suffice.
        for (end, name) in ended.zip(["#ended1", "#ended2", "#ended3", "#ended4"]) {
            let separator = if name == "#ended1" { " REMOVE" } else { "," };
            expression = format!("{expression}{separator} {name}");
            names.push((name, format!("{UNTIL_PREFIX}{end}")));
        }
        self.update(keys::gate(self.tenant), expression, conditions.join(" AND "), names, values);
    }

    /// Deletes the grant's access tokens from the gate item.
    pub fn delete_access_tokens(&mut self, tokens: &TokenSet, now: Timestamp) {
        self.delete_hashes(
            vec![tokens.access],
            tokens.previous_access.filter(|previous| previous.ends_at > now),
        );
    }

    /// Deletes the access token before the grant's current one from the gate item.
    pub fn delete_previous_access_token(&mut self, tokens: &TokenSet, now: Timestamp) {
        self.delete_hashes(Vec::new(), tokens.previous_access.filter(|previous| previous.ends_at > now));
    }

    /// Deletes hashes of current tokens, and a previous one, from the gate item.
    fn delete_hashes(&mut self, hashes: Vec<GateHash>, previous: Option<PreviousAccess>) {
        let mut delete = Vec::new();
        let (mut names, mut values) = (Vec::new(), Vec::new());
        if !hashes.is_empty() {
            delete.extend(["#alive :hashes", "#fresh :hashes"]);
            names.extend([("#alive", ALIVE.to_owned()), ("#fresh", FRESH.to_owned())]);
            values.push((":hashes", set_of(hashes)));
        }
        if let Some(previous) = previous {
            delete.push("#until :previous");
            names.push(("#until", until_attribute(previous.ends_at)));
            values.push((":previous", set_of([previous.hash])));
        }
        if !delete.is_empty() {
            let expression = format!("DELETE {}", delete.join(", "));
            self.update(keys::gate(self.tenant), expression, "attribute_exists(pk)", names, values);
        }
    }
}

impl Store {
    /// The registered client with this identifier.
    pub async fn find_client(&self, id: &str) -> Result<Option<Client>, StoreError> {
        self.read(keys::client(id)).await?.map(item::read).transpose()
    }

    /// The client whose metadata document is at the URL `id`, if the document is cached.
    pub async fn find_client_document(&self, id: &str, now: Timestamp) -> Result<Option<Client>, StoreError> {
        let item = self.read(keys::client_document(id)).await?;
        let document: Option<Document> = item.map(item::read).transpose()?;
        Ok(document.filter(|document| document.expires_at > now.as_second()).map(|document| document.client))
    }

    /// Stores a registered client. It expires unless a member connects it.
    pub async fn insert_client(&self, client: &Client) -> Result<(), StoreError> {
        let mut item = item::write(client, keys::client(&client.id), None)?;
        item.insert(EXPIRES_AT.to_owned(), seconds_after(client.created_at, UNUSED_CLIENT));
        self.put_item(item).await
    }

    /// Caches the client described by a metadata document until `expires_at`.
    pub async fn put_client_document(
        &self,
        client: &Client,
        expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        let document = Document { client: client.clone(), expires_at: expires_at.as_second() };
        self.put_item(item::write(&document, keys::client_document(&client.id), None)?).await
    }

    pub(super) async fn put_item(&self, item: Item) -> Result<(), StoreError> {
        let call = self.client.put_item().table_name(&*self.table).set_item(Some(item));
        self.count(call.send()).await.map(|_| ()).map_err(|error| StoreError::of(&error))
    }

    /// The tenant's grant with this identifier.
    pub async fn find_grant(&self, tenant: Tenant, id: Id) -> Result<Option<Grant>, StoreError> {
        self.read(keys::grant(tenant, id)).await?.map(item::read).transpose()
    }

    /// A page of the tenant's grants, newest first, including grants that ended recently.
    pub async fn list_grants(&self, tenant: Tenant, page: &Paging) -> Result<Listed<Grant>, StoreError> {
        self.read_page(&keys::grants(tenant), page).await
    }

    /// The access tokens on the tenant's gate item. If there is no room for the one that replaces `replaced`, hashes
    /// without a valid credential are deleted first.
    pub async fn get_access_tokens(
        &self,
        tenant: Tenant,
        replaced: Option<&TokenSet>,
        now: Timestamp,
    ) -> Result<AccessTokens, StoreError> {
        let tokens = self.read_access_tokens(tenant).await?;
        if tokens.have_room_for(replaced) {
            return Ok(tokens);
        }
        self.delete_expired_hashes(tenant, tokens, now).await?;
        self.read_access_tokens(tenant).await
    }

    async fn read_access_tokens(&self, tenant: Tenant) -> Result<AccessTokens, StoreError> {
        let gate = self.read(keys::gate(tenant)).await?.unwrap_or_default();
        let replaced = replaced(&gate).map(|(end, attribute)| (end, hashes(&gate, attribute).collect()));
        Ok(AccessTokens {
            fresh: hashes(&gate, FRESH).collect(),
            alive: hashes(&gate, ALIVE).collect(),
            keys: item::count(&gate, KEYS),
            replaced: replaced.collect(),
        })
    }

    /// Deletes the hashes in `tokens` that belong neither to a key nor to a grant with a valid access token. A hash and
    /// its key or grant are written together, so one that was read before these is not a new one.
    async fn delete_expired_hashes(
        &self,
        tenant: Tenant,
        tokens: AccessTokens,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut expired: BTreeSet<_> = tokens.fresh.into_iter().chain(tokens.alive).collect();
        let mut page = Paging { limit: PAGE, before: None };
        loop {
            let listed = self.list_grants(tenant, &page).await?;
            for tokens in listed.items.into_iter().filter_map(|grant| grant.tokens) {
                if tokens.access_expires_at > now {
                    expired.remove(&tokens.access);
                }
            }
            page.before = listed.next;
            if page.before.is_none() {
                break;
            }
        }
        loop {
            let listed = self.list_api_keys(tenant, &page).await?;
            for key in listed.items.into_iter().filter(|key| key.revoked_at.is_none()) {
                expired.remove(&key.hash);
            }
            page.before = listed.next;
            if page.before.is_none() {
                break;
            }
        }
        if expired.is_empty() {
            return Ok(());
        }
        let mut transaction = Transaction::new(tenant);
        transaction.delete_hashes(expired.into_iter().collect(), None);
        self.commit_any(transaction).await
    }

    /// Records that an API key or an application made a request on a day.
    pub async fn record_use(&self, tenant: Tenant, holder: Holder, day: Day) -> Result<(), StoreError> {
        let key = match holder {
            Holder::Key(id) => keys::api_key(tenant, id),
            Holder::App(id) => keys::grant(tenant, id),
        };
        let call = self
            .client
            .update_item()
            .table_name(&*self.table)
            .set_key(Some(key.attributes()))
            .update_expression("SET #day = :day")
            .condition_expression("attribute_exists(pk)")
            .expression_attribute_names("#day", "last_used_on")
            .expression_attribute_values(":day", AttributeValue::S(day.to_string()));
        self.count(call.send()).await.map(|_| ()).map_err(|error| StoreError::of(&error))
    }
}

fn seconds_after(time: Timestamp, duration: SignedDuration) -> AttributeValue {
    number(later(time, duration).as_second())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Mode;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn hash(text: &str) -> GateHash {
        GateHash::of(text, None)
    }

    fn tokens(access_expires_at: i64, previous_ends_at: i64) -> TokenSet {
        TokenSet {
            access: hash("access"),
            access_expires_at: at(access_expires_at),
            previous_access: Some(PreviousAccess { hash: hash("previous"), ends_at: at(previous_ends_at) }),
            family: String::new(),
            refresh: String::new(),
            previous: None,
            expires_at: at(10_000),
        }
    }

    fn known(replaced: &[i64]) -> AccessTokens {
        AccessTokens {
            fresh: BTreeSet::new(),
            alive: BTreeSet::from([hash("access")]),
            keys: 0,
            replaced: replaced.iter().map(|end| (*end, BTreeSet::from([hash(&end.to_string())]))).collect(),
        }
    }

    #[test]
    fn a_replaced_access_token_is_kept_for_a_minute_beside_three_others() {
        let previous = |expires_at, replaced: &[i64]| {
            let kept = known(replaced).previous_access(&tokens(expires_at, 50), false, at(100));
            kept.map(|kept| kept.ends_at.as_second())
        };
        assert_eq!(previous(1_000, &[101, 102, 103]), Some(160));
        assert_eq!(previous(1_000, &[99, 100, 101, 102, 103]), Some(160), "two have ended");
        assert_eq!(previous(1_000, &[101, 102, 103, 104]), None);
        assert_eq!(previous(101, &[]), Some(101), "it does not live longer");
        assert_eq!(previous(100, &[]), None, "it has expired");
    }

    /// The attribute of a token that has ended may be gone.
    #[test]
    fn a_previous_access_token_is_deleted_unless_it_has_ended() {
        let tenant = Tenant { organization: Id::new(1).unwrap(), mode: Mode::Live };
        for (ends_at, is_deleted) in [(100, false), (101, true)] {
            let before = tokens(1_000, ends_at);
            let after = TokenSet { access: hash("next"), previous_access: None, ..before.clone() };
            let written = |write: &dyn Fn(&mut Transaction)| {
                let mut transaction = Transaction::new(tenant);
                write(&mut transaction);
                format!("{transaction:?}").contains(&until_attribute(at(ends_at)))
            };
            assert_eq!(written(&|t| t.delete_access_tokens(&before, at(100))), is_deleted);
            assert_eq!(written(&|t| t.delete_previous_access_token(&before, at(100))), is_deleted);
            let put = |t: &mut Transaction| t.put_access_token(Some(&before), &after, &known(&[]), at(100));
            assert_eq!(written(&put), is_deleted);
        }
    }
}
