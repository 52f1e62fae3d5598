//! The app: dispatches the gateway's requests to the routes of a function.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lambda_http::{Body, Request, Response};
use tracing::Instrument;
use tracing::field::Empty;

use super::context::RequestContext;
use super::dispatch::Dispatch;
use super::envelope::{Envelope, Trace};
use super::route_table::RouteTable;
use super::{Environment, Error, Reply, ReplyFormat, Route, headers};
use crate::id::Ids;
use crate::store::Store;

/// A function: its routes and its environment.
#[derive(Clone)]
pub struct App {
    environment: Arc<Environment>,
    ids: Ids,
    routes: Arc<RouteTable<Route>>,
    has_served: Arc<AtomicBool>,
}

impl App {
    /// Creates a function that serves `routes`.
    pub fn new(environment: Environment, routes: Vec<Route>) -> Self {
        let ids = Ids::new(environment.clock.clone(), environment.random.clone());
        let routes = RouteTable::new(routes.into_iter().map(|route| (route.key, route)));
        Self { environment: Arc::new(environment), ids, routes: Arc::new(routes), has_served: Arc::default() }
    }

    /// Handles one request.
    pub async fn handle(&self, request: Request) -> Response<Body> {
        let clock = &self.environment.clock;
        let store = self.environment.store.metered();
        let envelope = Envelope::of(&request, self.environment.config.base_url.as_deref(), clock.now());
        let route = self.routes.find(&envelope.route_key);
        // The response to an unknown route depends on the client, as on the default route.
        let format =
            route.as_ref().map_or(ReplyFormat::Negotiated, |route| route.format()).negotiated(&request);
        let is_first = !self.has_served.swap(true, Ordering::Relaxed);
        let mut trace = Trace { is_first, ..Trace::default() };
        let secret = headers::single(request.headers(), headers::ORIGIN_SECRET).ok().flatten();
        let result = match route {
            _ if !self.environment.config.edge.origin_secrets.admit(secret) => Err(Error::NotThroughCdn),
            Ok(route) => {
                let span = tracing::error_span!("request", request_id = envelope.request_id, actor = Empty);
                self.dispatch(request, route, &envelope, &store, &mut trace).instrument(span).await
            }
            Err(error) => Err(error),
        };
        trace.database = store.database_use();
        envelope.close(format, result, &trace, clock.now())
    }

    async fn dispatch(
        &self,
        request: Request,
        route: &Route,
        envelope: &Envelope,
        store: &Store,
        trace: &mut Trace,
    ) -> Result<Reply<()>, Error> {
        let (environment, store, ids) = (self.environment.clone(), store.clone(), self.ids.clone());
        let context = RequestContext::new(request, route.key, envelope, environment, store, ids);
        trace.origin = Some(context.origin.clone());
        let form_page = self.routes.page_of_form(route.key, context.path()).to_owned();
        (route.answer)(Dispatch { context, reading: route.reading, form_page, trace }).await
    }
}
