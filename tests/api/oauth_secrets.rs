//! OAuth and sessions: what is secret is not stored, and not shown where something goes wrong.

use aws_sdk_dynamodb::Client;
use tests::World;
use tests::oauth::{misplace, secrets};

/// Everything in the table, as text.
async fn stored(world: &World) -> String {
    let config = tests::engine::client(world.wire.client(), &world.endpoint).await;
    let scan = Client::from_conf(config.build()).scan().table_name(&world.environment.config.table);
    let items: Vec<_> = scan.into_paginator().items().send().collect::<Result<_, _>>().await.unwrap();
    assert!(items.len() > 20, "{}", items.len());
    format!("{items:?}")
}

#[tokio::test]
async fn nothing_that_opens_anything_is_stored_or_shown() {
    let world = World::new().await;
    let secrets = secrets(&world).await;
    let sent: String = world.wire.take().iter().map(|call| call.request.to_string()).collect();
    let stored = stored(&world).await;
    let shown = misplace(&world, &secrets).await;
    for (what, secret) in secrets {
        for (text, where_to) in [(&stored, "stored"), (&sent, "sent to the database"), (&shown, "shown")] {
            assert!(!text.contains(&secret), "a {what} is {where_to}");
        }
    }
}
