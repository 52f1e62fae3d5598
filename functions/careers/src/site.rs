//! An organization's career site: its paths, branding and page layout.

use std::future::ready;

use futures_util::future::OptionFuture;
use futures_util::join;
use shared::handlers::responses::posting::logo_path;
use shared::http::page::Sources;
use shared::http::{Error, Html, Reply, RequestContext};
use shared::model::{Accent, CareerSite, Colour, Mode, Slug, Tenant};
use shared::store::StoreError;
use url::Url;

use crate::assets::style_version;
use crate::pages::{Layout, UnknownJobPage, UnknownOrganizationPage, encoded};

/// The accent of the stylesheet.
const DEFAULT_ACCENT: &str = "#3448c5";

/// A career site and the values that its pages share.
pub(crate) struct Site {
    /// The organization's slug, branding and mode.
    pub(crate) career: CareerSite,
    portal: String,
    /// The path of the uploaded logo, or the URL of another one.
    logo_src: Option<String>,
    /// The URL of the icon of pages without a logo.
    icon: String,
    base_url: String,
    theme: Option<String>,
}

impl Site {
    /// Finds the site named in the request's path; `None` if it does not exist or is suspended.
    pub(crate) async fn find(context: &RequestContext) -> Result<Option<Self>, Error> {
        Ok(Self::find_with(context, |_| ready(Ok(()))).await?.map(|(site, ())| site))
    }

    /// Finds the site, and what `read` finds of its tenant. They are read at the same time if this instance knows whose site
    /// it is. If it was wrong, `read` runs again for the right tenant.
    pub(crate) async fn find_with<T, F>(
        context: &RequestContext,
        read: impl Fn(Tenant) -> F,
    ) -> Result<Option<(Self, T)>, Error>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let Some(slug) = Slug::parse(context.path_parameter("org")) else { return Ok(None) };
        let (known, site) = (context.known_sites().find(&slug), context.store().find_career_site(&slug));
        let early = OptionFuture::from(known.map(&read));
        let (site, early) = join!(site, early);
        let career = site?.filter(|career| !career.suspended);
        let tenant = career.as_ref().map(CareerSite::tenant);
        if known != tenant {
            context.known_sites().remember(&slug, tenant);
        }
        let (Some(career), Some(tenant)) = (career, tenant) else { return Ok(None) };
        let found = match early.filter(|_| known == Some(tenant)) {
            Some(found) => found?,
            None => read(tenant).await?,
        };
        Ok(Some((Self::new(context, career), found)))
    }

    /// This site.
    pub(crate) fn new(context: &RequestContext, career: CareerSite) -> Self {
        Self {
            portal: format!("/careers/{}", career.slug),
            logo_src: match (&career.logo, &career.branding.logo_url) {
                (Some(hash), _) => Some(logo_path(&career.slug, hash)),
                (None, address) => address.as_ref().map(|address| address.as_str().to_owned()),
            },
            icon: icon(career.branding.name.as_str(), career.branding.accent),
            base_url: context.base_url().to_owned(),
            theme: career.branding.accent.map(theme),
            career,
        }
    }

    /// Returns the path of the list of openings.
    pub(crate) fn portal(&self) -> &str {
        &self.portal
    }

    /// Returns the path of a posting's page.
    pub(crate) fn job_path(&self, slug: &Slug) -> String {
        format!("{}/{slug}", self.portal)
    }

    /// Returns the path of the privacy page.
    pub(crate) fn privacy_path(&self) -> String {
        format!("{}/privacy", self.portal)
    }

    /// Returns the absolute URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    /// Returns the organization's public name.
    pub(crate) fn name(&self) -> &str {
        self.career.branding.name.as_str()
    }

    /// Returns the absolute URL of the organization's logo.
    pub(crate) fn logo_url(&self) -> Option<String> {
        let src = self.logo_src.as_deref()?;
        Some(if src.starts_with('/') { self.url(src) } else { src.to_owned() })
    }

    /// Returns the layout of a page. Search engines index the page under `path`; a page without a path is `noindex`.
    pub(crate) fn layout(&self, path: Option<&str>) -> Layout<'_> {
        let is_test = self.career.mode == Mode::Test;
        Layout {
            style_version: style_version(),
            organization: self.name(),
            portal: &self.portal,
            logo_src: self.logo_src.as_deref(),
            icon: &self.icon,
            logo_url: self.logo_url(),
            theme: self.theme.as_deref(),
            canonical: path.map(|path| self.url(path)),
            robots: (is_test || path.is_none()).then_some("noindex"),
            is_test,
            preview: None,
        }
    }

    /// Renders a page of this site. It may use the `others` besides the site's own style and logo.
    pub(crate) fn page(
        &self,
        page: &impl askama::Template,
        others: &Sources<'_>,
    ) -> Result<Reply<Html>, Error> {
        // Without a logo, the icon is a `data:` URL.
        let logo = match self.logo_src.as_deref() {
            Some(src) if src.starts_with('/') => None,
            src => Some(src.and_then(origin).unwrap_or_else(|| "data:".to_owned())),
        };
        let sources = Sources { style: self.theme.as_deref(), image: logo.as_deref(), ..*others };
        Ok(Reply::page(page)?.using(&sources))
    }

    /// Returns the 404 page for an unknown posting.
    pub(crate) fn unknown_job(&self) -> Result<Reply<Html>, Error> {
        Ok(self.page(&UnknownJobPage { layout: self.layout(None) }, &Sources::default())?.with_status(404))
    }
}

/// Returns the 404 page for an unknown organization.
pub(crate) fn unknown_organization() -> Result<Reply<Html>, Error> {
    let page = Reply::page(&UnknownOrganizationPage { style_version: style_version() })?;
    Ok(page.using(&Sources { image: Some("data:"), ..Sources::default() }).with_status(404))
}

/// Returns the URL of a picture with the first letter of the organization's name, in its colour.
fn icon(name: &str, accent: Option<Accent>) -> String {
    let (paper, ink) = accent.map_or_else(
        || (DEFAULT_ACCENT.to_owned(), "#fff".to_owned()),
        |accent| (accent.on_light().to_string(), accent.on_light().text_on().to_string()),
    );
    // Only letters and digits, so that nothing needs to be escaped in XML.
    let letter = name.chars().find(|c| c.is_alphanumeric()).map(|c| c.to_uppercase().to_string());
    let svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='7' fill='{paper}'/>\
         <text x='16' y='23' font-family='sans-serif' font-size='20' font-weight='700' text-anchor='middle' \
         fill='{ink}'>{}</text></svg>",
        letter.unwrap_or_default()
    );
    format!("data:image/svg+xml,{}", encoded(&svg))
}

/// Returns an inline stylesheet with the organization's colour for light and dark pages.
fn theme(accent: Accent) -> String {
    let rule = |colour: Colour| format!(":root{{--accent:{colour};--on-accent:{}}}", colour.text_on());
    format!("{}@media (prefers-color-scheme:dark){{{}}}", rule(accent.on_light()), rule(accent.on_dark()))
}

/// Returns a URL's origin for the content security policy; `None` if the host contains characters that could break out
/// of the policy.
pub(crate) fn origin(url: &str) -> Option<String> {
    let origin = Url::parse(url).ok()?.origin().ascii_serialization();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:/[]".contains(&byte);
    origin.bytes().all(is_plain).then_some(origin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assets::STYLE;

    #[test]
    fn accent_contrast_is_checked_against_the_stylesheets_backgrounds() {
        let backgrounds =
            STYLE.lines().filter_map(|line| line.trim().strip_prefix("--paper: ")?.strip_suffix(';'));
        assert_eq!(backgrounds.collect::<Vec<_>>(), ["#fff", &Colour::INK.to_string()]);
        assert!(STYLE.contains(&format!("  --accent: {DEFAULT_ACCENT};")));
        let theme = theme("#2450d3".parse().unwrap());
        assert!(theme.starts_with(":root{--accent:#2450d3;--on-accent:#ffffff}@media"), "{theme}");
        assert!(!theme.contains(['<', '>', '&', '"', '\'']), "the theme must not need escaping: {theme}");
    }

    #[test]
    fn an_icon_has_the_first_letter_of_the_name_and_needs_no_escaping() {
        for (name, letter) in [
            ("acme", ">A<"),
            ("«Ünal» AG", ">%C3%9C<"),
            ("<b>&'\"", ">B<"),
            ("!", "><"),
            ("日本", ">%E6%97%A5<"),
        ] {
            let icon = icon(name, "#2450d3".parse().ok());
            let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%:/+,".contains(&byte);
            assert!(icon.bytes().all(safe) && icon.contains("%232450d3"), "{icon}");
            let (written, letter) = (icon.replace("%3E", ">").replace("%3C", "<"), format!("{letter}/text>"));
            assert!(written.replace("%2F", "/").contains(&letter), "{written}");
        }
    }

    #[test]
    fn an_origin_cannot_break_out_of_the_policy() {
        let plain = origin("https://münchen.example:8443/logo.png?v=1");
        assert_eq!(plain.as_deref(), Some("https://xn--mnchen-3ya.example:8443"));
        for url in [
            "https://a.example;sandbox/",
            "https://a.example,x/",
            "https://'unsafe-inline'/",
            "https://*/",
            "x",
        ] {
            assert_eq!(origin(url), None, "{url}");
        }
    }
}
