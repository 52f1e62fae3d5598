//! Settings > Account > Passkeys: adds a passkey.

use std::sync::Arc;

use askama::Template;
use shared::http::page::{Problem, Sources, problem_of, style_version};
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::model::{Name, NoticeEvent, Passkey};

use crate::ceremony::Ceremony;
use crate::messages::Failure;
use crate::relying_party::RelyingParty;
use crate::script;

pub(crate) const PATH: &str = "/dashboard/settings/account/passkeys";
const TOO_MANY: &str = "/dashboard/settings/account?failed=too-many-passkeys";

#[derive(Template)]
#[template(path = "add_passkey.html")]
struct AddPage<'p> {
    style_version: &'static str,
    script_version: &'static str,
    csrf: String,
    email: &'p str,
    ceremony: Ceremony,
    /// The name of the passkey.
    name: &'p str,
    /// The browser's answer, if only the name must be corrected.
    credential: &'p str,
    /// Why the last attempt failed.
    error: Option<&'static str>,
    /// Problems with the field `name`.
    problems: Vec<Problem>,
}

impl<'p> AddPage<'p> {
    fn of(request: &'p MemberRequest, ceremony: Ceremony, name: &'p str) -> Self {
        Self {
            style_version: style_version(),
            script_version: script::version(),
            csrf: request.csrf(),
            email: request.member().email.as_str(),
            ceremony,
            name,
            credential: "",
            error: None,
            problems: Vec::new(),
        }
    }

    fn reply(self) -> Result<Reply<Html>, Error> {
        Ok(Reply::page(&self)?.using(&Sources { script: true, ..Sources::default() }))
    }
}

/// Asks for a new passkey.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let context = &request.context;
    let party = RelyingParty::of(&request.page)?;
    if request.member().passkeys.is_full() {
        return Ok(Reply::see_other(TOO_MANY));
    }
    let challenge = party.creation(request.named_organization(), request.member(), context.random())?;
    let ceremony = Ceremony::begin(&request.page, challenge).await?;
    let error = Failure::from_word(context.query().get("failed")).map(Failure::sentence);
    let browser = context.device().browser;
    AddPage { error, ..AddPage::of(&request, ceremony, &browser) }.reply()
}

/// Adds the passkey that the browser has created. It also counts as the second factor of this session.
pub(crate) async fn create(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (form, context, organization) =
        (request.page.form(), &request.context, request.tenant().organization);
    let party = RelyingParty::of(&request.page)?;
    let (typed, credential) = (form.get("name"), form.get("credential"));
    let name = Name::parse(typed).and_then(|name| name.ok_or_else(|| "can't be blank".to_owned()));
    let name = match name {
        Ok(name) => name,
        Err(message) => {
            // The device has created the passkey, so its answer and the ceremony are kept.
            let ceremony = Ceremony { token: form.get("ceremony").to_owned(), options: "null".to_owned() };
            let problems = vec![Problem { field: "name", sentence: format!("The name {message}.") }];
            let page = AddPage { credential, problems, ..AddPage::of(&request, ceremony, typed) };
            return Ok(page.reply()?.with_status(422));
        }
    };
    let Some(state) = Ceremony::take(&request.page).await? else {
        return Ok(Failure::Expired.redirect_to(PATH, None));
    };
    let credential = match party.created(&state, credential) {
        Ok(credential) => credential,
        Err(failure) => return Ok(failure.redirect_to(PATH, None)),
    };
    let (store, now) = (context.store(), context.now());
    let member = store.find_member(organization, request.member().id).await?.ok_or(Error::NotFound)?;
    let (id, event) = (context.ids().next(), NoticeEvent::PasskeyAdded { name: name.clone() });
    let passkey = Passkey { id, name, credential, added_at: now, used_at: None };
    let Some(passkeys) = member.passkeys.clone().with(passkey) else { return Ok(Reply::see_other(TOO_MANY)) };
    let mut transaction = request.transaction();
    transaction.replace_member(&member, &member.clone().with_passkeys(passkeys))?;
    transaction.insert_notice(member.id, &context.notice(event))?;
    let session = request.session().clone().confirmed_with_passkey(now);
    transaction.replace_session(request.session_hash(), &session)?;
    store.commit(transaction).await?;
    Ok(Reply::see_other("/dashboard/settings/account?done=passkey-added"))
}
