//! Replies: a status, a JSON body, and the few headers that a handler decides.

use std::marker::PhantomData;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::Error;
use crate::store::{Failure, Receipt};

/// A list's form.
#[derive(Debug, Serialize)]
pub struct Collection<T> {
    /// A page of it, newest first.
    pub data: Vec<T>,
    /// Where the next page starts; `null` at the end.
    pub next_cursor: Option<String>,
}

/// What a handler answers: an `O`, as JSON.
#[derive(Debug)]
pub struct Reply<O> {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
    form: PhantomData<fn() -> O>,
}

impl<O: Serialize> Reply<O> {
    /// 200 with one resource, and its entity tag.
    pub fn resource(resource: &O) -> Result<Self, Error> {
        let body = json(resource)?;
        let tag = etag(&body);
        Ok(Self::new(200, body).with("etag", tag))
    }

    /// 200 with something that has no version of its own.
    pub fn ok(body: &O) -> Result<Self, Error> {
        Ok(Self::new(200, json(body)?))
    }
}

impl<O> Reply<O> {
    pub(super) fn new(status: u16, body: String) -> Self {
        Self { status, headers: Vec::new(), body, form: PhantomData }
    }

    /// The same reply with one more header.
    #[must_use]
    pub(super) fn with(mut self, name: &str, value: String) -> Self {
        self.headers.push((name.to_owned(), value));
        self
    }

    /// 201 instead; what was created has no address of its own.
    #[must_use]
    pub fn created_without_address(self) -> Self {
        Self { status: 201, ..self }
    }

    /// 201 instead, naming where what was created can be found.
    #[must_use]
    pub fn created(self, address: String) -> Self {
        Self { status: 201, ..self.with("location", address) }
    }

    pub(super) fn untyped(self) -> Reply<()> {
        Reply { status: self.status, headers: self.headers, body: self.body, form: PhantomData }
    }

    pub(super) fn receipt(&self, fingerprint: String) -> Receipt {
        Receipt {
            fingerprint,
            status: self.status,
            headers: self.headers.clone(),
            body: self.body.clone(),
            pending: None,
        }
    }

    pub(super) fn replayed(receipt: Receipt) -> Self {
        Self { status: receipt.status, headers: receipt.headers, body: receipt.body, form: PhantomData }
            .with("idempotency-replayed", "true".to_owned())
    }
}

/// The strong entity tag of a body: a digest, so that it changes exactly when the body does.
pub(super) fn etag(body: &str) -> String {
    let digest = URL_SAFE_NO_PAD.encode(&Sha256::digest(body)[..16]);
    format!("\"{digest}\"")
}

pub(super) fn json<T: Serialize>(value: &T) -> Result<String, Error> {
    serde_json::to_string(value)
        .map_err(|error| Failure::Internal(format!("a reply cannot be written: {error}")).into())
}
