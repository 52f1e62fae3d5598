//! The dashboard: where the members of an organization sign in, see how hiring goes, and set up keys, applications, channels
//! and each other. Pages from the server; nothing here needs a script.
//!
//! | Method | Path | What |
//! |---|---|---|
//! | GET | `/dashboard` | plan, usage and what is new |
//! | GET | `/dashboard/style.css` | the stylesheet of all pages |
//! | GET | `/dashboard/icon.svg` | the icon of all pages |
//! | GET | `/dashboard/sign-in` | the form to sign in with |
//! | POST | `/dashboard/sign-in` | sign in |
//! | POST | `/dashboard/sign-out` | end this session |
//! | POST | `/dashboard/sign-out-everywhere` | end every session of the member |
//! | GET | `/dashboard/password` | where a single-use link leads |
//! | POST | `/dashboard/password` | accept an invitation, or set a new password |
//! | POST | `/dashboard/mode` | look at live or at test data |
//! | GET | `/dashboard/roles` | roles |
//! | GET | `/dashboard/roles/{id}` | a role and its pipeline |
//! | GET | `/dashboard/postings` | job postings |
//! | GET | `/dashboard/candidates` | candidates |
//! | GET | `/dashboard/candidates/{id}` | a candidate with all that has happened |
//! | GET | `/dashboard/settings/integrations/api-keys` | API keys |
//! | POST | `/dashboard/settings/integrations/api-keys` | create one, and show it once |
//! | POST | `/dashboard/settings/integrations/api-keys/{id}/revoke` | refuse it from now on |
//! | GET | `/dashboard/settings/integrations/connected-apps` | applications that were given access |
//! | POST | `/dashboard/settings/integrations/connected-apps/{id}/revoke` | take it back |
//! | GET | `/dashboard/settings/integrations/channels` | X, WhatsApp and the voice provider |
//! | POST | `/dashboard/settings/integrations/channels/x/connect` | go to X to connect an account |
//! | GET | `/dashboard/settings/integrations/channels/x/callback` | come back from there |
//! | POST | `/dashboard/settings/integrations/channels/x/disconnect` | forget the account |
//! | POST | `/dashboard/settings/integrations/channels/whatsapp/connect` | connect a number |
//! | POST | `/dashboard/settings/integrations/channels/whatsapp/disconnect` | forget it |
//! | GET | `/dashboard/settings/career-page` | how the career page looks |
//! | POST | `/dashboard/settings/career-page` | change it |
//! | GET | `/dashboard/settings/members` | the organization's people |
//! | POST | `/dashboard/settings/members` | invite somebody |
//! | POST | `/dashboard/settings/members/{id}/link` | a link to a new password |
//! | POST | `/dashboard/settings/members/{id}/role` | owner or member |
//! | POST | `/dashboard/settings/members/{id}/remove` | no longer a member |
//! | GET | `/dashboard/settings/account` | one's own account |
//! | POST | `/dashboard/settings/account/password` | change one's password |

mod account;
mod api_keys;
mod career_page;
mod channels;
mod connected_apps;
mod frame;
mod hiring;
mod members;
mod overview;
mod pages;
mod sign_in;

use std::future::{Ready, ready};
use std::sync::Arc;

use shared::http::{Error, Page, Reply, Route, Visit, page};
use shared::model::MemberRole::{Member, Owner};

/// What a member's browser asks for.
pub fn pages() -> Vec<Route> {
    vec![
        Route::member("GET /dashboard", Member, overview::show),
        Route::public("GET /dashboard/style.css", style),
        Route::public("GET /dashboard/icon.svg", icon),
        Route::page("GET /dashboard/sign-in", sign_in::form),
        Route::page("POST /dashboard/sign-in", sign_in::sign_in),
        Route::page("POST /dashboard/sign-out", sign_in::sign_out),
        Route::member("POST /dashboard/sign-out-everywhere", Member, account::sign_out_everywhere),
        Route::page("GET /dashboard/password", sign_in::password_form),
        Route::page("POST /dashboard/password", sign_in::set_password),
        Route::member("POST /dashboard/mode", Member, account::switch_mode),
        Route::member("GET /dashboard/roles", Member, hiring::roles),
        Route::member("GET /dashboard/roles/{id}", Member, hiring::role),
        Route::member("GET /dashboard/postings", Member, hiring::postings),
        Route::member("GET /dashboard/candidates", Member, hiring::candidates),
        Route::member("GET /dashboard/candidates/{id}", Member, hiring::candidate),
        Route::member("GET /dashboard/settings/integrations/api-keys", Member, api_keys::list),
        Route::member("POST /dashboard/settings/integrations/api-keys", Member, api_keys::create),
        Route::member("POST /dashboard/settings/integrations/api-keys/{id}/revoke", Member, api_keys::revoke),
        Route::member("GET /dashboard/settings/integrations/connected-apps", Member, connected_apps::list),
        Route::member(
            "POST /dashboard/settings/integrations/connected-apps/{id}/revoke",
            Member,
            connected_apps::revoke,
        ),
        Route::member("GET /dashboard/settings/integrations/channels", Member, channels::show),
        Route::member(
            "POST /dashboard/settings/integrations/channels/x/connect",
            Member,
            channels::connect_x,
        ),
        Route::member(
            "GET /dashboard/settings/integrations/channels/x/callback",
            Member,
            channels::return_from_x,
        ),
        Route::member(
            "POST /dashboard/settings/integrations/channels/x/disconnect",
            Member,
            channels::disconnect_x,
        ),
        Route::member(
            "POST /dashboard/settings/integrations/channels/whatsapp/connect",
            Member,
            channels::connect_whatsapp,
        ),
        Route::member(
            "POST /dashboard/settings/integrations/channels/whatsapp/disconnect",
            Member,
            channels::disconnect_whatsapp,
        ),
        Route::member("GET /dashboard/settings/career-page", Member, career_page::show),
        Route::member("POST /dashboard/settings/career-page", Member, career_page::change),
        Route::member("GET /dashboard/settings/members", Member, members::list),
        Route::member("POST /dashboard/settings/members", Owner, members::invite),
        Route::member("POST /dashboard/settings/members/{id}/link", Owner, members::make_link),
        Route::member("POST /dashboard/settings/members/{id}/role", Owner, members::change_role),
        Route::member("POST /dashboard/settings/members/{id}/remove", Owner, members::remove),
        Route::member("GET /dashboard/settings/account", Member, account::show),
        Route::member("POST /dashboard/settings/account/password", Member, account::change_password),
    ]
}

fn style(_: Arc<Visit>) -> Ready<Result<Reply<Page>, Error>> {
    ready(Ok(Reply::file("text/css; charset=utf-8", page::STYLE)))
}

fn icon(_: Arc<Visit>) -> Ready<Result<Reply<Page>, Error>> {
    // Its address does not change with its content.
    let icon = Reply::file("image/svg+xml", page::ICON);
    ready(Ok(icon.with("cache-control", "public, max-age=86400".to_owned())))
}
