//! HTTP: from the gateway's event to domain values, and from domain values to the response.
//!
//! Nothing here depends on a resource, except `error`, which converts the errors of the model, the services and the
//! store. `shared/README.md` follows a request step by step.

mod answering;
mod api_request;
mod app;
mod commits;
mod confirmation;
mod context;
pub mod cursor;
mod delivery;
mod dispatch;
mod document;
mod envelope;
mod environment;
mod error;
mod expected_page;
pub mod facts;
mod fields;
mod form_token;
mod gateway_event;
mod handler_call;
mod headers;
mod idempotency;
mod input;
mod kept_form;
mod known_holders;
mod known_sites;
mod member_request;
mod multipart;
mod on_behalf;
pub mod page;
mod page_request;
mod parameters;
mod public_request;
mod question;
mod reply;
mod return_path;
mod route;
mod route_table;
mod rpc;
mod sign_in_pages;
mod visible;

pub use crate::input;
pub use api_request::{ApiRequest, Asked, Listing, Since};
pub use app::App;
pub use context::RequestContext;
pub use dispatch::MemberAccess;
pub use document::{Document, DocumentApp, DocumentRequest, DocumentRow};
pub use envelope::xray_trace_id;
pub use environment::Environment;
pub use error::{Error, ErrorBody, Existing, OAuthError};
pub use expected_page::ExpectedPage;
pub use fields::{Change, Fields, Input, field_name, read_body, read_form, read_query};
pub use gateway_event::with_valid_address;
pub use handler_call::{HandlerCall, SentInput};
pub use headers::FORM;
use kept_form::SentForm;
pub use known_holders::KnownHolders;
pub use known_sites::KnownSites;
pub use member_request::MemberRequest;
pub use multipart::{SentFile, SubmittedForm};
pub use on_behalf::OnBehalf;
pub use page_request::PageRequest;
pub use parameters::Parameters;
pub use public_request::{Payload, PublicRequest};
pub use question::{AcceptedQuestion, Assistant, QUESTION_LIFE, Question, Unconfirmed};
pub use reply::{
    Accepted, Added, Collection, Created, CreatedTogether, Feed, Html, Output, Reply, ReplyFormat,
    Unversioned, entity_tag,
};
pub use return_path::return_to;
pub use route::{Access, Route, Row};
pub use rpc::MAX_BATCH;
pub use sign_in_pages::{ConfirmPage, SignInPage};
pub use visible::{Personal, Resource, Visible};
