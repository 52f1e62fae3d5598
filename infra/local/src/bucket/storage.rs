//! The storage of objects, in a folder or in memory. A stored object is one line of JSON with its metadata, followed by
//! its content.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::S3Error;
use super::signature::hex;

/// The objects of a bucket.
pub(super) enum Storage {
    /// One file per object. `writes` counts the writes and is used to name temporary files.
    Folder { path: PathBuf, writes: AtomicU64 },
    /// Objects that are lost when the process ends.
    Memory(Mutex<HashMap<String, Bytes>>),
}

/// The headers that S3 returns with an object.
#[derive(Serialize, Deserialize)]
pub(super) struct Metadata {
    pub(super) content_type: String,
    pub(super) content_disposition: Option<String>,
    /// What a virus scanner has found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) scan: Option<String>,
}

impl Storage {
    pub(super) fn in_folder(path: PathBuf) -> Self {
        Self::Folder { path, writes: AtomicU64::new(0) }
    }

    pub(super) fn in_memory() -> Self {
        Self::Memory(Mutex::default())
    }

    /// Returns an object, or `None` if it does not exist.
    pub(super) async fn read(&self, key: &str) -> Result<Option<(Metadata, Bytes)>, S3Error> {
        let Some(stored) = self.load(key).await.map_err(|error| S3Error::internal(&error))? else {
            return Ok(None);
        };
        let end = stored.iter().position(|byte| *byte == b'\n');
        let end = end.ok_or_else(|| S3Error::internal(&"its metadata is missing"))?;
        let metadata = serde_json::from_slice(&stored.slice(..end));
        let metadata = metadata.map_err(|error| S3Error::internal(&error))?;
        Ok(Some((metadata, stored.slice(end + 1..))))
    }

    /// Stores an object and replaces any object with the same key.
    pub(super) async fn write(&self, key: &str, metadata: &Metadata, content: &Bytes) -> Result<(), S3Error> {
        let mut stored = serde_json::to_vec(metadata).map_err(|error| S3Error::internal(&error))?;
        stored.push(b'\n');
        stored.extend_from_slice(content);
        self.save(key, stored.into()).await.map_err(|error| S3Error::internal(&error))
    }

    /// Deletes an object, if it exists.
    pub(super) async fn delete(&self, key: &str) -> Result<(), S3Error> {
        match self {
            Self::Folder { path, .. } => match tokio::fs::remove_file(path.join(key)).await {
                Err(error) if !is_missing(&error) => Err(S3Error::internal(&error)),
                _ => Ok(()),
            },
            Self::Memory(objects) => {
                objects.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
                Ok(())
            }
        }
    }

    /// Returns all keys in their order, without those that begin with a dot, which are no objects.
    pub(super) async fn keys(&self) -> Result<BTreeSet<String>, S3Error> {
        match self {
            Self::Folder { path, .. } => files(path).await.map_err(|error| S3Error::internal(&error)),
            Self::Memory(objects) => {
                let objects = objects.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(objects.keys().filter(|key| !key.starts_with('.')).cloned().collect())
            }
        }
    }

    async fn load(&self, key: &str) -> io::Result<Option<Bytes>> {
        match self {
            Self::Folder { path, .. } => match tokio::fs::read(path.join(key)).await {
                Ok(stored) => Ok(Some(stored.into())),
                Err(error) if is_missing(&error) => Ok(None),
                Err(error) => Err(error),
            },
            Self::Memory(objects) => {
                Ok(objects.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned())
            }
        }
    }

    async fn save(&self, key: &str, stored: Bytes) -> io::Result<()> {
        match self {
            Self::Folder { path, writes } => {
                let (target, number) = (path.join(key), writes.fetch_add(1, Ordering::Relaxed));
                // No key begins with a dot, so this is never the path of an object.
                let temporary = path.join(format!(".part-{number}"));
                tokio::fs::create_dir_all(target.parent().unwrap_or(path)).await?;
                tokio::fs::write(&temporary, stored).await?;
                tokio::fs::rename(&temporary, target).await
            }
            Self::Memory(objects) => {
                objects.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), stored);
                Ok(())
            }
        }
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory)
}

/// The paths of all files below a folder, relative to it. Names that begin with a dot are not objects.
async fn files(root: &Path) -> io::Result<BTreeSet<String>> {
    let (mut found, mut folders) = (BTreeSet::new(), vec![String::new()]);
    while let Some(folder) = folders.pop() {
        let mut entries = match tokio::fs::read_dir(root.join(&folder)).await {
            Ok(entries) => entries,
            Err(error) if is_missing(&error) => continue,
            Err(error) => return Err(error),
        };
        while let Some(entry) = entries.next_entry().await? {
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name.starts_with('.') {
                continue;
            }
            if entry.file_type().await?.is_dir() {
                folders.push(format!("{folder}{name}/"));
            } else {
                found.insert(format!("{folder}{name}"));
            }
        }
    }
    Ok(found)
}

/// The entity tag of an object. S3 specifies only that it changes with the content.
pub(super) fn etag(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    format!("\"{}\"", hex(digest.get(..16).unwrap_or_default()))
}
