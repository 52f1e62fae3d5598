//! Resumes: links or uploaded files.

use serde::{Deserialize, Serialize};

use super::{Export, Import, Slug, Tenant, WebAddress};
use crate::documents::FileKind;
use crate::id::Id;

/// A candidate's resume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Resume {
    /// An uploaded file.
    File(ResumeFile),
    /// A link to another site.
    Address(WebAddress),
}

impl Resume {
    /// The file, if the resume was uploaded.
    pub const fn file(&self) -> Option<&ResumeFile> {
        match self {
            Self::File(file) => Some(file),
            Self::Address(_) => None,
        }
    }
}

/// The key of an uploaded file in the bucket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ResumeFile(String);

/// The key of the file of a suspect form, which was never checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SuspectFile(String);

/// The prefix of the keys of all stored files.
const PREFIX: &str = "resumes/";
/// The prefix of the keys of files that were just uploaded.
const INCOMING: &str = "incoming/";
/// The prefix of the keys of the files of suspect forms. The bucket deletes them after 31 days.
const SUSPECTS: &str = "suspects/";

impl ResumeFile {
    /// The key of a tenant's file. The name must be unguessable.
    pub fn new(tenant: Tenant, name: &str, extension: &str) -> Self {
        Self(format!("{}{extension}", Self::prefix(tenant, name)))
    }

    /// The key of a tenant's file without the extension.
    pub fn prefix(tenant: Tenant, name: &str) -> String {
        Self::beginning(tenant, &format!("{name}."))
    }

    /// The beginning of the keys of all of a tenant's files whose names begin with `name`.
    pub fn beginning(tenant: Tenant, name: &str) -> String {
        let Tenant { organization, mode } = tenant;
        format!("{PREFIX}{organization}/{}/{name}", mode.as_str())
    }

    /// The name of the file that answers a question. `name` is that of the resume which came with the same ticket.
    pub fn answer_name(name: &str, question: Id) -> String {
        format!("{}{question}", Self::answer_names(name))
    }

    /// The beginning of the names of all files that answer questions with this ticket.
    pub fn answer_names(name: &str) -> String {
        format!("{name}-q")
    }

    /// The prefixes of the keys of all files of an organization: stored, of suspect forms, of imports and exports, or just uploaded. `slugs` are
    /// those of both modes.
    pub fn prefixes(organization: Id, slugs: [&Slug; 2]) -> [String; 6] {
        let [live, test] = slugs.map(|slug| format!("{INCOMING}{slug}/"));
        let (imports, exports) = (Import::files_of(organization), Export::files_of(organization));
        [
            format!("{PREFIX}{organization}/"),
            format!("{SUSPECTS}{organization}/"),
            imports,
            exports,
            live,
            test,
        ]
    }

    /// The key to which an applicant's file is uploaded, before it is checked and stored. Applicants see it, so it
    /// contains the slug of the career page and not the organization's identifier.
    pub fn incoming_key(slug: &Slug, name: &str) -> String {
        format!("{INCOMING}{slug}/{name}")
    }

    /// The key.
    pub fn key(&self) -> &str {
        &self.0
    }

    /// The unguessable name, without the tenant and the extension.
    pub fn name(&self) -> &str {
        let file = self.0.rsplit_once('/').map_or("", |(_, file)| file);
        file.rsplit_once('.').map_or(file, |(name, _)| name)
    }

    /// Whether the file is a PDF. The extension is that of the checked content, not of the uploader's file name.
    pub fn is_pdf(&self) -> bool {
        self.extension() == "pdf"
    }

    /// The file name for downloads, which contains the candidate's name.
    pub fn file_name(&self, candidate: &str) -> String {
        format!("{candidate} resume.{}", self.extension())
    }

    /// A name for downloads with the right extension.
    pub fn named(&self, name: &str) -> String {
        let extension = self.extension();
        let has_it = name.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case(extension));
        if has_it { name.to_owned() } else { format!("{name}.{extension}") }
    }

    /// What the content was found to be.
    pub fn kind(&self) -> Option<FileKind> {
        FileKind::ALL.into_iter().find(|kind| kind.extension() == self.extension())
    }

    fn extension(&self) -> &str {
        self.0.rsplit_once('.').map_or("", |(_, extension)| extension)
    }
}

impl SuspectFile {
    /// The key of the file of a tenant's suspect form. The name must be unguessable.
    pub fn new(tenant: Tenant, name: &str) -> Self {
        let Tenant { organization, mode } = tenant;
        Self(format!("{SUSPECTS}{organization}/{}/{name}", mode.as_str()))
    }

    /// The key.
    pub fn key(&self) -> &str {
        &self.0
    }

    /// The name, without the tenant.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(_, name)| name)
    }
}

impl TryFrom<String> for SuspectFile {
    type Error = &'static str;

    fn try_from(key: String) -> Result<Self, Self::Error> {
        if key.starts_with(SUSPECTS) {
            Ok(Self(key))
        } else {
            Err("not the key of the file of a suspect form")
        }
    }
}

impl From<SuspectFile> for String {
    fn from(file: SuspectFile) -> Self {
        file.0
    }
}

impl TryFrom<String> for ResumeFile {
    type Error = &'static str;

    fn try_from(key: String) -> Result<Self, Self::Error> {
        if key.starts_with(PREFIX) { Ok(Self(key)) } else { Err("not the key of a stored file") }
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
    use crate::model::Mode;
    use serde::de::IntoDeserializer;
    use serde::de::value::Error;

    #[test]
    fn the_file_of_a_suspect_form_is_not_a_resume() {
        let tenant = Tenant { organization: Id::new(7).unwrap(), mode: Mode::Test };
        let file = SuspectFile::new(tenant, "x1");
        assert_eq!((file.key(), file.name()), ("suspects/7/test/x1", "x1"));
        assert!(ResumeFile::try_from(file.key().to_owned()).is_err());
        assert!(SuspectFile::try_from("resumes/7/test/x1".to_owned()).is_err());
    }

    #[test]
    fn the_file_of_an_answer_is_named_after_the_resume_and_is_not_among_its_copies() {
        let tenant = Tenant { organization: Id::new(7).unwrap(), mode: Mode::Live };
        let name = ResumeFile::answer_name("x1", Id::new(12).unwrap());
        let file = ResumeFile::new(tenant, &name, "pdf");
        assert_eq!((file.key(), file.name()), ("resumes/7/live/x1-q12.pdf", "x1-q12"));
        assert!(!file.key().starts_with(&ResumeFile::prefix(tenant, "x1")));
        assert!(name.starts_with(&ResumeFile::answer_names("x1")));
    }

    #[test]
    fn files_and_links_are_distinguished_in_their_stored_form() {
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
