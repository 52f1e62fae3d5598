//! Settings > Organization: the country, the time zone and the contact address.

use std::sync::Arc;

use askama::Template;
use shared::http::{Error, Html, MemberRequest, Reply, input};
use shared::id::Id;
use shared::model::{
    Country, Email, Lines, MemberRole, OrganizationSettings, Scalar, Source, Text, TimeZoneName, Value,
};

use crate::form_page::{Field, FieldKind, Form};
use crate::layout::{Layout, Section};
use crate::messages::Notice;

pub(crate) const PATH: &str = "/dashboard/settings/organization";

/// The page for members who cannot change the settings.
#[derive(Template)]
#[template(path = "organization.html")]
struct OrganizationPage<'p> {
    layout: Layout<'p>,
    settings: &'p OrganizationSettings,
}

input! {
    /// The values of the form.
    struct Values {
        country: optional Country,
        time_zone: required TimeZoneName,
        contact_email: optional Email,
        linkedin_company_id: optional Id,
        link_sources: optional Lines<5_000>,
    }
}

/// Shows the settings. Owners can change them.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let settings = &request.named_organization().settings;
    match request.member().role {
        MemberRole::Owner => form(settings).show(&request),
        MemberRole::Member => {
            Reply::page(&OrganizationPage { layout: Layout::of(&request, Section::Organization), settings })
        }
    }
}

/// Changes the settings, unless somebody else changed them after the page was opened.
pub(crate) async fn change(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let found = request.context.store().find_organization_settings(request.tenant()).await?;
    let before = found.ok_or(Error::NotFound)?;
    match save(&request, &before).await {
        Ok(()) => Ok(Notice::OrganizationChanged.redirect_to(PATH)),
        Err(error) => form(&before).show_again(&request, error),
    }
}

async fn save(request: &MemberRequest, before: &OrganizationSettings) -> Result<(), Error> {
    let Values { country, time_zone, contact_email, linkedin_company_id, link_sources } = request.input()?;
    let link_sources = sources(link_sources.as_ref().map_or("", Text::as_str))
        .map_err(|problem| Error::Validation(vec![format!("link_sources {problem}")]))?;
    let values = OrganizationSettings {
        country,
        time_zone,
        contact_email,
        linkedin_company_id,
        link_sources,
        ..before.clone()
    };
    // A form that is sent twice changes nothing the second time.
    let Some(after) = before.change(values) else { return Ok(()) };
    if request.page.form().non_empty("seen").is_some_and(|seen| seen != before.version.to_string()) {
        return Err(Error::PreconditionFailed);
    }
    let mut transaction = request.transaction();
    transaction.replace_organization_settings(before, &after)?;
    Ok(request.context.store().commit(transaction).await?)
}

/// Reads sources, one a line. A source that is there twice is read once.
fn sources(lines: &str) -> Result<Vec<Source>, String> {
    let mut sources: Vec<Source> = Vec::new();
    for line in lines.lines() {
        let Some(source) = Source::read(&Scalar::Word(line))? else { continue };
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    let most = OrganizationSettings::MAX_LINK_SOURCES;
    if sources.len() <= most { Ok(sources) } else { Err(format!("must be at most {most} lines")) }
}

fn form(settings: &OrganizationSettings) -> Form {
    let choice = |value: &str, label: &str| (value.to_owned(), label.to_owned());
    let countries = Country::all().map(|country| choice(country.code(), country.name()));
    let countries = [choice("", "Not given")].into_iter().chain(countries).collect();
    let time_zone = settings.time_zone.as_str();
    let mut zones: Vec<_> =
        TimeZoneName::choices().iter().map(|name| choice(name.as_str(), name.as_str())).collect();
    // The operator can also choose a name that is not a place.
    if !zones.iter().any(|(name, _)| name == time_zone) {
        zones.push(choice(time_zone, time_zone));
    }
    let fields = vec![
        Field::line("country", "Country")
            .of(FieldKind::Choice(countries))
            .hint("The country in which your organization hires, unless a role says otherwise.")
            .with(settings.country.map_or("", Country::code)),
        Field::line("time_zone", "Time zone")
            .of(FieldKind::Choice(zones))
            .hint(
                "For dates that have no time zone of their own. The dashboard shows times in the time zone that each \
                 member chooses under Account.",
            )
            .with(time_zone),
        Field::line("contact_email", "Contact e-mail address")
            .of(FieldKind::Line("email"))
            .at_most(Email::MAX)
            .hint(
                "Candidates can write to it about their data. It is shown on the privacy page, in the application form \
                 and after an application.",
            )
            .with(settings.contact_email.as_ref().map_or("", Email::as_str)),
        Field::line("linkedin_company_id", "Company ID on LinkedIn")
            .on_keyboard("numeric")
            .hint("Optional. The number in the address of your LinkedIn page when you edit it. LinkedIn's job feed needs it.")
            .with(&settings.linkedin_company_id.map(|id| id.to_string()).unwrap_or_default()),
        Field::line("link_sources", "Sources in links")
            .of(FieldKind::Lines(4))
            .hint(
                "Optional, one a line. A link to a job that ends with ?source= and one of these, such as ?source=Indeed, counts \
                 applications for that source. The feeds of job boards name Indeed and LinkedIn.",
            )
            .with(&settings.link_sources.iter().map(Source::as_str).collect::<Vec<_>>().join("\n")),
    ];
    Form::new(Section::Organization, "Organization", fields, PATH, "Save")
        .lead("Your live data and your test data each have their own settings.")
        .linking("/dashboard/exports", "Export everything that your organization has")
        .of_version(settings.version.to_string())
}
