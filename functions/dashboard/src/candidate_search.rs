//! The search for candidates.

use shared::http::{Error, MemberRequest, cursor};
use shared::model::{Candidate, Scalar, SearchQuery, Source, Tag, Value};
use shared::store::{CandidateSearch, Listed, Paging};

use crate::lists::{PAGE_SIZE, Place};
use crate::sources::source_word;

/// Finds candidates, and returns them with the signed position where the next page begins. Where the text looks like an
/// e-mail address and finds nobody, it is also looked for in names. A position of another search, or one
/// that is no longer valid, returns 400.
pub(crate) async fn find(
    request: &MemberRequest,
    by: &str,
    text: &str,
    place: &Place,
) -> Result<(Vec<Candidate>, Option<String>), Error> {
    let (store, tenant, keys) = (request.context.store(), request.tenant(), request.context.signing_keys());
    let list = format!("dashboard candidates {tenant} {by} {text}");
    let open = |before| cursor::open(keys, &list, before).ok_or_else(unknown_page);
    let page = Paging { limit: PAGE_SIZE, before: place.before().map(open).transpose()? };
    let mut found = Listed { items: Vec::new(), next: None };
    for search in searches(by, text) {
        let expect = |found| request.expect_page(found, true);
        found = store.search_candidates(request.organization(), &search, &page, expect).await?;
        if !found.items.is_empty() || found.next.is_some() {
            break;
        }
    }
    let next = found.next.as_ref().map(|position| cursor::seal(keys, &list, position));
    Ok((found.items, next))
}

/// The error for a page that is not one of the search.
pub(crate) fn unknown_page() -> Error {
    Error::BadRequest("This page of the search is not valid".to_owned())
}

/// The searches that a text stands for, in the order in which they are tried.
fn searches(by: &str, text: &str) -> Vec<CandidateSearch> {
    let source =
        || Source::read(&Scalar::Word(source_word(text))).ok().flatten().map(CandidateSearch::Source);
    let tag = || Tag::parse(text).ok().flatten().map(CandidateSearch::Tag);
    let words = |text: &str| text.parse::<SearchQuery>().ok().map(CandidateSearch::Words);
    let first = match by {
        "source" => return source().into_iter().collect(),
        "tag" => return tag().into_iter().collect(),
        _ if text.contains('@') => text.parse().ok().map(CandidateSearch::Email),
        _ => None,
    };
    first.into_iter().chain(words(text)).collect()
}
