//! Connected accounts: their tokens are sealed before they are stored, and renewed by one caller at a time.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::model::{ChannelStatus, Standing, Tenant, WhatsAppConnection, XConnection};
use crate::providers::x::{Tokens, Trouble, X};
use crate::random::Random;
use crate::sealed::{SealError, SealingKeys};
use crate::secret::Secret;
use crate::store::{Failure, Refusal, Store, Writes};

/// How long the next pair of tokens may take whoever fetches it; then another may try.
const LEASE: SignedDuration = SignedDuration::from_secs(20);
/// A token that ends this soon is renewed before it is used.
const MARGIN: SignedDuration = SignedDuration::from_secs(60);
/// How often somebody looks whether another has fetched the next pair: for ten seconds, longer than X is waited for.
const LOOKS: u32 = 100;
/// How long between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// How often a pair of tokens that was fetched is tried to be stored: without it the account would be lost.
const STORE_ATTEMPTS: usize = 5;

/// Why an account cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// X does not accept the tokens any more: the account has to be connected anew.
    #[error("X does not accept the account's tokens any more")]
    Expired,
    /// X did not renew them this time.
    #[error("{0}")]
    Trouble(Trouble),
    /// They are sealed with a key that is not configured, or for another place.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// DynamoDB failed.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// An organization's account on X, with all that it takes to use it.
pub struct XAccount<'a> {
    /// Whose it is.
    pub tenant: Tenant,
    /// X.
    pub x: X,
    /// What its tokens are sealed with.
    pub keys: &'a SealingKeys,
    /// The table.
    pub store: &'a Store,
    /// Randomness.
    pub random: &'a Random,
    /// The time.
    pub now: Timestamp,
}

/// A connection to the X account of this name, with its first tokens.
pub fn connect_x(
    tenant: Tenant,
    username: String,
    tokens: &Tokens,
    keys: &SealingKeys,
    random: &Random,
) -> Result<XConnection, SealError> {
    Ok(XConnection {
        username,
        access: keys.seal(&tokens.access, &place(tenant, "x access"), random.bytes())?,
        refresh: keys.seal(&tokens.refresh, &place(tenant, "x refresh"), random.bytes())?,
        expires_at: tokens.expires_at,
        standing: Standing::NEW,
        leased_until: None,
        version: 1,
    })
}

/// A connection to a `WhatsApp` number.
pub fn connect_whatsapp(
    tenant: Tenant,
    phone_number_id: String,
    token: &Secret,
    keys: &SealingKeys,
    random: &Random,
) -> Result<WhatsAppConnection, SealError> {
    let token = keys.seal(token, &place(tenant, "whatsapp"), random.bytes())?;
    Ok(WhatsAppConnection { phone_number_id, token, account: None, standing: Standing::NEW, version: 1 })
}

/// The token of a `WhatsApp` number.
pub fn whatsapp_token(
    tenant: Tenant,
    connection: &WhatsAppConnection,
    keys: &SealingKeys,
) -> Result<Secret, SealError> {
    keys.open(&connection.token, &place(tenant, "whatsapp"))
}

/// What a sealed token is bound to.
fn place(tenant: Tenant, what: &str) -> String {
    format!("{tenant} {what}")
}

impl XAccount<'_> {
    /// The access token as it is, where it has not ended.
    pub fn current(&self, connection: &XConnection) -> Result<Option<Secret>, SealError> {
        let access = self.access(connection)?;
        Ok((connection.expires_at > later(self.now, MARGIN)).then_some(access))
    }

    /// An access token that is good: the one there is, or the next.
    pub async fn usable(&self, connection: XConnection) -> Result<(XConnection, Secret), Unusable> {
        match self.current(&connection)? {
            Some(access) => Ok((connection, access)),
            None => self.renew(connection).await,
        }
    }

    /// The next access token, in place of the one that `spent` holds. A refresh token is good for once: of several
    /// callers one takes the lease and asks X, the others wait for what comes of it.
    pub async fn renew(&self, spent: XConnection) -> Result<(XConnection, Secret), Unusable> {
        let mut connection = spent.clone();
        for _ in 0..LOOKS {
            if connection.access != spent.access {
                let access = self.access(&connection)?;
                return Ok((connection, access));
            }
            if connection.standing.status == ChannelStatus::Expired && connection.version > spent.version {
                return Err(Unusable::Expired);
            }
            let free = connection.leased_until.is_none_or(|until| until <= self.now);
            if free {
                let leased = changed(&connection, Some(later(self.now, LEASE)), None);
                match self.replace(&leased).await {
                    Ok(()) => return self.fetch(leased).await,
                    Err(Refusal::Failed(failure)) => return Err(failure.into()),
                    Err(_) => {}
                }
            }
            tokio::time::sleep(LOOK).await;
            connection = self.store.find_x_connection(self.tenant).await?.ok_or(Unusable::Expired)?;
        }
        Err(Failure::Unavailable("another caller keeps the account's lease".to_owned()).into())
    }

    /// Fetches the next pair, and stores it before anybody uses it.
    async fn fetch(&self, leased: XConnection) -> Result<(XConnection, Secret), Unusable> {
        let refresh = self.keys.open(&leased.refresh, &place(self.tenant, "x refresh"))?;
        match self.x.refresh(&refresh, self.now).await {
            Ok(tokens) => {
                let fresh = connect_x(self.tenant, leased.username.clone(), &tokens, self.keys, self.random)?;
                let fresh = self.keep(&leased, fresh).await?;
                Ok((fresh, tokens.access))
            }
            Err(Trouble::Unauthorized) => {
                self.keep(&leased, changed(&leased, None, Some(self.expired()))).await?;
                Err(Unusable::Expired)
            }
            Err(trouble) => {
                self.keep(&leased, changed(&leased, None, None)).await?;
                Err(Unusable::Trouble(trouble))
            }
        }
    }

    /// What is known of an account whose tokens X does not accept any more.
    fn expired(&self) -> Standing {
        let detail = "X does not accept the account's tokens any more: connect it anew.".to_owned();
        Standing::answered(ChannelStatus::Expired, Some(detail), self.now)
    }

    /// Stores what came of a lease, and gives it as it is stored. Whatever was noted of the account in the meantime
    /// gives way to it; only another pair of tokens does not.
    async fn keep(&self, leased: &XConnection, outcome: XConnection) -> Result<XConnection, Failure> {
        let mut outcome = XConnection { version: leased.version + 1, ..outcome };
        let mut attempt = 1;
        loop {
            let refusal = match self.replace(&outcome).await {
                Ok(()) => return Ok(outcome),
                Err(refusal) if attempt < STORE_ATTEMPTS => refusal,
                Err(Refusal::Failed(failure)) => return Err(failure),
                Err(refusal) => return Err(Failure::Unavailable(refusal.to_string())),
            };
            tracing::warn!(tenant = %self.tenant, %refusal, "tokens are stored once more");
            attempt += 1;
            let Ok(Some(found)) = self.store.find_x_connection(self.tenant).await else { continue };
            if found.access == outcome.access && found.leased_until.is_none() {
                // It was stored, and only the answer was lost.
                return Ok(found);
            }
            if found.refresh != leased.refresh {
                return Err(Failure::Unavailable("the account has other tokens by now".to_owned()));
            }
            outcome.version = found.version + 1;
        }
    }

    async fn replace(&self, connection: &XConnection) -> Result<(), Refusal> {
        let mut writes = Writes::new(self.tenant);
        writes.replace_x_connection(connection)?;
        self.store.commit(writes).await
    }

    fn access(&self, connection: &XConnection) -> Result<Secret, SealError> {
        self.keys.open(&connection.access, &place(self.tenant, "x access"))
    }
}

fn changed(
    connection: &XConnection,
    leased_until: Option<Timestamp>,
    standing: Option<Standing>,
) -> XConnection {
    let standing = standing.unwrap_or_else(|| connection.standing.clone());
    XConnection { leased_until, standing, version: connection.version + 1, ..connection.clone() }
}

fn later(time: Timestamp, wait: SignedDuration) -> Timestamp {
    time.saturating_add(wait).unwrap_or(time)
}
