//! Idempotency keys: a POST with a key takes effect only once, and a repetition gets the stored reply.
//!
//! The receipt of a request holds its reply. It is written in the same transaction as the request's effect.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::ToSpan;
use sha2::{Digest, Sha256};

use super::context::RequestContext;
use super::{Error, HandlerCall, Reply, SentInput};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{Actor, Scopes, Tenant};
use crate::store::{CommitError, Pending, Receipt, ReceiptSlot};

/// A request's idempotency key, and the fingerprint that distinguishes the request from others with the same key.
pub(super) struct IdempotencyKey {
    pub(super) slot: ReceiptSlot,
    fingerprint: String,
}

impl IdempotencyKey {
    /// The key of a call, if it has one. The fingerprint includes the scopes, because the stored reply may contain what a
    /// credential with other scopes must not see.
    pub(super) fn of(
        context: &RequestContext,
        actor: &Actor,
        scopes: Scopes,
        call: &HandlerCall,
    ) -> Option<Self> {
        let (id, key) = (call.id, call.key.as_ref()?);
        let mut digest = Sha256::new();
        match &call.input {
            SentInput::Json(_) => {
                digest.update(format!("{scopes}\n{}\n", context.path()));
                digest.update(context.body());
            }
            SentInput::Arguments { tool, fields } => {
                digest.update(format!("{scopes}\n{tool} {id:?}"));
                for (name, value) in BTreeMap::from_iter(fields) {
                    digest.update(format!("\n{name:?} {value}"));
                }
            }
            SentInput::Form(fields) => {
                let member = actor.id.map_or_else(String::new, |id| id.to_string());
                digest.update(format!("{member} {} {id:?} {key:?}", context.path()));
                for (name, value) in fields.iter() {
                    digest.update(format!(" {name:?} {value:?}"));
                }
                // The fields are part of the key, because a browser can go back to a form and send it with other values.
                let key = format!("form {}", URL_SAFE_NO_PAD.encode(digest.clone().finalize()));
                return Some(Self::new(context, key, digest));
            }
        }
        Some(Self::new(context, key.clone(), digest))
    }

    fn new(context: &RequestContext, idempotency_key: String, digest: Sha256) -> Self {
        let now = context.received_at;
        let expires_at = now.checked_add(24.hours()).unwrap_or(Timestamp::MAX);
        let slot = ReceiptSlot { route: context.route, idempotency_key, now, expires_at };
        Self { slot, fingerprint: URL_SAFE_NO_PAD.encode(digest.finalize()) }
    }

    pub(super) fn receipt<O>(&self, reply: &Reply<O>) -> Receipt {
        Receipt {
            fingerprint: self.fingerprint.clone(),
            status: reply.status,
            headers: reply.headers.clone(),
            body: reply.body.clone(),
            sealed_body: None,
            candidate: None,
            pending: None,
        }
    }

    /// What the encryption of the receipt is bound to. Other credentials with the same scopes must not see its secret.
    pub(super) fn sealing_context(&self, tenant: Tenant, actor: &Actor) -> String {
        let (caller, id) = (actor.kind.as_str(), actor.id.map_or(0, Id::get));
        format!("receipt {tenant} {caller} {id} {} {}", self.slot.route, self.fingerprint)
    }

    /// The receipt of a request whose effect is unknown. Repetitions get a conflict until `until`, and `sentence` after
    /// that.
    pub(super) fn pending_receipt(&self, until: Timestamp, sentence: &str) -> Receipt {
        Receipt {
            fingerprint: self.fingerprint.clone(),
            status: 502,
            headers: Vec::new(),
            body: String::new(),
            sealed_body: None,
            candidate: None,
            pending: Some(Pending { until, sentence: sentence.to_owned() }),
        }
    }

    /// The stored reply, if the receipt belongs to the same request.
    pub(super) fn replay<O>(&self, mut receipt: Receipt) -> Result<Reply<O>, Error> {
        if self.fingerprint != receipt.fingerprint {
            return Err(Error::IdempotencyMismatch);
        }
        match receipt.pending.take() {
            Some(pending) if pending.until > self.slot.now => Err(CommitError::InFlight.into()),
            Some(Pending { sentence, .. }) => Err(Error::Upstream { sentence, retry_after: None }),
            None => Ok(Reply::replayed(receipt)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::model::{ActorKind, Mode};

    #[test]
    fn an_encrypted_receipt_can_be_read_only_for_the_same_request_of_the_same_caller() {
        let key = |route, fingerprint: &str| IdempotencyKey {
            slot: ReceiptSlot {
                route,
                idempotency_key: "k".to_owned(),
                now: Timestamp::UNIX_EPOCH,
                expires_at: Timestamp::UNIX_EPOCH,
            },
            fingerprint: fingerprint.to_owned(),
        };
        let tenant = |organization, mode| Tenant { organization: Id::new(organization).unwrap(), mode };
        let live = tenant(1, Mode::Live);
        let caller = |kind, id| Actor { kind, id: Id::new(id), name: "Caller".to_owned() };
        let one = caller(ActorKind::ApiKey, 7);
        let contexts = [
            key("POST /a", "f").sealing_context(live, &one),
            key("POST /b", "f").sealing_context(live, &one),
            key("POST /a", "g").sealing_context(live, &one),
            key("POST /a", "f").sealing_context(tenant(1, Mode::Test), &one),
            key("POST /a", "f").sealing_context(tenant(2, Mode::Live), &one),
            key("POST /a", "f").sealing_context(live, &caller(ActorKind::ApiKey, 8)),
            key("POST /a", "f").sealing_context(live, &caller(ActorKind::App, 7)),
        ];
        assert_eq!(BTreeSet::from_iter(&contexts).len(), contexts.len(), "{contexts:?}");
    }
}
