//! A role as it was before it was closed. The page that asks, and the message afterwards, carry it, so that the closing can be
//! undone.

use shared::http::{MemberRequest, Parameters};
use shared::id::Id;
use shared::model::{Role, RoleAndPosting, RoleStatus};

/// A role as it is before it is closed, so that the closing can be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closing {
    /// The role.
    pub(crate) role: Id,
    /// The status before.
    pub(crate) status: RoleStatus,
    /// Whether the posting was on the career page.
    pub(crate) is_published: bool,
    /// The version of the role before.
    pub(crate) version: u64,
}

impl Closing {
    /// What a role is before it is closed.
    pub(crate) fn of(found: &RoleAndPosting, request: &MemberRequest) -> Self {
        let RoleAndPosting { role, posting, .. } = found;
        let is_published = posting.as_ref().is_some_and(|posting| posting.published);
        Self {
            role: role.id,
            status: role.status,
            is_published: is_published && !role.is_over(request.context.now()),
            version: role.version,
        }
    }

    /// What the page of a role has shown, from the fields of its form or of an address.
    pub(crate) fn parse(fields: &Parameters, role: Id) -> Option<Self> {
        Some(Self {
            role,
            status: fields.get("status").parse().ok().filter(|status| *status != RoleStatus::Closed)?,
            is_published: fields.get("published") == "true",
            version: fields.get("version").parse().ok()?,
        })
    }

    /// The closing that the message on this page can undo. The address is signed for the browser.
    pub(crate) fn of_message(request: &MemberRequest) -> Option<Self> {
        let query = request.context.query();
        let closing = Self::parse(&query, query.get("closed").parse().ok()?)?;
        let (keys, cookie, text) = (request.context.signing_keys(), request.page.cookie(), closing.text());
        keys.verify_signature(&["undo closing", cookie, &text], query.get("closed_by")).then_some(closing)
    }

    /// The address of the role's page, with what the message about the closing needs.
    pub(crate) fn path(self, request: &MemberRequest) -> String {
        let text = self.text();
        let keys = request.context.signing_keys();
        let signature = keys.sign(&["undo closing", request.page.cookie(), &text]);
        format!("/dashboard/roles/{}?{text}&closed_by={signature}", self.role)
    }

    fn text(self) -> String {
        let Self { role, status, is_published, version } = self;
        format!("closed={role}&status={}&published={is_published}&version={version}", status.as_str())
    }

    /// Whether this role was closed in this version, and not again later.
    pub(crate) fn has_closed(self, role: &Role) -> bool {
        role.closed_version == Some(self.version + 1)
    }
}
