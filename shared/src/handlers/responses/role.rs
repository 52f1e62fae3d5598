//! Roles in the API.

use jiff::civil::Date;
use serde::Serialize;
use utoipa::ToSchema;

use super::posting::public_url;
use crate::clock::Timestamp;
use crate::http::{Change, Fields, Input, input};
use crate::id::Id;
use crate::model::{
    self, Amount, City, Country, Currency, Department, EmploymentType, ExternalId, Location, LongText,
    Organization, PayPeriod, Place, Places, PostalCode, Region, RemotePolicy, RoleContent, RoleStatus,
    Salary, Title,
};

/// The problem of a `salary_min` above `salary_max`.
const MIN_ABOVE_MAX: &str = "must be at most salary_max";

/// The problem of `pay` beside an annual salary.
const PAY_AND_SALARY: &str = "can't be combined with salary_min, salary_max or salary_currency";
/// The problem of a `salary_currency` of pay that is not annual.
const NOT_ANNUAL: &str = "can't be changed while the pay is not annual; set pay instead";
/// The problem of a `location` or `country` that contradicts `locations`.
const NOT_THE_FIRST: &str = "is that of the first of the locations; set locations instead";

/// A place of work or, for remote work, a place where people may live.
#[derive(Debug, Serialize, ToSchema)]
pub struct RoleLocation {
    /// The city or town.
    pub city: Option<City>,
    /// The state, the province or another region, as it is written in an address: `TX`.
    pub region: Option<Region>,
    /// The postal code.
    pub postal_code: Option<PostalCode>,
    /// The country: an ISO 3166-1 alpha-2 code such as `DE`, or `XK`, `AC` or `TA`.
    pub country: Option<Country>,
}

impl RoleLocation {
    /// The API form of each place.
    pub fn all(places: &Places) -> Vec<Self> {
        let of = |place: &Place| Self {
            city: place.city().cloned(),
            region: place.region().cloned(),
            postal_code: place.postal_code().cloned(),
            country: place.country(),
        };
        places.list().iter().map(of).collect()
    }
}

/// What a role pays.
#[derive(Debug, Serialize, ToSchema)]
pub struct Pay {
    /// The minimum: a decimal number with at most two places, such as `18.50`.
    #[schema(value_type = Option<Amount>)]
    pub min: Option<String>,
    /// The maximum: a decimal number with at most two places, such as `22`. There is a minimum, a maximum, or both.
    #[schema(value_type = Option<Amount>)]
    pub max: Option<String>,
    /// The currency: an ISO 4217 code such as `EUR`.
    pub currency: Currency,
    /// The time for which the amounts are paid.
    pub period: PayPeriod,
}

impl Pay {
    /// The API form of what a role pays; `None` if no amount is known.
    pub fn of(pay: model::Pay) -> Option<Self> {
        let (min, max, currency, period) = pay.shown()?;
        let written = |amount: Option<Amount>| amount.map(|amount| amount.to_string());
        Some(Self { min: written(min), max: written(max), currency, period })
    }
}

/// A role: an open position.
#[derive(Debug, Serialize, ToSchema)]
pub struct Role {
    /// The identifier.
    pub id: Id,
    /// The job title.
    pub title: Title,
    /// The status. Only transitions such as `publish` and `pause` change it.
    pub status: RoleStatus,
    /// The department or team.
    pub department: Option<Department>,
    /// The description. Markdown: CommonMark with tables. The HTML tags a, b, br, em, h1 to h6, i, li, ol, p, strong
    /// and ul work; other HTML is shown as text, and an image is replaced by its alternative text.
    pub description: Option<LongText>,
    /// A city, a state or the word Remote. If there are `locations`, it is the city and the region of the first one, or the
    /// name of its country, and can be changed only with them.
    pub location: Option<Location>,
    /// The country: an ISO 3166-1 alpha-2 code such as `DE`, or `XK`, `AC` or `TA`. If there are `locations`, it is that of the
    /// first one, and can be changed only with them.
    pub country: Option<Country>,
    /// The places of work or, for remote work, the places where people may live: at most 10. Each has at least a city, a
    /// region or a country. Career pages, feeds and search engines use them instead of `location` and `country`.
    pub locations: Vec<RoleLocation>,
    /// Where the work is done. If no policy was given, the location `Remote` in any case means `remote`.
    pub remote_policy: Option<RemotePolicy>,
    /// The kind of employment.
    pub employment_type: Option<EmploymentType>,
    /// The minimum annual salary, in whole units of `salary_currency`. Setting it makes the `pay` annual.
    pub salary_min: Option<Salary>,
    /// The maximum annual salary, in whole units of `salary_currency`. Setting it makes the `pay` annual.
    pub salary_max: Option<Salary>,
    /// The currency of the salary: an ISO 4217 code such as `EUR`; `null` means US dollars.
    pub salary_currency: Option<Currency>,
    /// What the role pays, for any period; `null` if no amount is known. `salary_min`, `salary_max` and `salary_currency` are the
    /// same for a year, and `null` for other periods. A request may have either.
    pub pay: Option<Pay>,
    /// The last day on which the role's job posting is published: `2026-12-31`. It must not be over. The role stays open after it,
    /// and takes applications by the API.
    pub closes_on: Option<Date>,
    /// When the day `closes_on` ends, in the time zone that the organization had when the day was set. From then on, the job
    /// posting is not `published`.
    pub closes_at: Option<Timestamp>,
    /// The identifier in another system. No two roles of an organization have the same.
    pub external_id: Option<ExternalId>,
    /// The role's job posting, if it has one.
    pub job_posting_id: Option<Id>,
    /// The URL of the job posting on the career page.
    #[schema(format = "uri")]
    pub job_posting_url: Option<String>,
    /// When the role was created.
    pub created_at: Timestamp,
    /// When the role was last updated.
    pub updated_at: Timestamp,
}

impl Role {
    /// The API form of a role of `organization`.
    pub fn of(role: model::Role, organization: &Organization, base_url: &str) -> Self {
        let policy = role.content.remote_policy();
        let RoleContent {
            title,
            department,
            description,
            places,
            remote_policy: _,
            employment_type,
            pay,
            closes_on,
            external_id,
        } = role.content;
        Self {
            id: role.id,
            title,
            status: role.status,
            department,
            description,
            location: places.location().cloned(),
            country: places.country(),
            locations: RoleLocation::all(&places),
            remote_policy: policy,
            employment_type,
            salary_min: pay.salary_min(),
            salary_max: pay.salary_max(),
            salary_currency: pay.salary_currency(),
            pay: Pay::of(pay),
            closes_on,
            closes_at: role.closes_at,
            external_id,
            job_posting_id: role.posting.as_ref().map(|posting| posting.id),
            job_posting_url: role.posting.map(|posting| public_url(base_url, organization, &posting.slug)),
            created_at: role.created_at,
            updated_at: role.updated_at,
        }
    }
}

input! {
    /// A role to create.
    impl RoleContent {
        title: required,
        department: optional,
        description: optional,
        places: part,
        remote_policy: optional,
        employment_type: optional,
        pay: part,
        closes_on: optional,
        external_id: optional,
    }
}

impl Input for Place {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let (city, region) = (fields.optional("city"), fields.optional("region"));
        let (postal_code, country) = (fields.optional("postal_code"), fields.optional("country"));
        Self::new(city, region, postal_code, country)
            .or_else(|| fields.fail("city", "can't be blank without a region or a country"))
    }
}

impl Input for Places {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let location = fields.optional("location").map_or(Change::Keep, Change::Set);
        let country = fields.optional("country").map_or(Change::Keep, Change::Set);
        let list = fields.objects("locations", Self::MAX).map_or(Change::Keep, Change::Set);
        let patch = PlacesPatch { location, country, list };
        match patch.apply(&Self::default()) {
            Ok(places) => Some(places),
            Err(field) => fields.fail(field, NOT_THE_FIRST),
        }
    }
}

/// What a role is to pay.
struct NewPay {
    /// The minimum: a decimal number with at most two places, such as `18.50`.
    min: Option<Amount>,
    /// The maximum: a decimal number with at most two places, such as `22`. There must be a minimum, a maximum, or both.
    max: Option<Amount>,
    /// The currency: an ISO 4217 code such as `EUR`, in any case.
    currency: Currency,
    /// The time for which the amounts are paid.
    period: PayPeriod,
}

impl Input for NewPay {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let (min, max): (Option<Amount>, Option<Amount>) = (fields.optional("min"), fields.optional("max"));
        let (currency, period) = (fields.required("currency"), fields.required("period"));
        match (min, max) {
            (None, None) => return fields.fail("min", "can't be blank without max"),
            (Some(min), Some(max)) if min > max => return fields.fail("min", "must be at most max"),
            _ => {}
        }
        Some(Self { min, max, currency: currency?, period: period? })
    }
}

impl Input for model::Pay {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let min = fields.optional("salary_min").map_or(Change::Keep, Change::Set);
        let max = fields.optional("salary_max").map_or(Change::Keep, Change::Set);
        let currency = fields.optional("salary_currency").map_or(Change::Keep, Change::Set);
        let pay = fields.optional_object("pay").map_or(Change::Keep, Change::Set);
        let patch = PayPatch { min, max, currency, pay }.checked(fields)?;
        match patch.apply(Self::default()) {
            Ok(pay) => Some(pay),
            Err((field, problem)) => fields.fail(field, problem),
        }
    }
}

input! {
    /// Changes to a role.
    pub struct RolePatch {
        title: replacement Title,
        department: change Department,
        description: change LongText,
        places: part PlacesPatch,
        remote_policy: change RemotePolicy,
        employment_type: change EmploymentType,
        pay: part PayPatch,
        closes_on: change Date,
        external_id: change ExternalId,
    }
}

/// Changes to where the work of a role is done.
struct PlacesPatch {
    location: Change<Location>,
    country: Change<Country>,
    list: Change<Vec<Place>>,
}

impl Input for PlacesPatch {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let (location, country) = (fields.change("location"), fields.change("country"));
        Some(Self { location, country, list: fields.change_objects("locations", Places::MAX) })
    }
}

impl PlacesPatch {
    /// Applies the changes. Without a list, the location and the country stay as they were. With one, they can't be set to
    /// anything but what they were or what they become: otherwise, the error is the name of the field.
    fn apply(self, current: &Places) -> Result<Places, &'static str> {
        let (location, country) = (current.location().cloned(), current.country());
        let after = match self.list {
            Change::Keep => current.clone(),
            Change::Set(list) if !list.is_empty() => Places::of(list),
            Change::Clear | Change::Set(_) => Places::named(location.clone(), country),
        };
        let location = self.location.apply(location);
        let country = self.country.apply(country);
        if after.list().is_empty() {
            return Ok(Places::named(location, country));
        }
        let is_known = |known: &Places| (known.location() == location.as_ref(), known.country() == country);
        match (is_known(&after), is_known(current)) {
            ((false, _), (false, _)) => Err("location"),
            ((_, false), (_, false)) => Err("country"),
            _ => Ok(after),
        }
    }
}

/// Changes to what a role pays: to its annual salary, or all of it.
struct PayPatch {
    min: Change<Salary>,
    max: Change<Salary>,
    currency: Change<Currency>,
    pay: Change<NewPay>,
}

impl Input for PayPatch {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let (min, max) = (fields.change("salary_min"), fields.change("salary_max"));
        let currency = fields.change("salary_currency");
        Self { min, max, currency, pay: fields.change_object("pay") }.checked(fields)
    }
}

impl PayPatch {
    /// Refuses two different statements about the pay.
    fn checked(self, fields: &mut impl Fields) -> Option<Self> {
        let has_amount = matches!(self.min, Change::Set(_)) || matches!(self.max, Change::Set(_));
        let has_salary = has_amount || matches!(self.currency, Change::Set(_));
        match (&self.min, &self.max) {
            (Change::Set(min), Change::Set(max)) if min > max => fields.fail("salary_min", MIN_ABOVE_MAX),
            _ if has_salary && matches!(self.pay, Change::Set(_)) => fields.fail("pay", PAY_AND_SALARY),
            _ => Some(self),
        }
    }

    /// Applies the changes. Fails if the result would not be valid, with the name of a field and its problem.
    fn apply(self, current: model::Pay) -> Result<model::Pay, (&'static str, &'static str)> {
        let Self { min, max, currency, pay } = self;
        let current = match pay {
            Change::Set(NewPay { min, max, currency, period }) => {
                let range = model::Pay::new(min, max).ok_or(("pay.min", "must be at most max"))?;
                return Ok(range.in_currency(Some(currency)).per(period));
            }
            Change::Clear if current.is_known() => model::Pay::default(),
            Change::Clear | Change::Keep => current,
        };
        let sets_amount = matches!(min, Change::Set(_)) || matches!(max, Change::Set(_));
        let current = match currency {
            // What clears or repeats what is not there changes nothing.
            Change::Set(currency)
                if !current.is_annual() && !sets_amount && currency != current.currency() =>
            {
                return Err(("salary_currency", NOT_ANNUAL));
            }
            _ if !current.is_annual() && !sets_amount => return Ok(current),
            _ if !current.is_annual() => model::Pay::default().in_currency(current.given_currency()),
            _ => current,
        };
        let bound = |change, shown: Option<Salary>, exact: Option<Amount>| match change {
            // An annual amount that is not whole stays when a client sends it back as it was shown.
            Change::Set(salary) if Some(salary) == shown => exact,
            change => change.map(Amount::from).apply(exact),
        };
        let min = bound(min, current.salary_min(), current.min());
        let max = bound(max, current.salary_max(), current.max());
        let range = model::Pay::new(min, max).ok_or(("salary_min", MIN_ABOVE_MAX))?;
        Ok(range.in_currency(currency.apply(current.given_currency())))
    }
}

impl RolePatch {
    /// Applies the changes. Fails if the result would not be valid, with the name of a field and its problem.
    pub fn apply(self, current: RoleContent) -> Result<RoleContent, (&'static str, &'static str)> {
        let places = self.places.apply(&current.places).map_err(|field| (field, NOT_THE_FIRST))?;
        let policy = match self.remote_policy {
            // Places take the place of the location `Remote`, but the work stays remote.
            Change::Keep if !places.list().is_empty() => current.remote_policy(),
            change => change.apply(current.remote_policy),
        };
        let pay = self.pay.apply(current.pay)?;
        Ok(RoleContent {
            title: self.title.unwrap_or(current.title),
            department: self.department.apply(current.department),
            description: self.description.apply(current.description),
            places,
            remote_policy: policy,
            employment_type: self.employment_type.apply(current.employment_type),
            pay,
            closes_on: self.closes_on.apply(current.closes_on),
            external_id: self.external_id.apply(current.external_id),
        })
    }
}
