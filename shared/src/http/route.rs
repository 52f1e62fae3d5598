//! Route tables. Each row has a route key, an access rule and a handler.

use std::pin::Pin;
use std::sync::Arc;

use super::api_request::AdmittedRequest;
use super::context::RequestContext;
use super::document::{Document, DocumentHandler};
use super::{
    ApiRequest, Error, Html, Input, MemberRequest, Output, PageRequest, Payload, PublicRequest, Reply,
    ReplyFormat,
};
use crate::model::{Audience, AuditAction, MemberRole, Scopes};

pub(super) type ReplyFuture = Pin<Box<dyn Future<Output = Result<Reply<()>, Error>> + Send>>;

/// Who may send a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A credential with all of these scopes.
    Scopes(Scopes),
    /// Any credential; the handler checks its scopes, which depend on the request.
    Credential,
    /// A signed-in member with this role or a higher one.
    Member(MemberRole),
    /// An external service that signs its requests.
    Signed,
    /// Anyone.
    Public,
}

/// What a page requires of a signed-in member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberAccess {
    /// The member has this role or a higher one.
    pub role: MemberRole,
    /// The member has given the password or a passkey in the last 15 minutes. Otherwise the member is asked for it, and is
    /// then redirected to this page, which has the form.
    pub fresh_sign_in_for: Option<&'static str>,
    /// The page is also for members who have yet to set up the second factor that their organization requires.
    pub before_second_factor: bool,
    /// The form may contain a file.
    pub takes_file: bool,
}

impl MemberAccess {
    /// A role, and a fresh sign-in before the form of the page `form` has an effect.
    pub const fn fresh(role: MemberRole, form: &'static str) -> Self {
        Self { role, fresh_sign_in_for: Some(form), before_second_factor: false, takes_file: false }
    }

    /// The same access, also for members who have yet to set up a second factor.
    #[must_use]
    pub const fn before_second_factor(self) -> Self {
        Self { before_second_factor: true, ..self }
    }

    /// The same access, with a form that may contain a file.
    #[must_use]
    pub const fn with_file(self) -> Self {
        Self { takes_file: true, ..self }
    }
}

impl From<MemberRole> for MemberAccess {
    fn from(role: MemberRole) -> Self {
        Self { role, fresh_sign_in_for: None, before_second_factor: false, takes_file: false }
    }
}

type HandlerFn<R> = Arc<dyn Fn(R) -> ReplyFuture + Send + Sync>;

/// A handler by the kind of request that it takes.
#[derive(Clone)]
pub(super) enum Handler {
    Api(Audience, Scopes, HandlerFn<Arc<AdmittedRequest>>),
    Document(ReplyFormat, DocumentHandler),
    Public(Access, ReplyFormat, HandlerFn<Arc<RequestContext>>),
    Page(HandlerFn<Arc<PageRequest>>),
    MemberPage(MemberAccess, HandlerFn<Arc<MemberRequest>>),
}

/// A route of a function.
#[derive(Clone)]
pub struct Route {
    /// The gateway's route key: `"GET /api/v1/roles/{id}"`, or `"$default"`.
    pub key: &'static str,
    pub(super) handler: Handler,
    /// Whether the reply is a page of a list, with a cursor.
    is_list: bool,
    /// How the audit log calls the read, if the reply has the data of people.
    pub reading: Option<AuditAction>,
}

/// A row of a route table.
///
/// A function reads the table as [`Route`]s, which answer requests. The OpenAPI generator reads the same table as
/// operations, which keep the schemas of the types. Pages have no such types, so they have a separate table.
pub trait Row: Sized {
    /// A route for credentials with this scope, or with all of these scopes.
    ///
    /// Any handler may run again for the same request if the data that it read changes before it commits.
    fn new<I, O, H, F>(key: &'static str, scopes: impl Into<Scopes>, handler: H) -> Self
    where
        I: Input + 'static,
        O: Output + 'static,
        H: Fn(ApiRequest<I>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static;

    /// A route for JSON-RPC messages with a credential for the MCP endpoint. The handler checks the scopes, because they
    /// depend on the message.
    fn rpc<P, O, H, F>(key: &'static str, handler: H) -> Self
    where
        P: Payload + 'static,
        O: Output + 'static,
        H: Fn(ApiRequest<P>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static;

    /// A route without an API credential.
    ///
    /// The handler first checks what `access` requires. OAuth routes authenticate their clients themselves.
    fn open<P, O, H, F>(key: &'static str, access: Access, format: ReplyFormat, handler: H) -> Self
    where
        P: Payload + 'static,
        O: Output + 'static,
        H: Fn(PublicRequest<P>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static;

    /// The same route, whose replies have the data of people. The audit log records each read by an application or a
    /// member as `action`. The reply to a list says how many items it shows.
    #[must_use]
    fn reading(self, action: AuditAction) -> Self;
}

impl From<Document> for Route {
    fn from(Document { key, format, handler }: Document) -> Self {
        Self::with_handler(key, Handler::Document(format, handler))
    }
}

impl Row for Route {
    fn new<I, O, H, F>(key: &'static str, scopes: impl Into<Scopes>, handler: H) -> Self
    where
        I: Input + 'static,
        O: Output + 'static,
        H: Fn(ApiRequest<I>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        let handler = erased(move |admitted| handler(ApiRequest::new(admitted)));
        Self {
            is_list: I::IS_LIST,
            ..Self::with_handler(key, Handler::Api(Audience::Api, scopes.into(), handler))
        }
    }

    fn rpc<P, O, H, F>(key: &'static str, handler: H) -> Self
    where
        P: Payload + 'static,
        O: Output + 'static,
        H: Fn(ApiRequest<P>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        let handler = erased(move |admitted| handler(ApiRequest::new(admitted)));
        Self {
            is_list: true,
            ..Self::with_handler(key, Handler::Api(Audience::Mcp, Scopes::default(), handler))
        }
    }

    fn open<P, O, H, F>(key: &'static str, access: Access, format: ReplyFormat, handler: H) -> Self
    where
        P: Payload + 'static,
        O: Output + 'static,
        H: Fn(PublicRequest<P>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        let handler = erased(move |context| handler(PublicRequest::new(context)));
        Self::with_handler(key, Handler::Public(access, format, handler))
    }

    fn reading(self, action: AuditAction) -> Self {
        Self { reading: Some(action), ..self }
    }
}

impl Route {
    /// Whether the route checks credentials, such as API keys and sessions.
    pub(crate) const fn checks_credentials(&self) -> bool {
        matches!(self.handler, Handler::Api(..) | Handler::Page(_) | Handler::MemberPage(..))
    }

    /// Whether the route signs values or verifies them, such as cursors, forms and callbacks.
    pub(crate) const fn signs(&self) -> bool {
        match self.handler {
            Handler::Api(..) => self.is_list,
            Handler::Public(..) | Handler::Page(_) | Handler::MemberPage(..) => true,
            Handler::Document(..) => false,
        }
    }

    const fn with_handler(key: &'static str, handler: Handler) -> Self {
        Self { key, handler, is_list: false, reading: None }
    }

    /// A public route with content negotiation: a page for a browser, JSON for a program.
    pub fn public<O, H, F>(key: &'static str, handler: H) -> Self
    where
        O: 'static,
        H: Fn(PublicRequest) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        let handler = erased(move |context| handler(PublicRequest::new(context)));
        Self::with_handler(key, Handler::Public(Access::Public, ReplyFormat::Negotiated, handler))
    }

    /// A public page without cookies, for candidates and search engines.
    pub fn public_page<H, F>(key: &'static str, handler: H) -> Self
    where
        H: Fn(PublicRequest) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<Html>, Error>> + Send + 'static,
    {
        let handler = erased(move |context| handler(PublicRequest::new(context)));
        Self::with_handler(key, Handler::Public(Access::Public, ReplyFormat::PublicPage, handler))
    }

    /// A page for any browser. A POST must come from a form that was issued to the same browser.
    pub fn page<H, F>(key: &'static str, handler: H) -> Self
    where
        H: Fn(Arc<PageRequest>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<Html>, Error>> + Send + 'static,
    {
        Self::with_handler(key, Handler::Page(erased(handler)))
    }

    /// A page for signed-in members with this access. A browser without a session is redirected to the sign-in page. A
    /// POST must come from a form that was issued to the same browser.
    pub fn member<H, F>(key: &'static str, access: impl Into<MemberAccess>, handler: H) -> Self
    where
        H: Fn(Arc<MemberRequest>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<Html>, Error>> + Send + 'static,
    {
        Self::with_handler(key, Handler::MemberPage(access.into(), erased(handler)))
    }

    /// Who may send requests to this route.
    pub const fn access(&self) -> Access {
        match self.handler {
            Handler::Api(Audience::Api, scopes, _) => Access::Scopes(scopes),
            Handler::Api(Audience::Mcp, ..) => Access::Credential,
            Handler::Public(access, ..) => access,
            Handler::Document(..) | Handler::Page(_) => Access::Public,
            Handler::MemberPage(access, _) => Access::Member(access.role),
        }
    }

    /// The page with the form of a change that needs a fresh sign-in; `None` for all other routes.
    pub const fn fresh_sign_in_for(&self) -> Option<&'static str> {
        match self.handler {
            Handler::MemberPage(access, _) => access.fresh_sign_in_for,
            _ => None,
        }
    }

    /// The format of this route's replies.
    pub const fn format(&self) -> ReplyFormat {
        match self.handler {
            Handler::Api(Audience::Api, ..) => ReplyFormat::Api,
            Handler::Api(Audience::Mcp, ..) => ReplyFormat::Rpc,
            Handler::Public(_, format, _) | Handler::Document(format, _) => format,
            Handler::Page(_) | Handler::MemberPage(..) => ReplyFormat::Page,
        }
    }
}

/// Erases the types of a handler, so that one table holds all of them.
fn erased<R, O, H, F>(handler: H) -> HandlerFn<R>
where
    R: 'static,
    O: 'static,
    H: Fn(R) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
{
    Arc::new(move |request| {
        let reply = handler(request);
        Box::pin(async move { reply.await.map(Reply::typed) })
    })
}
