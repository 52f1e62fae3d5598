//! Posting jobs to X.

use std::collections::HashMap;

use jiff::SignedDuration;
use serde::Serialize;
use utoipa::ToSchema;

use super::responses::posting::public_url;
use crate::clock::Timestamp;
use crate::http::{Added, ApiRequest, Collection, Error, Listing, Reply, RequestContext, input};
use crate::id::Id;
use crate::model::{self, Metrics, Organization, RoleStatus, Style, Tenant, XConnection, x_text};
use crate::providers::x::{X, XError};
use crate::providers::{XPort, x_simulator};
use crate::services::accounts::{AccountError, XAccount};
use crate::store::{Listed, Paging, Transaction};
use crate::token_encryption::EncryptionKeys;

use super::{invalid, questions};

/// The time a post's metrics are reused before X is queried again.
const METRICS_AGE: SignedDuration = SignedDuration::from_mins(15);
/// The wait after a failed query for metrics.
const METRICS_RETRY: SignedDuration = SignedDuration::from_mins(1);
/// The age at which a post's metrics are final: X is not asked about it any more.
const METRICS_LIFE: SignedDuration = SignedDuration::from_hours(90 * 24);
/// How long X counts the clicks on the link of a post.
const LINK_CLICKS_LIFE: SignedDuration = SignedDuration::from_hours(30 * 24);
/// The number of posts in which the simulator looks for a repeated text.
const SIMULATED_HISTORY: u32 = 100;

/// A job posted to X.
#[derive(Debug, Serialize, ToSchema)]
pub struct Post {
    /// The identifier.
    id: Id,
    /// The job posting.
    job_posting_id: Id,
    /// The tone.
    style: Style,
    /// The text of the post.
    text: String,
    /// The post's id on X, or `null` if X has not confirmed the post.
    external_id: Option<String>,
    /// The post's URL on X.
    #[schema(format = "uri")]
    url: Option<String>,
    /// When X confirmed the post.
    posted_at: Option<Timestamp>,
    /// The number of likes.
    likes: Option<u64>,
    /// The number of reposts.
    reposts: Option<u64>,
    /// The number of replies.
    replies: Option<u64>,
    /// The number of clicks on the link in the first 30 days, if X reports it.
    link_clicks: Option<u64>,
    /// When the metrics were measured.
    metrics_at: Option<Timestamp>,
}

input! {
    /// A job to post to X.
    pub struct NewPost {
        /// A published posting of an open role.
        job_posting_id: required Id,
        /// The tone. The default is `professional`.
        style: optional Style = Style::Professional,
    }
}

/// Posts a job to X in the requested style. The post is stored before X is called, so a retry with the same idempotency
/// key never posts twice. If X's response was lost, the retry returns `upstream_failed`.
///
/// # Errors
///
/// - `channel_not_connected`: no X account is connected, or the account must be reconnected.
/// - `upstream_failed`: X failed or did not confirm the post. An unconfirmed post may or may not have been published.
/// - `confirmation_required`: an assistant sent the request, and a member has to confirm it on the page `page`.
pub async fn post_job(request: ApiRequest<NewPost>) -> Result<Reply<Added<Post>>, Error> {
    let NewPost { job_posting_id, style } = request.input()?;
    let (context, tenant) = (&request.context, request.tenant());
    let texts = compose_texts(context, tenant, request.organization(), job_posting_id).await?;
    let text =
        texts.into_iter().find_map(|(known, text)| (known == style).then_some(text)).unwrap_or_default();
    let (id, now) = (request.context.ids().next(), request.context.now());
    let draft = model::Post::unconfirmed(id, job_posting_id, style, text);
    let question = || questions::of_post(job_posting_id, &draft.text);
    let mut transaction = request.transaction();
    match context.providers().await.x(tenant.mode) {
        XPort::Missing => Err(not_connected("x is not set up on this service")),
        XPort::Simulated => {
            request.confirm(question).await?;
            let history = Paging { limit: SIMULATED_HISTORY, before: None };
            let history = request.context.store().list_posts(request.tenant(), &history).await?;
            let external_id = x_simulator::post(id.get(), &draft.text, &history.items)
                .map_err(|error| post_error(error, now).unwrap_or_else(unconfirmed))?;
            let url = x_simulator::post_url(&external_id);
            let posted = simulate_metrics(draft.confirmed(external_id, url, now), now);
            transaction.insert_post(&posted, now)?;
            request.commit(transaction, Reply::ok(&Post::from(posted))?.created_without_address()).await
        }
        XPort::Real(x, keys) => {
            let connection = request.context.store().find_x_connection(request.tenant()).await?;
            let connection = connection.ok_or_else(|| not_connected("x has no connected account"))?;
            request.confirm(question).await?;
            let username = connection.username.clone();
            transaction.insert_post(&draft, now)?;
            if let Some(reply) = request.begin(transaction, UNCONFIRMED).await? {
                return Ok(reply);
            }
            match publish(&account(&request.context, request.tenant(), x, keys), connection, &draft.text)
                .await
            {
                Ok(external_id) => {
                    let url = X::post_url(&username, &external_id);
                    let posted = draft.confirmed(external_id, url, now);
                    let mut transaction = request.transaction();
                    transaction.confirm_post(&posted)?;
                    let reply = Reply::ok(&Post::from(posted))?.created_without_address();
                    request.complete(transaction, reply).await
                }
                Err(Some(error)) => {
                    let mut transaction = request.transaction();
                    transaction.delete_post(id, now);
                    request.abandon(transaction).await?;
                    Err(error)
                }
                Err(None) => {
                    request.leave_unknown(UNCONFIRMED).await?;
                    Err(unconfirmed())
                }
            }
        }
    }
}

/// Lists the posts to X, newest first. Their metrics are at most 15 minutes old, and final 90 days after the post. If X
/// does not respond, the last known metrics are returned.
pub async fn list_posts(request: ApiRequest<Listing<()>>) -> Result<Reply<Collection<Post>>, Error> {
    let ((), page) = request.listing()?;
    let posts = find_posts(&request.context, request.tenant(), &page).await?;
    request.reply(posts, Post::from)
}

/// A page of the posts to X with their metrics.
pub async fn find_posts(
    context: &RequestContext,
    tenant: Tenant,
    page: &Paging,
) -> Result<Listed<model::Post>, Error> {
    let mut posts = context.store().list_posts(tenant, page).await?;
    match context.providers().await.x(tenant.mode) {
        XPort::Missing => {}
        XPort::Simulated => {
            let now = context.now();
            posts.items = posts.items.into_iter().map(|post| simulate_metrics(post, now)).collect();
        }
        XPort::Real(x, keys) => {
            let account = account(context, tenant, x, keys);
            if let Err(sentence) = refresh_metrics(&account, &mut posts.items).await {
                tracing::warn!(sentence, "metrics were not refreshed");
            }
        }
    }
    Ok(posts)
}

/// The error for a post that X may or may not have published.
const UNCONFIRMED: &str = "X did not confirm the post: it may or may not have been published. Check the account before \
                           posting again";

/// The error for such a post.
fn unconfirmed() -> Error {
    Error::Upstream { sentence: UNCONFIRMED.to_owned(), retry_after: None }
}

/// The text of a post in each style, for a published posting of an open role. `organization` may be waited for.
pub async fn compose_texts(
    context: &RequestContext,
    tenant: Tenant,
    organization: impl Future<Output = &Organization>,
    job_posting_id: Id,
) -> Result<[(Style, String); 3], Error> {
    let store = context.store();
    let posting = store.find_posting(tenant, job_posting_id).await?;
    let posting = posting.ok_or_else(|| invalid("job_posting_id must be the id of a job posting"))?;
    let role = store.find_role(tenant, posting.role_id).await?.ok_or(Error::NotFound)?;
    if !posting.published || role.is_over(context.now()) {
        return Err(invalid("job_posting_id must be the id of a published job posting"));
    }
    if role.status != RoleStatus::Open {
        let status = role.status.as_str();
        return Err(invalid(&format!(
            "job_posting_id must belong to an open role, but this one is {status}"
        )));
    }
    let url = public_url(context.base_url(), organization.await, &posting.slug);
    let places = role.content.places.words();
    let advert = x_text::Advert {
        title: posting.content.shown(&role.content).title.as_str(),
        location: places.as_deref(),
        remote_policy: role.content.remote_policy(),
        pay: role.content.pay,
        url: &url,
    };
    Ok(Style::ALL.map(|style| (style, x_text::compose(&advert, style))))
}

/// Publishes `text` on X and returns the post's id on X. The error is `None` if X may have published the post.
async fn publish(
    account: &XAccount<'_>,
    connection: XConnection,
    text: &str,
) -> Result<String, Option<Error>> {
    let account_error = |error| Some(account_error(error, account.now));
    let (connection, access) = account.usable(connection).await.map_err(account_error)?;
    let result = match account.x.post(&access, text).await {
        // The token was revoked or expired early, so nothing was posted. Try again with a new token.
        Err(XError::Unauthorized) => {
            let (_, access) = account.renew(connection).await.map_err(account_error)?;
            account.x.post(&access, text).await
        }
        result => result,
    };
    result.map_err(|error| post_error(error, account.now))
}

/// The tenant's account on X.
pub fn account<'c>(
    context: &'c RequestContext,
    tenant: Tenant,
    x: X,
    keys: &'c EncryptionKeys,
) -> XAccount<'c> {
    let (store, random, now) = (context.store(), context.random(), context.now());
    XAccount { tenant, x, keys, store, random, now }
}

/// Converts an error from posting. Returns `None` if X may have published the post.
fn post_error(error: XError, now: Timestamp) -> Option<Error> {
    match error {
        XError::Unknown(_) => None,
        XError::Unauthorized => Some(not_connected(RECONNECT)),
        XError::Duplicate => {
            Some(invalid("job_posting_id was already posted with this text, and X rejects duplicates"))
        }
        error => Some(upstream(&error, now)),
    }
}

fn account_error(error: AccountError, now: Timestamp) -> Error {
    match error {
        AccountError::Expired => not_connected(RECONNECT),
        AccountError::X(error) => upstream(&error, now),
        AccountError::Decryption(_) => {
            not_connected("x has an account whose tokens can no longer be decrypted: reconnect the account")
        }
        AccountError::Store(error) => error.into(),
    }
}

/// The error for an account whose tokens were revoked or have expired.
const RECONNECT: &str = "x no longer accepts the account's tokens: reconnect the account";

/// Refreshes all outdated metrics, of posts whose metrics are not final.
async fn refresh_metrics(account: &XAccount<'_>, posts: &mut [model::Post]) -> Result<(), String> {
    let now = account.now;
    let is_stale = |post: &model::Post| {
        is_younger(post, now, METRICS_LIFE)
            && post.asked_at.is_none_or(|asked| now.duration_since(asked) > METRICS_AGE)
    };
    let stale: Vec<_> =
        posts.iter_mut().filter(|post| post.external_id.is_some() && is_stale(post)).collect();
    if stale.is_empty() {
        return Ok(());
    }
    let result = fetch_metrics(account, &stale).await;
    let asked_at = match &result {
        Ok(_) => now,
        // X is queried again soon, but not by every request.
        Err(_) => now.saturating_sub(METRICS_AGE - METRICS_RETRY).unwrap_or(now),
    };
    let mut transaction = Transaction::new(account.tenant);
    for post in stale {
        let metrics = result.as_ref().ok().zip(post.external_id.as_ref());
        let metrics = metrics.and_then(|(metrics, id)| metrics.get(id)).copied();
        *post = model::Post { asked_at: Some(asked_at), ..post.clone().measured(metrics, now) };
        transaction.put_post_metrics(post).map_err(|error| error.to_string())?;
    }
    account.store.commit(transaction).await.map_err(|error| error.to_string())?;
    result.map(|_| ())
}

/// Whether X confirmed the post less than `age` ago.
fn is_younger(post: &model::Post, now: Timestamp, age: SignedDuration) -> bool {
    post.posted_at.is_some_and(|posted| now.duration_since(posted) < age)
}

/// Fetches metrics from X. If the token has expired early, tries again with a new token.
async fn fetch_metrics(
    account: &XAccount<'_>,
    posts: &[&mut model::Post],
) -> Result<HashMap<String, Metrics>, String> {
    let connection = account.store.find_x_connection(account.tenant).await;
    let connection = connection.map_err(|error| error.to_string())?.ok_or("no account is connected")?;
    let username = connection.username.clone();
    let message = |error: AccountError| error.to_string();
    let (connection, mut access) = account.usable(connection).await.map_err(message)?;
    let ids: Vec<_> = posts.iter().filter_map(|post| post.external_id.clone()).collect();
    let result = match account.x.metrics(&access, &ids).await {
        Err(XError::Unauthorized) => {
            (_, access) = account.renew(connection).await.map_err(message)?;
            account.x.metrics(&access, &ids).await
        }
        result => result,
    };
    let mut metrics = result.map_err(|error| error.to_string())?;
    // Another account may have been connected since a post was made.
    let has_clicks = |post: &&&mut model::Post| {
        let own_url = post.external_id.as_ref().map(|id| X::post_url(&username, id));
        post.url == own_url && is_younger(post, account.now, LINK_CLICKS_LIFE)
    };
    let recent: Vec<_> =
        posts.iter().filter(has_clicks).filter_map(|post| post.external_id.clone()).collect();
    match account.x.link_clicks(&access, &recent).await {
        Ok(clicks) => {
            for (id, clicks) in clicks {
                metrics.entry(id).or_default().link_clicks = Some(clicks);
            }
        }
        Err(error) => tracing::warn!(%error, "clicks on links were not refreshed"),
    }
    Ok(metrics)
}

/// Adds simulated metrics to a post. They change every 15 minutes.
fn simulate_metrics(post: model::Post, now: Timestamp) -> model::Post {
    let Some(posted_at) = post.posted_at else { return post };
    let age = now.duration_since(posted_at).as_secs().max(0);
    let measured_at = posted_at.saturating_add(SignedDuration::from_secs(age - age % METRICS_AGE.as_secs()));
    let measured_at = measured_at.unwrap_or(posted_at);
    let metrics = x_simulator::metrics(post.id.get(), posted_at, measured_at);
    post.measured(Some(metrics), measured_at)
}

fn upstream(error: &XError, now: Timestamp) -> Error {
    let retry_after = match error {
        XError::Limited { until: Some(until) } => {
            Some(u64::try_from(until.duration_since(now).as_secs()).unwrap_or(0).max(1))
        }
        _ => None,
    };
    Error::Upstream { sentence: error.sentence(), retry_after }
}

fn not_connected(message: &str) -> Error {
    Error::ChannelNotConnected(message.to_owned())
}

impl From<model::Post> for Post {
    fn from(post: model::Post) -> Self {
        let Metrics { likes, reposts, replies, link_clicks } = post.metrics;
        Self {
            id: post.id,
            job_posting_id: post.job_posting_id,
            style: post.style,
            text: post.text,
            external_id: post.external_id,
            url: post.url,
            posted_at: post.posted_at,
            likes,
            reposts,
            replies,
            link_clicks,
            metrics_at: post.metrics_at,
        }
    }
}
