//! The embedded DynamoDB: a file in the data folder, or memory, spoken to over loopback like any other.

use std::fs::{File, TryLockError};
use std::future::Future;
use std::path::Path;

use dynoxide::Database;
use tokio::net::TcpListener;

/// An embedded database, open.
pub struct Embedded {
    database: Database,
    /// Keeps other processes out of the data folder; the system lets go of it when this one ends, however it ends.
    _lock: Option<File>,
}

impl Embedded {
    /// A database that is forgotten with the process.
    pub fn in_memory() -> Result<Self, String> {
        let database =
            Database::memory().map_err(|error| format!("No database could be made in memory: {error}."))?;
        Ok(Self { database, _lock: None })
    }

    /// The database of `folder`, which is made where it does not exist.
    pub fn in_folder(folder: &Path) -> Result<Self, String> {
        let shown = folder.display();
        let unusable =
            |error: &dyn std::fmt::Display| format!("The data folder {shown} cannot be used: {error}.");
        std::fs::create_dir_all(folder).map_err(|error| unusable(&error))?;
        let lock = File::create(folder.join("lock")).map_err(|error| unusable(&error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(format!(
                    "The data folder {shown} is in use by another Rolecall; choose another with --data."
                ));
            }
            Err(TryLockError::Error(error)) => return Err(unusable(&error)),
        }
        let file = folder.join("dynamodb.sqlite");
        let path = file.to_str().ok_or_else(|| unusable(&"its name is not Unicode"))?;
        let database = Database::new(path).map_err(|error| unusable(&error))?;
        Ok(Self { database, _lock: Some(lock) })
    }

    /// Serves DynamoDB's API on `listener` until `shutdown`.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), String> {
        dynoxide::server::serve_with_shutdown(listener, self.database, shutdown).await
    }
}
