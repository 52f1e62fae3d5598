//! The organization's uploaded logo, under a URL that changes with it.

use shared::http::{Error, Html, PublicRequest, Reply};

use crate::site::Site;

/// Returns the logo with the hash in the path.
pub(crate) async fn show(request: PublicRequest) -> Result<Reply<Html>, Error> {
    let context = &request.context;
    let site = Site::find(context).await?.ok_or(Error::NotFound)?;
    let hash = context.path_parameter("hash");
    if site.career.logo.as_ref().is_none_or(|known| known.to_string() != hash) {
        return Err(Error::NotFound);
    }
    let found = context.store().find_logo(site.career.tenant()).await?;
    // The logo may just have been replaced.
    let logo = found.filter(|logo| logo.hash().to_string() == hash).ok_or(Error::NotFound)?;
    Ok(Reply::picture(logo.format.as_str(), logo.content))
}
