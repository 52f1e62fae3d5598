//! Access to the project's files.

use std::path::{Path, PathBuf};

/// The base URL of public links in tests.
pub const BASE_URL: &str = "https://api.rolecall.test";

/// Returns the path of a file of the project.
pub fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Returns the path and the content of each Rust file in a folder.
pub fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push((path.clone(), std::fs::read_to_string(&path).expect("a file")));
            }
        }
    }
    let mut found = Vec::new();
    walk(&project(folder), &mut found);
    found
}
