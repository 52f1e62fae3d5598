//! Who writes through a handle to the table, and from where.

use std::fmt;
use std::sync::OnceLock;

use crate::clock::Clock;
use crate::id::Ids;
use crate::model::AuditActor;

/// Who writes through a handle to the table, and from where.
pub struct AuditOrigin {
    actor: OnceLock<AuditActor>,
    pub(super) network: Option<String>,
    cause: Option<String>,
    pub(super) clock: Clock,
    pub(super) ids: Ids,
}

impl AuditOrigin {
    /// An origin whose actor is not known yet.
    pub const fn new(network: Option<String>, clock: Clock, ids: Ids) -> Self {
        Self { actor: OnceLock::new(), network, cause: None, clock, ids }
    }

    /// An origin with this actor, inside the service.
    pub fn inside(actor: AuditActor, clock: Clock, ids: Ids) -> Self {
        Self { actor: OnceLock::from(actor), network: None, cause: None, clock, ids }
    }

    /// Names the request that is the cause of what is written: this one, or the one that wrote the job's task.
    #[must_use]
    pub fn caused_by(self, request_id: Option<String>) -> Self {
        Self { cause: request_id, ..self }
    }

    /// The identifier of the request that is the cause of what is written.
    pub fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    /// The actor, once it is known.
    pub fn actor(&self) -> Option<AuditActor> {
        self.actor.get().copied()
    }

    /// Sets the actor, unless it is known already. Returns the actor if it was set.
    pub fn identify(&self, actor: AuditActor) -> Option<AuditActor> {
        self.actor.set(actor).is_ok().then_some(actor)
    }
}

impl fmt::Debug for AuditOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditOrigin").field("actor", &self.actor).finish_non_exhaustive()
    }
}
