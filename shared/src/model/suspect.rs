//! Suspect forms: application forms that a program may have sent. They are kept apart until a member accepts or discards
//! them.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::string_enum::string_enum;
use super::{ApplicationForm, SuspectFile};
use crate::clock::{Timestamp, later};
use crate::id::Id;

string_enum! {
    /// A sign that a program may have sent a form, or that somebody sends more forms than usual.
    pub enum SuspectSign {
        /// A field was filled in that people do not see.
        Trap = "trap",
        /// The form was sent sooner after the page than a person can be.
        Quick = "quick",
        /// The hidden time of the page is not one that the page had.
        ForgedTime = "forged_time",
        /// The limit of the sender's address was reached.
        Address = "address",
        /// The limit of the sender's network was reached.
        Network = "network",
        /// The job's limit was reached.
        Posting = "posting",
        /// The career site's limit was reached.
        Site = "site",
        /// The candidate with this e-mail address has the maximum number of applications.
        Applications = "applications",
    }
}

impl SuspectSign {
    /// What members read.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Trap => "a hidden field was filled in",
            Self::Quick => "sent at once",
            Self::ForgedTime => "a hidden field was changed",
            Self::Address => "many forms from this address",
            Self::Network => "many forms from this network",
            Self::Posting => "many forms for this job",
            Self::Site => "many forms for all jobs",
            Self::Applications => "the candidate has too many applications",
        }
    }
}

/// A suspect form. It never changes, except that a file may be added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuspectForm {
    /// The identifier, which contains the time.
    pub id: Id,
    /// The posting that the form was sent for.
    pub posting_id: Id,
    /// The posting's role.
    pub role_id: Id,
    /// When it was received.
    pub received_at: Timestamp,
    /// The sender's network: a /24 network of IPv4, or a /48 network of IPv6.
    pub network: String,
    /// Why it is suspect.
    pub signs: Vec<SuspectSign>,
    /// What was sent.
    pub content: ApplicationForm,
    /// The file, if it was kept. It was never checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<SuspectFile>,
}

impl SuspectForm {
    /// The time for which suspect forms are kept.
    pub const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);

    /// When the form is deleted.
    pub fn expires_at(&self) -> Timestamp {
        later(self.received_at, Self::KEPT)
    }

    /// The time before which forms have expired.
    pub fn kept_since(now: Timestamp) -> Timestamp {
        later(now, -Self::KEPT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Answer, AnswerValue, ConsentPurpose, ConsentWording, Lines, Questions, SubmittedConsent, Text,
        TypedPhone,
    };

    /// An item in DynamoDB has at most 400 KB, and 20,000 forms a day should not cost more than they must.
    #[test]
    fn the_largest_form_without_answers_has_less_than_32_kb_and_any_less_than_160_kb() {
        let id = Id::LAST;
        let consents = ConsentPurpose::ALL.map(|purpose| {
            let wording: ConsentWording = Lines::parse(&"x".repeat(100)).unwrap().unwrap();
            SubmittedConsent { purpose, wording }
        });
        let label = "b".repeat(61);
        let mut form = SuspectForm {
            id,
            posting_id: id,
            role_id: id,
            received_at: Timestamp::MAX,
            network: "ffff:ffff:ffff::/48".to_owned(),
            signs: SuspectSign::ALL.into(),
            content: ApplicationForm {
                source: None,
                name: Text::parse(&"\u{1F600}".repeat(200)).unwrap().unwrap(),
                email: format!("{}@{label}.{label}.{label}.com", "a".repeat(64)).parse().unwrap(),
                phone: Some("+14155550132".parse().unwrap()),
                phone_as_typed: TypedPhone::cut(&"\u{1F600}".repeat(200)),
                resume_url: Some(format!("https://example.com/{}", "x".repeat(1_980)).parse().unwrap()),
                note: Lines::parse(&"\u{1F600}".repeat(5_000)).unwrap(),
                consents: consents.into(),
                answers: Vec::new(),
            },
            file: None,
        };
        assert!(serde_json::to_string(&form).unwrap().len() < 32 * 1024);
        let answer = Answer {
            question_id: id,
            label: Text::parse(&"\u{1F600}".repeat(300)).unwrap().unwrap(),
            value: AnswerValue::LongText(Lines::parse(&"\u{1F600}".repeat(800)).unwrap().unwrap()),
        };
        form.content.answers = vec![answer; Questions::MAX];
        assert!(!Answer::are_too_long(&form.content.answers));
        assert!(serde_json::to_string(&form).unwrap().len() < 160 * 1024);
    }
}
