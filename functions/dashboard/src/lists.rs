//! Filters and pagination of lists.

use std::str::FromStr;

use shared::http::{Error, MemberRequest};
use shared::id::Id;
use shared::store::{Listed, Paging};

/// The number of items on a page.
pub(crate) const PAGE_SIZE: u32 = 25;

/// A link that filters a list by one status or stage.
pub(crate) struct FilterLink {
    /// The status or stage.
    pub(crate) word: &'static str,
    /// Whether the list is filtered by it.
    pub(crate) is_current: bool,
}

/// Parses a filter from the query. A blank value means no filter, and an unknown value returns 404.
pub(crate) fn filter<T: FromStr>(word: &str) -> Result<Option<T>, Error> {
    if word.is_empty() { Ok(None) } else { word.parse().map(Some).map_err(|_| Error::NotFound) }
}

/// Returns the paging parameters of the request. The limit includes one extra item, which shows whether there is a next
/// page.
///
/// `before` holds the 16 digits of a range key within the tenant's own list.
pub(crate) fn page(request: &MemberRequest) -> Paging {
    let query = request.context.query();
    let before = query.non_empty("before").filter(|before| before.len() == 16);
    let before = before.filter(|before| before.bytes().all(|byte| byte.is_ascii_digit()));
    Paging { limit: PAGE_SIZE + 1, before: before.map(str::to_owned) }
}

/// Returns the URL of the next page with the same filters, and removes the extra item from this page.
pub(crate) fn next<T>(
    path: &str,
    filters: &[(&str, &str)],
    listed: &mut Listed<T>,
    id: impl Fn(&T) -> Id,
) -> Option<String> {
    let next = if listed.items.len() > PAGE_SIZE as usize {
        listed.items.truncate(PAGE_SIZE as usize);
        listed.items.last().map(|last| format!("{:016}", id(last).get()))
    } else {
        listed.next.take()
    }?;
    let pairs = filters.iter().copied().chain([("before", next.as_str())]);
    let query: Vec<_> = pairs.map(|(name, value)| format!("{name}={value}")).collect();
    Some(format!("{path}?{}", query.join("&")))
}
