//! Connected accounts: their tokens are encrypted before they are stored, and renewed by one caller at a time.

use std::time::Duration;

use futures_util::future::join;
use jiff::SignedDuration;

use crate::clock::{Timestamp, later};
use crate::model::{ChannelStatus, ConnectionStatus, Tenant, WhatsAppConnection, XConnection};
use crate::providers::x::{Tokens, X, XError};
use crate::random::Random;
use crate::secret::Secret;
use crate::store::{CommitError, Store, StoreError, Transaction};
use crate::token_encryption::{DecryptionError, EncryptionKeys};

/// The time that a caller has to renew the tokens. After that, another caller may try.
const LEASE: SignedDuration = SignedDuration::from_secs(20);
/// A token that expires within this time is renewed before it is used.
const MARGIN: SignedDuration = SignedDuration::from_secs(60);
/// The maximum number of times that a caller checks whether another one has renewed the tokens. This takes ten seconds,
/// longer than a call to X.
const MAX_CHECKS: u32 = 100;
/// The time between two checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// The maximum number of attempts to store renewed tokens. If all fail, the account has to be connected again.
const STORE_ATTEMPTS: usize = 5;

/// Why an account cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// X no longer accepts the tokens. The account has to be connected again.
    #[error("X no longer accepts the account's tokens")]
    Expired,
    /// X did not renew the tokens this time.
    #[error("{0}")]
    X(XError),
    /// The tokens are encrypted with a key that is not configured, or for another context.
    #[error(transparent)]
    Decryption(#[from] DecryptionError),
    /// DynamoDB failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The names of the tokens in the contexts that they are bound to.
const X_ACCESS: &str = "x access";
const X_REFRESH: &str = "x refresh";
const WHATSAPP: &str = "whatsapp";

/// A tenant's X account, and the dependencies for using it.
pub struct XAccount<'a> {
    /// The tenant.
    pub tenant: Tenant,
    /// The client for X.
    pub x: X,
    /// The keys that encrypt the tokens.
    pub keys: &'a EncryptionKeys,
    /// The table.
    pub store: &'a Store,
    /// The source of random values.
    pub random: &'a Random,
    /// The current time.
    pub now: Timestamp,
}

/// Creates the connection to an X account.
pub fn connect_x(
    tenant: Tenant,
    username: String,
    tokens: &Tokens,
    keys: &EncryptionKeys,
    random: &Random,
) -> Result<XConnection, DecryptionError> {
    Ok(XConnection {
        username,
        access: keys.encrypt(&tokens.access, &context(tenant, X_ACCESS), random.bytes())?,
        refresh: keys.encrypt(&tokens.refresh, &context(tenant, X_REFRESH), random.bytes())?,
        expires_at: tokens.expires_at,
        standing: ConnectionStatus::NEW,
        leased_until: None,
        version: 1,
    })
}

/// Creates the connection to a `WhatsApp` number.
pub fn connect_whatsapp(
    tenant: Tenant,
    phone_number_id: String,
    token: &Secret,
    keys: &EncryptionKeys,
    random: &Random,
) -> Result<WhatsAppConnection, DecryptionError> {
    let token = keys.encrypt(token, &context(tenant, WHATSAPP), random.bytes())?;
    Ok(WhatsAppConnection {
        phone_number_id,
        token,
        account: None,
        standing: ConnectionStatus::NEW,
        version: 1,
    })
}

/// The connection to an X account with its tokens encrypted with the newest key; `None` if they already are.
pub fn reseal_x(
    tenant: Tenant,
    connection: &XConnection,
    keys: &EncryptionKeys,
    random: &Random,
) -> Result<Option<XConnection>, DecryptionError> {
    let access = keys.reencrypt(&connection.access, &context(tenant, X_ACCESS), random.bytes())?;
    let refresh = keys.reencrypt(&connection.refresh, &context(tenant, X_REFRESH), random.bytes())?;
    Ok((access.is_some() || refresh.is_some()).then(|| XConnection {
        access: access.unwrap_or_else(|| connection.access.clone()),
        refresh: refresh.unwrap_or_else(|| connection.refresh.clone()),
        version: connection.version + 1,
        ..connection.clone()
    }))
}

/// The connection to a `WhatsApp` number with its token encrypted with the newest key; `None` if it already is.
pub fn reseal_whatsapp(
    tenant: Tenant,
    connection: &WhatsAppConnection,
    keys: &EncryptionKeys,
    random: &Random,
) -> Result<Option<WhatsAppConnection>, DecryptionError> {
    let token = keys.reencrypt(&connection.token, &context(tenant, WHATSAPP), random.bytes())?;
    Ok(token.map(|token| WhatsAppConnection { token, version: connection.version + 1, ..connection.clone() }))
}

/// Decrypts the token of a `WhatsApp` number.
pub fn whatsapp_token(
    tenant: Tenant,
    connection: &WhatsAppConnection,
    keys: &EncryptionKeys,
) -> Result<Secret, DecryptionError> {
    keys.decrypt(&connection.token, &context(tenant, WHATSAPP))
}

/// The context that an encrypted token is bound to.
fn context(tenant: Tenant, token: &str) -> String {
    format!("{tenant} {token}")
}

impl XAccount<'_> {
    /// The current access token, unless it is about to expire.
    pub fn current(&self, connection: &XConnection) -> Result<Option<Secret>, DecryptionError> {
        let access = self.access(connection)?;
        Ok((connection.expires_at > later(self.now, MARGIN)).then_some(access))
    }

    /// A valid access token: the current one or a renewed one.
    pub async fn usable(&self, connection: XConnection) -> Result<(XConnection, Secret), AccountError> {
        match self.current(&connection)? {
            Some(access) => Ok((connection, access)),
            None => self.renew(connection).await,
        }
    }

    /// Renews the access token of `old`. A refresh token can be used only once, so one caller takes the lease and calls
    /// X, while the others wait for its result.
    pub async fn renew(&self, old: XConnection) -> Result<(XConnection, Secret), AccountError> {
        let mut connection = old.clone();
        for _ in 0..MAX_CHECKS {
            if !self.keys.are_same(&connection.access, &old.access, &context(self.tenant, X_ACCESS)) {
                let access = self.access(&connection)?;
                return Ok((connection, access));
            }
            if connection.standing.status == ChannelStatus::Expired && connection.version > old.version {
                return Err(AccountError::Expired);
            }
            // This is the time of the request, so a lease that ends meanwhile is left to the next caller.
            let is_free = connection.leased_until.is_none_or(|until| until <= self.now);
            if is_free {
                let leased = next_version(&connection, Some(later(self.now, LEASE)), None);
                match self.replace(&connection, &leased).await {
                    Ok(()) => return self.refresh(leased).await,
                    Err(CommitError::Store(error)) => return Err(error.into()),
                    Err(_) => {}
                }
            }
            tokio::time::sleep(CHECK_INTERVAL).await;
            connection = self.store.find_x_connection(self.tenant).await?.ok_or(AccountError::Expired)?;
        }
        Err(StoreError::Unavailable("another caller holds the account's lease".to_owned()).into())
    }

    /// Revokes the tokens of a connection at X, except an access token that has expired.
    pub async fn revoke(&self, connection: &XConnection) -> Result<(), AccountError> {
        let refresh = self.keys.decrypt(&connection.refresh, &context(self.tenant, X_REFRESH))?;
        let access = self.access(connection)?;
        let revoke_access =
            async { if connection.expires_at > self.now { self.x.revoke(&access).await } else { Ok(()) } };
        let (refresh, access) = join(self.x.revoke(&refresh), revoke_access).await;
        refresh.and(access).map_err(AccountError::X)
    }

    /// Fetches new tokens, and stores them before they are used.
    async fn refresh(&self, leased: XConnection) -> Result<(XConnection, Secret), AccountError> {
        let refresh = self.keys.decrypt(&leased.refresh, &context(self.tenant, X_REFRESH))?;
        match self.x.refresh(&refresh, self.now).await {
            Ok(tokens) => {
                let fresh = connect_x(self.tenant, leased.username.clone(), &tokens, self.keys, self.random)?;
                let fresh = self.store_result(&leased, fresh).await?;
                Ok((fresh, tokens.access))
            }
            Err(XError::Unauthorized) => {
                self.store_result(&leased, next_version(&leased, None, Some(self.expired()))).await?;
                Err(AccountError::Expired)
            }
            Err(error) => {
                self.store_result(&leased, next_version(&leased, None, None)).await?;
                Err(AccountError::X(error))
            }
        }
    }

    /// The status of an account whose tokens X no longer accepts.
    fn expired(&self) -> ConnectionStatus {
        let detail = "X no longer accepts the account's tokens. Connect the account again.".to_owned();
        ConnectionStatus::answered(ChannelStatus::Expired, Some(detail), self.now)
    }

    /// Stores the result of a lease and returns it as stored. It overwrites other changes to the connection since then,
    /// but never other tokens.
    async fn store_result(
        &self,
        leased: &XConnection,
        result: XConnection,
    ) -> Result<XConnection, StoreError> {
        let mut before = leased.clone();
        let mut result = XConnection { version: leased.version + 1, ..result };
        let mut attempt = 1;
        loop {
            let error = match self.replace(&before, &result).await {
                Ok(()) => return Ok(result),
                Err(error) if attempt < STORE_ATTEMPTS => error,
                Err(CommitError::Store(error)) => return Err(error),
                Err(error) => return Err(StoreError::Unavailable(error.to_string())),
            };
            tracing::warn!(tenant = %self.tenant, refusal = %error, "the tokens could not be stored; retrying");
            attempt += 1;
            let Ok(Some(stored)) = self.store.find_x_connection(self.tenant).await else { continue };
            if stored.access == result.access && stored.leased_until.is_none() {
                // The result was stored, and only the response was lost.
                return Ok(stored);
            }
            if !self.keys.are_same(&stored.refresh, &leased.refresh, &context(self.tenant, X_REFRESH)) {
                return Err(StoreError::Unavailable("the account's tokens have changed".to_owned()));
            }
            result.version = stored.version + 1;
            before = stored;
        }
    }

    async fn replace(&self, before: &XConnection, after: &XConnection) -> Result<(), CommitError> {
        let mut transaction = Transaction::new(self.tenant);
        transaction.replace_x_connection(before, after)?;
        self.store.commit(transaction).await
    }

    fn access(&self, connection: &XConnection) -> Result<Secret, DecryptionError> {
        self.keys.decrypt(&connection.access, &context(self.tenant, X_ACCESS))
    }
}

/// The next version of a connection, with this lease and, if given, this status.
fn next_version(
    connection: &XConnection,
    leased_until: Option<Timestamp>,
    standing: Option<ConnectionStatus>,
) -> XConnection {
    let standing = standing.unwrap_or_else(|| connection.standing.clone());
    XConnection { leased_until, standing, version: connection.version + 1, ..connection.clone() }
}
