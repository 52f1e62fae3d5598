//! Settings > Application limits: how many application forms count as usual. A form above a limit is suspect.

use std::sync::Arc;

use askama::Template;
use shared::http::page::{Problem, problem_of};
use shared::http::{Error, Html, MemberRequest, Parameters, Reply};
use shared::model::{ApplicationLimits, CareerSite, MemberRole, grouped};

use crate::dates::{self, Time};
use crate::form::{collect, problem};
use crate::layout::{Layout, Section};
use crate::messages::Notice;

pub(crate) const PATH: &str = "/dashboard/settings/application-limits";

#[derive(Template)]
#[template(path = "application_limits.html")]
struct LimitsPage<'p> {
    layout: Layout<'p>,
    is_owner: bool,
    limits: [Limit; 4],
    /// When everything was last counted from zero.
    cleared: Option<Time>,
    /// Problems with the fields of the limits.
    problems: Vec<Problem>,
}

/// A limit in the form.
struct Limit {
    field: &'static str,
    label: &'static str,
    /// The current value, or what was typed.
    value: String,
    hint: String,
}

/// The fields of the limits, with their labels.
const FIELDS: [(&str, &str); 4] = [
    ("address", "From one IP address in an hour"),
    ("network", "From one network in an hour"),
    ("posting", "For one job on a day"),
    ("site", "For all jobs on a day"),
];

/// Shows the limits.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let site = find(&request).await?;
    let values = numbers(&site.limits).map(|number| number.to_string());
    Reply::page(&page(&request, &site, values, Vec::new()))
}

/// Sets the limits, or has everything counted from zero again.
pub(crate) async fn change(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (form, site) = (request.page.form(), find(&request).await?);
    let (limits, notice) = if form.get("act") == "clear" {
        let cleared_at = Some(request.context.now());
        (ApplicationLimits { cleared_at, ..site.limits }, Notice::ApplicationLimitsCleared)
    } else {
        match read(form, site.limits) {
            Ok(limits) => (limits, Notice::ApplicationLimitsSaved),
            Err(problems) => {
                let values = FIELDS.map(|(field, _)| form.get(field).to_owned());
                return Ok(Reply::page(&page(&request, &site, values, problems))?.with_status(422));
            }
        }
    };
    if limits != site.limits {
        let mut transaction = request.transaction();
        transaction.put_application_limits(request.organization(), &limits)?;
        request.context.store().commit(transaction).await?;
    }
    Ok(notice.redirect_to(PATH))
}

/// Reads the limits from the form.
fn read(form: &Parameters, before: ApplicationLimits) -> Result<ApplicationLimits, Vec<Problem>> {
    let mut problems = Vec::new();
    let (usual, highest) = (numbers(&ApplicationLimits::USUAL), numbers(&ApplicationLimits::HIGHEST));
    let mut read = |index: usize| {
        let ((field, label), range) = (FIELDS[index], usual[index]..=highest[index]);
        let typed = form.get(field).trim().replace(',', "");
        let number = typed.parse().ok().filter(|number| range.contains(number));
        let message =
            || format!("must be a number from {} to {}", written(*range.start()), written(*range.end()));
        collect(number.ok_or_else(|| problem(field, label, &message())), &mut problems).unwrap_or_default()
    };
    let [address, network, posting, site] = [0, 1, 2, 3].map(&mut read);
    if problems.is_empty() {
        Ok(ApplicationLimits { address, network, posting, site, cleared_at: before.cleared_at })
    } else {
        Err(problems)
    }
}

const fn numbers(limits: &ApplicationLimits) -> [u32; 4] {
    [limits.address, limits.network, limits.posting, limits.site]
}

fn written(number: u32) -> String {
    grouped(u64::from(number))
}

async fn find(request: &MemberRequest) -> Result<CareerSite, Error> {
    let slug = &request.organization().slug;
    request.context.store().find_career_site(slug).await?.ok_or(Error::NotFound)
}

fn page<'p>(
    request: &'p MemberRequest,
    site: &CareerSite,
    values: [String; 4],
    problems: Vec<Problem>,
) -> LimitsPage<'p> {
    let (usual, highest) = (numbers(&ApplicationLimits::USUAL), numbers(&ApplicationLimits::HIGHEST));
    let mut values = values.into_iter();
    let limits = [0, 1, 2, 3].map(|index| {
        let (field, label) = FIELDS[index];
        let hint = format!("Usually {}, at most {}.", written(usual[index]), written(highest[index]));
        Limit { field, label, value: values.next().unwrap_or_default(), hint }
    });
    LimitsPage {
        layout: Layout::of(request, Section::ApplicationLimits),
        is_owner: request.member().role == MemberRole::Owner,
        limits,
        cleared: site.limits.cleared_at.map(|at| dates::zone(request).minute(at)),
        problems,
    }
}
