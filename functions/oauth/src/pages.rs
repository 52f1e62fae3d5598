//! The consent page.

use askama::Template;

/// The page that asks a member to allow an application access. The application chose its own name.
#[derive(Template)]
#[template(path = "consent.html")]
pub(crate) struct ConsentPage<'p> {
    /// The version in the stylesheet's URL.
    pub(crate) style_version: &'p str,
    /// The CSRF token of every form.
    pub(crate) csrf: String,
    /// The application's name.
    pub(crate) application: &'p str,
    /// The host that the browser is redirected to.
    pub(crate) redirect_host: &'p str,
    /// The host that publishes the application's metadata document; `None` for a registered application.
    pub(crate) client_host: Option<&'p str>,
    /// The organization's name.
    pub(crate) organization: &'p str,
    /// The member's e-mail address.
    pub(crate) email: &'p str,
    /// The path and query of this page, to return to after signing in as another member.
    pub(crate) return_to: &'p str,
    /// The descriptions of the offered scopes.
    pub(crate) scopes: Vec<&'p str>,
    /// The descriptions of the requested scopes that only an owner could give.
    pub(crate) for_owners: Vec<&'p str>,
    /// The site whose applications may only read, if an owner decided so.
    pub(crate) narrowed: Option<&'p str>,
    /// Whether the application could do anything through the API without asking.
    pub(crate) acts_through_api: bool,
    /// Whether the live data has room for a further application.
    pub(crate) live: bool,
    /// Whether the test data has.
    pub(crate) test: bool,
    /// The initially selected mode: `live` or `test`; empty if neither has room.
    pub(crate) mode: &'p str,
    /// The applications that lose their access if the member allows this one.
    pub(crate) endings: Vec<Ending>,
    /// What the page offers, as a hidden field of the form.
    pub(crate) offer: String,
    /// The parameters of the authorization request, as hidden fields of the form.
    pub(crate) hidden: Vec<(String, String)>,
}

/// An application that loses its access in favour of the new one.
pub(crate) struct Ending {
    /// The mode of the data.
    pub(crate) mode: &'static str,
    /// The application's name.
    pub(crate) application: String,
    /// The host of its redirect URI.
    pub(crate) host: String,
    /// The day on which it was last used.
    pub(crate) last_used: Option<String>,
}
