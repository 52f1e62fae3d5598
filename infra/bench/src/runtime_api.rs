//! The part of Lambda's runtime API that a function needs: getting the next event and posting the response.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// The runtime API of one function.
pub(crate) struct RuntimeApi {
    address: String,
    polls: mpsc::Receiver<Poll>,
    responses: mpsc::Receiver<Bytes>,
    server: JoinHandle<()>,
}

/// A function waiting for its next event.
pub(crate) struct Poll(oneshot::Sender<Bytes>);

impl RuntimeApi {
    /// Starts the API on a free loopback port.
    pub(crate) async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let (poll, polls) = mpsc::channel(1);
        let (response_sender, responses) = mpsc::channel(1);
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (poll, response_sender) = (poll.clone(), response_sender.clone());
                let respond =
                    service_fn(move |request| respond(request, poll.clone(), response_sender.clone()));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), respond));
            }
        });
        Ok(Self { address, polls, responses, server })
    }

    /// The host and port, for `AWS_LAMBDA_RUNTIME_API`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Waits until the function requests an event.
    pub(crate) async fn poll(&mut self) -> Result<Poll, String> {
        self.polls.recv().await.ok_or_else(|| "the runtime API has stopped".to_owned())
    }

    /// Sends the function an event and waits for its response.
    pub(crate) async fn invoke(&mut self, poll: Poll, event: Bytes) -> Result<Bytes, String> {
        poll.0.send(event).map_err(|_| "the function has ended".to_owned())?;
        self.responses.recv().await.ok_or_else(|| "the runtime API has stopped".to_owned())
    }
}

impl Drop for RuntimeApi {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn respond(
    request: Request<Incoming>,
    polls: mpsc::Sender<Poll>,
    responses: mpsc::Sender<Bytes>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::default());
    if request.method() == Method::GET {
        let (send, event) = oneshot::channel();
        if polls.send(Poll(send)).await.is_ok()
            && let Ok(event) = event.await
        {
            *response.body_mut() = Full::new(event);
        }
        for (name, value) in [
            ("lambda-runtime-aws-request-id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd"),
            ("lambda-runtime-deadline-ms", "4102444800000"),
            ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:us-east-1:123456789012:function:bench"),
            ("lambda-runtime-trace-id", "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Sampled=0"),
        ] {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
    } else {
        let failed = request.uri().path().ends_with("/error");
        let body =
            request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let body = if failed { Bytes::from([b"failed: ", &body[..]].concat()) } else { body };
        // This fails only after the measurement has ended.
        let _ = responses.send(body).await;
        *response.status_mut() = hyper::StatusCode::ACCEPTED;
    }
    Ok(response)
}
