//! Settings > Integrations > API keys: lists the keys of the current mode, and creates keys of either mode.

use std::sync::Arc;

use askama::Template;
use jiff::ToSpan;
use shared::auth::{Credential, Kind};
use shared::http::page::{Problem, problem_of};
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::model::{Day, MemberRole, Mode, Scope, Scopes, Tenant, Text};
use shared::store::{ApiKey, NewApiKey, OrganizationError, Paging};

use crate::dates::{date, day};
use crate::form::{collect, problem, required};
use crate::layout::{Layout, Section};
use crate::messages::Notice;

const PATH: &str = "/dashboard/settings/integrations/api-keys";
/// The number of keys per read. The page lists the keys of the first read, and older keys that are not revoked.
const LISTED: u32 = 100;
/// The maximum lifetime of a key, in days.
const MAX_DAYS: i64 = 3_660;

#[derive(Template)]
#[template(path = "api_keys.html")]
struct ApiKeysPage<'p> {
    layout: Layout<'p>,
    /// The keys of the current mode, newest first.
    keys: Vec<KeyRow<'p>>,
    /// The key that was just created.
    created: Option<CreatedKey<'p>>,
    name: &'p str,
    mode: Mode,
    scopes: Vec<ScopeChoice>,
    expires_in_days: &'p str,
    /// Problems with the fields `name`, `scope` and `expires_in_days`.
    problems: Vec<Problem>,
    base_url: &'p str,
}

struct KeyRow<'p> {
    id: u64,
    name: &'p str,
    /// The prefix and the last four characters of the key.
    key: String,
    scopes: Vec<&'static str>,
    created: String,
    last_used: Option<String>,
    expires: Option<String>,
    state: KeyState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyState {
    Active,
    Expired,
    Revoked,
}

/// A new key, which is shown only once.
struct CreatedKey<'p> {
    name: &'p str,
    mode: Mode,
    /// Whether the list on the page contains it. The list contains only keys of the current mode.
    is_listed: bool,
    secret: &'p str,
}

/// A checkbox in the form.
struct ScopeChoice {
    value: &'static str,
    description: &'static str,
    is_checked: bool,
}

impl KeyState {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

/// The values in the form.
struct FormValues {
    name: String,
    mode: Mode,
    scopes: Scopes,
    expires_in_days: String,
}

impl FormValues {
    /// Returns the initial values: a key of the current mode with the default scopes.
    fn initial(request: &MemberRequest) -> Self {
        let (scopes, expires_in_days) = (Scopes::by_default(), String::new());
        Self { name: String::new(), mode: request.tenant().mode, scopes, expires_in_days }
    }

    /// Returns the submitted values.
    fn submitted(request: &MemberRequest) -> Self {
        let form = request.page.form();
        Self {
            name: form.get("name").to_owned(),
            mode: form.get("mode").parse().unwrap_or(request.tenant().mode),
            scopes: form.all("scope").filter_map(|scope| scope.parse::<Scope>().ok()).collect(),
            expires_in_days: form.get("expires_in_days").trim().to_owned(),
        }
    }

    /// Returns the number of days until the key expires; `None` if it never expires.
    fn days(&self) -> Result<Option<i64>, Problem> {
        if self.expires_in_days.is_empty() {
            return Ok(None);
        }
        let days = self.expires_in_days.parse().ok().filter(|days| (1..=MAX_DAYS).contains(days));
        let sentence = format!("Enter a whole number of days from 1 to {MAX_DAYS}, or leave it blank.");
        days.map(Some).ok_or(Problem { field: "expires_in_days", sentence })
    }
}

/// Shows the keys.
pub(crate) async fn list(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    page(&request, &find(&request).await?, None, &FormValues::initial(&request), Vec::new())
}

/// Creates a key and shows it once.
pub(crate) async fn create(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let values = FormValues::submitted(&request);
    let mut problems = Vec::new();
    let name = collect(required("name", "The name", Text::<100>::parse(&values.name)), &mut problems);
    if values.scopes.iter().next().is_none() {
        problems.push(Problem { field: "scope", sentence: "Select at least one permission.".to_owned() });
    }
    if values.scopes.contains(Scope::AuditRead) && request.member().role != MemberRole::Owner {
        let sentence = "Only owners can create keys that read the audit log.".to_owned();
        problems.push(Problem { field: "scope", sentence });
    }
    let days = collect(values.days(), &mut problems).flatten();
    let (Some(name), true) = (name, problems.is_empty()) else {
        return Ok(page(&request, &find(&request).await?, None, &values, problems)?.with_status(422));
    };
    // Read the list first: nothing may fail between creating the key and showing it.
    let mut listed = find(&request).await?;
    let now = request.context.now();
    let tenant = Tenant { mode: values.mode, ..request.tenant() };
    let id = request.context.ids().next();
    let credential = Credential::generate(Kind::ApiKey, tenant, id, request.context.random());
    let key = ApiKey {
        id: credential.id(),
        name: name.as_str().to_owned(),
        ending: credential.ending().to_owned(),
        scopes: values.scopes,
        created_at: now,
        expires_at: days.and_then(|days| now.checked_add((days * 24).hours()).ok()),
        revoked_at: None,
    };
    let new = NewApiKey { key, hash: credential.hash() };
    match request.context.store().insert_api_key(tenant, &new).await {
        Ok(()) => {}
        Err(OrganizationError::Store(error)) => return Err(error.into()),
        Err(error) => {
            let problems = vec![problem("name", "The key was not created:", &error.to_string())];
            return Ok(page(&request, &listed, None, &values, problems)?.with_status(422));
        }
    }
    let is_listed = tenant == request.tenant();
    if is_listed {
        listed.insert(0, (new.key.clone(), None));
    }
    let created =
        CreatedKey { name: &new.key.name, mode: tenant.mode, is_listed, secret: credential.reveal() };
    page(&request, &listed, Some(created), &FormValues::initial(&request), Vec::new())
}

/// Revokes a key.
pub(crate) async fn revoke(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let context = &request.context;
    match context.store().revoke_api_key(request.tenant(), context.id()?, context.now()).await {
        Ok(_) => Ok(Notice::KeyRevoked.redirect_to(PATH)),
        Err(OrganizationError::Store(error)) => Err(error.into()),
        Err(_) => Err(Error::NotFound),
    }
}

/// A key and the day of its last use.
type ListedKey = (ApiKey, Option<Day>);

/// Reads the keys of the current mode, newest first.
async fn find(request: &MemberRequest) -> Result<Vec<ListedKey>, Error> {
    let store = request.context.store();
    let mut found: Vec<ApiKey> = Vec::new();
    let mut paging = Paging { limit: LISTED, before: None };
    loop {
        let page = store.list_api_keys(request.tenant(), &paging).await?;
        let is_first = found.is_empty();
        found.extend(page.items.into_iter().filter(|key| is_first || key.revoked_at.is_none()));
        paging.before = page.next;
        if paging.before.is_none() {
            break;
        }
    }
    let last_used = store.get_last_used_days(request.tenant()).await?;
    let listed = found.into_iter().map(|key| {
        let day = last_used(key.id);
        (key, day)
    });
    Ok(listed.collect())
}

fn page(
    request: &MemberRequest,
    listed: &[ListedKey],
    created: Option<CreatedKey<'_>>,
    values: &FormValues,
    problems: Vec<Problem>,
) -> Result<Reply<Html>, Error> {
    let now = request.context.now();
    let mode = request.tenant().mode.as_str();
    let keys = listed.iter().map(|(key, last_used)| KeyRow {
        id: key.id.get(),
        name: &key.name,
        key: format!("rc_{mode}_…{}", key.ending),
        scopes: key.scopes.iter().map(Scope::as_str).collect(),
        created: day(key.created_at),
        last_used: last_used.map(date),
        expires: key.expires_at.map(day),
        state: match key {
            ApiKey { revoked_at: Some(_), .. } => KeyState::Revoked,
            ApiKey { expires_at: Some(expires_at), .. } if *expires_at <= now => KeyState::Expired,
            _ => KeyState::Active,
        },
    });
    let scopes = Scope::ALL.into_iter().map(|scope| ScopeChoice {
        value: scope.as_str(),
        description: scope.description(),
        is_checked: values.scopes.contains(scope),
    });
    Reply::page(&ApiKeysPage {
        layout: Layout::of(request, Section::ApiKeys),
        keys: keys.collect(),
        created,
        name: &values.name,
        mode: values.mode,
        scopes: scopes.collect(),
        expires_in_days: &values.expires_in_days,
        problems,
        base_url: request.context.base_url(),
    })
}
