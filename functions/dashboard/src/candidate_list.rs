//! The lists of candidates as parts of addresses: filters, order, search and page. Links to candidates carry the list that
//! they are in, so that a candidate's page can lead to the previous and the next one, and back to the list.

use shared::http::{Error, MemberRequest, Parameters};
use shared::id::Id;
use shared::model::{CandidateRecord, Stage};
use shared::store::{CandidateList, CandidatePlace, Paging, score_position};

use crate::candidate_search::{find, unknown_page};
use crate::lists::{PAGE_SIZE, Pager, Place, encoded, filter, id_position, is_id_position};

/// The path of the lists.
pub(crate) const PATH: &str = "/dashboard/candidates";
/// The maximum length of a signed position in a search.
const MAX_CURSOR: usize = 1_024;

/// A page of a list of candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListPage {
    /// What is listed.
    pub(crate) list: Listing,
    /// Where the page begins.
    pub(crate) place: Place,
}

/// What a list of candidates contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// A list of the store.
    Stored(CandidateList),
    /// The candidates who are found.
    Found {
        /// What the search is by: empty for the name, the e-mail address and the phone number; `source` or `tag`.
        by: &'static str,
        /// What is searched for.
        text: String,
    },
}

/// The links of a candidate's page into the list that it was opened from.
#[derive(Debug)]
pub(crate) struct ListLinks {
    /// The page of the list.
    pub(crate) path: String,
    /// The previous candidate in the list.
    pub(crate) previous: Option<String>,
    /// The next candidate in the list.
    pub(crate) next: Option<String>,
}

impl ListPage {
    /// Reads the page from a query. An unknown role or stage returns 404, and an unknown page of a search returns 400.
    pub(crate) fn read(query: &Parameters) -> Result<Self, Error> {
        let text = query.get("search").trim();
        if !text.is_empty() {
            let by = match query.get("by") {
                "source" => "source",
                "tag" => "tag",
                _ => "",
            };
            let is_cursor = |text: &str| text.len() > 16 && text.len() <= MAX_CURSOR && is_base64(text);
            let list = Listing::Found { by, text: text.to_owned() };
            let place = Place::read(query, is_cursor);
            if place.before().is_none() && query.non_empty("before").is_some() {
                return Err(unknown_page());
            }
            return Ok(Self { list, place });
        }
        let (stage, role) = (filter::<Stage>(query.get("stage"))?, filter::<Id>(query.get("role_id"))?);
        let least = query.get("least").trim();
        let is_by_score = query.get("order") == "score" || !least.is_empty();
        let (list, place) = match role.zip(stage) {
            Some((role, stage)) if is_by_score => {
                let least = least_score(least).unwrap_or(0);
                (CandidateList::Scored { role, stage, least }, Place::read(query, is_score_position))
            }
            _ => (CandidateList::Newest { role, stage }, Place::read(query, is_id_position)),
        };
        Ok(Self { list: Listing::Stored(list), place })
    }

    /// The page of the list that the request's page was opened from, if it was.
    pub(crate) fn opened_from(request: &MemberRequest) -> Option<Self> {
        let query = request.context.query();
        let list = query.all("list").next()?;
        Self::read(&Parameters::parse(list.as_bytes())).ok()
    }

    /// The role and the stage that the list is filtered by.
    pub(crate) const fn role_and_stage(&self) -> (Option<Id>, Option<Stage>) {
        match &self.list {
            Listing::Stored(CandidateList::Newest { role, stage }) => (*role, *stage),
            Listing::Stored(CandidateList::Scored { role, stage, .. }) => (Some(*role), Some(*stage)),
            Listing::Found { .. } => (None, None),
        }
    }

    fn filters(&self) -> Vec<(&'static str, String)> {
        match &self.list {
            Listing::Stored(CandidateList::Newest { role, stage }) => {
                let role = role.map(|role| ("role_id", role.to_string()));
                role.into_iter().chain(stage.map(|stage| ("stage", stage.as_str().to_owned()))).collect()
            }
            Listing::Stored(CandidateList::Scored { role, stage, least }) => {
                let least = (*least > 0).then(|| ("least", least.to_string()));
                [
                    ("role_id", role.to_string()),
                    ("stage", stage.as_str().to_owned()),
                    ("order", "score".to_owned()),
                ]
                .into_iter()
                .chain(least)
                .collect()
            }
            Listing::Found { by, text } => vec![("by", (*by).to_owned()), ("search", text.clone())],
        }
    }

    /// The query of the page.
    pub(crate) fn query(&self) -> String {
        let pairs: Vec<_> = self.filters().into_iter().chain(self.place.pairs()).collect();
        encoded(pairs.iter().map(|(name, value)| (*name, value.as_str())))
    }

    /// The links to the other pages. `next` is the position where the next one begins.
    pub(crate) fn pager(&self, next: Option<String>) -> Pager {
        let filters = self.filters();
        let filters: Vec<_> = filters.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Pager::new(PATH, &filters, &self.place, next)
    }

    /// The parameter of a candidate's page that names the list.
    pub(crate) fn parameter(&self) -> String {
        encoded([("list", self.query().as_str())])
    }

    /// The links into the list around a candidate, who need not be in the list any more.
    pub(crate) async fn links(
        &self,
        request: &MemberRequest,
        record: &CandidateRecord,
    ) -> Result<ListLinks, Error> {
        let query = self.query();
        let path = if query.is_empty() { PATH.to_owned() } else { format!("{PATH}?{query}") };
        let [previous, next] = match &self.list {
            Listing::Stored(stored) => self.around_in_list(request, record, *stored).await?,
            Listing::Found { by, text } => {
                match self.around_in_search(request, record.candidate.id, by, text).await {
                    Err(Error::BadRequest(_)) => [None, None],
                    around => around?,
                }
            }
        };
        let link = |(id, page): (Id, Self)| format!("{PATH}/{id}?{}", page.parameter());
        Ok(ListLinks { path, previous: previous.map(link), next: next.map(link) })
    }

    /// The candidates before and after a candidate in a list of the store, each with the page that has the candidate.
    async fn around_in_list(
        &self,
        request: &MemberRequest,
        record: &CandidateRecord,
        list: CandidateList,
    ) -> Result<[Option<(Id, Self)>; 2], Error> {
        let own = match list {
            CandidateList::Newest { role: None, .. } => Some(id_position(record.candidate.id)),
            CandidateList::Newest { role: Some(role), .. } => {
                record.application(role).map(|application| id_position(application.id))
            }
            CandidateList::Scored { role, .. } => record
                .application(role)
                .and_then(|application| Some(score_position(application.score?, application.id))),
        };
        let Some(own) = own else { return Ok([None, None]) };
        // The page, the item before it and the item after it. `~` sorts after all characters of positions.
        let before = self.place.before().map(|before| format!("{before}~"));
        let page = Paging { limit: PAGE_SIZE + 2, before };
        let read = request.context.store().list_candidate_places(request.tenant(), list, &page).await?;
        Ok(self.around(&own, &read.items))
    }

    /// The candidates before and after a candidate in a search, each with the page that has the candidate. Reads another
    /// page only if the candidate is the first or the last one of this page.
    async fn around_in_search(
        &self,
        request: &MemberRequest,
        id: Id,
        by: &str,
        text: &str,
    ) -> Result<[Option<(Id, Self)>; 2], Error> {
        let (found, following) = find(request, by, text, &self.place).await?;
        let Some(index) = found.iter().position(|candidate| candidate.id == id) else {
            return Ok([None, None]);
        };
        let previous = match (index.checked_sub(1), self.place.previous()) {
            (Some(index), _) => Some((found[index].id, self.clone())),
            (None, Some(place)) => {
                let (before, _) = find(request, by, text, &place).await?;
                before.last().map(|candidate| (candidate.id, self.at(place)))
            }
            (None, None) => None,
        };
        let next = match (found.get(index + 1), following) {
            (Some(candidate), _) => Some((candidate.id, self.clone())),
            (None, Some(position)) => {
                let place = self.place.next(position);
                let (after, _) = find(request, by, text, &place).await?;
                after.first().map(|candidate| (candidate.id, self.at(place)))
            }
            (None, None) => None,
        };
        Ok([previous, next])
    }

    /// The candidates before and after a position, each with the page that has the candidate. `read` has the candidates of
    /// this page, the one before it and the one after it.
    fn around(&self, own: &str, read: &[CandidatePlace]) -> [Option<(Id, Self)>; 2] {
        let is_earlier =
            |place: &&CandidatePlace| self.place.before().is_some_and(|before| *place.position >= *before);
        let start = read.iter().take_while(is_earlier).count();
        let end = start + PAGE_SIZE as usize;
        // Further candidates may follow the last one that was read.
        if read.last().is_some_and(|last| own < last.position.as_str()) && read.len() > end {
            return [None, None];
        }
        let next = read.iter().position(|place| place.position.as_str() < own);
        let next = next.map(|index| match read.get(end.wrapping_sub(1)) {
            Some(last) if index >= end => (read[index].id, self.at(self.place.next(last.position.clone()))),
            _ => (read[index].id, self.clone()),
        });
        let previous = read.iter().rposition(|place| place.position.as_str() > own).and_then(|index| {
            let page = if index < start { self.at(self.place.previous()?) } else { self.clone() };
            Some((read[index].id, page))
        });
        [previous, next]
    }

    fn at(&self, place: Place) -> Self {
        Self { list: self.list.clone(), place }
    }
}

/// The query that keeps the list that the request's page was opened from; empty if there is none.
pub(crate) fn in_list(request: &MemberRequest) -> String {
    ListPage::opened_from(request).map(|list| format!("?{}", list.parameter())).unwrap_or_default()
}

/// The path of a candidate's page, with the list that the request's page was opened from.
pub(crate) fn candidate_path(request: &MemberRequest, id: Id) -> String {
    format!("{PATH}/{id}{}", in_list(request))
}

/// Parses the least score of a list. A blank text means any score.
pub(crate) fn least_score(text: &str) -> Option<u8> {
    match text {
        "" => Some(0),
        text => text.parse().ok().filter(|score| *score <= 100),
    }
}

fn is_score_position(text: &str) -> bool {
    text.split_once('#').is_some_and(|(score, id)| {
        score.len() == 3 && score.bytes().all(|byte| byte.is_ascii_digit()) && is_id_position(id)
    })
}

fn is_base64(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(number: u64) -> Id {
        Id::new(number).unwrap()
    }

    fn page(query: &str) -> ListPage {
        ListPage::read(&Parameters::parse(query.as_bytes())).unwrap()
    }

    proptest! {
        #[test]
        fn an_address_is_read_as_the_page_that_it_was_made_of(query in "[a-z_=&0-9%#+-]{0,80}") {
            if let Ok(page) = ListPage::read(&Parameters::parse(query.as_bytes())) {
                prop_assert_eq!(ListPage::read(&Parameters::parse(page.query().as_bytes())).unwrap(), page);
            }
        }

        /// Steps through a whole list in both directions, also past the edges of pages.
        #[test]
        fn previous_and_next_lead_through_the_whole_list(count in 1u64..=90, start in 0usize..90) {
            let all: Vec<_> = (1..=count).rev().map(|number| CandidatePlace {
                position: id_position(id(number)),
                id: id(number),
            }).collect();
            let read = |page: &ListPage| -> Vec<CandidatePlace> {
                let before = page.place.before().map(|before| format!("{before}~"));
                let rest = all.iter().filter(|place| before.as_ref().is_none_or(|before| place.position < *before));
                rest.take(PAGE_SIZE as usize + 2).cloned().collect()
            };
            let around = |at: usize, page: &ListPage| page.around(&all[at].position, &read(page));
            let (mut at, mut list) = (0, page(""));
            while let [_, Some((next, page))] = around(at, &list) {
                at += 1;
                prop_assert_eq!(next, all[at].id);
                list = page;
                if at == start {
                    break;
                }
            }
            prop_assert!(at == start || at + 1 == all.len());
            while let [Some((previous, page)), _] = around(at, &list) {
                at -= 1;
                prop_assert_eq!(previous, all[at].id);
                list = page;
            }
            prop_assert_eq!((at, list), (0, page("")));
        }
    }

    #[test]
    fn a_least_score_needs_a_role_and_a_stage() {
        assert_eq!(page("least=50&stage=offer").query(), "stage=offer");
        assert_eq!(
            page("least=50&stage=offer&role_id=7").query(),
            "role_id=7&stage=offer&order=score&least=50"
        );
        assert_eq!(page("order=score&stage=offer&role_id=7").query(), "role_id=7&stage=offer&order=score");
        assert_eq!(page("order=x&stage=offer&role_id=7").query(), "role_id=7&stage=offer");
        assert_eq!(page("order=score&role_id=7&search=+x+").query(), "by=&search=x");
        for (text, score) in
            [("", Some(0)), ("0", Some(0)), ("100", Some(100)), ("101", None), ("-1", None), ("7.5", None)]
        {
            assert_eq!(least_score(text), score, "{text}");
        }
    }
}
