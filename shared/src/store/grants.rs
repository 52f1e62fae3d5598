//! OAuth: applications, what they were granted, and their access tokens at the gate.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::gate::{APP_PREFIX, Credential, Holder};
use super::keys::{self, EXPIRES_AT};
use super::writes::number;
use super::{Failure, Item, Listed, Page, Store, Writes, item};
use crate::id::Id;
use crate::model::{Client, Day, Grant, Scopes, Tenant};

/// The access tokens at a tenant's gate.
#[derive(Clone, Debug)]
pub struct Apps(Vec<(Id, Credential)>);

/// An access token to be let in.
#[derive(Clone, Debug)]
pub struct NewAccess {
    /// The hash that is stored of it.
    pub hash: String,
    /// What it may do.
    pub scopes: Scopes,
    /// Until when.
    pub expires_at: Timestamp,
}

/// A metadata document, for as long as it may be kept.
#[derive(Serialize, Deserialize)]
struct Document {
    client: Client,
    expires_at: i64,
}

/// How many applications may hold an access token of a tenant's at once: each request writes the item that they are on.
const MAX_APPS: usize = 50;
/// How long an application that nobody has connected is remembered.
const UNUSED_CLIENT: SignedDuration = SignedDuration::from_hours(90 * 24);
/// How long a grant is remembered after its last token, so that a reuse is known for what it is.
const MEMORY: SignedDuration = SignedDuration::from_hours(24);

impl Apps {
    /// The day on which a grant's access token was last used; `None` also where it has none.
    pub fn last_used(&self, grant: Id) -> Option<Day> {
        self.find(grant)?.last_used
    }

    /// Whether a grant's access token is there and has never been used.
    pub fn is_unused(&self, grant: Id) -> bool {
        self.find(grant).is_some_and(|app| app.last_used.is_none())
    }

    /// Whether there is room for a grant's access token.
    pub fn have_room_for(&self, grant: Id, now: Timestamp) -> bool {
        self.find(grant).is_some() || self.0.len() < MAX_APPS || self.expired(grant, now).is_some()
    }

    fn find(&self, grant: Id) -> Option<&Credential> {
        self.0.iter().find(|(id, _)| *id == grant).map(|(_, app)| app)
    }

    /// One that nobody needs any more, other than the grant's own.
    fn expired(&self, grant: Id, now: Timestamp) -> Option<Id> {
        let is_past =
            |app: &Credential| app.expires_at.is_some_and(|expires_at| expires_at <= now.as_second());
        self.0.iter().find(|(id, app)| *id != grant && is_past(app)).map(|(id, _)| *id)
    }
}

impl Writes {
    /// A registered application that somebody connects is remembered.
    pub fn keep_client(&mut self, id: &str) {
        self.update(
            keys::client(id),
            "REMOVE #expires",
            "attribute_exists(pk)",
            vec![("#expires", EXPIRES_AT.to_owned())],
            Vec::new(),
        );
    }

    /// A new grant.
    pub fn insert_grant(&mut self, grant: &Grant) -> Result<(), Failure> {
        let item = self.grant_item(grant)?;
        self.insert(item);
        Ok(())
    }

    /// A grant in place of the version before.
    pub fn replace_grant(&mut self, grant: &Grant) -> Result<(), Failure> {
        let item = self.grant_item(grant)?;
        self.replace(item, grant.version);
        Ok(())
    }

    /// Ends a grant: nothing of it is accepted any more.
    pub fn revoke_grant(&mut self, grant: Grant, now: Timestamp) -> Result<(), Failure> {
        self.remove_access(grant.id);
        self.replace_grant(&grant.revoked(now))
    }

    /// No write, but the grant must still be as read.
    pub fn require_grant(&mut self, grant: &Grant) {
        self.require(keys::grant(self.tenant, grant.id), grant.version);
    }

    fn grant_item(&self, grant: &Grant) -> Result<Item, Failure> {
        let last = grant.tokens.as_ref().map_or(grant.code.expires_at, |tokens| tokens.expires_at);
        let mut item = item::write(grant, keys::grant(self.tenant, grant.id), None)?;
        item.insert(EXPIRES_AT.to_owned(), seconds(last, MEMORY));
        Ok(item)
    }

    /// Lets a grant's access token through the gate, in place of any before. With `unused`, only if the one before has
    /// never been used.
    pub fn put_access(
        &mut self,
        grant: &Grant,
        access: &NewAccess,
        apps: &Apps,
        unused: bool,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let app = Credential {
            hash: access.hash.clone(),
            name: grant.client_name.as_str().to_owned(),
            scopes: access.scopes,
            expires_at: Some(access.expires_at.as_second()),
            last_used: None,
        };
        let app: AttributeValue = serde_dynamo::to_attribute_value(app)
            .map_err(|error| Failure::Internal(format!("a credential cannot be written: {error}")))?;
        let mut names = vec![("#app", Holder::App(grant.id).attribute())];
        let mut values = vec![(":app", app)];
        let expired = apps.expired(grant.id, now);
        let (expression, condition) = match (expired, unused) {
            (None, false) => ("SET #app = :app", "attribute_exists(pk)"),
            (None, true) => {
                ("SET #app = :app", "attribute_exists(#app) AND attribute_not_exists(#app.#used)")
            }
            // What has expired may have been renewed since it was read.
            (Some(_), false) => ("SET #app = :app REMOVE #expired", "#expired.#until <= :now"),
            (Some(_), true) => (
                "SET #app = :app REMOVE #expired",
                "attribute_exists(#app) AND attribute_not_exists(#app.#used) AND #expired.#until <= :now",
            ),
        };
        if unused {
            names.push(("#used", "u".to_owned()));
        }
        if let Some(expired) = expired {
            names.extend([("#expired", Holder::App(expired).attribute()), ("#until", "x".to_owned())]);
            values.push((":now", number(now.as_second())));
        }
        self.update(keys::gate(self.tenant), expression, condition, names, values);
        Ok(())
    }

    /// No access token of the grant is let in any more.
    pub fn remove_access(&mut self, grant: Id) {
        self.update(
            keys::gate(self.tenant),
            "REMOVE #app",
            "attribute_exists(pk)",
            vec![("#app", Holder::App(grant).attribute())],
            Vec::new(),
        );
    }
}

impl Store {
    /// A registered application.
    pub async fn find_client(&self, id: &str) -> Result<Option<Client>, Failure> {
        self.read(keys::client(id)).await?.map(item::read).transpose()
    }

    /// An application whose metadata document was read not long ago.
    pub async fn find_document(&self, id: &str, now: Timestamp) -> Result<Option<Client>, Failure> {
        let found = self.read(keys::client_document(id)).await?;
        let document: Option<Document> = found.map(item::read).transpose()?;
        Ok(document.filter(|document| document.expires_at > now.as_second()).map(|document| document.client))
    }

    /// Keeps a new application; it is forgotten again unless somebody connects it.
    pub async fn insert_client(&self, client: &Client) -> Result<(), Failure> {
        let mut item = item::write(client, keys::client(&client.id), None)?;
        item.insert(EXPIRES_AT.to_owned(), seconds(client.created_at, UNUSED_CLIENT));
        self.put_item(item).await
    }

    /// Keeps an application as its metadata document describes it, until `expires_at`.
    pub async fn put_document(&self, client: &Client, expires_at: Timestamp) -> Result<(), Failure> {
        let document = Document { client: client.clone(), expires_at: expires_at.as_second() };
        self.put_item(item::write(&document, keys::client_document(&client.id), None)?).await
    }

    async fn put_item(&self, item: Item) -> Result<(), Failure> {
        let call = self.client.put_item().table_name(&*self.table).set_item(Some(item));
        self.count(call.send()).await.map(|_| ()).map_err(|error| Failure::of(&error))
    }

    /// One of a tenant's grants.
    pub async fn find_grant(&self, tenant: Tenant, id: Id) -> Result<Option<Grant>, Failure> {
        self.read(keys::grant(tenant, id)).await?.map(item::read).transpose()
    }

    /// A tenant's grants, ended ones included for a while, newest first.
    pub async fn list_grants(&self, tenant: Tenant, page: &Page) -> Result<Listed<Grant>, Failure> {
        self.page(&keys::grants(tenant), page).await
    }

    /// The access tokens at the tenant's gate.
    pub async fn list_apps(&self, tenant: Tenant) -> Result<Apps, Failure> {
        let gate = self.read(keys::gate(tenant)).await?.unwrap_or_default();
        let apps = gate.into_iter().filter_map(|(name, app)| {
            let id = name.strip_prefix(APP_PREFIX)?.parse().ok()?;
            Some((id, serde_dynamo::from_attribute_value(app).ok()?))
        });
        Ok(Apps(apps.collect()))
    }
}

fn seconds(from: Timestamp, after: SignedDuration) -> AttributeValue {
    number(from.saturating_add(after).unwrap_or(from).as_second())
}
