//! A browser for tests: it keeps the one cookie, sends forms as it was given them, and follows nothing by itself.

use std::net::IpAddr;
use std::sync::Mutex;

use http::Method;
use rolecall_local::demo::DEMOS;
use shared::auth::{Credential, Kind};
use shared::model::{Member, Mode, Session};
use shared::store::Writes;
use url::form_urlencoded;

use crate::{Answer, Ask, LOOPBACK, World, tenant};

/// The cookie that tells one browser from another.
pub const COOKIE: &str = "__Host-rolecall";
/// The media type of forms.
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
    pub async fn signed_in(world: &'w World, demo: usize) -> Self {
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

    /// Fills in the page to sign in with.
    pub async fn sign_in(&self, page: &Answer, demo: usize) -> Answer {
        let form = Form::of(page, "/dashboard/sign-in");
        let form = form.set("email", DEMOS[demo].email).set("password", DEMOS[demo].password);
        self.submit("/dashboard/sign-in", &form).await
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

    /// Sends a form as it is.
    pub async fn submit(&self, path: &str, form: &Form) -> Answer {
        self.learn(self.ask(Method::POST, path).body(FORM, form.encoded()).send().await)
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

/// The fields of a form, or of a query, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// A form with these fields.
    pub fn new(fields: &[(&str, &str)]) -> Self {
        Self(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    /// The hidden fields of the page's form that is sent to `action`.
    #[track_caller]
    pub fn of(page: &Answer, action: &str) -> Self {
        let opening = format!(" action=\"{action}\">");
        let (_, rest) = page.text.split_once(&opening).unwrap_or_else(|| panic!("{action} in {}", page.text));
        let form = rest.split("</form>").next().unwrap_or_default();
        let hidden = form.split("<input type=\"hidden\" name=\"").skip(1);
        let field = |input: &str| {
            let (name, rest) = input.split_once("\" value=\"")?;
            Some((name.to_owned(), plain(rest.split('"').next()?)))
        };
        Self(hidden.filter_map(field).collect())
    }

    /// What a redirect leads to: the address, and the query's fields.
    #[track_caller]
    pub fn of_location(answer: &Answer) -> (String, Self) {
        let location = answer.header("location");
        assert!(answer.status == 303 && !location.is_empty(), "no redirect: {answer:?}");
        let (address, query) = location.split_once('?').unwrap_or((location, ""));
        (address.to_owned(), Self(form_urlencoded::parse(query.as_bytes()).into_owned().collect()))
    }

    /// A field's value, empty where there is none.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The names of the fields.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// With this value in place of any under the name.
    #[must_use]
    pub fn set(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    /// With one more field.
    #[must_use]
    pub fn and(mut self, name: &str, value: &str) -> Self {
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Without a field.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.0.retain(|(known, _)| known != name);
        self
    }

    /// As it is sent.
    pub fn encoded(&self) -> String {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.0).finish()
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

/// Text without the escapes that pages have it in.
pub(crate) fn plain(written: &str) -> String {
    let pairs =
        [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&amp;", "&"), ("&#38;", "&")];
    pairs.iter().fold(written.to_owned(), |text, (written, plain)| text.replace(written, plain))
}
