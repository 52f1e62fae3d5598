//! Settings > Integrations > API keys: lists the keys of the current mode, and creates keys of either mode.

use std::sync::Arc;

use askama::Template;
use jiff::{SignedDuration, ToSpan};
use shared::auth::{Claims, Credential, Kind};
use shared::clock::{Timestamp, later};
use shared::http::page::{Problem, Sources, problem_of, version_of};
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::id::Id;
use shared::model::{
    AuditActorKind, AuditActorTerm, Member, MemberRole, Mode, Networks, NoticeEvent, Scope, Scopes, Tenant,
    Text, WebhookEndpoint,
};
use shared::services::webhooks::disable_endpoints_of;
use shared::store::{ApiKey, OrganizationError, Paging, Transaction};

use crate::dates::{self, Time, date};
use crate::form::{collect, problem, required};
use crate::holdings::{EndingEndpoint, is_kept};
use crate::layout::{Layout, SCRIPT, Section};
use crate::messages::{Alert, Notice};

pub(crate) const PATH: &str = "/dashboard/settings/integrations/api-keys";
/// The number of keys per read. The page lists the keys of the first read, and older keys that are not revoked.
const LISTED: u32 = 100;
/// The lifetime that the form proposes, in days.
const PROPOSED_DAYS: &str = "365";
/// The times for which a replaced key can stay valid, in hours.
const OVERLAPS: [i64; 3] = [1, 24, 168];
/// The maximum lifetime of a key, in days.
const MAX_DAYS: i64 = 3_660;

/// A set of permissions for a purpose, which the form begins with.
struct Preset {
    /// The value in the address.
    word: &'static str,
    label: &'static str,
    scopes: &'static [Scope],
}

/// The sets of permissions to begin with. The form begins with the first one.
const PRESETS: [Preset; 4] = [
    Preset {
        word: "read",
        label: "Read only",
        scopes: &[
            Scope::RolesRead,
            Scope::CandidatesRead,
            Scope::VoiceScreensRead,
            Scope::ChannelsRead,
            Scope::OrganizationRead,
        ],
    },
    Preset {
        word: "recruiting",
        label: "Recruiting tool",
        scopes: &[
            Scope::RolesRead,
            Scope::RolesWrite,
            Scope::CandidatesRead,
            Scope::CandidatesWrite,
            Scope::VoiceScreensRead,
        ],
    },
    Preset { word: "job-board", label: "Job board", scopes: &[Scope::RolesRead, Scope::CandidatesWrite] },
    Preset { word: "everything", label: "Everything", scopes: &Scope::ALL },
];

/// A request that a key with a scope can make.
struct Example {
    scope: Scope,
    path: &'static str,
    /// The JSON body of a POST.
    body: Option<&'static str>,
}

/// Requests for new keys. A page shows the first one that the key can make. The other scopes only allow requests about
/// something that exists.
const EXAMPLES: [Example; 10] = [
    Example { scope: Scope::OrganizationRead, path: "/api/v1/organization", body: None },
    Example { scope: Scope::RolesRead, path: "/api/v1/roles", body: None },
    Example { scope: Scope::CandidatesRead, path: "/api/v1/candidates", body: None },
    Example { scope: Scope::VoiceScreensRead, path: "/api/v1/voice_screens", body: None },
    Example { scope: Scope::ChannelsRead, path: "/api/v1/channels", body: None },
    Example { scope: Scope::AuditRead, path: "/api/v1/audit_log", body: None },
    Example { scope: Scope::EventsRead, path: "/api/v1/events", body: None },
    Example { scope: Scope::DataImport, path: "/api/v1/imports", body: None },
    Example { scope: Scope::RolesWrite, path: "/api/v1/roles", body: Some(r#"{"title": "Line Cook"}"#) },
    Example {
        scope: Scope::CandidatesWrite,
        path: "/api/v1/candidates",
        body: Some(r#"{"name": "Ada Byron", "email": "ada@example.com"}"#),
    },
];

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
    /// The preset whose permissions are ticked.
    preset: &'p str,
    expires_in_days: &'p str,
    networks: &'p str,
    /// Problems with the fields `name`, `scope`, `expires_in_days` and `networks`, and with a `rotation`.
    problems: Vec<Problem>,
    base_url: &'p str,
    /// The version in the script's URL.
    script_version: String,
}

struct KeyRow<'p> {
    id: u64,
    name: &'p str,
    /// The prefix and the last four characters of the key.
    key: String,
    scopes: Vec<&'static str>,
    created: Time,
    /// The name of the member who created it.
    created_by: Option<&'p str>,
    /// The networks from which it may be used, if they are restricted.
    networks: Option<String>,
    last_used: Option<String>,
    expires: Option<Time>,
    /// When it ends, because another key replaces it.
    ends: Option<Time>,
    state: KeyState,
    /// Whether the member may replace it by a new key.
    may_be_rotated: bool,
    /// The webhook endpoints that are disabled with it.
    endpoints: Vec<EndingEndpoint<'p>>,
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
    /// A request that the key can make.
    example: Option<&'static Example>,
}

/// A checkbox in the form.
struct ScopeChoice {
    value: &'static str,
    description: &'static str,
    is_checked: bool,
}

impl KeyState {
    fn of(key: &ApiKey, now: Timestamp) -> Self {
        match key {
            ApiKey { revoked_at: Some(_), .. } => Self::Revoked,
            ApiKey { expires_at: Some(expires_at), .. } if *expires_at <= now => Self::Expired,
            _ => Self::Active,
        }
    }

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
    networks: String,
}

impl FormValues {
    /// Returns the initial values: a key of the current mode with the scopes of a preset that expires in a year.
    fn initial(request: &MemberRequest) -> Self {
        Self {
            name: String::new(),
            mode: request.tenant().mode,
            scopes: preset(request).filter(|scope| may_give(request, *scope)).collect(),
            expires_in_days: PROPOSED_DAYS.to_owned(),
            networks: String::new(),
        }
    }

    /// Returns the submitted values.
    fn submitted(request: &MemberRequest) -> Self {
        let form = request.page.form();
        Self {
            name: form.get("name").to_owned(),
            mode: form.get("mode").parse().unwrap_or(request.tenant().mode),
            scopes: form.all("scope").filter_map(|scope| scope.parse::<Scope>().ok()).collect(),
            expires_in_days: form.get("expires_in_days").trim().to_owned(),
            networks: form.get("networks").to_owned(),
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

/// The scopes of the preset that the address names, or of the first one.
fn preset(request: &MemberRequest) -> impl Iterator<Item = Scope> {
    let word = request.context.query().get("preset").to_owned();
    let preset = PRESETS.iter().find(|preset| preset.word == word).unwrap_or(&PRESETS[0]);
    preset.scopes.iter().copied()
}

/// A request that a key with these scopes can make.
fn example(scopes: Scopes) -> Option<&'static Example> {
    EXAMPLES.iter().find(|example| scopes.contains(example.scope))
}

/// The scopes that the member may not give to a key.
fn not_given_by(request: &MemberRequest, scopes: Scopes) -> Scopes {
    scopes.iter().filter(|scope| !may_give(request, *scope)).collect()
}

fn may_give(request: &MemberRequest, scope: Scope) -> bool {
    request.member().role == MemberRole::Owner || !scope.is_for_owners()
}

/// Shows the keys.
pub(crate) async fn list(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    page(&request, &Listed::find(&request).await?, None, &FormValues::initial(&request), Vec::new())
}

/// Creates a key and shows it once. A form that is sent again creates nothing, and leads to the list.
pub(crate) async fn create(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let values = FormValues::submitted(&request);
    let mut problems = Vec::new();
    let name = collect(required("name", "The name", Text::<100>::parse(&values.name)), &mut problems);
    if values.scopes.iter().next().is_none() {
        problems.push(Problem { field: "scope", sentence: "Select at least one permission.".to_owned() });
    }
    let withheld = not_given_by(&request, values.scopes);
    if !withheld.is_empty() {
        let names = withheld.iter().map(Scope::as_str).collect::<Vec<_>>().join(" and ");
        let sentence = format!("Only owners can create keys with {names}.");
        problems.push(Problem { field: "scope", sentence });
    }
    let days = collect(values.days(), &mut problems).flatten();
    let networks = Networks::parse(&values.networks).map_err(|sentence| Problem {
        field: "networks",
        sentence: format!("The networks are invalid: {sentence}."),
    });
    let networks = collect(networks, &mut problems).unwrap_or_default();
    let (Some(name), true) = (name, problems.is_empty()) else {
        return Ok(page(&request, &Listed::find(&request).await?, None, &values, problems)?.with_status(422));
    };
    // Read the list first: nothing may fail between creating the key and showing it.
    let mut listed = Listed::find(&request).await?;
    let now = request.context.now();
    let tenant = Tenant { mode: values.mode, ..request.tenant() };
    let id = request.context.ids().next();
    let expires_at = days.and_then(|days| now.checked_add((days * 24).hours()).ok());
    let access = Claims { scopes: values.scopes, expires_at, ..Claims::default() };
    let (keys, random) = (request.context.credential_keys(), request.context.random());
    let credential = Credential::generate(Kind::ApiKey, tenant, id, access, keys, random);
    let key = ApiKey {
        created_by: Some(request.member().id),
        networks,
        ..credential.api_key(name.as_str().to_owned(), now)
    };
    let mut transaction = Transaction::new(tenant);
    let event = NoticeEvent::KeyCreated { name: key.name.clone() };
    transaction.insert_notice(request.member().id, &request.context.notice(event))?;
    // Nobody makes a key while losing the role that it needs.
    transaction.require_member(request.member());
    request.commit_only_once(&mut transaction)?;
    match request.context.store().insert_api_key(transaction, &key).await {
        Ok(()) => {}
        Err(OrganizationError::Repeated) => return Ok(Alert::KeyShownOnce.redirect_to(PATH)),
        Err(OrganizationError::Store(error)) => return Err(error.into()),
        Err(error) => {
            let problems = vec![problem("name", "The key was not created:", &error.to_string())];
            return Ok(page(&request, &listed, None, &values, problems)?.with_status(422));
        }
    }
    let is_listed = tenant == request.tenant();
    if is_listed {
        listed.keys.insert(0, key.clone());
    }
    let created = CreatedKey {
        name: &key.name,
        mode: tenant.mode,
        is_listed,
        secret: credential.reveal(),
        example: example(key.scopes),
    };
    page(&request, &listed, Some(created), &FormValues::initial(&request), Vec::new())
}

/// Creates a key that replaces another one and shows it once. The replaced key stays valid for the chosen time.
pub(crate) async fn rotate(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (context, tenant) = (&request.context, request.tenant());
    let hours = request.page.form().get("overlap").parse().ok().filter(|hours| OVERLAPS.contains(hours));
    let hours =
        hours.ok_or_else(|| Error::BadRequest("The overlap must be 1, 24 or 168 hours".to_owned()))?;
    let replaced = context.store().find_api_key(tenant, context.id()?).await?.ok_or(Error::NotFound)?;
    // Whoever rotates a key gets its permissions.
    if !not_given_by(&request, replaced.scopes).is_empty() {
        return Err(Error::OwnersOnly);
    }
    let mut listed = Listed::find(&request).await?;
    let (id, now) = (context.ids().next(), context.now());
    let (keys, random) = (context.credential_keys(), context.random());
    let (credential, key) = Credential::replace_key(&replaced, tenant, id, keys, random, now);
    let key = ApiKey { created_by: Some(request.member().id), ..key };
    let ends_at = later(now, SignedDuration::from_hours(hours));
    let initial = FormValues::initial(&request);
    let mut transaction = Transaction::new(tenant);
    let event = NoticeEvent::KeyCreated { name: key.name.clone() };
    transaction.insert_notice(request.member().id, &context.notice(event))?;
    transaction.require_member(request.member());
    transaction.end_replaced_key(replaced.id, ends_at)?;
    match context.store().insert_api_key(transaction, &key).await {
        Ok(()) => {}
        Err(OrganizationError::Store(error)) => return Err(error.into()),
        Err(error) => {
            let problems = vec![problem("rotation", "The key was not rotated:", &error.to_string())];
            return Ok(page(&request, &listed, None, &initial, problems)?.with_status(422));
        }
    }
    for old in listed.keys.iter_mut().filter(|old| old.id == replaced.id) {
        old.ends_at = Some(ends_at);
    }
    listed.keys.insert(0, key.clone());
    let secret = credential.reveal();
    let example = example(key.scopes);
    let created = CreatedKey { name: &key.name, mode: tenant.mode, is_listed: true, secret, example };
    page(&request, &listed, Some(created), &initial, Vec::new())
}

/// Revokes a key, and disables the webhook endpoints whose URLs it has chosen, unless the form says that they stay.
pub(crate) async fn revoke(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (context, tenant, id) = (&request.context, request.tenant(), request.context.id()?);
    match context.store().revoke_api_key(tenant, id, context.now()).await {
        Ok(_) => {}
        Err(OrganizationError::Store(error)) => return Err(error.into()),
        Err(_) => return Err(Error::NotFound),
    }
    let is_kept = |endpoint| is_kept(&request, tenant.mode, endpoint);
    disable_endpoints_of(context.store(), tenant, key_term(id), is_kept, context.now()).await?;
    Ok(Notice::KeyRevoked.redirect_to(PATH))
}

const fn key_term(id: Id) -> AuditActorTerm {
    AuditActorTerm { kind: AuditActorKind::ApiKey, id: Some(id) }
}

/// What the page lists.
struct Listed {
    /// The keys of the current mode, newest first.
    keys: Vec<ApiKey>,
    members: Vec<Member>,
    /// The webhook endpoints of the current mode.
    endpoints: Vec<WebhookEndpoint>,
}

impl Listed {
    async fn find(request: &MemberRequest) -> Result<Self, Error> {
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
        let members = store.list_members(request.tenant().organization).await?;
        let endpoints = store.list_all_webhook_endpoints(request.tenant()).await?;
        Ok(Self { keys: found, members, endpoints })
    }
}

fn page(
    request: &MemberRequest,
    listed: &Listed,
    created: Option<CreatedKey<'_>>,
    values: &FormValues,
    problems: Vec<Problem>,
) -> Result<Reply<Html>, Error> {
    let now = request.context.now();
    let mode = request.tenant().mode.as_str();
    let creator = |id: Id| {
        let member = listed.members.iter().find(|member| member.id == id);
        member.map_or("a former member", |member| member.name.as_str())
    };
    let zone = dates::zone(request);
    let keys = listed.keys.iter().map(|key| {
        let state = KeyState::of(key, now);
        KeyRow {
            id: key.id.get(),
            name: &key.name,
            key: format!("rc_{mode}_…{}", key.ending),
            scopes: key.scopes.iter().map(Scope::as_str).collect(),
            created: zone.day(key.created_at),
            created_by: key.created_by.map(creator),
            networks: (!key.networks.are_unrestricted()).then(|| key.networks.to_string()),
            last_used: key.last_used_on.map(date),
            expires: key.expires_at.map(|time| zone.day(time)),
            ends: key.ends_at.filter(|_| key.revoked_at.is_none()).map(|time| zone.minute(time)),
            state,
            may_be_rotated: state == KeyState::Active
                && key.ends_at.is_none()
                && not_given_by(request, key.scopes).is_empty(),
            endpoints: EndingEndpoint::chosen_by(request, &listed.endpoints, key_term(key.id)),
        }
    });
    let is_ticked = |preset: &&Preset| {
        let scopes = preset.scopes.iter().copied();
        scopes.filter(|scope| may_give(request, *scope)).collect::<Scopes>() == values.scopes
    };
    let scopes = Scope::ALL.into_iter().map(|scope| ScopeChoice {
        value: scope.as_str(),
        description: scope.description(),
        is_checked: values.scopes.contains(scope),
    });
    let sources = Sources { script: created.is_some(), ..Sources::default() };
    let page = Reply::page(&ApiKeysPage {
        layout: Layout::of(request, Section::ApiKeys),
        keys: keys.collect(),
        created,
        name: &values.name,
        mode: values.mode,
        scopes: scopes.collect(),
        preset: PRESETS.iter().find(is_ticked).map_or("", |preset| preset.word),
        expires_in_days: &values.expires_in_days,
        networks: &values.networks,
        problems,
        base_url: request.context.base_url(),
        script_version: version_of(&SCRIPT),
    })?;
    Ok(page.using(&sources))
}
