//! The dashboard for tests: its pages read, its people and applications made.

use std::sync::atomic::{AtomicU64, Ordering};

use shared::auth::{Credential, Kind};
use shared::http::{Environment, audience};
use shared::id::Id;
use shared::model::{
    Code, Email, Grant, Member, MemberRole, Mode, Scopes, Tenant, Text, TokenSet, challenge,
};
use shared::store::{NewAccess, Writes};

use crate::browser::plain;
use crate::{Answer, BASE_URL, World, tenant};

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
