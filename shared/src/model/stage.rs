//! The stages of the pipeline.

use super::string_enum::string_enum;

string_enum! {
    /// A stage of the pipeline, in its order. The first four are open, the last two are final.
    pub enum Stage {
        /// The application is new.
        Applied = "applied",
        /// The candidate is being screened.
        Screening = "screening",
        /// The candidate is being interviewed.
        Interview = "interview",
        /// The candidate has an offer or is about to get one.
        Offer = "offer",
        /// The candidate was hired.
        Hired = "hired",
        /// The candidate was rejected.
        Rejected = "rejected",
    }
}

string_enum! {
    /// What waits for the team: active applications in one of these states.
    pub enum Waiting {
        /// Nobody has looked at the application.
        Applied = "applied",
        /// The voice screen is completed, and nobody has decided.
        Screened = "screened",
        /// The candidate has an offer.
        Offer = "offer",
    }
}

impl Stage {
    /// The open stages in their order.
    pub const OPEN: [Self; 4] = [Self::Applied, Self::Screening, Self::Interview, Self::Offer];

    /// Whether the stage is final. Only `unreject` and `unhire` leave a final stage.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Hired | Self::Rejected)
    }

    /// The position in the order of the stages.
    pub const fn rank(self) -> usize {
        self as usize
    }
}
