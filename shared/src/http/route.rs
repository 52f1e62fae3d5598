//! Route tables. Each row has a route key, an access rule and a handler.

use std::sync::Arc;

use super::api_request::AdmittedRequest;
use super::context::RequestContext;
use super::dispatch::{Dispatch, HandlerFn, MemberAccess, ReplyFuture};
use super::document::Document;
use super::fields::MAX_BODY;
use super::{
    ApiRequest, Error, Html, Input, MemberRequest, Output, PageRequest, Payload, PublicRequest, Reply,
    ReplyFormat,
};
use crate::model::{AuditAction, MemberRole, Resource, Scopes};

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

/// Answers a request with the handler of its route.
type Answer = Arc<dyn Fn(Dispatch<'_>) -> ReplyFuture<'_> + Send + Sync>;

/// The kinds of routes.
#[derive(Clone, Copy)]
enum Kind {
    Api(Resource, Scopes),
    Document(ReplyFormat),
    Public(Access, ReplyFormat),
    Page,
    MemberPage(MemberAccess),
}

/// A route of a function.
#[derive(Clone)]
pub struct Route {
    /// The gateway's route key: `"GET /api/v1/roles/{id}"`, or `"$default"`.
    pub key: &'static str,
    kind: Kind,
    /// Each kind of route has its own code before the handler. The linker leaves out the code of the kinds that a
    /// function does not have.
    pub(super) answer: Answer,
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
        Self::of_kind(key, Kind::Document(format), move |dispatch| {
            Box::pin(std::future::ready(dispatch.document(&handler)))
        })
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
        Self { is_list: I::IS_LIST, ..Self::api(key, Resource::Api, scopes.into(), I::MAX_BODY, handler) }
    }

    fn rpc<P, O, H, F>(key: &'static str, handler: H) -> Self
    where
        P: Payload + 'static,
        O: Output + 'static,
        H: Fn(ApiRequest<P>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        let handler = erased(move |admitted| handler(ApiRequest::new(admitted)));
        Self { is_list: true, ..Self::api(key, Resource::Mcp, Scopes::default(), MAX_BODY, handler) }
    }

    fn open<P, O, H, F>(key: &'static str, access: Access, format: ReplyFormat, handler: H) -> Self
    where
        P: Payload + 'static,
        O: Output + 'static,
        H: Fn(PublicRequest<P>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        Self::open_to(key, access, format, erased(move |context| handler(PublicRequest::new(context))))
    }

    fn reading(self, action: AuditAction) -> Self {
        Self { reading: Some(action), ..self }
    }
}

impl Route {
    /// Whether the route checks credentials, such as API keys and sessions.
    pub(crate) const fn checks_credentials(&self) -> bool {
        matches!(self.kind, Kind::Api(..) | Kind::Page | Kind::MemberPage(..))
    }

    /// Whether the route signs values or verifies them, such as cursors, forms and callbacks.
    pub(crate) const fn signs(&self) -> bool {
        match self.kind {
            Kind::Api(..) => self.is_list,
            Kind::Public(..) | Kind::Page | Kind::MemberPage(..) => true,
            Kind::Document(_) => false,
        }
    }

    fn of_kind<A>(key: &'static str, kind: Kind, answer: A) -> Self
    where
        A: Fn(Dispatch<'_>) -> ReplyFuture<'_> + Send + Sync + 'static,
    {
        Self { key, kind, answer: Arc::new(answer), is_list: false, reading: None }
    }

    fn api(
        key: &'static str,
        resource: Resource,
        scopes: Scopes,
        max_body: usize,
        handler: HandlerFn<Arc<AdmittedRequest>>,
    ) -> Self {
        Self::of_kind(key, Kind::Api(resource, scopes), move |dispatch| {
            Box::pin(dispatch.api(resource, scopes, max_body, handler.clone()))
        })
    }

    fn open_to(
        key: &'static str,
        access: Access,
        format: ReplyFormat,
        handler: HandlerFn<Arc<RequestContext>>,
    ) -> Self {
        Self::of_kind(key, Kind::Public(access, format), move |dispatch| {
            Box::pin(dispatch.public(handler.clone()))
        })
    }

    /// A public route with content negotiation: a page for a browser, JSON for a program.
    pub fn public<O, H, F>(key: &'static str, handler: H) -> Self
    where
        O: 'static,
        H: Fn(PublicRequest) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<O>, Error>> + Send + 'static,
    {
        let handler = erased(move |context| handler(PublicRequest::new(context)));
        Self::open_to(key, Access::Public, ReplyFormat::Negotiated, handler)
    }

    /// A public page without cookies, for candidates and search engines.
    pub fn public_page<H, F>(key: &'static str, handler: H) -> Self
    where
        H: Fn(PublicRequest) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<Html>, Error>> + Send + 'static,
    {
        let handler = erased(move |context| handler(PublicRequest::new(context)));
        Self::open_to(key, Access::Public, ReplyFormat::PublicPage, handler)
    }

    /// A page for any browser. A POST must come from a form that was issued to the same browser.
    pub fn page<H, F>(key: &'static str, handler: H) -> Self
    where
        H: Fn(Arc<PageRequest>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<Html>, Error>> + Send + 'static,
    {
        let handler = erased(handler);
        Self::of_kind(key, Kind::Page, move |dispatch| Box::pin(dispatch.page(handler.clone())))
    }

    /// A page for signed-in members with this access. A browser without a session is redirected to the sign-in page. A
    /// POST must come from a form that was issued to the same browser.
    pub fn member<H, F>(key: &'static str, access: impl Into<MemberAccess>, handler: H) -> Self
    where
        H: Fn(Arc<MemberRequest>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply<Html>, Error>> + Send + 'static,
    {
        let (access, handler) = (access.into(), erased(handler));
        Self::of_kind(key, Kind::MemberPage(access), move |dispatch| {
            Box::pin(dispatch.member_page(access, handler.clone()))
        })
    }

    /// Who may send requests to this route.
    pub const fn access(&self) -> Access {
        match self.kind {
            Kind::Api(Resource::Api, scopes) => Access::Scopes(scopes),
            Kind::Api(Resource::Mcp, _) => Access::Credential,
            Kind::Public(access, _) => access,
            Kind::Document(_) | Kind::Page => Access::Public,
            Kind::MemberPage(access) => Access::Member(access.role),
        }
    }

    /// The page with the form of a change that needs a fresh sign-in; `None` for all other routes.
    pub const fn fresh_sign_in_for(&self) -> Option<&'static str> {
        match self.kind {
            Kind::MemberPage(access) => access.fresh_sign_in_for,
            _ => None,
        }
    }

    /// The format of this route's replies.
    pub const fn format(&self) -> ReplyFormat {
        match self.kind {
            Kind::Api(Resource::Api, _) => ReplyFormat::Api,
            Kind::Api(Resource::Mcp, _) => ReplyFormat::Rpc,
            Kind::Public(_, format) | Kind::Document(format) => format,
            Kind::Page | Kind::MemberPage(..) => ReplyFormat::Page,
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
