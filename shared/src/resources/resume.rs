//! A résumé on the wire: an address that opens it.

use std::collections::HashMap;

use jiff::Timestamp;

use crate::model::{Candidate, Happening, Profile, Resume, ResumeFile, Touchpoint, WebAddress};
use crate::providers::Providers;
use crate::store::CandidatePage;

/// Links to files that we keep, good for an hour at most; or only their keys, which stay the same.
#[derive(Debug)]
pub enum ResumeLinks {
    /// Links, as far as they can be made.
    Signed(HashMap<ResumeFile, WebAddress>),
    /// None.
    Keys,
}

impl ResumeLinks {
    /// Links to the résumés of candidates.
    pub async fn of_candidates(
        providers: &Providers,
        now: Timestamp,
        candidates: impl IntoIterator<Item = &Candidate>,
    ) -> Self {
        let mut files = Vec::new();
        for Candidate { profile, .. } in candidates {
            files.extend(file(profile.resume.as_ref(), profile));
        }
        Self::to(providers, now, files).await
    }

    /// Links to every résumé of one candidate.
    pub async fn of_page(providers: &Providers, now: Timestamp, page: &CandidatePage) -> Self {
        let profile = &page.file.candidate.profile;
        let mut files: Vec<_> = file(profile.resume.as_ref(), profile).into_iter().collect();
        for touchpoint in &page.touchpoints {
            files.extend(file(touchpoint.resume(), profile));
        }
        Self::to(providers, now, files).await
    }

    async fn to(providers: &Providers, now: Timestamp, files: Vec<(ResumeFile, String)>) -> Self {
        let mut links = HashMap::new();
        for (file, name) in files {
            let Some(bucket) = providers.resumes() else { continue };
            match bucket.download_url(file.key(), &name, now).await {
                Ok(link) => {
                    links.insert(file, WebAddress::made(link));
                }
                Err(trouble) => tracing::error!(%trouble, "no link to a résumé"),
            }
        }
        Self::Signed(links)
    }

    /// Where a résumé is; `None` where there is no link to it.
    pub fn address(&self, resume: &Resume) -> Option<WebAddress> {
        match (resume, self) {
            (Resume::Address(address), _) => Some(address.clone()),
            (Resume::File(file), Self::Signed(links)) => links.get(file).cloned(),
            (Resume::File(file), Self::Keys) => Some(WebAddress::made(file.key().to_owned())),
        }
    }

    /// Whether `address` is a link to this file, if an expired one.
    pub fn lead_to(&self, resume: Option<&Resume>, address: &WebAddress) -> bool {
        let file = resume.filter(|resume| matches!(resume, Resume::File(_)));
        let path = |address: &WebAddress| address.as_str().split('?').next().map(str::to_owned);
        file.and_then(|file| self.address(file)).is_some_and(|link| path(&link) == path(address))
    }

    /// The touchpoint with a link in place of the file's key.
    pub fn link(&self, mut touchpoint: Touchpoint) -> Touchpoint {
        if let Happening::Updated { resume, .. } = &mut touchpoint.happening {
            *resume = resume.as_ref().and_then(|resume| self.address(resume)).map(Resume::Address);
        }
        touchpoint
    }
}

/// A résumé's file, if it is one, and what it is called where somebody saves it.
fn file(resume: Option<&Resume>, whose: &Profile) -> Option<(ResumeFile, String)> {
    match resume? {
        Resume::File(file) => Some((file.clone(), file.file_name(whose.name.as_str()))),
        Resume::Address(_) => None,
    }
}
