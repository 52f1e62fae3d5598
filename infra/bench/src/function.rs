//! The functions, what each is compared by, and one start of one of them.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::Value;
use tokio::process::Command;

use crate::runtime_api::{Poll, RuntimeApi};
use crate::tls::Endpoint;

/// How many warm calls follow the first one.
const WARM_CALLS: usize = 20;
/// How long a function may take for anything, before the measurement is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// A function, and an event that can be repeated.
pub(crate) struct Function {
    /// Its package, and its binary.
    pub(crate) name: &'static str,
    event: &'static str,
    /// What it is made of, which decides its limits.
    pub(crate) kind: Kind,
}

/// What a function is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing but `lambda_http`.
    Floor,
    /// It uses no database.
    Static,
    /// It uses the database.
    Database,
    /// It uses the database, and has pages or calls outside services.
    Wide,
}

/// What everything is compared with.
pub(crate) const FLOOR: Function = Function::new("floor", "default_not_found", Kind::Floor);
/// The same with a TLS handshake.
pub(crate) const FLOOR_TLS: Function = Function::new("floor_tls", "default_not_found", Kind::Floor);

/// Every function of the deployment; `roles` once more over TLS.
const FUNCTIONS: &[Function] = &[
    Function::new("candidates", "candidates_show", Kind::Wide),
    Function::new("careers", "careers_show", Kind::Wide),
    Function::new("channels", "channels_show", Kind::Wide),
    Function::new("dashboard", "dashboard_overview", Kind::Wide),
    Function::new("default", "default_not_found", Kind::Static),
    Function::new("docs", "docs_show_openapi", Kind::Static),
    Function::new("job_postings", "job_postings_show", Kind::Database),
    Function::new("oauth", "oauth_authorize_ask", Kind::Wide),
    Function::new("organization", "organization_show", Kind::Database),
    Function::new("quick_post", "quick_post_create", Kind::Database),
    Function::new("roles", "roles_show", Kind::Database),
    Function::new("roles_tls", "roles_show", Kind::Database),
    Function::new("tasks", "tasks_schedule", Kind::Wide),
    Function::new("usage_reset", "usage_reset_schedule", Kind::Database),
    Function::new("voice_screens", "voice_screens_show", Kind::Database),
    Function::new("voice_webhook", "voice_webhook_receive", Kind::Wide),
];

/// What one start showed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    /// The binary, in bytes.
    pub(crate) size: u64,
    /// CPU from exec to the first poll.
    pub(crate) start: Duration,
    /// Page faults until then.
    pub(crate) faults: u64,
    /// Peak memory after all calls, in KB.
    pub(crate) memory: u64,
    /// From the first event to its answer.
    pub(crate) first: Duration,
    /// The same, of the later ones.
    pub(crate) warm: Duration,
    /// CPU of a later one.
    pub(crate) warm_cpu: Duration,
}

impl Measured {
    /// Of each figure the median.
    pub(crate) fn median(starts: &[Self]) -> Self {
        fn median<T: Ord + Copy + Default>(starts: &[Measured], figure: impl Fn(&Measured) -> T) -> T {
            let mut figures: Vec<_> = starts.iter().map(figure).collect();
            figures.sort_unstable();
            figures.get(figures.len() / 2).copied().unwrap_or_default()
        }
        Self {
            size: median(starts, |one| one.size),
            start: median(starts, |one| one.start),
            faults: median(starts, |one| one.faults),
            memory: median(starts, |one| one.memory),
            first: median(starts, |one| one.first),
            warm: median(starts, |one| one.warm),
            warm_cpu: median(starts, |one| one.warm_cpu),
        }
    }
}

impl Function {
    const fn new(name: &'static str, event: &'static str, kind: Kind) -> Self {
        Self { name, event, kind }
    }

    /// Whether it reaches DynamoDB over TLS, as in Lambda.
    pub(crate) fn is_over_tls(&self) -> bool {
        self.name.ends_with("_tls")
    }

    /// Whether its event makes it ask the database. A callback as old as the recorded one is refused before.
    pub(crate) fn asks_database(&self) -> bool {
        matches!(self.kind, Kind::Database | Kind::Wide) && self.name != "voice_webhook"
    }

    /// The functions of these names; all of them where none is named.
    pub(crate) fn choose(names: &[String]) -> Result<Vec<&'static Self>, String> {
        if names.is_empty() {
            return Ok(FUNCTIONS.iter().collect());
        }
        let find = |name: &String| {
            FUNCTIONS
                .iter()
                .find(|one| one.name == name)
                .ok_or_else(|| format!("no function is called {name}"))
        };
        names.iter().map(find).collect()
    }

    /// Starts it once, and calls it.
    #[expect(clippy::disallowed_methods, reason = "a measurement needs the real clock")]
    pub(crate) async fn measure(
        &self,
        binaries: &Path,
        dynamodb: &str,
        tls: &Endpoint,
    ) -> Result<Measured, String> {
        let failed = |what: &str, error: std::io::Error| format!("{}: {what}: {error}", self.name);
        let binary = binaries.join(self.name);
        let size = fs::metadata(&binary).map_err(|error| failed("no binary", error))?.len();
        let event = self.event()?;
        let dynamodb = if self.is_over_tls() { &tls.url } else { dynamodb };
        let mut api = RuntimeApi::start().await.map_err(|error| failed("no runtime API", error))?;
        let mut process = Command::new(&binary)
            .env_clear()
            .envs(environment(api.address(), dynamodb))
            .env("BENCH_ROOT", &tls.root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed("cannot be started", error))?;
        let id = process.id().ok_or("the process has ended")?;
        let first_poll = patiently(api.poll()).await?;
        let (start, faults) = (cpu(id).await?, faults(id)?);
        let calls = async |poll: Poll, calls: usize, api: &mut RuntimeApi| {
            let (mut poll, mut times) = (poll, Vec::new());
            for _ in 0..calls {
                let sent = Instant::now();
                let answer = patiently(api.invoke(poll, event.clone())).await?;
                times.push(sent.elapsed());
                self.check(&answer)?;
                poll = patiently(api.poll()).await?;
            }
            times.sort_unstable();
            Ok::<_, String>((poll, times.get(calls / 2).copied().unwrap_or_default()))
        };
        let (poll, first) = calls(first_poll, 1, &mut api).await?;
        let after_first = cpu(id).await?;
        let (_poll, warm) = calls(poll, WARM_CALLS, &mut api).await?;
        let after_warm = cpu(id).await?;
        let memory = memory(id)?;
        process.kill().await.map_err(|error| failed("cannot be ended", error))?;
        Ok(Measured {
            size,
            start,
            faults,
            memory,
            first,
            warm,
            warm_cpu: after_warm.saturating_sub(after_first) / u32::try_from(WARM_CALLS).unwrap_or(1),
        })
    }

    /// The recorded event, without the key by which a repetition would be known.
    fn event(&self) -> Result<Bytes, String> {
        let file = format!("events/{}.json", self.event);
        let text = fs::read(&file).map_err(|error| format!("{file}: {error}"))?;
        let mut event: Value = serde_json::from_slice(&text).map_err(|error| format!("{file}: {error}"))?;
        if let Some(headers) = event.get_mut("headers").and_then(Value::as_object_mut) {
            headers.remove("idempotency-key");
        }
        Ok(Bytes::from(event.to_string()))
    }

    /// What was measured must have worked.
    fn check(&self, answer: &[u8]) -> Result<(), String> {
        let answer: Value = serde_json::from_slice(answer).map_err(|error| {
            format!("{}: no answer: {error}: {}", self.name, String::from_utf8_lossy(answer))
        })?;
        match answer["statusCode"].as_u64() {
            Some(500..) => Err(format!("{}: {answer}", self.name)),
            None if answer.get("failed").is_none_or(|failed| failed != 0) && self.kind != Kind::Floor => {
                Err(format!("{}: {answer}", self.name))
            }
            _ => Ok(()),
        }
    }
}

/// What Lambda and the template tell a function.
fn environment<'a>(runtime_api: &'a str, dynamodb: &'a str) -> [(&'static str, &'a str); 13] {
    [
        ("AWS_LAMBDA_RUNTIME_API", runtime_api),
        ("AWS_LAMBDA_FUNCTION_NAME", "bench"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "local"),
        ("AWS_SECRET_ACCESS_KEY", "local"),
        ("TABLE_NAME", "rolecall"),
        ("BASE_URL", "https://api.rolecall.example"),
        ("SIGNING_KEY", "0123456789abcdef0123456789abcdef"),
        ("SEALING_KEYS", "1:the local service seals for itself"),
        ("LIVE_SERVICES", "simulated"),
        ("DYNAMODB_ENDPOINT", dynamodb),
    ]
}

async fn patiently<T>(wait: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    tokio::time::timeout(PATIENCE, wait).await.map_err(|_| "the function does not answer".to_owned())?
}

/// The CPU time of all threads of a process, once all of them are waiting: Linux counts what a running one has used late.
async fn cpu(id: u32) -> Result<Duration, String> {
    loop {
        let (mut waiting, mut nanoseconds) = (true, 0);
        let threads = fs::read_dir(format!("/proc/{id}/task")).map_err(|error| error.to_string())?;
        for thread in threads {
            let thread = thread.map_err(|error| error.to_string())?.path();
            let read = |file| fs::read_to_string(thread.join(file)).map_err(|error| error.to_string());
            waiting &= stat(&read("stat")?, 0)? == "S";
            let spent = read("schedstat")?;
            let spent = spent.split(' ').next().and_then(|spent| spent.parse::<u64>().ok());
            nanoseconds += spent.ok_or("Linux does not count CPU time here")?;
        }
        if waiting {
            return Ok(Duration::from_nanos(nanoseconds));
        }
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
}

/// The page faults of a process, those that read from the disk included.
fn faults(id: u32) -> Result<u64, String> {
    let line = fs::read_to_string(format!("/proc/{id}/stat")).map_err(|error| error.to_string())?;
    let count = |place| stat(&line, place)?.parse::<u64>().map_err(|error| error.to_string());
    Ok(count(7)? + count(9)?)
}

/// The most memory that a process had, in KB.
fn memory(id: u32) -> Result<u64, String> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    peak.ok_or_else(|| "Linux does not tell the peak memory here".to_owned())
}

/// A field of `/proc/PID/stat`, counted from the state, which follows the name in parentheses (`proc_pid_stat(5)`).
fn stat(line: &str, place: usize) -> Result<&str, String> {
    let fields = line.rsplit_once(") ").map(|(_, fields)| fields);
    fields
        .and_then(|fields| fields.split(' ').nth(place))
        .ok_or_else(|| format!("not a line of stat: {line}"))
}
