//! Channels: connected accounts, the posts to X, and the number of posts per day.

use jiff::SignedDuration;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::item::number;
use super::keys::{self, EXPIRES_AT};
use super::recording::{Recorded, names};
use super::{Item, Listed, Paging, Store, StoreError, Transaction, item};
use crate::clock::{Timestamp, later};
use crate::id::Id;
use crate::model::{
    AuditAction, AuditTarget, AuditTargetKind, ConnectionStatus, Country, Day, EventData, EventType, Post,
    SubjectType, Tenant, WhatsAppConnection, XConnection,
};

/// A tenant's channels.
#[derive(Clone, Debug)]
pub struct Channels {
    /// The X account.
    pub x: Option<XConnection>,
    /// The `WhatsApp` number.
    pub whatsapp: Option<WhatsAppConnection>,
    /// The number of posts to X today.
    pub posts_today: u64,
    /// The countries that may be called, if an owner has chosen them.
    pub call_countries: Option<Vec<Country>>,
}

/// The countries that a tenant may call, as stored.
#[derive(Serialize, Deserialize)]
pub(super) struct CallSetting {
    countries: Vec<Country>,
}

/// The attribute with a day's number of posts.
const POSTS: &str = "posts";

impl Transaction {
    /// Stores the X account, replacing any other.
    pub fn put_x_connection(&mut self, connection: &XConnection) -> Result<(), StoreError> {
        self.overwrite(item::write(connection, keys::x_connection(self.tenant), None)?);
        self.record([of_connection(EventType::ConnectionCreated, SubjectType::X)]);
        self.audit(AuditAction::ChannelConnected, Some(AuditTarget::only(AuditTargetKind::X)));
        Ok(())
    }

    /// Replaces the X account.
    pub fn replace_x_connection(
        &mut self,
        before: &XConnection,
        after: &XConnection,
    ) -> Result<(), StoreError> {
        let item = |connection| item::write(connection, keys::x_connection(self.tenant), None);
        self.replace(&item(before)?, &item(after)?)?;
        self.record(status_change(SubjectType::X, &before.standing, &after.standing));
        Ok(())
    }

    /// Stores the `WhatsApp` number, replacing any other.
    pub fn put_whatsapp_connection(&mut self, connection: &WhatsAppConnection) -> Result<(), StoreError> {
        self.overwrite(item::write(connection, keys::whatsapp_connection(self.tenant), None)?);
        self.record([of_connection(EventType::ConnectionCreated, SubjectType::WhatsApp)]);
        self.audit(AuditAction::ChannelConnected, Some(AuditTarget::only(AuditTargetKind::WhatsApp)));
        Ok(())
    }

    /// Replaces the `WhatsApp` number.
    pub fn replace_whatsapp_connection(
        &mut self,
        before: &WhatsAppConnection,
        after: &WhatsAppConnection,
    ) -> Result<(), StoreError> {
        let item = |connection| item::write(connection, keys::whatsapp_connection(self.tenant), None);
        self.replace(&item(before)?, &item(after)?)?;
        self.record(status_change(SubjectType::WhatsApp, &before.standing, &after.standing));
        Ok(())
    }

    /// Deletes the X account.
    pub fn delete_x_connection(&mut self) {
        self.delete(keys::x_connection(self.tenant));
        self.record([of_connection(EventType::ConnectionDeleted, SubjectType::X)]);
        self.audit(AuditAction::ChannelDisconnected, Some(AuditTarget::only(AuditTargetKind::X)));
    }

    /// Deletes the `WhatsApp` number.
    pub fn delete_whatsapp_connection(&mut self) {
        self.delete(keys::whatsapp_connection(self.tenant));
        self.record([of_connection(EventType::ConnectionDeleted, SubjectType::WhatsApp)]);
        self.audit(AuditAction::ChannelDisconnected, Some(AuditTarget::only(AuditTargetKind::WhatsApp)));
    }

    /// Sets the countries that the tenant may call.
    pub fn put_call_countries(&mut self, countries: &[Country]) -> Result<(), StoreError> {
        let setting = CallSetting { countries: countries.to_owned() };
        self.put(item::write(&setting, keys::call_setting(self.tenant), None)?)?;
        self.record([Recorded::setting(SubjectType::CallCountries)]);
        self.audit(AuditAction::SettingsChanged, Some(AuditTarget::only(AuditTargetKind::CallCountries)));
        Ok(())
    }

    /// Inserts a post and adds it to the number of today's posts.
    pub fn insert_post(&mut self, post: &Post, now: Timestamp) -> Result<(), StoreError> {
        self.insert(item::write(post, keys::post(self.tenant, post.id), None)?);
        let kind = if post.external_id.is_some() { EventType::PostPublished } else { EventType::PostCreated };
        self.record_post(kind, post.id, Some(post));
        self.count_posts(now, 1);
        Ok(())
    }

    /// Stores a post that X has confirmed.
    pub fn confirm_post(&mut self, post: &Post) -> Result<(), StoreError> {
        self.put_post_metrics(post)?;
        self.record_post(EventType::PostPublished, post.id, Some(post));
        Ok(())
    }

    /// Stores a post with new metrics.
    pub fn put_post_metrics(&mut self, post: &Post) -> Result<(), StoreError> {
        self.put(item::write(post, keys::post(self.tenant, post.id), None)?)
    }

    /// Deletes a post that was not published and subtracts it from the number of today's posts.
    pub fn delete_post(&mut self, id: Id, now: Timestamp) {
        self.delete(keys::post(self.tenant, id));
        self.record_post(EventType::PostDeleted, id, None);
        self.count_posts(now, -1);
    }

    fn record_post(&mut self, kind: EventType, id: Id, post: Option<&Post>) {
        let data = EventData::new().with_some("job_posting_id", post.map(|post| post.job_posting_id));
        let data = data.with("channel", SubjectType::X.as_str());
        self.record([Recorded::stamped(kind, SubjectType::Post, Some(id)).with(data)]);
    }

    fn count_posts(&mut self, now: Timestamp, by: i64) {
        // Only the number of the current day is read.
        let expires_at = later(now, SignedDuration::from_hours(48));
        self.update(
            keys::x_usage(self.tenant, Day::of(now)),
            "SET #expires = :expires ADD #posts :by",
            "",
            vec![("#expires", EXPIRES_AT.to_owned()), ("#posts", POSTS.to_owned())],
            vec![(":expires", number(expires_at.as_second())), (":by", number(by))],
        );
    }
}

impl Store {
    /// The tenant's channels and its number of posts on `today`.
    pub async fn get_channels(&self, tenant: Tenant, today: Day) -> Result<Channels, StoreError> {
        let keys = [
            keys::x_connection(tenant),
            keys::whatsapp_connection(tenant),
            keys::x_usage(tenant, today),
            keys::call_setting(tenant),
        ];
        let mut items = self.read_many(keys.clone()).await?;
        let [x, whatsapp, usage, calls] = keys.map(|key| key.take_from(&mut items));
        Ok(Channels {
            x: read(x)?,
            whatsapp: read(whatsapp)?,
            posts_today: usage.map_or(0, |usage| item::count(&usage, POSTS)),
            call_countries: read::<CallSetting>(calls)?.map(|setting| setting.countries),
        })
    }

    /// The countries that the tenant may call, if an owner has chosen them.
    pub async fn find_call_countries(&self, tenant: Tenant) -> Result<Option<Vec<Country>>, StoreError> {
        let setting: Option<CallSetting> = read(self.read(keys::call_setting(tenant)).await?)?;
        Ok(setting.map(|setting| setting.countries))
    }

    /// The tenant's X account.
    pub async fn find_x_connection(&self, tenant: Tenant) -> Result<Option<XConnection>, StoreError> {
        read(self.read(keys::x_connection(tenant)).await?)
    }

    /// The tenant's `WhatsApp` number.
    pub async fn find_whatsapp_connection(
        &self,
        tenant: Tenant,
    ) -> Result<Option<WhatsAppConnection>, StoreError> {
        read(self.read(keys::whatsapp_connection(tenant)).await?)
    }

    /// A page of the tenant's posts to X, newest first.
    pub async fn list_posts(&self, tenant: Tenant, page: &Paging) -> Result<Listed<Post>, StoreError> {
        self.read_page(&keys::posts(tenant), page).await
    }
}

fn of_connection(kind: EventType, channel: SubjectType) -> Recorded {
    Recorded::stamped(kind, channel, None).with(EventData::new().with("channel", channel.as_str()))
}

/// The change of a connection's status, if it has changed. New tokens and answers of the provider are no change.
fn status_change(
    channel: SubjectType,
    before: &ConnectionStatus,
    after: &ConnectionStatus,
) -> Option<Recorded> {
    let (from, to) = (before.status.as_str(), after.status.as_str());
    let data = EventData::new().with("channel", channel.as_str()).with("from", from).with("to", to);
    let change = of_connection(EventType::ConnectionUpdated, channel).changing(names([("status", true)]));
    (from != to).then(|| change.with(data))
}

fn read<T: DeserializeOwned>(item: Option<Item>) -> Result<Option<T>, StoreError> {
    item.map(item::read).transpose()
}
