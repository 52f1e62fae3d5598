//! What an export has and how far it is, in words.

use shared::clock::Timestamp;
use shared::model::{Export, ExportFormat, ExportKind, ExportStatus, Plan, grouped};

use crate::import_words::count;

/// The format of the files.
pub(crate) const fn format(format: ExportFormat) -> &'static str {
    match format {
        ExportFormat::Csv => "Spreadsheets (CSV)",
        ExportFormat::Ndjson => "JSON, a record in each line (NDJSON)",
    }
}

/// The format of the files in a list.
pub(crate) const fn short(format: ExportFormat) -> &'static str {
    match format {
        ExportFormat::Csv => "CSV",
        ExportFormat::Ndjson => "NDJSON",
    }
}

/// The name of a kind.
pub(crate) const fn kind(kind: ExportKind) -> &'static str {
    match kind {
        ExportKind::Candidates => "People",
        ExportKind::Applications => "Applications",
        ExportKind::Roles => "Roles",
        ExportKind::JobPostings => "Job postings",
        ExportKind::Notes => "Notes",
        ExportKind::VoiceScreens => "Voice screens",
        ExportKind::Touchpoints => "History",
    }
}

/// What a kind has.
pub(crate) const fn about(kind: ExportKind) -> &'static str {
    match kind {
        ExportKind::Candidates => {
            "With contact data, tags, consents and notes. Another organization can import the file."
        }
        ExportKind::Applications => "With stages, reasons and answers",
        ExportKind::Roles => "Also drafts and closed ones",
        ExportKind::JobPostings => "The public texts, with their questions",
        ExportKind::Notes => "What the team has written about people",
        ExportKind::VoiceScreens => "With results and transcripts",
        ExportKind::Touchpoints => "What has happened with each person",
    }
}

/// The kinds that an export has: `Everything` or `Roles, Notes`.
pub(crate) fn kinds(export: &Export) -> String {
    if export.kinds.len() == ExportKind::ALL.len() {
        return "Everything".to_owned();
    }
    export.kinds.iter().map(|one| kind(*one)).collect::<Vec<_>>().join(", ")
}

/// How many exports a plan has, as a sentence.
pub(crate) fn allowance(plan: Plan) -> String {
    let (a_day, at_once) = (plan.exports_per_day(), Export::MAX_RUNNING as u64);
    let at_once = if a_day > at_once { format!(", at most {at_once} at a time") } else { String::new() };
    format!("Your plan has {} a day (UTC){at_once}", count(a_day, "export", "exports"))
}

/// Where an export stands for its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Its files are being written.
    Running,
    /// Its files can be downloaded.
    Done,
    /// It never had files.
    Failed,
    /// Its files were given up before their time, because somebody was erased.
    Ended,
    /// Its files were deleted after their time.
    Expired,
}

impl Standing {
    /// Where an export stands at this time.
    pub(crate) fn of(export: &Export, now: Timestamp) -> Self {
        match export.status {
            ExportStatus::Running => Self::Running,
            ExportStatus::Failed if export.done_at.is_some() => Self::Ended,
            ExportStatus::Failed => Self::Failed,
            ExportStatus::Done if export.is_over(now) => Self::Expired,
            ExportStatus::Done => Self::Done,
        }
    }

    /// The word on its badge.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Ended => "ended",
            Self::Expired => "expired",
        }
    }
}

/// How far an export is, as sentences.
pub(crate) fn progress(export: &Export, standing: Standing) -> String {
    match standing {
        Standing::Running => match rows(export) {
            0 => "The files are being written.".to_owned(),
            rows => format!("The files are being written: {} so far.", count(rows, "row", "rows")),
        },
        Standing::Done => format!("Done. The files have {}.", count(rows(export), "row", "rows")),
        Standing::Expired => {
            "The files were kept for 24 hours and are deleted. Begin another export.".to_owned()
        }
        // While the erasure is still at work, the export has no reason yet.
        Standing::Failed | Standing::Ended => export.reason.clone().unwrap_or_else(|| {
            "Somebody was erased, so its files are being deleted. Begin another export.".to_owned()
        }),
    }
}

/// The number of rows of all files.
pub(crate) fn rows(export: &Export) -> u64 {
    export.files.iter().map(|file| file.rows).sum()
}

/// The rows that were left out of spreadsheets, as sentences, if there are any.
pub(crate) fn left_out(export: &Export) -> Option<String> {
    let left_out = export.left_out();
    (left_out > 0).then(|| {
        format!(
            "{} left out, because a cell would have more than {} characters. An export as JSON has everything.",
            count(left_out, "row is", "rows are"),
            grouped(32_000)
        )
    })
}
