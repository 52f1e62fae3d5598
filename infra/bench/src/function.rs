//! The functions to measure, and the measurement of one start.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::Value;
use tokio::process::Command;

use crate::runtime_api::{Poll, RuntimeApi};
use crate::tls::Endpoint;

/// The number of warm calls after the first call.
const WARM_CALLS: usize = 20;
/// The maximum time to wait for a function.
const TIMEOUT: Duration = Duration::from_mins(5);

/// The end of the name of a function that compresses its responses.
const GZIP: &str = "_gzip";

/// A function, and an event that can be sent repeatedly.
pub(crate) struct Function {
    /// The name of the binary, or with `_gzip` for compressed responses.
    pub(crate) name: &'static str,
    event: &'static str,
    /// The kind of function, which determines its limits.
    pub(crate) kind: Kind,
}

/// The kinds of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `lambda_http` and nothing else.
    Floor,
    /// Without a database.
    Static,
    /// With the database.
    Database,
    /// With the database, and with pages or calls to external services.
    Wide,
    /// With the database, pages, and the cryptography of passkeys.
    Passkeys,
}

/// The floor, which every function is compared with.
pub(crate) const FLOOR: Function = Function::new("floor", "default_not_found", Kind::Floor);
/// The floor with a TLS handshake.
pub(crate) const FLOOR_TLS: Function = Function::new("floor_tls", "default_not_found", Kind::Floor);

/// A key of the demo organization for its test data.
const TEST_KEY: &str = "rc_test_000000001000000001ZCG7000000DemoKeyOfAcmeTestNotASecret9cEh6Z8zfEE0Zt1BB";

/// All deployed functions, `careers` a second time with compressed responses, and `roles` a second time over TLS.
const FUNCTIONS: &[Function] = &[
    Function::new("applications", "applications_show", Kind::Database),
    Function::new("candidates", "candidates_show", Kind::Wide),
    Function::new("careers", "careers_show", Kind::Wide),
    Function::new("careers_gzip", "careers_show", Kind::Wide),
    Function::new("channels", "channels_show", Kind::Wide),
    Function::new("dashboard_account", "dashboard_account", Kind::Wide),
    Function::new("dashboard_candidates", "dashboard_candidates", Kind::Wide),
    Function::new("dashboard_roles", "dashboard_overview", Kind::Wide),
    Function::new("dashboard_settings", "dashboard_members", Kind::Wide),
    Function::new("data", "data_imports_show_import", Kind::Wide),
    Function::new("default", "default_not_found", Kind::Static),
    Function::new("deliver", "deliver_schedule", Kind::Wide),
    Function::new("docs", "docs_show_openapi", Kind::Static),
    Function::new("events", "events_list", Kind::Database),
    Function::new("feed", "feed_schedule", Kind::Database),
    Function::new("job_postings", "job_postings_show", Kind::Database),
    Function::new("mcp", "mcp_send_message", Kind::Wide),
    Function::new("oauth", "oauth_authorize_ask", Kind::Wide),
    Function::new("organization", "organization_show", Kind::Database),
    Function::new("quick_post", "quick_post_create", Kind::Database),
    Function::new("roles", "roles_show", Kind::Database),
    Function::new("roles_tls", "roles_show", Kind::Database),
    Function::new("sign_in", "sign_in_passkey_show", Kind::Passkeys),
    Function::new("tasks", "tasks_schedule", Kind::Wide),
    Function::new("usage_reset", "usage_reset_schedule", Kind::Database),
    Function::new("voice_screens", "voice_screens_show", Kind::Database),
    Function::new("voice_webhook", "voice_webhook_receive", Kind::Wide),
    Function::new("webhook_endpoints", "webhook_endpoints_webhooks_show", Kind::Wide),
];

/// The measurements of one start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    /// The size of the binary, in bytes.
    pub(crate) size: u64,
    /// CPU time from exec to the first poll.
    pub(crate) start: Duration,
    /// Page faults from exec to the first poll.
    pub(crate) faults: u64,
    /// Peak memory after all calls, in KB.
    pub(crate) memory: u64,
    /// The time of the first call.
    pub(crate) first: Duration,
    /// The median time of a warm call.
    pub(crate) warm: Duration,
    /// The mean CPU time of a warm call.
    pub(crate) warm_cpu: Duration,
}

impl Measured {
    /// The median of each measurement.
    pub(crate) fn median(starts: &[Self]) -> Self {
        fn median<T: Ord + Copy + Default>(starts: &[Measured], value: impl Fn(&Measured) -> T) -> T {
            let mut values: Vec<_> = starts.iter().map(value).collect();
            values.sort_unstable();
            values.get(values.len() / 2).copied().unwrap_or_default()
        }
        Self {
            size: median(starts, |start| start.size),
            start: median(starts, |start| start.start),
            faults: median(starts, |start| start.faults),
            memory: median(starts, |start| start.memory),
            first: median(starts, |start| start.first),
            warm: median(starts, |start| start.warm),
            warm_cpu: median(starts, |start| start.warm_cpu),
        }
    }
}

impl Function {
    const fn new(name: &'static str, event: &'static str, kind: Kind) -> Self {
        Self { name, event, kind }
    }

    /// Whether the function reaches DynamoDB over TLS, as in Lambda.
    pub(crate) fn is_over_tls(&self) -> bool {
        self.name.ends_with("_tls")
    }

    /// The name of the binary.
    pub(crate) fn binary(&self) -> &'static str {
        self.name.trim_end_matches(GZIP)
    }

    /// Whether the event leads to a database call. (The webhook rejects its event earlier, because the callback is too
    /// old.)
    pub(crate) fn uses_database(&self) -> bool {
        matches!(self.kind, Kind::Database | Kind::Wide | Kind::Passkeys) && self.name != "voice_webhook"
    }

    /// Whether the event has a credential of the API.
    pub(crate) fn checks_credential(&self) -> bool {
        let event = self.event().ok().and_then(|event| serde_json::from_slice::<Value>(&event).ok());
        event.is_some_and(|event| event["headers"]["authorization"].is_string())
    }

    /// The functions with these names, or all functions if `names` is empty.
    pub(crate) fn choose(names: &[String]) -> Result<Vec<&'static Self>, String> {
        if names.is_empty() {
            return Ok(FUNCTIONS.iter().collect());
        }
        let find = |name: &String| {
            FUNCTIONS
                .iter()
                .find(|function| function.name == name)
                .ok_or_else(|| format!("the function {name} does not exist"))
        };
        names.iter().map(find).collect()
    }

    /// Starts the function once and calls it.
    #[expect(clippy::disallowed_methods, reason = "a measurement needs the real clock")]
    pub(crate) async fn measure(
        &self,
        binaries: &Path,
        dynamodb: &str,
        tls: &Endpoint,
    ) -> Result<Measured, String> {
        let failed = |problem: &str, error: std::io::Error| format!("{problem}: {error}");
        let binary = binaries.join(self.binary());
        let size = fs::metadata(&binary).map_err(|error| failed("the binary is missing", error))?.len();
        let event = self.event()?;
        let dynamodb = if self.is_over_tls() { &tls.url } else { dynamodb };
        let mut api =
            RuntimeApi::start().await.map_err(|error| failed("the runtime API cannot be started", error))?;
        let mut process = Command::new(&binary)
            .env_clear()
            .envs(environment(api.address(), dynamodb))
            .env("BENCH_ROOT", &tls.root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed("the function cannot be started", error))?;
        let id = process.id().ok_or("the process has ended")?;
        let first_poll = with_timeout(api.poll()).await?;
        let (start, faults) = (cpu(id).await?, faults(id)?);
        let calls = async |poll: Poll, calls: usize, api: &mut RuntimeApi| {
            let (mut poll, mut times) = (poll, Vec::new());
            for _ in 0..calls {
                let sent = Instant::now();
                let response = with_timeout(api.invoke(poll, event.clone())).await?;
                times.push(sent.elapsed());
                self.check(&response)?;
                poll = with_timeout(api.poll()).await?;
            }
            times.sort_unstable();
            Ok::<_, String>((poll, times.get(calls / 2).copied().unwrap_or_default()))
        };
        let (poll, first) = calls(first_poll, 1, &mut api).await?;
        let after_first = cpu(id).await?;
        let (_poll, warm) = calls(poll, WARM_CALLS, &mut api).await?;
        let after_warm = cpu(id).await?;
        let memory = memory(id)?;
        process.kill().await.map_err(|error| failed("the function cannot be stopped", error))?;
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

    /// The sample event without the idempotency key, which would turn later calls into replays.
    fn event(&self) -> Result<Bytes, String> {
        let file = format!("events/{}.json", self.event);
        let text = fs::read(&file).map_err(|error| format!("{file}: {error}"))?;
        let mut event: Value = serde_json::from_slice(&text).map_err(|error| format!("{file}: {error}"))?;
        if let Some(headers) = event.get_mut("headers").and_then(Value::as_object_mut) {
            headers.remove("idempotency-key");
            // Each call creates test data, so that the other functions do not read more from start to start.
            if self.name == "quick_post" {
                headers.insert("authorization".to_owned(), format!("Bearer {TEST_KEY}").into());
            }
            if self.name.ends_with(GZIP) {
                headers.insert("accept-encoding".to_owned(), "gzip".into());
            }
        }
        Ok(Bytes::from(event.to_string()))
    }

    /// Checks that the call succeeded.
    fn check(&self, response: &[u8]) -> Result<(), String> {
        let response: Value = serde_json::from_slice(response)
            .map_err(|error| format!("invalid response: {error}: {}", String::from_utf8_lossy(response)))?;
        match response["statusCode"].as_u64() {
            Some(500..) => Err(response.to_string()),
            None if response.get("failed").is_none_or(|failed| failed != 0) && self.kind != Kind::Floor => {
                Err(response.to_string())
            }
            _ => Ok(()),
        }
    }
}

/// The environment variables that Lambda and the template set.
fn environment<'a>(runtime_api: &'a str, dynamodb: &'a str) -> [(&'static str, &'a str); 14] {
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
        ("SIGNING_KEYS", "0123456789abcdef0123456789abcdef"),
        ("CREDENTIAL_KEYS", "credentials-0123456789abcdef0123"),
        ("SEALING_KEYS", "1:the local service seals for itself"),
        ("LIVE_SERVICES", "simulated"),
        ("DYNAMODB_ENDPOINT", dynamodb),
    ]
}

async fn with_timeout<T>(wait: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    tokio::time::timeout(TIMEOUT, wait).await.map_err(|_| "the function does not respond".to_owned())?
}

/// The CPU time of all threads of a process. It is read once all threads are waiting, because Linux updates the count
/// of a running thread late.
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
            nanoseconds += spent.ok_or("the kernel does not report CPU time")?;
        }
        if waiting {
            return Ok(Duration::from_nanos(nanoseconds));
        }
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
}

/// The number of minor and major page faults of a process.
fn faults(id: u32) -> Result<u64, String> {
    let line = fs::read_to_string(format!("/proc/{id}/stat")).map_err(|error| error.to_string())?;
    let count = |field| stat(&line, field)?.parse::<u64>().map_err(|error| error.to_string());
    Ok(count(7)? + count(9)?)
}

/// The peak memory of a process, in KB.
fn memory(id: u32) -> Result<u64, String> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    peak.ok_or_else(|| "the kernel does not report the peak memory".to_owned())
}

/// A field of `/proc/PID/stat`. Field 0 is the state, which follows the name in parentheses (`proc_pid_stat(5)`).
fn stat(line: &str, field: usize) -> Result<&str, String> {
    let fields = line.rsplit_once(") ").map(|(_, fields)| fields);
    fields
        .and_then(|fields| fields.split(' ').nth(field))
        .ok_or_else(|| format!("invalid line in /proc/PID/stat: {line}"))
}
