//! Settings > Account: the password, the passkeys, the sessions, and the choice between live and test data.

use std::sync::Arc;

use askama::Template;
use shared::http::page::{Problem, Sources, problem_of, version_of};
use shared::http::{Error, Html, MemberRequest, Reply, return_to};
use shared::model::{Member, Mode, NoticeEvent, Session, TimeZoneName};
use shared::services::membership;

use crate::attempts::too_many_passwords;
use crate::confirm::PasswordCheck;
use crate::dates::{self, Time};
use crate::form::problem;
use crate::layout::{Layout, SCRIPT, Section};
use crate::messages::{Alert, Notice};
use crate::sign_in::new_password;

pub(crate) const PATH: &str = "/dashboard/settings/account";

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage<'p> {
    layout: Layout<'p>,
    email: &'p str,
    /// Whether the member has an authenticator app.
    has_second_factor: bool,
    /// Whether the service offers passkeys at this address.
    offers_passkeys: bool,
    /// Whether there is room for another passkey.
    has_room: bool,
    /// The passkeys, oldest first.
    passkeys: Vec<PasskeyRow<'p>>,
    /// The valid sessions, newest first.
    sessions: Vec<SessionRow<'p>>,
    /// The member's time zone.
    time_zone: &'p TimeZoneName,
    /// The time zones to choose from.
    time_zones: Vec<TimeZoneName>,
    /// Problems with the fields `current`, `password` and `repeated`.
    problems: Vec<Problem>,
    /// The version in the script's URL.
    script_version: String,
}

struct PasskeyRow<'p> {
    id: u64,
    name: &'p str,
    added: Time,
    /// When the member last signed in with it.
    used: Option<Time>,
}

struct SessionRow<'p> {
    hash: &'p str,
    browser: &'p str,
    network: &'p str,
    created: Time,
    seen: Time,
    is_current: bool,
}

/// Shows the account.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    page(&request, Vec::new()).await
}

async fn page(request: &MemberRequest, problems: Vec<Problem>) -> Result<Reply<Html>, Error> {
    let (organization, store) = (request.tenant().organization, request.context.store());
    let sessions = store.list_sessions(organization, request.member(), request.context.now()).await?;
    let zone = dates::zone(request);
    let rows = sessions.iter().map(|(hash, session)| SessionRow {
        hash,
        browser: &session.device.browser,
        network: &session.device.network,
        created: zone.minute(session.created_at),
        seen: zone.minute(session.seen_at),
        is_current: hash == request.session_hash(),
    });
    let member = request.member();
    let passkeys = member.passkeys.iter().map(|passkey| PasskeyRow {
        id: passkey.id.get(),
        name: passkey.name.as_str(),
        added: zone.day(passkey.added_at),
        used: passkey.used_at.map(|used| zone.minute(used)),
    });
    let page = AccountPage {
        layout: Layout::of(request, Section::Account),
        email: member.email.as_str(),
        has_second_factor: member.second_factor.is_some(),
        offers_passkeys: request.page.passkey_origin().is_some(),
        has_room: !member.passkeys.is_full(),
        passkeys: passkeys.collect(),
        sessions: rows.collect(),
        time_zone: &member.time_zone,
        time_zones: TimeZoneName::choices(),
        problems,
        script_version: version_of(&SCRIPT),
    };
    // The script proposes the browser's time zone.
    let sources = Sources { script: member.time_zone.is_utc(), ..Sources::default() };
    Ok(Reply::page(&page)?.using(&sources))
}

/// Changes the password. Every session ends, and this browser gets a new one.
pub(crate) async fn change_password(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (form, organization) = (request.page.form(), request.tenant().organization);
    let member = match PasswordCheck::of(&request, form.get("current")).await? {
        PasswordCheck::TooMany(seconds) => {
            let problems = vec![Problem { field: "current", sentence: too_many_passwords(seconds) }];
            let reply = page(&request, problems).await?.with_status(429);
            return Ok(reply.with("retry-after", seconds.to_string()));
        }
        PasswordCheck::Wrong => {
            let problems = vec![problem("current", "The current password", "is incorrect")];
            return Ok(page(&request, problems).await?.with_status(422));
        }
        PasswordCheck::Correct(member) => member,
    };
    match new_password(&request.context, form.get("password"), form.get("repeated"), &member.email) {
        Err(problem) => Ok(page(&request, vec![problem]).await?.with_status(422)),
        Ok(password) => {
            let changed = member.clone().with_password(password);
            let mut transaction = request.transaction();
            transaction.replace_member(&member, &changed)?;
            transaction.insert_notice(member.id, &request.context.notice(NoticeEvent::PasswordChanged))?;
            let reply = Notice::PasswordChanged.redirect_to(PATH);
            let method = request.session().method;
            request.page.sign_in(organization, &changed, method, transaction, reply).await
        }
    }
}

/// Removes a passkey, unless it is the only second factor and the organization requires one.
pub(crate) async fn remove_passkey(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (organization, store, id) =
        (request.tenant().organization, request.context.store(), request.context.id()?);
    let member = store.find_member(organization, request.member().id).await?.ok_or(Error::NotFound)?;
    let name = member.passkeys.find(id).ok_or(Error::NotFound)?.name.clone();
    let after = member.clone().with_passkeys(member.passkeys.clone().without(id));
    if request.requires_second_factor() && !after.has_second_factor() {
        return Ok(Alert::SecondFactorRequired.redirect_to(PATH));
    }
    let mut transaction = request.transaction();
    transaction.replace_member(&member, &after)?;
    let notice = request.context.notice(NoticeEvent::PasskeyRemoved { name });
    transaction.insert_notice(member.id, &notice)?;
    store.commit(transaction).await?;
    Ok(Notice::PasskeyRemoved.redirect_to(PATH))
}

/// Changes the time zone of all times on the pages.
pub(crate) async fn change_time_zone(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let time_zone = request.page.form().get("time_zone").parse::<TimeZoneName>();
    let time_zone = time_zone.map_err(|_| {
        Error::BadRequest(
            "The form must name a time zone that the page offers, such as Europe/Berlin".to_owned(),
        )
    })?;
    change(&request, |member| member.in_time_zone(time_zone)).await?;
    Ok(Notice::TimeZoneSaved.redirect_to(PATH))
}

/// Turns the keyboard shortcuts on or off.
pub(crate) async fn change_shortcuts(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let are_on = match request.page.form().get("shortcuts") {
        "on" => true,
        "off" => false,
        _ => return Err(Error::BadRequest("The form must turn the shortcuts on or off".to_owned())),
    };
    change(&request, |member| member.with_shortcuts(are_on)).await?;
    Ok(Notice::ShortcutsSaved.redirect_to(PATH))
}

async fn change(request: &MemberRequest, changed: impl FnOnce(Member) -> Member) -> Result<(), Error> {
    let (organization, store) = (request.tenant().organization, request.context.store());
    let member = store.find_member(organization, request.member().id).await?.ok_or(Error::NotFound)?;
    let mut transaction = request.transaction();
    transaction.replace_member(&member, &changed(member.clone()))?;
    Ok(store.commit(transaction).await?)
}

/// Ends one session of the member.
pub(crate) async fn end_session(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let hash = request.page.form().get("session");
    if hash == request.session_hash() {
        return request.sign_out(Notice::SignedOut.redirect_to("/dashboard/sign-in")).await;
    }
    // A session's hash is shorter. DynamoDB refuses an empty range key, and one of more than 1,024 bytes.
    if hash.is_empty() || hash.len() > 64 {
        return Err(Error::BadRequest("The form must name the session to end".to_owned()));
    }
    let mut transaction = request.transaction();
    transaction.end_session(hash, request.member());
    request.context.store().commit(transaction).await?;
    Ok(Notice::SessionEnded.redirect_to(PATH))
}

/// Ends every session of the member except this one.
pub(crate) async fn end_other_sessions(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (organization, store) = (request.tenant().organization, request.context.store());
    let member = store.find_member(organization, request.member().id).await?.ok_or(Error::NotFound)?;
    let after = member.clone().signed_out();
    let session = Session { epoch: after.epoch, ..request.session().clone() };
    let mut transaction = request.transaction();
    transaction.replace_member(&member, &after)?;
    transaction.replace_session(request.session_hash(), &session)?;
    store.commit(transaction).await?;
    Ok(Notice::OtherSessionsEnded.redirect_to(PATH))
}

/// Ends every session of the member, including this one, and disconnects the member's applications.
pub(crate) async fn sign_out_everywhere(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (organization, store, now) =
        (request.tenant().organization, request.context.store(), request.context.now());
    let member = store.find_member(organization, request.member().id).await?.ok_or(Error::NotFound)?;
    let mut transaction = request.transaction();
    transaction.replace_member(&member, &member.clone().signed_out())?;
    membership::end_access(store, organization, &member, transaction, now).await?;
    request.sign_out(Notice::SignedOut.redirect_to("/dashboard/sign-in")).await
}

/// Switches this session to live or test data.
pub(crate) async fn switch_mode(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let mode = request.page.form().get("mode").parse::<Mode>();
    let mode = mode.map_err(|_| Error::BadRequest("The mode must be live or test".to_owned()))?;
    let session = Session { mode, seen_at: request.context.now(), ..request.session().clone() };
    request.replace_session(&session).await?;
    Ok(Reply::see_other(return_to(request.page.form().get("return_to"))))
}
