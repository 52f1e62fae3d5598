//! The page that asks a member whether an application may have access.

use askama::Template;

/// Asks for consent. What it says of the application, the application says of itself.
#[derive(Template)]
#[template(path = "consent.html")]
pub(crate) struct Consent<'p> {
    /// What the stylesheet's address carries.
    pub(crate) style_version: &'p str,
    /// What every form carries.
    pub(crate) csrf: String,
    /// The application's name.
    pub(crate) application: &'p str,
    /// The host that the member is sent on to.
    pub(crate) redirect_host: &'p str,
    /// The host of the application's home page.
    pub(crate) home_host: Option<&'p str>,
    /// Whether anybody could have registered the application under that name.
    pub(crate) is_unverified: bool,
    /// The organization's name.
    pub(crate) organization: &'p str,
    /// The member's e-mail address.
    pub(crate) email: &'p str,
    /// Where the member comes back to after signing in as somebody else: this page's path and query.
    pub(crate) return_to: &'p str,
    /// What the application may do, in plain words.
    pub(crate) scopes: Vec<&'p str>,
    /// The mode that is chosen at first: `live` or `test`.
    pub(crate) mode: &'p str,
    /// The request's parameters, which the form sends back.
    pub(crate) hidden: Vec<(String, String)>,
}
