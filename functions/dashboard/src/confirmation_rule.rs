//! Settings > Integrations > Connected apps > Confirmations: where members confirm what assistants do.

use std::sync::Arc;

use shared::http::{Error, Html, MemberRequest, Reply, input};
use shared::model::{ConfirmationRule, OrganizationSettings};

use crate::form_page::{Field, FieldKind, Form};
use crate::layout::Section;
use crate::messages::Notice;

pub(crate) const PATH: &str = "/dashboard/settings/integrations/confirmations";

input! {
    /// The values of the form.
    struct Values {
        apps_use_page: required bool,
        keys_use_page: required bool,
    }
}

/// Shows the rule.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    form(&request.named_organization().settings).show(&request)
}

/// Changes the rule, unless somebody else changed the settings after the page was opened.
pub(crate) async fn change(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let found = request.context.store().find_organization_settings(request.tenant()).await?;
    let before = found.ok_or(Error::NotFound)?;
    match save(&request, &before).await {
        Ok(()) => Ok(Notice::ConfirmationRuleSaved.redirect_to(PATH)),
        Err(error) => form(&before).show_again(&request, error),
    }
}

async fn save(request: &MemberRequest, before: &OrganizationSettings) -> Result<(), Error> {
    let Values { apps_use_page, keys_use_page } = request.input()?;
    let rule = ConfirmationRule { apps_may_ask: !apps_use_page, keys_use_page };
    // A form that is sent twice changes nothing the second time.
    let values = OrganizationSettings { confirmations: rule, ..before.clone() };
    let Some(after) = before.change(values) else { return Ok(()) };
    if request.page.form().non_empty("seen").is_some_and(|seen| seen != before.version.to_string()) {
        return Err(Error::PreconditionFailed);
    }
    let mut transaction = request.transaction();
    transaction.replace_organization_settings(before, &after)?;
    Ok(request.context.store().commit(transaction).await?)
}

fn form(settings: &OrganizationSettings) -> Form {
    let ConfirmationRule { apps_may_ask, keys_use_page } = settings.confirmations;
    let choices = || {
        FieldKind::Choice(vec![
            (true.to_string(), "On a page of the dashboard".to_owned()),
            (false.to_string(), "Where the assistant runs, if it can ask there".to_owned()),
        ])
    };
    let fields = vec![
        Field::line("apps_use_page", "Connected apps")
            .of(choices())
            .hint("An app that asks by itself could also answer by itself.")
            .with(&(!apps_may_ask).to_string()),
        Field::line("keys_use_page", "Programs with an API key")
            .of(choices())
            .hint("Whoever has the key can also answer.")
            .with(&keys_use_page.to_string()),
    ];
    Form::new(Section::ConnectedApps, "Confirmations", fields, PATH, "Save")
        .below("/dashboard/settings/integrations/connected-apps", "Connected apps")
        .lead(
            "Members confirm what assistants publish, and what reaches people or cannot be undone. Your live data and your \
             test data each have their own rule.",
        )
        .of_version(settings.version.to_string())
}
