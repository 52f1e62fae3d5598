//! The second member of an organization, who turns a second factor and a passkey on and off, and signs in with them.

use std::time::Duration;

use jiff::SignedDuration;
use shared::model::TotpSecret;
use tests::passkeys::Device;
use tokio::time::sleep;

use crate::browser::{Browser, Form, Page, SECOND_STEP};
use crate::deployment::second_email;
use crate::factors::{Factors, Standing};
use crate::people::{DASHBOARD, People};

const ACCOUNT: &str = "/dashboard/settings/account";
const SECOND_FACTOR: &str = "/dashboard/settings/account/second-factor";
const PASSKEYS: &str = "/dashboard/settings/account/passkeys";
const PASSKEY_STEP: &str = "/dashboard/sign-in/passkey";
/// After this time, an authenticator app shows another code.
const NEXT_CODE: Duration = Duration::from_secs(31);
/// After this time, wrong codes are no longer counted.
const FORGOTTEN: SignedDuration = SignedDuration::from_mins(16);
/// Of so many codes and passkeys, one is sent twice at the same time.
const TWINS: u32 = 3;

/// What follows the password.
enum Entry {
    SignedIn,
    /// The form for a code.
    Code(Form),
    Failed,
}

impl People<'_> {
    /// Changes the factors and signs in with them, at random.
    pub(crate) async fn guard(&self, mut random: fastrand::Rng, steps: u32) {
        for _ in 0..steps {
            sleep(Duration::from_millis(random.u64(0..500))).await;
            let signed_in = if random.u32(0..3) == 0 {
                self.enter_with_passkey(&mut random).await
            } else {
                self.enter_with_password(&mut random).await
            };
            let Some(browser) = signed_in else { continue };
            match random.u32(0..5) {
                0..2 => self.change_second_factor(&browser).await,
                2 => self.renew_codes(&browser).await,
                _ => self.change_passkey(&browser, &mut random).await,
            }
        }
    }

    /// Signs in when all is quiet: what the member has is accepted, and what was used or removed is not.
    pub(crate) async fn check_factors(&self, random: &mut fastrand::Rng) {
        self.clients.deployment.skip(FORGOTTEN);
        if self.enter_with_password(random).await.is_none() {
            self.fail(Some("the second member cannot sign in".to_owned()));
        }
        let used = self.factors(|factors| random.choice(&factors.dead).cloned());
        let browser = self.browser(6);
        if let (Entry::Code(form), Some(code)) = (self.send_password(&browser).await, used) {
            self.send_code(&browser, form, &code).await;
        }
        let has_passkey = self.factors(|factors| factors.has_passkey);
        if self.enter_with_passkey(random).await.is_none() && has_passkey == Standing::Yes {
            self.fail(Some("a passkey was not accepted".to_owned()));
        }
    }

    fn factors<T>(&self, look: impl FnOnce(&mut Factors) -> T) -> T {
        look(&mut self.live().known().factors)
    }

    fn fail(&self, sentence: Option<String>) {
        self.live().known().broken.extend(sentence.map(|sentence| format!("{}: {sentence}", self.demo.name)));
    }

    /// Signs in with the password, and with a code if one is needed. Returns the browser if that succeeds.
    async fn enter_with_password(&self, random: &mut fastrand::Rng) -> Option<Browser> {
        let browser = self.browser(5);
        let form = match self.send_password(&browser).await {
            Entry::SignedIn => return Some(browser),
            Entry::Code(form) => form,
            Entry::Failed => return None,
        };
        let code = self.next_code(random).await?;
        let is_accepted = if random.u32(0..TWINS) == 0 {
            let other = self.browser(6);
            let Entry::Code(twin) = self.send_password(&other).await else { return None };
            let sent =
                tokio::join!(self.send_code(&browser, form, &code), self.send_code(&other, twin, &code));
            // Either of them may be the first.
            if sent.1.is_signed_in() {
                return Some(other);
            }
            sent.0.is_signed_in()
        } else {
            let page = self.send_code(&browser, form, &code).await;
            self.fail((page.status == 401).then(|| format!("the new code {code} was refused")));
            page.is_signed_in()
        };
        is_accepted.then_some(browser)
    }

    async fn send_password(&self, browser: &Browser) -> Entry {
        let page = self.open(browser, DASHBOARD).await;
        let next = browser.sign_in(&page, &second_email(self.demo), self.demo.password).await;
        let Some(page) = next.map(|next| self.check(next)) else { return Entry::Failed };
        if let Some(form) = page.form(SECOND_STEP) {
            self.fail(self.factors(|factors| factors.observe(true)));
            return Entry::Code(form);
        }
        if !page.is_signed_in() {
            return Entry::Failed;
        }
        self.fail(self.factors(|factors| factors.observe(false)));
        self.live().known().audited("session.created");
        Entry::SignedIn
    }

    async fn send_code(&self, browser: &Browser, mut form: Form, code: &str) -> Page {
        form.set("code", code);
        let page = self.submit(browser, &form).await;
        if page.is_signed_in() {
            self.fail(self.factors(|factors| factors.accept(code)));
            self.live().known().audited("session.created");
        }
        page
    }

    /// A code that was not sent yet: a recovery code, or what the app shows.
    async fn next_code(&self, random: &mut fastrand::Rng) -> Option<String> {
        if random.u32(0..3) == 0
            && let Some(code) = self.factors(|factors| factors.recovery_codes.pop())
        {
            return Some(code);
        }
        let app = self.factors(|factors| factors.app.clone())?;
        loop {
            let code = app.code_at(self.clients.deployment.now());
            if self.factors(|factors| factors.sent.insert(code.clone())) {
                return Some(code);
            }
            sleep(NEXT_CODE).await;
        }
    }

    async fn change_second_factor(&self, browser: &Browser) {
        let page = self.open(browser, SECOND_FACTOR).await;
        if let Some(form) = page.form(SECOND_FACTOR) {
            self.fail(self.factors(|factors| factors.observe(false)));
            self.turn_on(browser, form).await;
        } else if let Some(form) = page.form(&format!("{SECOND_FACTOR}/remove")) {
            self.fail(self.factors(|factors| factors.observe(true)));
            self.factors(|factors| factors.needs_code = Standing::Unknown);
            let page = self.submit(browser, &form).await;
            if page.url.ends_with("done=second-factor-removed") {
                self.factors(|factors| {
                    factors.needs_code = Standing::No;
                    factors.replace_codes(Vec::new());
                });
            }
        }
    }

    async fn turn_on(&self, browser: &Browser, mut form: Form) {
        let field = form.fields.iter().find(|field| field.name == "secret");
        let secret = field.and_then(|field| TotpSecret::parse(&field.value)).expect("a secret");
        let code = secret.code_at(self.clients.deployment.now());
        self.factors(|factors| {
            factors.needs_code = Standing::Unknown;
            factors.app = Some(secret);
            factors.sent.insert(code.clone());
            factors.replace_codes(Vec::new());
        });
        form.set("code", &code);
        if let Some(codes) = new_codes(&self.submit(browser, &form).await) {
            self.factors(|factors| factors.replace_codes(codes));
            self.fail(self.factors(|factors| factors.observe(true).or_else(|| factors.accept(&code))));
        }
    }

    async fn renew_codes(&self, browser: &Browser) {
        let page = self.open(browser, SECOND_FACTOR).await;
        let Some(form) = page.form(&format!("{SECOND_FACTOR}/recovery-codes")) else { return };
        match new_codes(&self.submit(browser, &form).await) {
            Some(codes) => self.factors(|factors| factors.replace_codes(codes)),
            // They may have been replaced.
            None => self.factors(|factors| factors.recovery_codes.clear()),
        }
    }

    /// Signs in with the passkey, if there was one. Returns the browser if that succeeds.
    async fn enter_with_passkey(&self, random: &mut fastrand::Rng) -> Option<Browser> {
        let mut device = self.factors(|factors| factors.device.clone())?;
        let browser = self.browser(7);
        let page = self.open(&browser, PASSKEY_STEP).await;
        let mut form = page.form(PASSKEY_STEP)?;
        form.set("credential", &device.sign(&page.text).to_string());
        self.factors(|factors| factors.device = Some(device));
        let page = if random.u32(0..TWINS) == 0 {
            let sent = tokio::join!(self.submit(&browser, &form), self.submit(&browser, &form));
            let are_accepted = sent.0.is_signed_in() && sent.1.is_signed_in();
            self.fail(are_accepted.then(|| "the answer of a passkey was accepted twice".to_owned()));
            // Either of them may be the first.
            if sent.1.is_signed_in() { sent.1 } else { sent.0 }
        } else {
            self.submit(&browser, &form).await
        };
        let has_passkey = self.factors(|factors| factors.has_passkey);
        if page.url.contains("failed=not-accepted") && has_passkey == Standing::Yes {
            self.fail(Some("a passkey was not accepted".to_owned()));
        }
        if !page.is_signed_in() {
            return None;
        }
        self.fail((has_passkey == Standing::No).then(|| "a removed passkey was accepted".to_owned()));
        self.factors(|factors| factors.has_passkey = Standing::Yes);
        self.live().known().audited("session.created");
        Some(browser)
    }

    /// Removes the passkey, or adds one if the account has none.
    async fn change_passkey(&self, browser: &Browser, random: &mut fastrand::Rng) {
        let page = self.open(browser, ACCOUNT).await;
        if !page.is_signed_in() {
            return;
        }
        if let Some(form) = removal(&page) {
            self.factors(|factors| factors.has_passkey = Standing::Unknown);
            let page = self.submit(browser, &form).await;
            if page.is_signed_in() && removal(&page).is_none() {
                self.factors(|factors| factors.has_passkey = Standing::No);
            }
            return;
        }
        let page = self.open(browser, PASSKEYS).await;
        let Some(mut form) = page.form(PASSKEYS) else { return };
        let mut device = Device::new(random.u8(1..=250));
        form.set("credential", &device.create(&page.text));
        form.set("name", &format!("{} phone", self.live().word));
        self.factors(|factors| (factors.has_passkey, factors.device) = (Standing::Unknown, Some(device)));
        let page = self.submit(browser, &form).await;
        if page.url.ends_with("done=passkey-added") {
            self.factors(|factors| factors.has_passkey = Standing::Yes);
        }
    }
}

/// The form that removes a passkey.
fn removal(page: &Page) -> Option<Form> {
    page.forms().into_iter().find(|form| form.action.starts_with(PASSKEYS))
}

/// The recovery codes that the page shows.
fn new_codes(page: &Page) -> Option<Vec<String>> {
    let (_, rest) = page.text.split_once("<textarea id=\"recovery\"")?;
    let codes = rest.split_once('>')?.1.split("</textarea>").next()?;
    Some(codes.lines().map(str::to_owned).collect())
}
