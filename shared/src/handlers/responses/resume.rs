//! Resumes in the API: the URLs that open them.

use std::collections::HashMap;

use super::screen::ScreenAccess;
use crate::clock::Timestamp;
use crate::model::{Candidate, Profile, Resume, ResumeFile, Touchpoint, TouchpointKind, WebAddress};
use crate::providers::Providers;
use crate::providers::bucket::Bucket;

/// The URLs of uploaded files: signed links, which are valid for at most an hour, or the files' keys.
#[derive(Debug)]
pub enum ResumeLinks {
    /// Signed links. A file has none if its link could not be signed.
    Signed(HashMap<ResumeFile, Option<WebAddress>>),
    /// The files' keys, which do not expire. They make the `ETag` independent of the links.
    Keys,
}

impl ResumeLinks {
    /// No links, for what is kept longer than they are valid.
    pub fn none() -> Self {
        Self::Signed(HashMap::new())
    }

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
        Self::sign(providers.resumes(), now, files).await
    }

    /// Signs links to the resumes in a candidate's profile and history. Without a bucket, there are no links.
    pub async fn of_history(
        bucket: Option<&Bucket>,
        now: Timestamp,
        profile: &Profile,
        touchpoints: &[Touchpoint],
    ) -> Self {
        let mut files: Vec<_> = file(profile.resume.as_ref(), profile).into_iter().collect();
        for touchpoint in touchpoints {
            files.extend(file(touchpoint.resume(), profile));
        }
        Self::sign(bucket, now, files).await
    }

    async fn sign(bucket: Option<&Bucket>, now: Timestamp, files: Vec<(ResumeFile, String)>) -> Self {
        let mut links = HashMap::new();
        for (file, name) in files {
            let link = match bucket {
                Some(bucket) => bucket.download_url(file.key(), &name, now).await.map_err(|error| {
                    tracing::error!(trouble = %error, "a link to a resume could not be signed");
                }),
                None => Err(()),
            };
            links.insert(file, link.ok().map(WebAddress::made));
        }
        Self::Signed(links)
    }

    /// Whether there are signed links, which expire.
    pub fn expire(&self) -> bool {
        matches!(self, Self::Signed(links) if !links.is_empty())
    }

    /// The URL of a resume; `None` if it has no link.
    pub fn address(&self, resume: &Resume) -> Option<WebAddress> {
        match (resume, self) {
            (Resume::Address(address), _) => Some(address.clone()),
            (Resume::File(file), Self::Signed(links)) => links.get(file).cloned().flatten(),
            (Resume::File(file), Self::Keys) => Some(WebAddress::made(file.key().to_owned())),
        }
    }

    /// Whether `address` is a link to this file, even an expired one.
    pub fn lead_to(&self, resume: Option<&Resume>, address: &WebAddress) -> bool {
        let file = resume.filter(|resume| matches!(resume, Resume::File(_)));
        let path = |address: &WebAddress| address.as_str().split('?').next().map(str::to_owned);
        file.and_then(|file| self.address(file)).is_some_and(|link| path(&link) == path(address))
    }

    /// A touchpoint, as a caller may see it, with a link instead of a file's key.
    pub fn touchpoint(&self, touchpoint: Touchpoint, access: ScreenAccess) -> Touchpoint {
        let mut touchpoint = access.touchpoint(touchpoint);
        if let TouchpointKind::Updated { resume, .. } = &mut touchpoint.kind {
            *resume = resume.as_ref().and_then(|resume| self.address(resume)).map(Resume::Address);
        }
        touchpoint
    }
}

/// The file of an uploaded resume, and the file name for its download.
fn file(resume: Option<&Resume>, profile: &Profile) -> Option<(ResumeFile, String)> {
    let file = resume?.file()?;
    Some((file.clone(), file.file_name(profile.name.as_str())))
}
