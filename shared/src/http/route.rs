//! A function's two tables, of routes and of pages: one row says which request it answers, who may send it, and who answers.

use std::pin::Pin;
use std::sync::Arc;

use super::browser::{Browser, Desk};
use super::call::Exchange;
use super::document::DocumentHandler;
use super::reply::Page;
use super::{Call, Error, Input, Output, Payload, Reply, Sent, Visit};
use crate::model::{MemberRole, Scope};

pub(super) type Answer = Pin<Box<dyn Future<Output = Result<Reply<()>, Error>> + Send>>;

/// Who may send a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Whoever has a credential with this scope.
    Scope(Scope),
    /// Whoever is signed in, in this role or a higher one.
    Member(MemberRole),
    /// Whoever signs it as an outside service does.
    Signed,
    /// Anybody.
    Public,
}

/// In what form a route answers, its errors included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON, as the API's contract has it.
    Api,
    /// JSON, as OAuth has it (RFC 6749, section 5.2), for scripts of any origin.
    OAuth,
    /// Documents for programs and search engines; errors as the API's.
    Document,
    /// Pages for a browser.
    Page,
    /// Pages that anybody may read, and that caches between us and them may hold.
    Site,
    /// Pages for whoever asks for `text/html`, otherwise as the API.
    Either,
}

/// Who answers.
type By<R> = Arc<dyn Fn(Arc<R>) -> Answer + Send + Sync>;

#[derive(Clone)]
pub(super) enum Handler {
    Scoped(Scope, By<Exchange>),
    Document(Form, DocumentHandler),
    Open(Access, Form, By<Visit>),
    Browsed(By<Browser>),
    AtDesk(MemberRole, By<Desk>),
}

/// A row of a function's tables, as the function has it.
#[derive(Clone)]
pub struct Route {
    /// The gateway's route key: `"GET /api/v1/roles/{id}"`, or `"$default"`.
    pub key: &'static str,
    pub(super) handler: Handler,
}

/// A row of a route table, as its reader wants it: a [`Route`] answers requests; who describes the API keeps what the types
/// tell. Pages have no such types, and a table of their own.
pub trait Row: Sized {
    /// `handler` answers requests of this key that carry a credential with this scope. It may be called again for the
    /// same request when what it read has changed before it could write; so may every other.
    fn new<I, O, H, F>(key: &'static str, scope: Scope, handler: H) -> Self
    where
        I: Input + 'static,
        O: Output + 'static,
        H: Fn(Call<I>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static;

    /// `handler` answers requests of this key that carry no credential of the API. Before anything else it makes sure of
    /// what `access` asks for; how OAuth clients prove who they are is OAuth's business.
    fn open<P, O, H, F>(key: &'static str, access: Access, form: Form, handler: H) -> Self
    where
        P: Payload + 'static,
        O: Output + 'static,
        H: Fn(Sent<P>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static;
}

impl Row for Route {
    fn new<I, O, H, F>(key: &'static str, scope: Scope, handler: H) -> Self
    where
        I: Input + 'static,
        O: Output + 'static,
        H: Fn(Call<I>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        let handler = by(move |exchange| handler(Call::new(exchange)));
        Self { key, handler: Handler::Scoped(scope, handler) }
    }

    fn open<P, O, H, F>(key: &'static str, access: Access, form: Form, handler: H) -> Self
    where
        P: Payload + 'static,
        O: Output + 'static,
        H: Fn(Sent<P>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        let handler = by(move |visit| handler(Sent::new(visit)));
        Self { key, handler: Handler::Open(access, form, handler) }
    }
}

impl Route {
    /// `handler` answers requests of this key from anybody, a person or a program.
    pub fn public<O, H, F>(key: &'static str, handler: H) -> Self
    where
        O: 'static,
        H: Fn(Arc<Visit>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        Self { key, handler: Handler::Open(Access::Public, Form::Either, by(handler)) }
    }

    /// `handler` answers anybody, candidates and search engines, and knows nobody again: there are no cookies.
    pub fn site<H, F>(key: &'static str, handler: H) -> Self
    where
        H: Fn(Arc<Visit>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<Page>, Error>> + Send + 'static,
    {
        Self { key, handler: Handler::Open(Access::Public, Form::Site, by(handler)) }
    }

    /// `handler` answers anybody's browser. A POST comes from a form that the same browser was given.
    pub fn page<H, F>(key: &'static str, handler: H) -> Self
    where
        H: Fn(Arc<Browser>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<Page>, Error>> + Send + 'static,
    {
        Self { key, handler: Handler::Browsed(by(handler)) }
    }

    /// `handler` answers the browser of a signed-in member in this role or a higher one; others are sent to sign in. A
    /// POST comes from a form that the same browser was given.
    pub fn member<H, F>(key: &'static str, role: MemberRole, handler: H) -> Self
    where
        H: Fn(Arc<Desk>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<Page>, Error>> + Send + 'static,
    {
        Self { key, handler: Handler::AtDesk(role, by(handler)) }
    }

    /// Who may send it.
    pub const fn access(&self) -> Access {
        match self.handler {
            Handler::Scoped(scope, _) => Access::Scope(scope),
            Handler::Open(access, ..) => access,
            Handler::Document(..) | Handler::Browsed(_) => Access::Public,
            Handler::AtDesk(role, _) => Access::Member(role),
        }
    }

    /// In what form it answers.
    pub const fn form(&self) -> Form {
        match self.handler {
            Handler::Scoped(..) => Form::Api,
            Handler::Open(_, form, _) | Handler::Document(form, _) => form,
            Handler::Browsed(_) | Handler::AtDesk(..) => Form::Page,
        }
    }
}

fn by<R, O, H, F>(handler: H) -> By<R>
where
    R: 'static,
    O: 'static,
    H: Fn(Arc<R>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
{
    Arc::new(move |request| {
        let answer = handler(request);
        Box::pin(async move { answer.await.map(Reply::untyped) })
    })
}
