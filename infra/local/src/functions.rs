//! The deployed functions, by the logical ids that `template.yaml` gives them: the same code that Lambda runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use shared::http::{App, Environment, Route};

use crate::gateway::Function;
use crate::template::Template;

/// Each function's route table.
pub fn tables() -> [(&'static str, Vec<Route>); 13] {
    [
        ("CandidatesFunction", candidates::routes()),
        ("CareersFunction", careers::routes()),
        ("ChannelsFunction", channels::routes()),
        ("DashboardFunction", dashboard::routes()),
        ("DefaultFunction", default::routes()),
        ("DocsFunction", docs::routes()),
        ("JobPostingsFunction", job_postings::routes()),
        ("OauthFunction", oauth::routes()),
        ("OrganizationFunction", organization::routes()),
        ("QuickPostFunction", quick_post::routes()),
        ("RolesFunction", roles::routes()),
        ("VoiceScreensFunction", voice_screens::routes()),
        ("VoiceWebhookFunction", voice_webhook::routes()),
    ]
}

/// The functions that answer requests.
pub fn answering(environment: &Environment) -> BTreeMap<String, Function> {
    let function = |routes| -> Function {
        let app = App::new(environment.clone(), routes);
        Arc::new(move |request| {
            let app = app.clone();
            async move { app.handle(request).await }.boxed()
        })
    };
    tables().into_iter().map(|(name, routes)| (name.to_owned(), function(routes))).collect()
}

/// Runs every function that the template puts on a schedule, and says in a line what each has done.
pub async fn run_scheduled(template: &Template, environment: &Environment) -> Vec<Result<String, String>> {
    let mut results = Vec::new();
    for schedule in &template.schedules {
        let name = &schedule.function;
        let result = match scheduled(name, environment.clone()) {
            Some(run) => run.await.map_err(|error| format!("{name} failed: {error}")),
            None => Err(format!("{name} is on a schedule but not known here")),
        };
        results.push(result.map(|summary| format!("{name}: {summary}")));
    }
    results
}

fn scheduled(name: &str, environment: Environment) -> Option<BoxFuture<'static, Result<String, String>>> {
    Some(match name {
        "TasksFunction" => said(tasks::run(environment)),
        "UsageResetFunction" => said(usage_reset::run(environment)),
        _ => return None,
    })
}

fn said<T: std::fmt::Debug>(
    run: impl Future<Output = Result<T, lambda_http::Error>> + Send + 'static,
) -> BoxFuture<'static, Result<String, String>> {
    run.map(|result| result.map(|summary| format!("{summary:?}")).map_err(|error| error.to_string())).boxed()
}
