//! Least privilege: `template.yaml` allows each function exactly the table actions and the keys that it uses.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use http::Method;
use serde_json::{Value, json};
use serde_yaml_ng::Value as Yaml;
use shared::store::KINDS;
use tests::permissions::{Access, POLICIES, Policy, is_like, sample_key};
use tests::{TestApi, project};

/// Above 1,000 requests a second, every function of the API counts an organization's requests on shards of the gate.
const SHARDS: &str = "*#GATE#*";

/// The harness denies what no policy allows. This shows the other direction, with the calls of all tests.
#[test]
#[ignore = "`.ci/run test` runs it after all other tests"]
fn functions_use_every_action_and_every_key_that_their_policies_allow() {
    let folder = std::env::var("ROLECALL_TEST_CALLS").expect("the folder with the calls of all tests");
    // No test sees that every function reads an item when it starts.
    let start = |function: &String| [function, "dynamodb:GetItem", "table", "NOTHING"].map(str::to_owned);
    let mut used: BTreeSet<_> = POLICIES.keys().map(start).collect();
    for file in std::fs::read_dir(folder).unwrap() {
        for line in std::fs::read_to_string(file.unwrap().path()).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            used.extend(serde_json::from_value::<Vec<[String; 4]>>(line["accesses"].clone()).unwrap());
        }
    }
    let mut unused = Vec::new();
    for (function, policy) in POLICIES.iter() {
        let own: Vec<_> = used.iter().filter(|[user, ..]| user == function).collect();
        for (action, resource) in policy.actions() {
            if !own.iter().any(|[_, used, on, _]| used == action && on == resource) {
                unused.push(format!("{function}: {action} on {resource}"));
            }
        }
        for (pattern, resources) in policy.patterns().filter(|(pattern, _)| *pattern != SHARDS) {
            if !own.iter().any(|[_, _, on, used]| used == pattern && resources.contains(on)) {
                unused.push(format!("{function}: {pattern} on {resources:?}"));
            }
        }
    }
    assert!(unused.is_empty(), "no test uses these: remove them from template.yaml: {unused:#?}");
}

#[test]
fn no_statement_allows_a_request_without_a_key_or_a_key_of_an_unknown_kind() {
    for (function, policy) in POLICIES.iter() {
        for (action, resource) in policy.actions() {
            let access = |leading_keys: &[&str]| Access {
                action: action.to_owned(),
                resource: resource.to_owned(),
                leading_keys: leading_keys.iter().map(|key| (*key).to_owned()).collect(),
            };
            for keys in [&["1#live#UNKNOWN"] as &[_], &["1#live#GATE", "1#live#UNKNOWN"], &["", "*"]] {
                assert!(!policy.allows(&access(keys)), "{function} may {action} {keys:?}");
            }
            assert!(!policy.allows(&access(&[])), "{function} may {action} on {resource} without a key");
        }
    }
}

/// A pattern matches keys of one kind only: with a value after the kind, or without one.
#[test]
fn a_pattern_matches_the_keys_of_one_kind() {
    let keys = KINDS.iter().flat_map(|kind| [Some(kind.pk), kind.filter, kind.status_filter]).flatten();
    let keys: Vec<_> = keys.map(sample_key).collect();
    assert!(keys.len() > 50, "{keys:#?}");
    let kind = |key: &str| key.strip_prefix("1#live#").unwrap_or(key).split('#').next().unwrap().to_owned();
    for (function, policy) in POLICIES.iter() {
        for (pattern, _) in policy.patterns() {
            let matching = keys.iter().filter(|key| is_like(pattern.as_bytes(), key.as_bytes()));
            let kinds: BTreeSet<_> = matching.map(|key| kind(key)).collect();
            assert!(kinds.len() <= 1, "{function}: {pattern} matches {kinds:?}");
        }
    }
}

/// What a function never needs, it cannot reach, even if an attacker runs code in it.
#[test]
fn functions_are_denied_the_secrets_of_others() {
    let hash = "AAAAAAAAAAAAAAAAAAAAAA";
    let members = ["1#live#MEMBER".to_owned(), "1#live#SESSION#7".to_owned(), format!("MEMBER_EMAIL#{hash}")];
    let registry = ["ORGANIZATION#05".to_owned()];
    let clients = [format!("OAUTH_CLIENT#{hash}"), format!("OAUTH_DOCUMENT#{hash}")];
    let uploads = [format!("1#live#UPLOAD#{hash}")];
    let accounts = ["1#live#CHANNEL".to_owned()];
    let people = ["1#live#CANDIDATE".to_owned(), "1#live#CANDIDATE#7".to_owned(), "1#live#WORD".to_owned()];
    let can_reach = |keys: &[String]| -> Vec<&str> {
        let reaches = |policy: &Policy| {
            let mut actions = policy.actions().filter(|(_, resource)| *resource == "table");
            actions.any(|(action, resource)| {
                keys.iter().any(|key| {
                    let (action, resource) = (action.to_owned(), resource.to_owned());
                    policy.allows(&Access { action, resource, leading_keys: vec![key.clone()] })
                })
            })
        };
        POLICIES.iter().filter(|(_, policy)| reaches(policy)).map(|(name, _)| name.as_str()).collect()
    };
    let audit_log = ["1#live#AUDIT#2026-11-20#1".to_owned()];
    // Notes of the API and of assistants tell the members whom they name, in their sessions.
    let of_members = [
        "CandidatesFunction",
        "DashboardAccountFunction",
        "DashboardCandidatesFunction",
        "DashboardRolesFunction",
        "DashboardSettingsFunction",
        "McpFunction",
        "OauthFunction",
        "SignInFunction",
        // It asks whether whoever began an act on several candidates still is a member, and tells members.
        "TasksFunction",
    ];
    let of_people = [
        "ApplicationsFunction",
        "CandidatesFunction",
        "CareersFunction",
        // A notice has the name of the candidate whom it is about.
        "DashboardAccountFunction",
        "DashboardCandidatesFunction",
        "DashboardRolesFunction",
        "DashboardSettingsFunction",
        "FeedFunction",
        "McpFunction",
        "TasksFunction",
        "VoiceScreensFunction",
        "VoiceWebhookFunction",
    ];
    let of_audit_log = [
        "ApplicationsFunction",
        "CandidatesFunction",
        "DashboardAccountFunction",
        "DashboardCandidatesFunction",
        "DashboardRolesFunction",
        "DashboardSettingsFunction",
        "DataFunction",
        "DeliverFunction",
        "McpFunction",
        "OauthFunction",
        "OrganizationFunction",
        "RolesFunction",
        "SignInFunction",
        "TasksFunction",
        "VoiceScreensFunction",
        "WebhookEndpointsFunction",
    ];
    for (keys, functions) in [
        (&members as &[_], &of_members as &[_]),
        (&registry, &["UsageResetFunction"]),
        (&clients, &["OauthFunction"]),
        (
            &accounts,
            &["ChannelsFunction", "DashboardRolesFunction", "DashboardSettingsFunction", "McpFunction"],
        ),
        (&uploads, &["CareersFunction", "TasksFunction"]),
        (&people, &of_people),
        (&audit_log, &of_audit_log),
    ] {
        assert_eq!(can_reach(keys), functions, "{keys:?}");
    }
}

/// Clients choose idempotency keys, e-mail addresses, telephone numbers, sources, tags, external ids and client ids. The
/// harness requires for every test that keys contain no text that somebody chose. Here these texts look like other keys.
#[tokio::test]
async fn hostile_values_never_match_a_pattern_of_another_kind() {
    let api = TestApi::new().await;
    let hostile = ["x#GATE", "*#GATE", "1#live#MEMBER", "#KEY#", "TASK#00#0", "*"];
    let posted = api.post("/api/v1/quick_post", json!({ "role": { "title": "*#GATE" } })).await.expect(201);
    let role = posted.number("/role/id");
    for (number, value) in hostile.iter().enumerate() {
        let body = json!({
            "name": value, "email": format!("{}@{number}.example.com", value.replace('#', "/")),
            "phone": "+14155552671", "source": value, "tags": [value, format!("x{value}")], "external_id": value,
            "role_id": if number == 0 { Some(role) } else { None },
        });
        let request = api.request(Method::POST, "/api/v1/candidates").header("idempotency-key", value);
        request.json(&body).send().await.expect(201);
        let encoded: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
        for filter in ["external_id", "source", "tag", "q"] {
            api.get(&format!("/api/v1/candidates?{filter}={encoded}")).await;
        }
        let authorize = format!("/oauth/authorize?client_id={encoded}&redirect_uri=https://example.com");
        api.request(Method::GET, &authorize).anonymous().send().await;
        tests::browser::Browser::new(&api).submit_sign_in(&format!("{value}@example.com"), value).await;
    }
    let items = api.stored_items().await;
    let text = |item: &HashMap<String, AttributeValue>, name: &str| {
        item.get(name).and_then(|value| value.as_s().ok()).cloned()
    };
    let keys = items.values().flat_map(|item| ["pk", "filter", "status_filter"].map(|name| text(item, name)));
    let keys: BTreeSet<_> = keys.flatten().collect();
    let kinds = |key: &str| key.split('#').filter(|part| part.len() > 1 && is_kind(part)).count();
    for kind in ["RECEIPT", "EMAIL", "PHONE", "TAG", "CANDIDATE_SOURCE", "EXTERNAL_ID", "ATTEMPTS"] {
        assert!(keys.iter().any(|key| key.split('#').any(|part| part == kind)), "{kind}");
    }
    for key in keys {
        assert_eq!(kinds(&key), 1, "{key} has exactly one part that names a kind");
    }
}

/// Whether a part of a key looks like the name of a kind. Hashes have 22 characters or more.
fn is_kind(part: &str) -> bool {
    part.len() < 22 && part.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

#[test]
fn every_function_with_data_may_use_the_key_that_encrypts_it() {
    let text = std::fs::read_to_string(project("template.yaml")).unwrap();
    let template: Yaml = serde_yaml_ng::from_str(&text).unwrap();
    let resources = &template["Resources"];
    let text = |value: &Yaml| serde_yaml_ng::to_string(value).unwrap();
    for (resource, property) in [
        ("Table", "SSESpecification"),
        ("Resumes", "BucketEncryption"),
        ("SigningKey", "KmsKeyId"),
        ("CredentialKey", "KmsKeyId"),
        ("SealingKey", "KmsKeyId"),
    ] {
        assert!(text(&resources[resource]["Properties"][property]).contains("DataKey"), "{resource}");
    }
    let key = &resources["DataKey"];
    assert_eq!(key["Properties"]["EnableKeyRotation"].as_bool(), Some(true));
    assert_eq!(key["DeletionPolicy"].as_str(), Some("RetainExceptOnCreate"), "the data is lost with the key");
    for (policy, service) in [("TableEncryption", "dynamodb"), ("FileEncryption", "s3")] {
        let statements =
            resources[policy]["Properties"]["PolicyDocument"]["Statement"].as_sequence().unwrap();
        for statement in statements {
            let via = text(&statement["Condition"]["StringEquals"]["kms:ViaService"]);
            assert!(via.contains(&format!("{service}.${{AWS::Region}}.amazonaws.com")), "{policy}: {via}");
            let (actions, key) = (text(&statement["Action"]), text(&statement["Resource"]));
            // S3 asks for the second to store or copy a file, and for the first to read one or a part of one.
            for action in ["kms:Decrypt", "kms:GenerateDataKey"] {
                assert!(actions.contains(action) && key.contains("DataKey.Arn"), "{policy}: {actions}");
            }
        }
    }
    for (name, function) in resources.as_mapping().unwrap() {
        let policies = text(&function["Properties"].get("Policies").cloned().unwrap_or_default());
        if function["Type"].as_str() != Some("AWS::Serverless::Function") {
            continue;
        }
        let uses = ["dynamodb:", "s3:PutObject", "s3:GetObject"].map(|action| policies.contains(action));
        let may_use = ["!Ref TableEncryption", "!Ref FileEncryption"].map(|policy| policies.contains(policy));
        assert_eq!([uses[0], uses[1] || uses[2]], may_use, "{name:?}");
    }
}

/// A text in the template, without the name of an intrinsic function.
fn plain(value: &Yaml) -> &str {
    match value {
        Yaml::Tagged(tagged) => plain(&tagged.value),
        value => value.as_str().unwrap(),
    }
}

/// Whether the bucket's policy denies to store or copy an object with these condition keys.
fn is_denied(policy: &Yaml, keys: &HashMap<&str, &str>) -> bool {
    let holds = |(operator, expected): (&Yaml, &Yaml)| {
        expected.as_mapping().unwrap().iter().all(|(key, value)| {
            let (actual, value) = (keys.get(plain(key)).copied(), plain(value));
            match plain(operator) {
                "Null" => (value == "true") == actual.is_none(),
                "Bool" => actual == Some(value),
                // A condition that negates holds if the key is absent.
                "StringNotEquals" => actual != Some(value),
                other => panic!("the test does not know the operator {other}"),
            }
        })
    };
    policy["Statement"].as_sequence().unwrap().iter().any(|statement| {
        assert_eq!((plain(&statement["Effect"]), plain(&statement["Principal"])), ("Deny", "*"));
        assert!(["s3:*", "s3:PutObject"].contains(&plain(&statement["Action"])));
        statement["Condition"].as_mapping().unwrap().iter().all(holds)
    })
}

/// An algorithm in a request replaces the bucket's own key.
#[test]
fn the_bucket_denies_every_other_encryption_than_with_its_key() {
    let text = std::fs::read_to_string(project("template.yaml")).unwrap();
    let template: Yaml = serde_yaml_ng::from_str(&text).unwrap();
    let policy = &template["Resources"]["ResumesPolicy"]["Properties"]["PolicyDocument"];
    let (algorithm, key, customer) = (
        "s3:x-amz-server-side-encryption",
        "s3:x-amz-server-side-encryption-aws-kms-key-id",
        "s3:x-amz-server-side-encryption-customer-algorithm",
    );
    for (named, expected) in [
        (&[] as &[_], false),
        (&[(algorithm, "aws:kms"), (key, "DataKey.Arn")], false),
        (&[(algorithm, "AES256")], true),
        // This is AWS's own key for S3.
        (&[(algorithm, "aws:kms")], true),
        (&[(algorithm, "aws:kms:dsse")], true),
        (&[(algorithm, "aws:kms"), (key, "arn:aws:kms:us-east-1:123456789012:key/7")], true),
        (&[(customer, "AES256")], true),
    ] {
        let with_tls = named.iter().copied().chain([("aws:SecureTransport", "true")]).collect();
        assert_eq!(is_denied(policy, &with_tls), expected, "{named:?}");
    }
    assert!(is_denied(policy, &HashMap::from([("aws:SecureTransport", "false")])));
}
