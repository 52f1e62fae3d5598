//! Resumes in the API: the URLs that open them.

use std::collections::HashMap;

use jiff::Timestamp;

use crate::model::{Candidate, Profile, Resume, ResumeFile, Touchpoint, TouchpointKind, WebAddress};
use crate::providers::Providers;
use crate::store::CandidatePage;

/// The URLs of uploaded files: signed links, which are valid for at most an hour, or the files' keys.
#[derive(Debug)]
pub enum ResumeLinks {
    /// Signed links. A file is absent if its link could not be signed.
    Signed(HashMap<ResumeFile, WebAddress>),
    /// The files' keys, which do not expire. They make the `ETag` independent of the links.
    Keys,
}

impl ResumeLinks {
    /// Signs links to the resumes of candidates.
    pub async fn of_candidates(
        providers: &Providers,
        now: Timestamp,
        candidates: impl IntoIterator<Item = &Candidate>,
    ) -> Self {
        let mut files = Vec::new();
        for Candidate { profile, .. } in candidates {
            files.extend(file(profile.resume.as_ref(), profile));
        }
        Self::sign(providers, now, files).await
    }

    /// Signs links to all resumes of one candidate.
    pub async fn of_page(providers: &Providers, now: Timestamp, page: &CandidatePage) -> Self {
        let profile = &page.record.candidate.profile;
        let mut files: Vec<_> = file(profile.resume.as_ref(), profile).into_iter().collect();
        for touchpoint in &page.touchpoints {
            files.extend(file(touchpoint.resume(), profile));
        }
        Self::sign(providers, now, files).await
    }

    async fn sign(providers: &Providers, now: Timestamp, files: Vec<(ResumeFile, String)>) -> Self {
        let mut links = HashMap::new();
        for (file, name) in files {
            let Some(bucket) = providers.resumes() else { continue };
            match bucket.download_url(file.key(), &name, now).await {
                Ok(link) => {
                    links.insert(file, WebAddress::made(link));
                }
                Err(error) => tracing::error!(trouble = %error, "a link to a resume could not be signed"),
            }
        }
        Self::Signed(links)
    }

    /// The URL of a resume; `None` if it has no link.
    pub fn address(&self, resume: &Resume) -> Option<WebAddress> {
        match (resume, self) {
            (Resume::Address(address), _) => Some(address.clone()),
            (Resume::File(file), Self::Signed(links)) => links.get(file).cloned(),
            (Resume::File(file), Self::Keys) => Some(WebAddress::made(file.key().to_owned())),
        }
    }

    /// Whether `address` is a link to this file, even an expired one.
    pub fn lead_to(&self, resume: Option<&Resume>, address: &WebAddress) -> bool {
        let file = resume.filter(|resume| matches!(resume, Resume::File(_)));
        let path = |address: &WebAddress| address.as_str().split('?').next().map(str::to_owned);
        file.and_then(|file| self.address(file)).is_some_and(|link| path(&link) == path(address))
    }

    /// Replaces a file's key in the touchpoint with a link.
    pub fn link(&self, mut touchpoint: Touchpoint) -> Touchpoint {
        if let TouchpointKind::Updated { resume, .. } = &mut touchpoint.kind {
            *resume = resume.as_ref().and_then(|resume| self.address(resume)).map(Resume::Address);
        }
        touchpoint
    }
}

/// The file of an uploaded resume, and the file name for its download.
fn file(resume: Option<&Resume>, profile: &Profile) -> Option<(ResumeFile, String)> {
    match resume? {
        Resume::File(file) => Some((file.clone(), file.file_name(profile.name.as_str()))),
        Resume::Address(_) => None,
    }
}
