//! Least privilege: `template.yaml` gives each function exactly the secrets that it uses.

use std::collections::{BTreeMap, BTreeSet};

use rolecall_local::functions::tables;
use serde_yaml_ng::Value as Yaml;
use shared::config::Config;
use shared::mac_keys::MacKeys;
use tests::contract::CONTRACT;
use tests::{TestApi, project};

use super::events::responses_with;

/// Takes a secret away.
type Removal = fn(&mut Config);

/// The service's own keys.
const OWN_SECRETS: [(&str, Removal); 3] = [
    ("CREDENTIAL_KEYS", |config| config.credential_keys = MacKeys::default()),
    ("SEALING_KEYS", |config| config.services.sealing_keys = None),
    ("SIGNING_KEYS", |config| config.signing_keys = MacKeys::default()),
];

/// Returns the secrets that the template gives to each function, except those that it gives to all.
fn given() -> BTreeMap<String, BTreeSet<String>> {
    let text = std::fs::read_to_string(project("template.yaml")).unwrap();
    let template: Yaml = serde_yaml_ng::from_str(&text).unwrap();
    let resources = template["Resources"].as_mapping().unwrap().iter();
    let functions =
        resources.filter(|(_, resource)| resource["Type"].as_str() == Some("AWS::Serverless::Function"));
    let secrets = |function: &Yaml| {
        let environment = function["Properties"].get("Environment");
        let variables = environment.and_then(|environment| environment["Variables"].as_mapping());
        let is_secret =
            |value: &Yaml| serde_yaml_ng::to_string(value).unwrap().contains("resolve:secretsmanager");
        let secrets = variables.into_iter().flatten().filter(|(_, value)| is_secret(value));
        secrets.map(|(name, _)| name.as_str().unwrap().to_owned()).collect()
    };
    functions.map(|(name, function)| (name.as_str().unwrap().to_owned(), secrets(function))).collect()
}

/// Returns the functions with a list in the API, which has a cursor.
fn functions_with_lists() -> BTreeSet<&'static str> {
    let has_cursor = |key: &str| {
        let path = key.strip_prefix("GET ").unwrap_or_default();
        let parameters = CONTRACT.document["paths"][path]["get"]["parameters"].as_array();
        parameters.into_iter().flatten().any(|parameter| parameter["name"] == "cursor")
    };
    let with_list =
        tables().into_iter().filter(|tables| tables.routes.iter().any(|route| has_cursor(route.key)));
    with_list.map(|tables| tables.function).collect()
}

#[test]
fn credentials_of_external_services_are_given_only_to_the_functions_that_use_them() {
    let given = given();
    for (secret, functions) in [
        ("VAPI_API_KEY", &["TasksFunction"] as &[_]),
        ("VAPI_WEBHOOK_SECRET", &["VoiceWebhookFunction"]),
        (
            "X_CLIENT_SECRET",
            &["ChannelsFunction", "DashboardRolesFunction", "DashboardSettingsFunction", "McpFunction"],
        ),
        (
            "SEALING_KEYS",
            &[
                "ChannelsFunction",
                "DashboardAccountFunction",
                "DashboardRolesFunction",
                "DashboardSettingsFunction",
                "DeliverFunction",
                "McpFunction",
                "WebhookEndpointsFunction",
            ],
        ),
    ] {
        let with =
            given.iter().filter(|(_, secrets)| secrets.contains(secret)).map(|(name, _)| name.as_str());
        assert_eq!(with.collect::<Vec<_>>(), functions, "{secret}");
    }
    for function in ["DefaultFunction", "DocsFunction", "UsageResetFunction"] {
        assert_eq!(given[function], BTreeSet::new(), "{function}");
    }
}

/// Without the secrets that a function is not given, it answers its sample requests as before. Without one that it is
/// given, it does not.
#[tokio::test]
async fn every_function_has_exactly_the_keys_that_it_uses() {
    let given = given();
    let lists = functions_with_lists();
    for tables in tables() {
        let (function, given) = (tables.function, &given[tables.function]);
        let with_all = responses_with(function, |_| ()).await;
        let taken: Vec<_> = OWN_SECRETS.iter().filter(|(secret, _)| !given.contains(*secret)).collect();
        if !taken.is_empty() {
            let with_given =
                responses_with(function, |config| taken.iter().for_each(|(_, take)| take(config)));
            assert_eq!(with_given.await, with_all, "{function} needs a secret that it is not given");
        }
        for (secret, take) in OWN_SECRETS.iter().filter(|(secret, _)| given.contains(*secret)) {
            let is_tested_elsewhere = match *secret {
                // The sample lists have one page, without a cursor; signing_keys.rs tests cursors.
                // So has the sample call of a tool; mcp_hostile.rs and mcp_size.rs follow the cursors of tools.
                "SIGNING_KEYS" => lists.contains(function) || function == "McpFunction",
                // The sample requests of posts use a simulator, which has no tokens; x_tokens.rs tests the keys.
                // Those of second factors have no valid code; dashboard_second_factor.rs tests the keys.
                // Those of the MCP endpoint ask no questions; mcp_confirmations.rs tests the keys.
                "SEALING_KEYS" => {
                    let tested = [
                        "ChannelsFunction",
                        "DashboardAccountFunction",
                        "DashboardRolesFunction",
                        "McpFunction",
                    ];
                    tested.contains(&function)
                }
                _ => false,
            };
            let is_used = is_tested_elsewhere || responses_with(function, take).await != with_all;
            assert!(is_used, "{function} does not use {secret}");
        }
    }
}

#[tokio::test]
async fn the_tasks_do_not_run_without_their_keys() {
    let mut api = TestApi::new().await;
    api.environment.config.signing_keys = MacKeys::default();
    let error = tasks::run(api.environment.clone()).await.unwrap_err().to_string();
    assert_eq!(error, "the environment variable SIGNING_KEYS is not set");
}
