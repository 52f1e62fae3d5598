//! A candidate with applications, voice screens and history.

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::candidate_lookup::find;
use super::responses::candidate::CandidateDetail;
use super::responses::resume::ResumeLinks;
use super::responses::screen::ScreenAccess;
use crate::http::{ApiRequest, Collection, Error, Listing, Reply, input};
use crate::model::schema::{integer, string};
use crate::model::{Scalar, Touchpoint, Value};

input! {
    /// What a candidate's detail contains.
    pub struct DetailOptions {
        /// The maximum number of touchpoints, the newest ones. By default, the whole history is returned.
        touchpoints: optional TouchpointLimit,
        /// With `possible_duplicates`, adds the candidates who may be the same person.
        include: optional Include,
    }
}

/// The maximum number of touchpoints in a candidate's detail.
struct TouchpointLimit(u32);

impl Value for TouchpointLimit {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        scalar.whole_number_in(0..=100).map(|limit| Some(Self(limit)))
    }

    fn schema() -> RefOr<Schema> {
        integer(0).maximum(Some(100)).into()
    }
}

/// What a candidate's detail can include.
struct Include;

impl Value for Include {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        match scalar {
            Scalar::Word("possible_duplicates") => Ok(Some(Self)),
            Scalar::Text(text) if text == "possible_duplicates" => Ok(Some(Self)),
            _ => Err("must be possible_duplicates".to_owned()),
        }
    }

    fn schema() -> RefOr<Schema> {
        string().enum_values(Some(["possible_duplicates"])).into()
    }
}

/// Returns a candidate with all applications, voice screens and touchpoints, or only with the newest touchpoints.
/// `include=possible_duplicates` adds the candidates who may be the same person.
pub async fn show(request: ApiRequest<DetailOptions>) -> Result<Reply<CandidateDetail>, Error> {
    let DetailOptions { touchpoints, include } = match request.input() {
        Ok(options) => options,
        Err(invalid) => {
            find(&request).await?;
            return Err(invalid);
        }
    };
    let newest = touchpoints.map(|TouchpointLimit(limit)| limit);
    let (store, tenant) = (request.context.store(), request.tenant());
    let page = store.find_candidate_page(tenant, request.id()?, newest).await?;
    let page = Error::unless_missing(page)?;
    let (candidate, touchpoints) = (&page.record.candidate, &page.touchpoints);
    let possible_duplicates = match include {
        Some(Include) => Some(store.find_possible_duplicates(tenant, candidate).await?),
        None => None,
    };
    let links = ResumeLinks::of_history(
        request.context.providers().await.resumes(),
        request.context.now(),
        &candidate.profile,
        touchpoints,
    )
    .await;
    let access = ScreenAccess::of(request.scopes());
    let identity = CandidateDetail::identity(&page, access);
    // Links expire, and possible duplicates change while the candidate stays the same.
    let is_always_sent = links.expire() || possible_duplicates.is_some();
    let detail = CandidateDetail::of(page, &links, access).with_possible_duplicates(possible_duplicates);
    let reply = Reply::resource_as(&detail, &identity)?;
    Ok(if is_always_sent { reply.always_sent() } else { reply })
}

/// Lists a candidate's touchpoints, newest first.
pub async fn list_touchpoints(
    request: ApiRequest<Listing<()>>,
) -> Result<Reply<Collection<Touchpoint>>, Error> {
    let page = match request.listing() {
        Ok(((), page)) => page,
        Err(invalid) => return Err(find(&request).await.err().unwrap_or(invalid)),
    };
    let (store, id) = (request.context.store(), request.id()?);
    let (found, history) = tokio::join!(find(&request), store.list_touchpoints(request.tenant(), id, &page));
    let (candidate, history) = (found?.candidate, history?);
    let (providers, now) = (request.context.providers().await, request.context.now());
    let links = ResumeLinks::of_history(providers.resumes(), now, &candidate.profile, &history.items).await;
    let access = ScreenAccess::of(request.scopes());
    request.reply(history, |touchpoint| links.touchpoint(touchpoint, access))
}
