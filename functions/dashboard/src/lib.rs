//! The dashboard, where the members of an organization sign in, do their hiring, and manage API keys, connected apps,
//! channels and members. The server renders every page. No page needs a script.
//!
//! The dashboard consists of four functions, because Lambda limits the number of routes of a function and because each
//! gets only the permissions and secrets that its pages need. They are four binaries of this package, which share the
//! layout, the forms and the lists. The linker removes the other functions' pages from a binary.

mod account;
mod answers;
mod api_keys;
mod application_limits;
mod attempts;
mod audit_log;
mod bulk;
mod bulk_progress;

mod candidate_csv;
mod candidate_forms;
mod candidate_list;
mod candidate_search;
mod candidates;
mod career_page;
mod channels;
mod chart;
mod closing;
mod confirm;
mod confirmation_rule;
mod confirmations;
mod connected_app;
mod connected_apps;
mod consents;
mod dates;
mod decision;
mod export_forms;
mod export_words;
mod exports;
mod files;
mod form;
mod form_page;
mod history;
mod holdings;
mod import_columns;
mod import_example;
mod import_files;
mod import_forms;
mod import_words;
mod imports;
mod layout;
mod links;
mod lists;
mod members;
mod messages;
mod moves;
mod notes;
mod notices;
mod organization;
mod overview;
mod personal_data;
mod posting_questions;
mod postings;
mod preview;
mod privacy;
mod rejection_reasons;
mod retention;
mod role_closing;
mod role_forms;
mod roles;
mod saved_views;
mod screens;
mod second_factor;
mod sign_in;
mod sources;
mod submissions;
mod suspects;
mod tag_line;
mod told;
mod undo;
mod webhook_endpoint;
mod webhooks;
mod x_posts;

use std::future::{Ready, ready};

use shared::http::{Error, Html, MemberAccess, PublicRequest, Reply, Route, Row, page};
use shared::model::AuditAction::{
    CandidateExported, CandidateRead, CandidatesListed, FileRead, VoiceScreenRead,
};
use shared::model::MemberRole::{Member, Owner};

/// The overview, and the pages of roles and postings, in `dashboard_roles`.
pub fn roles() -> Vec<Route> {
    vec![
        Route::member("GET /dashboard", Member, overview::show),
        Route::public("GET /dashboard/style.css", style),
        Route::public("GET /dashboard/icon.svg", icon),
        Route::member("GET /dashboard/roles", Member, roles::list),
        Route::member("GET /dashboard/roles/{id}", Member, roles::show).reading(CandidatesListed),
        Route::member("GET /dashboard/postings", Member, postings::list),
        Route::public("GET /dashboard/script.js", script),
        Route::member("GET /dashboard/quick-post", Member, role_forms::quick_post),
        Route::member("POST /dashboard/quick-post", Member, role_forms::post),
        Route::member("GET /dashboard/roles/{id}/edit", Member, role_forms::edit_role),
        Route::member("POST /dashboard/roles/{id}/edit", Member, role_forms::save_role),
        Route::member("GET /dashboard/roles/{id}/preview", Member, preview::show),
        Route::member("GET /dashboard/roles/{id}/close", Member, role_closing::ask),
        Route::member("POST /dashboard/roles/{id}/status", Member, roles::change_status),
        Route::member("GET /dashboard/roles/{id}/posting", Member, role_forms::edit_posting),
        Route::member("POST /dashboard/roles/{id}/posting", Member, role_forms::save_posting),
        Route::member("GET /dashboard/roles/{id}/questions", Member, posting_questions::edit),
        Route::member("POST /dashboard/roles/{id}/questions", Member, posting_questions::save),
        Route::member("POST /dashboard/postings/{id}/status", Member, roles::change_posting_status),
        Route::member("GET /dashboard/postings/{id}/x", Member, x_posts::show),
        Route::member("POST /dashboard/postings/{id}/x", Member, x_posts::post),
    ]
}

/// The pages of candidates and voice screens, and of what assistants want to do, in `dashboard_candidates`.
pub fn candidates() -> Vec<Route> {
    vec![
        Route::member("GET /dashboard/candidates", Member, candidates::list).reading(CandidatesListed),
        Route::member("GET /dashboard/candidates/csv", Member, candidate_csv::download)
            .reading(CandidatesListed),
        Route::member("POST /dashboard/candidates/views", Member, saved_views::save),
        Route::member("GET /dashboard/candidates/suspects", Member, suspects::list).reading(CandidatesListed),
        Route::member("POST /dashboard/candidates/suspects", Member, suspects::act),
        Route::member("GET /dashboard/candidates/{id}", Member, candidates::show).reading(CandidateRead),
        Route::member("POST /dashboard/roles/{id}/move", Member, moves::move_on_board),
        Route::member("GET /dashboard/roles/{id}/answers", Member, answers::show).reading(CandidatesListed),
        Route::member("GET /dashboard/candidates/bulk", Member, bulk::review).reading(CandidatesListed),
        Route::member("POST /dashboard/candidates/bulk", Member, bulk::carry_out),
        Route::member("POST /dashboard/candidates/bulk/undo", Member, bulk::undo),
        Route::member("POST /dashboard/candidates/bulk/stop", Member, bulk::stop),
        Route::member("GET /dashboard/candidates/new", Member, candidate_forms::new),
        Route::member(
            "POST /dashboard/candidates/new",
            MemberAccess::from(Member).with_file(),
            candidate_forms::create,
        ),
        Route::member("GET /dashboard/candidates/{id}/edit", Member, candidate_forms::edit)
            .reading(CandidateRead),
        Route::member(
            "POST /dashboard/candidates/{id}/edit",
            MemberAccess::from(Member).with_file(),
            candidate_forms::save,
        ),
        Route::member(
            "GET /dashboard/candidates/{id}/applications",
            Member,
            candidate_forms::new_application,
        ),
        Route::member("POST /dashboard/candidates/{id}/applications", Member, candidate_forms::apply),
        Route::member("POST /dashboard/candidates/{id}/notes", Member, candidate_forms::add_note),
        Route::member(
            "POST /dashboard/candidates/{id}/notes/{note_id}/edit",
            Member,
            candidate_forms::edit_note,
        ),
        Route::member(
            "POST /dashboard/candidates/{id}/notes/{note_id}/delete",
            Member,
            candidate_forms::delete_note,
        ),
        Route::member("GET /dashboard/candidates/{id}/files", Member, files::new),
        Route::member(
            "POST /dashboard/candidates/{id}/files",
            MemberAccess::from(Member).with_file(),
            files::create,
        ),
        Route::member("GET /dashboard/candidates/{id}/files/{file_id}", Member, files::open)
            .reading(FileRead),
        Route::member("GET /dashboard/candidates/{id}/files/{file_id}/delete", Member, files::ask_to_delete),
        Route::member("POST /dashboard/candidates/{id}/files/{file_id}/delete", Member, files::delete),
        Route::member("GET /dashboard/candidates/{id}/consents", Member, consents::ask),
        Route::member("POST /dashboard/candidates/{id}/consents", Member, consents::record),
        Route::member("POST /dashboard/candidates/{id}/offer", Member, submissions::decide),
        Route::member("GET /dashboard/candidates/{id}/move", Member, moves::ask),
        Route::member("POST /dashboard/candidates/{id}/move", Member, moves::make),
        Route::member("GET /dashboard/candidates/{id}/invite", Member, screens::ask),
        Route::member("POST /dashboard/candidates/{id}/invite", Member, screens::invite),
        Route::member("GET /dashboard/screens/{id}", Member, screens::show).reading(VoiceScreenRead),
        Route::member("POST /dashboard/screens/{id}/cancel", Member, screens::cancel),
        Route::member("POST /dashboard/screens/{id}/review", Member, screens::review),
        Route::member("GET /dashboard/confirmations/{call}", Member, confirmations::show),
        Route::member("POST /dashboard/confirmations/{call}", Member, confirmations::decide),
    ]
    .into_iter()
    .chain(personal_data())
    .chain(imports())
    .chain(exports())
    .collect()
}

/// What owners import, for [`candidates`]. An undo erases people, so it asks for the password, like an erasure.
fn imports() -> [Route; 14] {
    let undo = MemberAccess::fresh(Owner, "/dashboard/imports/{id}/undo");
    [
        Route::member("GET /dashboard/imports", Owner, imports::list),
        Route::member("GET /dashboard/imports/new", Owner, import_forms::new),
        Route::member("POST /dashboard/imports/new", Owner, import_forms::create),
        Route::member("GET /dashboard/imports/example", Owner, import_example::download),
        Route::member("GET /dashboard/imports/{id}", Owner, imports::show).reading(CandidatesListed),
        Route::member("GET /dashboard/imports/{id}/uploaded", Owner, imports::complete),
        Route::member("GET /dashboard/imports/{id}/rows", Owner, imports::verdicts),
        Route::member("GET /dashboard/imports/{id}/files", Owner, import_files::list),
        Route::member("POST /dashboard/imports/{id}/files", Owner, imports::add_files),
        Route::member("POST /dashboard/imports/{id}/files/{number}/assign", Owner, import_files::assign),
        Route::member("POST /dashboard/imports/{id}/run", Owner, imports::run),
        Route::member("POST /dashboard/imports/{id}/cancel", Owner, imports::cancel),
        Route::member("GET /dashboard/imports/{id}/undo", undo, imports::ask_to_undo),
        Route::member("POST /dashboard/imports/{id}/undo", undo, imports::undo),
    ]
}

/// What owners export, for [`candidates`]. An export has everything about everybody, so it asks for the password before the form
/// and before the links to the files.
fn exports() -> [Route; 4] {
    let new = MemberAccess::fresh(Owner, export_forms::NEW);
    [
        Route::member("GET /dashboard/exports", Owner, exports::list),
        Route::member("GET /dashboard/exports/new", new, export_forms::new),
        Route::member("POST /dashboard/exports/new", new, export_forms::create),
        Route::member(
            "GET /dashboard/exports/{id}",
            MemberAccess::fresh(Owner, "/dashboard/exports/{id}"),
            exports::show,
        ),
    ]
}

/// What owners do with a person's data, for [`candidates`]. They are asked for the password before a form, so that nobody
/// types a reason in vain.
fn personal_data() -> [Route; 5] {
    let erase = MemberAccess::fresh(Owner, "/dashboard/candidates/{id}/erase");
    let hold = MemberAccess::fresh(Owner, "/dashboard/candidates/{id}/legal-hold");
    let export = MemberAccess::fresh(Owner, "/dashboard/candidates/{id}");
    [
        Route::member("POST /dashboard/candidates/{id}/export", export, personal_data::download)
            .reading(CandidateExported),
        Route::member("GET /dashboard/candidates/{id}/erase", erase, personal_data::ask_to_erase),
        Route::member("POST /dashboard/candidates/{id}/erase", erase, personal_data::erase),
        Route::member("GET /dashboard/candidates/{id}/legal-hold", hold, personal_data::ask_to_hold),
        Route::member("POST /dashboard/candidates/{id}/legal-hold", hold, personal_data::hold),
    ]
}

/// The organization's settings, in `dashboard_settings`.
pub fn settings() -> Vec<Route> {
    let with_file = MemberAccess::from(Member).with_file();
    let settings = [
        Route::member("GET /dashboard/settings/integrations/api-keys", Member, api_keys::list),
        Route::member(
            "POST /dashboard/settings/integrations/api-keys",
            MemberAccess::fresh(Member, api_keys::PATH),
            api_keys::create,
        ),
        Route::member(
            "POST /dashboard/settings/integrations/api-keys/{id}/rotate",
            MemberAccess::fresh(Member, api_keys::PATH),
            api_keys::rotate,
        ),
        Route::member(
            "POST /dashboard/settings/integrations/api-keys/{id}/revoke",
            MemberAccess::fresh(Member, api_keys::PATH),
            api_keys::revoke,
        ),
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
        Route::member(
            "POST /dashboard/settings/integrations/channels/voice",
            MemberAccess::fresh(Owner, channels::PATH),
            channels::change_countries,
        ),
        Route::member("GET /dashboard/settings/career-page", Member, career_page::show),
        Route::member("POST /dashboard/settings/career-page", Member, career_page::change),
        Route::member("POST /dashboard/settings/career-page/logo", with_file, career_page::change_logo),
        Route::member("GET /dashboard/settings/privacy", Member, privacy::show),
        Route::member("POST /dashboard/settings/privacy", Owner, privacy::change),
        Route::member("GET /dashboard/settings/retention", Member, retention::show).reading(CandidatesListed),
        Route::member(
            "POST /dashboard/settings/retention",
            MemberAccess::fresh(Owner, retention::PATH),
            retention::change,
        ),
        Route::member("GET /dashboard/settings/audit-log", Owner, audit_log::show),
        Route::member("GET /dashboard/settings/members", Member, members::list),
        Route::member(
            "POST /dashboard/settings/members",
            MemberAccess::fresh(Owner, members::PATH),
            members::invite,
        ),
        Route::member(
            "POST /dashboard/settings/members/{id}/link",
            MemberAccess::fresh(Owner, members::PATH),
            members::make_link,
        ),
        Route::member(
            "POST /dashboard/settings/members/{id}/role",
            MemberAccess::fresh(Owner, members::PATH),
            members::change_role,
        ),
        Route::member(
            "POST /dashboard/settings/members/{id}/remove",
            MemberAccess::fresh(Owner, members::PATH),
            members::remove,
        ),
        Route::member(
            "POST /dashboard/settings/members/{id}/second-factor",
            MemberAccess::fresh(Owner, members::PATH),
            members::reset_second_factor,
        ),
        Route::member(
            "POST /dashboard/settings/members/second-factor",
            MemberAccess::fresh(Owner, members::PATH),
            members::require_second_factor,
        ),
    ];
    settings.into_iter().chain(shared_settings()).chain(assistants()).chain(webhook_endpoints()).collect()
}

/// The settings that several features share, for [`settings`].
fn shared_settings() -> Vec<Route> {
    vec![
        Route::member("GET /dashboard/settings/organization", Member, organization::show),
        Route::member("POST /dashboard/settings/organization", Owner, organization::change),
        Route::member("GET /dashboard/settings/rejection-reasons", Member, rejection_reasons::show),
        Route::member("POST /dashboard/settings/rejection-reasons", Member, rejection_reasons::change),
        Route::member("GET /dashboard/settings/application-limits", Member, application_limits::show),
        Route::member(
            "POST /dashboard/settings/application-limits",
            MemberAccess::fresh(Owner, application_limits::PATH),
            application_limits::change,
        ),
    ]
}

/// What connected applications may do, and where it is confirmed, for [`settings`].
fn assistants() -> Vec<Route> {
    vec![
        Route::member(
            "GET /dashboard/settings/integrations/connected-apps/{id}",
            Member,
            connected_app::show,
        ),
        Route::member(
            "POST /dashboard/settings/integrations/connected-apps/{id}/narrow",
            Owner,
            connected_app::narrow,
        ),
        Route::member(
            "POST /dashboard/settings/integrations/connected-apps/lift-narrowing",
            Owner,
            connected_apps::lift_narrowing,
        ),
        Route::member("GET /dashboard/settings/integrations/confirmations", Owner, confirmation_rule::show),
        Route::member(
            "POST /dashboard/settings/integrations/confirmations",
            MemberAccess::fresh(Owner, confirmation_rule::PATH),
            confirmation_rule::change,
        ),
    ]
}

/// Webhook endpoints, for [`settings`].
fn webhook_endpoints() -> Vec<Route> {
    let fresh = MemberAccess::fresh(Member, webhooks::PATH);
    vec![
        Route::member("GET /dashboard/webhooks", Member, webhooks::list),
        Route::member("POST /dashboard/webhooks", fresh, webhooks::create),
        Route::member("GET /dashboard/webhooks/{id}", Member, webhook_endpoint::show),
        Route::member("POST /dashboard/webhooks/{id}", fresh, webhook_endpoint::update),
        Route::member("POST /dashboard/webhooks/{id}/rotate", fresh, webhook_endpoint::rotate),
        Route::member("POST /dashboard/webhooks/{id}/delete", fresh, webhook_endpoint::delete),
        Route::member("POST /dashboard/webhooks/{id}/ping", Member, webhook_endpoint::ping),
        Route::member("POST /dashboard/webhooks/{id}/replay", Member, webhook_endpoint::replay),
        Route::member(
            "POST /dashboard/webhooks/{id}/deliveries/{delivery_id}/redeliver",
            Member,
            webhook_endpoint::redeliver,
        ),
    ]
}

/// Sign-in and the member's own account, in `dashboard_account`.
pub fn account() -> Vec<Route> {
    vec![
        Route::page("GET /dashboard/sign-in", sign_in::form),
        Route::page("POST /dashboard/sign-in", sign_in::sign_in),
        Route::page("GET /dashboard/sign-in/{slug}", sign_in::form_of_organization),
        Route::page("POST /dashboard/second-factor", second_factor::sign_in),
        Route::page("POST /dashboard/sign-out", sign_in::sign_out),
        Route::member(
            "GET /dashboard/confirm",
            MemberAccess::from(Member).before_second_factor(),
            confirm::show,
        ),
        Route::member(
            "POST /dashboard/confirm",
            MemberAccess::from(Member).before_second_factor(),
            confirm::confirm,
        ),
        Route::member(
            "POST /dashboard/sign-out-everywhere",
            MemberAccess::from(Member).before_second_factor(),
            account::sign_out_everywhere,
        ),
        Route::page("GET /dashboard/password", sign_in::password_form),
        Route::page("POST /dashboard/password", sign_in::set_password),
        Route::member("POST /dashboard/mode", Member, account::switch_mode),
        Route::member("GET /dashboard/settings/account", Member, account::show),
        Route::member("POST /dashboard/settings/account/password", Member, account::change_password),
        Route::member("POST /dashboard/settings/account/time-zone", Member, account::change_time_zone),
        Route::member("POST /dashboard/settings/account/shortcuts", Member, account::change_shortcuts),
        Route::member("POST /dashboard/settings/account/sessions/end", Member, account::end_session),
        Route::member(
            "POST /dashboard/settings/account/sessions/end-others",
            Member,
            account::end_other_sessions,
        ),
        Route::member(
            "GET /dashboard/settings/account/second-factor",
            MemberAccess::fresh(Member, second_factor::PATH).before_second_factor(),
            second_factor::show,
        ),
        Route::member(
            "POST /dashboard/settings/account/second-factor",
            MemberAccess::fresh(Member, second_factor::PATH).before_second_factor(),
            second_factor::set_up,
        ),
        Route::member(
            "POST /dashboard/settings/account/second-factor/recovery-codes",
            MemberAccess::fresh(Member, second_factor::PATH),
            second_factor::renew_codes,
        ),
        Route::member(
            "POST /dashboard/settings/account/second-factor/remove",
            MemberAccess::fresh(Member, second_factor::PATH),
            second_factor::remove,
        ),
        Route::member(
            "POST /dashboard/settings/account/passkeys/{id}/remove",
            MemberAccess::fresh(Member, account::PATH),
            account::remove_passkey,
        ),
        Route::member("GET /dashboard/settings/account/notices", Member, notices::list)
            .reading(CandidatesListed),
        Route::member("POST /dashboard/settings/account/notices", Member, notices::dismiss),
    ]
}

fn style(_: PublicRequest) -> Ready<Result<Reply<Html>, Error>> {
    ready(Ok(Reply::file("text/css; charset=utf-8", page::STYLE)))
}

fn script(_: PublicRequest) -> Ready<Result<Reply<Html>, Error>> {
    ready(Ok(Reply::file("text/javascript; charset=utf-8", &layout::SCRIPT)))
}

fn icon(_: PublicRequest) -> Ready<Result<Reply<Html>, Error>> {
    // Its URL does not change with its content, so caches keep it for only a day.
    let icon = Reply::file("image/svg+xml", page::ICON);
    ready(Ok(icon.with("cache-control", "public, max-age=86400".to_owned())))
}
