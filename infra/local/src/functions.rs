//! The deployed functions by their logical ids in `template.yaml`. They run the same code as in Lambda.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use shared::http::{App, Document, Environment, Route};

use crate::gateway::Function;
use crate::template::Template;

/// The routes of a function.
pub struct Tables {
    /// The function's logical id.
    pub function: &'static str,
    /// API routes. Each one is an operation in the OpenAPI document.
    pub routes: Vec<Route>,
    /// Pages, CORS preflights, other addresses of API routes, and the default route.
    pub pages: Vec<Route>,
}

impl Tables {
    /// All routes.
    pub fn rows(self) -> Vec<Route> {
        [self.routes, self.pages].concat()
    }
}

/// The routes of every function that answers requests.
pub fn tables() -> [Tables; 22] {
    [
        Tables { function: "ApplicationsFunction", routes: applications::routes(), pages: Vec::new() },
        Tables { function: "CandidatesFunction", routes: candidates::routes(), pages: Vec::new() },
        Tables { function: "CareersFunction", routes: careers::routes(), pages: careers::pages() },
        Tables { function: "ChannelsFunction", routes: channels::routes(), pages: Vec::new() },
        Tables { function: "DashboardRolesFunction", routes: Vec::new(), pages: dashboard::roles() },
        Tables {
            function: "DashboardCandidatesFunction",
            routes: Vec::new(),
            pages: dashboard::candidates(),
        },
        Tables { function: "DashboardSettingsFunction", routes: Vec::new(), pages: dashboard::settings() },
        Tables { function: "DashboardAccountFunction", routes: Vec::new(), pages: dashboard::account() },
        Tables { function: "DataFunction", routes: data::routes(), pages: Vec::new() },
        Tables { function: "DefaultFunction", routes: Vec::new(), pages: routes(default::pages()) },
        Tables { function: "DocsFunction", routes: routes(docs::routes()), pages: routes(docs::pages()) },
        Tables { function: "EventsFunction", routes: events::routes(), pages: Vec::new() },
        Tables { function: "JobPostingsFunction", routes: job_postings::routes(), pages: Vec::new() },
        Tables { function: "McpFunction", routes: mcp::routes(), pages: mcp::with_slash() },
        Tables { function: "OauthFunction", routes: oauth::routes(), pages: oauth::pages() },
        Tables { function: "OrganizationFunction", routes: organization::routes(), pages: Vec::new() },
        Tables { function: "QuickPostFunction", routes: quick_post::routes(), pages: Vec::new() },
        Tables { function: "RolesFunction", routes: roles::routes(), pages: Vec::new() },
        Tables { function: "SignInFunction", routes: Vec::new(), pages: sign_in::pages() },
        Tables { function: "VoiceScreensFunction", routes: voice_screens::routes(), pages: Vec::new() },
        Tables { function: "VoiceWebhookFunction", routes: voice_webhook::routes(), pages: Vec::new() },
        Tables {
            function: "WebhookEndpointsFunction",
            routes: webhook_endpoints::routes(),
            pages: Vec::new(),
        },
    ]
}

fn routes(documents: Vec<Document>) -> Vec<Route> {
    documents.into_iter().map(Route::from).collect()
}

/// The functions that answer requests, by their logical ids.
pub fn answering(environment: &Environment) -> BTreeMap<String, Function> {
    let function = |rows| -> Function {
        let app = App::new(environment.clone(), rows);
        Arc::new(move |request| {
            let app = app.clone();
            async move { app.handle(request).await }.boxed()
        })
    };
    tables().into_iter().map(|tables| (tables.function.to_owned(), function(tables.rows()))).collect()
}

/// Runs every function that has a schedule in the template. Returns one line with the result of each.
pub async fn run_scheduled(template: &Template, environment: &Environment) -> Vec<Result<String, String>> {
    let mut results = Vec::new();
    for schedule in &template.schedules {
        let name = &schedule.function;
        let result = match scheduled(name, environment.clone()) {
            Some(run) => run.await.map_err(|error| format!("{name} failed: {error}")),
            None => Err(format!("{name} has a schedule in the template but is unknown to the local service")),
        };
        results.push(result.map(|summary| format!("{name}: {summary}")));
    }
    results
}

fn scheduled(name: &str, environment: Environment) -> Option<BoxFuture<'static, Result<String, String>>> {
    Some(match name {
        "DeliverFunction" => summarized(deliver::run(environment)),
        "FeedFunction" => summarized(feed::run(environment)),
        "TasksFunction" => summarized(tasks::run(environment)),
        "UsageResetFunction" => summarized(usage_reset::run(environment)),
        _ => return None,
    })
}

fn summarized<T: std::fmt::Debug>(
    run: impl Future<Output = Result<T, lambda_http::Error>> + Send + 'static,
) -> BoxFuture<'static, Result<String, String>> {
    run.map(|result| result.map(|summary| format!("{summary:?}")).map_err(|error| error.to_string())).boxed()
}
