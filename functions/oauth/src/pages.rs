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
    /// The descriptions of the requested scopes.
    pub(crate) scopes: Vec<&'p str>,
    /// The initially selected mode: `live` or `test`.
    pub(crate) mode: &'p str,
    /// The parameters of the authorization request, as hidden fields of the form.
    pub(crate) hidden: Vec<(String, String)>,
}
