//! Posting a job to X: the text in each style, and the posts of this job with their figures.

use std::future::ready;
use std::sync::Arc;

use askama::Template;
use shared::handlers::x_posts;
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::model::{Metrics, Post, Style};
use shared::store::Paging;

use crate::dates::{self, Time};
use crate::form_page::Refusal;
use crate::layout::{Layout, Section};
use crate::messages::Notice;

/// The number of newest posts in which the page looks for those of this job.
const POSTS: u32 = 100;

#[derive(Template)]
#[template(path = "x_post.html")]
struct XPostPage<'p> {
    layout: Layout<'p>,
    id: u64,
    /// Why the job cannot be posted.
    alert: Option<String>,
    texts: Vec<(Style, String)>,
    posts: Vec<PostRow<'p>>,
}

struct PostRow<'p> {
    text: &'p str,
    url: Option<&'p str>,
    at: Option<Time>,
    metrics: Metrics,
}

/// Shows the text in each style, and the posts of this job.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    page(&request, None).await
}

/// Posts a job.
pub(crate) async fn post(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let id = request.context.id()?;
    let (fields, posting) = (request.fields(), ("job_posting_id".to_owned(), id.to_string()));
    let fields = fields.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let call = request.call(fields.chain([posting]).collect());
    match request.carry_out(call, x_posts::post_job).await {
        Ok(_) => Ok(Notice::PostedToX.redirect_to(&format!("/dashboard/postings/{id}/x"))),
        Err(error) => Ok(page(&request, Some(Refusal::of(error)?.text())).await?.with_status(422)),
    }
}

async fn page(request: &MemberRequest, refused: Option<String>) -> Result<Reply<Html>, Error> {
    let (context, tenant, id) = (&request.context, request.tenant(), request.context.id()?);
    context.store().find_posting(tenant, id).await?.ok_or(Error::NotFound)?;
    let organization = ready(request.organization());
    let (texts, reason) = match x_posts::compose_texts(context, tenant, organization, id).await {
        Ok(texts) => (texts.to_vec(), None),
        Err(Error::Validation(_)) => (
            Vec::new(),
            Some("Publish the posting and open its role before you post the job to X.".to_owned()),
        ),
        Err(error) => return Err(error),
    };
    let first = Paging { limit: POSTS, before: None };
    let posts = x_posts::find_posts(context, tenant, &first).await?.items;
    let zone = dates::zone(request);
    let posts = posts.iter().filter(|post| post.job_posting_id == id).map(|post: &Post| PostRow {
        text: &post.text,
        url: post.url.as_deref(),
        at: post.posted_at.map(|time| zone.minute(time)),
        metrics: post.metrics,
    });
    Reply::page(&XPostPage {
        layout: Layout::of(request, Section::Postings),
        id: id.get(),
        alert: refused.or(reason),
        texts,
        posts: posts.collect(),
    })
}
