//! Job postings, read-only. Changes are made through the API.

use std::sync::Arc;

use askama::Template;
use shared::handlers::responses::posting::public_url;
use shared::http::{Error, Html, MemberRequest, Reply};

use crate::layout::{Layout, Section};
use crate::lists::{PAGE_SIZE, Pager, Place, id_position, is_id_position, next};

#[derive(Template)]
#[template(path = "postings.html")]
struct PostingsPage<'p> {
    layout: Layout<'p>,
    postings: Vec<PostingRow<'p>>,
    pager: Pager,
}

struct PostingRow<'p> {
    title: &'p str,
    is_published: bool,
    /// The public URL. It shows the posting only while it is published.
    url: String,
    role_id: u64,
}

/// Shows the list of job postings.
pub(crate) async fn list(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (store, tenant) = (request.context.store(), request.tenant());
    let place = Place::read(&request.context.query(), is_id_position);
    let mut listed = store.list_postings(tenant, None, &place.paging()).await?;
    let next = next(&mut listed, PAGE_SIZE, |posting| id_position(posting.id));
    let pager = Pager::new("/dashboard/postings", &[], &place, next);
    let roles = store.find_roles(tenant, listed.items.iter().map(|posting| posting.role_id)).await?;
    let now = request.context.now();
    let postings = listed.items.iter().filter_map(|posting| {
        let role = roles.get(&posting.role_id)?;
        Some(PostingRow {
            title: posting.content.shown(&role.content).title.as_str(),
            is_published: posting.published && !role.is_over(now),
            url: public_url(request.context.base_url(), request.organization(), &posting.slug),
            role_id: posting.role_id.get(),
        })
    });
    Reply::page(&PostingsPage {
        layout: Layout::of(&request, Section::Postings),
        postings: postings.collect(),
        pager,
    })
}
