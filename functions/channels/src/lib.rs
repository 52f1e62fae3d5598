//! Channels: accounts on X and WhatsApp, and jobs posted to X.
//!
//! | Method | Path | What |
//! |---|---|---|
//! | GET | `/api/v1/channels` | connection and usage of both channels |
//! | POST | `/api/v1/channels/x/post` | post a job to X |
//! | GET | `/api/v1/channels/x/posts` | posts with likes, reposts, replies and link clicks |

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use shared::accounts::{self, Unusable, XAccount};
use shared::http::{Added, Call, Collection, Error, Fields, Input, Listing, Reply, Row};
use shared::id::Id;
use shared::model::{
    self, ChannelStatus, Day, Metrics, RoleStatus, Scope, Standing, Style, WhatsAppConnection, XConnection,
    x_text,
};
use shared::providers::whatsapp::Health;
use shared::providers::x::{Trouble, X};
use shared::providers::{WhatsAppPort, XPort, x_simulator};
use shared::resources::posting::public_url;
use shared::sealed::{SealError, SealingKeys};
use utoipa::ToSchema;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/channels", Scope::ChannelsRead, show_channels),
        R::new("POST /api/v1/channels/x/post", Scope::ChannelsWrite, post_job),
        R::new("GET /api/v1/channels/x/posts", Scope::ChannelsRead, list_posts),
    ]
}

/// How long a channel's status is taken for true.
const STATUS_AGE: SignedDuration = SignedDuration::from_secs(60);
/// How long a provider may take to tell its status.
const STATUS_WAIT: Duration = Duration::from_secs(2);
/// How long a post's figures are taken for true.
const METRICS_AGE: SignedDuration = SignedDuration::from_mins(15);
/// When X is asked again that did not give them.
const METRICS_RETRY: SignedDuration = SignedDuration::from_mins(1);

/// Both channels.
#[derive(Debug, Serialize, ToSchema)]
pub struct Channels {
    /// The account on X.
    x: Channel,
    /// The number on WhatsApp.
    whatsapp: Channel,
}

/// A channel: an account elsewhere.
#[derive(Debug, Serialize, ToSchema)]
pub struct Channel {
    /// Whether it can be used.
    connected: bool,
    /// What the provider last said of it.
    status: ChannelStatus,
    /// What the account is called there.
    account: Option<String>,
    /// When the provider last answered.
    checked_at: Option<Timestamp>,
    /// A sentence for people, where there is something to say.
    detail: Option<String>,
    /// Today's use.
    usage: Usage,
}

/// How much a channel has been used.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChannelUsage)]
pub struct Usage {
    /// Posts made today, or messages sent.
    used: u64,
    /// `null` where this service sets no limit.
    limit: Option<u64>,
    /// What it is counted over.
    period: Period,
    /// Midnight UTC.
    resets_at: Timestamp,
}

/// What the use of a channel is counted over.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Period {
    Day,
}

/// A job posted to X.
#[derive(Debug, Serialize, ToSchema)]
pub struct Post {
    /// The identifier.
    id: Id,
    /// The job posting.
    job_posting_id: Id,
    /// The tone.
    style: Style,
    /// What was posted.
    text: String,
    /// `null` where X has not confirmed the post.
    external_id: Option<String>,
    /// Where it is on X.
    #[schema(format = "uri")]
    url: Option<String>,
    /// When X confirmed it.
    posted_at: Option<Timestamp>,
    /// Likes, as X gives them.
    likes: Option<u64>,
    /// Reposts, as X gives them.
    reposts: Option<u64>,
    /// Replies, as X gives them.
    replies: Option<u64>,
    /// Clicks on the link, where X gives them.
    link_clicks: Option<u64>,
    /// When these figures were true.
    metrics_at: Option<Timestamp>,
}

/// What to post, and in which tone.
pub struct NewPost {
    /// A published posting of an open role.
    job_posting_id: Id,
    /// The tone; `professional` where it is not given.
    style: Style,
}

impl Input for NewPost {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let job_posting_id = fields.required("job_posting_id");
        let style = fields.optional("style").unwrap_or(Style::Professional);
        Some(Self { job_posting_id: job_posting_id?, style })
    }
}

/// Shows the connection and today's usage of both channels. A provider that fails or hangs is told of in `status` and
/// `detail`.
async fn show_channels(call: Call<()>) -> Result<Reply<Channels>, Error> {
    call.input()?;
    let today = Day::of(call.now());
    let found = call.store().find_channels(call.tenant(), today).await?;
    let (x, whatsapp) = join(look_at_x(&call, found.x), look_at_whatsapp(&call, found.whatsapp)).await;
    let mut writes = call.writes();
    if let Some(connection) = &x.asked {
        writes.replace_x_connection(connection)?;
    }
    if let Some(connection) = &whatsapp.asked {
        writes.replace_whatsapp_connection(connection)?;
    }
    // Another request may have asked at the same time: either answer will do.
    if !writes.is_empty()
        && let Err(refusal) = call.store().commit(writes).await
    {
        tracing::warn!(%refusal, "a channel's status was not kept");
    }
    Reply::resource(&Channels {
        x: x.channel(found.posts_today, today),
        whatsapp: whatsapp.channel(0, today),
    })
}

/// Posts a job to X in the style that is asked for. The post is written down before X is asked, so that a request that
/// is repeated with its idempotency key never posts twice; where X's answer was lost, the repetition is told so.
///
/// # Errors
///
/// - `channel_not_connected`: no account on X is connected, or it has to be connected anew.
/// - `upstream_failed`: X failed, or did not confirm the post: then it may or may not have been published.
async fn post_job(call: Call<NewPost>) -> Result<Reply<Added<Post>>, Error> {
    let NewPost { job_posting_id, style } = call.input()?;
    let text = announcement(&call, job_posting_id, style).await?;
    let (id, now) = (call.new_id(), call.now());
    let draft = model::Post::unconfirmed(id, job_posting_id, style, text);
    let mut writes = call.writes();
    match call.providers().x(call.organization().mode) {
        XPort::Missing => Err(not_connected("x is not set up: this service has no app on X")),
        XPort::Simulated => {
            let external_id = x_simulator::post(id.get());
            let url = x_simulator::post_url(&external_id);
            let posted = simulate_metrics(draft.confirmed(external_id, url, now), now);
            writes.insert_post(&posted, now)?;
            call.commit(writes, Reply::ok(&Post::from(posted))?.created_without_address()).await
        }
        XPort::Real(x, keys) => {
            let connection = call.store().find_x_connection(call.tenant()).await?;
            let connection = connection.ok_or_else(|| not_connected("x has no connected account"))?;
            let username = connection.username.clone();
            writes.insert_post(&draft, now)?;
            if let Some(reply) = call.announce(writes, UNKNOWN).await? {
                return Ok(reply);
            }
            match publish(&account(&call, x, keys), connection, &draft.text).await {
                Ok(external_id) => {
                    let url = X::post_url(&username, &external_id);
                    let posted = draft.confirmed(external_id, url, now);
                    let mut writes = call.writes();
                    writes.put_post(&posted)?;
                    let reply = Reply::ok(&Post::from(posted))?.created_without_address();
                    call.conclude(writes, reply).await
                }
                Err(Some(error)) => {
                    let mut writes = call.writes();
                    writes.withdraw_post(id, now);
                    call.withdraw(writes).await?;
                    Err(error)
                }
                Err(None) => {
                    call.leave_unknown(UNKNOWN).await?;
                    Err(Error::Upstream { sentence: UNKNOWN.to_owned(), retry_after: None })
                }
            }
        }
    }
}

/// Lists the organization's posts to X, newest first, with figures that are at most 15 minutes old, or as they were last
/// known where X does not answer.
async fn list_posts(call: Call<Listing<()>>) -> Result<Reply<Collection<Post>>, Error> {
    let ((), page) = call.listing()?;
    let mut posts = call.store().list_posts(call.tenant(), &page).await?;
    match call.providers().x(call.organization().mode) {
        XPort::Missing => {}
        XPort::Simulated => {
            let now = call.now();
            posts.items = posts.items.into_iter().map(|post| simulate_metrics(post, now)).collect();
        }
        XPort::Real(x, keys) => {
            if let Err(sentence) = measure(&call, &account(&call, x, keys), &mut posts.items).await {
                tracing::warn!(sentence, "figures are as they were last known");
            }
        }
    }
    call.reply(posts, Post::from)
}

/// Said where X may or may not have published a post.
const UNKNOWN: &str = "X did not confirm the post: it may or may not have been published. Look at the account before \
                       posting again";

/// The text for a posting that is live.
async fn announcement<I>(call: &Call<I>, job_posting_id: Id, style: Style) -> Result<String, Error> {
    let posting = call.store().find_posting(call.tenant(), job_posting_id).await?;
    let posting = posting.ok_or_else(|| invalid("job_posting_id must be the id of a job posting"))?;
    let role = call.store().find_role(call.tenant(), posting.role_id).await?.ok_or(Error::NotFound)?;
    if !posting.published {
        return Err(invalid("job_posting_id must be the id of a published job posting"));
    }
    if role.status != RoleStatus::Open {
        let status = role.status.as_str();
        return Err(invalid(&format!(
            "job_posting_id must belong to an open role, and this one is {status}"
        )));
    }
    let url = public_url(call.base_url(), call.organization(), &posting.slug);
    let advert = x_text::Advert {
        title: posting.content.title.as_str(),
        location: role.content.location.as_ref().map(model::Text::as_str),
        remote_policy: role.content.remote_policy,
        salary: role.content.salary,
        url: &url,
    };
    Ok(x_text::compose(&advert, style))
}

/// Has X publish `text`, and gives X's id of the post, or what a client is told: `None` where X may have taken it.
async fn publish(
    account: &XAccount<'_>,
    connection: XConnection,
    text: &str,
) -> Result<String, Option<Error>> {
    let unusable = |failed| Some(unusable(failed, account.now));
    let (connection, access) = account.usable(connection).await.map_err(unusable)?;
    let posted = match account.x.post(&access, text).await {
        // The token was revoked, or ended early. Nothing has been posted: once more with the next one.
        Err(Trouble::Unauthorized) => {
            let (_, access) = account.renew(connection).await.map_err(unusable)?;
            account.x.post(&access, text).await
        }
        posted => posted,
    };
    posted.map_err(|trouble| refused(trouble, account.now))
}

fn account<'c, I>(call: &'c Call<I>, x: X, keys: &'c SealingKeys) -> XAccount<'c> {
    let (tenant, store, random, now) = (call.tenant(), call.store(), call.random(), call.now());
    XAccount { tenant, x, keys, store, random, now }
}

/// What a client is told of a post that X refused; `None` where X may have taken it.
fn refused(trouble: Trouble, now: Timestamp) -> Option<Error> {
    match trouble {
        Trouble::Unknown(_) => None,
        Trouble::Unauthorized => {
            Some(not_connected("x does not accept the account's tokens any more: connect it anew"))
        }
        Trouble::Duplicate => Some(invalid(
            "job_posting_id has been posted with this very text already, and X takes no duplicates",
        )),
        trouble => Some(upstream(&trouble, now)),
    }
}

fn unusable(unusable: Unusable, now: Timestamp) -> Error {
    match unusable {
        Unusable::Expired => {
            not_connected("x does not accept the account's tokens any more: connect it anew")
        }
        Unusable::Trouble(trouble) => upstream(&trouble, now),
        Unusable::Seal(_) => {
            not_connected("x has an account whose tokens cannot be read any more: connect it anew")
        }
        Unusable::Failed(failure) => failure.into(),
    }
}

/// Brings the figures of posts up to date, all that are old in one call.
async fn measure<I>(call: &Call<I>, account: &XAccount<'_>, posts: &mut [model::Post]) -> Result<(), String> {
    let now = call.now();
    let old = |post: &model::Post| post.asked_at.is_none_or(|asked| now.duration_since(asked) > METRICS_AGE);
    let old: Vec<_> = posts.iter_mut().filter(|post| post.external_id.is_some() && old(post)).collect();
    if old.is_empty() {
        return Ok(());
    }
    let ids: Vec<_> = old.iter().filter_map(|post| post.external_id.clone()).collect();
    let answer = ask_for_metrics(account, &ids).await;
    let asked_at = match &answer {
        Ok(_) => now,
        // It is asked again soon, though not by every request.
        Err(_) => now.saturating_sub(METRICS_AGE - METRICS_RETRY).unwrap_or(now),
    };
    let mut writes = call.writes();
    for post in old {
        let figures = answer.as_ref().ok().zip(post.external_id.as_ref());
        let figures = figures.and_then(|(metrics, id)| metrics.get(id)).copied();
        *post = model::Post { asked_at: Some(asked_at), ..post.clone().measured(figures, now) };
        writes.put_post(post).map_err(|error| error.to_string())?;
    }
    call.store().commit(writes).await.map_err(|refusal| refusal.to_string())?;
    answer.map(|_| ())
}

/// Asks X for figures; once more where the token has ended early.
async fn ask_for_metrics(account: &XAccount<'_>, ids: &[String]) -> Result<HashMap<String, Metrics>, String> {
    let connection = account.store.find_x_connection(account.tenant).await;
    let connection = connection.map_err(|failure| failure.to_string())?.ok_or("no account is connected")?;
    let unusable = |failed: Unusable| failed.to_string();
    let (connection, access) = account.usable(connection).await.map_err(unusable)?;
    let answer = match account.x.metrics(&access, ids).await {
        Err(Trouble::Unauthorized) => {
            let (_, access) = account.renew(connection).await.map_err(unusable)?;
            account.x.metrics(&access, ids).await
        }
        answer => answer,
    };
    answer.map_err(|trouble| trouble.to_string())
}

/// A simulated post's figures, which change every 15 minutes.
fn simulate_metrics(post: model::Post, now: Timestamp) -> model::Post {
    let Some(posted_at) = post.posted_at else { return post };
    let age = now.duration_since(posted_at).as_secs().max(0);
    let measured_at = posted_at.saturating_add(SignedDuration::from_secs(age - age % METRICS_AGE.as_secs()));
    let measured_at = measured_at.unwrap_or(posted_at);
    let metrics = x_simulator::metrics(post.id.get(), posted_at, measured_at);
    post.measured(Some(metrics), measured_at)
}

/// A channel as it is now.
struct Seen<C> {
    standing: Standing,
    account: Option<String>,
    /// The connection to be kept, where the provider was asked.
    asked: Option<C>,
}

impl<C> Seen<C> {
    fn simulated(account: &str, now: Timestamp) -> Self {
        let standing =
            Standing::answered(ChannelStatus::Connected, Some("This is a simulator.".to_owned()), now);
        Self { standing, account: Some(account.to_owned()), asked: None }
    }

    fn missing(detail: &str) -> Self {
        let standing = Standing { detail: Some(detail.to_owned()), ..Standing::NONE };
        Self { standing, account: None, asked: None }
    }

    /// An account whose tokens do not open. Its provider has not said so: when it last answered stays as it was.
    fn unreadable(mut standing: Standing, account: Option<String>, error: SealError) -> Self {
        standing.status = ChannelStatus::Error;
        standing.detail = Some(format!("Here {error}."));
        Self { standing, account, asked: None }
    }

    fn channel(self, used: u64, today: Day) -> Channel {
        let Standing { status, detail, checked_at, .. } = self.standing;
        Channel {
            connected: status == ChannelStatus::Connected,
            status,
            account: self.account,
            checked_at,
            detail,
            usage: Usage { used, limit: None, period: Period::Day, resets_at: today.end() },
        }
    }
}

async fn look_at_x<I>(call: &Call<I>, found: Option<XConnection>) -> Seen<XConnection> {
    let now = call.now();
    let (x, keys) = match call.providers().x(call.organization().mode) {
        XPort::Simulated => return Seen::simulated(&format!("@{}", x_simulator::ACCOUNT), now),
        XPort::Missing => return Seen::missing("This service has no app on X."),
        XPort::Real(x, keys) => (x, keys),
    };
    let Some(connection) = found else { return Seen::missing("No account is connected.") };
    let shown = Some(format!("@{}", connection.username));
    let account = account(call, x, keys);
    let old = connection.standing.clone();
    // Without a good token X is not asked: renewing one may take longer than a status may, or somebody is at it.
    let renewing = connection.leased_until.is_some_and(|until| until > now);
    let access = match account.current(&connection) {
        Err(error) => return Seen::unreadable(old, shown, error),
        Ok(Some(access)) if !renewing && is_old(&old, now) => access,
        Ok(_) => return Seen { standing: old, account: shown, asked: None },
    };
    let standing = match tokio::time::timeout(STATUS_WAIT, account.x.account(&access)).await {
        Ok(Ok(_)) => Standing::answered(ChannelStatus::Connected, None, now),
        Ok(Err(Trouble::Unauthorized)) => {
            let detail =
                "X refused the access token: the next post gets another, if the account still allows it.";
            Standing::answered(ChannelStatus::Expired, Some(detail.to_owned()), now)
        }
        Ok(Err(Trouble::Refused(sentence))) => Standing::answered(ChannelStatus::Error, Some(sentence), now),
        Ok(Err(trouble)) => old.unanswered(trouble.to_string(), now),
        Err(_) => old.unanswered("X did not answer in time.".to_owned(), now),
    };
    let version = connection.version + 1;
    let kept = XConnection { standing: standing.clone(), version, ..connection };
    Seen { standing, account: shown, asked: Some(kept) }
}

async fn look_at_whatsapp<I>(call: &Call<I>, found: Option<WhatsAppConnection>) -> Seen<WhatsAppConnection> {
    let now = call.now();
    let (whatsapp, keys) = match call.providers().whatsapp(call.organization().mode) {
        WhatsAppPort::Simulated => return Seen::simulated("Rolecall simulator", now),
        WhatsAppPort::Missing => return Seen::missing("This service keeps no tokens of WhatsApp numbers."),
        WhatsAppPort::Real(whatsapp, keys) => (whatsapp, keys),
    };
    let Some(connection) = found else { return Seen::missing("No number is connected.") };
    let mut account = connection.account.clone();
    let old = connection.standing.clone();
    let token = match accounts::whatsapp_token(call.tenant(), &connection, keys) {
        Err(error) => return Seen::unreadable(old, account, error),
        Ok(token) if is_old(&old, now) => token,
        Ok(_) => return Seen { standing: old, account, asked: None },
    };
    let standing = match whatsapp.health(&connection.phone_number_id, &token, STATUS_WAIT).await {
        Health::Connected { account: name, detail } => {
            account = Some(name);
            Standing::answered(ChannelStatus::Connected, detail, now)
        }
        Health::Error { detail } => Standing::answered(ChannelStatus::Error, Some(detail), now),
        Health::Expired => {
            let detail = "WhatsApp does not accept the token any more: connect the number anew.".to_owned();
            Standing::answered(ChannelStatus::Expired, Some(detail), now)
        }
        Health::Unavailable(detail) => old.unanswered(format!("{detail}."), now),
    };
    let version = connection.version + 1;
    let kept =
        WhatsAppConnection { standing: standing.clone(), account: account.clone(), version, ..connection };
    Seen { standing, account, asked: Some(kept) }
}

fn is_old(standing: &Standing, now: Timestamp) -> bool {
    standing.asked_at.is_none_or(|asked| now.duration_since(asked) >= STATUS_AGE)
}

fn upstream(trouble: &Trouble, now: Timestamp) -> Error {
    let retry_after = match trouble {
        Trouble::Limited { until: Some(until) } => {
            Some(u64::try_from(until.duration_since(now).as_secs()).unwrap_or(0).max(1))
        }
        _ => None,
    };
    Error::Upstream { sentence: trouble.to_string(), retry_after }
}

fn not_connected(message: &str) -> Error {
    Error::ChannelNotConnected(message.to_owned())
}

fn invalid(message: &str) -> Error {
    Error::Validation(vec![message.to_owned()])
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
