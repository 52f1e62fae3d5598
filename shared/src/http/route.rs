//! The table of routes: one row says which request it answers, who may send it, and who answers.

use std::pin::Pin;
use std::sync::Arc;

use super::call::Exchange;
use super::{Call, Error, Input, Reply, Visit};
use crate::model::Scope;

pub(super) type Answer = Pin<Box<dyn Future<Output = Result<Reply<()>, Error>> + Send>>;

/// Who may send a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Whoever has a credential with this scope.
    Scope(Scope),
    /// Whoever signs it as an outside service does.
    Signed,
    /// Anybody.
    Public,
}

#[derive(Clone)]
pub(super) enum Handler {
    Scoped(Scope, Arc<dyn Fn(Arc<Exchange>) -> Answer + Send + Sync>),
    Open(Access, Arc<dyn Fn(Arc<Visit>) -> Answer + Send + Sync>),
}

/// A row of a function's table.
#[derive(Clone)]
pub struct Route {
    /// The gateway's route key: `"GET /api/v1/roles/{id}"`, or `"$default"`.
    pub key: &'static str,
    pub(super) handler: Handler,
}

impl Route {
    /// `handler` answers requests of this key that carry a credential with this scope. It may be called again for the
    /// same request when what it read has changed before it could write.
    pub fn new<I, O, H, F>(key: &'static str, scope: Scope, handler: H) -> Self
    where
        I: Input + 'static,
        O: 'static,
        H: Fn(Call<I>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        let handler = move |exchange: Arc<Exchange>| -> Answer {
            let answer = handler(Call::new(exchange));
            Box::pin(async move { answer.await.map(Reply::untyped) })
        };
        Self { key, handler: Handler::Scoped(scope, Arc::new(handler)) }
    }

    /// `handler` answers requests of this key from anybody. It, too, may be called again for the same request.
    pub fn public<O, H, F>(key: &'static str, handler: H) -> Self
    where
        O: 'static,
        H: Fn(Arc<Visit>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        Self::open(key, Access::Public, handler)
    }

    /// `handler` answers requests of this key once it has made sure, before anything else, who signed them. It, too,
    /// may be called again for the same request.
    pub fn signed<O, H, F>(key: &'static str, handler: H) -> Self
    where
        O: 'static,
        H: Fn(Arc<Visit>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        Self::open(key, Access::Signed, handler)
    }

    fn open<O, H, F>(key: &'static str, access: Access, handler: H) -> Self
    where
        O: 'static,
        H: Fn(Arc<Visit>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        let handler = move |visit: Arc<Visit>| -> Answer {
            let answer = handler(visit);
            Box::pin(async move { answer.await.map(Reply::untyped) })
        };
        Self { key, handler: Handler::Open(access, Arc::new(handler)) }
    }

    /// Who may send it.
    pub const fn access(&self) -> Access {
        match self.handler {
            Handler::Scoped(scope, _) => Access::Scope(scope),
            Handler::Open(access, _) => access,
        }
    }
}
