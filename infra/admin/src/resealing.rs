//! The `reseal` command: encrypts stored secrets with the newest key.
//!
//! Each secret is read, encrypted again and replaced on the condition that it has not changed. A run that was interrupted
//! is repeated, and skips what the newest key has already encrypted.

use std::fmt;

use serde::Serialize;
use shared::id::Id;
use shared::model::{Mode, Tenant};
use shared::services::{accounts, second_factor};
use shared::store::{CommitError, Paging, REGISTRY_SHARDS, StoreError, Transaction};
use shared::token_encryption::{DecryptionError, EncryptionKeys};

use crate::admin::{Admin, CommandError};
use crate::cli::Resealing;

/// The maximum number of times that a secret is read again because it has changed.
const ATTEMPTS: usize = 10;

/// How many secrets there are.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Summary {
    /// Whether nothing was written.
    preview: bool,
    /// The secrets that an older key had encrypted.
    outdated: usize,
    /// The secrets that the newest key had encrypted before.
    current: usize,
}

/// A run over all organizations.
struct Run<'a> {
    admin: &'a Admin,
    keys: EncryptionKeys,
    summary: Summary,
    /// The secrets that none of the keys decrypts.
    unreadable: Vec<String>,
}

/// Encrypts the tokens of connected accounts and the secrets of second factors with the newest key.
pub(crate) async fn reseal(admin: &Admin, arguments: &Resealing) -> Result<Summary, CommandError> {
    let keys = admin.secrets.sealing_keys()?;
    let summary = Summary { preview: arguments.preview, ..Summary::default() };
    let mut run = Run { admin, keys, summary, unreadable: Vec::new() };
    for shard in 0..REGISTRY_SHARDS {
        let mut page = Paging { limit: 100, before: None };
        loop {
            let listed = admin.store.list_registered(shard, &page).await?;
            for organization in listed.items {
                run.organization(organization).await?;
            }
            let Some(next) = listed.next else { break };
            page.before = Some(next);
        }
    }
    if run.unreadable.is_empty() { Ok(run.summary) } else { Err(CommandError::Unreadable(run.unreadable)) }
}

/// A stored secret.
#[derive(Clone, Copy)]
enum Stored {
    X,
    WhatsApp,
    SecondFactor(Id),
    WebhookEndpoint(Id),
}

/// What is known about a secret.
enum Found {
    Nothing,
    /// The newest key has encrypted it.
    Current,
    /// None of the keys decrypts it.
    Unreadable(DecryptionError),
    /// An older key has encrypted it. The transaction replaces it, unless it has changed.
    Outdated(Box<Transaction>),
}

impl Found {
    fn of<T>(
        tenant: Tenant,
        before: &T,
        after: Result<Option<T>, DecryptionError>,
        replace: impl Fn(&mut Transaction, &T, &T) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        Ok(match after {
            Err(error) => Self::Unreadable(error),
            Ok(None) => Self::Current,
            Ok(Some(after)) => {
                let mut transaction = Transaction::new(tenant);
                replace(&mut transaction, before, &after)?;
                Self::Outdated(Box::new(transaction))
            }
        })
    }
}

impl Run<'_> {
    async fn organization(&mut self, organization: Id) -> Result<(), StoreError> {
        for tenant in Mode::ALL.map(|mode| Tenant { organization, mode }) {
            self.secret(tenant, Stored::X).await?;
            self.secret(tenant, Stored::WhatsApp).await?;
            for endpoint in self.admin.store.list_all_webhook_endpoints(tenant).await? {
                self.secret(tenant, Stored::WebhookEndpoint(endpoint.id)).await?;
            }
        }
        let live = Tenant { organization, mode: Mode::Live };
        for member in self.admin.store.list_members(organization).await? {
            if member.second_factor.is_some() {
                self.secret(live, Stored::SecondFactor(member.id)).await?;
            }
        }
        Ok(())
    }

    /// Encrypts one secret again, if it exists.
    async fn secret(&mut self, tenant: Tenant, stored: Stored) -> Result<(), StoreError> {
        let name = match stored {
            Stored::X => format!("the X account of {tenant}"),
            Stored::WhatsApp => format!("the WhatsApp number of {tenant}"),
            Stored::SecondFactor(member) => format!("the second factor of member {member} of {tenant}"),
            Stored::WebhookEndpoint(id) => format!("the webhook endpoint {id} of {tenant}"),
        };
        for _ in 0..ATTEMPTS {
            match self.find(tenant, stored).await? {
                Found::Nothing => return Ok(()),
                Found::Current => {
                    self.summary.current += 1;
                    return Ok(());
                }
                Found::Unreadable(error) => {
                    self.unreadable.push(format!("{name} ({error})"));
                    return Ok(());
                }
                Found::Outdated(_) if self.summary.preview => {
                    self.summary.outdated += 1;
                    return Ok(());
                }
                Found::Outdated(transaction) => match self.admin.store.commit(*transaction).await {
                    Ok(()) => {
                        self.summary.outdated += 1;
                        return Ok(());
                    }
                    Err(CommitError::Store(error)) => return Err(error),
                    // Somebody else has changed it.
                    Err(_) => {}
                },
            }
        }
        Err(StoreError::Unavailable(format!("{name} changes all the time")))
    }

    async fn find(&self, tenant: Tenant, stored: Stored) -> Result<Found, StoreError> {
        let (store, random, keys) = (&self.admin.store, &self.admin.random, &self.keys);
        match stored {
            Stored::X => {
                let Some(before) = store.find_x_connection(tenant).await? else { return Ok(Found::Nothing) };
                let after = accounts::reseal_x(tenant, &before, keys, random);
                Found::of(tenant, &before, after, Transaction::replace_x_connection)
            }
            Stored::WhatsApp => {
                let Some(before) = store.find_whatsapp_connection(tenant).await? else {
                    return Ok(Found::Nothing);
                };
                let after = accounts::reseal_whatsapp(tenant, &before, keys, random);
                Found::of(tenant, &before, after, Transaction::replace_whatsapp_connection)
            }
            Stored::SecondFactor(member) => {
                let found = store.find_member(tenant.organization, member).await?;
                let Some(before) = found.filter(|member| member.second_factor.is_some()) else {
                    return Ok(Found::Nothing);
                };
                let after = second_factor::reseal(keys, tenant.organization, &before, random);
                Found::of(tenant, &before, after, Transaction::replace_member)
            }
            Stored::WebhookEndpoint(id) => {
                let Some(before) = store.find_webhook_endpoint(tenant, id).await? else {
                    return Ok(Found::Nothing);
                };
                let after = before.reseal(tenant, keys, random);
                Found::of(tenant, &before, after, Transaction::reseal_webhook_endpoint)
            }
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { preview, outdated, current } = self;
        let done = if *preview { "that would be encrypted again" } else { "encrypted again" };
        write!(f, "Secrets {done}: {outdated}. Already encrypted with the newest key: {current}.")
    }
}
