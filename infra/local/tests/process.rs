//! Tests of the local service as a process: start, requests, stop, kill and restart.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "in a test, that is a failure")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};

/// The running program; killed when dropped.
struct Service {
    child: Child,
    base_url: String,
    /// The other lines that it prints at startup, by their labels.
    printed: BTreeMap<String, String>,
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program in a folder without the project, which it does not need.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rolecall"));
    command.args(arguments).current_dir("/").env_remove("CARGO_MANIFEST_DIR").env("RUST_LOG", "off");
    command
}

impl Service {
    fn start(arguments: &[&str]) -> Self {
        Self::spawn(&mut command(arguments))
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child = command.args(["--port", "0"]).stdout(Stdio::piped()).spawn().expect("a process");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut printed = BTreeMap::new();
        for line in lines.by_ref() {
            let line = line.expect("a line");
            let (name, value) = line.split_at(14);
            printed.insert(name.trim().to_owned(), value.trim().to_owned());
            if name.trim() == "Open" {
                break;
            }
        }
        let base_url = printed.remove("Rolecall").expect("a base URL");
        Self { child, base_url, printed }
    }

    /// Stops the service, whose error output is piped. Returns that output.
    fn stop(mut self) -> String {
        signal("INT", self.child.id());
        let mut errors = String::new();
        self.child.stderr.take().expect("its error output").read_to_string(&mut errors).expect("text");
        errors
    }

    fn key(&self) -> &str {
        &self.printed["Acme live"]
    }

    async fn post(
        &self,
        client: &reqwest::Client,
        path: &str,
        key: &str,
        body: &Value,
    ) -> Option<(u16, Value)> {
        let request = client.post(format!("{}{path}", self.base_url)).bearer_auth(self.key());
        let response = request.header("idempotency-key", key).json(body).send().await.ok()?;
        let status = response.status().as_u16();
        Some((status, response.json().await.ok()?))
    }

    async fn list_all(&self, client: &reqwest::Client, path: &str) -> Vec<Value> {
        let mut items = Vec::new();
        let mut url = format!("{}{path}?limit=100", self.base_url);
        loop {
            let page: Value = client
                .get(&url)
                .bearer_auth(self.key())
                .send()
                .await
                .expect("a page")
                .json()
                .await
                .expect("JSON");
            items.extend(page["data"].as_array().cloned().unwrap_or_default());
            let Some(cursor) = page["next_cursor"].as_str() else { return items };
            url = format!("{}{path}?limit=100&cursor={cursor}", self.base_url);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a test's client talks to loopback")]
fn client() -> reqwest::Client {
    // reqwest leaves the choice of the crypto provider to the process. This fails if one is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().timeout(Duration::from_mins(5)).build().expect("a client")
}

/// Sends a signal with the shell's built-in `kill`, because not every machine has the program.
fn signal(name: &str, process: u32) {
    Command::new("sh").args(["-c", &format!("kill -{name} {process}")]).status().expect("a signal");
}

fn ids(items: &[Value], field: &str) -> BTreeSet<u64> {
    items.iter().filter_map(|item| item[field].as_u64()).collect()
}

fn folder(data: &tempfile::TempDir) -> &str {
    data.path().to_str().expect("a Unicode path")
}

/// Kills the service right after an invitation and restarts it on another port. The call still takes place.
#[tokio::test]
async fn a_scheduled_call_survives_a_crash() {
    let data = tempfile::tempdir().expect("a folder");
    let client = client();
    let mut service = Service::start(&["--data", folder(&data), "--empty"]);
    let post = async |path: &str, key: &str, body: Value| {
        service.post(&client, path, key, &body).await.expect("a response").1
    };
    let posted = post("/api/v1/quick_post", "a", json!({ "role": { "title": "Engineer" } })).await;
    let role = &posted["role"]["id"];
    let jane = json!({ "name": "Jane", "email": "jane@example.com", "role_id": role });
    let jane = post("/api/v1/candidates", "b", jane).await;
    let invite = format!("/api/v1/candidates/{}/invite_screen", jane["id"]);
    let screen = post(&invite, "c", json!({ "role_id": role })).await;
    assert_eq!(screen["status"], "queued");
    signal("KILL", service.child.id());
    service.child.wait().expect("an exit status");

    let service = Service::start(&["--data", folder(&data), "--empty"]);
    for _ in 0..3_000 {
        let screens = service.list_all(&client, "/api/v1/voice_screens").await;
        if screens[0]["status"] == "completed" {
            assert_eq!((screens.len(), &screens[0]["id"]), (1, &screen["id"]));
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the call did not take place");
}

/// Kills the service during many concurrent quick posts. Every role still has its posting and vice versa, and retries
/// with the same idempotency key create no duplicates.
#[tokio::test]
async fn a_crash_under_load_leaves_no_partial_or_duplicate_quick_posts() {
    let data = tempfile::tempdir().expect("a folder");
    let client = client();
    let total = 300;
    let body = |n: usize| json!({ "role": { "title": format!("Engineer {}", n % 7) } });
    let mut acknowledged: BTreeMap<usize, Value> = BTreeMap::new();
    for round in 0..3 {
        let mut service = Service::start(&["--data", folder(&data), "--empty"]);
        let pid = service.child.id();
        let answered = AtomicUsize::new(0);
        let quick_post = async |n: usize| {
            let answer = service.post(&client, "/api/v1/quick_post", &format!("k{n}"), &body(n)).await;
            if answered.fetch_add(1, Ordering::Relaxed) == 60 * (round + 1) {
                signal("KILL", pid);
            }
            (n, answer)
        };
        let answers = join_all((0..total).map(quick_post)).await;
        for (n, answer) in answers {
            // The service may return 503 on a busy machine, which acknowledges nothing.
            if let Some((status, posted)) = answer.filter(|(status, _)| *status != 503) {
                assert_eq!(status, 201, "{posted}");
                let before = acknowledged.insert(n, posted.clone());
                assert!(before.is_none_or(|before| before == posted), "an acknowledged post must not change");
            }
        }
        service.child.wait().expect("an exit status");
    }

    let service = Service::start(&["--data", folder(&data), "--empty"]);
    let (roles, postings) = (
        service.list_all(&client, "/api/v1/roles").await,
        service.list_all(&client, "/api/v1/job_postings").await,
    );
    assert_eq!(ids(&roles, "id"), ids(&postings, "role_id"));
    assert_eq!(ids(&roles, "job_posting_id"), ids(&postings, "id"));
    assert!(
        roles.iter().all(|role| role["status"] == "open")
            && postings.iter().all(|posting| posting["published"] == true)
    );
    for (n, posted) in &acknowledged {
        assert!(
            ids(&roles, "id").contains(&posted["role"]["id"].as_u64().expect("an id")),
            "request {n} was acknowledged"
        );
    }
    for n in 0..total {
        let (status, posted) = service
            .post(&client, "/api/v1/quick_post", &format!("k{n}"), &body(n))
            .await
            .expect("a response");
        assert_eq!(status, 201);
        assert!(acknowledged.get(&n).is_none_or(|before| *before == posted));
    }
    let (roles, postings) = (
        service.list_all(&client, "/api/v1/roles").await,
        service.list_all(&client, "/api/v1/job_postings").await,
    );
    assert_eq!((roles.len(), postings.len()), (total, total));
    let slugs: BTreeSet<_> = postings.iter().filter_map(|posting| posting["slug"].as_str()).collect();
    assert_eq!(slugs.len(), total);
}

#[tokio::test]
async fn the_start_page_has_the_demo_login() {
    let service = Service::start(&["--memory"]);
    let page =
        client().get(&service.base_url).header("accept", "text/html").send().await.expect("a response");
    let page = page.text().await.expect("a page");
    let (_, login) = service.printed["Acme sign-in"].split_once("  ").expect("an address and a login");
    let (email, password) = login.split_once("  ").expect("an e-mail address and a password");
    for text in [service.key(), email, password] {
        assert!(page.contains(text), "{text} is missing in {page}");
    }
}

/// Kills the service while it creates the demo company. The next start begins again, and a third one changes nothing.
#[tokio::test]
async fn a_new_data_folder_has_the_demo_company() {
    let data = tempfile::tempdir().expect("a folder");
    let client = client();
    let arguments = ["--data", folder(&data), "--port", "0"];
    let mut interrupted = command(&arguments).stdout(Stdio::null()).spawn().expect("a process");
    for _ in 0..1_000 {
        if data.path().join("dynamodb.sqlite-wal").metadata().is_ok_and(|log| log.len() > 500_000) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    interrupted.kill().expect("a process");
    interrupted.wait().expect("an exit status");
    let mut people = Vec::new();
    for arguments in [&["--data", folder(&data)][..], &["--data", folder(&data), "--empty"]] {
        let mut service = Service::start(arguments);
        assert_eq!(service.list_all(&client, "/api/v1/roles").await.len(), 12);
        people.push(ids(&service.list_all(&client, "/api/v1/candidates").await, "id"));
        signal("INT", service.child.id());
        service.child.wait().expect("an exit status");
    }
    assert!(people[0].len() == 150 && people[0] == people[1]);
    let memory = Service::spawn(command(&["--memory", "--demo"]).stderr(Stdio::piped()));
    assert_eq!(memory.list_all(&client, "/api/v1/candidates").await.len(), 150);
    assert_eq!(memory.printed["Open"], memory.base_url);
    assert_eq!(memory.stop(), "Creating the demo company ...\nStopping.\n");
}

#[test]
fn the_service_can_be_stopped_while_it_creates_the_demo_company() {
    let mut command = command(&["--memory", "--demo", "--port", "0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a process");
    let mut errors = BufReader::new(child.stderr.take().expect("its error output")).lines();
    assert_eq!(errors.next().expect("a line").expect("text"), "Creating the demo company ...");
    signal("TERM", child.id());
    let output = child.wait_with_output().expect("an exit status");
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
}

#[test]
fn the_last_of_repeated_options_counts() {
    // The helper adds the second port.
    let service = Service::start(&["--memory", "--port", "1"]);
    assert!(!service.base_url.ends_with(":1"), "{}", service.base_url);
}

#[tokio::test]
async fn data_survives_a_restart_except_in_memory() {
    let data = tempfile::tempdir().expect("a folder");
    let client = client();
    let mut service = Service::start(&["--data", folder(&data), "--empty"]);
    let body = json!({ "role": { "title": "Engineer" } });
    let (_, posted) = service.post(&client, "/api/v1/quick_post", "k", &body).await.expect("a response");
    signal("INT", service.child.id());
    assert!(
        service.child.wait().expect("an exit status").success(),
        "the service must exit with status 0 after Ctrl-C"
    );

    let service = Service::start(&["--data", folder(&data), "--empty"]);
    let roles = service.list_all(&client, "/api/v1/roles").await;
    assert_eq!((roles.len(), &roles[0]["id"]), (1, &posted["role"]["id"]));

    let memory = Service::spawn(command(&["--memory", "--run-schedules"]).stderr(Stdio::piped()));
    assert!(memory.list_all(&client, "/api/v1/roles").await.is_empty());
    assert_eq!(memory.key(), service.key(), "demo keys must be the same everywhere");
    let errors = memory.stop();
    for function in ["DeliverFunction", "FeedFunction", "TasksFunction", "UsageResetFunction"] {
        assert!(errors.contains(&format!("{function}: ")), "{function} did not run: {errors}");
    }
}

/// Starts the service on `host`, and checks that the URLs it prints contain `printed` and that both of its ports answer at
/// `reachable`. Returns its error output.
#[cfg(target_os = "linux")]
async fn listen_on(host: &str, printed: &str, reachable: &str) -> String {
    let mut command = command(&["--memory", "--host", host]);
    let service = Service::spawn(command.stderr(Stdio::piped()));
    let client = client();
    let body = json!({ "role": { "title": "Engineer" } });
    let (status, posted) = service.post(&client, "/api/v1/quick_post", "k", &body).await.expect("a response");
    assert_eq!(status, 201, "{posted}");
    let link = posted["role"]["job_posting_url"].as_str().expect("a link");
    let endpoint = &service.printed["DynamoDB"];
    for url in [&service.base_url, endpoint, link] {
        assert!(url.starts_with(&format!("http://{printed}:")), "{url}");
        let url = url.replace(printed, reachable);
        let response = client.get(&url).send().await.unwrap_or_else(|error| panic!("{url}: {error}"));
        assert!(!response.status().is_server_error(), "{url}: {}", response.status());
        // By its other addresses, the service is not called.
        assert_eq!(response.status() == 421, printed != reachable, "{url}");
    }
    service.stop()
}

/// Runs only on Linux, which has several loopback addresses, so that the test needs no network.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_service_listens_on_the_given_address_and_warns_beyond_loopback() {
    assert_eq!(listen_on("127.0.0.1", "127.0.0.1", "127.0.0.1").await, "Stopping.\n");
    assert_eq!(listen_on("127.0.0.2", "127.0.0.2", "127.0.0.2").await, "Stopping.\n");
    let errors = listen_on("0.0.0.0", "127.0.0.1", "127.0.0.2").await;
    assert!(
        errors.starts_with("Warning: Rolecall listens on every address of this machine. Anyone "),
        "{errors}"
    );
}

/// A page of another site can have its own name stand for this machine (DNS rebinding), or send requests to its address.
#[tokio::test]
async fn a_page_of_another_site_reaches_neither_the_api_nor_the_database() {
    let service = Service::start(&["--memory", "--host", "127.0.0.1,rolecall.test"]);
    let client = client();
    for url in [&service.base_url, &service.printed["DynamoDB"]] {
        let own = url.strip_prefix("http://").expect("a URL");
        let port = own.rsplit(':').next().expect("a port");
        let send = async |host: &str| {
            let response = client.get(url).header("host", host).send().await.expect("a response");
            (response.status().as_u16(), response.text().await.expect("text"))
        };
        let (localhost, v6) = (format!("localhost:{port}"), format!("[::1]:{port}"));
        for host in [own, &localhost, &v6, "rolecall.test", "rolecall.test:443"] {
            assert_ne!(send(host).await.0, 421, "{url} as {host}");
        }
        for host in
            ["evil.example", &format!("evil.example:{port}"), &format!("{own}.evil.example"), "localhost"]
        {
            let (status, text) = send(host).await;
            assert_eq!(status, 421, "{url} as {host}");
            assert!(text.contains("start it with --host and that name"), "{text}");
        }
    }
    let asked = client
        .request(reqwest::Method::OPTIONS, &service.printed["DynamoDB"])
        .header("origin", "https://evil.example")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type,x-amz-target")
        .send()
        .await
        .expect("a response");
    assert!(!asked.headers().contains_key("access-control-allow-origin"), "{asked:?}");
}

/// Whether a file in the folder contains the word, in any letter case.
fn stores(data: &tempfile::TempDir, word: &str) -> bool {
    let files = std::fs::read_dir(data.path()).expect("a folder").map(|entry| entry.expect("a file").path());
    files.filter(|path| path.is_file()).any(|path| {
        let bytes = std::fs::read(path).expect("bytes").to_ascii_lowercase();
        bytes.windows(word.len()).any(|part| part == word.as_bytes())
    })
}

#[tokio::test]
async fn the_files_keep_nothing_of_an_erased_person() {
    let (name, word) = ("Quillfeather", "quillfeather");
    let data = tempfile::tempdir().expect("a folder");
    let client = client();
    let mut service = Service::start(&["--data", folder(&data), "--empty"]);
    let post = async |path: &str, key: &str, body: Value| {
        let (status, body) = service.post(&client, path, key, &body).await.expect("a response");
        assert!(status < 300, "{body}");
        body
    };
    let posted = post("/api/v1/quick_post", "a", json!({ "role": { "title": "Engineer" } })).await;
    let person = |name: &str, number: usize| {
        let email = format!("{name}{number}@example.com");
        json!({ "name": format!("{name} {number}"), "email": email, "role_id": posted["role"]["id"] })
    };
    let mut erased = Vec::new();
    for number in 0..12 {
        let one = post("/api/v1/candidates", &format!("b{number}"), person(name, number)).await;
        post("/api/v1/candidates", &format!("c{number}"), person("Jane", number)).await;
        let path = format!("/api/v1/candidates/{}", one["id"]);
        let text = format!("{name} ").repeat(if number % 2 == 0 { 3 } else { 380 });
        post(&format!("{path}/notes"), &format!("d{number}"), json!({ "text": text })).await;
        erased.push(path);
    }
    assert!(stores(&data, word));
    for path in erased {
        post(&format!("{path}/erase"), &path, json!({})).await;
    }
    // A task erases what the first transaction has left.
    let table = async || {
        let call = client.post(&service.printed["DynamoDB"]).header("x-amz-target", "DynamoDB_20120810.Scan");
        let answer = call.body(r#"{"TableName":"rolecall"}"#).send().await.expect("a response");
        answer.text().await.expect("text").to_ascii_lowercase()
    };
    let mut found = table().await;
    assert!(found.contains("jane") && !found.contains("lastevaluatedkey"), "the answer has the whole table");
    for _ in 0..600 {
        if !found.contains(word) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        found = table().await;
    }
    assert!(!found.contains(word), "the table");
    signal("INT", service.child.id());
    service.child.wait().expect("an exit status");
    assert!(!stores(&data, word));
}

/// Runs the program, which must fail, and returns its error output.
fn error_of(arguments: &[&str]) -> String {
    let mut child =
        command(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a process");
    let mut errors = String::new();
    child.stderr.take().expect("its error output").read_to_string(&mut errors).expect("text");
    assert!(!child.wait().expect("an exit status").success());
    errors.trim().to_owned()
}

#[test]
fn arguments_that_cannot_work_are_refused() {
    for (arguments, problem) in [
        (["--memory", "--now", "2025-01-31T23:59:59Z"], "it is before 2025-02-01T00:00:00.000Z"),
        (["--memory", "--now", "tomorrow"], "it is not a time such as 2026-09-15T10:00:00Z"),
        (["--recorded", "--data", "folder"], "cannot be used with"),
    ] {
        let error = error_of(&arguments);
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn startup_errors_are_explained() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    assert_eq!(
        error_of(&["--memory", "--port", &port]),
        format!("Port {port} is already in use; choose another with --port.")
    );
    // This IP address is reserved for documentation (RFC 5737).
    assert_eq!(
        error_of(&["--memory", "--port", "0", "--host", "198.51.100.1"]),
        "This machine does not have the IP address 198.51.100.1; choose another with --host."
    );

    let data = tempfile::tempdir().expect("a folder");
    let file = data.path().join("file");
    std::fs::write(&file, "").expect("a file");
    let error = error_of(&["--port", "0", "--data", file.to_str().expect("a Unicode path")]);
    assert!(error.starts_with(&format!("The data folder {} cannot be used: ", file.display())), "{error}");
    assert!(error.ends_with(" Choose another one with --data."), "{error}");
    let error = error_of(&["--port", "0", "--data", "/proc/nowhere"]);
    assert!(error.starts_with("The data folder /proc/nowhere cannot be used: "), "{error}");

    let running = Service::start(&["--data", folder(&data), "--empty"]);
    let error = error_of(&["--port", "0", "--data", folder(&data)]);
    assert!(error.contains("is in use by another Rolecall"), "{error}");
    drop(running);

    for elsewhere in
        ["https://dynamodb.us-east-1.amazonaws.com", "http://localhost:8000@example.com", "localhost:8000"]
    {
        let error = error_of(&["--port", "0", "--endpoint", elsewhere]);
        assert!(error.contains("127.0.0.1"), "{error}");
    }
}
