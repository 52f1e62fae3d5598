//! The behaviour of DynamoDB that other tests rely on, and the deletion of their tables.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem, Update};
use tests::TestApi;
use tests::engine;

async fn client(api: &TestApi) -> Client {
    Client::from_conf(engine::client(api.dynamodb.client()).await.build())
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

/// A transaction that is retried because its response was lost must not be applied twice. All tables share the
/// tokens, which have at most 36 characters, so the test uses its table's name as the token.
#[tokio::test]
async fn a_transaction_with_the_same_token_is_applied_once() {
    let api = TestApi::new().await;
    let (client, table) = (client(&api).await, &api.environment.config.table);
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

/// The tests that compare the cost of pages depend on the consumed capacity in responses.
#[tokio::test]
async fn a_read_consumes_one_unit_per_four_kilobytes() {
    let api = TestApi::new().await;
    let (client, table) = (client(&api).await, &api.environment.config.table);
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

/// The DynamoDB may outlive the tests, and its tables may cost money.
#[tokio::test]
async fn dropping_a_test_api_deletes_its_table() {
    let api = TestApi::new().await;
    let dynamodb = api.dynamodb.another();
    let table = api.environment.config.table.clone();
    drop(api);
    engine::store(dynamodb.client(), &table).await.delete_table().await.unwrap_err();
}
