//! Settings, Integrations, API keys: those of the mode that is looked at are listed; either mode can be given one.

use std::sync::Arc;

use jiff::ToSpan;
use shared::auth::{Credential, Kind};
use shared::http::page::Problem;
use shared::http::{Desk, Error, Page, Reply};
use shared::model::{Day, Mode, Scope, Scopes, Tenant, Text};
use shared::store::{self, ApiKey, Denied, NewApiKey};

use crate::frame::{date, day, done, frame, problem};
use crate::pages::{ApiKeys, CreatedKey, KeyRow, ScopeChoice, Section};

const PATH: &str = "/dashboard/settings/integrations/api-keys";
/// How many are listed, and how many are read at once; of the older ones, those that are not revoked.
const LISTED: u32 = 100;
const MAX_DAYS: i64 = 3_660;

/// What the form holds.
struct Typed {
    name: String,
    mode: Mode,
    scopes: Scopes,
    expires_in_days: String,
}

impl Typed {
    /// An empty form: a key of the mode that is looked at, for everything.
    fn nothing(desk: &Desk) -> Self {
        let (scopes, expires_in_days) = (Scopes::all(), String::new());
        Self { name: String::new(), mode: desk.tenant().mode, scopes, expires_in_days }
    }
}

/// Shows the keys.
pub(crate) async fn list(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    page(&desk, &find(&desk).await?, None, &Typed::nothing(&desk), Vec::new())
}

/// Creates a key and shows it, once.
pub(crate) async fn create(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let form = desk.form();
    let typed = Typed {
        name: form.get("name").to_owned(),
        mode: Mode::ALL
            .into_iter()
            .find(|mode| mode.as_str() == form.get("mode"))
            .unwrap_or(desk.tenant().mode),
        scopes: form.all("scope").filter_map(|scope| scope.parse::<Scope>().ok()).collect(),
        expires_in_days: form.get("expires_in_days").trim().to_owned(),
    };
    let mut problems = Vec::new();
    let name = Text::<100>::parse(&typed.name).unwrap_or_else(|wrong| {
        problems.push(problem("name", "The name", &wrong));
        None
    });
    if name.is_none() && problems.is_empty() {
        problems.push(problem("name", "The name", "can't be blank"));
    }
    if typed.scopes.iter().next().is_none() {
        problems.push(problem("scope", "A key", "needs at least one scope"));
    }
    let days = match typed.expires_in_days.as_str() {
        "" => None,
        days => days.parse().ok().filter(|days| (1..=MAX_DAYS).contains(days)).or_else(|| {
            let what = format!("must be a whole number of days from 1 to {MAX_DAYS}, or blank");
            problems.push(problem("expires_in_days", "The expiry", &what));
            None
        }),
    };
    let (Some(name), true) = (name, problems.is_empty()) else {
        return Ok(page(&desk, &find(&desk).await?, None, &typed, problems)?.refused(422));
    };
    // First: once there is a key, nothing may fail before it was shown.
    let mut known = find(&desk).await?;
    let now = desk.now();
    let tenant = Tenant { mode: typed.mode, ..desk.tenant() };
    let credential = Credential::generate(Kind::ApiKey, tenant, desk.ids().next(), desk.random());
    let key = ApiKey {
        id: credential.id(),
        name: name.as_str().to_owned(),
        scopes: typed.scopes,
        created_at: now,
        expires_at: days.and_then(|days| now.checked_add((days * 24).hours()).ok()),
        revoked_at: None,
    };
    let new = NewApiKey { key, hash: credential.hash() };
    match desk.store().insert_api_key(tenant, &new).await {
        Ok(()) => {}
        Err(Denied::Failed(failure)) => return Err(failure.into()),
        Err(denied) => {
            let problems = vec![problem("name", "The key was not created:", &denied.to_string())];
            return Ok(page(&desk, &known, None, &typed, problems)?.refused(422));
        }
    }
    let is_listed = tenant == desk.tenant();
    if is_listed {
        known.insert(0, (new.key.clone(), None));
    }
    let created = CreatedKey {
        name: &new.key.name,
        mode: tenant.mode.as_str(),
        is_listed,
        secret: credential.reveal(),
    };
    page(&desk, &known, Some(created), &Typed::nothing(&desk), Vec::new())
}

/// Refuses a key from now on.
pub(crate) async fn revoke(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    match desk.store().revoke_api_key(desk.tenant(), desk.id()?, desk.now()).await {
        Ok(_) => Ok(done(PATH, "key-revoked")),
        Err(Denied::Failed(failure)) => Err(failure.into()),
        Err(_) => Err(Error::NotFound),
    }
}

/// A key, and the day on which it was last used.
type Known = (ApiKey, Option<Day>);

/// The keys of the mode that is looked at, newest first.
async fn find(desk: &Desk) -> Result<Vec<Known>, Error> {
    let store = desk.store();
    let mut found: Vec<ApiKey> = Vec::new();
    let mut page = store::Page { limit: LISTED, before: None };
    loop {
        let listed = store.list_api_keys(desk.tenant(), &page).await?;
        let is_first = found.is_empty();
        found.extend(listed.items.into_iter().filter(|key| is_first || key.revoked_at.is_none()));
        page.before = listed.next;
        if page.before.is_none() {
            break;
        }
    }
    let last_used = store.last_used(desk.tenant()).await?;
    let known = found.into_iter().map(|key| {
        let day = last_used(key.id);
        (key, day)
    });
    Ok(known.collect())
}

fn page(
    desk: &Desk,
    known: &[Known],
    created: Option<CreatedKey<'_>>,
    typed: &Typed,
    problems: Vec<Problem>,
) -> Result<Reply<Page>, Error> {
    let now = desk.now();
    let keys = known.iter().map(|(key, last_used)| KeyRow {
        id: key.id.get(),
        name: &key.name,
        scopes: key.scopes.iter().map(Scope::as_str).collect(),
        created: day(key.created_at),
        last_used: last_used.map(date),
        expires: key.expires_at.map(day),
        state: match key {
            ApiKey { revoked_at: Some(_), .. } => "revoked",
            ApiKey { expires_at: Some(expires_at), .. } if *expires_at <= now => "expired",
            _ => "active",
        },
    });
    let scopes = Scope::ALL.into_iter().map(|scope| ScopeChoice {
        value: scope.as_str(),
        words: scope.description(),
        is_ticked: typed.scopes.contains(scope),
    });
    Reply::page(&ApiKeys {
        frame: frame(desk, Section::ApiKeys),
        keys: keys.collect(),
        created,
        name: &typed.name,
        mode: typed.mode.as_str(),
        scopes: scopes.collect(),
        expires_in_days: &typed.expires_in_days,
        problems,
        base_url: desk.base_url(),
    })
}
