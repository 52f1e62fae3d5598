//! A browser at the dashboard: it keeps the one cookie, sends forms as it was given them, and follows nothing by itself.

use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use http::Method;
use rolecall_local::demo::DEMOS;
use shared::auth::{Credential, Kind};
use shared::http::{Environment, audience};
use shared::id::Id;
use shared::model::{
    Code, Email, Grant, Member, MemberRole, Mode, Scopes, Session, Tenant, Text, TokenSet, challenge,
};
use shared::store::{NewAccess, Writes};
use url::form_urlencoded;

use crate::{Answer, Ask, BASE_URL, LOOPBACK, World, tenant};

/// The cookie's name.
pub const COOKIE: &str = "__Host-rolecall";
/// The type of a form.
pub const FORM: &str = "application/x-www-form-urlencoded";

/// Somebody's browser.
pub struct Browser<'w> {
    world: &'w World,
    source: IpAddr,
    state: Mutex<State>,
}

#[derive(Clone, Default)]
struct State {
    cookie: Option<String>,
    /// What the forms carry that it was given with this cookie.
    csrf: Option<String>,
}

impl<'w> Browser<'w> {
    /// A browser that has never been here.
    pub fn new(world: &'w World) -> Self {
        Self { world, source: LOOPBACK, state: Mutex::default() }
    }

    /// A browser that has this cookie.
    pub fn with_cookie(world: &'w World, cookie: &str) -> Self {
        let state = State { cookie: Some(cookie.to_owned()), csrf: None };
        Self { state: Mutex::new(state), ..Self::new(world) }
    }

    /// The same browser at another address.
    #[must_use]
    pub fn at(self, source: [u8; 4]) -> Self {
        Self { source: source.into(), ..self }
    }

    /// The browser of a demonstration organization's member, who has signed in as people do.
    pub async fn sign_in(world: &'w World, demo: usize) -> Self {
        let browser = Self::new(world);
        browser.enter(DEMOS[demo].email, DEMOS[demo].password).await.expect(303);
        browser
    }

    /// The browser of a member with a new session, without the work of a password.
    pub async fn of(world: &'w World, demo: usize, member: &Member) -> Self {
        let (live, random) = (tenant(demo, Mode::Live), &world.environment.random);
        let session = Credential::generate(Kind::Session, live, member.id, random);
        let mut writes = Writes::new(live);
        let now = world.environment.clock.now();
        writes.insert_session(&session.hash(), &Session::begin(member, now)).expect("a session");
        world.store().commit(writes).await.expect("a session");
        Self::with_cookie(world, session.reveal())
    }

    /// Sends the sign-in form.
    pub async fn enter(&self, email: &str, password: &str) -> Answer {
        self.post("/dashboard/sign-in", &[("email", email), ("password", password)]).await
    }

    /// The cookie's value; empty where there is none.
    pub fn cookie(&self) -> String {
        self.state.lock().expect("no poison").cookie.clone().unwrap_or_default()
    }

    /// A request with the cookie, and with nothing else.
    pub fn ask(&self, method: Method, path: &str) -> Ask<'w> {
        let ask = self.world.request(method, path).anonymous().from(&self.source.to_string());
        match &self.state.lock().expect("no poison").cookie {
            Some(cookie) => ask.header("cookie", &format!("{COOKIE}={cookie}")),
            None => ask,
        }
    }

    /// Opens a page.
    pub async fn get(&self, path: &str) -> Answer {
        self.learn(self.ask(Method::GET, path).send().await)
    }

    /// Goes where an answer leads.
    pub async fn follow(&self, answer: &Answer) -> Answer {
        self.get(answer.header("location")).await
    }

    /// Sends a form that it was given, with these fields.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let csrf = self.csrf().await;
        self.send(path, &[&[("csrf", csrf.as_str())], fields].concat()).await
    }

    /// Sends these fields, and no others.
    pub async fn send(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.learn(self.ask(Method::POST, path).body(FORM, form(fields)).send().await)
    }

    /// What the forms of this browser carry.
    pub async fn csrf(&self) -> String {
        let known = self.state.lock().expect("no poison").csrf.clone();
        if let Some(csrf) = known {
            return csrf;
        }
        for page in ["/dashboard/sign-in", "/dashboard/settings/account"] {
            let answer = self.get(page).await;
            if answer.status == 200 {
                return input(&answer, "csrf");
            }
        }
        panic!("no page has a form");
    }

    fn learn(&self, answer: Answer) -> Answer {
        let mut state = self.state.lock().expect("no poison");
        if let Some(cookie) = answer.headers.get("set-cookie") {
            let cookie = cookie.to_str().expect("a cookie").strip_prefix(COOKIE).expect("the one cookie");
            let value = cookie.strip_prefix('=').and_then(|rest| rest.split(';').next()).expect("a value");
            let cookie = Some(value.to_owned()).filter(|value| !value.is_empty());
            if cookie != state.cookie {
                *state = State { cookie, csrf: None };
            }
        }
        if answer.text.contains("name=\"csrf\"") {
            state.csrf = Some(input(&answer, "csrf"));
        }
        drop(state);
        answer
    }
}

/// Fields as a browser sends them.
pub fn form(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// The value of a page's first input of this name; empty where there is none.
pub fn input(page: &Answer, name: &str) -> String {
    let tags = page.text.split("<input ").skip(1).filter_map(|rest| rest.split('>').next());
    let mut named = tags.filter(|tag| tag.contains(&format!("name=\"{name}\"")));
    let value = named.next().and_then(|tag| tag.split("value=\"").nth(1)?.split('"').next());
    plain(value.unwrap_or_default())
}

/// What a page shows this once: a key, a link.
pub fn shown_once(page: &Answer) -> Option<String> {
    let rest = page.text.split("class=\"once\"").nth(1)?;
    rest.split('>').nth(1)?.split('<').next().map(plain)
}

/// The actions of a page's forms, in their order.
pub fn actions(page: &Answer) -> Vec<String> {
    let forms = page.text.split("<form ").skip(1);
    forms.filter_map(|form| form.split("action=\"").nth(1)?.split('"').next().map(plain)).collect()
}

/// The addresses under a path that a page's links lead to, each once, in their order.
pub fn links(page: &Answer, under: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for link in page.text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        let link = plain(link);
        if link.starts_with(under) && !found.contains(&link) {
            found.push(link);
        }
    }
    found
}

/// Text as a template writes it.
pub fn escaped(text: &str) -> String {
    let pairs = [("&", "&#38;"), ("<", "&#60;"), (">", "&#62;"), ("\"", "&#34;"), ("'", "&#39;")];
    pairs.iter().fold(text.to_owned(), |text, (plain, written)| text.replace(plain, written))
}

fn plain(written: &str) -> String {
    let pairs =
        [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&amp;", "&"), ("&#38;", "&")];
    pairs.iter().fold(written.to_owned(), |text, (written, plain)| text.replace(written, plain))
}

/// A demonstration organization's owner.
pub async fn owner(world: &World, demo: usize) -> Member {
    let id = tenant(demo, Mode::Live).organization;
    world.store().find_member(id, id).await.expect("a table").expect("an owner")
}

/// A new member of an organization, without a password.
pub async fn join(world: &World, demo: usize, name: &str, role: MemberRole) -> Member {
    let email: Email = format!("{}@members.example", name.to_lowercase()).parse().expect("an address");
    let now = world.environment.clock.now();
    let name = Text::parse(name).expect("a name").expect("a name");
    let member = Member::invited(next_id(), email, name, role, now);
    let mut writes = Writes::new(tenant(demo, Mode::Live));
    writes.insert_member(&member).expect("a member");
    world.store().commit(writes).await.expect("a member");
    member
}

/// An application that a member has connected: its grant, and an access token that is good for as long as the grant.
pub async fn connect_app(
    environment: &Environment,
    tenant: Tenant,
    member: Id,
    name: &str,
) -> (Grant, Credential) {
    let Environment { store, random, clock, .. } = environment;
    let now = clock.now();
    let id = next_id();
    let token = Credential::generate(Kind::AccessToken, tenant, id, random);
    let expires_at = now.saturating_add(TokenSet::REFRESH_LIFE).expect("a time");
    let hash = token.hash_for(&audience(BASE_URL));
    let code = Code {
        hash: "code".to_owned(),
        redirect_uri: "https://app.example/callback".to_owned(),
        challenge: challenge("verifier"),
        expires_at: now,
    };
    let tokens = TokenSet {
        access: hash.clone(),
        family: "family".to_owned(),
        refresh: "refresh".to_owned(),
        previous: None,
        expires_at,
    };
    let grant = Grant {
        id,
        client_id: "rc_client_test".to_owned(),
        client_name: Text::parse(name).expect("a name").expect("a name"),
        redirect_host: "app.example".to_owned(),
        member,
        scopes: Scopes::all(),
        code,
        tokens: Some(tokens),
        created_at: now,
        revoked_at: None,
        version: 1,
    };
    let apps = store.list_apps(tenant).await.expect("a table");
    let access = NewAccess { hash, scopes: grant.scopes, expires_at };
    let mut writes = Writes::new(tenant);
    writes.insert_grant(&grant).expect("a grant");
    writes.put_access(&grant, &access, &apps, false, now).expect("a token");
    store.commit(writes).await.expect("a grant");
    (grant, token)
}

/// Later ones are greater, as the service's own are.
fn next_id() -> Id {
    static NUMBER: AtomicU64 = AtomicU64::new(1 << 50);
    Id::new(NUMBER.fetch_add(1, Ordering::Relaxed)).expect("an id")
}
