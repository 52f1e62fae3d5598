//! The functions' permissions on the table, as `template.yaml` grants them and IAM evaluates them.
//!
//! Every call to DynamoDB that a function makes in a test is checked, so a missing permission fails the test. If `RENEW` is
//! set, the test adds the patterns of the keys to `template.yaml` instead.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::{Arc, LazyLock, Mutex};

use futures_util::FutureExt;
use rolecall_local::gateway::Function;
use serde_json::Value;
use serde_yaml_ng::Value as Yaml;

use crate::{generated, project};

/// The condition key with the partition keys of a request: of the table, or of the index that it queries.
const LEADING_KEYS: &str = "dynamodb:LeadingKeys";

tokio::task_local! {
    static FUNCTION: String;
}

/// What each function may do in the bucket, by the functions' logical ids: actions with the keys, or an empty key for the whole bucket.
static IN_BUCKET: LazyLock<BTreeMap<String, Vec<(String, String)>>> = LazyLock::new(in_bucket);

/// The policies of all functions, by the functions' logical ids.
pub static POLICIES: LazyLock<BTreeMap<String, Policy>> = LazyLock::new(policies);

/// A key of the chart of the table with made-up values.
pub fn sample_key(key: &str) -> String {
    let mut key = key.replace("{tenant}", "1#live");
    while let (Some(start), Some(end)) = (key.find('{'), key.find('}')) {
        key.replace_range(start..=end, "0000000000000007");
    }
    key
}

/// A function's statements about the table.
#[derive(Debug, Default)]
pub struct Policy(Vec<Statement>);

#[derive(Debug)]
struct Statement {
    allows: bool,
    actions: Vec<String>,
    /// `table`, or the name of an index.
    resources: Vec<String>,
    /// Operators, such as `ForAllValues:StringLike`, with the values for the leading keys.
    conditions: Vec<(String, Vec<String>)>,
}

/// An action on the table or on an index, which IAM allows or denies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// The action, such as `dynamodb:GetItem`.
    pub action: String,
    /// `table`, or the name of an index.
    pub resource: String,
    /// The partition keys of the request. Empty if the request has none, such as a scan.
    pub leading_keys: Vec<String>,
}

impl Access {
    /// Returns what a call to DynamoDB needs. A transaction needs the permission of each of its actions.
    pub fn of(operation: &str, request: &Value) -> Vec<Self> {
        let access = |name: &str, resource: &str, leading_keys: Vec<String>| Self {
            action: format!("dynamodb:{name}"),
            resource: resource.to_owned(),
            leading_keys,
        };
        let pk = |item: &Value| item["pk"]["S"].as_str().map(str::to_owned);
        let of_item = |action: &Value| pk(&action["Item"]).or_else(|| pk(&action["Key"]));
        match operation {
            "TransactWriteItems" => {
                let items = request["TransactItems"].as_array().into_iter().flatten();
                let actions = items.filter_map(Value::as_object).flatten();
                let name = |kind: &str| match kind {
                    "ConditionCheck" => "ConditionCheckItem".to_owned(),
                    kind => format!("{kind}Item"),
                };
                actions
                    .map(|(kind, action)| access(&name(kind), "table", Vec::from_iter(of_item(action))))
                    .collect()
            }
            "BatchGetItem" => {
                let tables =
                    request["RequestItems"].as_object().into_iter().flat_map(|tables| tables.values());
                let keys = tables.flat_map(|table| table["Keys"].as_array().into_iter().flatten());
                vec![access(operation, "table", keys.filter_map(pk).collect())]
            }
            "Query" => {
                let condition = request["KeyConditionExpression"].as_str().unwrap_or_default();
                assert!(condition.starts_with("#hash = :hash"), "{condition}");
                let value = request["ExpressionAttributeValues"][":hash"]["S"].as_str().map(str::to_owned);
                let index = request["IndexName"].as_str().unwrap_or("table");
                vec![access(operation, index, Vec::from_iter(value))]
            }
            _ => vec![access(operation, "table", Vec::from_iter(of_item(request)))],
        }
    }
}

impl Policy {
    /// Whether IAM allows the access: a statement allows it and none denies it.
    pub fn allows(&self, access: &Access) -> bool {
        let mut matching = self.0.iter().filter(|statement| statement.matches(access)).peekable();
        matching.peek().is_some() && matching.all(|statement| statement.allows)
    }

    /// Returns the actions of all statements with their resources: `table`, or the name of an index.
    pub fn actions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|statement| {
            let resources = statement.resources.iter();
            resources.flat_map(|resource| {
                statement.actions.iter().map(move |action| (action.as_str(), resource.as_str()))
            })
        })
    }

    /// Returns the patterns of leading keys of all statements, each with its resources.
    pub fn patterns(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.0.iter().flat_map(|statement| {
            statement.patterns().map(|pattern| (pattern.as_str(), &*statement.resources))
        })
    }
}

impl Statement {
    fn is_about(&self, access: &Access) -> bool {
        self.actions.contains(&access.action) && self.resources.contains(&access.resource)
    }

    fn patterns(&self) -> impl Iterator<Item = &String> {
        let lists = self.conditions.iter().filter(|(operator, _)| operator.ends_with("StringLike"));
        lists.flat_map(|(_, patterns)| patterns)
    }

    fn matches(&self, access: &Access) -> bool {
        self.is_about(access)
            && self.conditions.iter().all(|(operator, values)| holds(operator, values, &access.leading_keys))
    }
}

/// Whether a condition on the leading keys holds. Without any, IAM treats the condition key as absent: `ForAllValues` then
/// holds, and `ForAnyValue` does not.
fn holds(operator: &str, values: &[String], keys: &[String]) -> bool {
    let is_like = |key: &String| values.iter().any(|pattern| is_like(pattern.as_bytes(), key.as_bytes()));
    match operator {
        "ForAllValues:StringLike" => keys.iter().all(is_like),
        "ForAnyValue:StringLike" => keys.iter().any(is_like),
        "Null" => values.iter().any(|value| (value == "true") == keys.is_empty()),
        _ => panic!("the test does not know the operator {operator}"),
    }
}

/// Whether a text matches a pattern in which `*` stands for any text and `?` for one character.
pub fn is_like(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((b'*', pattern)), _) => (0..=text.len()).any(|skipped| is_like(pattern, &text[skipped..])),
        (Some((b'?', pattern)), Some((_, text))) => is_like(pattern, text),
        (Some((expected, pattern)), Some((actual, text))) => expected == actual && is_like(pattern, text),
        (Some(_), None) => false,
    }
}

/// The functions of a test API that are running. The bucket does not see which of them sends a request, so one of them must be
/// permitted what it asks for.
#[derive(Clone, Default)]
pub(crate) struct Running(Arc<Mutex<Vec<String>>>);

impl Running {
    /// Runs a job of a function.
    pub(crate) async fn during<T>(&self, function: &str, job: impl Future<Output = T>) -> T {
        struct End<'r>(&'r Running, &'r str);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                let mut running = self.0.0.lock().expect("no poison");
                let place = running.iter().position(|one| one == self.1);
                running.remove(place.expect("it has begun"));
            }
        }
        self.0.lock().expect("no poison").push(function.to_owned());
        let _end = End(self, function);
        job.await
    }

    /// Wraps a function, so that its requests to the bucket are checked.
    pub(crate) fn wrap(&self, name: &str, function: Function) -> Function {
        let (running, name) = (self.clone(), name.to_owned());
        Arc::new(move |request| {
            let (running, name, answer) = (running.clone(), name.clone(), function(request));
            async move { running.during(&name, answer).await }.boxed()
        })
    }

    /// Whether a request to the bucket is permitted. A test may do everything while no function is running.
    pub(crate) fn may(&self, action: &str, key: &str) -> bool {
        let running = self.0.lock().expect("no poison");
        let permits = |function: &String| {
            let permissions = IN_BUCKET.get(function).into_iter().flatten();
            let mut of_action = permissions.filter(|(permitted, _)| permitted == action);
            of_action.any(|(_, keys)| is_like(keys.as_bytes(), key.as_bytes()))
        };
        running.is_empty() || running.iter().any(permits)
    }
}

/// Wraps a function, so that its calls to DynamoDB are checked.
pub(crate) fn wrap(name: &str, function: Function) -> Function {
    let name = name.to_owned();
    Arc::new(move |request| FUNCTION.scope(name.clone(), function(request)).boxed())
}

/// Runs a job of a function, whose calls to DynamoDB are checked.
pub async fn run_as<T>(function: &str, job: impl Future<Output = T>) -> T {
    FUNCTION.scope(function.to_owned(), job).await
}

/// Runs an action of a test in the middle of a function's call, without checks.
pub(crate) async fn run_unchecked<T>(action: impl Future<Output = T>) -> T {
    FUNCTION.scope(String::new(), action).await
}

/// Returns the logical id of the function that is running, or an empty string.
pub(crate) fn current() -> String {
    FUNCTION.try_with(String::clone).unwrap_or_default()
}

/// Panics if a function makes the call but may not, or pays for items that a filter leaves out. Every key has only characters that cannot imitate another kind of key.
pub(crate) fn check(function: &str, operation: &str, request: &Value) {
    if function.is_empty() {
        return;
    }
    assert!(request.get("FilterExpression").is_none(), "{function} reads items that it does not use");
    for access in Access::of(operation, request) {
        let in_key = |byte: u8| byte.is_ascii_alphanumeric() || b"#_-:.".contains(&byte);
        for key in &access.leading_keys {
            assert!(key.bytes().all(in_key), "{key} contains a text that somebody chose");
        }
        let is_allowed = POLICIES.get(function).is_some_and(|policy| policy.allows(&access));
        assert!(
            is_allowed || generated::renews() && allow(function, &access),
            "{function} is denied {access:?}: run .ci/renew, or this test with RENEW=1"
        );
    }
}

/// Adds the patterns of the keys to the function's first statement in `template.yaml` about the action. Returns whether there
/// is one.
fn allow(function: &str, access: &Access) -> bool {
    static FILE: Mutex<()> = Mutex::new(());
    let _file = FILE.lock().expect("no poison");
    // Another call may have added patterns.
    let policies = policies();
    let mut statements = policies.get(function).into_iter().flat_map(|policy| policy.0.iter().enumerate());
    let Some((place, statement)) = statements.find(|(_, one)| one.is_about(access)) else { return false };
    let new = access.leading_keys.iter().map(|key| pattern(key));
    let patterns = statement.patterns().cloned().chain(new).collect();
    let file = project("template.yaml");
    let template = std::fs::read_to_string(&file).expect("the template");
    std::fs::write(file, with_patterns(&template, function, place, &patterns)).expect("a writable file");
    true
}

/// Replaces the patterns of a function's statement about the table.
fn with_patterns(template: &str, function: &str, place: usize, patterns: &BTreeSet<String>) -> String {
    let (before, resource) = template.split_once(&format!("\n  {function}:\n")).expect("the function");
    let list = resource.match_indices("StringLike:").nth(place).expect("the statement").0;
    let key = format!("'{LEADING_KEYS}':");
    let start = list + resource[list..].find(&key).expect("the list") + key.len();
    let end = start + resource[start..].find(']').expect("the end of the list") + 1;
    let (before_list, after) = (&resource[..start], &resource[end..]);
    format!("{before}\n  {function}:\n{before_list}{}{after}", list_of(patterns))
}

/// A list of patterns in YAML, in lines of at most 120 characters.
fn list_of(patterns: &BTreeSet<String>) -> String {
    let indentation = format!("\n{}", " ".repeat(20));
    let (mut list, mut width) = (format!("{indentation}["), 120);
    for pattern in patterns {
        let length = pattern.len() + 4;
        if width + length > 120 {
            write!(list, "{indentation} ").expect("a string");
            width = 21;
        }
        write!(list, " '{pattern}',").expect("a string");
        width += length;
    }
    format!("{list}{indentation}]")
}

/// The pattern of all keys of a key's kind: `*#ROLE_STATS` for `1#live#ROLE_STATS`.
pub fn pattern(key: &str) -> String {
    let is_kind = |part: &str| part.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let parts: Vec<_> = key.split('#').collect();
    let Some(place) = parts.iter().position(|part| is_kind(part)) else { return key.to_owned() };
    let before = if place > 0 { "*#" } else { "" };
    format!("{before}{}{}", parts[place], if place + 1 < parts.len() { "#*" } else { "" })
}

fn policies() -> BTreeMap<String, Policy> {
    statements()
        .into_iter()
        .map(|(id, all)| (id, Policy(all.iter().filter_map(statement).collect())))
        .collect()
}

/// Returns what the functions may do in the bucket. The condition that a file is scanned is about browsers.
fn in_bucket() -> BTreeMap<String, Vec<(String, String)>> {
    let of = |statement: &Yaml| {
        let resources = texts(&statement["Resource"]).into_iter().filter_map(|resource| {
            let keys = resource.strip_prefix("${Resumes.Arn}/").map(str::to_owned);
            keys.or_else(|| (resource == "Resumes.Arn").then(String::new))
        });
        let (resources, actions) = (resources.collect::<Vec<_>>(), texts(&statement["Action"]));
        actions.into_iter().flat_map(move |action| {
            let permission = move |keys: &String| (action.clone(), keys.clone());
            resources.iter().map(permission).collect::<Vec<_>>()
        })
    };
    statements().into_iter().map(|(id, all)| (id, all.iter().flat_map(of).collect())).collect()
}

/// Returns the statements of the functions' policies in `template.yaml`, by the functions' logical ids.
fn statements() -> BTreeMap<String, Vec<Yaml>> {
    let text = std::fs::read_to_string(project("template.yaml")).expect("template.yaml");
    let template: Yaml = serde_yaml_ng::from_str(&text).expect("YAML");
    let resources = template["Resources"].as_mapping().expect("resources").iter();
    let functions =
        resources.filter(|(_, resource)| resource["Type"].as_str() == Some("AWS::Serverless::Function"));
    let statements = |function: &Yaml| {
        let policies = function["Properties"].get("Policies").and_then(Yaml::as_sequence);
        let statements = policies.into_iter().flatten().filter_map(|policy| policy.get("Statement"));
        statements.flat_map(|list| list.as_sequence().into_iter().flatten()).cloned().collect()
    };
    let name = |name: &Yaml| name.as_str().expect("a logical id").to_owned();
    functions.map(|(id, function)| (name(id), statements(function))).collect()
}

/// Returns a statement about the table.
fn statement(statement: &Yaml) -> Option<Statement> {
    let actions = texts(&statement["Action"]);
    let resources = texts(&statement["Resource"]).into_iter().filter_map(|resource| {
        let index = resource.rsplit_once("${Table.Arn}/index/").map(|(_, index)| index.to_owned());
        index.or_else(|| (resource == "Table.Arn").then(|| "table".to_owned()))
    });
    let resources: Vec<_> = resources.collect();
    let condition = |(operator, keys): (&Yaml, &Yaml)| {
        let keys = keys.as_mapping().expect("condition keys");
        assert!(keys.len() == 1 && keys.contains_key(LEADING_KEYS), "{keys:?}");
        (operator.as_str().expect("an operator").to_owned(), texts(&keys[LEADING_KEYS]))
    };
    let conditions = statement.get("Condition").and_then(Yaml::as_mapping).into_iter().flatten();
    actions.iter().any(|action| action.starts_with("dynamodb:")).then(|| Statement {
        allows: statement["Effect"].as_str() == Some("Allow"),
        actions,
        resources,
        conditions: conditions.map(condition).collect(),
    })
}

/// Returns a text, or each text of a list, without the names of intrinsic functions.
fn texts(value: &Yaml) -> Vec<String> {
    match value {
        Yaml::Sequence(values) => values.iter().flat_map(texts).collect(),
        Yaml::Tagged(tagged) => texts(&tagged.value),
        value => vec![value.as_str().expect("a text").to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(action: &str, resource: &str, keys: &[&str]) -> Access {
        Access {
            action: action.to_owned(),
            resource: resource.to_owned(),
            leading_keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        }
    }

    fn policy(text: &str) -> Policy {
        let statements: Yaml = serde_yaml_ng::from_str(text).unwrap();
        Policy(statements.as_sequence().unwrap().iter().filter_map(statement).collect())
    }

    #[test]
    fn patterns_are_matched_as_iam_does() {
        for (pattern, text, expected) in [
            ("*#GATE", "1#live#GATE", true),
            ("*#GATE", "1#live#GATE#3", false),
            ("*#GATE#*", "1#live#GATE#3", true),
            ("*#GATE#*", "1#live#GATE", false),
            ("*#GATE", "1#live#gate", false),
            ("TASK", "TASK", true),
            ("TASK", "TASKS", false),
            ("T?SK", "TASK", true),
            ("T?SK", "TSK", false),
            ("*", "", true),
            ("?", "", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
        ] {
            assert_eq!(is_like(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn conditions_are_evaluated_as_iam_does() {
        let policy = policy(
            "
            - Effect: Allow
              Action: [dynamodb:Query, dynamodb:BatchGetItem]
              Resource: [!GetAtt Table.Arn, !Sub '${Table.Arn}/index/filtered']
              Condition:
                ForAllValues:StringLike: {dynamodb:LeadingKeys: ['*#ROLE', '*#KEY']}
                'Null': {dynamodb:LeadingKeys: 'false'}
            - Effect: Deny
              Action: dynamodb:Query
              Resource: !GetAtt Table.Arn
              Condition:
                ForAnyValue:StringLike: {dynamodb:LeadingKeys: '*#KEY'}
            ",
        );
        for (action, resource, keys, expected) in [
            ("dynamodb:Query", "table", &["1#live#ROLE"] as &[_], true),
            ("dynamodb:Query", "filtered", &["1#live#ROLE"], true),
            ("dynamodb:Query", "by_status", &["1#live#ROLE"], false),
            ("dynamodb:GetItem", "table", &["1#live#ROLE"], false),
            ("dynamodb:Query", "table", &["1#live#GATE"], false),
            ("dynamodb:Query", "table", &["1#live#KEY"], false),
            ("dynamodb:Query", "filtered", &["1#live#KEY"], true),
            ("dynamodb:Query", "table", &[], false),
            ("dynamodb:BatchGetItem", "table", &["1#live#ROLE", "1#live#KEY"], true),
            ("dynamodb:BatchGetItem", "table", &["1#live#ROLE", "1#live#GATE"], false),
            ("dynamodb:BatchGetItem", "table", &[], false),
        ] {
            assert_eq!(
                policy.allows(&access(action, resource, keys)),
                expected,
                "{action} {resource} {keys:?}"
            );
        }
    }

    #[test]
    fn new_patterns_are_added_to_a_statement_of_a_function() {
        let lists = |second: &str| {
            let list = "StringLike: {'dynamodb:LeadingKeys': ['*#ROLE']}\n";
            format!(
                "\n  Other:\n    {list}\n  Own:\n    {list}    StringLike: {{'dynamodb:LeadingKeys':{second}}}\n"
            )
        };
        let keys = ["1#live#WORD", "1#ROLE", "TASK#04#1"];
        let patterns = keys.map(pattern).into();
        let list = "\n                    [\n                      '*#ROLE', '*#WORD', 'TASK#*',\n                    ]";
        assert_eq!(with_patterns(&lists(" ['*#ROLE']"), "Own", 1, &patterns), lists(list));
    }
}
