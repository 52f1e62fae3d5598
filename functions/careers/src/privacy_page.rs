//! The privacy page: what happens to an applicant's data. An organization's own text replaces the general one.

use shared::http::page::Sources;
use shared::http::{Error, Html, PublicRequest, Reply};

use crate::pages::PrivacyPage;
use crate::site::{Site, unknown_organization};
use shared::descriptions;

/// Shows what happens to an applicant's data.
pub(crate) async fn show(request: PublicRequest) -> Result<Reply<Html>, Error> {
    let context = &request.context;
    let Some(site) = Site::find(context).await? else { return unknown_organization() };
    let (text, settings) = context.store().find_privacy_text_and_settings(site.career.tenant()).await?;
    let path = site.privacy_path();
    let layout = site.layout(Some(path.as_str()));
    let text = text.map(|text| descriptions::html(text.as_str()));
    let page = PrivacyPage { layout, text, contact: settings.contact_email.as_ref() };
    Ok(site.page(&page, &Sources::default())?.cached())
}
