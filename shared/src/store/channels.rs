//! Channels: connected accounts, the posts made through them, and how many there were today.

use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;

use super::keys::{self, EXPIRES_AT};
use super::writes::number;
use super::{Failure, Item, Listed, Page, Store, Writes, item};
use crate::id::Id;
use crate::model::{Day, Post, Tenant, WhatsAppConnection, XConnection};

/// A tenant's channels.
#[derive(Clone, Debug)]
pub struct Channels {
    /// The account on X.
    pub x: Option<XConnection>,
    /// The number on `WhatsApp`.
    pub whatsapp: Option<WhatsAppConnection>,
    /// How many posts have been made to X today.
    pub posts_today: u64,
}

/// The attribute that counts a day's posts.
const POSTS: &str = "posts";

impl Writes {
    /// An account on X, in place of any other.
    pub fn put_x_connection(&mut self, connection: &XConnection) -> Result<(), Failure> {
        self.put(item::write(connection, keys::x_connection(self.tenant), None)?);
        Ok(())
    }

    /// The account on X in place of the version that it was made from.
    pub fn replace_x_connection(&mut self, connection: &XConnection) -> Result<(), Failure> {
        let item = item::write(connection, keys::x_connection(self.tenant), None)?;
        self.replace(item, connection.version);
        Ok(())
    }

    /// A number on `WhatsApp`, in place of any other.
    pub fn put_whatsapp_connection(&mut self, connection: &WhatsAppConnection) -> Result<(), Failure> {
        self.put(item::write(connection, keys::whatsapp_connection(self.tenant), None)?);
        Ok(())
    }

    /// The number on `WhatsApp` in place of the version that it was made from.
    pub fn replace_whatsapp_connection(&mut self, connection: &WhatsAppConnection) -> Result<(), Failure> {
        let item = item::write(connection, keys::whatsapp_connection(self.tenant), None)?;
        self.replace(item, connection.version);
        Ok(())
    }

    /// No account on X any more.
    pub fn delete_x_connection(&mut self) {
        self.delete(keys::x_connection(self.tenant));
    }

    /// No number on `WhatsApp` any more.
    pub fn delete_whatsapp_connection(&mut self) {
        self.delete(keys::whatsapp_connection(self.tenant));
    }

    /// A new post, counted with its day's.
    pub fn insert_post(&mut self, post: &Post, now: Timestamp) -> Result<(), Failure> {
        self.insert(item::write(post, keys::post(self.tenant, post.id), None)?);
        self.count_posts(now, 1);
        Ok(())
    }

    /// A post in place of what was known of it.
    pub fn put_post(&mut self, post: &Post) -> Result<(), Failure> {
        self.put(item::write(post, keys::post(self.tenant, post.id), None)?);
        Ok(())
    }

    /// A post that was not made after all.
    pub fn withdraw_post(&mut self, id: Id, now: Timestamp) {
        self.delete(keys::post(self.tenant, id));
        self.count_posts(now, -1);
    }

    fn count_posts(&mut self, now: Timestamp, by: i64) {
        let expires_at = now.saturating_add(SignedDuration::from_hours(48)).unwrap_or(now);
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
    /// The tenant's channels, and its posts of `today`.
    pub async fn find_channels(&self, tenant: Tenant, today: Day) -> Result<Channels, Failure> {
        let wanted =
            [keys::x_connection(tenant), keys::whatsapp_connection(tenant), keys::x_usage(tenant, today)];
        let mut found = self.read_many(wanted.clone()).await?;
        let [x, whatsapp, usage] = wanted.map(|key| key.take_from(&mut found));
        Ok(Channels {
            x: read(x)?,
            whatsapp: read(whatsapp)?,
            posts_today: usage.map_or(0, |usage| item::count(&usage, POSTS)),
        })
    }

    /// The tenant's account on X.
    pub async fn find_x_connection(&self, tenant: Tenant) -> Result<Option<XConnection>, Failure> {
        read(self.read(keys::x_connection(tenant)).await?)
    }

    /// The tenant's posts to X, newest first.
    pub async fn list_posts(&self, tenant: Tenant, page: &Page) -> Result<Listed<Post>, Failure> {
        self.page(&keys::posts(tenant), page).await
    }
}

fn read<T: DeserializeOwned>(item: Option<Item>) -> Result<Option<T>, Failure> {
    item.map(item::read).transpose()
}
