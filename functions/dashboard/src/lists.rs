//! Filters and pages of lists.
//!
//! The address of a page has the place where it begins, and the places where the pages before it began. So "Previous" leads
//! to the page that the member came from, even if items were added at the top, and costs no other read. The address keeps
//! the last 20 places; before them is only "First".

use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use shared::http::{Error, Parameters};
use shared::id::Id;
use shared::store::{Listed, Paging};

/// The number of items on a page.
pub(crate) const PAGE_SIZE: u32 = 25;
/// The maximum number of earlier pages in an address.
const MAX_EARLIER: usize = 20;
/// The place of the first page among the earlier pages.
const FIRST: &str = "-";
/// The characters that are encoded in a query (RFC 3986, section 2.3).
const RESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

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

/// A query string with these names and values.
pub(crate) fn encoded<'p>(pairs: impl IntoIterator<Item = (&'p str, &'p str)>) -> String {
    let pair = |(name, value): (&str, &str)| format!("{name}={}", utf8_percent_encode(value, &RESERVED));
    pairs.into_iter().map(pair).collect::<Vec<_>>().join("&")
}

/// The position of an item in a list that is sorted by identifiers.
pub(crate) fn id_position(id: Id) -> String {
    format!("{:016}", id.get())
}

/// Whether a text has the form of the position of an identifier.
pub(crate) fn is_id_position(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Where a page of a list begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The position of the last item before the page; `None` for the first page.
    before: Option<String>,
    /// The places of the pages before, the nearest one last. They end with the first page, or somewhere after it.
    earlier: Vec<Option<String>>,
}

impl Place {
    /// The first page.
    pub(crate) const fn first() -> Self {
        Self { before: None, earlier: Vec::new() }
    }

    /// Reads the place from a query. An invalid position shows the first page.
    pub(crate) fn read(query: &Parameters, is_position: impl Fn(&str) -> bool) -> Self {
        let position = |text: &str| is_position(text).then(|| text.to_owned());
        let Some(before) = position(query.get("before")) else { return Self::default() };
        let earlier = query.get("earlier").split(' ').map(|place| match place {
            FIRST => Some(None),
            place => position(place).map(Some),
        });
        let earlier: Option<Vec<_>> = earlier.take(MAX_EARLIER).collect();
        Self { before: Some(before), earlier: earlier.unwrap_or_default() }
    }

    /// The position of the last item before the page; `None` for the first page.
    pub(crate) fn before(&self) -> Option<&str> {
        self.before.as_deref()
    }

    /// What to read. The limit includes one extra item, which shows whether there is a next page.
    pub(crate) fn paging(&self) -> Paging {
        Paging { limit: PAGE_SIZE + 1, before: self.before.clone() }
    }

    /// The place of the next page, which begins after the item at this position.
    pub(crate) fn next(&self, position: String) -> Self {
        let mut earlier = self.earlier.clone();
        earlier.push(self.before.clone());
        earlier.drain(..earlier.len().saturating_sub(MAX_EARLIER));
        Self { before: Some(position), earlier }
    }

    /// The place of the page before, if it is known.
    pub(crate) fn previous(&self) -> Option<Self> {
        let mut earlier = self.earlier.clone();
        let before = earlier.pop()?;
        // Nothing is before the first page.
        let earlier = if before.is_none() { Vec::new() } else { earlier };
        Some(Self { before, earlier })
    }

    /// The part of the query that names the place.
    pub(crate) fn pairs(&self) -> Vec<(&'static str, String)> {
        let Some(before) = &self.before else { return Vec::new() };
        let mut pairs = vec![("before", before.clone())];
        if !self.earlier.is_empty() {
            let places = self.earlier.iter().map(|place| place.as_deref().unwrap_or(FIRST));
            pairs.push(("earlier", places.collect::<Vec<_>>().join(" ")));
        }
        pairs
    }
}

/// The addresses of the other pages of a list.
#[derive(Debug, Default)]
pub(crate) struct Pager {
    /// The first page, unless this is the first or the second one.
    pub(crate) first: Option<String>,
    /// The page before.
    pub(crate) previous: Option<String>,
    /// The next page.
    pub(crate) next: Option<String>,
}

impl Pager {
    /// The addresses of the pages around a page with the same filters. `next` is the position where the next one begins.
    pub(crate) fn new(path: &str, filters: &[(&str, &str)], place: &Place, next: Option<String>) -> Self {
        let address = |place: &Place| {
            let pairs = place.pairs();
            let pairs = pairs.iter().map(|(name, value)| (*name, value.as_str()));
            let query = encoded(filters.iter().copied().chain(pairs));
            if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
        };
        let previous = place.previous();
        let is_far = place.before.is_some() && previous.as_ref().is_none_or(|place| place.before.is_some());
        Self {
            first: is_far.then(|| address(&Place::default())),
            previous: previous.as_ref().map(address),
            next: next.map(|next| address(&place.next(next))),
        }
    }

    /// Whether there is another page.
    pub(crate) const fn is_some(&self) -> bool {
        self.first.is_some() || self.previous.is_some() || self.next.is_some()
    }
}

/// Removes the extra item from a page of `limit` items, and returns the position where the next page begins.
pub(crate) fn next<T>(listed: &mut Listed<T>, limit: u32, position: impl Fn(&T) -> String) -> Option<String> {
    if listed.items.len() > limit as usize {
        listed.items.truncate(limit as usize);
        listed.items.last().map(position)
    } else {
        listed.next.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(place: &Place) -> Place {
        let pairs = place.pairs();
        let query = encoded(pairs.iter().map(|(name, value)| (*name, value.as_str())));
        Place::read(&Parameters::parse(query.as_bytes()), is_id_position)
    }

    proptest! {
        #[test]
        fn previous_leads_back_over_the_same_pages(
            positions in prop::collection::vec(1..=Id::MAX, 0..40),
        ) {
            let mut pages = vec![Place::default()];
            for position in positions {
                let page = pages[pages.len() - 1].next(id_position(Id::new(position).unwrap()));
                prop_assert_eq!(&read(&page), &page);
                pages.push(page);
            }
            let mut page = pages.pop().unwrap();
            for steps in 0..MAX_EARLIER {
                let Some(before) = pages.pop() else { return Ok(()) };
                let previous = page.previous();
                prop_assert!(previous.is_some(), "{steps} steps back");
                page = previous.unwrap();
                prop_assert_eq!(&page.before, &before.before);
            }
            prop_assert_eq!(page.previous(), None, "the address does not know more");
        }

        #[test]
        fn any_query_has_a_place(query: Vec<u8>) {
            let place = Place::read(&Parameters::parse(&query), is_id_position);
            prop_assert_eq!(read(&place), place);
        }
    }

    #[test]
    fn the_first_page_has_its_own_link_where_the_previous_one_is_another() {
        let links = |place: &Place| {
            let pager = Pager::new("/x", &[("stage", "offer")], place, None);
            (pager.first, pager.previous)
        };
        let (first, position) = (Place::default(), |n| id_position(Id::new(n).unwrap()));
        let (second, list) = (first.next(position(9)), "/x?stage=offer".to_owned());
        let third = second.next(position(8));
        assert_eq!(links(&first), (None, None));
        assert_eq!(links(&second), (None, Some(list.clone())));
        let back = format!("{list}&before={}&earlier=-", position(9));
        assert_eq!(links(&third), (Some(list.clone()), Some(back)));
        assert_eq!(links(&Place { earlier: Vec::new(), ..third }), (Some(list), None));
    }
}
