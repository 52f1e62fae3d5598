//! The preview of a job: its page as applicants will get it, for members who write it.

use shared::clock::Timestamp;
use shared::http::page::Sources;
use shared::http::{Error, Html, MemberRequest, Parameters, Reply};
use shared::model::{Opening, PostingContent, RoleAndPosting, RoleContent, RoleStatus, Visibility};

use crate::application_form::Mistakes;
use crate::job_page::ShownJob;
use crate::pages::{Applications, Layout};
use crate::site::Site;

/// A job whose page a member wants to see. It need not be stored.
#[derive(PartialEq)]
pub struct Preview {
    /// The content of the role.
    pub role: RoleContent,
    /// The content of the posting; empty if the role has none.
    pub posting: PostingContent,
    /// The role and the posting as they are stored; `None` if there is no such role yet.
    pub stored: Option<RoleAndPosting>,
}

impl Preview {
    /// The preview of what is stored.
    pub fn of(stored: RoleAndPosting) -> Self {
        let posting = stored.posting.as_ref().map(|posting| posting.content.clone()).unwrap_or_default();
        Self { role: stored.role.content.clone(), posting, stored: Some(stored) }
    }

    /// Renders the page as applicants would get it while the job is open, whatever its status. It says who sees which page,
    /// no search engine may index it, and its form cannot be sent.
    pub async fn page(&self, request: &MemberRequest) -> Result<Reply<Html>, Error> {
        let (context, organization) = (&request.context, request.named_organization());
        let career = context.store().find_career_site(&organization.organization.slug).await?;
        let site = Site::new(context, career.ok_or(Error::NotFound)?);
        let now = context.now();
        let shown = ShownJob {
            role: &self.role,
            posting: self.posting.shown(&self.role),
            settings: &organization.settings,
            since: self.since(now),
        };
        let (typed, mistakes) = (Parameters::default(), Mistakes::default());
        // The dashboard has no bucket. The career pages have one.
        let form = shown.form(None, true, &typed, None, &mistakes);
        let layout = Layout { preview: Some(self.audience(now)), ..site.layout(None) };
        let page = shown.page(layout, Applications::Open(Box::new(form)), now);
        site.page(&page, &Sources::default())
    }

    /// When the job became public: now, if it has yet to be published.
    fn since(&self, now: Timestamp) -> Timestamp {
        match &self.stored {
            Some(RoleAndPosting { role, posting: Some(posting), .. })
                if Visibility::of(posting, role.status) != Visibility::Hidden =>
            {
                Opening::since(role, posting)
            }
            _ => now,
        }
    }

    /// Who sees which page, in words.
    fn audience(&self, now: Timestamp) -> String {
        let is_saved = self.stored.clone().map(Self::of).is_some_and(|saved| saved == *self);
        let until_published = "nobody can see this page until the job is published.";
        let audience = match &self.stored {
            Some(stored) if stored.role.status == RoleStatus::Closed => {
                "nobody can see this page while the role is closed."
            }
            Some(stored) if stored.role.is_over(now) => {
                "nobody can see this page because the last day to apply is over."
            }
            Some(RoleAndPosting { role, posting: Some(posting), .. }) => {
                match Visibility::of(posting, role.status) {
                    Visibility::Open if is_saved => "applicants see this page.",
                    Visibility::Open => "applicants see the page as it was last saved.",
                    Visibility::Paused => {
                        "applicants see the page without the form while the role is paused."
                    }
                    Visibility::Hidden => until_published,
                }
            }
            _ => until_published,
        };
        let of = if is_saved { "Preview" } else { "Preview of unsaved changes" };
        format!("{of}: {audience} The form cannot be sent from a preview.")
    }
}
