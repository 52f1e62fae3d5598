//! The files in the ZIP of an import, by the rows that have them.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use import_files::Archive;
use shared::handlers::import_row::ImportRow;
use shared::model::ZippedFile;
use tokio::sync::Mutex;

/// The files that the rows of an import have.
#[derive(Default)]
pub(super) struct RowFiles {
    archive: Archive,
    /// The places of the files of each row.
    by_row: HashMap<u64, Vec<usize>>,
    /// Whoever holds it may have a file in memory.
    pub(super) turn: Mutex<()>,
    /// Whether the ZIP is another one than that whose files were given to rows.
    pub(super) is_replaced: AtomicBool,
}

impl RowFiles {
    pub(super) fn of(files: Vec<ZippedFile>) -> Self {
        let mut by_row = HashMap::<u64, Vec<usize>>::new();
        for (place, file) in files.iter().enumerate() {
            if let Some(row) = file.row {
                by_row.entry(row).or_default().push(place);
            }
        }
        Self {
            archive: Archive::of(files),
            by_row,
            turn: Mutex::new(()),
            is_replaced: AtomicBool::new(false),
        }
    }

    fn of_row(&self, row: u64) -> impl Iterator<Item = &ZippedFile> {
        let places = self.by_row.get(&row).into_iter().flatten();
        places.filter_map(|place| self.archive.files().get(*place))
    }

    /// The numbers of the files that a row gets.
    pub(super) fn numbers(&self, row: u64) -> Vec<u64> {
        self.of_row(row).filter(|file| file.problem.is_none()).map(|file| file.number).collect()
    }

    /// What there is to say about the files that a row names, and those that it has.
    pub(super) fn messages(&self, row: u64, named: &[String]) -> Vec<String> {
        if self.archive.files().is_empty() {
            return Vec::new();
        }
        let problem = |(index, name): (usize, &String)| {
            self.archive.problem_of_name(name).map(|problem| format!("files[{index}].name {problem}"))
        };
        let left_out = |file: &ZippedFile| {
            let problem = file.problem.as_deref()?;
            Some(format!("files is without file {} of the ZIP file, because it {problem}", file.number))
        };
        let named = named.iter().enumerate().filter_map(problem);
        named.chain(self.of_row(row).filter_map(left_out)).collect()
    }

    pub(super) fn find(&self, number: u64) -> Option<&ZippedFile> {
        self.archive.files().iter().find(|file| file.number == number)
    }
}

/// The names of the files that a row names.
pub(super) fn names(row: &ImportRow) -> Vec<String> {
    row.files.iter().flatten().map(|file| file.name.as_str().to_owned()).collect()
}
