//! The filters of the list of candidates.

use crate::http::{Error, input};
use crate::id::Id;
use crate::model::schema::phone_as_typed;
use crate::model::{Email, ExternalId, Phone, Scalar, SearchQuery, Source, Stage, Tag, Value, non_blank};
use crate::store::CandidateSearch;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

input! {
    /// Filters for the list of candidates.
    pub struct CandidateFilter {
        /// Returns only candidates who have applied for this role, the newest application first.
        pub(super) role_id: optional Id,
        /// Returns only candidates in this stage; with `role_id`, only those whose application for that role is in it.
        pub(super) stage: optional Stage,
        /// Returns only the candidate with this e-mail address, regardless of upper and lower case.
        email: optional Term<Email>,
        /// Returns only candidates with this phone number, with its country code. A space at the beginning is read as `+`.
        phone: optional Term<PhoneTerm>,
        /// Returns only the candidate with this external id.
        external_id: optional Term<ExternalId>,
        /// Returns only candidates from this source, regardless of upper and lower case.
        source: optional Term<Source>,
        /// Returns only candidates with this tag, regardless of upper and lower case.
        tag: optional Term<Tag>,
        /// Returns only candidates with all of these words. Each must begin a word of the name, the part of the e-mail
        /// address before the @ or a label of its domain, or be three or more digits that end the phone number. Upper and
        /// lower case, accents and punctuation don't matter. The people with exactly the rarest of these words come first,
        /// then the others by the word that begins with it. A page reads at most 300 entries of the
        /// index, and about 5,000 while it finds nobody, so it may be empty while `next_cursor` is set.
        q: optional SearchQuery,
    }
}

impl CandidateFilter {
    /// Fails with 422 if filters cannot be combined.
    pub(super) fn check(&self) -> Result<(), Error> {
        let searches = [
            ("email", self.email.is_some()),
            ("phone", self.phone.is_some()),
            ("external_id", self.external_id.is_some()),
            ("source", self.source.is_some()),
            ("tag", self.tag.is_some()),
            ("q", self.q.is_some()),
        ];
        let narrowing = [("role_id", self.role_id.is_some()), ("stage", self.stage.is_some())];
        let mut searches = searches.into_iter().filter(|(_, given)| *given);
        let Some((search, _)) = searches.next() else { return Ok(()) };
        let others = searches.chain(narrowing.into_iter().filter(|(_, given)| *given));
        let messages: Vec<_> =
            others.map(|(other, _)| format!("{search} can't be combined with {other}")).collect();
        if messages.is_empty() { Ok(()) } else { Err(Error::Validation(messages)) }
    }

    /// What candidates are found by, if it is not only the role and the stage.
    pub(super) fn search(self) -> Option<CandidateSearch> {
        let email = self.email.map(|Term(email)| CandidateSearch::Email(email));
        let phone = self.phone.map(|Term(PhoneTerm(numbers))| CandidateSearch::Phones(numbers));
        let external_id = self.external_id.map(|Term(id)| CandidateSearch::ExternalId(id));
        let source = self.source.map(|Term(source)| CandidateSearch::Source(source));
        let tag = self.tag.map(|Term(tag)| CandidateSearch::Tag(tag));
        let words = self.q.map(CandidateSearch::Words);
        email.or(phone).or(external_id).or(source).or(tag).or(words)
    }
}

/// A value to find candidates or roles by. It must not be blank, because a program that looks for one must not get all.
pub(super) struct Term<T>(pub(super) T);

impl<T: Value> Value for Term<T> {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        T::read(scalar)?.map(|term| Some(Self(term))).ok_or_else(|| "can't be blank".to_owned())
    }

    fn schema() -> RefOr<Schema> {
        T::schema()
    }
}

/// A phone number in a query: the numbers that it stands for.
struct PhoneTerm(Vec<Phone>);

impl Value for PhoneTerm {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        let typed = match scalar {
            Scalar::Text(text) => text,
            Scalar::Word(word) => *word,
            _ => return Err("must be a string".to_owned()),
        };
        let numbers = non_blank(typed).map(|_| Phone::in_query(typed)).transpose();
        numbers.map(|numbers| numbers.map(Self)).map_err(|error| error.to_string())
    }

    fn schema() -> RefOr<Schema> {
        phone_as_typed().into()
    }
}
