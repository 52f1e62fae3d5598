//! People: visitors of career pages who apply and upload a resume, members who use the dashboard, and the applications
//! that members connect.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use rolecall_local::demo::{DEMOS, Demo};
use serde_json::Value;
use shared::model::challenge;
use tokio::time::sleep;
use url::Url;
use url::form_urlencoded::Serializer;

use crate::browser::{Browser, Form, PDF, Page, SIGN_IN};
use crate::clients::{ATTEMPTS, Clients, Tenant};
use crate::deployment::{Answer, SECOND_MEMBER};
use crate::outside::{APPS_URL, BASE_URL, REDIRECT_URI, metadata};

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const DASHBOARD: &str = "/dashboard";
const PAGES: [&str; 16] = [
    "",
    "/roles",
    "/postings",
    "/candidates",
    "/candidates/suspects",
    "/settings/integrations/api-keys",
    "/settings/integrations/connected-apps",
    "/settings/integrations/channels",
    "/settings/organization",
    "/settings/career-page",
    "/settings/privacy",
    "/settings/application-limits",
    "/settings/retention",
    "/settings/audit-log",
    "/settings/members",
    "/settings/account",
];

/// What people do in one organization.
pub(crate) struct People<'c> {
    pub(crate) clients: &'c Clients,
    pub(crate) demo: &'static Demo,
    /// The number of the organization, from 0.
    number: usize,
}

/// What has happened to an application's access.
struct App<'c> {
    clients: &'c Clients,
    tenant: &'c Tenant,
    id: String,
    access: String,
    refresh: String,
}

impl<'c> People<'c> {
    /// The people of an organization.
    pub(crate) fn of(clients: &'c Clients, number: usize) -> Self {
        Self { clients, demo: &DEMOS[number], number }
    }

    /// The organization's live tenant. Career pages are only in live mode.
    pub(crate) fn live(&self) -> &'c Arc<Tenant> {
        &self.clients.tenants[2 * self.number]
    }

    pub(crate) fn browser(&self, number: usize) -> Browser {
        let address = 10 * self.number + number + 1;
        Browser::new(self.clients.deployment.clone(), u8::try_from(address).expect("a small number"))
    }

    fn career_page(&self) -> String {
        format!("/careers/{}", self.demo.name.to_lowercase())
    }

    /// Notes a page in the trace. It must not contain anything of another organization.
    pub(crate) fn check(&self, page: Page) -> Page {
        let note = format!("{} {} -> {} {} bytes", self.demo.name, page.url, page.status, page.text.len());
        self.clients.deployment.cloud.note(note);
        self.clients.check_words(self.number, &page.url, &page.text);
        page
    }

    pub(crate) async fn open(&self, browser: &Browser, url: &str) -> Page {
        self.check(browser.open(url).await)
    }

    pub(crate) async fn submit(&self, browser: &Browser, form: &Form) -> Page {
        self.check(browser.submit(form).await)
    }

    /// Reads openings and applies for them, sometimes with a resume.
    pub(crate) async fn visit(&self, mut random: fastrand::Rng, steps: u32) {
        let browser = self.browser(0);
        for _ in 0..steps {
            sleep(Duration::from_millis(random.u64(0..700))).await;
            let portal = self.career_page();
            let page = self.open(&browser, &portal).await;
            let mut jobs = page.links(&format!("{portal}/"));
            jobs.retain(|link| !link.contains('?') && !link.ends_with("/privacy") && !link.contains('.'));
            let Some(job) = random.choice(&jobs) else { continue };
            let page = self.open(&browser, job).await;
            let Some(form) = page.form(&format!("{job}/apply")) else { continue };
            // A form that is sent at once is suspect.
            sleep(Duration::from_secs(3)).await;
            self.apply(&browser, form, &mut random).await;
        }
    }

    async fn apply(&self, browser: &Browser, mut form: Form, random: &mut fastrand::Rng) {
        let number = self.live().known().next();
        // Some people apply again, or are known already.
        let owner = if random.u32(0..4) == 0 { random.u64(1..=number) } else { number };
        let email = format!("{}.{owner}@example.com", self.live().word);
        form.set("name", &format!("{} {number}.", self.live().word));
        form.set("email", &email);
        form.set("consent", "yes");
        if random.bool() {
            form.set("consent_voice_screen", "yes");
            form.set("consent_recording", "yes");
        }
        if random.bool() {
            form.set("resume_file", PDF);
        }
        for _ in 0..ATTEMPTS {
            let page = self.submit(browser, &form).await;
            if page.status >= 500 {
                sleep(Duration::from_millis(random.u64(50..400))).await;
                continue;
            }
            let is_received = page.status == 200 && page.url.contains("/apply?");
            if is_received {
                self.live().known().applicants.push(email);
            }
            let upload = page.forms().into_iter().find(|form| form.action.starts_with("https://bucket.test"));
            if let Some(mut upload) = upload.filter(|_| is_received && random.bool()) {
                upload.set("file", PDF);
                self.submit(browser, &upload).await;
            }
            return;
        }
    }

    /// Uses the dashboard at random, signed in as the owner.
    pub(crate) async fn work(&self, mut random: fastrand::Rng, steps: u32) {
        let browser = self.browser(random.usize(1..3));
        let mut page = self.open(&browser, DASHBOARD).await;
        for _ in 0..steps {
            sleep(Duration::from_millis(random.u64(0..500))).await;
            page = self.signed_in(&browser, page).await;
            let forms: Vec<_> = page.forms().into_iter().filter(|form| self.is_allowed(form)).collect();
            page = match random.choice(forms) {
                Some(form) if random.u32(0..3) > 0 => {
                    let form = self.fill(form, &mut random);
                    self.submit(&browser, &form).await
                }
                _ => {
                    let path = random.choice(PAGES).unwrap_or_default();
                    self.open(&browser, &format!("{DASHBOARD}{path}")).await
                }
            };
        }
    }

    /// Signs in if the page is the form for that.
    async fn signed_in(&self, browser: &Browser, page: Page) -> Page {
        let next = browser.sign_in(&page, self.demo.email, self.demo.password).await;
        let Some(next) = next.map(|next| self.check(next)) else { return page };
        if next.is_signed_in() {
            self.live().known().audited("session.created");
        }
        next
    }

    /// Whether members submit this form. They lock neither themselves nor the second member out, and keep the clients' keys.
    fn is_allowed(&self, form: &Form) -> bool {
        let ids = [self.number as u64 + 1, SECOND_MEMBER + self.number as u64].map(|id| format!("/{id}/"));
        form.action.starts_with('/')
            && !ids.iter().any(|id| form.action.contains(id))
            && form.action != "/dashboard/settings/members/second-factor"
            && !form.fields.iter().any(|field| field.name == "previewed")
    }

    fn fill(&self, mut form: Form, random: &mut fastrand::Rng) -> Form {
        let word = self.live().word;
        let number = random.u32(0..1_000);
        for field in &mut form.fields {
            match field.kind.as_str() {
                "email" => field.value = format!("{word}.member{number}@example.com"),
                "password" => self.demo.password.clone_into(&mut field.value),
                "checkbox" | "radio" => field.is_sent = random.bool(),
                "select" => {
                    if let Some(option) = random.choice(&field.options) {
                        field.value.clone_from(option);
                    }
                }
                "text" if field.name == "phone_number_id" => "106540352242922".clone_into(&mut field.value),
                "text" | "textarea" if field.value.is_empty() => field.value = format!("{word} {number}."),
                "file" if random.bool() => PDF.clone_into(&mut field.value),
                "number" => field.value = random.u32(1..1_000).to_string(),
                _ => {}
            }
        }
        form
    }

    /// Connects an application, which uses its access, renews it and ends it.
    pub(crate) async fn connect(&self, mut random: fastrand::Rng, steps: u32) {
        let browser = self.browser(3);
        let page = self.open(&browser, SIGN_IN).await;
        self.signed_in(&browser, page).await;
        let mut app: Option<App> = None;
        for _ in 0..steps {
            sleep(Duration::from_millis(random.u64(0..500))).await;
            let Some(known) = &mut app else {
                app = self.authorize(&browser, &mut random).await;
                continue;
            };
            match random.u32(0..4) {
                0 => known.renew(&mut random).await,
                1 => {
                    known.revoke().await;
                    app = None;
                }
                _ => drop(known.read().await),
            }
        }
    }

    async fn authorize(&self, browser: &Browser, random: &mut fastrand::Rng) -> Option<App<'c>> {
        let word = self.live().word;
        let id = if random.bool() {
            format!("{APPS_URL}{word}")
        } else {
            let metadata = metadata(word).to_string();
            let registered = self.clients.post("/oauth/registrations", "application/json", metadata).await;
            registered.body["client_id"].as_str()?.to_owned()
        };
        let query = pairs(&[
            ("response_type", "code"),
            ("client_id", &id),
            ("redirect_uri", REDIRECT_URI),
            ("code_challenge", &challenge(VERIFIER)),
            ("code_challenge_method", "S256"),
            ("state", "1"),
            ("resource", &format!("{BASE_URL}/api/v1")),
        ]);
        let page = self.open(browser, &format!("/oauth/authorize?{query}")).await;
        let page = self.signed_in(browser, page).await;
        let mut form = page.form("/oauth/authorize")?;
        let mode = random.usize(0..2);
        form.set("mode", ["live", "test"][mode]);
        form.set("decision", "allow");
        let page = self.submit(browser, &form).await;
        let url = Url::parse(&page.url).ok().filter(|url| url.as_str().starts_with(REDIRECT_URI))?;
        let code = url.query_pairs().find(|(name, _)| name == "code")?.1.into_owned();
        let tenant = &self.clients.tenants[2 * self.number + mode];
        let mut app =
            App { clients: self.clients, tenant, id, access: String::new(), refresh: String::new() };
        let exchanged =
            [("code", code.as_str()), ("redirect_uri", REDIRECT_URI), ("code_verifier", VERIFIER)];
        let exchange = || app.token("authorization_code", &exchanged);
        let mut answers = vec![exchange().await];
        if answers[0].status >= 500 || random.u32(0..5) == 0 {
            answers.push(exchange().await);
        }
        answers.retain(|answer| answer.status == 200);
        if answers.len() > 1 {
            self.live().known().broken.push(format!("a code was exchanged twice: {answers:?}"));
        }
        app.keep(answers.first()?);
        tenant.known().audited("grant.created");
        Some(app)
    }

    /// Opens some pages. Returns those that fail.
    pub(crate) async fn failing_pages(&self, random: &mut fastrand::Rng) -> Vec<String> {
        let browser = self.browser(4);
        let page = self.open(&browser, DASHBOARD).await;
        let mut pages = vec![self.signed_in(&browser, page).await];
        for path in random.choose_multiple(PAGES, 2) {
            pages.push(self.open(&browser, &format!("{DASHBOARD}{path}")).await);
        }
        pages.retain(|page| page.status != 200);
        pages.into_iter().map(|page| format!("{} of {}: {}", page.url, self.demo.name, page.status)).collect()
    }

    /// The titles of all openings on the career page.
    pub(crate) async fn openings(&self) -> Vec<String> {
        let browser = self.browser(4);
        let (mut titles, mut next) = (Vec::new(), Some(self.career_page()));
        while let Some(path) = next {
            let page = self.open(&browser, &path).await;
            let cards = page.text.split("<li class=\"card\">").skip(1);
            titles.extend(cards.filter_map(|card| {
                let link = card.split("<a href=\"").nth(1)?.split('>').nth(1)?;
                Some(link.split('<').next()?.to_owned())
            }));
            let link = page.text.split("rel=\"next\" href=\"").nth(1).and_then(|rest| rest.split('"').next());
            next = link.map(|link| link.replace("&#38;", "&").replace("&amp;", "&"));
        }
        titles
    }
}

impl App<'_> {
    /// Requests tokens.
    async fn token(&self, grant: &str, form: &[(&str, &str)]) -> Answer {
        let form = pairs(&[&[("grant_type", grant), ("client_id", &self.id)], form].concat());
        self.clients.post("/oauth/token", "application/x-www-form-urlencoded", form).await
    }

    fn keep(&mut self, answer: &Answer) {
        let token = |name: &str| answer.body[name].as_str().unwrap_or_default().to_owned();
        (self.access, self.refresh) = (token("access_token"), token("refresh_token"));
    }

    async fn read(&self) -> Answer {
        let path = "/api/v1/roles?limit=2";
        self.clients.send_as(&self.access, self.tenant, Method::GET, path, "", &Value::Null).await
    }

    /// Renews the tokens, sometimes twice at the same time.
    async fn renew(&mut self, random: &mut fastrand::Rng) {
        let refresh = self.refresh.clone();
        let form = [("refresh_token", refresh.as_str())];
        for _ in 0..ATTEMPTS {
            let answer = if random.u32(0..4) == 0 {
                let (one, other) =
                    tokio::join!(self.token("refresh_token", &form), self.token("refresh_token", &form));
                if one.status == 200 { one } else { other }
            } else {
                self.token("refresh_token", &form).await
            };
            if answer.status == 200 {
                return self.keep(&answer);
            }
        }
    }

    /// Ends the access. It must then be refused.
    async fn revoke(&self) {
        let form = pairs(&[("token", self.refresh.as_str()), ("client_id", &self.id)]);
        for _ in 0..ATTEMPTS {
            let revoked =
                self.clients.post("/oauth/revoke", "application/x-www-form-urlencoded", form.clone()).await;
            if revoked.status != 200 {
                continue;
            }
            self.tenant.known().audited("grant.revoked");
            let answer = self.read().await;
            if answer.status < 400 {
                let sentence = format!("a revoked application read {}", answer.text);
                self.tenant.known().broken.push(sentence);
            }
            return;
        }
    }
}

fn pairs(pairs: &[(&str, &str)]) -> String {
    Serializer::new(String::new()).extend_pairs(pairs).finish()
}

impl Clients {
    /// Posts something without a key.
    async fn post(&self, path: &str, media: &str, body: String) -> Answer {
        let request = Request::post(path).header("host", "api.rolecall.test").header("content-type", media);
        let request = request.body(Bytes::from(body)).expect("a request");
        let answer = Answer::of(&self.deployment.request(request, [198, 51, 100, 99].into()).await);
        self.deployment.cloud.note(format!("{path} -> {} {}", answer.status, answer.text));
        answer
    }
}
