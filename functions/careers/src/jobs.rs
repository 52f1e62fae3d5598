//! A posting's own page.

use std::sync::Arc;

use shared::http::page::Problem;
use shared::http::{Error, Page, Parameters, Reply, Visit};
use shared::model::{Day, Mode, Opening, Posting, RemotePolicy, Role, Salary, Slug, Text, Visibility};

use crate::job_posting::JobPosting;
use crate::markdown;
use crate::pages::{Application, Form, Gone, Job};
use crate::site::{Site, unknown_organization};
use crate::words::{age, excerpt};

/// A posting that can be seen.
pub(crate) struct Found {
    /// On whose site.
    pub(crate) site: Site,
    /// The posting.
    pub(crate) posting: Posting,
    /// Its role.
    pub(crate) role: Role,
    /// Whether it takes applications.
    pub(crate) is_open: bool,
}

impl Found {
    /// The posting in the path, or the page that says why there is nothing to be seen of it.
    pub(crate) async fn find(visit: &Visit) -> Result<Result<Self, Reply<Page>>, Error> {
        let Some(site) = Site::find(visit).await? else { return unknown_organization().map(Err) };
        let found = match Slug::parse(visit.parameter("slug")) {
            Some(slug) => visit.store().find_posting_by_slug(site.career.tenant(), &slug).await?,
            None => None,
        };
        let Some((posting, role)) = found else { return site.unknown_job().map(Err) };
        match Visibility::of(&posting, role.status) {
            Visibility::Open => Ok(Ok(Self { site, posting, role, is_open: true })),
            Visibility::Paused => Ok(Ok(Self { site, posting, role, is_open: false })),
            Visibility::Hidden => {
                // What was never public says nothing about itself.
                let was_public = posting.published_at.is_some() && role.opened_at.is_some();
                let title = was_public.then(|| posting.content.title.as_str());
                let gone = site.page(&Gone { frame: site.frame(None), title }, None)?;
                Ok(Err(gone.refused(410)))
            }
        }
    }

    /// Where its page is.
    pub(crate) fn path(&self) -> String {
        self.site.path(&self.posting.slug)
    }

    /// The page, with the form where one can apply, as it was typed and with what is wrong with it.
    pub(crate) fn page(
        &self,
        visit: &Visit,
        typed: &Parameters,
        problems: Vec<Problem>,
    ) -> Result<Reply<Page>, Error> {
        let content = &self.role.content;
        let description = self.description();
        let requirements = self.posting.content.requirements.as_ref().map(Text::as_str);
        let (description_html, requirements_html) =
            (description.map(markdown::html), requirements.map(markdown::html));
        let since = Opening::since(&self.role, &self.posting);
        let (path, date) = (self.path(), Day::of(since).to_string());
        let json_ld = self.json_ld(&path, &date, description_html.as_deref(), requirements_html.as_deref());
        let page = Job {
            frame: self.site.frame(Some(path.as_str()).filter(|_| self.is_open)),
            title: self.posting.content.title.as_str(),
            department: content.department.as_ref().map(Text::as_str),
            location: content.location.as_ref().map(Text::as_str),
            remote_policy: content.remote_policy.map(RemotePolicy::as_str),
            salary: content.salary.words(),
            age: age(Day::of(since).date(), Day::of(visit.now()).date()),
            date,
            description_text: excerpt(&markdown::plain(description.unwrap_or_default())),
            description: description_html,
            requirements: requirements_html,
            json_ld,
            application: if self.is_open {
                Application::Open(Form {
                    action: format!("{path}/apply"),
                    name: typed.get("name"),
                    email: typed.get("email"),
                    phone: typed.get("phone"),
                    resume_url: typed.get("resume_url"),
                    note: typed.get("note"),
                    has_consent: typed.given("consent").is_some(),
                    problems,
                })
            } else {
                Application::Closed
            },
        };
        self.site.page(&page, None)
    }

    /// The public description, or the role's where there is none.
    fn description(&self) -> Option<&str> {
        let public = self.posting.content.public_description.as_ref();
        public.or(self.role.content.description.as_ref()).map(Text::as_str)
    }

    /// The opening for search engines, while it is one that they may find.
    fn json_ld(
        &self,
        path: &str,
        date: &str,
        description: Option<&str>,
        requirements: Option<&str>,
    ) -> Option<String> {
        if !self.is_open || self.site.career.mode == Mode::Test {
            return None;
        }
        let content = &self.role.content;
        let parts: Vec<_> = description.into_iter().chain(requirements).collect();
        JobPosting {
            title: self.posting.content.title.as_str(),
            description_html: &parts.join("\n"),
            date_posted: date,
            organization: self.site.name(),
            organization_url: &self.site.address(self.site.portal()),
            logo_url: self.site.logo_url(),
            location: content.location.as_ref().map(Text::as_str),
            is_remote: content.remote_policy == Some(RemotePolicy::Remote),
            salary_min: content.salary.min().map(Salary::dollars),
            salary_max: content.salary.max().map(Salary::dollars),
            url: &self.site.address(path),
            identifier: self.posting.id.get(),
        }
        .json_ld()
    }
}

/// Shows a posting with the form to apply.
pub(crate) async fn show(visit: Arc<Visit>) -> Result<Reply<Page>, Error> {
    let found = match Found::find(&visit).await? {
        Ok(found) => found,
        Err(reply) => return Ok(visit.cached(reply)),
    };
    Ok(visit.cached(found.page(&visit, &Parameters::default(), Vec::new())?))
}
