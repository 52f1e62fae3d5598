//! The local service: the whole deployment on this machine, started by `cargo run`.

use std::future::Future;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use rolecall_local::bucket::{BUCKET, LocalBucket};
use rolecall_local::database::Embedded;
use rolecall_local::demo::{self, DEMOS};
use rolecall_local::event_fixtures;
use rolecall_local::functions;
use rolecall_local::gateway::Gateway;
use rolecall_local::server::{self, GRACE_PERIOD, Host, Hosts};
use rolecall_local::template::Template;
use shared::clock::{Clock, Timestamp};
use shared::config::{Config, Edge, Services};
use shared::http::{Environment, KnownHolders, KnownSites};
use shared::model::{Day, Mode, PasswordCost};
use shared::providers::Providers;
use shared::providers::webhooks::WebhookReach;
use shared::random::Random;
use shared::store::Store;
use shared::token_encryption::EncryptionKeys;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use url::Url;

/// The deployment, with the routes and the schedules. The program contains it, so that it also runs without the project.
const TEMPLATE: &str = include_str!("../../../template.yaml");

/// Runs Rolecall on this machine: the API of template.yaml on an in-process gateway, with an embedded DynamoDB and two
/// demo organizations. Stop it with Ctrl-C. If an option is repeated, the last one counts.
#[derive(Parser)]
#[command(name = "rolecall", version, args_override_self = true)]
struct Arguments {
    /// IP address to listen on, and after commas other names by which the service is reached, such as that of a container;
    /// it answers only to these, and to localhost and the loopback addresses with its port
    #[arg(long, value_name = "ADDRESS[,NAME...]", default_value = "127.0.0.1")]
    host: Hosts,
    /// Port of the API; 0 picks a free one
    #[arg(long, default_value_t = 3000)]
    port: u16,
    /// Use an in-memory database and bucket; they are empty without --demo
    #[arg(long, conflicts_with_all = ["data", "endpoint"])]
    memory: bool,
    #[command(flatten)]
    company: CompanyOptions,
    /// Folder for the embedded database and the uploaded files [default: .rolecall, in the project with cargo run and
    /// otherwise in the current folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Port of the embedded DynamoDB, for other tools; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = 0, conflicts_with = "endpoint")]
    dynamodb_port: u16,
    /// Port of the uploaded files; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    bucket_port: u16,
    /// Use another DynamoDB instead of the embedded one; it must be on this machine and accept any credentials
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    endpoint: Option<String>,
    /// Name of the table
    #[arg(long, value_name = "NAME", default_value = "rolecall")]
    table: String,
    /// Also create the records for the sample events in events/, and run no background tasks
    #[arg(long, requires = "memory", conflicts_with_all = ["data", "endpoint"])]
    recorded: bool,
    /// Begin at this time, such as 2026-09-15T10:00:00Z, instead of the current one; the clock runs on from there
    #[arg(long, value_name = "TIME", value_parser = beginning)]
    now: Option<Timestamp>,
    /// Run the scheduled functions once before serving
    #[arg(long)]
    run_schedules: bool,
}

/// Whether a new database begins with the demo company.
#[derive(clap::Args)]
struct CompanyOptions {
    /// Begin with the demo company, which is the default in a new data folder
    #[arg(long, conflicts_with_all = ["empty", "recorded"])]
    demo: bool,
    /// Begin without the demo company
    #[arg(long)]
    empty: bool,
}

/// The first time at which the service can begin: the identifiers count from 2025, and the demo company has a past.
const FIRST: Timestamp = Timestamp::constant(1_738_368_000, 0);

/// Reads the time at which the service begins.
fn beginning(text: &str) -> Result<Timestamp, String> {
    let time: Timestamp =
        text.parse().map_err(|_| "it is not a time such as 2026-09-15T10:00:00Z".to_owned())?;
    if time < FIRST { Err(format!("it is before {FIRST}")) } else { Ok(time) }
}

#[tokio::main]
async fn main() -> ExitCode {
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    tracing_subscriber::registry().with(lines).with(shared::runtime::log_filter()).init();
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), String> {
    let mut interrupted = pin!(interrupted()?);
    let template = Template::parse(TEMPLATE)?;
    let (hosts, address) = (arguments.host.clone(), arguments.host.address);
    let listener = listen(address, arguments.port, "--port").await?;
    let base_url = url(&listener)?;
    let bucket_listener = listen(address, arguments.bucket_port, "--bucket-port").await?;
    let bucket_url = url(&bucket_listener)?;

    // The API stops first, so that requests in progress can still use the database.
    let (stop_database, database_stopped) = watch::channel(());
    let data = arguments.data.unwrap_or_else(default_data);
    let files = (!arguments.memory).then(|| data.join("resumes"));
    let (endpoint, store, stream, database) = if let Some(endpoint) = arguments.endpoint {
        let endpoint = on_this_machine(endpoint)?;
        (endpoint.clone(), Store::at_endpoint(&endpoint, &arguments.table), Arc::default(), None)
    } else {
        let database = if arguments.memory { Embedded::in_memory()? } else { Embedded::in_folder(&data)? };
        let listener = listen(address, arguments.dynamodb_port, "--dynamodb-port").await?;
        let (endpoint, store) = (url(&listener)?, database.store(&arguments.table));
        let stream = database.stream();
        let served = database.serve(listener, hosts.clone(), changed(database_stopped));
        (endpoint, store, stream, Some(tokio::spawn(served)))
    };

    let is_in_folder = database.is_some() && !arguments.memory;
    let has_company = arguments.company.demo || (is_in_folder && !arguments.company.empty);
    let config = config(arguments.table, &base_url, &bucket_url)?;
    let environment = Environment {
        store: store.clone(),
        clock: arguments.now.map_or_else(Clock::system, Clock::starting_at),
        random: Random::system()?,
        providers: Providers::with_webhook_reach(&config, WebhookReach::with_loopback()),
        config,
        password_cost: PasswordCost::CURRENT,
        known_holders: KnownHolders::default(),
        known_sites: KnownSites::default(),
    };
    store
        .create_table()
        .await
        .map_err(|error| format!("The table cannot be created at {endpoint}: {error}."))?;
    let creation = async {
        if has_company {
            demo::create_with_company(&environment).await
        } else {
            demo::create(&environment).await
        }
    };
    tokio::select! {
        created = creation => {
            created.map_err(|error| format!("The demo data cannot be created: {error}."))?;
        }
        () = &mut interrupted => return Ok(()),
    }
    if arguments.recorded {
        event_fixtures::create(&store, environment.clock.now())
            .await
            .map_err(|error| format!("The records of the sample events cannot be created: {error}."))?;
    }
    if arguments.run_schedules {
        report(&functions::run_scheduled(&template, &environment).await);
    }

    let gateway = Gateway::new(
        &template.routes,
        &functions::answering(&environment),
        environment.clock.clone(),
        environment.random.clone(),
    )?;
    let bucket =
        files.map_or_else(|| LocalBucket::in_memory(BUCKET), |path| LocalBucket::in_folder(BUCKET, path));
    let bucket = Host::Bucket(Arc::new(bucket), environment.clock.clone());
    let (stop, stopped) = watch::channel(());
    let bucket = tokio::spawn(server::serve(bucket_listener, bucket, changed(stopped.clone())));
    let (stop_jobs, jobs_stopped) = watch::channel(());
    let jobs = (!arguments.recorded).then(|| start_jobs(&environment, stream, &jobs_stopped));
    let scheduler = tokio::spawn(run_schedules_at_midnight(template, environment));
    let gateway = Host::Gateway(Arc::new(gateway), hosts);
    let server = tokio::spawn(server::serve(listener, gateway, changed(stopped)));
    warn_if_exposed(address);
    print_urls_and_logins(&base_url, &endpoint, &bucket_url)?;

    interrupted.await;
    eprintln!("Stopping.");
    drop(stop_jobs);
    scheduler.abort();
    for mut job in jobs.into_iter().flatten().chain([scheduler]) {
        if tokio::time::timeout(GRACE_PERIOD, &mut job).await.is_err() {
            job.abort();
            // It no longer uses the database.
            job.await.ok();
        }
    }
    drop(stop);
    for server in [server, bucket] {
        server.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    }
    drop(stop_database);
    match database {
        Some(database) => {
            database.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
        }
        None => Ok(()),
    }
}

/// The configuration of all functions.
fn config(table: String, base_url: &str, bucket_url: &str) -> Result<Config, String> {
    Ok(Config {
        table,
        base_url: Some(base_url.to_owned()),
        client_address_header: None,
        edge: Edge {
            security_contact: Some("mailto:security@example.com".to_owned()),
            demo_login: Some(DEMOS[0].login()?),
            ..Edge::default()
        },
        dynamodb_endpoint: None,
        signing_keys: demo::signing_keys()?,
        credential_keys: demo::credential_keys()?,
        settling: Config::ONE_PROCESS,
        services: Services {
            simulated: true,
            sealing_keys: Some(EncryptionKeys::parse(demo::SEALING_KEYS)?),
            resumes: Some(LocalBucket::access(bucket_url)),
            ..Services::default()
        },
    })
}

/// The data folder: in the project if cargo runs this program, and otherwise in the current folder.
fn default_data() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let root = package.as_deref().and_then(|package| package.ancestors().nth(2)).map(PathBuf::from);
    root.unwrap_or_default().join(".rolecall")
}

/// Returns the endpoint if it is on this machine. The demo keys are public, so a service that accepts them must not use
/// a remote database.
fn on_this_machine(endpoint: String) -> Result<String, String> {
    match Url::parse(&endpoint) {
        Ok(url) if url.scheme() == "http" && matches!(url.host_str(), Some("127.0.0.1" | "localhost")) => {
            Ok(endpoint)
        }
        _ => {
            Err(format!("--endpoint must be an http:// URL on 127.0.0.1 or localhost, but it is {endpoint}."))
        }
    }
}

async fn listen(address: IpAddr, port: u16, option: &str) -> Result<TcpListener, String> {
    TcpListener::bind((address, port)).await.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => {
            format!("Port {port} is already in use; choose another with {option}.")
        }
        ErrorKind::AddrNotAvailable => {
            format!("This machine does not have the IP address {address}; choose another with --host.")
        }
        ErrorKind::PermissionDenied => {
            format!("You have no permission to use port {port}; choose another with {option}.")
        }
        _ => format!("Port {port} cannot be used: {error}."),
    })
}

/// The URL of a listener for programs on this machine. It has the loopback address if the listener uses every address.
fn url(listener: &TcpListener) -> Result<String, String> {
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    Ok(format!("http://{}", SocketAddr::from((ip, address.port()))))
}

/// Warns that others can use the service if it listens on more than loopback.
fn warn_if_exposed(address: IpAddr) {
    if address.is_loopback() {
        return;
    }
    let address = if address.is_unspecified() {
        "every address of this machine".to_owned()
    } else {
        format!("{address}, which is not a loopback address")
    };
    eprintln!(
        "Warning: Rolecall listens on {address}. Anyone who can connect to it can read and change all of its \
         data, because the demo keys are public and the embedded DynamoDB accepts any credentials."
    );
}

async fn changed(mut receiver: watch::Receiver<()>) {
    // The error means that the sender was dropped, which is the signal to stop.
    let _ = receiver.changed().await;
}

/// Waits for Ctrl-C or SIGTERM, from now on. The system ignores both for the first process of a container, until it asks
/// for them.
fn interrupted() -> Result<impl Future<Output = ()>, String> {
    use tokio::signal::unix::{SignalKind, signal};
    let listen = |kind| signal(kind).map_err(|error| error.to_string());
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Starts what the table's stream and schedules start in AWS.
fn start_jobs(
    environment: &Environment,
    stream: Arc<Notify>,
    stopped: &watch::Receiver<()>,
) -> [JoinHandle<()>; 3] {
    [
        tokio::spawn(run_tasks_every_second(environment.clone(), stopped.clone())),
        tokio::spawn(move_changes(environment.clone(), stream, stopped.clone())),
        tokio::spawn(deliver_events_every_second(environment.clone(), stopped.clone())),
    ]
}

/// Waits, but not when the service stops. Returns whether it goes on. A job stops only between two runs: what a killed run
/// of the feed has begun, the next one leaves alone until the lease is over.
async fn goes_on(stopped: &mut watch::Receiver<()>, wait: impl Future<Output = ()>) -> bool {
    tokio::select! {
        biased;
        _ = stopped.changed() => false,
        () = wait => true,
    }
}

/// Runs the tasks that requests have created: those of the demo organizations once a second, and those of others every ten
/// seconds. In AWS, the table's stream triggers this, and a schedule.
async fn run_tasks_every_second(environment: Environment, mut stopped: watch::Receiver<()>) {
    let mut second = 0_u64;
    while goes_on(&mut stopped, tokio::time::sleep(Duration::from_secs(1))).await {
        second += 1;
        let done = match second % 10 {
            0 => tasks::run(environment.clone()).await,
            _ => tasks::run_for(environment.clone(), demo::task_partitions()).await,
        };
        if let Err(error) = done {
            eprintln!("TasksFunction failed: {error}");
        }
    }
}

/// Moves changes to the feeds, and so people to the search index: at once those of this process, and those of other processes
/// once a second for the demo organizations, and every ten seconds for others. In AWS, the table's stream triggers this, and a
/// schedule.
async fn move_changes(environment: Environment, stream: Arc<Notify>, mut stopped: watch::Receiver<()>) {
    let mut idle = 0_u64;
    loop {
        let wait = async {
            let written = tokio::time::timeout(Duration::from_secs(1), stream.notified()).await;
            idle = if written.is_ok() { 0 } else { idle + 1 };
        };
        if !goes_on(&mut stopped, wait).await {
            return;
        }
        let done = match idle % 10 {
            0 => feed::run(environment.clone()).await,
            _ => feed::run_for(environment.clone(), demo::tenants()).await,
        };
        if let Err(error) = done {
            eprintln!("FeedFunction failed: {error}");
        }
    }
}

/// Sends events to webhook endpoints. In AWS, the feed function starts this, and so does a schedule every minute.
async fn deliver_events_every_second(environment: Environment, mut stopped: watch::Receiver<()>) {
    while goes_on(&mut stopped, tokio::time::sleep(Duration::from_secs(1))).await {
        if let Err(error) = deliver::run(environment.clone()).await {
            eprintln!("DeliverFunction failed: {error}");
        }
    }
}

/// Runs the scheduled functions at midnight UTC. It checks the clock every minute, so a machine that was asleep at
/// midnight runs them when it wakes up.
async fn run_schedules_at_midnight(template: Template, environment: Environment) {
    let mut today = Day::of(environment.clock.now());
    loop {
        let now = environment.clock.now();
        tokio::time::sleep(Duration::from_secs(today.seconds_left(now).clamp(1, 60))).await;
        if Day::of(environment.clock.now()) > today {
            today = Day::of(environment.clock.now());
            report(&functions::run_scheduled(&template, &environment).await);
        }
    }
}

fn report(results: &[Result<String, String>]) {
    for result in results {
        match result {
            Ok(line) | Err(line) => eprintln!("{line}"),
        }
    }
}

/// Prints the URLs, the demo API keys and the dashboard logins.
fn print_urls_and_logins(base_url: &str, endpoint: &str, bucket_url: &str) -> Result<(), String> {
    println!("Rolecall        {base_url}");
    for demo in &DEMOS {
        for mode in Mode::ALL {
            println!("{:<16}{}", format!("{} {}", demo.name, mode.as_str()), demo.key(mode)?.reveal());
        }
    }
    for demo in &DEMOS {
        println!(
            "{:<16}{base_url}/dashboard  {}  {}",
            format!("{} sign-in", demo.name),
            demo.email,
            demo.password
        );
    }
    for demo in &DEMOS {
        println!("{:<16}{base_url}{}", format!("{} careers", demo.name), demo.careers_path());
    }
    println!("DynamoDB        {endpoint}");
    println!("Files           {bucket_url}");
    let key = DEMOS[0].key(Mode::Live)?;
    println!(
        "Try             curl {base_url}/api/v1/organization -H 'Authorization: Bearer {}'",
        key.reveal()
    );
    println!("Open            {base_url}");
    Ok(())
}
