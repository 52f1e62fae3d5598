//! Résumés: a link that somebody gave, or a file that was uploaded.

use serde::{Deserialize, Serialize};

use super::{Tenant, WebAddress};

/// Where a candidate's résumé is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Resume {
    /// A file that we keep.
    File(ResumeFile),
    /// Somewhere in the web.
    Address(WebAddress),
}

/// A file that we keep, by its key in the bucket.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ResumeFile(String);

/// What the keys of kept files begin with.
const KEPT: &str = "resumes/";

impl ResumeFile {
    /// The tenant's file of this unguessable name.
    pub fn new(tenant: Tenant, name: &str, extension: &str) -> Self {
        let Tenant { organization, mode } = tenant;
        Self(format!("{KEPT}{organization}/{}/{name}.{extension}", mode.as_str()))
    }

    /// Its key in the bucket.
    pub fn key(&self) -> &str {
        &self.0
    }

    /// What it is called where somebody saves it: after whose it is.
    pub fn file_name(&self, candidate: &str) -> String {
        let extension = self.0.rsplit_once('.').map_or("", |(_, extension)| extension);
        format!("{candidate} resume.{extension}")
    }
}

impl TryFrom<String> for ResumeFile {
    type Error = &'static str;

    fn try_from(key: String) -> Result<Self, Self::Error> {
        if key.starts_with(KEPT) { Ok(Self(key)) } else { Err("not the key of a kept file") }
    }
}

impl From<ResumeFile> for String {
    fn from(file: ResumeFile) -> Self {
        file.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;
    use crate::model::Mode;
    use serde::de::IntoDeserializer;
    use serde::de::value::Error;

    #[test]
    fn files_and_addresses_are_told_apart_where_they_are_stored() {
        let tenant = Tenant { organization: Id::new(7).unwrap(), mode: Mode::Live };
        let file = ResumeFile::new(tenant, "x1", "pdf");
        assert_eq!(
            (file.key(), file.file_name("Ada")),
            ("resumes/7/live/x1.pdf", "Ada resume.pdf".to_owned())
        );
        for resume in [Resume::File(file), Resume::Address("https://a.example/cv".parse().unwrap())] {
            let stored = match resume.clone() {
                Resume::File(file) => file.into(),
                Resume::Address(address) => address.as_str().to_owned(),
            };
            let read: Result<Resume, Error> = Resume::deserialize(stored.into_deserializer());
            assert_eq!(read.unwrap(), resume);
        }
    }
}
