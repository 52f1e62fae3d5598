//! How a file is to be read.

use std::collections::BTreeMap;

use encoding_rs::{
    EUC_KR, Encoding as Codec, GBK, MACINTOSH, SHIFT_JIS, UTF_8, UTF_16LE, WINDOWS_1250, WINDOWS_1251,
    WINDOWS_1252, WINDOWS_1253, WINDOWS_1254, WINDOWS_1255, WINDOWS_1256, WINDOWS_1257, WINDOWS_1258,
};
use shared::id::Id;
use shared::model::{
    CaseFolded, Country, DateFormat, ImportMapping as Mapping, PlainPhones, TextEncoding as Encoding,
    TimeZoneName,
};
use shared::string_enum;

string_enum! {
    /// The format of a file.
    pub enum FileFormat {
        /// Text in cells with a separator (RFC 4180).
        Csv = "csv",
        /// A workbook (ECMA-376).
        Xlsx = "xlsx",
        /// A JSON object in each line.
        Ndjson = "ndjson",
        /// The JSON of Greenhouse's Harvest API, version 3.
        Harvest = "harvest",
        /// The JSON of Merge's unified API for applicant tracking systems.
        Merge = "merge",
    }
}

/// The codec of an encoding.
pub(crate) fn codec(encoding: Encoding) -> &'static Codec {
    match encoding {
        Encoding::Utf8 => UTF_8,
        Encoding::Utf16 => UTF_16LE,
        Encoding::Windows1250 => WINDOWS_1250,
        Encoding::Windows1251 => WINDOWS_1251,
        Encoding::Windows1252 => WINDOWS_1252,
        Encoding::Windows1253 => WINDOWS_1253,
        Encoding::Windows1254 => WINDOWS_1254,
        Encoding::Windows1255 => WINDOWS_1255,
        Encoding::Windows1256 => WINDOWS_1256,
        Encoding::Windows1257 => WINDOWS_1257,
        Encoding::Windows1258 => WINDOWS_1258,
        Encoding::ShiftJis => SHIFT_JIS,
        Encoding::Gbk => GBK,
        Encoding::EucKr => EUC_KR,
        Encoding::Macintosh => MACINTOSH,
    }
}

/// How a file is to be read.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The format.
    pub format: FileFormat,
    /// The sheet of a workbook; without one, the first visible sheet with a header.
    pub sheet: Option<String>,
    /// The encoding of a text file; without one, UTF-8 if the whole file is, else Windows-1252.
    pub encoding: Option<Encoding>,
    /// The header and what its columns mean; without one, the header is looked for and its names are understood.
    pub mapping: Option<Mapping>,
    /// How dates are read that have several readings; without one, they are invalid.
    pub date_format: Option<DateFormat>,
    /// How phone numbers without a plus or zeros are read; without one, those with two readings are invalid.
    pub plain_phones: Option<PlainPhones>,
    /// The country whose phone numbers need no country code, unless a role has one.
    pub country: Option<Country>,
    /// The countries of roles.
    pub role_countries: RoleCountries,
    /// The role of an application in a row that names none.
    pub default_role: Option<Id>,
    /// The time zone of dates and of times without an offset.
    pub time_zone: TimeZoneName,
}

/// The countries of roles, by what may name a role.
pub type RoleCountries = BTreeMap<RoleName, Country>;

/// What names a role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoleName {
    /// Its id.
    Id(u64),
    /// Its identifier in another system.
    ExternalId(String),
    /// Its title, without case.
    Title(CaseFolded),
}

impl Settings {
    /// The settings of an organization that has chosen none.
    pub const fn new(format: FileFormat) -> Self {
        Self {
            format,
            sheet: None,
            encoding: None,
            mapping: None,
            date_format: None,
            plain_phones: None,
            country: None,
            role_countries: RoleCountries::new(),
            default_role: None,
            time_zone: TimeZoneName::UTC,
        }
    }
}
