//! A list of candidates as a file for spreadsheets.

use std::sync::Arc;

use shared::http::{Error, Html, MemberRequest, Reply};
use shared::model::{CandidateRecord, Day, Email, Phone, Source, Stage, Text};
use shared::spreadsheet;

use crate::candidate_list::ListPage;
use crate::candidates::people;

/// The maximum number of rows of a file.
const ROWS: usize = 5_000;
/// The number of people that are read at once.
const AT_ONCE: u32 = 100;

/// The columns.
const COLUMNS: [&str; 13] = [
    "id",
    "name",
    "email",
    "phone",
    "role",
    "stage",
    "status",
    "ended_by",
    "source",
    "score",
    "tags",
    "applied_at",
    "updated_at",
];

/// Sends the list from this page on, at most 5,000 rows, each with a candidate and the application that the list is about.
pub(crate) async fn download(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let mut page = ListPage::read(&request.context.query())?;
    let mut rows = vec![COLUMNS.map(ToOwned::to_owned)];
    loop {
        let (people, next) = people(&request, &page, AT_ONCE).await?;
        rows.extend(people.iter().map(|(record, role)| row(&page.about(*role), record)));
        match next {
            Some(next) if rows.len() <= ROWS => page = ListPage { place: page.place.next(next), ..page },
            _ => break,
        }
    }
    rows.truncate(ROWS + 1);
    let day = Day::of(request.context.now());
    let file = Reply::attachment(&format!("candidates-{day}.csv"), spreadsheet::csv(&rows));
    Ok(file.showing(rows.len() - 1))
}

fn row(page: &ListPage, record: &CandidateRecord) -> [String; COLUMNS.len()] {
    let (candidate, application) = (&record.candidate, page.application(record));
    let profile = &candidate.profile;
    let stated = profile.source.as_ref().map(Source::as_str).unwrap_or_default();
    let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
    let ended_by = application.filter(|one| one.stage == Stage::Rejected).map(|one| one.cause.by.as_str());
    [
        candidate.id.to_string(),
        profile.name.as_str().to_owned(),
        text(profile.email.as_ref().map(Email::as_str)),
        text(profile.phone.as_ref().map(Phone::as_str)),
        text(application.map(|one| one.role.title.as_str())),
        application.map_or(candidate.stage, |one| one.stage).as_str().to_owned(),
        text(application.map(|one| one.status().as_str())),
        text(ended_by),
        application.map_or(stated, |one| one.source.as_str()).to_owned(),
        text(application.and_then(|one| one.score).map(|score| score.to_string()).as_deref()),
        spreadsheet::list(profile.tags.iter().map(Text::as_str)),
        text(application.map(|one| one.applied_at.to_string()).as_deref()),
        candidate.updated_at.to_string(),
    ]
}
