//! The state in which runs begin: the demo organizations with a second member, and in each mode a role with its posting and two candidates.
//!
//! It is made once in a process, by the functions themselves on a quiet day, and depends on nothing but the kind of run.
//! Each run begins with a copy.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use dynoxide::Database;
use jiff::SignedDuration;
use serde_json::json;

use crate::clients::{Clients, Known, TENANTS};
use crate::cloud::Cloud;
use crate::contents::Contents;
use crate::deployment::{Answer, Deployment};
use crate::faults::Faults;
use crate::kind::Kind;
use crate::time::paused_runtime;

/// How long before its run the state is made.
const BEFORE: SignedDuration = SignedDuration::from_mins(30);

static SETUPS: LazyLock<Mutex<BTreeMap<Kind, Arc<Setup>>>> = LazyLock::new(Mutex::default);

/// The state.
pub(crate) struct Setup {
    /// The table. It ends with its last handle.
    _database: Database,
    /// The address of the table.
    uri: String,
    /// The items of the table.
    contents: Contents,
    /// What the clients of each tenant know.
    known: Vec<Known>,
}

impl Setup {
    /// The state for a kind of run.
    pub(crate) fn of(kind: Kind) -> Arc<Self> {
        let mut setups = SETUPS.lock().unwrap_or_else(PoisonError::into_inner);
        setups.entry(kind).or_insert_with(|| Arc::new(Self::make(kind))).clone()
    }

    fn make(kind: Kind) -> Self {
        // Several connections of the process share this database.
        let uri = format!("file:{kind:?}?mode=memory&cache=shared");
        let database = Database::new(&uri).expect("a database");
        fastrand::seed(0);
        let known = paused_runtime().block_on(Box::pin(async {
            let replica = || Database::memory().expect("a database");
            let cloud = Cloud::new(0, Faults::default(), database.clone(), replica, Contents::default());
            let deployment = Deployment::new(0, Faults::default(), cloud, kind, kind.start() - BEFORE);
            deployment.create_organizations(kind).await;
            let clients = Clients::new(Arc::new(deployment), vec![Known::default(); TENANTS]);
            people(&clients).await;
            clients.settle().await;
            clients.deployment.create_endpoints().await;
            clients.deployment.create_members().await;
            clients.deployment.run_feed(&(0..TENANTS).collect()).await.expect("events");
            clients.tenants.iter().map(|tenant| tenant.known().clone()).collect()
        }));
        let contents = Contents::of(&database);
        Self { _database: database, uri, contents, known }
    }

    /// A copy of the table.
    pub(crate) fn table(&self) -> Database {
        let table = Database::memory().expect("a database");
        table.restore_from(&self.uri).expect("a copy");
        table
    }

    /// The items of the table.
    pub(crate) fn contents(&self) -> Contents {
        self.contents.clone()
    }

    /// What the clients of each tenant know.
    pub(crate) fn known(&self) -> Vec<Known> {
        self.known.clone()
    }
}

/// Adds an open role with a published posting and two candidates to each tenant.
async fn people(clients: &Clients) {
    let mut random = fastrand::Rng::with_seed(0);
    for tenant in &clients.tenants {
        let name = || format!("{} {}.", tenant.word, tenant.known().next());
        let title = name();
        let role = json!({ "role": { "title": title, "description": "A job." } });
        clients.create(tenant, "quick_post", role, title, &mut random).await;
        let role = tenant.known().all("roles").first().copied();
        for role in [role, None] {
            let name = name();
            let email = format!("{}@example.com", name.trim_end_matches('.').replace(' ', "."));
            let mut body = json!({ "name": name, "email": email });
            if let Some(role) = role {
                body["role_id"] = json!(role);
            }
            clients.create(tenant, "candidates", body, name, &mut random).await;
        }
        let known = tenant.known();
        let is_created =
            |(_, answer): &(_, Option<Answer>)| answer.as_ref().is_some_and(|answer| answer.status == 201);
        assert!(known.acts.iter().all(is_created), "{:?}", known.acts);
    }
}
