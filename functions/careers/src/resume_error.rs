//! Why a resume file was not attached.

use shared::http::Error;
use shared::providers::bucket::BucketError;

/// The sentence for a file that the bucket did not take.
pub(crate) const UNSAVED: &str = "We could not save the file. Your application has been received; please upload the file again in a minute.";

/// Why a file was not attached.
pub(crate) enum ResumeError {
    /// The file was rejected. The reason is a sentence for the candidate.
    Rejected(String),
    /// The request failed.
    Failed(Error),
}

impl ResumeError {
    /// The bucket does not have the file.
    pub(crate) fn missing() -> Self {
        Self::Rejected("We did not receive the file. Please upload it again.".to_owned())
    }
}

impl<E: Into<Error>> From<E> for ResumeError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

pub(crate) fn unavailable(error: &BucketError) -> ResumeError {
    tracing::error!(trouble = %error, "cannot store a resume");
    ResumeError::Rejected(UNSAVED.to_owned())
}
