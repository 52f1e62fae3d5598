//! Roles in the API.

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::posting::public_url;
use crate::http::{Change, Fields, Input};
use crate::id::Id;
use crate::model::{
    self, Department, Location, LongText, Organization, RemotePolicy, RoleContent, RoleStatus, Salary,
    SalaryRange, Title,
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
    /// The description.
    pub description: Option<LongText>,
    /// A city, a state or the word Remote.
    pub location: Option<Location>,
    /// Where the work is done.
    pub remote_policy: Option<RemotePolicy>,
    /// The minimum annual salary in US dollars.
    pub salary_min: Option<Salary>,
    /// The maximum annual salary in US dollars.
    pub salary_max: Option<Salary>,
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
        Self {
            id: role.id,
            title: role.content.title,
            status: role.status,
            department: role.content.department,
            description: role.content.description,
            location: role.content.location,
            remote_policy: role.content.remote_policy,
            salary_min: role.content.salary.min(),
            salary_max: role.content.salary.max(),
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
        let remote_policy = fields.optional("remote_policy");
        let (min, max) = (fields.optional("salary_min"), fields.optional("salary_max"));
        let salary =
            SalaryRange::new(min, max).or_else(|| fields.fail("salary_min", "must be at most salary_max"));
        Some(Self { title: title?, department, description, location, remote_policy, salary: salary? })
    }
}

/// Changes to a role.
pub struct RolePatch {
    title: Option<Title>,
    department: Change<Department>,
    description: Change<LongText>,
    location: Change<Location>,
    remote_policy: Change<RemotePolicy>,
    salary_min: Change<Salary>,
    salary_max: Change<Salary>,
}

impl Input for RolePatch {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let patch = Self {
            title: fields.replacement("title"),
            department: fields.change("department"),
            description: fields.change("description"),
            location: fields.change("location"),
            remote_policy: fields.change("remote_policy"),
            salary_min: fields.change("salary_min"),
            salary_max: fields.change("salary_max"),
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
        Some(RoleContent {
            title: self.title.unwrap_or(current.title),
            department: self.department.apply(current.department),
            description: self.description.apply(current.description),
            location: self.location.apply(current.location),
            remote_policy: self.remote_policy.apply(current.remote_policy),
            salary: SalaryRange::new(min, max)?,
        })
    }
}
