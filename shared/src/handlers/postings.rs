//! Creating, editing and publishing job postings.

use super::responses::posting::{Posting, PostingContent};
use super::responses::question::GivenQuestions;
use super::{invalid, questions};
use crate::http::{ApiRequest, Asked, Collection, Created, Error, Listing, Reply, Since, input};
use crate::id::Id;
use crate::model::{self, LongText, RoleAndPosting, Slug, Title};
use crate::store::Listed;

input! {
    /// A job posting to create for a role.
    pub struct RolePosting {
        role_id: required Id,
        /// The content of the posting. A missing `title` or `public_description` follows the role.
        job_posting: object PostingContent,
    }

    /// Changes to a job posting. The slug never changes, so links stay valid.
    pub struct PostingPatch {
        /// The posting's own title. `null` makes the posting follow the role's title.
        title: change Title,
        /// The posting's own description. `null` makes the posting follow the role's description. Markdown: CommonMark with
        /// tables. The HTML tags a, b, br, em, h1 to h6, i, li, ol, p, strong and ul work; other HTML is shown as text, and
        /// an image is replaced by its alternative text.
        public_description: change LongText,
        requirements: change LongText,
        questions: part GivenQuestions,
    }
}

impl PostingPatch {
    /// Applies the changes. New questions get the `next` identifiers. Fails with what is wrong with the questions.
    pub fn apply(
        self,
        current: &model::PostingContent,
        next: impl FnMut() -> Id,
    ) -> Result<model::PostingContent, Error> {
        let Self { title, public_description, requirements, questions } = self;
        let questions = questions.apply(&current.questions, next).map_err(Error::Validation)?;
        let current = current.clone();
        Ok(model::PostingContent {
            title: title.apply(current.title),
            public_description: public_description.apply(current.public_description),
            requirements: requirements.apply(current.requirements),
            questions,
        })
    }
}

/// Creates an unpublished job posting for a role. A missing `title` or `public_description` follows the role, also when
/// the role changes later.
pub async fn create(request: ApiRequest<RolePosting>) -> Result<Reply<Created<Posting>>, Error> {
    let RolePosting { role_id, job_posting } = request.input()?;
    let job_posting = in_job_posting(job_posting.with_ids(|| request.context.ids().next()))?;
    let role = request.context.store().find_role(request.tenant(), role_id).await?;
    let role = role.ok_or_else(|| invalid("role_id must be the id of a role"))?;
    if role.posting.is_some() {
        return Err(invalid("role_id already has a job posting"));
    }
    let base = Slug::of_posting(job_posting.shown(&role.content).title.as_str());
    let id = request.context.ids().next();
    request
        .commit_with_slug(&base, |number, organization| {
            let posting = model::Posting::draft(
                id,
                &role,
                base.numbered(number),
                job_posting.clone(),
                request.context.now(),
            );
            let mut transaction = request.transaction();
            let linked = role.clone().link(posting.link(), request.context.now());
            transaction.insert_posting(&role, &linked, &posting, &base, number)?;
            let address = request.address("job_postings", id);
            let (base_url, now) = (request.context.base_url(), request.context.now());
            let posting = Posting::of(&posting, &linked, organization, base_url, now);
            Ok((transaction, Reply::resource(&posting)?.created(address)))
        })
        .await
}

/// The content of a posting, whose mistakes have the path that it has in a request.
pub(super) fn in_job_posting(
    content: Result<model::PostingContent, Vec<String>>,
) -> Result<model::PostingContent, Error> {
    let in_object = |message| format!("job_posting.{message}");
    content.map_err(|messages| Error::Validation(messages.into_iter().map(in_object).collect()))
}

/// Updates the fields that are sent. A value sets a field, `null` clears it, and an absent field stays unchanged. A
/// cleared `title` or `public_description` follows the role. A no-op PATCH writes nothing.
///
/// # Errors
///
/// - `confirmation_required`: an assistant sent the request, and a member has to confirm it on the page `page`.
pub async fn update(request: ApiRequest<PostingPatch>) -> Result<Reply<Posting>, Error> {
    let posting = find(&request).await?;
    let patch = request.input()?;
    let role = find_role(&request, &posting).await?;
    let shown = present(&request, &posting, &role).await;
    request.check_precondition(&shown)?;
    let content = patch.apply(&posting.content, || request.context.ids().next())?;
    if content == posting.content {
        return Reply::resource(&shown);
    }
    let after = posting.clone().edit(content, request.context.now());
    replace(&request, role, posting, after).await
}

/// Publishes a job posting on the career page. Publishing it again changes nothing.
///
/// # Errors
///
/// - `invalid_transition`: the role is closed, or its `closes_on` is over.
/// - `confirmation_required`: an assistant sent the request, and a member has to confirm it on the page `page`.
pub async fn publish(request: ApiRequest<()>) -> Result<Reply<Posting>, Error> {
    let posting = find(&request).await?;
    request.input()?;
    let role = find_role(&request, &posting).await?;
    let published = posting.clone().publish(&role, request.context.now())?;
    replace(&request, role, posting, published).await
}

/// Removes a job posting from the career page. Unpublishing it again changes nothing.
///
/// # Errors
///
/// - `confirmation_required`: an assistant sent the request, and a member has to confirm it on the page `page`.
pub async fn unpublish(request: ApiRequest<()>) -> Result<Reply<Posting>, Error> {
    let posting = find(&request).await?;
    request.input()?;
    let role = find_role(&request, &posting).await?;
    let after = posting.clone().unpublish(request.context.now());
    replace(&request, role, posting, after).await
}

async fn find_role<I>(request: &ApiRequest<I>, posting: &model::Posting) -> Result<model::Role, Error> {
    request.context.store().find_role(request.tenant(), posting.role_id).await?.ok_or(Error::NotFound)
}

/// Replaces `before` with `posting`, or writes nothing if they are equal.
async fn replace<I>(
    request: &ApiRequest<I>,
    role: model::Role,
    before: model::Posting,
    posting: model::Posting,
) -> Result<Reply<Posting>, Error> {
    if posting != before && (before.published || posting.published) {
        request.confirm(|| questions::of_posting(&role, &before, &posting)).await?;
    }
    let mut transaction = request.transaction();
    let reply = Reply::resource(&present(request, &posting, &role).await)?;
    let before = RoleAndPosting { role, posting: Some(before), stats: None };
    let after = RoleAndPosting { posting: Some(posting), ..before.clone() };
    transaction.replace_role(&before, &after)?;
    request.commit(transaction, reply).await
}

/// The job posting named in the path.
pub async fn find<I>(request: &ApiRequest<I>) -> Result<model::Posting, Error> {
    request.context.store().find_posting(request.tenant(), request.id()?).await?.ok_or(Error::NotFound)
}

/// The posting of this role with its public URL and what it shows.
async fn present<I>(request: &ApiRequest<I>, posting: &model::Posting, role: &model::Role) -> Posting {
    let (organization, base_url) = (request.organization().await, request.context.base_url());
    Posting::of(posting, role, organization, base_url, request.context.now())
}

input! {
    /// Filters for the list of job postings.
    pub struct PostingFilter {
        /// Returns only published postings, or only unpublished ones.
        published: optional bool,
    }
}

/// Lists job postings, newest first. `published` narrows the list. `updated_after` returns those that have changed, also by a
/// change of what they show of their roles.
///
/// # Errors
///
/// - `cursor_expired`: with `updated_after`, the changes that the page needs are no longer kept.
pub async fn list(
    request: ApiRequest<Listing<Since<PostingFilter>>>,
) -> Result<Reply<Collection<Posting>>, Error> {
    let (asked, page) = request.asked()?;
    let (store, tenant) = (request.context.store(), request.tenant());
    let (published, listed) = match asked {
        Asked::Since(time) => {
            let changed = store.list_changed_postings(tenant, request.changes_since(time), &page).await?;
            (None, changed.ok_or(Error::CursorExpired)?)
        }
        Asked::Part(PostingFilter { published }) => {
            (published, store.list_postings(tenant, published, &page).await?)
        }
    };
    let Listed { items, next } = listed;
    let roles = store.find_roles(tenant, items.iter().map(|posting| posting.role_id)).await?;
    let (organization, base_url) = (request.organization().await, request.context.base_url());
    let now = request.context.now();
    // A posting whose role cannot be read is left out, like the role in the list of roles.
    let shown = |posting: &model::Posting| {
        let role = roles.get(&posting.role_id)?;
        Some(Posting::of(posting, role, organization, base_url, now))
    };
    // A posting stays in the list of the published ones for a moment after its role's closing date.
    let is_asked = |posting: &Posting| published.is_none_or(|published| posting.published == published);
    let items = items.iter().filter_map(shown).filter(is_asked).collect();
    request.reply(Listed { items, next }, |posting| posting)
}

/// Returns a job posting. Its `ETag` also changes when the posting follows its role and the role's title or description
/// changes, and when the role's `closes_on` is over.
pub async fn show(request: ApiRequest<()>) -> Result<Reply<Posting>, Error> {
    let posting = find(&request).await?;
    request.input()?;
    let role = find_role(&request, &posting).await?;
    Reply::resource(&present(&request, &posting, &role).await)
}
