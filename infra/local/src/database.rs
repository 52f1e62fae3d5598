//! The embedded DynamoDB, stored in a file in the data folder or in memory. This process calls it directly, others over
//! HTTP on loopback.

use std::fs::{File, TryLockError};
use std::future::{Future, ready};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dynoxide::Database;
use rusqlite::Connection;
use shared::store::Store;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::in_process;
use crate::server::{self, Host, Hosts};

/// The file in the data folder.
const FILE: &str = "dynamodb.sqlite";

/// An open embedded database.
pub struct Embedded {
    database: Database,
    /// The file; `None` in memory.
    file: Option<PathBuf>,
    /// Is notified of each transaction of this process.
    stream: Arc<Notify>,
    /// Keeps other processes out of the data folder. The system releases it when this process ends, even after a crash.
    _lock: Option<File>,
}

impl Embedded {
    /// An in-memory database, which is lost when the process ends.
    pub fn in_memory() -> Result<Self, String> {
        let database = Database::memory();
        let database =
            database.map_err(|error| format!("The in-memory database cannot be created: {error}."))?;
        Ok(Self { database, file: None, stream: Arc::default(), _lock: None })
    }

    /// The database in `folder`, which is created if it does not exist.
    pub fn in_folder(folder: &Path) -> Result<Self, String> {
        let path = folder.display();
        let unusable = |error: &dyn std::fmt::Display| {
            format!("The data folder {path} cannot be used: {error}. Choose another one with --data.")
        };
        std::fs::create_dir_all(folder).map_err(|error| unusable(&error))?;
        let lock = File::create(folder.join("lock")).map_err(|error| unusable(&error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(format!(
                    "The data folder {path} is in use by another Rolecall process; choose another folder with --data."
                ));
            }
            Err(TryLockError::Error(error)) => return Err(unusable(&error)),
        }
        let file = folder.join(FILE);
        let name = file.to_str().ok_or_else(|| unusable(&"its name is not valid Unicode"))?;
        let database = Database::new(name).map_err(|error| unusable(&error))?;
        Ok(Self { database, file: Some(file), stream: Arc::default(), _lock: Some(lock) })
    }

    /// A handle to `table` in this process, whose calls need no network.
    pub fn store(&self, table: &str) -> Store {
        let (database, stream) = (self.database.clone(), self.stream.clone());
        let http = in_process::http_client(move |operation, body| {
            let answer = in_process::execute(&database, &operation, &body);
            if operation == "TransactWriteItems" {
                stream.notify_one();
            }
            ready(Ok(answer))
        });
        Store::from_config_with_long_timeouts(in_process::config(http), table)
    }

    /// What takes the place of the table's stream: it is notified of each transaction of this process.
    pub fn stream(&self) -> Arc<Notify> {
        self.stream.clone()
    }

    /// Serves DynamoDB's API on `listener` until `shutdown` completes. Then rewrites the file, so that it keeps nothing of
    /// what was deleted.
    pub async fn serve(
        self,
        listener: TcpListener,
        hosts: Hosts,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let Self { database, file, stream: _, _lock } = self;
        server::serve(listener, Host::Database(database, hosts), shutdown).await?;
        if let Some(Err(error)) = file.map(|file| rewrite(&file)) {
            tracing::warn!(%error, "the file of the database was not rewritten, and may keep what was deleted");
        }
        Ok(())
    }
}

/// Rewrites the file without what was deleted. Parts of it would stay between the entries of pages that were balanced, and in
/// the log of changes.
fn rewrite(file: &Path) -> rusqlite::Result<()> {
    Connection::open(file)?.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")
}
