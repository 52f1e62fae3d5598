//! A browser for tests: it keeps the one cookie, and fills in the forms of the pages that it was shown.

use http::Method;
use rolecall_local::demo::DEMOS;
use url::form_urlencoded;

use crate::{Answer, World};

/// The cookie that tells one browser from another.
pub const COOKIE: &str = "__Host-rolecall";
/// The media type of forms.
pub const FORM: &str = "application/x-www-form-urlencoded";

/// See the module.
pub struct Browser<'w> {
    world: &'w World,
    /// The cookie's value; empty before the first answer.
    pub cookie: String,
}

impl<'w> Browser<'w> {
    /// A browser that has never been here.
    pub const fn new(world: &'w World) -> Self {
        Self { world, cookie: String::new() }
    }

    /// A browser in which a demonstration organization's owner is signed in.
    pub async fn signed_in(world: &'w World, demo: usize) -> Self {
        let mut browser = Self::new(world);
        let page = browser.get("/dashboard/sign-in").await.expect(200);
        browser.sign_in(&page, demo).await.expect(303);
        browser
    }

    /// Fills in the page to sign in with.
    pub async fn sign_in(&mut self, page: &Answer, demo: usize) -> Answer {
        let form = Form::of(page, "/dashboard/sign-in");
        let form = form.set("email", DEMOS[demo].email).set("password", DEMOS[demo].password);
        self.post("/dashboard/sign-in", &form).await
    }

    /// Opens a page.
    pub async fn get(&mut self, path: &str) -> Answer {
        self.send(Method::GET, path, None).await
    }

    /// Sends a form.
    pub async fn post(&mut self, path: &str, form: &Form) -> Answer {
        self.send(Method::POST, path, Some(form)).await
    }

    async fn send(&mut self, method: Method, path: &str, form: Option<&Form>) -> Answer {
        let mut ask = self.world.request(method, path).anonymous();
        if !self.cookie.is_empty() {
            ask = ask.header("cookie", &format!("{COOKIE}={}", self.cookie));
        }
        if let Some(form) = form {
            ask = ask.body(FORM, form.encoded());
        }
        let answer = ask.send().await;
        let set = answer.header("set-cookie").strip_prefix(COOKIE).and_then(|set| set.strip_prefix('='));
        if let Some(value) = set.and_then(|set| set.split(';').next()) {
            value.clone_into(&mut self.cookie);
        }
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

/// Text without the escapes that pages have it in.
fn plain(html: &str) -> String {
    let mut parts = html.split('&');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_once(';').expect("an escape ends");
        let code = code.strip_prefix('#').and_then(|code| code.parse().ok()).and_then(char::from_u32);
        text.push(code.expect("an escape is a number"));
        text.push_str(rest);
    }
    text
}
