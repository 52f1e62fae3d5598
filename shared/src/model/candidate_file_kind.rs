//! What a file of a candidate is.

use super::string_enum::string_enum;

string_enum! {
    /// What a file of a candidate is.
    #[derive(Default)]
    pub enum CandidateFileKind {
        /// A resume.
        #[default]
        Resume = "resume",
        /// A cover letter.
        CoverLetter = "cover_letter",
        /// Samples of the candidate's work.
        Portfolio = "portfolio",
        /// Anything else.
        Other = "other",
    }
}
