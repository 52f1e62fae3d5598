//! What other tests rely on in the DynamoDB that they run on, and that they leave nothing behind in it.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem, Update};
use tests::World;
use tests::engine;
use tests::wire::Wire;

async fn client(world: &World) -> Client {
    Client::from_conf(engine::client(world.wire.client(), &world.endpoint).await.build())
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

/// What is sent again, because its answer was lost, must not be done again.
/// A token is of all tables, and has at most 36 characters.
#[tokio::test]
async fn a_transaction_is_made_once_for_a_token() {
    let world = World::new().await;
    let (client, table) = (client(&world).await, &world.environment.config.table);
    let add = Update::builder()
        .table_name(table)
        .key("pk", text("a"))
        .key("sk", text("b"))
        .update_expression("ADD n :one")
        .expression_attribute_values(":one", AttributeValue::N("1".to_owned()))
        .build()
        .unwrap();
    let add = TransactWriteItem::builder().update(add).build();
    for _ in 0..2 {
        client
            .transact_write_items()
            .client_request_token(table)
            .transact_items(add.clone())
            .send()
            .await
            .unwrap();
    }
    let read =
        client.get_item().table_name(table).key("pk", text("a")).key("sk", text("b")).consistent_read(true);
    assert_eq!(read.send().await.unwrap().item.unwrap()["n"].as_n().unwrap(), "1");
}

/// Tests that compare what pages cost would compare nothing if it were not counted.
#[tokio::test]
async fn reading_costs_a_unit_for_every_four_kilobytes() {
    let world = World::new().await;
    let (client, table) = (client(&world).await, &world.environment.config.table);
    let put = Put::builder()
        .table_name(table)
        .item("pk", text("a"))
        .item("sk", text("b"))
        .item("x", text(&"x".repeat(9_000)))
        .build()
        .unwrap();
    let put = TransactWriteItem::builder().put(put).build();
    client.transact_write_items().transact_items(put).send().await.unwrap();
    let read =
        client.get_item().table_name(table).key("pk", text("a")).key("sk", text("b")).consistent_read(true);
    let units = read.send().await.unwrap().consumed_capacity.and_then(|capacity| capacity.capacity_units);
    assert_eq!(units, Some(3.0));
}

/// The DynamoDB may outlive the tests, and cost money.
#[tokio::test]
async fn a_world_takes_its_table_with_it() {
    let world = World::new().await;
    let endpoint = world.endpoint.clone();
    let table = world.environment.config.table.clone();
    drop(world);
    engine::store(Wire::new().client(), &endpoint, &table).await.delete_table().await.unwrap_err();
}
