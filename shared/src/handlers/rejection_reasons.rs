//! The organization's list of the reasons for which applications end.

use serde::Serialize;
use utoipa::ToSchema;

use crate::http::{ApiRequest, Error, Fields, Input, Reply, input};
use crate::id::Id;
use crate::model::{self, EndedBy, ReasonInput, ReasonName};

/// A reason for which applications end.
#[derive(Debug, Serialize, ToSchema)]
pub struct RejectionReason {
    /// The identifier. The reasons that every organization begins with have 1 to 12.
    id: Id,
    /// The name.
    name: ReasonName,
    /// Whose reason it is: for rejections by the team, or for withdrawals by candidates.
    by: EndedBy,
    /// Whether it can be chosen.
    active: bool,
}

/// The reasons for which applications end, in the order of the organization.
#[derive(Debug, Serialize, ToSchema)]
pub struct RejectionReasons {
    /// The reasons, at most 100 with those that are no longer active.
    #[schema(max_items = 100)]
    data: Vec<RejectionReason>,
}

impl RejectionReasons {
    /// The API form of the list.
    pub fn of(reasons: &model::RejectionReasons) -> Self {
        let data = reasons.reasons.iter().cloned();
        let data = data.map(|model::RejectionReason { id, name, by, active }| RejectionReason {
            id,
            name,
            by,
            active,
        });
        Self { data: data.collect() }
    }
}

/// A list of reasons that replaces the one of the organization.
pub struct NewRejectionReasons {
    /// The reasons in their new order.
    data: Vec<ReasonInput>,
}

impl Input for NewRejectionReasons {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let Some(data) = fields.objects("data", model::RejectionReasons::MAX) else {
            return fields.fail("data", "can't be blank");
        };
        Some(Self { data })
    }
}

input! {
    /// A reason of a list that replaces the one of the organization.
    impl ReasonInput {
        id: optional,
        name: required,
        by: required,
        active: optional = true,
    }
}

/// Returns the reasons for which applications end. An organization begins with twelve, whose identifiers are 1 to 12: eight
/// for rejections by the team, four for withdrawals by candidates.
pub async fn list_rejection_reasons(request: ApiRequest<()>) -> Result<Reply<RejectionReasons>, Error> {
    request.input()?;
    let reasons = request.context.store().get_rejection_reasons(request.tenant()).await?;
    Reply::resource(&RejectionReasons::of(&reasons))
}

/// Replaces the reasons for which applications end. An item with an `id` changes that reason, except for its side. One without
/// takes the reason with the same name and side, or is a new one. A reason that is left out becomes inactive, and stays at
/// the end of the list. The same list again changes nothing.
pub async fn replace_rejection_reasons(
    request: ApiRequest<NewRejectionReasons>,
) -> Result<Reply<RejectionReasons>, Error> {
    let NewRejectionReasons { data } = request.input()?;
    let before = request.context.store().get_rejection_reasons(request.tenant()).await?;
    request.check_precondition(&RejectionReasons::of(&before))?;
    let after = before.replace(data, || request.context.ids().next()).map_err(Error::Validation)?;
    let mut transaction = request.transaction();
    let Some(after) = after else {
        return request.commit(transaction, Reply::resource(&RejectionReasons::of(&before))?).await;
    };
    transaction.replace_rejection_reasons(&before, &after)?;
    request.commit(transaction, Reply::resource(&RejectionReasons::of(&after))?).await
}
