//! A browser for tests. It keeps the cookie and the CSRF token and submits forms, but does not follow redirects on its
//! own.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Mutex;

use http::{HeaderValue, Method};
use rolecall_local::demo::DEMOS;
use shared::auth::{Claims, Credential, Kind};
use shared::model::{Device, Member, Mode, Session};
use shared::store::Transaction;
use url::form_urlencoded;

use crate::{LOOPBACK, RequestBuilder, Response, TestApi, tenant};

/// The name of the session cookie.
pub const COOKIE: &str = "__Host-rolecall";
/// The media type of forms.
pub const FORM: &str = "application/x-www-form-urlencoded";
/// Cookies that another site on the same domain may set: in UTF-8, in Latin-1, and without a name.
pub const FOREIGN_COOKIES: [&[u8]; 3] = ["promo=Grüße".as_bytes(), b"promo=Gr\xfc\xdfe", b"\x80"];

/// A browser with its own cookie.
pub struct Browser<'w> {
    api: &'w TestApi,
    source: IpAddr,
    /// A cookie of another site on the same domain.
    foreign_cookie: Option<&'static [u8]>,
    state: Mutex<State>,
}

#[derive(Clone, Default)]
struct State {
    cookie: Option<String>,
    /// The other cookies by their names: those of known browsers and their organizations.
    others: BTreeMap<String, String>,
    /// The CSRF token for this cookie.
    csrf: Option<String>,
}

impl<'w> Browser<'w> {
    /// Returns a browser without a cookie.
    pub fn new(api: &'w TestApi) -> Self {
        Self { api, source: LOOPBACK, foreign_cookie: None, state: Mutex::default() }
    }

    /// Returns a browser with this cookie.
    pub fn with_cookie(api: &'w TestApi, cookie: &str) -> Self {
        let state = State { cookie: Some(cookie.to_owned()), ..State::default() };
        Self { state: Mutex::new(state), ..Self::new(api) }
    }

    /// Sets the source IP address of the requests.
    #[must_use]
    pub fn at(self, source: [u8; 4]) -> Self {
        Self { source: source.into(), ..self }
    }

    /// Sends this cookie of another site before and after the browser's own cookies.
    #[must_use]
    pub fn with_foreign_cookie(self, cookie: &'static [u8]) -> Self {
        Self { foreign_cookie: Some(cookie), ..self }
    }

    /// Returns a browser in which a demo organization's owner has signed in through the form.
    pub async fn signed_in(api: &'w TestApi, demo: usize) -> Self {
        let browser = Self::new(api);
        browser.submit_sign_in(DEMOS[demo].email, DEMOS[demo].password).await.expect(303);
        browser
    }

    /// Returns a browser with a new session of a member, without hashing a password.
    pub async fn with_session(api: &'w TestApi, demo: usize, member: &Member) -> Self {
        let (live, random) = (tenant(demo, Mode::Live), &api.environment.random);
        let keys = &api.environment.config.credential_keys;
        let session = Credential::generate(Kind::Session, live, member.id, Claims::default(), keys, random);
        let mut transaction = Transaction::new(live);
        let now = api.environment.clock.now();
        let device = Device { browser: "Test browser".to_owned(), network: LOOPBACK.to_string() };
        let begun = Session::begin(member, device, false, now);
        transaction.insert_session(&session.hash(), &begun).expect("a session");
        api.store().commit(transaction).await.expect("a session");
        Self::with_cookie(api, session.reveal())
    }

    /// Fills in and submits the form on a sign-in page.
    pub async fn sign_in(&self, page: &Response, demo: usize) -> Response {
        let form = Form::of(page, "/dashboard/sign-in").set("organization", &input(page, "organization"));
        let form = form.set("email", DEMOS[demo].email).set("password", DEMOS[demo].password);
        self.submit("/dashboard/sign-in", &form).await
    }

    /// Submits the sign-in form.
    pub async fn submit_sign_in(&self, email: &str, password: &str) -> Response {
        self.post("/dashboard/sign-in", &[("email", email), ("password", password)]).await
    }

    /// Returns the cookie's value, or an empty string.
    pub fn cookie(&self) -> String {
        self.state.lock().expect("no poison").cookie.clone().unwrap_or_default()
    }

    /// Returns the names and values of the other cookies.
    pub fn other_cookies(&self) -> BTreeMap<String, String> {
        self.state.lock().expect("no poison").others.clone()
    }

    /// Sets a cookie other than the session's.
    pub fn set_other_cookie(&self, name: &str, value: &str) {
        self.state.lock().expect("no poison").others.insert(name.to_owned(), value.to_owned());
    }

    /// Builds a request with the cookies.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder<'w> {
        let request = self.api.request(method, path).anonymous().from(&self.source.to_string());
        let state = self.state.lock().expect("no poison");
        let session = state.cookie.as_ref().map(|value| format!("{COOKIE}={value}"));
        let others = state.others.iter().map(|(name, value)| format!("{name}={value}"));
        let own = session.into_iter().chain(others).map(String::into_bytes);
        let foreign = || self.foreign_cookie.map(<[u8]>::to_vec).into_iter();
        let cookies: Vec<_> = foreign().chain(own).chain(foreign()).collect();
        if cookies.is_empty() {
            return request;
        }
        let value = HeaderValue::from_bytes(&cookies.join(&b"; "[..])).expect("a header value");
        request.header_value("cookie", value)
    }

    /// Opens a page.
    pub async fn get(&self, path: &str) -> Response {
        self.remember(self.request(Method::GET, path).send().await)
    }

    /// Follows a redirect.
    pub async fn follow(&self, response: &Response) -> Response {
        self.get(response.header("location")).await
    }

    /// Submits a form with the CSRF token and these fields.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        let csrf = self.csrf().await;
        self.send(path, &[&[("csrf", csrf.as_str())], fields].concat()).await
    }

    /// Submits a form with only these fields.
    pub async fn send(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        self.remember(self.request(Method::POST, path).body(FORM, form(fields)).send().await)
    }

    /// Submits a form unchanged.
    pub async fn submit(&self, path: &str, form: &Form) -> Response {
        self.remember(self.request(Method::POST, path).body(FORM, form.encoded()).send().await)
    }

    /// Submits a form with the CSRF token, these fields and a file, as a browser sends it.
    pub async fn post_file(&self, path: &str, fields: &[(&str, &str)], file: &[u8]) -> Response {
        let csrf = self.csrf().await;
        let fields = Form::new(&[&[("csrf", csrf.as_str())], fields].concat());
        self.submit_file(path, &fields, file).await
    }

    /// Submits a form with only these fields and a file.
    pub async fn submit_file(&self, path: &str, form: &Form, file: &[u8]) -> Response {
        let (media, body) = form.multipart(file);
        self.remember(self.request(Method::POST, path).body(&media, body).send().await)
    }

    /// Returns the CSRF token; opens a page with a form if necessary.
    pub async fn csrf(&self) -> String {
        let known = self.state.lock().expect("no poison").csrf.clone();
        if let Some(csrf) = known {
            return csrf;
        }
        for page in ["/dashboard/sign-in", "/dashboard/settings/account"] {
            let response = self.get(page).await;
            if response.status == 200 {
                return input(&response, "csrf");
            }
        }
        panic!("no page has a form");
    }

    fn remember(&self, response: Response) -> Response {
        let mut state = self.state.lock().expect("no poison");
        for cookie in response.headers.get_all("set-cookie") {
            let pair =
                str::from_utf8(cookie.as_bytes()).expect("a cookie").split(';').next().expect("a value");
            let (name, value) = pair.split_once('=').expect("a name and a value");
            if name != COOKIE {
                state.others.insert(name.to_owned(), value.to_owned());
                continue;
            }
            let cookie = Some(value.to_owned()).filter(|value| !value.is_empty());
            if cookie != state.cookie {
                (state.cookie, state.csrf) = (cookie, None);
            }
        }
        if response.text.contains("name=\"csrf\"") {
            state.csrf = Some(input(&response, "csrf"));
        }
        drop(state);
        response
    }
}

/// The fields of a form or a query, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Returns a form with these fields.
    pub fn new(fields: &[(&str, &str)]) -> Self {
        Self(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    /// Returns the hidden fields of the page's form with this action.
    #[track_caller]
    pub fn of(page: &Response, action: &str) -> Self {
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

    /// Returns the URL of a redirect without its query, and the query's fields.
    #[track_caller]
    pub fn of_location(response: &Response) -> (String, Self) {
        let location = response.header("location");
        assert!(response.status == 303 && !location.is_empty(), "no redirect: {response:?}");
        let (url, query) = location.split_once('?').unwrap_or((location, ""));
        (url.to_owned(), Self(form_urlencoded::parse(query.as_bytes()).into_owned().collect()))
    }

    /// Returns a field's value, or an empty string.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// Returns the names of the fields.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Replaces the value of a field.
    #[must_use]
    pub fn set(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    /// Adds a field.
    #[must_use]
    pub fn and(mut self, name: &str, value: &str) -> Self {
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Removes a field.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.0.retain(|(known, _)| known != name);
        self
    }

    /// Returns the media type and the body of a form with a file.
    pub fn multipart(&self, file: &[u8]) -> (String, Vec<u8>) {
        let part = |disposition: &str, content: &[u8]| {
            let head = format!("--rolecall\r\ncontent-disposition: form-data; {disposition}\r\n\r\n");
            [head.as_bytes(), content, b"\r\n"].concat()
        };
        let fields = self.0.iter().map(|(name, value)| part(&format!("name=\"{name}\""), value.as_bytes()));
        let mut body: Vec<u8> = fields.flatten().collect();
        body.extend(part("name=\"resume_file\"; filename=\"cv.pdf\"", file));
        body.extend_from_slice(b"--rolecall--\r\n");
        ("multipart/form-data; boundary=rolecall".to_owned(), body)
    }

    /// Returns the URL-encoded form.
    pub fn encoded(&self) -> String {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.0).finish()
    }
}

/// Encodes fields as a browser sends them.
pub fn form(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// Returns the value of a page's first input with this name, or an empty string.
pub fn input(page: &Response, name: &str) -> String {
    let tags = page.text.split("<input ").skip(1).filter_map(|rest| rest.split('>').next());
    let mut named = tags.filter(|tag| tag.contains(&format!("name=\"{name}\"")));
    let value = named.next().and_then(|tag| tag.split("value=\"").nth(1)?.split('"').next());
    plain(value.unwrap_or_default())
}

/// Unescapes the HTML entities in a page's text.
pub fn plain(written: &str) -> String {
    let pairs =
        [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&amp;", "&"), ("&#38;", "&")];
    pairs.iter().fold(written.to_owned(), |text, (written, plain)| text.replace(written, plain))
}
