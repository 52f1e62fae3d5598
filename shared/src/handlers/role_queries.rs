//! The list of roles, and single roles.

use std::collections::HashMap;

use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::candidate_filter::Term;
use super::responses::role::Role;
use super::role_stats::Statistics;
use super::roles::present;
use crate::http::{ApiRequest, Asked, Collection, Error, Listing, Reply, Since, input};
use crate::id::Id;
use crate::model::schema::string;
use crate::model::{self, ExternalId, RoleStatus, Scalar, Value};

input! {
    /// Filters for the list of roles.
    pub struct RoleFilter {
        /// Returns only roles in this status.
        status: optional RoleStatus,
        /// With `stats`, adds each role's statistics.
        include: optional Include,
        /// Returns only the role with this external id. It can't be combined with other filters.
        external_id: optional Term<ExternalId>,
    }
}

/// What a list can include.
struct Include;

impl Value for Include {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        match scalar {
            Scalar::Word("stats") => Ok(Some(Self)),
            Scalar::Text(text) if text == "stats" => Ok(Some(Self)),
            _ => Err("must be stats".to_owned()),
        }
    }

    fn schema() -> RefOr<Schema> {
        string().enum_values(Some(["stats"])).into()
    }
}

/// A role in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct ListedRole {
    #[serde(flatten)]
    role: Role,
    /// The role's statistics with `include=stats`, otherwise `null`.
    stats: Option<Statistics>,
}

/// Lists roles, newest first. `status` narrows the list, `include=stats` adds each role's statistics, and `external_id` finds
/// one role. `updated_after` returns those that have changed.
///
/// # Errors
///
/// - `cursor_expired`: with `updated_after`, the changes that the page needs are no longer kept.
pub async fn list(
    request: ApiRequest<Listing<Since<RoleFilter>>>,
) -> Result<Reply<Collection<ListedRole>>, Error> {
    let (asked, page) = request.asked()?;
    let (store, tenant) = (request.context.store(), request.tenant());
    let filter = match asked {
        Asked::Since(time) => {
            let changed = store.list_changed_roles(tenant, request.changes_since(time), &page).await?;
            let (organization, base_url) = (request.organization().await, request.context.base_url());
            let shown = |role| ListedRole { role: Role::of(role, organization, base_url), stats: None };
            return request.reply(changed.ok_or(Error::CursorExpired)?, shown);
        }
        Asked::Part(filter) => filter,
    };
    let roles = match filter.external_id {
        None => store.list_roles(tenant, filter.status, &page).await?,
        Some(Term(external_id)) => {
            let others = [("status", filter.status.is_some()), ("include", filter.include.is_some())];
            let others = others.into_iter().filter(|(_, is_given)| *is_given);
            let messages: Vec<_> =
                others.map(|(other, _)| format!("external_id can't be combined with {other}")).collect();
            if !messages.is_empty() {
                return Err(Error::Validation(messages));
            }
            store.find_role_by_external_id(tenant, &external_id).await?
        }
    };
    let stats = match filter.include {
        Some(Include) => {
            let ids = roles.items.iter().map(|role| role.id);
            Some(store.find_roles_stats(tenant, ids).await?)
        }
        None => None,
    };
    let (organization, base_url) = (request.organization().await, request.context.base_url());
    request.reply(roles, |role| {
        let of_role =
            |stats: &HashMap<Id, model::RoleStats>| stats.get(&role.id).cloned().unwrap_or_default();
        let stats = stats.as_ref().map(|stats| Statistics::from(&of_role(stats)));
        ListedRole { role: Role::of(role, organization, base_url), stats }
    })
}

/// Returns a role.
pub async fn show(request: ApiRequest<()>) -> Result<Reply<Role>, Error> {
    let role = find(&request).await?;
    request.input()?;
    Reply::resource(&present(&request, role).await)
}

async fn find<I>(request: &ApiRequest<I>) -> Result<model::Role, Error> {
    request.context.store().find_role(request.tenant(), request.id()?).await?.ok_or(Error::NotFound)
}
