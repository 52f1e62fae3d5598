//! What operators see: metrics, alarms, the dashboard, saved queries and the runbook agree with each other and with the
//! functions.

use std::collections::{BTreeMap, BTreeSet};

use rolecall_local::functions::tables;
use serde_yaml_ng::Value;
use shared::providers::client::Provider;
use tests::metric_filters::{Metric, MetricFilter};
use tests::{generated, project};

/// The price of a metric and of an alarm on one metric, in cents a month (us-east-1).
const METRIC: usize = 30;
const ALARM: usize = 10;
const MAX_METRICS: usize = 100;
/// The maximum number of filters of a log group.
const MAX_FILTERS: usize = 100;
/// The namespace of the metrics in the lines of the logs.
const NAMESPACE: &str = "Rolecall/${StackName}";

fn text(path: &str) -> String {
    std::fs::read_to_string(project(path)).unwrap()
}

fn yaml(path: &str) -> Value {
    serde_yaml_ng::from_str(&text(path)).unwrap()
}

/// The resources of a kind in a template, by name.
fn resources<'t>(template: &'t Value, kind: &str) -> BTreeMap<&'t str, &'t Value> {
    let all = template["Resources"].as_mapping().unwrap().iter();
    all.filter(|(_, resource)| resource["Type"] == kind)
        .map(|(name, resource)| (name.as_str().unwrap(), resource))
        .collect()
}

/// The templates with alarms. `shift.yaml` has one for the new version of each function.
const ALARMS: [&str; 3] = ["infra/alarms.yaml", "infra/function_alarms.yaml", "infra/service_alarms.yaml"];

/// The functions' logical ids without `Function`.
fn functions() -> BTreeSet<String> {
    let template = yaml("template.yaml");
    let functions = resources(&template, "AWS::Serverless::Function");
    functions.keys().map(|name| name.strip_suffix("Function").unwrap().to_owned()).collect()
}

/// The names and the dimensions of all metrics in the lines of the logs.
fn metrics() -> BTreeSet<(String, Option<String>)> {
    MetricFilter::all()
        .into_iter()
        .map(|MetricFilter { metric, .. }| (metric.name, metric.dimension))
        .collect()
}

/// A metric with the dimension that a template names.
fn named(name: &str, dimension: Option<&str>) -> (String, Option<String>) {
    (name.to_owned(), dimension.map(str::to_owned))
}

/// The number of metrics of the whole stack.
fn custom_metrics() -> usize {
    // A function without routes has no request.
    let with_requests = tables().len();
    let values = |dimension: Option<&str>| match dimension {
        None | Some("queue") => 1,
        Some("function") => with_requests,
        Some("provider") => Provider::ALL.len(),
        Some(other) => panic!("how many values has the dimension {other}?"),
    };
    metrics().iter().map(|(_, dimension)| values(dimension.as_deref())).sum()
}

/// `CloudFormation` checks neither.
#[test]
fn metric_filters_keep_the_rules_of_cloudwatch() {
    let filters = MetricFilter::all();
    let mut of_groups: BTreeMap<_, usize> = BTreeMap::new();
    let mut metrics = BTreeSet::new();
    for MetricFilter { id, log_group, metric, unit, default, .. } in &filters {
        *of_groups.entry(log_group.as_str()).or_default() += 1;
        assert_eq!(metric.namespace, NAMESPACE, "{id}");
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        assert!(metric.name.chars().all(is_word) && metric.name.len() <= 255, "{id}: {}", metric.name);
        assert!(
            unit.as_deref().is_none_or(|unit| ["Count", "Milliseconds", "Seconds"].contains(&unit)),
            "{id}"
        );
        assert!(metric.dimension.is_none() || default.is_none(), "{id}: a default value forbids dimensions");
        assert!(metrics.insert(metric), "{id}: two filters count {metric:?}");
    }
    assert!(of_groups.values().all(|number| *number <= MAX_FILTERS), "{of_groups:?}");
    assert_eq!(of_groups.keys().copied().collect::<Vec<_>>(), ["AccessLogs", "FunctionLogs"]);
}

/// The number of alarms of the whole stack.
fn alarms() -> usize {
    let number = |path| resources(&yaml(path), "AWS::CloudWatch::Alarm").len();
    number("infra/alarms.yaml")
        + number("infra/service_alarms.yaml")
        + number("infra/shift.yaml")
        + number("infra/function_alarms.yaml") * functions().len()
}

#[test]
fn the_stack_has_at_most_a_hundred_metrics() {
    assert!(custom_metrics() <= MAX_METRICS, "{} metrics", custom_metrics());
}

#[test]
fn the_runbooks_cost_is_current() {
    let row = |what: &str, number: usize, cents: usize| {
        let cents = number * cents;
        format!("| {what}, {number} | ${}.{:02} |", cents / 100, cents % 100)
    };
    let lines = text("infra/runbook.md");
    let lines = lines.lines().map(|line| match line {
        line if line.starts_with("| metrics, ") => row("metrics", custom_metrics(), METRIC),
        line if line.starts_with("| alarms, ") => row("alarms", alarms(), ALARM),
        line => line.to_owned(),
    });
    let lines: Vec<_> = lines.collect();
    generated::assert_current("infra/runbook.md", &(lines.join("\n") + "\n"));
}

/// A function needs one resource for its alarms, and nothing for its queries and metrics.
#[test]
fn every_function_has_alarms_and_all_write_one_log() {
    let template = yaml("template.yaml");
    let functions = functions();
    let stacks = resources(&template, "AWS::CloudFormation::Stack");
    let with_alarms: BTreeSet<_> = stacks
        .iter()
        .filter(|(_, stack)| stack["Properties"]["TemplateURL"] == "infra/function_alarms.yaml")
        .map(|(name, stack)| {
            let short = name.strip_suffix("Alarms").unwrap().to_owned();
            let function = &stack["Properties"]["Parameters"]["FunctionName"];
            assert_eq!(tagged(function), format!("{short}Function"), "{name}");
            assert_eq!(stack["Properties"]["Parameters"]["Name"], short.as_str(), "the name in the log");
            short
        })
        .collect();
    assert_eq!(with_alarms, functions, "each function has a stack of infra/function_alarms.yaml");
    for reader in ["Alarms", "Metrics", "Overview"] {
        assert_eq!(tagged(&stacks[reader]["Properties"]["Parameters"]["FunctionLogs"]), "FunctionLogs");
    }
}

/// The word after a tag, such as `X` of `!Ref X`.
fn tagged(value: &Value) -> &str {
    let Value::Tagged(tagged) = value else { panic!("{value:?} has no tag") };
    tagged.value.as_str().unwrap()
}

/// Lambda's own lines about each request would cost more than the function's.
#[test]
fn every_function_logs_json_and_leaves_out_lambdas_own_lines() {
    let template = yaml("template.yaml");
    for (name, function) in resources(&template, "AWS::Serverless::Function") {
        let logging = &function["Properties"]["LoggingConfig"];
        assert_eq!(logging["SystemLogLevel"], "WARN", "{name}");
        assert_eq!(logging["LogFormat"], "JSON", "{name}");
        assert!(
            logging["ApplicationLogLevel"].is_null(),
            "{name}: the lines of requests have the level INFO"
        );
        assert_eq!(tagged(&logging["LogGroup"]), "FunctionLogs", "{name}");
    }
    assert_eq!(
        tagged(&template["Globals"]["Function"]["Tracing"]),
        "Tracing",
        "one switch for all functions"
    );
}

/// Whether this is the namespace of the metrics in the lines of the logs.
fn is_ours(namespace: &Value) -> bool {
    matches!(namespace, Value::Tagged(sub) if sub.value.as_str() == Some(NAMESPACE))
}

#[test]
fn alarms_watch_metrics_that_exist() {
    let metrics = metrics();
    let mut watched = BTreeSet::new();
    for path in ALARMS {
        let template = yaml(path);
        for (name, alarm) in resources(&template, "AWS::CloudWatch::Alarm") {
            let properties = &alarm["Properties"];
            let mut watch = |metric: &str, dimension: Option<&str>| {
                let known = named(metric, dimension);
                assert!(metrics.contains(&known), "{name}: no filter counts {known:?}");
                watched.insert(known);
            };
            if is_ours(&properties["Namespace"]) {
                let dimensions = properties["Dimensions"].as_sequence();
                let names = dimensions.into_iter().flatten().map(|one| one["Name"].as_str().unwrap());
                let names: Vec<_> = names.collect();
                assert!(names.len() <= 1, "{name}: {names:?}");
                watch(properties["MetricName"].as_str().unwrap(), names.first().copied());
                continue;
            }
            for one in properties["Metrics"].as_sequence().into_iter().flatten() {
                let metric = &one["MetricStat"]["Metric"];
                if is_ours(&metric["Namespace"]) {
                    assert!(metric["Dimensions"].is_null(), "{name}");
                    watch(metric["MetricName"].as_str().unwrap(), None);
                }
            }
            let Value::Tagged(query) = &properties["Metrics"][0]["Expression"] else { continue };
            let query = query.value.as_str().unwrap();
            if query.contains("SCHEMA(\"Rolecall") {
                let words: Vec<_> = query.split('"').skip(1).step_by(2).collect();
                let [metric, namespace, dimension] = words[..] else { panic!("{name}: {query}") };
                assert_eq!(namespace, NAMESPACE, "{name}");
                watch(metric, Some(dimension));
            }
        }
    }
    for expected in [
        ("failed", Some("function")),
        ("oldest", Some("queue")),
        ("scheduled", Some("queue")),
        ("refused", Some("provider")),
        ("unanswered", Some("provider")),
        ("unreadable", None),
        ("errors", None),
        ("dynamodb_conflicts", None),
        ("gate_shards", None),
        ("feed_age", None),
        ("delivered", None),
        ("delivery_failures", None),
        ("delivery_age", None),
        ("Calls", None),
        ("EndedGrants", None),
        ("RefusedApplications", None),
        ("SuspectForms", None),
        ("Responses401", None),
        ("Responses403", None),
        ("Responses429", None),
    ] {
        assert!(watched.contains(&named(expected.0, expected.1)), "no alarm watches {expected:?}");
    }
}

/// Only a run that is expected may raise an alarm by not being there.
#[test]
fn missing_data_raises_an_alarm_only_if_a_run_is_expected() {
    for path in ALARMS.into_iter().chain(["infra/shift.yaml"]) {
        let template = yaml(path);
        for (name, alarm) in resources(&template, "AWS::CloudWatch::Alarm") {
            let expects_run =
                ["NoTasksRun", "NoUsageReset", "NoDeliveriesRun", "OldestChange"].contains(&name);
            let expected = if expects_run { "breaching" } else { "notBreaching" };
            assert_eq!(alarm["Properties"]["TreatMissingData"], expected, "{name}");
        }
    }
}

/// The dashboard shows every metric of the functions, and nothing that is none. Alarms alone read the metrics of attacks.
#[test]
fn the_dashboard_shows_every_metric() {
    let overview = yaml("infra/overview.yaml");
    let body = &overview["Resources"]["Dashboard"]["Properties"]["DashboardBody"];
    let body: serde_json::Value = serde_json::from_str(tagged(body)).unwrap();
    let mut shown = BTreeSet::new();
    for widget in body["widgets"].as_array().unwrap() {
        for metric in widget["properties"]["metrics"].as_array().into_iter().flatten() {
            if metric[0] == NAMESPACE {
                let words: Vec<_> =
                    metric.as_array().unwrap().iter().filter_map(|word| word.as_str()).collect();
                shown.insert(named(words[1], words.get(2).copied()));
            } else if let Some(search) = metric[0]["expression"].as_str() {
                let words: Vec<_> = search.split(['"', ',', ' ']).filter(|word| !word.is_empty()).collect();
                let ["SEARCH('{", NAMESPACE, dimension, "MetricName=", name, ..] = words[..] else {
                    panic!("{search}")
                };
                shown.insert(named(name, dimension.strip_suffix('}')));
            }
        }
    }
    let of_functions = MetricFilter::of_template("infra/metrics.yaml").into_iter();
    let of_functions: BTreeSet<_> = of_functions
        .map(|MetricFilter { metric: Metric { name, dimension, .. }, .. }| (name, dimension))
        .collect();
    assert_eq!(shown, of_functions);
}

/// Saved queries read fields that lines have.
#[test]
fn the_saved_queries_have_names_that_the_runbook_uses() {
    let overview = yaml("infra/overview.yaml");
    let runbook = text("infra/runbook.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let queries = resources(&overview, "AWS::Logs::QueryDefinition");
    assert!(queries.len() >= 10);
    for (id, query) in queries {
        let name = tagged(&query["Properties"]["Name"]).strip_prefix("${StackName}/").unwrap();
        assert!(runbook.contains(name), "{id}: infra/runbook.md does not say what {name:?} is for");
    }
    for quoted in runbook.split("the query \"").skip(1).chain(runbook.split("the queries \"").skip(1)) {
        let name = quoted.split('"').next().unwrap();
        let names = text("infra/overview.yaml");
        assert!(
            names.contains(&format!("Name: !Sub ${{StackName}}/{name}\n")),
            "no saved query is called {name:?}"
        );
    }
}

/// Each alarm has one section of the runbook, and each section of alarms has an alarm.
#[test]
fn every_alarm_has_its_section_in_the_runbook() {
    let mut alarms: BTreeSet<String> = BTreeSet::from(["NewVersion".to_owned()]);
    let shift = yaml("infra/shift.yaml");
    assert!(!resources(&shift, "AWS::CloudWatch::Alarm").is_empty(), "NewVersion is for these");
    for path in ALARMS {
        let template = yaml(path);
        for kind in ["AWS::CloudWatch::Alarm", "AWS::Budgets::Budget"] {
            alarms.extend(resources(&template, kind).into_keys().map(str::to_owned));
        }
    }
    let runbook = text("infra/runbook.md");
    let (_, rest) = runbook.split_once("\n## Alarms that cannot wait\n").unwrap();
    let (urgent, rest) = rest.split_once("\n## Alarms that can wait\n").unwrap();
    let (others, _) = rest.split_once("\n## Operations\n").unwrap();
    let titles = |part: &str| -> BTreeSet<String> {
        part.lines().filter_map(|line| line.strip_prefix("### ")).map(str::to_owned).collect()
    };
    let sections: BTreeSet<_> = titles(urgent).union(&titles(others)).cloned().collect();
    assert_eq!(sections, alarms);
    // An alarm is in the part of the runbook for the topic that it uses.
    for path in ALARMS {
        let template = yaml(path);
        for (name, alarm) in resources(&template, "AWS::CloudWatch::Alarm") {
            let topic = tagged(&alarm["Properties"]["AlarmActions"][0]);
            let is_urgent = topic != "FileTopic";
            assert_eq!(titles(urgent).contains(name), is_urgent, "{name} informs {topic}");
        }
    }
    for section in urgent.split("\n### ").skip(1).chain(others.split("\n### ").skip(1)) {
        assert!(section.len() > 150, "this section says too little: {section}");
    }
}

/// The runbook's links lead to sections.
#[test]
fn the_links_of_the_runbook_have_targets() {
    let anchors = |path: &str| -> BTreeSet<String> {
        let keep = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == '_';
        text(path)
            .lines()
            .filter_map(|line| line.strip_prefix('#').map(|line| line.trim_start_matches('#').trim()))
            .map(|title| title.to_lowercase().replace(' ', "-").chars().filter(keep).collect())
            .collect()
    };
    for path in ["infra/runbook.md", "infra/README.md"] {
        let source = text(path);
        for link in source.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            let Some((file, anchor)) = link.split_once('#').filter(|_| !link.starts_with("http")) else {
                continue;
            };
            let file = if file.is_empty() { path.to_owned() } else { format!("infra/{file}") };
            assert!(anchors(&file).contains(anchor), "{path}: {link}");
        }
    }
}
