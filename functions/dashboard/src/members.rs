//! Settings, Members: the organization's people. Owners invite them, give them links to new passwords, and remove them.

use std::sync::Arc;

use shared::http::page::Problem;
use shared::http::{Desk, Error, Page, Reply};
use shared::membership;
use shared::model::{Email, Member, MemberRole, Name};
use shared::store::Refusal;

use crate::frame::{done, failed, frame, minute, problem};
use crate::pages::{MadeLink, MemberRow, Members, Section};

const PATH: &str = "/dashboard/settings/members";

/// What the form holds.
#[derive(Default)]
struct Typed<'f> {
    name: &'f str,
    email: &'f str,
    role: &'f str,
}

/// Shows the members.
pub(crate) async fn list(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    page(&desk, None, &Typed::default(), Vec::new()).await
}

/// Invites somebody, and shows the link that makes the invitation good, once.
pub(crate) async fn invite(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let form = desk.form();
    let typed = Typed { name: form.get("name"), email: form.get("email").trim(), role: form.get("role") };
    let mut problems = Vec::new();
    let name = match Name::parse(typed.name) {
        Ok(Some(name)) => Some(name),
        Ok(None) => {
            problems.push(problem("name", "The name", "can't be blank"));
            None
        }
        Err(wrong) => {
            problems.push(problem("name", "The name", &wrong));
            None
        }
    };
    let email = typed.email.parse::<Email>().map_err(|wrong| problem("email", "The e-mail address", &wrong));
    let role = typed.role.parse::<MemberRole>().map_err(|wrong| problem("role", "The role", &wrong));
    let (email, role) = (noted(email, &mut problems), noted(role, &mut problems));
    let (Some(name), Some(email), Some(role)) = (name, email, role) else {
        return Ok(page(&desk, None, &typed, problems).await?.refused(422));
    };
    let new = Member::invited(desk.ids().next(), email, name, role, desk.now());
    let (new, link) = linked(&desk, new);
    let mut writes = desk.writes();
    writes.insert_member(&new)?;
    writes.require_member(desk.member());
    match desk.store().commit(writes).await {
        Ok(()) => page(&desk, Some((&new, &link)), &Typed::default(), Vec::new()).await,
        Err(Refusal::EmailTaken) => {
            let problems = vec![problem("email", "The e-mail address", "belongs to a member already")];
            Ok(page(&desk, None, &typed, problems).await?.refused(422))
        }
        Err(refusal) => Err(refusal.into()),
    }
}

/// Makes a link to a new password, in place of any before, and shows it, once.
pub(crate) async fn make_link(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let member = find(&desk).await?;
    let (member, link) = linked(&desk, member);
    let mut writes = desk.writes();
    writes.replace_member(&member)?;
    if member.id != desk.member().id {
        writes.require_member(desk.member());
    }
    desk.store().commit(writes).await?;
    page(&desk, Some((&member, &link)), &Typed::default(), Vec::new()).await
}

/// Makes a member an owner, or an owner a member.
pub(crate) async fn change_role(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let role = desk.form().get("role").parse::<MemberRole>();
    let role = role.map_err(|wrong| Error::BadRequest(format!("The role {wrong}")))?;
    let (acting, member) = (acting(&desk).await?, find(&desk).await?);
    if acting.id == member.id {
        return Ok(failed(PATH, "own-role"));
    }
    let mut writes = desk.writes();
    writes.replace_member(&member.in_role(role))?;
    writes.require_member(&acting);
    desk.store().commit(writes).await?;
    Ok(done(PATH, "role-changed"))
}

/// Removes a member, and takes back what the member has granted to applications.
pub(crate) async fn remove(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let (acting, member) = (acting(&desk).await?, find(&desk).await?);
    if acting.id == member.id {
        return Ok(failed(PATH, "own-role"));
    }
    let organization = desk.tenant().organization;
    membership::remove(desk.store(), organization, &member, Some(&acting), desk.now()).await?;
    Ok(done(PATH, "member-removed"))
}

/// The member in the path.
async fn find(desk: &Desk) -> Result<Member, Error> {
    desk.store().find_member(desk.tenant().organization, desk.id()?).await?.ok_or(Error::NotFound)
}

/// Who is signed in, as of now, still an owner: two owners who remove each other at once cannot both succeed, because each
/// removal requires the other owner as read.
async fn acting(desk: &Desk) -> Result<Member, Error> {
    let acting = desk.store().find_member(desk.tenant().organization, desk.member().id).await?;
    acting.filter(|member| member.role == MemberRole::Owner).ok_or(Error::OwnersOnly)
}

/// The member with a new link, and its address.
fn linked(desk: &Desk, member: Member) -> (Member, String) {
    membership::linked(desk.tenant().organization, member, desk.base_url(), desk.random(), desk.now())
}

fn noted<T>(read: Result<T, Problem>, problems: &mut Vec<Problem>) -> Option<T> {
    read.map_err(|problem| problems.push(problem)).ok()
}

async fn page(
    desk: &Desk,
    link: Option<(&Member, &str)>,
    typed: &Typed<'_>,
    problems: Vec<Problem>,
) -> Result<Reply<Page>, Error> {
    let now = desk.now();
    let members = desk.store().list_members(desk.tenant().organization).await?;
    let rows = members.iter().map(|member| {
        let invitation =
            member.link.as_ref().filter(|link| member.password.is_none() && now < link.expires_at);
        MemberRow {
            id: member.id.get(),
            name: member.name.as_str(),
            email: member.email.as_str(),
            role: member.role.as_str(),
            state: if member.password.is_some() { "active" } else { "invited" },
            invited_until: invitation.map(|link| minute(link.expires_at)),
            is_self: member.id == desk.member().id,
        }
    });
    let link = link.map(|(member, address)| MadeLink {
        address,
        name: member.name.as_str(),
        email: member.email.as_str(),
        until: member.link.as_ref().map(|link| minute(link.expires_at)).unwrap_or_default(),
    });
    Reply::page(&Members {
        frame: frame(desk, Section::Members),
        is_owner: desk.member().role == MemberRole::Owner,
        members: rows.collect(),
        link,
        name: typed.name,
        email: typed.email,
        role: typed.role,
        problems,
    })
}
