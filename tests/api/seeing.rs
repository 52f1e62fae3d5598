//! What operators see: metrics, alarms, the dashboard, saved queries and the runbook agree with each other and with the
//! functions.

use std::collections::{BTreeMap, BTreeSet};

use rolecall_local::functions::tables;
use serde_yaml_ng::Value;
use shared::providers::client::Provider;
use shared::runtime::metrics::{ERRORS, LINES, NAMESPACE, STACK};
use tests::{generated, project};

/// The price of a metric and of an alarm on one metric, in cents a month (us-east-1).
const METRIC: usize = 30;
const ALARM: usize = 10;
const MAX_METRICS: usize = 100;

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

/// The names and the second dimensions of all metrics in the lines of the log.
fn metrics() -> BTreeSet<(&'static str, Option<&'static str>)> {
    let of_lines = LINES.iter().flat_map(|line| line.metrics.iter().map(|(name, _)| (*name, line.dimension)));
    of_lines.chain([(ERRORS, None)]).collect()
}

/// The number of metrics of the whole stack.
fn custom_metrics() -> usize {
    // A function without routes has no request.
    let with_requests = tables().len();
    let values = |dimension| match dimension {
        None | Some("queue") => 1,
        Some("function") => with_requests,
        Some("provider") => Provider::ALL.len(),
        Some(other) => panic!("how many values has the dimension {other}?"),
    };
    let filters = ALARMS.map(|path| resources(&yaml(path), "AWS::Logs::MetricFilter").len());
    metrics().into_iter().map(|(_, dimension)| values(dimension)).sum::<usize>()
        + filters.iter().sum::<usize>()
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

/// A function needs one resource for its alarms, the name of its log group for the queries, and nothing for its metrics.
#[test]
fn every_function_has_alarms_and_is_in_the_queries() {
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
            short
        })
        .collect();
    assert_eq!(with_alarms, functions, "each function has a stack of infra/function_alarms.yaml");
    let logs = &stacks["Overview"]["Properties"]["Parameters"]["FunctionLogs"];
    let Value::Tagged(join) = logs else { panic!("{logs:?}") };
    let logs = join.value[1].as_sequence().unwrap();
    let logs: BTreeSet<_> =
        logs.iter().map(|log| tagged(log).strip_suffix("Logs").unwrap().to_owned()).collect();
    assert_eq!(logs, functions, "each function's log group is in FunctionLogs");
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
        let group = logging["LogGroup"].clone();
        assert_eq!(tagged(&group), name.replace("Function", "Logs"));
    }
    let variables = &template["Globals"]["Function"]["Environment"]["Variables"];
    assert_eq!(tagged(&variables["STACK_NAME"]), "AWS::StackName", "a dimension of the metrics");
    assert_eq!(
        tagged(&template["Globals"]["Function"]["Tracing"]),
        "Tracing",
        "one switch for all functions"
    );
}

#[test]
fn alarms_watch_metrics_that_exist() {
    let metrics = metrics();
    let mut watched = BTreeSet::new();
    for path in ALARMS {
        let template = yaml(path);
        for (name, alarm) in resources(&template, "AWS::CloudWatch::Alarm") {
            let properties = &alarm["Properties"];
            if properties["Namespace"] == NAMESPACE {
                let dimensions = properties["Dimensions"].as_sequence().unwrap();
                let names: Vec<_> = dimensions.iter().map(|one| one["Name"].as_str().unwrap()).collect();
                assert_eq!(names[0], STACK, "{name}");
                let metric = properties["MetricName"].as_str().unwrap();
                let known = metrics.iter().find(|known| **known == (metric, names.get(1).copied()));
                watched.insert(*known.unwrap_or_else(|| panic!("{name}: no line has {metric} by {names:?}")));
                continue;
            }
            for one in properties["Metrics"].as_sequence().into_iter().flatten() {
                let metric = &one["MetricStat"]["Metric"];
                if metric["Namespace"] == NAMESPACE {
                    assert_eq!(metric["Dimensions"][0]["Name"], STACK, "{name}");
                    let metric = metric["MetricName"].as_str().unwrap();
                    let known = metrics.iter().find(|known| **known == (metric, None));
                    watched.insert(*known.unwrap_or_else(|| panic!("{name}: no line has {metric}")));
                }
            }
            let Value::Tagged(query) = &properties["Metrics"][0]["Expression"] else { continue };
            let query = query.value.as_str().unwrap();
            if let Some((_, rest)) = query.split_once("SCHEMA(\"Rolecall\", ") {
                let words: Vec<_> = query.split('"').skip(1).step_by(2).collect();
                let (metric, dimension) = (words[0], words[2]);
                assert!(rest.starts_with(&format!("\"{dimension}\", \"stack\")")), "{name}: {query}");
                let known = metrics.iter().find(|known| **known == (metric, Some(dimension)));
                watched
                    .insert(*known.unwrap_or_else(|| panic!("{name}: no line has {metric} by {dimension}")));
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
    ] {
        assert!(watched.contains(&expected), "no alarm watches {expected:?}");
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

/// The dashboard shows every metric, and nothing that is none.
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
                assert_eq!(words[2..4], ["stack", "${StackName}"]);
                shown.insert((words[1].to_owned(), words.get(4).map(|name| (*name).to_owned())));
            } else if let Some(search) = metric[0]["expression"].as_str() {
                let dimension = search.split(['{', ',']).nth(2).unwrap();
                let name = search.split("MetricName=\"").nth(1).unwrap().split('"').next().unwrap();
                shown.insert((name.to_owned(), Some(dimension.to_owned())));
            }
        }
    }
    let all = metrics().into_iter();
    let all: BTreeSet<_> = all.map(|(name, by)| (name.to_owned(), by.map(str::to_owned))).collect();
    assert_eq!(shown, all);
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
