//! The feeds that job boards read. Each has all openings that its board accepts, one entry for each place, and says only what
//! the career page also shows.

use std::fmt::Write;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use futures_util::try_join;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use sha2::{Digest, Sha256};
use shared::clock::Timestamp;
use shared::descriptions;
use shared::http::{Error, Output, PublicRequest, Reply};
use shared::model::{
    Amount, Country, Day, Email, EmploymentType, JobBoard, Mode, Opening, OrganizationSettings, Pay,
    PayPeriod, Place, Posting, RemotePolicy, Role, Text,
};
use shared::store::Search;

use crate::application_form::SOURCE;
use crate::site::Site;

/// The number of openings that a feed reads at most, the newest.
const MOST: usize = 2_000;
/// The number of megabytes that this takes at most.
const MEGABYTES: usize = 2;
/// The number of openings whose postings and roles are read together, and how often at the same time.
const TOGETHER: usize = 50;
const AT_ONCE: usize = 4;
/// The maximum size of a feed, in bytes as a JSON string. Lambda has a limit of 6 MB.
const LARGEST: usize = 5_500_000;

/// A feed for a job board.
pub(crate) enum BoardFeed {}

impl Output for BoardFeed {
    const STATUS: u16 = 200;
    const MEDIA: &'static str = "application/xml";
    const HEADERS: &'static [&'static str] = &["etag"];
    type Body = String;
}

/// Lists the openings that Indeed accepts, in its XML.
///
/// # Errors
///
/// - `not_found`: the organization has no career page.
pub(crate) async fn show_indeed(request: PublicRequest) -> Result<Reply<BoardFeed>, Error> {
    show(request, JobBoard::Indeed).await
}

/// Lists the openings that LinkedIn accepts, in its XML.
///
/// # Errors
///
/// - `not_found`: the organization has no career page.
pub(crate) async fn show_linkedin(request: PublicRequest) -> Result<Reply<BoardFeed>, Error> {
    show(request, JobBoard::LinkedIn).await
}

async fn show(request: PublicRequest, board: JobBoard) -> Result<Reply<BoardFeed>, Error> {
    let context = &request.context;
    let site = Site::find(context).await?.ok_or(Error::NotFound)?;
    let (store, tenant, now) = (context.store(), site.career.tenant(), context.now());
    let search = Search { before: None, limit: MOST, megabytes: MEGABYTES };
    // Test data must not reach a job board.
    let is_listed = |_: &Opening| tenant.mode == Mode::Live;
    let openings = store.search_openings(tenant, search, now, is_listed);
    let (openings, settings) = try_join!(openings, store.find_organization_settings(tenant))?;
    let (openings, settings) = (openings.items, settings.unwrap_or_default());
    let ids =
        openings.chunks(TOGETHER).map(|batch| batch.iter().map(|opening| (opening.id, opening.role_id)));
    let ids: Vec<Vec<_>> = ids.map(Iterator::collect).collect();
    let pairs = ids.into_iter().map(|ids| store.find_postings_and_roles(tenant, ids));
    let mut read = stream::iter(pairs).buffered(AT_ONCE);
    let (mut entries, mut newest, mut size) = (Vec::new(), None, 0);
    let mut batches = openings.chunks(TOGETHER);
    'read: while let (Some(batch), Some(found)) = (batches.next(), read.try_next().await?) {
        for opening in batch {
            let Some((posting, role)) = found.get(&opening.id) else { continue };
            let Some(entry) = entry(board, &site, opening, posting, role, &settings) else { continue };
            size += entry.len() + entry.matches(['"', '\n', '\\']).count();
            if size > LARGEST {
                break 'read;
            }
            newest = newest.max(Some(opening.updated_at));
            entries.push(entry);
        }
    }
    let xml = document(board, &site, &entries, newest);
    let ends = openings.iter().filter_map(|opening| opening.closes_at);
    Ok(Reply::document("application/xml", xml).cached_until(ends, now))
}

/// The whole feed.
fn document(board: JobBoard, site: &Site, entries: &[String], newest: Option<Timestamp>) -> String {
    let mut xml = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<source>\n".to_owned();
    let (publisher, portal) = (site.name(), site.url(site.portal()));
    element(&mut xml, "publisher", publisher);
    match board {
        JobBoard::Indeed => element(&mut xml, "publisherurl", &portal),
        JobBoard::LinkedIn => {
            element(&mut xml, "publisherUrl", &portal);
            if let Some(newest) = newest {
                let newest = newest.to_zoned(TimeZone::UTC).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
                element(&mut xml, "lastBuildDate", &newest);
            }
            let jobs: usize = entries.iter().map(|entry| entry.matches("<job>").count()).sum();
            element(&mut xml, "expectedJobCount", &jobs.to_string());
        }
    }
    xml.extend(entries.iter().map(String::as_str));
    xml + "</source>\n"
}

/// The entries of an opening, one for each place; `None` if the board would refuse it.
fn entry(
    board: JobBoard,
    site: &Site,
    opening: &Opening,
    posting: &Posting,
    role: &Role,
    settings: &OrganizationSettings,
) -> Option<String> {
    let content = posting.content.shown(&role.content);
    if !board.missing(&role.content, &content.plain(), settings).is_empty() {
        return None;
    }
    let html = [content.description, content.requirements]
        .map(|text| text.map(|text| descriptions::html(text.as_str())));
    let description = match html {
        [description, None] => description.unwrap_or_default(),
        [description, Some(requirements)] => {
            format!("{}<h2>Requirements</h2>\n{requirements}", description.unwrap_or_default())
        }
    };
    let job = Job {
        title: content.title.as_str(),
        company: site.name(),
        description: &description,
        contact: settings.contact_email.as_ref().map(Email::as_str).unwrap_or_default(),
        url: &format!("{}?{SOURCE}={}", site.url(&site.job_path(&opening.slug)), board.name()),
        opening,
        role,
    };
    let mut xml = String::new();
    for place in opening.places.list() {
        xml.push_str("<job>\n");
        match board {
            JobBoard::Indeed => job.write_for_indeed(&mut xml, place),
            JobBoard::LinkedIn => job.write_for_linkedin(&mut xml, place, settings),
        }
        xml.push_str("</job>\n");
    }
    Some(xml)
}

/// A job for a board.
struct Job<'j> {
    title: &'j str,
    company: &'j str,
    /// The description and the requirements: HTML.
    description: &'j str,
    contact: &'j str,
    url: &'j str,
    opening: &'j Opening,
    role: &'j Role,
}

impl Job<'_> {
    /// The identifier of the job at a place. It stays when other places come or go.
    fn id(&self, place: &Place) -> String {
        let hash = Sha256::digest(place.line());
        let number = hash.iter().take(4).fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        format!("{}-{number:08x}", self.opening.id)
    }

    fn write_for_indeed(&self, xml: &mut String, place: &Place) {
        let Opening { department, pay, since, updated_at, closes_on, remote_policy, employment_type, .. } =
            self.opening;
        let requisition = match &self.role.content.external_id {
            Some(external_id) => external_id.as_str().to_owned(),
            None => self.role.id.to_string(),
        };
        element(xml, "title", self.title);
        element(xml, "date", &since.to_string());
        element(xml, "referencenumber", &self.id(place));
        element(xml, "requisitionid", &requisition);
        element(xml, "url", self.url);
        element(xml, "company", self.company);
        element(xml, "sourcename", self.company);
        element(xml, "city", place.city().map_or("", Text::as_str));
        element(xml, "state", place.region().map_or("", Text::as_str));
        element(xml, "country", place.country().map_or("", Country::code));
        optional(xml, "postalcode", place.postal_code().map(Text::as_str));
        element(xml, "email", self.contact);
        element(xml, "description", self.description);
        optional(xml, "salary", indeed_pay(*pay).as_deref());
        optional(xml, "jobtype", employment_type.map(indeed_type));
        optional(xml, "category", department.as_ref().map(Text::as_str));
        optional(xml, "expirationdate", closes_on.map(|day| day.to_string()).as_deref());
        optional(xml, "remotetype", remote_policy.and_then(indeed_remote_type));
        element(xml, "lastactivitydate", &updated_at.to_string());
    }

    fn write_for_linkedin(&self, xml: &mut String, place: &Place, settings: &OrganizationSettings) {
        let Opening { pay, since, closes_on, remote_policy, employment_type, .. } = self.opening;
        let (city, region) = (place.city().map_or("", Text::as_str), place.region().map(Text::as_str));
        let country = place.country();
        let beside = match (country, region) {
            (Some(country), Some(region)) if country.code() == "US" => region,
            (country, _) => country.map_or("", Country::name),
        };
        let company_id = settings.linkedin_company_id.map(|id| id.to_string());
        let american = |date: Date| date.strftime("%m/%d/%Y").to_string();
        element(xml, "partnerJobId", &self.id(place));
        element(xml, "company", self.company);
        element(xml, "title", self.title);
        element(xml, "description", self.description);
        element(xml, "applyUrl", self.url);
        optional(xml, "companyId", company_id.as_deref());
        element(xml, "location", &format!("{city}, {beside}"));
        element(xml, "city", city);
        optional(xml, "state", region);
        optional(xml, "country", country.map(Country::code));
        optional(xml, "postalCode", place.postal_code().map(Text::as_str));
        optional(xml, "workplaceTypes", remote_policy.map(linkedin_workplace));
        optional(xml, "jobtype", employment_type.and_then(linkedin_type));
        write_pay_for_linkedin(xml, *pay);
        element(xml, "posterEmail", self.contact);
        element(xml, "listDate", &american(Day::of(*since).date()));
        optional(xml, "expirationDate", closes_on.map(american).as_deref());
    }
}

/// The pay as Indeed reads it: `$4000 - $5000 per month`.
fn indeed_pay(pay: Pay) -> Option<String> {
    let money = |amount: Amount| format!("{}{amount}", pay.currency().prefix());
    let range = match (pay.min(), pay.max()) {
        (Some(min), Some(max)) if min == max => money(min),
        (Some(min), Some(max)) => format!("{} - {}", money(min), money(max)),
        (Some(min), None) => format!("From {}", money(min)),
        (None, Some(max)) => format!("Up to {}", money(max)),
        (None, None) => return None,
    };
    Some(format!("{range} per {}", pay.period().as_str()))
}

const fn indeed_type(employment_type: EmploymentType) -> &'static str {
    match employment_type {
        EmploymentType::FullTime => "fulltime",
        EmploymentType::PartTime => "parttime",
        EmploymentType::Contract => "contract",
        EmploymentType::Temporary => "temporary",
        EmploymentType::Internship => "internship",
    }
}

const fn indeed_remote_type(policy: RemotePolicy) -> Option<&'static str> {
    match policy {
        RemotePolicy::Onsite => None,
        RemotePolicy::Hybrid => Some("Hybrid remote"),
        RemotePolicy::Remote => Some("Fully remote"),
    }
}

const fn linkedin_workplace(policy: RemotePolicy) -> &'static str {
    match policy {
        RemotePolicy::Onsite => "On-site",
        RemotePolicy::Hybrid => "Hybrid",
        RemotePolicy::Remote => "Remote",
    }
}

/// LinkedIn's name of an employment type; `None` if it has none.
const fn linkedin_type(employment_type: EmploymentType) -> Option<&'static str> {
    match employment_type {
        EmploymentType::FullTime => Some("FULL_TIME"),
        EmploymentType::PartTime => Some("PART_TIME"),
        EmploymentType::Contract => Some("CONTRACT"),
        EmploymentType::Internship => Some("INTERNSHIP"),
        EmploymentType::Temporary => None,
    }
}

/// LinkedIn takes whole amounts only, so it gets no others.
fn write_pay_for_linkedin(xml: &mut String, pay: Pay) {
    let amounts = [("highEnd", pay.max()), ("lowEnd", pay.min())];
    if !pay.is_known() || amounts.iter().any(|(_, amount)| amount.is_some_and(|amount| !amount.is_whole())) {
        return;
    }
    let period = match pay.period() {
        PayPeriod::Hour => "HOURLY",
        PayPeriod::Day => "DAILY",
        PayPeriod::Week => "WEEKLY",
        PayPeriod::Month => "MONTHLY",
        PayPeriod::Year => "YEARLY",
    };
    xml.push_str("<salaries><salary>\n");
    for (end, amount) in amounts {
        if let Some(amount) = amount {
            let _ = writeln!(xml, "<{end}>");
            element(xml, "amount", &amount.to_string());
            element(xml, "currencyCode", pay.currency().code());
            let _ = writeln!(xml, "</{end}>");
        }
    }
    element(xml, "period", period);
    element(xml, "type", "BASE_SALARY");
    xml.push_str("</salary></salaries>\n");
}

fn optional(xml: &mut String, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        element(xml, name, text);
    }
}

/// Writes an element with a text. The boards want a CDATA section, and no entities.
fn element(xml: &mut String, name: &str, text: &str) {
    // XML 1.0 allows no other control characters, and neither of these two (section 2.2).
    let is_allowed =
        |c: &char| matches!(c, '\t' | '\n') || !(c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}'));
    let text: String = text.chars().filter(is_allowed).collect();
    let _ = writeln!(xml, "<{name}><![CDATA[{}]]></{name}>", text.replace("]]>", "]]]]><![CDATA[>"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_text_cannot_break_out_of_its_element(text in any::<String>()) {
            let mut xml = String::new();
            element(&mut xml, "title", &text);
            let inside = xml.strip_prefix("<title><![CDATA[").and_then(|xml| xml.strip_suffix("]]></title>\n")).unwrap();
            // Each end of a section is followed by the begin of the next one.
            prop_assert_eq!(inside.matches("]]>").count(), inside.matches("]]><![CDATA[").count());
            let shown = inside.replace("]]]]><![CDATA[>", "]]>");
            let allowed: String = text.chars().filter(|c| shown.contains(*c)).collect();
            prop_assert_eq!(shown, allowed);
        }
    }

    #[test]
    fn pay_is_written_as_indeed_reads_it() {
        let pay = |min: Option<&str>, max: Option<&str>, currency: &str, period| {
            let amount = |text: Option<&str>| text.map(|text| text.parse().unwrap());
            let pay = Pay::new(amount(min), amount(max)).unwrap().in_currency(currency.parse().ok());
            indeed_pay(pay.per(period))
        };
        for (given, written) in [
            (pay(Some("50000"), Some("50000"), "USD", PayPeriod::Year), Some("$50000 per year")),
            (pay(Some("4000"), Some("5000"), "EUR", PayPeriod::Month), Some("€4000 - €5000 per month")),
            (pay(Some("18.50"), None, "CHF", PayPeriod::Hour), Some("From CHF 18.50 per hour")),
            (pay(None, Some("900"), "GBP", PayPeriod::Week), Some("Up to £900 per week")),
            (pay(None, None, "USD", PayPeriod::Day), None),
        ] {
            assert_eq!(given.as_deref(), written);
        }
    }
}
