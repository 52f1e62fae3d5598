//! The arguments of `convert` and `import`.

use std::path::PathBuf;

use clap::Args;
use import_files::{DateFormat, Encoding, FileFormat};
use shared::id::Id;
use shared::model::{Country, ImportFormat, PlainPhones, Scalar, Source, Tag, TimeZoneName, Value};

use super::tenant::OneMode;
use super::values::text;

/// How a spreadsheet is to be read.
#[derive(Debug, Args)]
pub(crate) struct Reading {
    /// The sheet of a workbook [default: the first visible one with a header]
    #[arg(long, value_name = "NAME")]
    pub(crate) sheet: Option<String>,
    /// The encoding of a CSV file [default: UTF-8, or Windows-1252 if it isn't UTF-8]
    #[arg(long)]
    pub(crate) encoding: Option<Encoding>,
    /// A JSON file that says which columns have what
    #[arg(long, value_name = "FILE")]
    pub(crate) mapping: Option<PathBuf>,
    /// The order of day, month and year in dates such as 03/04/2026
    #[arg(long)]
    pub(crate) date_format: Option<DateFormat>,
    /// How phone numbers are read that have lost their plus or their zeros
    #[arg(long)]
    pub(crate) plain_phones: Option<PlainPhones>,
}

#[derive(Debug, Args)]
pub(crate) struct Conversion {
    /// The file, or a folder with the lists of another system
    #[arg(value_name = "PATH")]
    pub(crate) file: PathBuf,
    /// Where to write the rows that can be imported
    #[arg(long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// A ZIP file of resumes: the report says whose each file is
    #[arg(long, value_name = "ZIP")]
    pub(crate) files: Option<PathBuf>,
    /// The format: csv, xlsx, ndjson, harvest or merge [default: the end of the file's name]
    #[arg(long)]
    pub(crate) format: Option<FileFormat>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// The country whose phone numbers have no country code, such as DE
    #[arg(long, value_name = "CODE")]
    pub(crate) country: Option<Country>,
    /// The time zone of dates and times without one, such as Europe/Berlin
    #[arg(long, value_name = "NAME", default_value = "UTC")]
    pub(crate) time_zone: TimeZoneName,
}

#[derive(Debug, Args)]
pub(crate) struct NewImport {
    #[command(flatten)]
    pub(crate) tenant: OneMode,
    /// The file: CSV, xlsx or NDJSON, at most 200 MB
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// A ZIP file with files of the people, at most 1 GB
    #[arg(long, value_name = "ZIP")]
    pub(crate) files: Option<PathBuf>,
    /// The format: csv, xlsx or ndjson [default: the end of the file's name]
    #[arg(long)]
    pub(crate) format: Option<ImportFormat>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Where people came from whose rows do not say so
    #[arg(long, value_name = "TEXT", value_parser = source)]
    pub(crate) source: Option<Source>,
    /// A tag that everybody gets; repeat the option for several
    #[arg(long = "tag", value_name = "TAG", value_parser = text::<50>)]
    pub(crate) tags: Vec<Tag>,
    /// The role of people whose rows have no application
    #[arg(long, value_name = "ROLE_ID")]
    pub(crate) role: Option<Id>,
    /// Replace what known people have, instead of only filling what is missing
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Wait until every row is checked, and print what is wrong with rows
    #[arg(long)]
    pub(crate) wait: bool,
    /// Wait like --wait, then run the import and wait until it is done
    #[arg(long)]
    pub(crate) run: bool,
}

fn source(argument: &str) -> Result<Source, String> {
    Source::read(&Scalar::Word(argument))?.ok_or_else(|| "can't be blank".to_owned())
}
