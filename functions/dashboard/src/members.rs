//! Settings > Members: owners invite members, create password links, change roles and remove members.

use std::sync::Arc;

use askama::Template;
use jiff::SignedDuration;
use shared::http::page::{Problem, Sources, problem_of, version_of};
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::id::Id;
use shared::model::{Email, Member, MemberRole, Mode, Name, NoticeEvent};
use shared::services::membership::{self, Decision};
use shared::store::CommitError;

use crate::dates::{self, Time};
use crate::form::{collect, problem, required};
use crate::holdings::{EndingEndpoint, Holdings, KeyOfMember, is_kept};
use crate::layout::{Layout, SCRIPT, Section};
use crate::messages::{Alert, Notice};
use crate::second_factor;

pub(crate) const PATH: &str = "/dashboard/settings/members";
/// The maximum number of invitations of an organization on a day (UTC).
const DAILY_INVITATIONS: u64 = 100;
const DAY: SignedDuration = SignedDuration::from_hours(24);
const TOO_MANY: &str =
    "Your organization has invited 100 people today. You can invite more people after midnight (UTC).";

#[derive(Template)]
#[template(path = "members.html")]
struct MembersPage<'p> {
    layout: Layout<'p>,
    /// Whether the signed-in member is an owner. Only owners can change members.
    is_owner: bool,
    requires_second_factor: bool,
    /// The address of the sign-in to the organization.
    sign_in: String,
    members: Vec<MemberRow<'p>>,
    /// The link that was just created.
    link: Option<NewLink<'p>>,
    name: &'p str,
    email: &'p str,
    role: MemberRole,
    /// Problems with the fields `name`, `email` and `role`.
    problems: Vec<Problem>,
    /// The version in the script's URL.
    script_version: String,
}

struct MemberRow<'p> {
    id: u64,
    name: &'p str,
    email: &'p str,
    role: MemberRole,
    state: MemberState,
    /// When the invitation expires; `None` if no invitation is valid.
    invited_until: Option<Time>,
    has_second_factor: bool,
    /// The API keys that the member created. Only owners see these, and what follows.
    keys: Vec<KeyOfMember<'p>>,
    /// The enabled webhook endpoints of the member.
    endpoints: Vec<EndingEndpoint<'p>>,
    /// What ends if the member is no longer an owner.
    for_owners: Vec<String>,
    /// Whether this is the signed-in member.
    is_self: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MemberState {
    Active,
    Invited,
}

impl MemberState {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Invited => "invited",
        }
    }
}

/// A single-use link, which is shown only once.
struct NewLink<'p> {
    url: &'p str,
    /// The member's name.
    name: &'p str,
    /// The member's e-mail address.
    email: &'p str,
    /// When the link expires.
    until: Option<Time>,
}

/// The values in the form.
#[derive(Default)]
struct FormValues<'f> {
    name: &'f str,
    email: &'f str,
    role: &'f str,
}

/// Shows the members.
pub(crate) async fn list(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    page(&request, None, &FormValues::default(), Vec::new()).await
}

/// Invites a member, and shows the invitation link once.
pub(crate) async fn invite(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let form = request.page.form();
    let values =
        FormValues { name: form.get("name"), email: form.get("email").trim(), role: form.get("role") };
    let mut problems = Vec::new();
    let name = collect(required("name", "The name", Name::parse(values.name)), &mut problems);
    let email = collect(email(values.email), &mut problems);
    let role = values.role.parse::<MemberRole>().map_err(|message| problem("role", "The role", &message));
    let role = collect(role, &mut problems);
    let (Some(name), Some(email), Some(role)) = (name, email, role) else {
        return Ok(page(&request, None, &values, problems).await?.with_status(422));
    };
    let new = Member::invited(request.context.ids().next(), email, name, role, request.context.now());
    let (new, link) = with_link(&request, new);
    let (organization, store, now) =
        (request.tenant().organization, request.context.store(), request.context.now());
    let invitations = format!("invitations of {organization}");
    if let Some(seconds) = store.count_attempt(&invitations, DAILY_INVITATIONS, DAY, now).await? {
        let problems = vec![Problem { field: "email", sentence: TOO_MANY.to_owned() }];
        let page = page(&request, None, &values, problems).await?.with_status(429);
        return Ok(page.with("retry-after", seconds.to_string()));
    }
    match membership::invite(store, organization, &new, Some(request.member())).await {
        Ok(()) => page(&request, Some((&new, &link)), &FormValues::default(), Vec::new()).await,
        Err(CommitError::Taken(_)) => {
            store.uncount_attempt(&invitations, DAY, now).await?;
            let problems = vec![problem(
                "email",
                "This e-mail address",
                "already belongs to a member or an open invitation of your organization",
            )];
            Ok(page(&request, None, &values, problems).await?.with_status(422))
        }
        Err(error) => Err(error.into()),
    }
}

fn email(text: &str) -> Result<Email, Problem> {
    text.parse().map_err(|message: String| {
        if text.chars().count() > Email::MAX {
            problem("email", "The e-mail address", &message)
        } else {
            Problem { field: "email", sentence: "Enter a valid e-mail address.".to_owned() }
        }
    })
}

/// Creates a link to set a password and shows it once. The link replaces any earlier one.
pub(crate) async fn make_link(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let before = find(&request).await?;
    let (member, link) = with_link(&request, before.clone());
    let mut transaction = request.transaction();
    transaction.replace_member(&before, &member)?;
    if member.id != request.member().id {
        transaction.require_member(request.member());
    }
    if !member.is_invited() {
        let event = NoticeEvent::ResetLinkCreated { by: Some(request.member().name.clone()) };
        transaction.insert_notice(member.id, &request.context.notice(event))?;
    }
    request.context.store().commit(transaction).await?;
    page(&request, Some((&member, &link)), &FormValues::default(), Vec::new()).await
}

/// Changes a member's role to owner or member. What only owners can give ends with the role.
pub(crate) async fn change_role(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let role = request.page.form().get("role").parse::<MemberRole>();
    let role = role.map_err(|message| Error::BadRequest(format!("The role {message}")))?;
    let (owner, member) = (acting_owner(&request).await?, find(&request).await?);
    if owner.id == member.id {
        return Ok(Alert::OwnRole.redirect_to(PATH));
    }
    let mut transaction = request.transaction();
    transaction.replace_member(&member, &member.clone().in_role(role))?;
    transaction.require_member(&owner);
    let event = NoticeEvent::RoleChanged { role, by: owner.name.clone() };
    transaction.insert_notice(member.id, &request.context.notice(event))?;
    let (organization, context) = (request.tenant().organization, &request.context);
    match role {
        MemberRole::Owner => context.store().commit(transaction).await?,
        MemberRole::Member => {
            membership::demote(context.store(), organization, member.id, transaction, context.now()).await?;
        }
    }
    Ok(Notice::RoleChanged.redirect_to(PATH))
}

/// Removes a member and revokes the access that the member has granted to applications. The form lists the API keys and the
/// webhook endpoints of the member, and those that are to stay.
pub(crate) async fn remove(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (owner, member) = (acting_owner(&request).await?, find(&request).await?);
    if owner.id == member.id {
        return Ok(Alert::OwnRole.redirect_to(PATH));
    }
    let (organization, context) = (request.tenant().organization, &request.context);
    let decide = |mode: Mode, id: Id| {
        if is_kept(&request, mode, id) { Decision::HandOver } else { Decision::End }
    };
    membership::remove(context.store(), organization, &member, Some(&owner), decide, context.now()).await?;
    Ok(Notice::MemberRemoved.redirect_to(PATH))
}

/// Removes another member's second factor and passkeys, which the member has lost.
pub(crate) async fn reset_second_factor(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (owner, member) = (acting_owner(&request).await?, find(&request).await?);
    if owner.id == member.id {
        return Ok(Reply::see_other(second_factor::PATH));
    }
    if member.has_second_factor() {
        let mut transaction = request.transaction();
        transaction.replace_member(&member, &member.clone().without_second_factor())?;
        transaction.require_member(&owner);
        let event = NoticeEvent::SecondFactorReset { by: Some(owner.name.clone()) };
        transaction.insert_notice(member.id, &request.context.notice(event))?;
        request.context.store().commit(transaction).await?;
    }
    Ok(Notice::SecondFactorReset.redirect_to(PATH))
}

/// Sets whether the organization requires a second factor of its members.
pub(crate) async fn require_second_factor(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let is_required = match request.page.form().get("required") {
        "yes" => true,
        "no" => false,
        _ => return Err(Error::BadRequest("The form must contain required: yes or no".to_owned())),
    };
    let owner = acting_owner(&request).await?;
    let mut transaction = request.transaction();
    transaction.put_second_factor_setting(is_required)?;
    transaction.require_member(&owner);
    request.context.store().commit(transaction).await?;
    Ok(Notice::SecondFactorRuleSaved.redirect_to(PATH))
}

/// Finds the member named in the path.
async fn find(request: &MemberRequest) -> Result<Member, Error> {
    let (organization, id) = (request.tenant().organization, request.context.id()?);
    request.context.store().find_member(organization, id).await?.ok_or(Error::NotFound)
}

/// Reads the signed-in member again. Fails if the member is no longer an owner.
///
/// Every change is conditional on the owner as read here, so two owners who remove each other at the same time cannot
/// both succeed.
pub(crate) async fn acting_owner(request: &MemberRequest) -> Result<Member, Error> {
    let (organization, id) = (request.tenant().organization, request.member().id);
    let member = request.context.store().find_member(organization, id).await?;
    member.filter(|member| member.role == MemberRole::Owner).ok_or(Error::OwnersOnly)
}

/// Returns the member with a new link, and the link's URL.
fn with_link(request: &MemberRequest, member: Member) -> (Member, String) {
    let (organization, context) = (request.tenant().organization, &request.context);
    let (base_url, keys) = (context.base_url(), context.credential_keys());
    membership::create_link(organization, member, base_url, keys, context.random(), context.now())
}

async fn page(
    request: &MemberRequest,
    link: Option<(&Member, &str)>,
    values: &FormValues<'_>,
    problems: Vec<Problem>,
) -> Result<Reply<Html>, Error> {
    let now = request.context.now();
    let members = request.context.store().list_members(request.tenant().organization).await?;
    let is_owner = request.member().role == MemberRole::Owner;
    let holdings = if is_owner { Holdings::find(request).await? } else { Holdings::default() };
    let zone = dates::zone(request);
    let rows = members.iter().map(|member| {
        let invitation = member.link.as_ref().filter(|link| member.is_invited() && now < link.expires_at);
        MemberRow {
            id: member.id.get(),
            name: member.name.as_str(),
            email: member.email.as_str(),
            role: member.role,
            state: if member.is_invited() { MemberState::Invited } else { MemberState::Active },
            invited_until: invitation.map(|link| zone.minute(link.expires_at)),
            has_second_factor: member.has_second_factor(),
            keys: holdings.keys_of(member.id),
            endpoints: holdings.endpoints_of(member.id, request.tenant().mode),
            for_owners: holdings.for_owners_of(member.id),
            is_self: member.id == request.member().id,
        }
    });
    let link = link.map(|(member, url)| NewLink {
        url,
        name: member.name.as_str(),
        email: member.email.as_str(),
        until: member.link.as_ref().map(|link| zone.minute(link.expires_at)),
    });
    // The script copies a new link.
    let sources = Sources { script: link.is_some(), ..Sources::default() };
    let page = MembersPage {
        layout: Layout::of(request, Section::Members),
        is_owner,
        requires_second_factor: request.requires_second_factor(),
        sign_in: format!("{}/dashboard/sign-in/{}", request.context.base_url(), request.organization().slug),
        members: rows.collect(),
        link,
        name: values.name,
        email: values.email,
        role: values.role.parse().unwrap_or(MemberRole::Member),
        problems,
        script_version: version_of(&SCRIPT),
    };
    Ok(Reply::page(&page)?.using(&sources))
}
