//! A gateway or a CDN in front of the API that changes what the service answers, as those of AWS may.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_LENGTH;

use crate::fake::{FakeResponse, FakeServer, Request};
use crate::{LOOPBACK, TestApi};

/// An answer of the service.
pub type Answer = http::Response<Bytes>;

/// Starts a server that passes each request on to the API and sends its answer as `alter` leaves it.
pub async fn serve(
    api: &TestApi,
    alter: impl Fn(&Request, &mut Answer) + Send + Sync + 'static,
) -> FakeServer {
    let (gateway, alter) = (Arc::clone(&api.gateway), Arc::new(alter));
    FakeServer::start(move |request| {
        let (gateway, alter, request) = (Arc::clone(&gateway), Arc::clone(&alter), request.clone());
        FakeResponse::after(async move {
            let mut passed = http::Request::builder().method(&*request.method).uri(&request.target);
            for (name, value) in &request.headers {
                passed = passed.header(name, value);
            }
            let passed = passed.body(Bytes::from(request.body.clone())).expect("a request");
            let mut answer = gateway.send(passed, LOOPBACK).await;
            alter(&request, &mut answer);
            FakeResponse::Raw(raw(&answer))
        })
    })
    .await
}

/// The bytes of an answer.
fn raw(answer: &Answer) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {} -\r\nconnection: close\r\n", answer.status().as_u16()).into_bytes();
    for (name, value) in answer.headers() {
        bytes.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    if !answer.headers().contains_key(CONTENT_LENGTH) {
        bytes.extend(format!("content-length: {}\r\n", answer.body().len()).into_bytes());
    }
    bytes.extend(b"\r\n");
    bytes.extend(answer.body());
    bytes
}
