//! The story with the client that openapi-generator generates for Rust.

use std::collections::BTreeSet;
use std::env::var;

use rolecall::apis::Error;
use rolecall::apis::candidates_api::{list_candidates, show_candidate};
use rolecall::apis::configuration::Configuration;
use rolecall::apis::quick_post_api::create_quick_post;
use rolecall::apis::roles_api::{create_role, list_roles, update_role};
use rolecall::models::{Invalid, QuickPostInput, RemotePolicy, RoleInput, RolePatch};

/// A client with the URL and the key of these variables.
fn connect(base: &str, key: &str) -> Configuration {
    let mut configuration = Configuration::new();
    configuration.base_path = var(base).unwrap();
    configuration.bearer_access_token = var(key).ok();
    configuration
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let client = connect("ROLECALL", "ROLECALL_KEY");

    let mut baker = RoleInput::new("Baker".to_owned());
    baker.location = Some(Some("Berlin".to_owned()));
    baker.salary_min = Some(Some(50_000));
    baker.remote_policy = Some(Some(RemotePolicy::Hybrid));
    let quick_post = || create_quick_post(&client, QuickPostInput::new(baker.clone()), Some("rust"));
    let posted = quick_post().await.unwrap();
    let again = quick_post().await.unwrap();
    assert!(posted.role.status == "open" && again == posted, "{again:?}");
    println!("key");

    let mut found = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = list_roles(&client, None, None, Some(3), cursor.as_deref()).await.unwrap();
        found.extend(page.data.iter().map(|listed| listed.id));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    let unique: BTreeSet<_> = found.iter().collect();
    assert!(unique.contains(&posted.role.id) && unique.len() == found.len() && found.len() > 3, "{found:?}");
    println!("pages");

    let patch = RolePatch { salary_min: Some(None), ..RolePatch::new() };
    let changed = update_role(&client, posted.role.id, None, Some(patch)).await.unwrap();
    assert!(changed.salary_min.is_none() && changed.location.as_deref() == Some("Berlin"), "{changed:?}");
    println!("null");

    let mut mistakes = RoleInput::new(" ".to_owned());
    mistakes.salary_min = Some(Some(2));
    mistakes.salary_max = Some(Some(1));
    let refused = create_role(&client, mistakes, None).await.unwrap_err();
    let Error::ResponseError(refused) = refused else { panic!("{refused}") };
    // `entity` is the first type that fits, whatever the status is: a `Problem`, without messages.
    let invalid: Invalid = serde_json::from_str(&refused.content).unwrap();
    assert_eq!(invalid.messages, ["title can't be blank", "salary_min must be at most salary_max"]);
    println!("422");

    let limited = connect("ROLECALL", "ROLECALL_LIMITED_KEY");
    let over = list_roles(&limited, None, None, None, None).await.unwrap_err();
    let Error::ResponseError(over) = over else { panic!("{over}") };
    assert!(over.status == 429 && over.content.contains("rate_limited"), "{over:?}");
    println!("-- 429: {}", over.content);

    let everyone =
        |client| list_candidates(client, None, None, None, None, None, None, None, None, None, None);
    let candidate = everyone(&client).await.unwrap().data[0].id;
    let newer = connect("ROLECALL_FUTURE", "ROLECALL_KEY");
    let errors = [
        list_roles(&newer, None, None, None, None).await.err().map(|error| error.to_string()),
        everyone(&newer).await.err().map(|error| error.to_string()),
        show_candidate(&newer, candidate, None, None, None).await.err().map(|error| error.to_string()),
    ];
    if errors.iter().all(Option::is_none) {
        println!("future");
    } else {
        println!("-- future: {errors:?}");
    }
}
