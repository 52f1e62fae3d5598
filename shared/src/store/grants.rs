//! OAuth: clients, grants, and the access tokens on the gate item.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::gate::{ALIVE, Holder, hashes, set_of};
use super::item::number;
use super::keys::{self, EXPIRES_AT};
use super::{Item, Listed, Paging, Store, StoreError, Transaction, item};
use crate::clock::{Timestamp, later};
use crate::id::Id;
use crate::model::{
    AuditAction, AuditTarget, AuditTargetKind, Client, Day, GateHash, Grant, NarrowedSite, PreviousAccess,
    Tenant, TokenSet,
};

/// The hashes of a tenant's API keys and access tokens, as the gate item has them.
#[derive(Clone, Debug)]
pub struct AccessTokens {
    /// All of them.
    stored: BTreeSet<GateHash>,
    /// Those that the next write keeps.
    kept: BTreeSet<GateHash>,
}

/// A cached metadata document.
#[derive(Serialize, Deserialize)]
pub(super) struct Document {
    client: Client,
    expires_at: i64,
}

/// The number of grants per read.
const PAGE: u32 = 100;
/// The maximum size of the list of narrowed sites that is read, in MB.
const MAX_PAGES: usize = 5;
/// The time a registered client is kept if no member connects it.
const UNUSED_CLIENT: SignedDuration = SignedDuration::from_hours(90 * 24);
/// The time a grant is kept after its last token has expired, so that token reuse is detected.
const GRANT_RETENTION: SignedDuration = SignedDuration::from_hours(24);
/// The attribute with the number of times that applications were connected or narrowed.
const COUNT: &str = "count";

impl AccessTokens {
    /// The access token of `before`, if it stays valid beside the one that replaces it.
    pub fn previous_access(&self, before: &TokenSet, now: Timestamp) -> Option<PreviousAccess> {
        let (hash, ends_at) = (before.access, before.access_expires_at);
        // It may have been revoked.
        (self.stored.contains(&hash) && ends_at > now).then_some(PreviousAccess { hash, ends_at })
    }
}

impl TokenSet {
    /// The hashes of the access tokens, with the times at which they end.
    fn access_tokens(&self) -> impl Iterator<Item = (GateHash, Timestamp)> {
        let previous = self.previous_access.map(|previous| (previous.hash, previous.ends_at));
        [(self.access, self.access_expires_at)].into_iter().chain(previous)
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

    /// Narrows a grant to reading, and ends its access tokens. The application gets new ones with its refresh token. From
    /// now on, members of the organization give applications at its site no more than that.
    pub fn narrow_grant(&mut self, grant: &Grant, now: Timestamp) -> Result<(), StoreError> {
        if let Some(tokens) = &grant.tokens {
            self.delete_access_tokens(tokens);
        }
        self.audit(AuditAction::GrantNarrowed, Some(AuditTarget::of(AuditTargetKind::Grant, grant.id)));
        let site = NarrowedSite {
            site: grant.site(),
            grant: grant.id,
            client_name: grant.client_name.clone(),
            at: now,
        };
        let key = keys::narrowed_site(self.tenant.organization, &site.site);
        self.put(item::write(&site, key, None)?)?;
        self.count(keys::connections(self.tenant.organization), vec![(COUNT.to_owned(), 1)]);
        self.replace_grant(grant, &grant.clone().narrowed())
    }

    /// Lets members give applications at a site all scopes again.
    pub fn lift_narrowing(&mut self, site: &NarrowedSite) {
        self.delete_existing(keys::narrowed_site(self.tenant.organization, &site.site));
        let target = AuditTarget::of(AuditTargetKind::Grant, site.grant);
        self.audit(AuditAction::GrantNarrowingLifted, Some(target));
    }

    /// Counts the connection of an application. The commit fails if another one was connected or narrowed since `seen` was
    /// read, so that consents at the same time neither exceed a limit nor evade a narrowing.
    pub fn count_connection(&mut self, seen: u64) {
        self.update(
            keys::connections(self.tenant.organization),
            "ADD #count :one",
            "attribute_not_exists(#count) OR #count = :seen",
            vec![("#count", COUNT.to_owned())],
            vec![(":one", number(1)), (":seen", number(seen))],
        );
    }

    /// Revokes a grant and its access tokens.
    pub fn revoke_grant(&mut self, grant: &Grant, now: Timestamp) -> Result<(), StoreError> {
        if let Some(tokens) = &grant.tokens {
            self.delete_access_tokens(tokens);
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

    /// Puts the access tokens of `after` on the gate item, in place of those of `before`. The commit fails if the item
    /// has other hashes than when `known` was read.
    pub fn put_access_tokens(&mut self, before: Option<&TokenSet>, after: &TokenSet, known: &AccessTokens) {
        let mut alive = known.kept.clone();
        for (replaced, _) in before.into_iter().flat_map(TokenSet::access_tokens) {
            alive.remove(&replaced);
        }
        alive.extend(after.access_tokens().map(|(hash, _)| hash));
        let (mut condition, mut values) = ("#alive = :before", vec![(":alive", set_of(alive))]);
        if known.stored.is_empty() {
            condition = "attribute_exists(pk) AND attribute_not_exists(#alive)";
        } else {
            values.push((":before", set_of(known.stored.iter().copied())));
        }
        let names = vec![("#alive", ALIVE.to_owned())];
        self.update(keys::gate(self.tenant), "SET #alive = :alive", condition, names, values);
    }

    /// Deletes the grant's access tokens from the gate item.
    pub fn delete_access_tokens(&mut self, tokens: &TokenSet) {
        self.delete_hashes(tokens.access_tokens().map(|(hash, _)| hash).collect());
    }

    /// Deletes the access token before the grant's current one from the gate item.
    pub fn delete_previous_access_token(&mut self, tokens: &TokenSet) {
        self.delete_hashes(tokens.previous_access.into_iter().map(|previous| previous.hash).collect());
    }

    fn delete_hashes(&mut self, hashes: BTreeSet<GateHash>) {
        if !hashes.is_empty() {
            let names = vec![("#alive", ALIVE.to_owned())];
            let values = vec![(":hashes", set_of(hashes))];
            self.update(
                keys::gate(self.tenant),
                "DELETE #alive :hashes",
                "attribute_exists(pk)",
                names,
                values,
            );
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

    /// The tenant's grant with this identifier.
    pub async fn find_grant(&self, tenant: Tenant, id: Id) -> Result<Option<Grant>, StoreError> {
        self.read(keys::grant(tenant, id)).await?.map(item::read).transpose()
    }

    /// A page of the tenant's grants, newest first, including grants that ended recently.
    pub async fn list_grants(&self, tenant: Tenant, page: &Paging) -> Result<Listed<Grant>, StoreError> {
        self.read_page(&keys::grants(tenant), page).await
    }

    /// All of the tenant's grants with a valid code or a valid refresh token, newest first.
    pub async fn list_good_grants(&self, tenant: Tenant, now: Timestamp) -> Result<Vec<Grant>, StoreError> {
        let (mut found, mut page) = (Vec::new(), Paging { limit: PAGE, before: None });
        loop {
            let listed = self.list_grants(tenant, &page).await?;
            found.extend(listed.items.into_iter().filter(|grant| grant.is_good(now)));
            page.before = listed.next;
            if page.before.is_none() {
                return Ok(found);
            }
        }
    }

    /// How often applications of the organization were connected or narrowed, for [`Transaction::count_connection`].
    pub async fn count_connections(&self, organization: Id) -> Result<u64, StoreError> {
        let item = self.read(keys::connections(organization)).await?.unwrap_or_default();
        Ok(item::count(&item, COUNT))
    }

    /// Why applications at this site may only read, if an owner narrowed one of them.
    pub async fn find_narrowed_site(
        &self,
        organization: Id,
        site: &str,
    ) -> Result<Option<NarrowedSite>, StoreError> {
        self.read(keys::narrowed_site(organization, site)).await?.map(item::read).transpose()
    }

    /// The sites whose applications may only read.
    pub async fn list_narrowed_sites(&self, organization: Id) -> Result<Vec<NarrowedSite>, StoreError> {
        let items = self.read_partition(&keys::narrowed_sites(organization), MAX_PAGES).await?;
        Ok(items.into_iter().filter_map(|(_, site)| item::read_listed(site)).collect())
    }

    /// The hashes on the tenant's gate item.
    pub async fn get_access_tokens(&self, tenant: Tenant) -> Result<AccessTokens, StoreError> {
        let stored: BTreeSet<_> = hashes(&self.read(keys::gate(tenant)).await?.unwrap_or_default()).collect();
        Ok(AccessTokens { kept: stored.clone(), stored })
    }

    /// The same. The next write keeps only those of API keys and of access tokens that have not expired. A hash and its
    /// key or grant are written together, so one that was read before these is not a new one.
    pub async fn get_valid_access_tokens(
        &self,
        tenant: Tenant,
        now: Timestamp,
    ) -> Result<AccessTokens, StoreError> {
        let stored = self.get_access_tokens(tenant).await?.stored;
        let grants = self.list_good_grants(tenant, now).await?;
        let tokens =
            grants.iter().filter_map(|grant| grant.tokens.as_ref()).flat_map(TokenSet::access_tokens);
        let mut valid: BTreeSet<_> =
            tokens.filter(|(_, ends_at)| *ends_at > now).map(|(hash, _)| hash).collect();
        valid.extend(self.list_unrevoked_keys(tenant).await?.iter().map(|key| key.hash));
        Ok(AccessTokens { kept: stored.intersection(&valid).copied().collect(), stored })
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

    #[test]
    fn an_access_token_stays_valid_after_a_refresh_unless_it_has_ended() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let [current, replaced, revoked] = ["current", "replaced", "revoked"].map(GateHash::of);
        let stored = BTreeSet::from([current, replaced]);
        let known = AccessTokens { kept: stored.clone(), stored };
        let tokens = |access: GateHash| TokenSet {
            access,
            access_expires_at: at(100),
            previous_access: Some(PreviousAccess { hash: replaced, ends_at: at(50) }),
            family: String::new(),
            refresh: String::new(),
            used: None,
            expires_at: at(10_000),
        };
        let kept = Some(PreviousAccess { hash: current, ends_at: at(100) });
        assert_eq!(known.previous_access(&tokens(current), at(99)), kept);
        assert_eq!(known.previous_access(&tokens(current), at(100)), None);
        assert_eq!(known.previous_access(&tokens(revoked), at(99)), None);
        // The next refresh ends the one before.
        let tenant = Tenant { organization: Id::new(1).unwrap(), mode: Mode::Live };
        let after = TokenSet { previous_access: kept, ..tokens(GateHash::of("next")) };
        let mut transaction = Transaction::new(tenant);
        transaction.put_access_tokens(Some(&tokens(current)), &after, &known);
        let alive = set_of(BTreeSet::from([current, GateHash::of("next")]));
        assert!(format!("{transaction:?}").contains(&format!("(\":alive\", {alive:?})")), "{transaction:?}");
    }
}
