//! Job postings: a role's page on the career site. A role has at most one.
//!
//! | Method | Path | What |
//! |---|---|---|
//! | GET | `/api/v1/job_postings` | list, by `published` where given |
//! | POST | `/api/v1/job_postings` | create for a role |
//! | GET | `/api/v1/job_postings/{id}` | show |
//! | PATCH | `/api/v1/job_postings/{id}` | update |
//! | POST | `/api/v1/job_postings/{id}/publish` | put on the career page |
//! | POST | `/api/v1/job_postings/{id}/unpublish` | take off the career page |

use shared::http::{Call, Change, Collection, Created, Error, Fields, Input, Listing, Reply, Row};
use shared::id::Id;
use shared::model::{self, LongText, Opening, PostingContent, Scope, Slug, Title};
use shared::resources::posting::{NewPosting, Posting};

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/job_postings", Scope::RolesRead, list),
        R::new("POST /api/v1/job_postings", Scope::RolesWrite, create),
        R::new("GET /api/v1/job_postings/{id}", Scope::RolesRead, show),
        R::new("PATCH /api/v1/job_postings/{id}", Scope::RolesWrite, update),
        R::new("POST /api/v1/job_postings/{id}/publish", Scope::RolesWrite, publish),
        R::new("POST /api/v1/job_postings/{id}/unpublish", Scope::RolesWrite, unpublish),
    ]
}

/// Which postings to list.
pub struct PostingFilter {
    /// Those that are live on the career page, or those that aren't.
    published: Option<bool>,
}

impl Input for PostingFilter {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        Some(Self { published: fields.optional("published") })
    }
}

/// A posting for a role.
pub struct RolePosting {
    role_id: Id,
    /// What the career page shows; what it leaves out comes from the role.
    job_posting: NewPosting,
}

impl Input for RolePosting {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let role_id = fields.required("role_id");
        let job_posting = fields.object("job_posting");
        Some(Self { role_id: role_id?, job_posting: job_posting? })
    }
}

/// What a PATCH of a posting changes. Its slug stays, so that links do.
pub struct PostingPatch {
    title: Option<Title>,
    public_description: Change<LongText>,
    requirements: Change<LongText>,
}

impl Input for PostingPatch {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        Some(Self {
            title: fields.replacement("title"),
            public_description: fields.change("public_description"),
            requirements: fields.change("requirements"),
        })
    }
}

/// Lists the organization's postings, newest first; with `published`, those that are or aren't live.
async fn list(call: Call<Listing<PostingFilter>>) -> Result<Reply<Collection<Posting>>, Error> {
    let (filter, page) = call.listing()?;
    let postings = call.store().list_postings(call.tenant(), filter.published, &page).await?;
    call.reply(postings, |posting| present(&call, posting))
}

/// Creates a role's posting, not yet published. What `job_posting` leaves out comes from the role.
async fn create(call: Call<RolePosting>) -> Result<Reply<Created<Posting>>, Error> {
    let RolePosting { role_id, job_posting } = call.input()?;
    let role = call.store().find_role(call.tenant(), role_id).await?;
    let role = role.ok_or_else(|| invalid("role_id must be the id of a role"))?;
    if role.posting.is_some() {
        return Err(invalid("role_id already has a job posting"));
    }
    let content = job_posting.complete(&role.content);
    let base = Slug::of(content.title.as_str(), "job");
    let id = call.new_id();
    call.commit_with_slug(&base, |number| {
        let posting = model::Posting::draft(id, &role, base.numbered(number), content.clone(), call.now());
        let mut writes = call.writes();
        writes.replace_role(&role.clone().link(posting.link(), call.now()))?;
        writes.insert_posting(&posting, &base, number)?;
        let address = call.address("job_postings", id);
        Ok((writes, Reply::resource(&present(&call, posting))?.created(address)))
    })
    .await
}

/// Shows a posting.
async fn show(call: Call<()>) -> Result<Reply<Posting>, Error> {
    let posting = find(&call).await?;
    call.input()?;
    Reply::resource(&present(&call, posting))
}

/// Changes the fields that are sent: a value sets, `null` clears, absence leaves as it is. What changes nothing writes
/// nothing.
async fn update(call: Call<PostingPatch>) -> Result<Reply<Posting>, Error> {
    let posting = find(&call).await?;
    let PostingPatch { title, public_description, requirements } = call.input()?;
    call.check_precondition(&present(&call, posting.clone()))?;
    let current = posting.content.clone();
    let content = PostingContent {
        title: title.unwrap_or(current.title),
        public_description: public_description.apply(current.public_description),
        requirements: requirements.apply(current.requirements),
    };
    if content == posting.content {
        return Reply::resource(&present(&call, posting));
    }
    let role = find_role(&call, &posting).await?;
    replace(&call, &role, &posting, posting.clone().edit(content, call.now())).await
}

/// Puts a posting on the career page, unless its role is closed. Publishing a published one changes nothing.
///
/// # Errors
///
/// - `invalid_transition`: the role is closed.
async fn publish(call: Call<()>) -> Result<Reply<Posting>, Error> {
    let posting = find(&call).await?;
    call.input()?;
    let role = find_role(&call, &posting).await?;
    let published = posting.clone().publish(role.status, call.now())?;
    replace(&call, &role, &posting, published).await
}

/// Takes a posting off the career page. Doing so twice changes nothing.
async fn unpublish(call: Call<()>) -> Result<Reply<Posting>, Error> {
    let posting = find(&call).await?;
    call.input()?;
    let role = find_role(&call, &posting).await?;
    replace(&call, &role, &posting, posting.clone().unpublish(call.now())).await
}

async fn find<I>(call: &Call<I>) -> Result<model::Posting, Error> {
    call.store().find_posting(call.tenant(), call.id()?).await?.ok_or(Error::NotFound)
}

async fn find_role<I>(call: &Call<I>, posting: &model::Posting) -> Result<model::Role, Error> {
    call.store().find_role(call.tenant(), posting.role_id).await?.ok_or(Error::NotFound)
}

/// Writes a posting in place of `before`, where it differs, and what the career page lists of it.
async fn replace<I>(
    call: &Call<I>,
    role: &model::Role,
    before: &model::Posting,
    posting: model::Posting,
) -> Result<Reply<Posting>, Error> {
    let mut writes = call.writes();
    if posting.version > before.version {
        let (old, new) = (Opening::of(role, before), Opening::of(role, &posting));
        writes.replace_opening(old.as_ref(), new.as_ref())?;
        writes.require_role(role);
        writes.replace_posting(&posting)?;
    }
    call.commit(writes, Reply::resource(&present(call, posting))?).await
}

fn present<I>(call: &Call<I>, posting: model::Posting) -> Posting {
    Posting::of(posting, call.organization(), call.base_url())
}

fn invalid(message: &str) -> Error {
    Error::Validation(vec![message.to_owned()])
}
