//! OAuth: clients, grants, and the access tokens on the gate item.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::gate::{APP_PREFIX, Credential, Holder, REPLACED_PREFIX};
use super::item::number;
use super::keys::{self, EXPIRES_AT};
use super::{Item, Listed, Paging, Store, StoreError, Transaction, item};
use crate::clock::later;
use crate::id::Id;
use crate::model::{AuditAction, AuditTarget, AuditTargetKind, Client, Day, Grant, Scopes, Tenant, TokenSet};

/// The access tokens on a tenant's gate item.
#[derive(Clone, Debug)]
pub struct AccessTokens {
    current: Vec<(Id, Credential)>,
    /// The tokens that a refresh has replaced.
    replaced: Vec<(Id, Credential)>,
}

/// A new access token.
#[derive(Clone, Debug)]
pub struct NewAccessToken {
    /// The hash that the gate compares.
    pub hash: String,
    /// The scopes.
    pub scopes: Scopes,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// A cached metadata document.
#[derive(Serialize, Deserialize)]
struct Document {
    client: Client,
    expires_at: i64,
}

/// The maximum number of applications that can have access tokens for a tenant at once. Each request writes the item
/// with these tokens.
const MAX_APPS: usize = 50;
/// The time a registered client is kept if no member connects it.
const UNUSED_CLIENT: SignedDuration = SignedDuration::from_hours(90 * 24);
/// The time a grant is kept after its last token has expired, so that token reuse is detected.
const GRANT_RETENTION: SignedDuration = SignedDuration::from_hours(24);

impl AccessTokens {
    /// The day on which a grant's access token was last used; `None` if it was never used or does not exist.
    pub fn last_used(&self, grant: Id) -> Option<Day> {
        self.find(grant)?.last_used
    }

    /// Whether the grant has an access token that was never used.
    pub fn is_unused(&self, grant: Id) -> bool {
        self.find(grant).is_some_and(|app| app.last_used.is_none())
    }

    /// Whether a token for the grant can be added.
    pub fn have_room_for(&self, grant: Id, now: Timestamp) -> bool {
        self.find(grant).is_some() || self.current.len() < MAX_APPS || self.expired(grant, now).is_some()
    }

    fn find(&self, grant: Id) -> Option<&Credential> {
        self.current.iter().find(|(id, _)| *id == grant).map(|(_, app)| app)
    }

    /// The grant's token as it stays valid after a refresh at `now`; `None` if it has expired or does not exist.
    fn replaced_at(&self, grant: Id, now: Timestamp) -> Option<Credential> {
        let current = self.find(grant).filter(|app| !is_expired(app, now))?;
        let end = later(now, TokenSet::REPLACED_LIFE).as_second();
        let expires_at = Some(current.expires_at.map_or(end, |expires_at| expires_at.min(end)));
        Some(Credential { expires_at, last_used: None, ..current.clone() })
    }

    /// Another grant whose token has expired and can be removed.
    fn expired(&self, grant: Id, now: Timestamp) -> Option<Id> {
        expired_of(&self.current, grant, now)
    }

    /// Another grant whose replaced token has expired and can be removed.
    fn expired_replaced(&self, grant: Id, now: Timestamp) -> Option<Id> {
        expired_of(&self.replaced, grant, now)
    }
}

fn expired_of(tokens: &[(Id, Credential)], except: Id, now: Timestamp) -> Option<Id> {
    tokens.iter().find(|(id, app)| *id != except && is_expired(app, now)).map(|(id, _)| *id)
}

fn is_expired(app: &Credential, now: Timestamp) -> bool {
    app.expires_at.is_some_and(|expires_at| expires_at <= now.as_second())
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
        let item = self.grant_item(after)?;
        self.replace(item, before.version, after.version)
    }

    /// Revokes a grant and its access token.
    pub fn revoke_grant(&mut self, grant: &Grant, now: Timestamp) -> Result<(), StoreError> {
        self.delete_access_token(grant.id);
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

    /// Puts a grant's access token on the gate item. An earlier token stays valid for
    /// [`REPLACED_LIFE`](TokenSet::REPLACED_LIFE). With `unused`, the earlier token becomes invalid at once, and the
    /// commit fails unless it was never used.
    pub fn put_access_token(
        &mut self,
        grant: &Grant,
        access: &NewAccessToken,
        apps: &AccessTokens,
        unused: bool,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let app = Credential {
            hash: access.hash.clone(),
            name: grant.client_name.as_str().to_owned(),
            scopes: access.scopes,
            expires_at: Some(access.expires_at.as_second()),
            last_used: None,
            member: Some(grant.member),
        };
        let mut set = vec!["#app = :app"];
        let mut remove = Vec::new();
        let mut conditions = vec!["attribute_exists(pk)"];
        let mut names = vec![("#app", Holder::App(grant.id).attribute())];
        let mut values = vec![(":app", attribute(app)?)];
        if unused {
            conditions.push("attribute_exists(#app) AND attribute_not_exists(#app.#used)");
            names.push(("#used", "u".to_owned()));
        } else if let Some(replaced) = apps.replaced_at(grant.id, now) {
            set.push("#replaced = :replaced");
            // The token may have been revoked since it was read.
            conditions.push("#app.#hash = :hash");
            names.extend([("#replaced", Holder::Replaced(grant.id).attribute()), ("#hash", "h".to_owned())]);
            values.push((":hash", AttributeValue::S(replaced.hash.clone())));
            values.push((":replaced", attribute(replaced)?));
        }
        let expired = [
            (
                apps.expired(grant.id, now).map(Holder::App),
                "#expired",
                // The expired token may have been renewed since it was read.
                "#expired.#until <= :now",
            ),
            (
                apps.expired_replaced(grant.id, now).map(Holder::Replaced),
                "#old",
                "(attribute_not_exists(#old) OR #old.#until <= :now)",
            ),
        ];
        for (holder, name, condition) in expired {
            if let Some(holder) = holder {
                remove.push(name);
                conditions.push(condition);
                names.push((name, holder.attribute()));
            }
        }
        let mut expression = format!("SET {}", set.join(", "));
        if !remove.is_empty() {
            expression = format!("{expression} REMOVE {}", remove.join(", "));
            names.push(("#until", "x".to_owned()));
            values.push((":now", number(now.as_second())));
        }
        self.update(keys::gate(self.tenant), expression, conditions.join(" AND "), names, values);
        Ok(())
    }

    /// Deletes the grant's access tokens from the gate item.
    pub fn delete_access_token(&mut self, grant: Id) {
        self.update(
            keys::gate(self.tenant),
            "REMOVE #app, #replaced",
            "attribute_exists(pk)",
            vec![
                ("#app", Holder::App(grant).attribute()),
                ("#replaced", Holder::Replaced(grant).attribute()),
            ],
            Vec::new(),
        );
    }

    /// Deletes the access token before the grant's current one from the gate item.
    pub fn delete_replaced_access_token(&mut self, grant: Id) {
        self.update(
            keys::gate(self.tenant),
            "REMOVE #replaced",
            "attribute_exists(pk)",
            vec![("#replaced", Holder::Replaced(grant).attribute())],
            Vec::new(),
        );
    }
}

fn attribute(credential: Credential) -> Result<AttributeValue, StoreError> {
    serde_dynamo::to_attribute_value(credential)
        .map_err(|error| StoreError::Internal(format!("a credential cannot be written: {error}")))
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

    async fn put_item(&self, item: Item) -> Result<(), StoreError> {
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

    /// The access tokens on the tenant's gate item.
    pub async fn get_access_tokens(&self, tenant: Tenant) -> Result<AccessTokens, StoreError> {
        let gate = self.read(keys::gate(tenant)).await?.unwrap_or_default();
        let tokens = |prefix: &str| {
            let tokens = gate.iter().filter_map(|(name, app)| {
                let id = name.strip_prefix(prefix)?.parse().ok()?;
                Some((id, serde_dynamo::from_attribute_value(app.clone()).ok()?))
            });
            tokens.collect()
        };
        Ok(AccessTokens { current: tokens(APP_PREFIX), replaced: tokens(REPLACED_PREFIX) })
    }
}

fn seconds_after(time: Timestamp, duration: SignedDuration) -> AttributeValue {
    number(later(time, duration).as_second())
}
