//! How a file is to be read.

use encoding_rs::{
    EUC_KR, Encoding as Codec, GBK, MACINTOSH, SHIFT_JIS, UTF_8, UTF_16LE, WINDOWS_1250, WINDOWS_1251,
    WINDOWS_1252, WINDOWS_1253, WINDOWS_1254, WINDOWS_1255, WINDOWS_1256, WINDOWS_1257, WINDOWS_1258,
};
use shared::model::{Country, PlainPhones, TimeZoneName};
use shared::string_enum;

use crate::header::Mapping;

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

string_enum! {
    /// The order of the numbers in dates such as 03/04/2026.
    pub enum DateFormat {
        /// Day, month, year.
        Dmy = "dmy",
        /// Month, day, year.
        Mdy = "mdy",
        /// Year, month, day.
        Ymd = "ymd",
        /// The number of a day, as spreadsheets count them.
        Excel = "excel",
    }
}

string_enum! {
    /// The encoding of a text file.
    pub enum Encoding {
        /// UTF-8.
        Utf8 = "utf-8",
        /// UTF-16, little-endian unless a byte order mark says otherwise.
        Utf16 = "utf-16",
        /// Central European.
        Windows1250 = "windows-1250",
        /// Cyrillic.
        Windows1251 = "windows-1251",
        /// Western European.
        Windows1252 = "windows-1252",
        /// Greek.
        Windows1253 = "windows-1253",
        /// Turkish.
        Windows1254 = "windows-1254",
        /// Hebrew.
        Windows1255 = "windows-1255",
        /// Arabic.
        Windows1256 = "windows-1256",
        /// Baltic.
        Windows1257 = "windows-1257",
        /// Vietnamese.
        Windows1258 = "windows-1258",
        /// Japanese.
        ShiftJis = "shift_jis",
        /// Chinese.
        Gbk = "gbk",
        /// Korean.
        EucKr = "euc-kr",
        /// Mac OS Roman.
        Macintosh = "macintosh",
    }
}

impl Encoding {
    pub(crate) fn codec(self) -> &'static Codec {
        match self {
            Self::Utf8 => UTF_8,
            Self::Utf16 => UTF_16LE,
            Self::Windows1250 => WINDOWS_1250,
            Self::Windows1251 => WINDOWS_1251,
            Self::Windows1252 => WINDOWS_1252,
            Self::Windows1253 => WINDOWS_1253,
            Self::Windows1254 => WINDOWS_1254,
            Self::Windows1255 => WINDOWS_1255,
            Self::Windows1256 => WINDOWS_1256,
            Self::Windows1257 => WINDOWS_1257,
            Self::Windows1258 => WINDOWS_1258,
            Self::ShiftJis => SHIFT_JIS,
            Self::Gbk => GBK,
            Self::EucKr => EUC_KR,
            Self::Macintosh => MACINTOSH,
        }
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
    /// The country whose phone numbers need no country code.
    pub country: Option<Country>,
    /// The time zone of dates and of times without an offset.
    pub time_zone: TimeZoneName,
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
            time_zone: TimeZoneName::UTC,
        }
    }
}
