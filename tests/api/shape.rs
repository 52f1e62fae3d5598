//! What must agree does: template, route tables, README, the default function's list, and the direction of the arrows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rolecall_local::functions::{Tables, tables};
use shared::http::{Form, Route};
use tests::{TEMPLATE, project};

#[test]
fn the_template_and_the_functions_tables_are_equal() {
    let in_code: BTreeMap<_, _> = tables()
        .into_iter()
        .flat_map(|tables| {
            let function = tables.function.to_owned();
            tables.rows().into_iter().map(move |row| (row.key.to_owned(), function.clone()))
        })
        .collect();
    let in_template: BTreeMap<_, _> =
        TEMPLATE.routes.iter().map(|route| (route.key.clone(), route.function.clone())).collect();
    assert_eq!(in_code, in_template);
}

#[test]
fn the_default_function_knows_every_route() {
    let mut routes: Vec<_> = tables()
        .into_iter()
        .flat_map(Tables::rows)
        .map(|row| row.key)
        .filter(|key| *key != "$default")
        .collect();
    routes.sort_unstable();
    assert_eq!(default::KNOWN, routes);
}

#[test]
fn pages_are_for_browsers() {
    for row in tables().into_iter().flat_map(|tables| tables.pages) {
        let is_page = matches!(row.form(), Form::Page | Form::Site | Form::Either);
        assert!(is_page || row.key.starts_with("OPTIONS "), "{} belongs to the routes", row.key);
    }
}

/// Rows such as "| `GET /api/v1/roles` | roles | ...".
fn table_rows(text: &str) -> BTreeSet<&str> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    rows.map(|(key, _)| key).filter(|key| key.contains(" /")).collect()
}

#[test]
fn the_readmes_tables_are_current() {
    let readme = std::fs::read_to_string(project("README.md")).unwrap();
    let (routes, pages) = readme.split_once("### The pages").unwrap();
    let rows = |of: fn(Tables) -> Vec<Route>| tables().into_iter().flat_map(of).map(|row| row.key);
    assert_eq!(table_rows(routes), rows(|tables| tables.routes).collect());
    assert_eq!(table_rows(pages), rows(|tables| tables.pages).filter(|key| *key != "$default").collect());
}

#[test]
fn each_functions_own_table_is_current() {
    for (package, routes) in [
        ("candidates", keys("CandidatesFunction")),
        ("careers", keys("CareersFunction")),
        ("channels", keys("ChannelsFunction")),
        ("dashboard", keys("DashboardFunction")),
        ("docs", keys("DocsFunction")),
        ("job_postings", keys("JobPostingsFunction")),
        ("oauth", keys("OauthFunction")),
        ("organization", keys("OrganizationFunction")),
        ("quick_post", keys("QuickPostFunction")),
        ("roles", keys("RolesFunction")),
        ("voice_screens", keys("VoiceScreensFunction")),
        ("voice_webhook", keys("VoiceWebhookFunction")),
    ] {
        let source = std::fs::read_to_string(project(&format!("functions/{package}/src/lib.rs"))).unwrap();
        let rows = source.lines().filter_map(|line| {
            let (method, rest) = line.strip_prefix("//! | ")?.split_once(" | `")?;
            Some(format!("{method} {}", rest.split_once('`')?.0))
        });
        assert_eq!(rows.collect::<Vec<_>>(), routes, "{package}, in table order");
    }
}

fn keys(function: &str) -> Vec<String> {
    let tables = tables().into_iter().find(|tables| tables.function == function).unwrap();
    tables.rows().into_iter().map(|row| row.key.to_owned()).collect()
}

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push((path.clone(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    walk(&project(folder), &mut found);
    found
}

#[test]
fn the_arrows_point_one_way() {
    let layers = [
        "clock",
        "random",
        "id",
        "secret",
        "sealed",
        "model",
        "store",
        "config",
        "providers",
        "screening",
        "accounts",
        "auth",
        "membership",
        "http",
        "resources",
        "runtime",
    ];
    for (path, source) in sources("shared/src") {
        let relative = path.strip_prefix(project("shared/src")).unwrap().to_owned();
        let first = relative.components().next().unwrap().as_os_str().to_string_lossy().replace(".rs", "");
        let Some(own) = layers.iter().position(|layer| *layer == first) else { continue };
        // `http` names the runtime's environment of nobody; what is above may name what is below, never the reverse.
        for above in &layers[own + 1..] {
            assert!(
                !source.contains(&format!("crate::{above}")),
                "{} reaches up to {above}",
                relative.display()
            );
        }
        if first != "store" && first != "runtime" {
            assert!(!source.contains("aws_sdk_dynamodb"), "{} knows DynamoDB", relative.display());
        }
        if first == "model" {
            assert!(!source.contains("serde_json"), "{} knows the wire", relative.display());
        }
    }
    for (path, source) in sources("functions") {
        assert!(!source.contains("aws_sdk") && !source.contains("std::env"), "{}", path.display());
    }
}

#[test]
fn functions_do_not_know_each_other() {
    let folders = std::fs::read_dir(project("functions")).unwrap().filter_map(|entry| {
        let entry = entry.unwrap();
        entry.path().is_dir().then(|| entry.file_name().into_string().unwrap())
    });
    let packages: Vec<_> = folders.collect();
    assert!(packages.len() >= 11);
    for package in &packages {
        let manifest = std::fs::read_to_string(project(&format!("functions/{package}/Cargo.toml"))).unwrap();
        let (_, dependencies) = manifest.split_once("[dependencies]").unwrap();
        for other in &packages {
            assert!(
                !dependencies.lines().any(|line| line.starts_with(other.as_str())),
                "{package} depends on {other}"
            );
        }
    }
}

#[test]
fn no_test_of_a_function_is_left_out() {
    for entry in std::fs::read_dir(project("functions")).unwrap() {
        let folder = entry.unwrap().path();
        let Ok(manifest) = std::fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        let tested: Vec<_> = sources(folder.to_str().unwrap())
            .into_iter()
            .filter(|(_, source)| source.contains("cfg(test)") || source.contains("#[test]"))
            .map(|(path, _)| path)
            .collect();
        assert_ne!(manifest.contains("[lib]\ntest = false"), !tested.is_empty(), "{}", folder.display());
        assert!(
            !tested.contains(&folder.join("src/main.rs")),
            "{}: no test of a binary runs",
            folder.display()
        );
    }
}

/// An example in a comment would be a test that nobody runs: to look for them in each crate takes as long as the tests of many.
#[test]
fn comments_have_no_code_to_be_tested() {
    for folder in ["functions", "infra", "shared/src", "tests"] {
        for (path, source) in sources(folder) {
            let fence = |line: &str| line.trim_start().starts_with("//") && line.contains("```");
            assert!(!source.lines().any(fence), "{}", path.display());
        }
    }
}

#[test]
fn only_the_store_builds_keys_and_nothing_scans() {
    for (path, source) in sources("shared/src") {
        assert!(!source.contains(".scan()") && !source.contains("filter_expression("), "{}", path.display());
    }
}

#[test]
fn the_tests_that_the_security_notes_name_exist() {
    let notes = std::fs::read_to_string(project("functions/SECURITY.md")).unwrap();
    let (mut tests, mut paths) = (0, 0);
    for name in notes.split('`').skip(1).step_by(2) {
        if let Some((file, test)) = name.split_once("::").filter(|(file, _)| !file.contains(' ')) {
            let source = std::fs::read_to_string(project(&format!("tests/api/{file}.rs"))).unwrap();
            assert!(source.contains(&format!("fn {test}()")), "{name}");
            tests += 1;
        } else if name.starts_with(".ci/") || name.starts_with("shared/") || name.starts_with("tests/") {
            assert!(project(name).exists(), "{name}");
            paths += 1;
        }
    }
    assert!(tests >= 25 && paths >= 8, "{tests} tests and {paths} places");
}
