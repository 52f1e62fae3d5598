//! What the pages have in common: the frame around them, sentences about what was just done, and how times are written.

use jiff::Timestamp;
use shared::http::page::{Problem, style_version};
use shared::http::{Desk, Page, Reply};
use shared::id::Id;
use shared::model::{Day, Mode};
use shared::store;

use crate::pages::{Frame, Section};

/// What was just done. The word is in the address, so that only these sentences can be shown.
const NOTICES: [(&str, &str); 11] = [
    ("key-revoked", "The API key is refused from now on."),
    ("app-revoked", "The application has no access any more."),
    ("x-connected", "The account on X is connected."),
    ("x-disconnected", "The account on X is forgotten."),
    ("whatsapp-connected", "The WhatsApp number is connected."),
    ("whatsapp-disconnected", "The WhatsApp number is forgotten."),
    ("career-page-changed", "The career page looks like that from now on."),
    ("role-changed", "The member's role has changed."),
    (
        "member-removed",
        "The member was removed, signed out everywhere, and so were the applications connected by them.",
    ),
    ("password-changed", "Your password has changed, and every other session has ended."),
    ("password-set", "Your password is set, and you are signed in."),
];

/// What could not be done.
const FAILURES: [(&str, &str); 4] = [
    ("x-declined", "X was not allowed to connect the account."),
    ("x-stale", "The way back from X took too long, or began in another browser. Connect the account again."),
    ("x-failed", "X did not connect the account. Try again in a moment."),
    ("own-role", "Another owner has to do that: nobody can change or remove themselves."),
];

/// The frame of a page in this section.
pub(crate) fn frame(desk: &Desk, section: Section) -> Frame<'_> {
    let query = desk.query();
    let sentence = |table: &[(&str, &str)], word: &str| {
        table.iter().find(|(known, _)| *known == word).map(|(_, sentence)| (*sentence).to_owned())
    };
    Frame {
        style_version: style_version(),
        csrf: desk.csrf(),
        organization: desk.organization().name.as_str(),
        member: desk.member().name.as_str(),
        is_test: desk.organization().mode == Mode::Test,
        section,
        notice: sentence(&NOTICES, query.get("done")),
        error: sentence(&FAILURES, query.get("failed")),
    }
}

/// Goes on to a page that says what was done.
pub(crate) fn done(path: &str, word: &str) -> Reply<Page> {
    Reply::see_other(&format!("{path}?done={word}"))
}

/// Goes on to a page that says what could not be done.
pub(crate) fn failed(path: &str, word: &str) -> Reply<Page> {
    Reply::see_other(&format!("{path}?failed={word}"))
}

/// What is wrong with a field, as a sentence: `what` goes on where its label ends.
pub(crate) fn problem(field: &'static str, label: &str, what: &str) -> Problem {
    Problem { field, sentence: format!("{label} {what}.") }
}

/// A day, as people read it: 20 Nov 2026.
pub(crate) fn date(day: Day) -> String {
    day.date().strftime("%-d %b %Y").to_string()
}

/// A time's day (UTC), as people read it.
pub(crate) fn day(time: Timestamp) -> String {
    date(Day::of(time))
}

/// A time, as people read it.
pub(crate) fn minute(time: Timestamp) -> String {
    time.strftime("%-d %b %Y, %H:%M UTC").to_string()
}

/// How many are on a page of a list.
const PAGE: u32 = 25;

/// The page of a list that is asked for, and one more: it tells whether there is a next page. A position is a key's own
/// digits, within the tenant's own list.
pub(crate) fn page(desk: &Desk) -> store::Page {
    let query = desk.query();
    let before = query.given("before").filter(|before| before.len() == 16);
    let before = before.filter(|before| before.bytes().all(|byte| byte.is_ascii_digit()));
    store::Page { limit: PAGE + 1, before: before.map(str::to_owned) }
}

/// Where the next page of a list is, with the filters that this one has; takes the one more off this page.
pub(crate) fn next<T>(
    path: &str,
    filters: &[(&str, &str)],
    listed: &mut store::Listed<T>,
    id: impl Fn(&T) -> Id,
) -> Option<String> {
    let next = if listed.items.len() > PAGE as usize {
        listed.items.truncate(PAGE as usize);
        listed.items.last().map(|last| format!("{:016}", id(last).get()))
    } else {
        listed.next.take()
    }?;
    let pairs = filters.iter().copied().chain([("before", next.as_str())]);
    let query: Vec<_> = pairs.map(|(name, value)| format!("{name}={value}")).collect();
    Some(format!("{path}?{}", query.join("&")))
}
