//! Roles in the API.

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::posting::public_url;
use crate::http::{Change, Fields, Input};
use crate::id::Id;
use crate::model::{
    self, Country, Currency, Department, EmploymentType, Location, LongText, Organization, RemotePolicy,
    RoleContent, RoleStatus, Salary, SalaryRange, Title,
};

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
    /// A city, a state or the word Remote.
    pub location: Option<Location>,
    /// The country: an ISO 3166-1 alpha-2 code such as `DE`.
    pub country: Option<Country>,
    /// Where the work is done. If no policy was given, the location `Remote` in any case means `remote`.
    pub remote_policy: Option<RemotePolicy>,
    /// The kind of employment.
    pub employment_type: Option<EmploymentType>,
    /// The minimum annual salary, in whole units of `salary_currency`.
    pub salary_min: Option<Salary>,
    /// The maximum annual salary, in whole units of `salary_currency`.
    pub salary_max: Option<Salary>,
    /// The currency of the salary: an ISO 4217 code such as `EUR`; `null` means US dollars.
    pub salary_currency: Option<Currency>,
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
        let remote_policy = role.content.remote_policy();
        Self {
            id: role.id,
            title: role.content.title,
            status: role.status,
            department: role.content.department,
            description: role.content.description,
            location: role.content.location,
            country: role.content.country,
            remote_policy,
            employment_type: role.content.employment_type,
            salary_min: role.content.salary.min(),
            salary_max: role.content.salary.max(),
            salary_currency: role.content.salary.given_currency(),
            job_posting_id: role.posting.as_ref().map(|posting| posting.id),
            job_posting_url: role.posting.map(|posting| public_url(base_url, organization, &posting.slug)),
            created_at: role.created_at,
            updated_at: role.updated_at,
        }
    }
}

/// A role to create.
impl Input for RoleContent {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let title = fields.required("title");
        let department = fields.optional("department");
        let description = fields.optional("description");
        let location = fields.optional("location");
        let country = fields.optional("country");
        let remote_policy = fields.optional("remote_policy");
        let employment_type = fields.optional("employment_type");
        let (min, max) = (fields.optional("salary_min"), fields.optional("salary_max"));
        let currency = fields.optional("salary_currency");
        let salary =
            SalaryRange::new(min, max).or_else(|| fields.fail("salary_min", "must be at most salary_max"));
        Some(Self {
            title: title?,
            department,
            description,
            location,
            country,
            remote_policy,
            employment_type,
            salary: salary?.in_currency(currency),
        })
    }
}

/// Changes to a role.
pub struct RolePatch {
    title: Option<Title>,
    department: Change<Department>,
    description: Change<LongText>,
    location: Change<Location>,
    /// The country: an ISO 3166-1 alpha-2 code such as `DE`, in any case.
    country: Change<Country>,
    remote_policy: Change<RemotePolicy>,
    employment_type: Change<EmploymentType>,
    salary_min: Change<Salary>,
    salary_max: Change<Salary>,
    salary_currency: Change<Currency>,
}

impl Input for RolePatch {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let patch = Self {
            title: fields.replacement("title"),
            department: fields.change("department"),
            description: fields.change("description"),
            location: fields.change("location"),
            country: fields.change("country"),
            remote_policy: fields.change("remote_policy"),
            employment_type: fields.change("employment_type"),
            salary_min: fields.change("salary_min"),
            salary_max: fields.change("salary_max"),
            salary_currency: fields.change("salary_currency"),
        };
        if let (Change::Set(min), Change::Set(max)) = (&patch.salary_min, &patch.salary_max)
            && min > max
        {
            return fields.fail("salary_min", "must be at most salary_max");
        }
        Some(patch)
    }
}

impl RolePatch {
    /// Applies the changes. Returns `None` if the minimum salary would be above the maximum.
    pub fn apply(self, current: RoleContent) -> Option<RoleContent> {
        let min = self.salary_min.apply(current.salary.min());
        let max = self.salary_max.apply(current.salary.max());
        let currency = self.salary_currency.apply(current.salary.given_currency());
        Some(RoleContent {
            title: self.title.unwrap_or(current.title),
            department: self.department.apply(current.department),
            description: self.description.apply(current.description),
            location: self.location.apply(current.location),
            country: self.country.apply(current.country),
            remote_policy: self.remote_policy.apply(current.remote_policy),
            employment_type: self.employment_type.apply(current.employment_type),
            salary: SalaryRange::new(min, max)?.in_currency(currency),
        })
    }
}
