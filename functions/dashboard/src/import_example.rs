//! The example of a file to import.

use std::sync::Arc;

use shared::http::{Error, Html, MemberRequest, Reply};
use shared::spreadsheet;

/// The header, and two people who were made up.
const ROWS: [[&str; 10]; 3] = [
    ["external_id", "name", "email", "phone", "source", "tags", "role", "stage", "applied_at", "notes"],
    [
        "A-1",
        "Mara Lindqvist",
        "mara.lindqvist@example.com",
        "+14155550132",
        "Job fair",
        "baker; night shift",
        "Baker",
        "interview",
        "2025-03-14",
        "Can begin in May.",
    ],
    [
        "A-2",
        "Tomás Okafor",
        "tomas.okafor@example.com",
        "",
        "Referral",
        "",
        "Shop manager",
        "applied",
        "2025-04-02",
        "",
    ],
];

/// Sends the example.
pub(crate) async fn download(_: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let rows = ROWS.map(|row| row.map(ToOwned::to_owned));
    Ok(Reply::attachment("import-example.csv", spreadsheet::csv(&rows)))
}
