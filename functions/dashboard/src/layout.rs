//! The layout of every page in the signed-in area: the header, the menu, and the message after an action.

use std::sync::LazyLock;

use shared::http::MemberRequest;
use shared::http::page::{FILE_SIZE_SCRIPT, style_version};
use shared::model::{Candidate, MemberRole, Mode};
use shared::store::StoreError;

use crate::candidate_list::in_list;
use crate::closing::Closing;
use crate::messages::{Alert, Notice};
use crate::told::{self, Told};
use crate::undo::Undo;

/// The script of the pages with a board, a decision, a list of candidates, a text to copy or a file to choose.
pub(crate) static SCRIPT: LazyLock<String> =
    LazyLock::new(|| [include_str!("script.js"), FILE_SIZE_SCRIPT].concat());

/// The length of the random key of a page's forms.
const KEY_LENGTH: usize = 22;

/// The parts of a page around its content.
pub(crate) struct Layout<'p> {
    /// The version in the stylesheet's URL.
    pub(crate) style_version: &'static str,
    /// The CSRF token of every form.
    pub(crate) csrf: String,
    /// The random key of every form.
    pub(crate) key: String,
    /// The organization's name.
    pub(crate) organization: &'p str,
    /// The member's name.
    pub(crate) member: &'p str,
    /// The name of the member's time zone.
    pub(crate) time_zone: &'p str,
    /// Whether keys press what the pages offer.
    pub(crate) has_shortcuts: bool,
    /// Whether the page shows test data.
    pub(crate) is_test: bool,
    /// The newest notice, if the member has any to read.
    pub(crate) newest_notice: Option<Told>,
    /// Whether the member is an owner. Other members do not see the sections of owners.
    pub(crate) is_owner: bool,
    /// The page that is shown after a switch between live and test data: this one, if it is about no single thing.
    pub(crate) page_in_both_modes: &'static str,
    /// The section that the page belongs to.
    pub(crate) section: Section,
    /// The result of the last action.
    pub(crate) notice: Option<Notice>,
    /// Why the last action failed.
    pub(crate) alert: Option<Alert>,
    /// How the last action is undone.
    pub(crate) undo: Option<Undo>,
    /// How the last closing of a role is undone.
    pub(crate) closing: Option<Closing>,
    /// The query that keeps the list of candidates that the page was opened from; empty if there is none.
    pub(crate) in_list: String,
}

impl<'p> Layout<'p> {
    /// Returns the layout of a page in this section.
    pub(crate) fn of(request: &'p MemberRequest, section: Section) -> Self {
        let query = request.context.query();
        Self {
            style_version: style_version(),
            csrf: request.csrf(),
            key: request.context.random().token(KEY_LENGTH),
            organization: request.organization_name(),
            member: request.member().name.as_str(),
            time_zone: request.member().time_zone.as_str(),
            has_shortcuts: !request.member().shortcuts_are_off,
            is_test: request.organization().mode == Mode::Test,
            newest_notice: told::newest(request),
            is_owner: request.member().role == MemberRole::Owner,
            page_in_both_modes: request.context.path_without_parameters().unwrap_or(section.path()),
            section,
            // Only the sign-in page shows the others.
            notice: Notice::from_word(query.get("done")).filter(|notice| !notice.is_for_sign_in()),
            alert: Alert::from_word(query.get("failed")),
            undo: Undo::of(request),
            closing: Closing::of_message(request),
            in_list: in_list(request),
        }
    }

    /// The same layout with the name of the candidate whose move can be undone. `shown` is the candidate whose page it is.
    pub(crate) async fn naming_undone(
        mut self,
        request: &MemberRequest,
        shown: Option<&Candidate>,
    ) -> Result<Self, StoreError> {
        if let Some(undo) = self.undo.take() {
            self.undo = Some(undo.named(request, shown, self.notice).await?);
        }
        Ok(self)
    }

    /// The sections of the second part of the menu that the member may open.
    pub(crate) fn settings(&self) -> impl Iterator<Item = Section> {
        Section::SETTINGS.into_iter().filter(|section| self.is_owner || *section != Section::AuditLog)
    }

    /// The hint of a day that is in the member's time zone.
    pub(crate) fn in_zone(&self) -> String {
        format!("In your time zone, {}.", self.time_zone)
    }

    /// The beginning of a query that keeps the list and has other parameters.
    pub(crate) fn in_list_and(&self) -> String {
        if self.in_list.is_empty() { "?".to_owned() } else { format!("{}&", self.in_list) }
    }
}

/// A section of the dashboard in the menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// The plan, its usage and the newest candidates.
    Overview,
    /// Roles.
    Roles,
    /// Job postings.
    Postings,
    /// Candidates.
    Candidates,
    /// API keys.
    ApiKeys,
    /// Applications that members have granted access.
    ConnectedApps,
    /// Webhook endpoints.
    Webhooks,
    /// X, WhatsApp and the voice provider.
    Channels,
    /// The country, the time zone and the contact address.
    Organization,
    /// The reasons for which applications end.
    RejectionReasons,
    /// The appearance of the career page.
    CareerPage,
    /// The organization's own text on its privacy page.
    Privacy,
    /// How many application forms count as usual.
    ApplicationLimits,
    /// The retention rule.
    Retention,
    /// Who did what, and when.
    AuditLog,
    /// The organization's members.
    Members,
    /// The member's own account.
    Account,
}

impl Section {
    /// The first part of the menu.
    pub(crate) const WORK: [Self; 4] = [Self::Overview, Self::Roles, Self::Postings, Self::Candidates];
    /// The second part of the menu, under "Settings".
    pub(crate) const SETTINGS: [Self; 13] = [
        Self::ApiKeys,
        Self::ConnectedApps,
        Self::Webhooks,
        Self::Channels,
        Self::Organization,
        Self::RejectionReasons,
        Self::CareerPage,
        Self::Privacy,
        Self::ApplicationLimits,
        Self::Retention,
        Self::AuditLog,
        Self::Members,
        Self::Account,
    ];

    /// The label in the menu.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Roles => "Roles",
            Self::Postings => "Postings",
            Self::Candidates => "Candidates",
            Self::ApiKeys => "API keys",
            Self::ConnectedApps => "Connected apps",
            Self::Webhooks => "Webhooks",
            Self::Channels => "Channels",
            Self::Organization => "Organization",
            Self::RejectionReasons => "Rejection reasons",
            Self::CareerPage => "Career page",
            Self::Privacy => "Privacy",
            Self::ApplicationLimits => "Application limits",
            Self::Retention => "Retention",
            Self::AuditLog => "Audit log",
            Self::Members => "Members",
            Self::Account => "Account",
        }
    }

    /// The path of the section's first page.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Overview => "/dashboard",
            Self::Roles => "/dashboard/roles",
            Self::Postings => "/dashboard/postings",
            Self::Candidates => "/dashboard/candidates",
            Self::ApiKeys => "/dashboard/settings/integrations/api-keys",
            Self::ConnectedApps => "/dashboard/settings/integrations/connected-apps",
            Self::Webhooks => "/dashboard/webhooks",
            Self::Channels => "/dashboard/settings/integrations/channels",
            Self::Organization => "/dashboard/settings/organization",
            Self::RejectionReasons => "/dashboard/settings/rejection-reasons",
            Self::CareerPage => "/dashboard/settings/career-page",
            Self::Privacy => "/dashboard/settings/privacy",
            Self::ApplicationLimits => "/dashboard/settings/application-limits",
            Self::Retention => "/dashboard/settings/retention",
            Self::AuditLog => "/dashboard/settings/audit-log",
            Self::Members => "/dashboard/settings/members",
            Self::Account => "/dashboard/settings/account",
        }
    }
}
