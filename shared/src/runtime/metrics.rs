//! Metrics, in the embedded metric format of `CloudWatch`: a line of the log says which of its fields are metrics. This
//! needs no call and no agent.

use std::fmt;

use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Level};

use crate::clock::Clock;

/// The namespace of all metrics.
pub const NAMESPACE: &str = "Rolecall";
/// The dimension that all metrics have. Some have a second one.
pub const STACK: &str = "stack";
/// The metric of lines at level ERROR.
pub const ERRORS: &str = "errors";

/// The metrics of the lines with a message.
pub struct LineMetrics {
    /// The message.
    pub message: &'static str,
    /// The dimension besides the stack.
    pub dimension: Option<&'static str>,
    /// The fields that are metrics, and their units.
    pub metrics: &'static [(&'static str, &'static str)],
}

/// What all functions have in common.
const DATABASE: &[(&str, &str)] = &[
    ("starts", "Count"),
    ("dynamodb_calls", "Count"),
    ("dynamodb_milliseconds", "Milliseconds"),
    ("dynamodb_retries", "Count"),
    ("dynamodb_throttled", "Count"),
    ("dynamodb_conflicts", "Count"),
    ("gate_shards", "Count"),
];

/// All lines with metrics. Each metric costs money for each value of its dimensions, so few have a dimension.
pub const LINES: [LineMetrics; 9] = [
    // The number of values of `failed` is the number of requests, and its average the share that failed.
    LineMetrics {
        message: "request",
        dimension: Some("function"),
        metrics: &[("failed", "Count"), ("milliseconds", "Milliseconds")],
    },
    LineMetrics { message: "request", dimension: None, metrics: DATABASE },
    LineMetrics {
        message: "tasks",
        dimension: Some("queue"),
        metrics: &[
            ("scheduled", "Count"),
            ("tasks", "Count"),
            ("failed", "Count"),
            ("quarantined", "Count"),
            ("oldest", "Seconds"),
        ],
    },
    LineMetrics { message: "tasks", dimension: None, metrics: DATABASE },
    LineMetrics { message: "feed", dimension: None, metrics: &[("feed_age", "Seconds")] },
    LineMetrics {
        message: "deliveries",
        dimension: None,
        metrics: &[("delivered", "Count"), ("delivery_failures", "Count"), ("delivery_age", "Seconds")],
    },
    LineMetrics {
        message: "a call to a provider",
        dimension: Some("provider"),
        metrics: &[("milliseconds", "Milliseconds"), ("refused", "Count"), ("unanswered", "Count")],
    },
    LineMetrics { message: "a call is put off", dimension: None, metrics: &[("waiting_calls", "Count")] },
    LineMetrics { message: "an item cannot be read", dimension: None, metrics: &[("unreadable", "Count")] },
];

/// The function whose metrics these are.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name of the stack.
    pub stack: String,
    /// The name of the function.
    pub function: String,
}

impl Source {
    /// Reads Lambda's environment variables, and the one that the template sets; `None` outside of AWS.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        Some(Self { stack: variable("STACK_NAME")?, function: variable("AWS_LAMBDA_FUNCTION_NAME")? })
    }

    /// What an event's line has besides its fields if some of them are metrics: the members of a JSON object.
    pub(super) fn members(&self, event: &Event<'_>) -> Option<String> {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut sets: Vec<_> = LINES
            .iter()
            .filter(|line| fields.message == line.message)
            .filter_map(|line| {
                let present = line.metrics.iter().filter(|(name, _)| fields.numbers.contains(name));
                directive(line.dimension, present)
            })
            .collect();
        let is_error = *event.metadata().level() == Level::ERROR;
        if is_error {
            sets.extend(directive(None, [(ERRORS, "Count")].iter()));
        }
        if sets.is_empty() {
            return None;
        }
        let now = Clock::system().now().as_millisecond();
        let mut members = json!({
            "_aws": { "Timestamp": now, "CloudWatchMetrics": sets },
            STACK: self.stack,
            "function": self.function,
        });
        if is_error {
            members[ERRORS] = 1.into();
        }
        let object = members.to_string();
        object.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).map(str::to_owned)
    }
}

/// Says that fields are metrics; `None` if there are none.
fn directive<'m>(
    dimension: Option<&str>,
    metrics: impl Iterator<Item = &'m (&'static str, &'static str)>,
) -> Option<Value> {
    let metrics: Vec<_> = metrics.map(|(name, unit)| json!({ "Name": name, "Unit": unit })).collect();
    let dimensions: Vec<_> = [STACK].into_iter().chain(dimension).collect();
    (!metrics.is_empty())
        .then(|| json!({ "Namespace": NAMESPACE, "Dimensions": [dimensions], "Metrics": metrics }))
}

/// The message and the names of the numbers of an event.
#[derive(Default)]
struct Fields {
    message: String,
    numbers: Vec<&'static str>,
}

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, _: u64) {
        self.numbers.push(field.name());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        }
    }
}
