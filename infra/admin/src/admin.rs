//! The dependencies of the commands.

use std::io;

use shared::clock::{Clock, Timestamp};
use shared::id::{Id, Ids};
use shared::model::Mode;
use shared::providers::bucket::{Bucket, BucketError};
use shared::random::Random;
use shared::store::{CommitError, OrganizationError, RestoreError, Store, StoreError};

use crate::secrets::{SecretError, Secrets};

/// The store, the time, and the sources of ids and secrets.
pub(crate) struct Admin {
    pub(crate) store: Store,
    /// When the command began.
    pub(crate) now: Timestamp,
    pub(crate) clock: Clock,
    pub(crate) ids: Ids,
    pub(crate) random: Random,
    /// The secrets in environment variables.
    pub(crate) secrets: Secrets,
    /// The bucket of uploaded resumes.
    pub(crate) bucket: Option<Bucket>,
}

/// Why a command was not completed.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The data could not be read or changed.
    Organization(OrganizationError),
    /// The slug that confirms a deletion is not the organization's.
    WrongSlug,
    /// Nobody said which bucket has the organization's files.
    NoBucket,
    /// A secret is missing, or cannot be used.
    Secret(SecretError),
    /// Nobody said which bucket has the tombstones.
    NoTombstones,
    /// The bucket failed.
    Bucket(BucketError),
    /// A person is on legal hold.
    OnHold {
        /// The person's mode.
        mode: Mode,
        /// The person.
        id: Id,
    },
    /// None of the keys decrypts these secrets.
    Unreadable(Vec<String>),
    /// An item was not moved out of the quarantine.
    Restore(RestoreError),
    /// An item that this release can read, or none, was to be moved to the quarantine.
    Readable,
    /// A deployment does not answer as it should.
    Smoke(String),
    /// There is no such task.
    NoSuchTask,
    /// There is no such connected application.
    NoSuchApp,
    /// There is no such webhook endpoint.
    NoSuchWebhook,
    /// An export could not be written.
    Unwritten(io::Error),
    /// A file of people could not be converted.
    Conversion(String),
    /// A file of people was not imported.
    Import(String),
    /// An organization's data was not exported.
    Export(String),
}

impl<E: Into<OrganizationError>> From<E> for CommandError {
    fn from(error: E) -> Self {
        Self::Organization(error.into())
    }
}

impl From<SecretError> for CommandError {
    fn from(error: SecretError) -> Self {
        Self::Secret(error)
    }
}

impl CommandError {
    /// The error of a transaction that nothing else can refuse than a concurrent change.
    pub(crate) fn of_commit(error: CommitError) -> Self {
        match error {
            CommitError::Store(error) => error.into(),
            _ => StoreError::Unavailable("another change was made at the same time".to_owned()).into(),
        }
    }
}

/// The maximum number of random identifiers to try for a new record. In rare cases, an identifier is already in use.
pub(crate) const ID_ATTEMPTS: usize = 3;
