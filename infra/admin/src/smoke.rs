//! The `smoke` command: checks a deployment from outside, through its gateway.

use std::fmt;

use serde::Serialize;
use shared::providers::client::HttpClient;

use crate::admin::{Admin, CommandError};
use crate::cli::Smoke;
use crate::output::table;
use crate::secrets::ROLECALL_KEY;

/// What the service must answer: the path, the status, and a part of the body. Every group of routes has one.
const CHECKS: [(&str, u16, &str); 9] = [
    ("/", 200, "Rolecall"),
    ("/docs", 200, "Rolecall API"),
    ("/api/v1/openapi.json", 200, "\"openapi\""),
    ("/api/v1/roles", 401, "\"code\":\"unauthorized\""),
    ("/api/v1/candidates", 401, "\"code\":\"unauthorized\""),
    ("/api/v1/no-such-route", 404, "\"code\":\"not_found\""),
    ("/.well-known/oauth-protected-resource/api/v1", 200, "\"authorization_servers\""),
    ("/dashboard/sign-in", 200, "Sign in"),
    ("/careers/no-such-organization", 404, "not found"),
];

/// The answer to one request.
#[derive(Debug, Serialize)]
pub(crate) struct Checked {
    path: String,
    /// What is wrong; `None` if nothing is.
    problem: Option<String>,
}

/// All answers.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Summary(Vec<Checked>);

/// Sends the requests one after the other. Fails if an answer is wrong.
pub(crate) async fn run(admin: &Admin, smoke: &Smoke) -> Result<Summary, CommandError> {
    let client = HttpClient::new().map_err(CommandError::Smoke)?;
    let mut checked = Vec::new();
    // It counts against the quota of the key.
    let key = admin.secrets.find_token(ROLECALL_KEY)?;
    let with_key = key.as_ref().map(|key| ("/api/v1/organization", 200, "\"plan\"", Some(key)));
    for (path, status, part, key) in
        CHECKS.map(|(path, status, part)| (path, status, part, None)).into_iter().chain(with_key)
    {
        let mut request = client.get(&format!("{}{path}", smoke.url));
        if let Some(key) = key {
            request = request.bearer_auth(key.expose());
        }
        let problem = match client.send(request).await {
            Err(error) => Some(format!("The service {error}")),
            Ok(response) if response.status.as_u16() != status => {
                Some(format!("The status is {}, not {status}", response.status.as_u16()))
            }
            Ok(response) if !String::from_utf8_lossy(&response.body).contains(part) => {
                Some(format!("The answer does not contain {part}"))
            }
            Ok(response) if !response.headers.contains_key("x-request-id") => {
                Some("The answer has no x-request-id".to_owned())
            }
            Ok(_) => None,
        };
        checked.push(Checked { path: path.to_owned(), problem });
    }
    let wrong: Vec<_> =
        checked.iter().filter_map(|one| Some(format!("{}: {}", one.path, one.problem.as_ref()?))).collect();
    if wrong.is_empty() { Ok(Summary(checked)) } else { Err(CommandError::Smoke(wrong.join(". "))) }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        table(f, ["ANSWER", "PATH"], self.0.iter().map(|checked| ["right".to_owned(), checked.path.clone()]))
    }
}
