//! The lists of candidates as parts of addresses: filters, order, search and page. Links to candidates carry the list that
//! they are in, so that a candidate's page can lead to the previous and the next one, and back to the list.

use shared::http::{Error, MemberRequest, Parameters};
use shared::id::Id;
use shared::model::{
    Application, ApplicationStatus, CandidateRecord, Label, Scalar, Source, Stage, Tag, Value, Waiting,
};
use shared::store::{
    CandidateList, CandidatePlace, Order, Paging, StageOrStatus, score_position, waiting_position,
};

use crate::candidate_search::{find, unknown_page};
use crate::lists::{PAGE_SIZE, Pager, Place, encoded, filter, id_position, is_id_position};
use crate::sources::source_word;

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
    /// Whether a candidate's page that has this list leads back to the role's board.
    pub(crate) is_board: bool,
    /// The role of the application that a candidate's page is about, in lists of applications for several roles.
    pub(crate) about: Option<Id>,
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

impl Listing {
    /// Reads a list from a query. An unknown role, stage or status returns 404.
    fn read(query: &Parameters) -> Result<Self, Error> {
        let text = query.get("search").trim();
        if !text.is_empty() {
            let by = match query.get("by") {
                "source" => "source",
                "tag" => "tag",
                _ => "",
            };
            return Ok(Self::Found { by, text: text.to_owned() });
        }
        if let Some(waiting) = filter::<Waiting>(query.get("waiting"))? {
            return Ok(Self::Stored(CandidateList::Waiting(waiting)));
        }
        let (stage, role) = (filter::<Stage>(query.get("stage"))?, filter::<Id>(query.get("role_id"))?);
        let status = filter::<ApplicationStatus>(query.get("status"))?;
        let order = if query.get("order") == "oldest" { Order::Oldest } else { Order::Newest };
        if let (Some(role), Some(label)) = (role, label(query)?.unwrap_or_default()) {
            return Ok(Self::Stored(CandidateList::Labelled { role, label, order }));
        }
        let least = query.get("least").trim();
        let is_by_score = query.get("order") == "score" || !least.is_empty();
        Ok(Self::Stored(match (role, stage) {
            (Some(role), Some(stage)) if is_by_score => {
                CandidateList::Scored { role, stage, least: least_score(least).unwrap_or(0) }
            }
            (Some(role), None) if query.get("again") == "yes" => CandidateList::Reapplied { role },
            _ => CandidateList::ByTime {
                role,
                state: stage.map(StageOrStatus::Stage).or(status.map(StageOrStatus::Status)),
                order,
            },
        }))
    }

    /// Whether a text has the form of a position in the list.
    fn is_position(&self, text: &str) -> bool {
        match self {
            Self::Found { .. } => text.len() > 16 && text.len() <= MAX_CURSOR && is_base64(text),
            Self::Stored(CandidateList::Scored { .. }) => is_score_position(text),
            Self::Stored(CandidateList::Waiting(_)) => {
                text.split_once('#').is_some_and(|(role, position)| {
                    is_id_position(role) && (position.is_empty() || is_id_position(position))
                })
            }
            Self::Stored(
                CandidateList::ByTime { .. }
                | CandidateList::Reapplied { .. }
                | CandidateList::Labelled { .. },
            ) => is_id_position(text),
        }
    }

    /// The names and values in the query.
    pub(crate) fn pairs(&self) -> Vec<(&'static str, String)> {
        let word = |name: &'static str, word: &str| Some((name, word.to_owned()));
        let id = |role: Id| Some(("role_id", role.to_string()));
        let pairs = match self {
            Self::Stored(CandidateList::ByTime { role, state, order }) => [
                role.and_then(id),
                match state {
                    None => None,
                    Some(StageOrStatus::Stage(stage)) => word("stage", stage.as_str()),
                    Some(StageOrStatus::Status(status)) => word("status", status.as_str()),
                },
                if *order == Order::Oldest { word("order", "oldest") } else { None },
                None,
            ],
            Self::Stored(CandidateList::Scored { role, stage, least }) => [
                id(*role),
                word("stage", stage.as_str()),
                word("order", "score"),
                (*least > 0).then(|| ("least", least.to_string())),
            ],
            Self::Stored(CandidateList::Reapplied { role }) => [id(*role), word("again", "yes"), None, None],
            Self::Stored(CandidateList::Labelled { role, label, order }) => {
                let oldest = if *order == Order::Oldest { word("order", "oldest") } else { None };
                let [by, text] = match label {
                    Label::Source(source) => [word("label", "source"), word("word", source.as_str())],
                    Label::Tag(tag) => [word("label", "tag"), word("word", tag.as_str())],
                    Label::Reason(id) => [Some(("label", id.to_string())), None],
                };
                [id(*role), by, text, oldest]
            }
            Self::Stored(CandidateList::Waiting(waiting)) => {
                [word("waiting", waiting.as_str()), None, None, None]
            }
            Self::Found { by, text } => [word("by", by), word("search", text), None, None],
        };
        pairs.into_iter().flatten().collect()
    }

    /// The role that the list is filtered by.
    pub(crate) const fn role(&self) -> Option<Id> {
        match self {
            Self::Stored(CandidateList::ByTime { role, .. }) => *role,
            Self::Stored(
                CandidateList::Scored { role, .. }
                | CandidateList::Reapplied { role }
                | CandidateList::Labelled { role, .. },
            ) => Some(*role),
            Self::Stored(CandidateList::Waiting(_)) | Self::Found { .. } => None,
        }
    }

    /// The stage that the list is filtered by.
    pub(crate) const fn stage(&self) -> Option<Stage> {
        match self {
            Self::Stored(
                CandidateList::ByTime { state: Some(StageOrStatus::Stage(stage)), .. }
                | CandidateList::Scored { stage, .. },
            ) => Some(*stage),
            _ => None,
        }
    }

    /// The label that the list is filtered by.
    pub(crate) const fn label(&self) -> Option<&Label> {
        match self {
            Self::Stored(CandidateList::Labelled { label, .. }) => Some(label),
            _ => None,
        }
    }

    /// Whether the list is in the order of scores, by which nobody is selected: an AI gave them.
    pub(crate) const fn is_by_score(&self) -> bool {
        matches!(self, Self::Stored(CandidateList::Scored { .. }))
    }

    /// Whether something can be done to everybody in the list. A search finds a page at a time.
    pub(crate) const fn has_everybody(&self) -> bool {
        matches!(self, Self::Stored(_)) && !self.is_by_score()
    }

    /// Whether the list has applications, each with its role, and not people, who may have applied for several.
    pub(crate) const fn is_of_applications(&self) -> bool {
        match self {
            Self::Stored(CandidateList::ByTime { role, state, .. }) => {
                role.is_some() || matches!(state, Some(StageOrStatus::Status(_)))
            }
            Self::Stored(_) => true,
            Self::Found { .. } => false,
        }
    }

    /// Whether the first page has the oldest.
    const fn is_ascending(&self) -> bool {
        matches!(
            self,
            Self::Stored(
                CandidateList::ByTime { order: Order::Oldest, .. }
                    | CandidateList::Labelled { order: Order::Oldest, .. }
            )
        )
    }
}

/// The links of a candidate's page into the list that it was opened from.
#[derive(Debug)]
pub(crate) struct ListLinks {
    /// The page of the list, or the card on the board.
    pub(crate) path: String,
    /// Where that leads.
    pub(crate) back: &'static str,
    /// The previous candidate in the list.
    pub(crate) previous: Option<String>,
    /// The next candidate in the list.
    pub(crate) next: Option<String>,
}

impl ListLinks {
    /// The links into the list that the request's page was opened from, if it was.
    pub(crate) async fn of(request: &MemberRequest, record: &CandidateRecord) -> Result<Option<Self>, Error> {
        match ListPage::opened_from(request) {
            Some(list) => list.links(request, record).await.map(Some),
            None => Ok(None),
        }
    }
}

impl ListPage {
    /// Reads the page from a query. An unknown role or stage returns 404, and an unknown page of a search returns 400.
    pub(crate) fn read(query: &Parameters) -> Result<Self, Error> {
        let list = Listing::read(query)?;
        let place = Place::read(query, |text| list.is_position(text));
        if matches!(list, Listing::Found { .. })
            && place.before().is_none()
            && query.non_empty("before").is_some()
        {
            return Err(unknown_page());
        }
        let is_board = list.role().is_some() && query.get("from") == "board";
        Ok(Self { list, place, is_board, about: query.get("about").parse().ok() })
    }

    /// The page of the list that the request's page was opened from, if it was.
    pub(crate) fn opened_from(request: &MemberRequest) -> Option<Self> {
        let query = request.context.query();
        let list = query.all("list").next()?;
        Self::read(&Parameters::parse(list.as_bytes())).ok()
    }

    /// The first page of another list.
    pub(crate) const fn first(list: Listing) -> Self {
        Self { list, place: Place::first(), is_board: false, about: None }
    }

    /// The query of the page.
    pub(crate) fn query(&self) -> String {
        let board = self.is_board.then(|| ("from", "board".to_owned()));
        let about = self.about.map(|role| ("about", role.to_string()));
        let pairs = self.list.pairs().into_iter().chain(self.place.pairs()).chain(board).chain(about);
        let pairs: Vec<_> = pairs.collect();
        encoded(pairs.iter().map(|(name, value)| (*name, value.as_str())))
    }

    /// The path of the page.
    pub(crate) fn path(&self) -> String {
        let query = self.query();
        if query.is_empty() { PATH.to_owned() } else { format!("{PATH}?{query}") }
    }

    /// The links to the other pages. `next` is the position where the next one begins.
    pub(crate) fn pager(&self, next: Option<String>) -> Pager {
        let filters = self.list.pairs();
        let filters: Vec<_> = filters.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Pager::new(PATH, &filters, &self.place, next)
    }

    /// The parameter of a candidate's page that names the list.
    pub(crate) fn parameter(&self) -> String {
        encoded([("list", self.query().as_str())])
    }

    /// The page as a candidate's page has it that is about the application for this role.
    pub(crate) fn about(&self, role: Option<Id>) -> Self {
        Self { about: role.filter(|_| self.list.role().is_none()), ..self.clone() }
    }

    /// The application that the list is about: the one for its role, or else the latest active one.
    pub(crate) fn application<'r>(&self, record: &'r CandidateRecord) -> Option<&'r Application> {
        chosen(record, self.list.role().or(self.about))
    }

    /// The links into the list around a candidate, who need not be in the list any more.
    async fn links(&self, request: &MemberRequest, record: &CandidateRecord) -> Result<ListLinks, Error> {
        let (path, back) = match self.list.role().filter(|_| self.is_board) {
            Some(role) => {
                (format!("/dashboard/roles/{role}#card-{}", record.candidate.id), "Back to the board")
            }
            None => (self.about(None).path(), "Back to the list"),
        };
        let [previous, next] = match &self.list {
            Listing::Stored(stored) => self.around_in_list(request, record, stored).await?,
            Listing::Found { by, text } => {
                match self.around_in_search(request, record.candidate.id, by, text).await {
                    Err(Error::BadRequest(_)) => [None, None],
                    around => around?,
                }
            }
        };
        let link = |(id, page): (Id, Self)| format!("{PATH}/{id}?{}", page.parameter());
        Ok(ListLinks { path, back, previous: previous.map(link), next: next.map(link) })
    }

    /// The candidates before and after a candidate in a list of the store, each with the page that has the candidate.
    async fn around_in_list(
        &self,
        request: &MemberRequest,
        record: &CandidateRecord,
        list: &CandidateList,
    ) -> Result<[Option<(Id, Self)>; 2], Error> {
        let own = match list {
            CandidateList::ByTime { role: None, state: None | Some(StageOrStatus::Stage(_)), .. } => {
                Some(id_position(record.candidate.id))
            }
            CandidateList::ByTime { .. }
            | CandidateList::Reapplied { .. }
            | CandidateList::Labelled { .. } => {
                self.application(record).map(|application| id_position(application.id))
            }
            CandidateList::Scored { .. } => self
                .application(record)
                .and_then(|application| Some(score_position(application.score?, application.id))),
            CandidateList::Waiting(_) => self
                .application(record)
                .map(|application| waiting_position(application.role.id, &id_position(application.id))),
        };
        let Some(own) = own else { return Ok([None, None]) };
        let page = Paging { limit: PAGE_SIZE + 2, before: self.before_previous() };
        let read = request.context.store().list_candidate_places(request.tenant(), list, &page).await?;
        Ok(self.around(&own, &read.items))
    }

    /// The position before the last item of the page before, with which a page begins that has it too.
    fn before_previous(&self) -> Option<String> {
        let before = self.place.before()?;
        Some(if self.list.is_ascending() {
            format!("{:016}", before.parse::<u64>().map_or(0, |id| id.saturating_sub(1)))
        } else if before.ends_with('#') {
            before.to_owned()
        } else {
            // It sorts after all characters of positions.
            format!("{before}~")
        })
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
        let is_ascending = self.list.is_ascending();
        let follows = |one: &str, other: &str| if is_ascending { one > other } else { one < other };
        let is_earlier = |place: &&CandidatePlace| {
            self.place.before().is_some_and(|before| !follows(&place.position, before))
        };
        let start = read.iter().take_while(is_earlier).count();
        let end = start + PAGE_SIZE as usize;
        // Further candidates may follow the last one that was read.
        if read.last().is_some_and(|last| follows(own, &last.position)) && read.len() > end {
            return [None, None];
        }
        let next = read.iter().position(|place| follows(&place.position, own));
        let next = next.map(|index| match read.get(end.wrapping_sub(1)) {
            Some(last) if index >= end => (index, self.at(self.place.next(last.position.clone()))),
            _ => (index, self.clone()),
        });
        let previous = read.iter().rposition(|place| follows(own, &place.position)).and_then(|index| {
            let page = if index < start { self.at(self.place.previous()?) } else { self.clone() };
            Some((index, page))
        });
        [previous, next]
            .map(|found| found.map(|(index, page)| (read[index].id, page.about(read[index].role))))
    }

    fn at(&self, place: Place) -> Self {
        Self { place, ..self.clone() }
    }
}

/// The application of a person that a page is about: the one for this role, or else the latest active one, or the latest.
pub(crate) fn chosen(record: &CandidateRecord, role: Option<Id>) -> Option<&Application> {
    let all = &record.applications;
    let active = || all.iter().rev().find(|one| one.status() == ApplicationStatus::Active);
    role.and_then(|role| record.application(role)).or_else(active).or(all.last())
}

/// The page of a candidate in a list, if the path leads to one.
pub(crate) fn page_in_list(path: &str) -> Option<String> {
    let (id, query) = path.strip_prefix(PATH)?.strip_prefix('/')?.split_once('?')?;
    let list = Parameters::parse(query.as_bytes()).all("list").next().map(ToOwned::to_owned)?;
    let page = ListPage::read(&Parameters::parse(list.as_bytes())).ok()?;
    Some(format!("{PATH}/{}?{}", id.parse::<Id>().ok()?, page.parameter()))
}

/// The query that keeps the list that the request's page was opened from; empty if there is none.
pub(crate) fn in_list(request: &MemberRequest) -> String {
    ListPage::opened_from(request).map(|list| format!("?{}", list.parameter())).unwrap_or_default()
}

/// The path of a candidate's page, with the list that the request's page was opened from.
pub(crate) fn candidate_path(request: &MemberRequest, id: Id) -> String {
    format!("{PATH}/{id}{}", in_list(request))
}

/// Reads the label that a role's list is filtered by: a source or a tag with its word, or the identifier of a reason. An unknown
/// one returns 404. Fails inside with what is missing.
pub(crate) fn label(query: &Parameters) -> Result<Result<Option<Label>, &'static str>, Error> {
    let word = query.get("word").trim();
    let label = match query.get("label") {
        "" => {
            return Ok(if word.is_empty() {
                Ok(None)
            } else {
                Err("Choose whether it is a source or a tag.")
            });
        }
        "source" => Source::read(&Scalar::Word(source_word(word))).map(|source| source.map(Label::Source)),
        "tag" => Tag::parse(word).map(|tag| tag.map(Label::Tag)),
        reason => return filter(reason).map(|id| Ok(id.map(Label::Reason))),
    };
    Ok(match label {
        Ok(Some(label)) => Ok(Some(label)),
        Ok(None) => Err("Enter the source or the tag."),
        Err(_) => Err("A source has at most 100 characters, and a tag at most 50."),
    })
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
        fn previous_and_next_lead_through_the_whole_list(
            count in 1u64..=90,
            start in 0usize..90,
            query in prop::sample::select(vec![
                "",
                "order=oldest",
                "role_id=7&label=3",
                "role_id=7&label=3&order=oldest",
            ]),
        ) {
            let mut all: Vec<_> = (1..=count).rev().map(|number| CandidatePlace {
                position: id_position(id(number)),
                id: id(number),
                role: None,
            }).collect();
            let is_ascending = query.ends_with("oldest");
            if is_ascending {
                all.reverse();
            }
            let read = |page: &ListPage| -> Vec<CandidatePlace> {
                let before = page.before_previous();
                let follows = |place: &&CandidatePlace| before.as_ref().is_none_or(|before| {
                    if is_ascending { place.position > *before } else { place.position < *before }
                });
                all.iter().filter(follows).take(PAGE_SIZE as usize + 2).cloned().collect()
            };
            let around = |at: usize, page: &ListPage| page.around(&all[at].position, &read(page));
            let (mut at, mut list) = (0, page(query));
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
            prop_assert_eq!((at, list), (0, page(query)));
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
        assert_eq!(page("order=oldest&status=active").query(), "status=active&order=oldest");
        assert_eq!(page("status=active&stage=offer&role_id=7").query(), "role_id=7&stage=offer");
        assert_eq!(page("again=yes&role_id=7").query(), "role_id=7&again=yes");
        assert_eq!(page("again=yes").query(), "", "somebody applies again for a role");
        assert_eq!(
            page("role_id=7&label=source&word=+Career+Page+&stage=offer").query(),
            "role_id=7&label=source&word=career_page"
        );
        assert_eq!(
            page("role_id=7&label=tag&word=Zo%C3%AB&order=oldest").query(),
            "role_id=7&label=tag&word=Zo%C3%AB&order=oldest"
        );
        assert_eq!(page("role_id=7&label=3&word=x&order=score").query(), "role_id=7&label=3");
        assert_eq!(page("label=3").query(), "", "labels are those of a role's applications");
        assert_eq!(page("role_id=7&label=tag&stage=offer").query(), "role_id=7&stage=offer", "which tag?");
        assert_eq!(page("waiting=screened&role_id=7&about=9").query(), "waiting=screened&about=9");
        assert_eq!(page("order=score&role_id=7&search=+x+").query(), "by=&search=x");
        assert_eq!(page("from=board&role_id=7&stage=offer").query(), "role_id=7&stage=offer&from=board");
        assert_eq!(page("from=board&stage=offer").query(), "stage=offer", "a board is a role's");
        for (text, score) in
            [("", Some(0)), ("0", Some(0)), ("100", Some(100)), ("101", None), ("-1", None), ("7.5", None)]
        {
            assert_eq!(least_score(text), score, "{text}");
        }
    }
}
