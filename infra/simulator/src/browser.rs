//! A browser without scripts: it keeps cookies, follows redirects, and fills in forms.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::header::{COOKIE, LOCATION, SET_COOKIE};
use http::{Method, Request};

use crate::deployment::Deployment;
use crate::outside::BASE_URL;

const FORM: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data";
const BOUNDARY: &str = "----simulated";
/// The page that asks for the password.
pub(crate) const SIGN_IN: &str = "/dashboard/sign-in";
/// The page that asks for the second factor.
pub(crate) const SECOND_STEP: &str = "/dashboard/second-factor";
/// The content of a resume.
pub(crate) const PDF: &str = "%PDF-1.7\n1 0 obj\n<<>>\nendobj\n%%EOF\n";
/// The maximum number of redirects that the browser follows.
const REDIRECTS: usize = 4;

/// A browser with its cookies.
pub(crate) struct Browser {
    deployment: Arc<Deployment>,
    source: IpAddr,
    cookies: Mutex<BTreeMap<String, String>>,
}

/// A page, after all redirects.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) status: u16,
    /// The page's path and query, or the URL of another site that the service redirected to.
    pub(crate) url: String,
    pub(crate) text: String,
}

/// A form on a page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form {
    pub(crate) action: String,
    is_post: bool,
    is_multipart: bool,
    pub(crate) fields: Vec<Field>,
}

/// A field of a form.
#[derive(Clone, Debug, Default)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) value: String,
    /// Whether the field is sent: a box that is ticked, and everything else.
    pub(crate) is_sent: bool,
    /// The values to choose from.
    pub(crate) options: Vec<String>,
}

impl Browser {
    pub(crate) fn new(deployment: Arc<Deployment>, number: u8) -> Self {
        let source = IpAddr::V4(Ipv4Addr::new(198, 51, 100, number));
        Self { deployment, source, cookies: Mutex::default() }
    }

    pub(crate) async fn open(&self, url: &str) -> Page {
        self.load(Method::GET, url.to_owned(), None).await
    }

    pub(crate) async fn submit(&self, form: &Form) -> Page {
        let fields = form.fields.iter().filter(|field| field.is_sent && !field.name.is_empty());
        if form.is_multipart {
            let media = format!("{MULTIPART}; boundary={BOUNDARY}");
            return self.load(Method::POST, form.action.clone(), Some((media, multipart(fields)))).await;
        }
        let pairs = fields.map(|field| (field.name.as_str(), field.value.as_str()));
        let encoded = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        if form.is_post {
            return self
                .load(Method::POST, form.action.clone(), Some((FORM.to_owned(), encoded.into())))
                .await;
        }
        self.open(&format!("{}?{encoded}", form.action)).await
    }

    /// Signs in with a password if the page is the form for that. Returns the next page.
    pub(crate) async fn sign_in(&self, page: &Page, email: &str, password: &str) -> Option<Page> {
        let mut form = page.form(SIGN_IN)?;
        form.set("email", email);
        form.set("password", password);
        Some(self.submit(&form).await)
    }

    async fn load(&self, mut method: Method, mut url: String, mut body: Option<(String, Bytes)>) -> Page {
        for _ in 0..REDIRECTS {
            let mut request = Request::builder().method(method.clone());
            if let Some((media, _)) = &body {
                request = request.header("content-type", media);
            }
            let content = body.take().map(|(_, content)| content).unwrap_or_default();
            let response = if url.starts_with('/') {
                let request =
                    request.uri(&url).header("host", "api.rolecall.test").header(COOKIE, self.cookies());
                let request = request.body(content).expect("a request");
                self.deployment.request(request, self.source).await
            } else {
                let Some(bucket) = url.strip_prefix("https://bucket.test") else { break };
                let request = request.uri(bucket).header("host", "bucket.test");
                self.deployment.outside.upload(request.body(content).expect("a request")).await
            };
            self.remember(&response);
            let location = response
                .headers()
                .get(LOCATION)
                .and_then(|location| str::from_utf8(location.as_bytes()).ok());
            let Some(location) = location.filter(|_| response.status().is_redirection()) else {
                let text = String::from_utf8_lossy(response.body()).into_owned();
                return Page { status: response.status().as_u16(), url, text };
            };
            location.strip_prefix(BASE_URL).unwrap_or(location).clone_into(&mut url);
            method = Method::GET;
        }
        Page { status: 303, url, text: String::new() }
    }

    fn cookies(&self) -> String {
        let cookies = self.cookies.lock().unwrap_or_else(PoisonError::into_inner);
        let pairs: Vec<_> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("; ")
    }

    fn remember(&self, response: &http::Response<Bytes>) {
        let mut cookies = self.cookies.lock().unwrap_or_else(PoisonError::into_inner);
        for cookie in response.headers().get_all(SET_COOKIE) {
            let pair = str::from_utf8(cookie.as_bytes())
                .ok()
                .and_then(|cookie| cookie.split(';').next()?.split_once('='));
            match pair {
                Some((name, "")) => drop(cookies.remove(name)),
                Some((name, value)) => drop(cookies.insert(name.to_owned(), value.to_owned())),
                None => {}
            }
        }
    }
}

impl Page {
    /// Whether it is a page of the dashboard that only signed-in members see.
    pub(crate) fn is_signed_in(&self) -> bool {
        self.status == 200
            && self.url.starts_with("/dashboard")
            && !self.url.starts_with(SIGN_IN)
            && self.form(SIGN_IN).is_none()
            && self.form(SECOND_STEP).is_none()
    }

    /// The links of the page to pages under `prefix`.
    pub(crate) fn links(&self, prefix: &str) -> Vec<String> {
        let links = self.text.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next()).map(plain);
        links.filter(|link| link.starts_with(prefix)).collect()
    }

    /// The forms of the page.
    pub(crate) fn forms(&self) -> Vec<Form> {
        self.text.split("<form ").skip(1).filter_map(Form::parse).collect()
    }

    /// The form with this action.
    pub(crate) fn form(&self, action: &str) -> Option<Form> {
        self.forms().into_iter().find(|form| form.action == action)
    }
}

impl Form {
    fn parse(rest: &str) -> Option<Self> {
        let (tag, rest) = rest.split_once('>')?;
        let content = rest.split("</form>").next()?;
        let mut form = Self {
            action: attribute(tag, "action")?,
            is_post: attribute(tag, "method").as_deref() == Some("post"),
            is_multipart: attribute(tag, "enctype").as_deref() == Some(MULTIPART),
            fields: Vec::new(),
        };
        for element in content.split('<') {
            let (tag, text) = element.split_once('>').unwrap_or((element, ""));
            let (kind, tag) = tag.split_once([' ', '\n']).unwrap_or((tag, ""));
            match kind {
                "input" | "textarea" | "select" | "button" => {
                    let kind = attribute(tag, "type").unwrap_or_else(|| kind.to_owned());
                    let is_box = matches!(kind.as_str(), "checkbox" | "radio");
                    let is_sent = kind != "button" && (!is_box || tag.contains(" checked"));
                    let value = attribute(tag, "value").unwrap_or_else(|| plain(text.trim()));
                    let name = attribute(tag, "name").unwrap_or_default();
                    form.fields.push(Field { name, kind, value, is_sent, options: Vec::new() });
                }
                "option" => {
                    let Some(select) = form.fields.last_mut() else { continue };
                    let value = attribute(tag, "value").unwrap_or_else(|| plain(text.trim()));
                    if tag.contains("selected") || select.options.is_empty() {
                        select.value.clone_from(&value);
                    }
                    select.options.push(value);
                }
                _ => {}
            }
        }
        Some(form)
    }

    /// Sets a field, and sends it.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        for field in self.fields.iter_mut().filter(|field| field.name == name) {
            if matches!(field.kind.as_str(), "radio" | "button") {
                field.is_sent = field.value == value;
            } else {
                value.clone_into(&mut field.value);
                field.is_sent = true;
            }
        }
    }
}

/// The value of an attribute in a tag.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let start = format!("{name}=\"");
    let (_, rest) = tag.split_once(&format!(" {start}")).or_else(|| tag.split_once(&start))?;
    rest.split('"').next().map(plain)
}

/// The text that markup shows.
fn plain(written: &str) -> String {
    let pairs =
        [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&"), ("&amp;", "&")];
    pairs.iter().fold(written.to_owned(), |text, (written, plain)| text.replace(written, plain))
}

/// A form with files. A file without a value was not chosen.
fn multipart<'f>(fields: impl Iterator<Item = &'f Field>) -> Bytes {
    let parts = fields.map(|Field { name, kind, value, .. }| match (kind.as_str(), value.as_str()) {
        ("file", "") => part(&format!("name=\"{name}\"; filename=\"\""), ""),
        ("file", content) => part(&format!("name=\"{name}\"; filename=\"x.pdf\""), content),
        (_, text) => part(&format!("name=\"{name}\""), text),
    });
    format!("{}--{BOUNDARY}--\r\n", parts.collect::<String>()).into()
}

fn part(disposition: &str, value: &str) -> String {
    format!("--{BOUNDARY}\r\ncontent-disposition: form-data; {disposition}\r\n\r\n{value}\r\n")
}
