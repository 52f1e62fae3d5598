//! Test support for the dashboard: creates members and connected apps, and parses pages.

use std::sync::atomic::{AtomicU64, Ordering};

use rolecall_local::event_fixtures;
use shared::auth::{Claims, Credential, Kind};
use shared::http::Environment;
use shared::id::Id;
use shared::model::{
    Audience, Code, Email, Grant, Member, MemberRole, Mode, Scopes, Tenant, Text, TokenSet, challenge,
};
use shared::store::Transaction;

use crate::browser::plain;
use crate::{Response, TestApi, tenant};

/// A small picture.
pub const PNG: &[u8] = event_fixtures::LOGO;

/// Returns the key or link that a page shows only once.
pub fn shown_once(page: &Response) -> Option<String> {
    let rest = page.text.split("class=\"once\"").nth(1)?;
    rest.split('>').nth(1)?.split('<').next().map(plain)
}

/// Returns the actions of a page's forms, in order.
pub fn actions(page: &Response) -> Vec<String> {
    let forms = page.text.split("<form ").skip(1);
    forms.filter_map(|form| form.split("action=\"").nth(1)?.split('"').next().map(plain)).collect()
}

/// Returns the distinct URLs of a page's links under a path, in order.
pub fn links(page: &Response, under: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for link in page.text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        let link = plain(link);
        if link.starts_with(under) && !found.contains(&link) {
            found.push(link);
        }
    }
    found
}

/// Escapes text in the same way as the templates.
pub fn escaped(text: &str) -> String {
    let pairs = [("&", "&#38;"), ("<", "&#60;"), (">", "&#62;"), ("\"", "&#34;"), ("'", "&#39;")];
    pairs.iter().fold(text.to_owned(), |text, (plain, written)| text.replace(plain, written))
}

/// Returns a demo organization's owner.
pub async fn owner(api: &TestApi, demo: usize) -> Member {
    let id = tenant(demo, Mode::Live).organization;
    api.store().find_member(id, id).await.expect("a table").expect("an owner")
}

/// Adds a member without a password to a demo organization.
pub async fn add_member(api: &TestApi, demo: usize, name: &str, role: MemberRole) -> Member {
    let email: Email = format!("{}@members.example", name.to_lowercase()).parse().expect("an address");
    let now = api.environment.clock.now();
    let name = Text::parse(name).expect("a name").expect("a name");
    let member = Member::invited(next_id(), email, name, role, now);
    let mut transaction = Transaction::new(tenant(demo, Mode::Live));
    transaction.insert_member(&member).expect("a member");
    api.store().commit(transaction).await.expect("a member");
    member
}

/// Connects an app for a member. Returns the grant and an access token that is valid for as long as the grant.
pub async fn connect_app(
    environment: &Environment,
    tenant: Tenant,
    member: Id,
    name: &str,
) -> (Grant, Credential) {
    connect_app_to(Audience::Api, environment, tenant, member, name).await
}

/// The same, with a token for this audience.
pub async fn connect_app_to(
    audience: Audience,
    environment: &Environment,
    tenant: Tenant,
    member: Id,
    name: &str,
) -> (Grant, Credential) {
    let Environment { store, random, clock, config, .. } = environment;
    let now = clock.now();
    let id = next_id();
    let expires_at = now.saturating_add(TokenSet::REFRESH_LIFE).expect("a time");
    let access = Claims { scopes: Scopes::all(), expires_at: Some(expires_at), audience };
    let token = Credential::generate(Kind::AccessToken, tenant, id, access, &config.credential_keys, random);
    let code = Code {
        hash: "code".to_owned(),
        redirect_uri: "https://app.example/callback".to_owned(),
        challenge: challenge("verifier"),
        expires_at: now,
    };
    let tokens = TokenSet {
        access: token.gate_hash(),
        access_expires_at: expires_at,
        previous_access: None,
        family: "family".to_owned(),
        refresh: "refresh".to_owned(),
        used: None,
        expires_at,
    };
    let grant = Grant {
        id,
        client_id: "rc_client_test".to_owned(),
        client_name: Text::parse(name).expect("a name").expect("a name"),
        redirect_host: "app.example".to_owned(),
        member,
        scopes: Scopes::all(),
        audience,
        code,
        tokens: Some(tokens),
        created_at: now,
        last_used_on: None,
        revoked_at: None,
        version: 1,
    };
    let known = store.get_access_tokens(tenant).await.expect("a table");
    let mut transaction = Transaction::new(tenant);
    transaction.insert_grant(&grant).expect("a grant");
    transaction.put_access_tokens(None, grant.tokens.as_ref().expect("tokens"), &known);
    store.commit(transaction).await.expect("a grant");
    (grant, token)
}

/// Returns a larger identifier with each call, as the service does.
fn next_id() -> Id {
    static NUMBER: AtomicU64 = AtomicU64::new(1 << 50);
    Id::new(NUMBER.fetch_add(1, Ordering::Relaxed)).expect("an id")
}
