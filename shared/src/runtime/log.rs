//! The log, as lines of JSON.

use std::fmt;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{Format, Json, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;

/// The log, as lines of JSON. Each request has one line at its end. Other lines have a `span` with the request's id and
/// its actor, as far as that is known, or with the job's or the task's. Each line names the `function`, if it is known.
///
/// Fields of lines are metrics in AWS: `infra/metrics.yaml` says which.
pub fn log<W>(writer: W, function: Option<&str>) -> impl Subscriber
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let json = tracing_subscriber::fmt::format()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_target(false);
    let ending = function.map(|name| format!(",\"function\":{}}}", serde_json::Value::from(name)));
    let lines =
        tracing_subscriber::fmt::layer().json().event_format(Lines { json, ending }).with_writer(writer);
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

/// The name of the function in the template, without `Function`, from what Lambda calls it:
/// `{stack}-{name}Function-{suffix}`.
pub(super) fn function_name(of_lambda: &str) -> &str {
    let name = of_lambda.rsplit('-').nth(1).unwrap_or(of_lambda);
    name.strip_suffix("Function").unwrap_or(name)
}

/// The format of a line: JSON that ends with the name of the function.
struct Lines {
    json: Format<Json>,
    ending: Option<String>,
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
        let Some(ending) = &self.ending else {
            return self.json.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.json.format_event(context, Writer::new(&mut line), event)?;
        let object = line.trim_end().strip_suffix('}').ok_or(fmt::Error)?;
        writeln!(writer, "{object}{ending}")
    }
}

#[cfg(test)]
mod tests {
    use super::function_name;

    #[test]
    fn a_functions_name_is_part_of_what_lambda_calls_it() {
        for (of_lambda, name) in [
            ("rolecall-prod-RolesFunction-1A2B3C4D5E6F", "Roles"),
            ("rolecall-DashboardRolesFunction-aB3", "DashboardRoles"),
            ("RolesFunction", "Roles"),
            ("roles", "roles"),
        ] {
            assert_eq!(function_name(of_lambda), name);
        }
    }
}
