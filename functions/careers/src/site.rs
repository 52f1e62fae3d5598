//! Whose pages they are, and what all of them have in common.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use shared::http::page::Sources;
use shared::http::{Error, Page, Reply, Visit};
use shared::model::{Accent, CareerSite, Colour, Mode, Slug, WebAddress};
use url::Url;

use crate::pages::{Frame, UnknownJob, UnknownOrganization};

/// The stylesheet of the career pages.
pub(crate) const STYLE: &str = include_str!("../style.css");

/// A career site, as its pages need it.
pub(crate) struct Site {
    /// Whose it is.
    pub(crate) career: CareerSite,
    portal: String,
    base_url: String,
    theme: Option<String>,
}

impl Site {
    /// The site in the path; `None` where there is none to be seen.
    pub(crate) async fn find(visit: &Visit) -> Result<Option<Self>, Error> {
        let Some(slug) = Slug::parse(visit.parameter("org")) else { return Ok(None) };
        let found = visit.store().find_career_site(&slug).await?.filter(|career| !career.suspended);
        Ok(found.map(|career| Self {
            portal: format!("/careers/{}", career.slug),
            base_url: visit.base_url().to_owned(),
            theme: career.branding.accent.map(theme),
            career,
        }))
    }

    /// The path of the list.
    pub(crate) fn portal(&self) -> &str {
        &self.portal
    }

    /// The path of a posting.
    pub(crate) fn path(&self, slug: &Slug) -> String {
        format!("{}/{slug}", self.portal)
    }

    /// The address of a path of this site.
    pub(crate) fn address(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    /// The organization's name.
    pub(crate) fn name(&self) -> &str {
        self.career.branding.name.as_str()
    }

    /// The organization's logo.
    pub(crate) fn logo_url(&self) -> Option<&str> {
        self.career.branding.logo_url.as_ref().map(WebAddress::as_str)
    }

    /// The frame of a page, of which search engines are told `path`, unless they are to leave it.
    pub(crate) fn frame(&self, path: Option<&str>) -> Frame<'_> {
        let is_test = self.career.mode == Mode::Test;
        Frame {
            style_version: style_version(),
            organization: self.name(),
            portal: &self.portal,
            logo_url: self.logo_url(),
            theme: self.theme.as_deref(),
            canonical: path.map(|path| self.address(path)),
            robots: (is_test || path.is_none()).then_some("noindex"),
            is_test,
        }
    }

    /// A page of this site, which may lead a form to `form`, too.
    pub(crate) fn page(
        &self,
        page: &impl askama::Template,
        form: Option<&str>,
    ) -> Result<Reply<Page>, Error> {
        // Pages without a logo say with an empty icon that there is none.
        let logo = self.logo_url().and_then(origin).unwrap_or_else(|| "data:".to_owned());
        let sources = Sources { style: self.theme.as_deref(), image: Some(&logo), form };
        Ok(Reply::page(page)?.using(&sources))
    }

    /// 404: no posting.
    pub(crate) fn unknown_job(&self) -> Result<Reply<Page>, Error> {
        Ok(self.page(&UnknownJob { frame: self.frame(None) }, None)?.refused(404))
    }
}

/// 404: no organization.
pub(crate) fn unknown_organization() -> Result<Reply<Page>, Error> {
    let page = Reply::page(&UnknownOrganization { style_version: style_version() })?;
    Ok(page.using(&Sources { image: Some("data:"), ..Sources::default() }).refused(404))
}

/// What the stylesheet's address carries, so that browsers may keep it.
fn style_version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| URL_SAFE_NO_PAD.encode(&Sha256::digest(STYLE)[..9]));
    &VERSION
}

/// The organization's colour, on light and on dark pages.
fn theme(accent: Accent) -> String {
    let rule = |colour: Colour| format!(":root{{--accent:{colour};--on-accent:{}}}", colour.text_on());
    format!("{}@media (prefers-color-scheme:dark){{{}}}", rule(accent.on_light()), rule(accent.on_dark()))
}

/// The origin of an address, as a policy names it. A host may have characters that would end its place in a policy: it has
/// no name there.
fn origin(address: &str) -> Option<String> {
    let origin = Url::parse(address).ok()?.origin().ascii_serialization();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:/[]".contains(&byte);
    origin.bytes().all(is_plain).then_some(origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_are_checked_on_the_colours_that_the_stylesheet_puts_them_on() {
        let papers =
            STYLE.lines().filter_map(|line| line.trim().strip_prefix("--paper: ")?.strip_suffix(';'));
        assert_eq!(papers.collect::<Vec<_>>(), ["#fff", &Colour::INK.to_string()]);
        let theme = theme("#2450d3".parse().unwrap());
        assert!(theme.starts_with(":root{--accent:#2450d3;--on-accent:#ffffff}@media"), "{theme}");
        assert!(!theme.contains(['<', '>', '&', '"', '\'']), "it stands in the page as it is: {theme}");
    }

    #[test]
    fn an_origin_stays_in_its_place_in_a_policy() {
        let plain = origin("https://münchen.example:8443/logo.png?v=1");
        assert_eq!(plain.as_deref(), Some("https://xn--mnchen-3ya.example:8443"));
        for address in [
            "https://a.example;sandbox/",
            "https://a.example,x/",
            "https://'unsafe-inline'/",
            "https://*/",
            "x",
        ] {
            assert_eq!(origin(address), None, "{address}");
        }
    }
}
