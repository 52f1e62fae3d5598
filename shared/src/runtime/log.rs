//! The log, as lines of JSON.

use std::fmt;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{Format, Json, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;

use super::metrics::Source;

/// The log, as lines of JSON. Each request has one line at its end. Other lines have a `span` with the request's id and
/// its actor, as far as that is known, or with the job's or the task's. Lines have metrics if their `source` is known.
pub fn log<W>(writer: W, source: Option<Source>) -> impl Subscriber
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let json = tracing_subscriber::fmt::format()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_target(false);
    let lines =
        tracing_subscriber::fmt::layer().json().event_format(Lines { json, source }).with_writer(writer);
    tracing_subscriber::registry().with(lines).with(log_filter())
}

/// The filter for log events: the value of `RUST_LOG` (such as `debug` or `warn,shared=info`), or the default.
pub fn log_filter() -> Targets {
    let configured = std::env::var("RUST_LOG").ok().and_then(|names| names.parse().ok());
    configured.unwrap_or_else(|| {
        let targets = ["shared", "tasks", "feed", "deliver", "usage_reset", "oauth", "dashboard", "careers"];
        Targets::new().with_default(Level::WARN).with_targets(targets.map(|target| (target, Level::INFO)))
    })
}

/// The format of a line: JSON, with the directives of metrics.
struct Lines {
    json: Format<Json>,
    source: Option<Source>,
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'l> LookupSpan<'l>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some(members) = self.source.as_ref().and_then(|source| source.members(event)) else {
            return self.json.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.json.format_event(context, Writer::new(&mut line), event)?;
        // Fields of events cannot be objects, so the directives are added to the finished object.
        let object = line.trim_end().strip_suffix('}').ok_or(fmt::Error)?;
        writeln!(writer, "{object},{members}}}")
    }
}
