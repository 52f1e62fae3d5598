//! How the file of an import is to be read.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::string_enum::string_enum;

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
    pub enum TextEncoding {
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

string_enum! {
    /// What a column has.
    #[derive(PartialOrd, Ord)]
    pub enum ImportField {
        /// The identifier in another system.
        ExternalId = "external_id",
        /// The whole name.
        Name = "name",
        /// The first name; with it and the last name, a column of whole names means nothing.
        FirstName = "first_name",
        /// The last name.
        LastName = "last_name",
        /// The e-mail address.
        Email = "email",
        /// The phone number.
        Phone = "phone",
        /// Where the person came from.
        Source = "source",
        /// Tags.
        Tags = "tags",
        /// Since when the other system has the person.
        CreatedAt = "created_at",
        /// A link to the resume, or the names of files.
        Resume = "resume",
        /// A link to the resume.
        ResumeUrl = "resume_url",
        /// Names of files.
        Files = "files",
        /// A note, or notes as JSON.
        Notes = "notes",
        /// Consents as JSON.
        Consents = "consents",
        /// The title of the role of an application.
        Role = "role",
        /// The identifier of the role.
        RoleId = "role_id",
        /// The identifier of the role in another system.
        RoleExternalId = "role_external_id",
        /// The identifier of the application in another system.
        ApplicationExternalId = "application_external_id",
        /// When the person applied.
        AppliedAt = "applied_at",
        /// The stage.
        Stage = "stage",
        /// The status of the application.
        Status = "status",
        /// Why the application was rejected.
        RejectionReason = "rejection_reason",
        /// Who rejected the application: the team, or the candidate.
        RejectedBy = "rejected_by",
        /// When the application was rejected.
        RejectedAt = "rejected_at",
        /// Answers as JSON.
        Answers = "answers",
        /// The moves as JSON.
        StageChanges = "stage_changes",
    }
}

/// A column of a file, and what it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportColumn {
    /// The name in the header.
    pub header: String,
    /// What it has; `None` if it is left out.
    pub field: Option<ImportField>,
}

/// What the columns of a file mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportMapping {
    /// The line or row of the file that has the names of the columns; without one, it is looked for.
    #[serde(default)]
    pub header_row: Option<u64>,
    /// The columns. Those that are not among them are understood by their names.
    pub columns: Vec<ImportColumn>,
}
