//! Roles in the API.

use serde::Serialize;
use utoipa::ToSchema;

use super::posting::public_url;
use crate::clock::Timestamp;
use crate::http::{Change, Fields, Input, input};
use crate::id::Id;
use crate::model::{
    self, Country, Currency, Department, EmploymentType, Location, LongText, Organization, RemotePolicy,
    RoleContent, RoleStatus, Salary, SalaryRange, Title,
};

/// The problem of a `salary_min` above `salary_max`.
const MIN_ABOVE_MAX: &str = "must be at most salary_max";

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
    /// The country: an ISO 3166-1 alpha-2 code such as `DE`, or `XK`, `AC` or `TA`.
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
        let policy = role.content.remote_policy();
        let RoleContent {
            title,
            department,
            description,
            location,
            country,
            remote_policy: _,
            employment_type,
            salary,
        } = role.content;
        Self {
            id: role.id,
            title,
            status: role.status,
            department,
            description,
            location,
            country,
            remote_policy: policy,
            employment_type,
            salary_min: salary.min(),
            salary_max: salary.max(),
            salary_currency: salary.given_currency(),
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
        location: optional,
        country: optional,
        remote_policy: optional,
        employment_type: optional,
        salary: part,
    }
}

impl Input for SalaryRange {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let (min, max) = (fields.optional("salary_min"), fields.optional("salary_max"));
        let currency = fields.optional("salary_currency");
        let range = Self::new(min, max).or_else(|| fields.fail("salary_min", MIN_ABOVE_MAX))?;
        Some(range.in_currency(currency))
    }
}

input! {
    /// Changes to a role.
    pub struct RolePatch {
        title: replacement Title,
        department: change Department,
        description: change LongText,
        location: change Location,
        /// The country: an ISO 3166-1 alpha-2 code such as `DE`, or `XK`, `AC` or `TA`, in any case.
        country: change Country,
        remote_policy: change RemotePolicy,
        employment_type: change EmploymentType,
        salary: part SalaryPatch,
    }
}

/// Changes to the salary of a role.
struct SalaryPatch {
    min: Change<Salary>,
    max: Change<Salary>,
    currency: Change<Currency>,
}

impl Input for SalaryPatch {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let (min, max) = (fields.change("salary_min"), fields.change("salary_max"));
        let patch = Self { min, max, currency: fields.change("salary_currency") };
        match (&patch.min, &patch.max) {
            (Change::Set(min), Change::Set(max)) if min > max => fields.fail("salary_min", MIN_ABOVE_MAX),
            _ => Some(patch),
        }
    }
}

impl RolePatch {
    /// Applies the changes. Returns `None` if the minimum salary would be above the maximum.
    pub fn apply(self, current: RoleContent) -> Option<RoleContent> {
        let min = self.salary.min.apply(current.salary.min());
        let max = self.salary.max.apply(current.salary.max());
        let currency = self.salary.currency.apply(current.salary.given_currency());
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
