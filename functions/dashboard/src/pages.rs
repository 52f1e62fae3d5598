//! The pages as their templates see them: plain text and numbers, nothing of the model.
//!
//! Texts that a page composes of several things, such as dates, arrive composed.

#![expect(clippy::struct_field_names, reason = "a page of roles has roles")]

use askama::Template;
use shared::http::page::{Problem, problem_of};
use shared::model::{WebAddress, grouped};

/// What every page of the signed-in area has around its content.
pub(crate) struct Frame<'p> {
    /// What the stylesheet's address carries.
    pub(crate) style_version: &'p str,
    /// What every form carries.
    pub(crate) csrf: String,
    /// The organization's name.
    pub(crate) organization: &'p str,
    /// The member's name.
    pub(crate) member: &'p str,
    /// Whether the test copy of the organization is looked at.
    pub(crate) is_test: bool,
    /// The part of the dashboard that the page belongs to.
    pub(crate) section: Section,
    /// A sentence about what was just done.
    pub(crate) notice: Option<String>,
    /// A sentence about what could not be done.
    pub(crate) error: Option<String>,
}

/// A part of the dashboard, as the navigation has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// Plan, usage and what is new.
    Overview,
    /// Roles.
    Roles,
    /// Job postings.
    Postings,
    /// Candidates.
    Candidates,
    /// API keys.
    ApiKeys,
    /// Applications that members have given access.
    ConnectedApps,
    /// X, `WhatsApp` and the voice provider.
    Channels,
    /// How the organization looks to candidates.
    CareerPage,
    /// The organization's people.
    Members,
    /// The member's own account.
    Account,
}

impl Section {
    /// The day's work.
    const WORK: [Self; 4] = [Self::Overview, Self::Roles, Self::Postings, Self::Candidates];
    /// What is set up once.
    const SETTINGS: [Self; 6] =
        [Self::ApiKeys, Self::ConnectedApps, Self::Channels, Self::CareerPage, Self::Members, Self::Account];

    const fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Roles => "Roles",
            Self::Postings => "Postings",
            Self::Candidates => "Candidates",
            Self::ApiKeys => "API keys",
            Self::ConnectedApps => "Connected apps",
            Self::Channels => "Channels",
            Self::CareerPage => "Career page",
            Self::Members => "Members",
            Self::Account => "Account",
        }
    }

    const fn path(self) -> &'static str {
        match self {
            Self::Overview => "/dashboard",
            Self::Roles => "/dashboard/roles",
            Self::Postings => "/dashboard/postings",
            Self::Candidates => "/dashboard/candidates",
            Self::ApiKeys => "/dashboard/settings/integrations/api-keys",
            Self::ConnectedApps => "/dashboard/settings/integrations/connected-apps",
            Self::Channels => "/dashboard/settings/integrations/channels",
            Self::CareerPage => "/dashboard/settings/career-page",
            Self::Members => "/dashboard/settings/members",
            Self::Account => "/dashboard/settings/account",
        }
    }
}

/// Sign-in.
#[derive(Template)]
#[template(path = "sign_in.html")]
pub(crate) struct SignIn<'p> {
    /// What the stylesheet's address carries.
    pub(crate) style_version: &'p str,
    /// What every form carries.
    pub(crate) csrf: String,
    /// Where to go on, a path of this service's.
    pub(crate) return_to: &'p str,
    /// The e-mail address as it was typed.
    pub(crate) email: &'p str,
    /// Why sign-in failed, a sentence.
    pub(crate) error: Option<String>,
    /// What was just done, a sentence: signed out, password set.
    pub(crate) notice: Option<String>,
}

/// The page behind a single-use link, which sets a password.
#[derive(Template)]
#[template(path = "set_password.html")]
pub(crate) struct SetPassword<'p> {
    /// What the stylesheet's address carries.
    pub(crate) style_version: &'p str,
    /// What every form carries.
    pub(crate) csrf: String,
    /// The link's secret.
    pub(crate) token: &'p str,
    /// Whose password it is.
    pub(crate) email: &'p str,
    /// The organization's name.
    pub(crate) organization: &'p str,
    /// The member's name as it stands in the form; `None` unless this accepts an invitation.
    pub(crate) name: Option<&'p str>,
    /// Of the fields `name`, `password` and `repeated`.
    pub(crate) problems: Vec<Problem>,
}

/// The overview.
#[derive(Template)]
#[template(path = "overview.html")]
pub(crate) struct Overview<'p> {
    /// What is around it.
    pub(crate) frame: Frame<'p>,
    /// The plan's name.
    pub(crate) plan: &'p str,
    /// The plan's price, US dollars a month.
    pub(crate) price: u64,
    /// Today's requests (UTC).
    pub(crate) requests_today: u64,
    /// How many there may be in a day; `None` where there is no limit.
    pub(crate) limit: Option<u64>,
    /// The last days' requests.
    pub(crate) usage: Chart,
    /// How many roles are open, as far as they are counted: `12`, `100+`.
    pub(crate) open_roles: String,
    /// How many postings are published, likewise.
    pub(crate) published_postings: String,
    /// The newest candidates, five at most.
    pub(crate) newest: Vec<CandidateRow<'p>>,
    /// Where the API is, without a final slash.
    pub(crate) base_url: &'p str,
}

/// A bar chart of requests by day, in units of its own.
pub(crate) struct Chart {
    bars: Vec<Bar>,
    total: u64,
    most: u64,
}

/// A day's bar.
struct Bar {
    day: String,
    requests: u64,
    x: usize,
    y: u64,
    height: u64,
}

impl Chart {
    const HEIGHT: u64 = 120;
    /// From one bar to the next.
    const STEP: usize = 20;
    /// A day with requests is seen, however many another one has.
    const LOWEST: u64 = 3;

    /// A chart of these days, the oldest first.
    pub(crate) fn of(days: Vec<(String, u64)>) -> Self {
        let most = days.iter().map(|(_, requests)| *requests).max().unwrap_or(0);
        let total = days.iter().fold(0, |sum: u64, (_, requests)| sum.saturating_add(*requests));
        let bars = days.into_iter().enumerate().map(|(place, (day, requests))| {
            let share = u128::from(requests) * u128::from(Self::HEIGHT) / u128::from(most.max(1));
            let share = u64::try_from(share).unwrap_or(Self::HEIGHT);
            let height = if requests == 0 { 0 } else { share.max(Self::LOWEST) };
            Bar { day, requests, x: place * Self::STEP, y: Self::HEIGHT - height, height }
        });
        Self { bars: bars.collect(), total, most }
    }

    fn width(&self) -> usize {
        self.bars.len() * Self::STEP
    }

    fn first_day(&self) -> &str {
        self.bars.first().map_or("", |bar| &bar.day)
    }

    fn last_day(&self) -> &str {
        self.bars.last().map_or("", |bar| &bar.day)
    }
}

/// The list of roles.
#[derive(Template)]
#[template(path = "roles.html")]
pub(crate) struct Roles<'p> {
    /// What is around it.
    pub(crate) frame: Frame<'p>,
    /// The status that is listed; `None` for all.
    pub(crate) status: Option<&'p str>,
    /// A page of roles.
    pub(crate) roles: Vec<RoleRow<'p>>,
    /// Where the next page is.
    pub(crate) next: Option<String>,
    /// Where the API is, without a final slash.
    pub(crate) base_url: &'p str,
}

/// A role in a list.
pub(crate) struct RoleRow<'p> {
    /// The identifier.
    pub(crate) id: u64,
    /// The title.
    pub(crate) title: &'p str,
    /// `draft`, `open`, `paused` or `closed`.
    pub(crate) status: &'p str,
    /// The department.
    pub(crate) department: Option<&'p str>,
    /// The place.
    pub(crate) location: Option<&'p str>,
    /// Distinct candidates.
    pub(crate) applicants: u64,
    /// Voice screens.
    pub(crate) screens: u64,
}

/// A role and its pipeline.
#[derive(Template)]
#[template(path = "role.html")]
pub(crate) struct Role<'p> {
    /// What is around it.
    pub(crate) frame: Frame<'p>,
    /// The identifier.
    pub(crate) id: u64,
    /// The title.
    pub(crate) title: &'p str,
    /// `draft`, `open`, `paused` or `closed`.
    pub(crate) status: &'p str,
    /// The department.
    pub(crate) department: Option<&'p str>,
    /// The place.
    pub(crate) location: Option<&'p str>,
    /// `onsite`, `hybrid` or `remote`.
    pub(crate) remote_policy: Option<&'p str>,
    /// The range, with its currency.
    pub(crate) salary: Option<String>,
    /// The role's posting.
    pub(crate) posting: Option<RolePosting<'p>>,
    /// Distinct candidates.
    pub(crate) applicants: u64,
    /// Voice screens.
    pub(crate) screens: u64,
    /// Voice screens that were completed.
    pub(crate) completed: u64,
    /// Passed of completed, with its percent sign; `None` before the first.
    pub(crate) pass_rate: Option<String>,
    /// 0 to 100; `None` before the first.
    pub(crate) average_score: Option<String>,
    /// The pipeline's stages, in their order.
    pub(crate) stages: Vec<Stage<'p>>,
}

/// A role's posting.
pub(crate) struct RolePosting<'p> {
    /// Its public address.
    pub(crate) address: &'p str,
    /// Whether the address shows it.
    pub(crate) is_published: bool,
}

/// A stage of a role's pipeline.
pub(crate) struct Stage<'p> {
    /// `applied`, `screening`, `interview`, `offer`, `hired` or `rejected`.
    pub(crate) stage: &'p str,
    /// The first of its candidates.
    pub(crate) candidates: Vec<StageCandidate<'p>>,
    /// Whether there may be more.
    pub(crate) has_more: bool,
}

/// A candidate in a stage.
pub(crate) struct StageCandidate<'p> {
    /// The identifier.
    pub(crate) id: u64,
    /// The name.
    pub(crate) name: &'p str,
}

/// The list of job postings.
#[derive(Template)]
#[template(path = "postings.html")]
pub(crate) struct Postings<'p> {
    /// What is around it.
    pub(crate) frame: Frame<'p>,
    /// A page of postings.
    pub(crate) postings: Vec<PostingRow<'p>>,
    /// Where the next page is.
    pub(crate) next: Option<String>,
}

/// A job posting in a list.
pub(crate) struct PostingRow<'p> {
    /// The title.
    pub(crate) title: &'p str,
    /// Whether it is on the career page.
    pub(crate) is_published: bool,
    /// Its public address.
    pub(crate) address: String,
    /// Its role.
    pub(crate) role_id: u64,
}

/// The list of candidates.
#[derive(Template)]
#[template(path = "candidates.html")]
pub(crate) struct Candidates<'p> {
    /// What is around it.
    pub(crate) frame: Frame<'p>,
    /// The stage that is listed; `None` for all.
    pub(crate) stage: Option<&'p str>,
    /// The role whose candidates are listed; `None` for all.
    pub(crate) role: Option<RoleFilter<'p>>,
    /// A page of candidates.
    pub(crate) candidates: Vec<CandidateRow<'p>>,
    /// Where the next page is.
    pub(crate) next: Option<String>,
}

/// A role whose candidates are listed.
pub(crate) struct RoleFilter<'p> {
    /// The identifier.
    pub(crate) id: u64,
    /// The title.
    pub(crate) title: &'p str,
}

/// A candidate in a list.
pub(crate) struct CandidateRow<'p> {
    /// The identifier.
    pub(crate) id: u64,
    /// The name.
    pub(crate) name: &'p str,
    /// The e-mail address.
    pub(crate) email: &'p str,
    /// The stage.
    pub(crate) stage: &'p str,
    /// The day when the candidate was added.
    pub(crate) since: String,
}

/// A candidate with all that has happened.
#[derive(Template)]
#[template(path = "candidate.html")]
pub(crate) struct Candidate<'p> {
    /// What is around it.
    pub(crate) frame: Frame<'p>,
    /// The name.
    pub(crate) name: &'p str,
    /// The e-mail address.
    pub(crate) email: &'p str,
    /// The telephone number.
    pub(crate) phone: Option<&'p str>,
    /// Where the resume is; http or https.
    pub(crate) resume_url: Option<&'p str>,
    /// Whether that is a file that we keep.
    pub(crate) has_resume_file: bool,
    /// The stage.
    pub(crate) stage: &'p str,
    /// The day when the candidate was added.
    pub(crate) since: String,
    /// The applications, newest first.
    pub(crate) applications: Vec<Application<'p>>,
    /// The voice screens, newest first.
    pub(crate) screens: Vec<Screen<'p>>,
    /// The touchpoints, newest first.
    pub(crate) history: Vec<Touchpoint<'p>>,
}

/// A candidate's application.
pub(crate) struct Application<'p> {
    /// The role.
    pub(crate) role_id: u64,
    /// The role's title.
    pub(crate) role_title: &'p str,
    /// `active`, `rejected`, `hired` or `closed`.
    pub(crate) status: &'p str,
    /// `manual`, `api` or `career_page`.
    pub(crate) source: &'p str,
    /// The day.
    pub(crate) applied: String,
}

/// A candidate's voice screen.
pub(crate) struct Screen<'p> {
    /// The role.
    pub(crate) role_id: u64,
    /// The role's title.
    pub(crate) role_title: &'p str,
    /// `queued`, `scheduled`, `in_progress`, `completed`, `no_answer` or `failed`.
    pub(crate) status: &'p str,
    /// `passed` or `failed`.
    pub(crate) result: Option<&'p str>,
    /// The overall score, 0 to 100.
    pub(crate) score: Option<u8>,
    /// The conversation in a few sentences.
    pub(crate) summary: Option<&'p str>,
    /// When it took or takes place, or was asked for.
    pub(crate) at: String,
}

/// An entry of a candidate's history.
pub(crate) struct Touchpoint<'p> {
    /// When.
    pub(crate) at: String,
    /// By whom.
    pub(crate) actor: &'p str,
    /// What was done.
    pub(crate) sentence: String,
    /// What an applicant wrote.
    pub(crate) note: Option<&'p str>,
    /// The file that an applicant sent.
    pub(crate) resume_url: Option<WebAddress>,
}

/// The API keys of the mode that is looked at.
#[derive(Template)]
#[template(path = "api_keys.html")]
pub(crate) struct ApiKeys<'p> {
    /// What is around it.
    pub(crate) frame: Frame<'p>,
    /// The keys, newest first.
    pub(crate) keys: Vec<KeyRow<'p>>,
    /// The key that was just created.
    pub(crate) created: Option<CreatedKey<'p>>,
    /// The new key's name as it was typed.
    pub(crate) name: &'p str,
    /// The mode that is chosen for the new key: `live` or `test`.
    pub(crate) mode: &'p str,
    /// The scopes that a key can have.
    pub(crate) scopes: Vec<ScopeChoice<'p>>,
    /// In how many days the new key expires, as it was typed.
    pub(crate) expires_in_days: &'p str,
    /// Of the fields `name`, `scope` and `expires_in_days`.
    pub(crate) problems: Vec<Problem>,
    /// Where the API is, without a final slash.
    pub(crate) base_url: &'p str,
}

/// An API key in a list.
pub(crate) struct KeyRow<'p> {
    /// The identifier.
    pub(crate) id: u64,
    /// What its owner calls it.
    pub(crate) name: &'p str,
    /// What it may do, as `roles:read`.
    pub(crate) scopes: Vec<&'p str>,
    /// The day.
    pub(crate) created: String,
    /// The day; `None` for never.
    pub(crate) last_used: Option<String>,
    /// The day; `None` for never.
    pub(crate) expires: Option<String>,
    /// `active`, `expired` or `revoked`.
    pub(crate) state: &'p str,
}

/// An API key that is shown this once.
pub(crate) struct CreatedKey<'p> {
    /// What its owner calls it.
    pub(crate) name: &'p str,
    /// `live` or `test`.
    pub(crate) mode: &'p str,
    /// Whether it is among the keys that the page lists, those of the mode that is looked at.
    pub(crate) is_listed: bool,
    /// The key itself.
    pub(crate) secret: &'p str,
}

/// A scope to choose.
pub(crate) struct ScopeChoice<'p> {
    /// As the API writes it: `roles:read`.
    pub(crate) value: &'p str,
    /// What it allows, in plain words.
    pub(crate) words: &'p str,
    /// Whether it is chosen.
    pub(crate) is_ticked: bool,
}

/// Applications that members have given access.
#[derive(Template)]
#[template(path = "connected_apps.html")]
pub(crate) struct ConnectedApps<'p> {
    /// What is around it.
    pub(crate) frame: Frame<'p>,
    /// The applications, newest first.
    pub(crate) apps: Vec<AppRow<'p>>,
    /// Where tools connect, without a final slash.
    pub(crate) base_url: &'p str,
}

/// A connected application.
pub(crate) struct AppRow<'p> {
    /// The grant's identifier.
    pub(crate) id: u64,
    /// The name that it gives itself.
    pub(crate) name: &'p str,
    /// The host that it redirects to.
    pub(crate) host: &'p str,
    /// The name of the member who connected it.
    pub(crate) member: &'p str,
    /// `live` or `test`.
    pub(crate) mode: &'p str,
    /// What it may do, in plain words.
    pub(crate) scopes: Vec<&'p str>,
    /// The day.
    pub(crate) connected: String,
    /// The day; `None` for never.
    pub(crate) last_used: Option<String>,
}

/// The organization's channels.
#[derive(Template)]
#[template(path = "channels.html")]
pub(crate) struct Channels<'p> {
    /// What is around it.
    pub(crate) frame: Frame<'p>,
    /// X.
    pub(crate) x: Channel<'p>,
    /// `WhatsApp`.
    pub(crate) whatsapp: Channel<'p>,
    /// The `WhatsApp` number's identifier as it was typed.
    pub(crate) phone_number_id: &'p str,
    /// Of the fields `phone_number_id` and `token`.
    pub(crate) problems: Vec<Problem>,
    /// Who makes the calls of voice screens: a name.
    pub(crate) voice_provider: &'p str,
    /// Whether it can make them.
    pub(crate) voice_is_ready: bool,
    /// A sentence on what that means.
    pub(crate) voice_detail: &'p str,
}

/// An account elsewhere.
pub(crate) struct Channel<'p> {
    /// `connected`, `disconnected`, `expired` or `error`.
    pub(crate) status: &'p str,
    /// The account's name, where there is an account.
    pub(crate) account: Option<String>,
    /// A sentence, where there is something to say.
    pub(crate) detail: Option<String>,
    /// When the provider last answered.
    pub(crate) checked_at: Option<String>,
    /// Why no account can be connected, a sentence; `None` where one can.
    pub(crate) unavailable: Option<&'p str>,
}

/// The organization's people.
#[derive(Template)]
#[template(path = "members.html")]
pub(crate) struct Members<'p> {
    /// What is around it.
    pub(crate) frame: Frame<'p>,
    /// Whether an owner looks at it, who may change things.
    pub(crate) is_owner: bool,
    /// The members.
    pub(crate) members: Vec<MemberRow<'p>>,
    /// The link that was just made.
    pub(crate) link: Option<MadeLink<'p>>,
    /// The new member's name as it was typed.
    pub(crate) name: &'p str,
    /// The new member's e-mail address as it was typed.
    pub(crate) email: &'p str,
    /// The new member's role as it was chosen: `owner` or `member`.
    pub(crate) role: &'p str,
    /// Of the fields `name`, `email` and `role`.
    pub(crate) problems: Vec<Problem>,
}

/// A member in a list.
pub(crate) struct MemberRow<'p> {
    /// The identifier.
    pub(crate) id: u64,
    /// The name.
    pub(crate) name: &'p str,
    /// The e-mail address.
    pub(crate) email: &'p str,
    /// `owner` or `member`.
    pub(crate) role: &'p str,
    /// `active` or `invited`.
    pub(crate) state: &'p str,
    /// Until when the invitation is good; `None` where there is none that is.
    pub(crate) invited_until: Option<String>,
    /// Whether it is who looks at the page.
    pub(crate) is_self: bool,
}

/// A single-use link that is shown this once.
pub(crate) struct MadeLink<'p> {
    /// The link.
    pub(crate) address: &'p str,
    /// Whose it is.
    pub(crate) name: &'p str,
    /// Where to send it.
    pub(crate) email: &'p str,
    /// Until when it is good.
    pub(crate) until: String,
}

/// How the organization looks to candidates, as it stands in the form.
#[derive(Template)]
#[template(path = "career_page.html")]
pub(crate) struct CareerPage<'p> {
    /// What is around it.
    pub(crate) frame: Frame<'p>,
    /// The career page's address.
    pub(crate) address: &'p str,
    /// The name that candidates read.
    pub(crate) name: &'p str,
    /// The organization in one paragraph.
    pub(crate) introduction: &'p str,
    /// The colour: `#2450d3`.
    pub(crate) accent: &'p str,
    /// The logo's address.
    pub(crate) logo_url: &'p str,
    /// Of the fields `name`, `introduction`, `accent` and `logo_url`.
    pub(crate) problems: Vec<Problem>,
}

/// The member's own account.
#[derive(Template)]
#[template(path = "account.html")]
pub(crate) struct Account<'p> {
    /// What is around it.
    pub(crate) frame: Frame<'p>,
    /// The member's e-mail address.
    pub(crate) email: &'p str,
    /// Of the fields `current`, `password` and `repeated`.
    pub(crate) problems: Vec<Problem>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bar_stands_on_the_ground_and_is_seen_if_there_was_a_request(requests in prop::collection::vec(any::<u64>(), 0..40)) {
            let chart = Chart::of(requests.iter().map(|requests| (String::new(), *requests)).collect());
            prop_assert_eq!(chart.bars.len(), requests.len());
            for (bar, requests) in chart.bars.iter().zip(requests) {
                prop_assert_eq!(bar.y + bar.height, Chart::HEIGHT);
                prop_assert_eq!(bar.height == 0, requests == 0);
                prop_assert!(requests != chart.most || requests == 0 || bar.height == Chart::HEIGHT);
                prop_assert!(bar.x < chart.width());
            }
        }
    }
}
