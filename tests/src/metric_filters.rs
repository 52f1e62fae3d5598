//! The metric filters in the templates, and what `CloudWatch` makes of a line of a log with them: the part of the pattern syntax that
//! they use.
//!
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html>

use std::collections::BTreeMap;

use serde_json::Value;
use serde_yaml_ng::Value as Yaml;

use crate::project;

/// The templates with metric filters.
pub const TEMPLATES: [&str; 2] = ["infra/alarms.yaml", "infra/metrics.yaml"];

/// A metric, as alarms and the dashboard name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Metric {
    /// The namespace, with the placeholder for the name of the stack.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The name of the dimension.
    pub dimension: Option<String>,
}

/// A resource of the type `AWS::Logs::MetricFilter`.
#[derive(Clone, Debug)]
pub struct MetricFilter {
    /// The logical id.
    pub id: String,
    /// The parameter with the name of the log group.
    pub log_group: String,
    /// The metric.
    pub metric: Metric,
    /// The unit; `None` is no unit.
    pub unit: Option<String>,
    /// The value while no line matches.
    pub default: Option<f64>,
    pattern: Pattern,
    value: String,
}

impl MetricFilter {
    /// All metric filters of the templates.
    pub fn all() -> Vec<Self> {
        TEMPLATES.into_iter().flat_map(Self::of_template).collect()
    }

    /// The metric filters of a template.
    pub fn of_template(path: &str) -> Vec<Self> {
        let template: Yaml =
            serde_yaml_ng::from_str(&std::fs::read_to_string(project(path)).unwrap()).unwrap();
        let resources = template["Resources"].as_mapping().unwrap().iter();
        resources
            .filter(|(_, resource)| resource["Type"] == "AWS::Logs::MetricFilter")
            .map(|(id, resource)| Self::read(id.as_str().unwrap(), &resource["Properties"]))
            .collect()
    }

    fn read(id: &str, properties: &Yaml) -> Self {
        let text = |value: &Yaml| match value {
            Yaml::Tagged(tagged) => tagged.value.as_str().unwrap().to_owned(),
            other => other.as_str().unwrap_or_else(|| panic!("{id}: {other:?}")).to_owned(),
        };
        let transformations = properties["MetricTransformations"].as_sequence().unwrap();
        let [metric] = &transformations[..] else {
            panic!("{id} has {} transformations", transformations.len())
        };
        let dimension = metric.get("Dimensions").map(|dimensions| {
            let [dimension] = &dimensions.as_sequence().unwrap()[..] else { panic!("{id}: {dimensions:?}") };
            let name = text(&dimension["Key"]);
            assert_eq!(text(&dimension["Value"]), format!("$.{name}"), "{id}");
            name
        });
        Self {
            id: id.to_owned(),
            log_group: text(&properties["LogGroupName"]),
            metric: Metric {
                namespace: text(&metric["MetricNamespace"]),
                name: text(&metric["MetricName"]),
                dimension,
            },
            unit: metric.get("Unit").map(text),
            default: metric.get("DefaultValue").and_then(Yaml::as_f64),
            pattern: Pattern::parse(&text(&properties["FilterPattern"])),
            value: text(&metric["MetricValue"]),
        }
    }

    /// The value that a line of the log adds to the metric, with the value of the dimension. A line without a number or without
    /// the dimension adds nothing.
    pub fn value(&self, line: &Value) -> Option<(f64, Option<String>)> {
        if !self.pattern.matches(line) {
            return None;
        }
        let dimension = match &self.metric.dimension {
            Some(name) => Some(line.get(name)?.as_str()?.to_owned()),
            None => None,
        };
        let value = match self.value.strip_prefix('$') {
            Some(selector) => find(line, selector)?.as_f64()?,
            None => self.value.parse().unwrap(),
        };
        Some((value, dimension))
    }
}

/// The values of the metrics that lines of one log group have.
pub fn values(log_group: &str, lines: &[Value]) -> BTreeMap<Metric, Vec<f64>> {
    let mut values: BTreeMap<Metric, Vec<f64>> = BTreeMap::new();
    for filter in MetricFilter::all().iter().filter(|filter| filter.log_group == log_group) {
        for (value, _) in lines.iter().filter_map(|line| filter.value(line)) {
            values.entry(filter.metric.clone()).or_default().push(value);
        }
    }
    values
}

/// The value that a selector such as `.span.kind` finds.
fn find<'l>(line: &'l Value, selector: &str) -> Option<&'l Value> {
    selector.strip_prefix('.')?.split('.').try_fold(line, |value, name| value.get(name))
}

/// A pattern for lines of JSON: `{ ($.message = "request") && ($.failed = *) }`. All conditions must be met.
#[derive(Clone, Debug)]
struct Pattern(Vec<(String, Operand)>);

/// What a selected value must equal.
#[derive(Clone, Debug)]
enum Operand {
    /// Any value: the field exists.
    Anything,
    /// This string.
    Text(String),
}

impl Pattern {
    /// Fails if the pattern is none that the templates may use.
    fn parse(pattern: &str) -> Self {
        let fail = || -> ! { panic!("{pattern} is not a pattern that this test knows") };
        let Some(inner) = pattern.strip_prefix("{ ").and_then(|rest| rest.strip_suffix(" }")) else { fail() };
        let conditions = inner.split(" && ").map(|condition| {
            let condition =
                condition.strip_prefix('(').map_or(condition, |rest| match rest.strip_suffix(')') {
                    Some(inner) => inner,
                    None => fail(),
                });
            let Some((selector, operand)) = condition.split_once(" = ") else { fail() };
            let name = selector.strip_prefix("$.").filter(|name| !name.is_empty());
            let is_name =
                |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
            let Some(name) = name.filter(|name| is_name(name)) else { fail() };
            let text = || operand.strip_prefix('"')?.strip_suffix('"').filter(|text| !text.contains('"'));
            let operand = match text() {
                Some(text) => Operand::Text(text.to_owned()),
                None if operand == "*" => Operand::Anything,
                None => fail(),
            };
            (format!(".{name}"), operand)
        });
        Self(conditions.collect())
    }

    fn matches(&self, line: &Value) -> bool {
        self.0.iter().all(|(selector, operand)| match (find(line, selector), operand) {
            (Some(Value::Null) | None, _) => false,
            (Some(_), Operand::Anything) => true,
            (Some(value), Operand::Text(text)) => value == text.as_str(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pattern_matches_fields_and_strings() {
        for (pattern, line, expected) in [
            (r#"{ $.message = "request" }"#, json!({ "message": "request" }), true),
            (r#"{ $.message = "request" }"#, json!({ "message": "requests" }), false),
            (r#"{ $.status = "401" }"#, json!({ "status": 401 }), false),
            ("{ $.failed = * }", json!({ "failed": 0 }), true),
            ("{ $.failed = * }", json!({ "failures": 1 }), false),
            (
                r#"{ ($.message = "tasks") && ($.failed = *) }"#,
                json!({ "message": "tasks", "failed": 2 }),
                true,
            ),
            (r#"{ ($.message = "tasks") && ($.failed = *) }"#, json!({ "message": "tasks" }), false),
            (r#"{ $.span.kind = "call" }"#, json!({ "span": { "kind": "call" } }), true),
        ] {
            assert_eq!(Pattern::parse(pattern).matches(&line), expected, "{pattern} {line}");
        }
    }

    #[test]
    fn patterns_of_other_forms_are_refused() {
        for pattern in
            ["ERROR", "{ $.a }", "{ $.a = 1 }", "{ $.a = \"b\" || $.c = * }", "{ a = * }", "{ ($.a = * }"]
        {
            assert!(std::panic::catch_unwind(|| Pattern::parse(pattern)).is_err(), "{pattern}");
        }
    }
}
