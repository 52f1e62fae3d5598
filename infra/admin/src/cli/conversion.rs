//! The arguments of `convert`.

use std::path::PathBuf;

use clap::Args;
use import_files::{DateFormat, Encoding, FileFormat};
use shared::model::{Country, PlainPhones, TimeZoneName};

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
    /// The country whose phone numbers have no country code, such as DE
    #[arg(long, value_name = "CODE")]
    pub(crate) country: Option<Country>,
    /// The time zone of dates and times without one, such as Europe/Berlin
    #[arg(long, value_name = "NAME", default_value = "UTC")]
    pub(crate) time_zone: TimeZoneName,
}
