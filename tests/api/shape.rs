//! The structure of the project. The template, route tables, README and source files agree, and functions do not depend
//! on each other.

use std::collections::{BTreeMap, BTreeSet};

use rolecall_local::functions::tables;
use serde_yaml_ng::Value as Yaml;
use shared::http::ReplyFormat;
use tests::{TEMPLATE, generated, project, sources};

#[test]
fn the_template_has_the_routes_of_the_functions() {
    generated::assert_current("template.yaml", &generated::template());
}

/// The gateway invokes a function for any method of its paths, and only for these.
#[test]
fn the_gateway_knows_exactly_the_paths_of_the_functions() {
    let in_code: BTreeSet<_> = tables()
        .into_iter()
        .flat_map(|tables| {
            let function = tables.function.to_owned();
            tables.rows().into_iter().map(move |row| {
                let key = row.key.split_once(' ').map(|(_, path)| format!("ANY {path}"));
                (key.unwrap_or_else(|| row.key.to_owned()), function.clone())
            })
        })
        .collect();
    let in_template: BTreeSet<_> =
        TEMPLATE.routes.iter().map(|route| (route.key.clone(), route.function.clone())).collect();
    let different: Vec<_> = in_template.symmetric_difference(&in_code).collect();
    assert!(different.is_empty(), "template.yaml and the functions differ in these: {different:#?}");
}

#[test]
fn the_template_builds_the_binary_of_each_function() {
    let text = std::fs::read_to_string(project("template.yaml")).unwrap();
    let template: Yaml = serde_yaml_ng::from_str(&text).unwrap();
    for tables in tables() {
        let (package, binary) = (generated::package(tables.function), generated::binary(tables.function));
        let function = &template["Resources"][tables.function];
        let folder = function["Properties"]["CodeUri"].as_str().unwrap();
        assert_eq!(folder, format!("functions/{package}/"), "{}", tables.function);
        let properties = function["Metadata"].get("BuildProperties");
        let built = properties.map_or(package.as_str(), |properties| properties["Binary"].as_str().unwrap());
        assert_eq!(built, binary, "{}", tables.function);
    }
}

/// The gateway has one route for each path, and a function knows only its own paths.
#[test]
fn a_path_belongs_to_one_function() {
    let mut owners = BTreeMap::new();
    for tables in tables() {
        let function = tables.function;
        for row in tables.rows() {
            let path = row.key.split_once(' ').map_or(row.key, |(_, path)| path);
            assert_eq!(*owners.entry(path).or_insert(function), function, "{}", row.key);
        }
    }
}

#[test]
fn the_default_functions_list_of_pages_is_current() {
    generated::assert_current("functions/default/src/pages.rs", &generated::pages());
}

#[test]
fn every_page_serves_html() {
    for row in tables().into_iter().flat_map(|tables| tables.pages) {
        let is_page =
            matches!(row.format(), ReplyFormat::Page | ReplyFormat::PublicPage | ReplyFormat::Negotiated);
        let is_other_address = row.key.ends_with('/');
        let is_no_operation = is_page || is_other_address || row.key.starts_with("OPTIONS ");
        assert!(is_no_operation, "{} belongs in the table of routes", row.key);
    }
}

#[test]
fn the_tables_of_all_routes_are_current() {
    generated::assert_current("functions/ROUTES.md", &generated::routes());
}

#[test]
fn the_chart_of_the_table_is_current() {
    generated::assert_current("shared/README.md", &tests::chart::current());
}

#[test]
fn the_table_of_tools_is_current() {
    generated::assert_current("functions/TOOLS.md", &generated::tools());
}

/// A preview in the dashboard is a career page.
const USES_ANOTHER: (&str, &str) = ("dashboard", "careers");

#[test]
fn functions_do_not_depend_on_each_other() {
    let folders = std::fs::read_dir(project("functions")).unwrap().filter_map(|entry| {
        let entry = entry.unwrap();
        entry.path().is_dir().then(|| entry.file_name().into_string().unwrap())
    });
    let packages: Vec<_> = folders.collect();
    assert!(packages.len() >= 11);
    for package in &packages {
        let manifest = std::fs::read_to_string(project(&format!("functions/{package}/Cargo.toml"))).unwrap();
        let (_, dependencies) = manifest.split_once("[dependencies]").unwrap();
        for other in packages.iter().filter(|other| (package.as_str(), other.as_str()) != USES_ANOTHER) {
            assert!(
                !dependencies.lines().any(|line| line.starts_with(other.as_str())),
                "{package} depends on {other}"
            );
        }
    }
}

/// `cargo run` needs exactly one package with a default binary, and `cargo test` tests only the default members.
#[test]
fn cargo_run_starts_the_local_service_and_cargo_test_tests_every_package() {
    let cargo = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--no-deps", "--format-version", "1"])
        .current_dir(project(""))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&cargo.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let defaults: Vec<_> = packages.iter().filter_map(|package| package["default_run"].as_str()).collect();
    assert_eq!(defaults, ["rolecall"], "`cargo run` needs one package with a default-run");
    assert_eq!(
        metadata["workspace_default_members"], metadata["workspace_members"],
        "leave out default-members"
    );
}

#[test]
fn every_function_with_tests_runs_them() {
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
            !tested
                .iter()
                .any(|path| path == &folder.join("src/main.rs") || path.starts_with(folder.join("src/bin"))),
            "{}: tests of binaries do not run",
            folder.display()
        );
    }
}

/// Doc tests are disabled, because searching each crate for them takes as long as the tests of many crates. Code blocks
/// in comments would never be tested, so they are not allowed.
#[test]
fn comments_have_no_code_blocks() {
    for folder in ["functions", "infra", "shared/src", "tests"] {
        for (path, source) in sources(folder) {
            let fence = |line: &str| line.trim_start().starts_with("//") && line.contains("```");
            assert!(!source.lines().any(fence), "{}", path.display());
        }
    }
}

#[test]
fn no_code_scans_or_filters_the_table() {
    for (path, source) in sources("shared/src") {
        assert!(!source.contains(".scan()") && !source.contains("filter_expression("), "{}", path.display());
    }
}
