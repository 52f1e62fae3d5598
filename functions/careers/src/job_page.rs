//! A posting's page, with the application form.

use futures_util::future::OptionFuture;
use futures_util::join;
use shared::clock::Timestamp;
use shared::http::page::Sources;
use shared::http::{Error, Html, Parameters, PublicRequest, Reply, RequestContext};
use shared::model::{
    CandidateRecord, Country, Day, Email, EmploymentType, Mode, Opening, OrganizationSettings, Posting,
    PublicContent, Questions, RemotePolicy, Role, RoleContent, Slug, Source, Text, Visibility,
};

use crate::application_form::{Mistakes, SOURCE, consent_boxes};
use crate::assets::script_version;
use crate::formatting::{age, excerpt};
use crate::json_ld::JobPosting;
use crate::page_time::{self, OPENED};
use crate::pages::{ApplicationForm, Applications, GonePage, JobPage, KeptResume, Layout};
use crate::question_fields;
use crate::site::{Site, unknown_organization};
use shared::descriptions;
use shared::services::files::MAX_FILE;

/// A posting that candidates can see.
pub(crate) struct PostedJob {
    /// The career site that shows it.
    pub(crate) site: Site,
    /// The posting.
    pub(crate) posting: Posting,
    /// The posting's role.
    pub(crate) role: Role,
    /// The settings of the organization.
    pub(crate) settings: OrganizationSettings,
    /// Whether it accepts applications.
    pub(crate) is_open: bool,
    /// Whether its closing date is over. Its page is gone, but who has applied can still add a file.
    is_over: bool,
}

impl PostedJob {
    /// Finds the posting named in the request's path. The inner error is the page for a missing or hidden posting.
    pub(crate) async fn find(context: &RequestContext) -> Result<Result<Self, Reply<Html>>, Error> {
        Ok(Self::find_with_applicant(context, None).await?.map(|(job, _)| job))
    }

    /// Finds the posting, and at the same time the candidate with this e-mail address.
    pub(crate) async fn find_with_applicant(
        context: &RequestContext,
        email: Option<&Email>,
    ) -> Result<Result<(Self, Option<CandidateRecord>), Reply<Html>>, Error> {
        let (store, slug) = (context.store(), Slug::parse(context.path_parameter("slug")));
        let slug = slug.as_ref();
        let claims = |tenant| async move {
            let posted = slug.map(|slug| store.find_posted_under(tenant, slug));
            let claimed = email.map(|email| store.find_claimed_email(tenant, email));
            let (posted, claimed) = join!(OptionFuture::from(posted), OptionFuture::from(claimed));
            Ok((posted.transpose()?.flatten(), claimed.transpose()?.flatten()))
        };
        let Some((site, (posted, claimed))) = Site::find_with(context, claims).await? else {
            return unknown_organization().map(Err);
        };
        let Some(posted) = posted else { return site.unknown_job().map(Err) };
        let tenant = site.career.tenant();
        let applicant = email.map(|_| store.find_claimant(tenant, claimed));
        let (found, applicant) = join!(store.find_posted(tenant, posted), OptionFuture::from(applicant));
        let applicant = applicant.transpose()?.flatten();
        let Some((posting, role, settings)) = found? else { return site.unknown_job().map(Err) };
        let is_over = role.is_over(context.now());
        let visibility = Visibility::of(&posting, role.status);
        let is_open = visibility == Visibility::Open && !is_over;
        let job = Self { site, posting, role, settings, is_open, is_over };
        // Whether a task has unpublished the posting after its closing date makes no difference.
        if visibility == Visibility::Hidden && !is_over {
            Ok(Err(job.gone()?))
        } else {
            Ok(Ok((job, applicant)))
        }
    }

    /// Renders the page of a job that is no longer available.
    fn gone(&self) -> Result<Reply<Html>, Error> {
        // The page must not reveal the title of a posting that was never public.
        let was_public = self.posting.published_at.is_some() && self.role.opened_at.is_some();
        let title = was_public.then(|| self.content().title.as_str());
        let gone = GonePage { layout: self.site.layout(None), title };
        Ok(self.site.page(&gone, &Sources::default())?.with_status(410))
    }

    /// Returns the path of the posting's page.
    pub(crate) fn path(&self) -> String {
        self.site.job_path(&self.posting.slug)
    }

    /// The country whose telephone numbers need no country code.
    pub(crate) fn country(&self) -> Option<Country> {
        self.role.content.places.country().or(self.settings.country)
    }

    /// Renders the page. If the posting is open, the page has an application form with the values in `typed`, the file that
    /// was `kept` and the `mistakes`.
    pub(crate) fn page(
        &self,
        context: &RequestContext,
        typed: &Parameters,
        kept: Option<KeptResume<'_>>,
        mistakes: &Mistakes,
    ) -> Result<Reply<Html>, Error> {
        if self.is_over {
            return self.gone();
        }
        let shown = ShownJob {
            role: &self.role.content,
            posting: self.content(),
            settings: &self.settings,
            since: Opening::since(&self.role, &self.posting),
        };
        let path = self.path();
        let applications = if self.is_open {
            let action = Some(format!("{path}/apply"));
            let form = shown.form(action, context.stores_files(), typed, kept, mistakes);
            Applications::Open(Box::new(form))
        } else {
            Applications::Paused
        };
        let layout = self.site.layout(Some(path.as_str()).filter(|_| self.is_open));
        let mut page = shown.page(layout, applications, context.now());
        page.json_ld = self.json_ld(&path, &page);
        let script = page.runs_script();
        self.site.page(&page, &Sources { script, ..Sources::default() })
    }

    /// Returns the posting's content as shown.
    pub(crate) fn content(&self) -> PublicContent<'_> {
        self.posting.content.shown(&self.role.content)
    }

    /// Returns the structured data for search engines; `None` for paused postings and test data.
    fn json_ld(&self, path: &str, page: &JobPage<'_>) -> Option<String> {
        if !self.is_open || self.site.career.mode == Mode::Test {
            return None;
        }
        let content = &self.role.content;
        let (description, requirements) = (page.description.as_deref(), page.requirements.as_deref());
        let parts: Vec<_> = description.into_iter().chain(requirements).collect();
        JobPosting {
            title: page.title,
            description_html: &parts.join("\n"),
            date_posted: &page.date,
            organization: self.site.name(),
            organization_url: &self.site.url(self.site.portal()),
            logo_url: self.site.logo_url().as_deref(),
            places: &content.places,
            is_remote: content.remote_policy() == Some(RemotePolicy::Remote),
            employment_type: content.employment_type,
            pay: content.pay,
            closes_at: self.role.closes_at,
            url: &self.site.url(path),
            identifier: self.posting.id.get(),
        }
        .json_ld()
    }
}

/// What the page of a job shows, whether or not it is stored.
pub(crate) struct ShownJob<'j> {
    /// The content of the role.
    pub(crate) role: &'j RoleContent,
    /// The content of the posting as shown.
    pub(crate) posting: PublicContent<'j>,
    /// The settings of the organization.
    pub(crate) settings: &'j OrganizationSettings,
    /// When the job became public.
    pub(crate) since: Timestamp,
}

impl<'j> ShownJob<'j> {
    /// Returns the page, without structured data.
    pub(crate) fn page(
        &self,
        layout: Layout<'j>,
        applications: Applications<'j>,
        now: Timestamp,
    ) -> JobPage<'j> {
        let Self { role, since, .. } = *self;
        let PublicContent { title, description, requirements, questions: _ } = self.posting;
        let (description, requirements) = (description.map(Text::as_str), requirements.map(Text::as_str));
        JobPage {
            layout,
            title: title.as_str(),
            department: role.department.as_ref().map(Text::as_str),
            locations: role.places.names(),
            countries: role.places.countries().into_iter().map(Country::name).collect(),
            remote_policy: role.remote_policy().map(RemotePolicy::as_str),
            employment_type: role.employment_type.map(EmploymentType::words),
            pay: role.pay.words(),
            pay_label: role.pay.label(),
            closes_on: role.closes_on,
            age: age(Day::of(since).date(), Day::of(now).date()),
            date: Day::of(since).to_string(),
            description_text: excerpt(&descriptions::running_text(description.unwrap_or_default())),
            description: description.map(descriptions::html),
            requirements: requirements.map(descriptions::html),
            json_ld: None,
            applications,
        }
    }

    /// Returns the application form with the values in `typed`, the file that was `kept` and the `mistakes`. Without an
    /// `action`, nobody can send it.
    pub(crate) fn form(
        &self,
        action: Option<String>,
        takes_file: bool,
        typed: &'j Parameters,
        kept: Option<KeptResume<'j>>,
        mistakes: &'j Mistakes,
    ) -> ApplicationForm<'j> {
        ApplicationForm {
            action,
            name: typed.get("name"),
            email: typed.get("email"),
            phone: typed.get("phone"),
            takes_file,
            script_version: script_version(),
            largest_file: MAX_FILE,
            kept,
            resume_url: typed.get("resume_url"),
            note: typed.get("note"),
            questions: question_fields::fields(typed, self.posting.questions, &mistakes.answers),
            later_files: if takes_file { required_files(self.posting.questions) } else { 0 },
            opened: typed.get(OPENED),
            source: self.settings.link_source(typed.get(SOURCE)).map(Source::as_str),
            consents: consent_boxes(typed),
            contact: self.settings.contact_email.as_ref(),
            problems: &mistakes.fields,
        }
    }
}

/// The number of files that the page after the form requires.
fn required_files(questions: &Questions) -> usize {
    questions.of_files().filter(|question| question.content.is_required()).count()
}

/// Shows a posting with the application form.
pub(crate) async fn show(request: PublicRequest) -> Result<Reply<Html>, Error> {
    let context = &request.context;
    let job = match PostedJob::find(context).await? {
        Ok(job) => job,
        Err(reply) => return Ok(reply.cached()),
    };
    let opened = page_time::now(context, job.site.career.tenant(), job.posting.id);
    let source = context.query().get(SOURCE).to_owned();
    let form = [(OPENED.to_owned(), opened), (SOURCE.to_owned(), source)].into_iter().collect();
    let end = job.role.closes_at.filter(|_| !job.is_over);
    Ok(job.page(context, &form, None, &Mistakes::default())?.cached_until(end, context.now()))
}
