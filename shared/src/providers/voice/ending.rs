//! How Vapi's calls end: the families of its `endedReason` values, and the outcome of a call.
//!
//! Vapi has about 600 values and adds new ones at any time. Most of them name a component and its error, so a family has
//! a few complete values and some parts of values. What was said counts more than the value, which does not tell whether
//! the candidate spoke.

use crate::model::{Evidence, Failure, Outcome, Turn};

/// The value for the end of a call in which the interviewer said the words that end it.
pub(super) const DECLINED_REASON: &str = "assistant-said-end-call-phrase";

/// A family of values of `endedReason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Nobody took the call, or a mailbox did.
    NoAnswer,
    /// The interviewer said the words that end a declined call.
    Declined,
    /// One side hung up, or the time was up.
    Ended,
    /// The number does not exist, or its network does not take the call.
    Number,
    /// The operator's account or its settings do not allow the call.
    Account,
    /// The call was not made, for a reason that passes.
    Busy,
    /// Somebody cancelled the call.
    Cancelled,
    /// A component failed during the call.
    Broken,
    /// The call was forwarded, which we never order.
    Forwarded,
    /// A value that is not in the table.
    Unknown,
}

/// Complete values.
const VALUES: [(&str, Family); 30] = [
    ("assistant-forwarded-call", Family::Forwarded),
    ("assistant-join-timed-out", Family::Broken),
    ("assistant-not-found", Family::Account),
    ("assistant-not-valid", Family::Account),
    (DECLINED_REASON, Family::Declined),
    ("call-deleted", Family::Cancelled),
    ("call-start-error-neither-assistant-nor-server-set", Family::Account),
    ("call.ending.hook-executed-say", Family::Ended),
    ("call.ending.hook-executed-transfer", Family::Forwarded),
    ("call.in-progress.error-assistant-did-not-receive-customer-audio", Family::Ended),
    ("call.in-progress.error-transfer-failed", Family::Forwarded),
    ("call.ringing.hook-executed-say", Family::NoAnswer),
    ("call.ringing.hook-executed-transfer", Family::Forwarded),
    ("call.ringing.sip-inbound-caller-hungup-before-call-connect", Family::NoAnswer),
    ("call.start.error-get-customer", Family::Busy),
    ("call.start.error-get-transport", Family::Busy),
    ("call.start.error-subscription-concurrency-limit-reached", Family::Busy),
    ("customer-busy", Family::NoAnswer),
    ("customer-did-not-answer", Family::NoAnswer),
    ("customer-did-not-give-microphone-permission", Family::NoAnswer),
    ("exceeded-max-duration", Family::Ended),
    ("manually-canceled", Family::Cancelled),
    ("phone-call-provider-bypass-enabled-but-no-call-received", Family::Account),
    ("phone-call-provider-closed-websocket", Family::Broken),
    ("scheduled-call-deleted", Family::Cancelled),
    ("silence-timed-out", Family::Ended),
    ("sip-outbound-carrier-released-call", Family::Ended),
    ("voicemail", Family::NoAnswer),
    ("vonage-rejected", Family::Number),
    ("worker-shutdown", Family::Busy),
];

/// Parts of values, for the values that are not in the other table. The first part that a value has counts.
const PARTS: [(&str, Family); 34] = [
    ("customer-ended-call", Family::Ended),
    ("assistant-ended-call", Family::Ended),
    ("vonage-completed", Family::Ended),
    ("vonage-disconnected", Family::Ended),
    ("completed-call", Family::Ended),
    // What the telephone network answered, in codes of SIP.
    ("sip-408", Family::NoAnswer),
    ("sip-480", Family::NoAnswer),
    ("sip-486", Family::NoAnswer),
    ("sip-487", Family::NoAnswer),
    ("sip-600", Family::NoAnswer),
    ("sip-429", Family::Busy),
    ("sip-5", Family::Busy),
    ("sip-401", Family::Account),
    ("sip-402", Family::Account),
    ("sip-403", Family::Account),
    ("sip-407", Family::Account),
    ("sip-4", Family::Number),
    ("sip-6", Family::Number),
    ("unallocated-number", Family::Number),
    ("misdialed", Family::Number),
    ("failed-to-connect", Family::Number),
    // The call was never made.
    ("worker-not-available", Family::Busy),
    ("transport-never-connected", Family::Busy),
    ("concurrency-limit", Family::Busy),
    ("call.start.error-vapifault-", Family::Busy),
    ("call.start.", Family::Account),
    ("call.forwarding.", Family::Forwarded),
    ("warm-transfer", Family::Forwarded),
    ("forwarding-phone-number", Family::Forwarded),
    ("assistant-request-", Family::Account),
    // A component failed during the call. The candidate may have taken it, so it is never made again.
    ("vapifault", Family::Broken),
    ("providerfault", Family::Broken),
    ("pipeline-", Family::Broken),
    ("call.in-progress.error-", Family::Broken),
];

/// What the errors of components contain about which the operator has to do something: pay, or renew a key.
const ACCOUNT_ERRORS: [&str; 15] = [
    "-401-",
    "-402-",
    "-403-",
    "unauthorized",
    "auth-failed",
    "invalid-api-key",
    "api-key-missing",
    "out-of-credits",
    "exceeded-quota",
    "quota-exceeded",
    "insufficent-funds",
    "requested-payment",
    "paid-only-feature",
    "requested-upgrade",
    "account-in-probation",
];

impl Family {
    /// The family of a value.
    pub(super) fn of(reason: &str) -> Self {
        if let Some((_, family)) = VALUES.iter().find(|(value, _)| *value == reason) {
            return *family;
        }
        let family = PARTS.iter().find(|(part, _)| reason.contains(part)).map(|(_, family)| *family);
        match family {
            // Vapi's own accounts with its suppliers are no concern of the operator.
            Some(Self::Broken)
                if !reason.contains("vapifault")
                    && ACCOUNT_ERRORS.iter().any(|part| reason.contains(part)) =>
            {
                Self::Account
            }
            Some(family) => family,
            None => Self::Unknown,
        }
    }
}

/// The outcome of a call that ended for this reason. `has_declined` is the assessment's answer; `None` without an
/// assessment.
pub(super) fn outcome(reason: &str, has_declined: Option<bool>, transcript: &[Turn]) -> Outcome {
    let (family, evidence) = (Family::of(reason), Evidence::of(transcript));
    if evidence.is_machine || family == Family::NoAnswer {
        return Outcome::NoAnswer;
    }
    if family == Family::Declined && (evidence.has_candidate() || transcript.is_empty()) {
        return Outcome::Declined;
    }
    if evidence.has_candidate() {
        let has_declined = has_declined.unwrap_or(evidence.is_refusal);
        return if has_declined { Outcome::Declined } else { Outcome::Completed };
    }
    match family {
        Family::NoAnswer | Family::Declined | Family::Ended => Outcome::NoAnswer,
        Family::Number => Outcome::Failed(Failure::Number),
        Family::Account => Outcome::Failed(Failure::Account(reason.to_owned())),
        Family::Busy if transcript.is_empty() => Outcome::Failed(Failure::Busy),
        Family::Cancelled => Outcome::Failed(Failure::Cancelled),
        Family::Busy | Family::Broken => Outcome::Failed(Failure::Broken),
        // The interviewer spoke, so somebody or something had taken the call.
        Family::Forwarded | Family::Unknown if !transcript.is_empty() => Outcome::NoAnswer,
        Family::Forwarded | Family::Unknown => Outcome::Failed(Failure::Unexplained),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Speaker;

    fn said(turns: &[(Speaker, &str)]) -> Vec<Turn> {
        let turn = |(speaker, text): &(Speaker, &str)| Turn {
            speaker: *speaker,
            text: (*text).to_owned(),
            at_seconds: 0,
        };
        turns.iter().map(turn).collect()
    }

    #[test]
    fn values_have_families() {
        for (value, family) in [
            (
                "call.in-progress.error-providerfault-outbound-sip-480-temporarily-unavailable",
                Family::NoAnswer,
            ),
            ("call.in-progress.error-providerfault-outbound-sip-487-request-terminated", Family::NoAnswer),
            ("call.in-progress.error-providerfault-outbound-sip-403-forbidden", Family::Account),
            ("call.in-progress.error-providerfault-outbound-sip-404-not-found", Family::Number),
            ("call.in-progress.error-providerfault-outbound-sip-503-service-unavailable", Family::Busy),
            ("customer-ended-call-during-transfer", Family::Ended),
            ("sip-outbound-unallocated-number", Family::Number),
            ("call.start.error-subscription-concurrency-limit-reached", Family::Busy),
            ("call.start.error-subscription-frozen", Family::Account),
            ("call.start.error-vapi-number-outbound-daily-limit", Family::Account),
            ("call.start.error-vapifault-database-error", Family::Busy),
            ("call.in-progress.error-vapifault-worker-not-available", Family::Busy),
            ("call.in-progress.error-vapifault-worker-died", Family::Broken),
            ("call.in-progress.error-vapifault-openai-429-exceeded-quota", Family::Broken),
            ("pipeline-error-openai-429-exceeded-quota", Family::Account),
            ("pipeline-error-openai-500-server-error", Family::Broken),
            ("call.forwarding.operator-busy", Family::Forwarded),
            ("", Family::Unknown),
            ("a-value-of-next-year", Family::Unknown),
        ] {
            assert_eq!(Family::of(value), family, "{value}");
        }
        for (index, (part, _)) in PARTS.iter().enumerate() {
            let hidden = PARTS.iter().take(index).find(|(earlier, _)| part.contains(earlier));
            assert_eq!(hidden, None, "{part} is never found");
        }
    }

    #[test]
    fn what_was_said_counts_more_than_the_value() {
        let (agent, candidate) = ((Speaker::Agent, "Hi"), (Speaker::Candidate, "Hello, I am here"));
        let mailbox = (Speaker::Candidate, "Leave a message after the tone");
        for value in ["silence-timed-out", "pipeline-error-x", "call.start.error-subscription-frozen", "new"]
        {
            assert_eq!(outcome(value, None, &said(&[agent, candidate])), Outcome::Completed, "{value}");
            assert_eq!(outcome(value, Some(true), &said(&[agent, candidate])), Outcome::Declined, "{value}");
            for has_declined in [None, Some(false), Some(true)] {
                assert_eq!(
                    outcome(value, has_declined, &said(&[agent, mailbox])),
                    Outcome::NoAnswer,
                    "{value}"
                );
            }
        }
        for (value, silent, empty) in [
            ("customer-ended-call", Outcome::NoAnswer, Outcome::NoAnswer),
            ("exceeded-max-duration", Outcome::NoAnswer, Outcome::NoAnswer),
            (DECLINED_REASON, Outcome::NoAnswer, Outcome::Declined),
            ("worker-shutdown", Outcome::Failed(Failure::Broken), Outcome::Failed(Failure::Busy)),
            ("new", Outcome::NoAnswer, Outcome::Failed(Failure::Unexplained)),
        ] {
            assert_eq!(outcome(value, None, &said(&[agent])), silent, "{value}");
            assert_eq!(outcome(value, Some(true), &said(&[agent])), silent, "{value}");
            assert_eq!(outcome(value, None, &[]), empty, "{value}");
        }
        assert_eq!(outcome("voicemail", None, &said(&[agent, candidate])), Outcome::NoAnswer);
    }
}
