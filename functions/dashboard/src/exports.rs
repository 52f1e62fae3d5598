//! Exports of the organization's data: the list, and the page of each with the links to its files.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use serde_json::Value;
use shared::handlers::exports;
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::id::Id;
use shared::model::{Export, ExportFile, Role, grouped};

use crate::dates::{self, Time};
use crate::export_forms::{NEW, PATH, path_of};
use crate::export_words::{self, Standing};
use crate::form_page::fields_of;
use crate::import_files::size;
use crate::layout::{Layout, Section};
use crate::lists::{PAGE_SIZE, Pager, Place, id_position, is_id_position, next};
use crate::sources::actor;

#[derive(Template)]
#[template(path = "exports.html")]
struct ExportsPage<'p> {
    layout: Layout<'p>,
    exports: Vec<ExportRow>,
    pager: Pager,
    /// How many exports the plan has.
    allowance: String,
}

/// An export in the list.
struct ExportRow {
    id: u64,
    begun: Time,
    by: String,
    format: &'static str,
    kinds: String,
    /// The title of the role to which it is limited.
    role: Option<String>,
    standing: Standing,
    /// Why it has no files.
    reason: Option<String>,
    /// The number of rows, if it is done.
    rows: String,
    /// Until when its files are kept.
    until: Option<Time>,
}

/// Shows the exports, newest first.
pub(crate) async fn list(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let place = Place::read(&request.context.query(), is_id_position);
    let (store, tenant, now) = (request.context.store(), request.tenant(), request.context.now());
    let mut listed = store.list_exports(tenant, &place.paging()).await?;
    let next = next(&mut listed, PAGE_SIZE, |export| id_position(export.id));
    let roles = store.find_roles(tenant, listed.items.iter().filter_map(|export| export.role_id)).await?;
    let zone = dates::zone(&request);
    let row = |export: &Export| {
        let standing = Standing::of(export, now);
        let is_done = standing == Standing::Done;
        ExportRow {
            id: export.id.get(),
            begun: zone.minute(export.created_at),
            by: actor(&export.created_by),
            format: export_words::short(export.format),
            kinds: export_words::kinds(export),
            role: export.role_id.map(|id| title(id, &roles)),
            standing,
            reason: export.reason.clone(),
            rows: if is_done { grouped(export_words::rows(export)) } else { "–".to_owned() },
            until: export.kept_until().filter(|_| is_done).map(|until| zone.minute(until)),
        }
    };
    Reply::page(&ExportsPage {
        exports: listed.items.iter().map(row).collect(),
        pager: Pager::new(PATH, &[], &place, next),
        allowance: export_words::allowance(request.organization().plan),
        layout: Layout::of(&request, Section::Candidates),
    })
}

/// The title of a role, or its id if it was deleted.
fn title(id: Id, roles: &HashMap<Id, Role>) -> String {
    roles.get(&id).map_or_else(|| format!("role {id}"), |role| role.content.title.as_str().to_owned())
}

#[derive(Template)]
#[template(path = "export.html")]
struct ExportPage<'p> {
    layout: Layout<'p>,
    path: String,
    begun: Time,
    by: String,
    format: &'static str,
    kinds: String,
    /// The title of the role to which it is limited.
    role: Option<String>,
    standing: Standing,
    /// How far it is, as sentences.
    progress: String,
    /// Its files, if they can be downloaded.
    files: Vec<FileRow>,
    /// The rows that were left out.
    left_out: Option<String>,
    /// Until when its files are kept.
    until: Option<Time>,
    /// Where the change feed continues what the files have, if they have everything and can be downloaded.
    position: Option<u64>,
}

/// A file that can be downloaded.
struct FileRow {
    kind: &'static str,
    rows: String,
    size: String,
    url: String,
}

/// Shows an export. The links to its files are made for this page, and recorded.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (store, tenant) = (request.context.store(), request.tenant());
    let export = store.find_export(tenant, request.context.id()?).await?.ok_or(Error::NotFound)?;
    let mut standing = Standing::of(&export, request.context.now());
    let mut files = Vec::new();
    if standing == Standing::Done {
        match request.carry_out(request.call(fields_of(&[])), exports::show_export).await {
            Ok(reply) => files = links(&export, reply.body()),
            // An erasure ends it at this moment.
            Err(Error::Expired) => standing = Standing::Ended,
            Err(error) => return Err(error),
        }
    }
    let roles = store.find_roles(tenant, export.role_id).await?;
    let (zone, is_done) = (dates::zone(&request), standing == Standing::Done);
    Reply::page(&ExportPage {
        path: path_of(export.id),
        begun: zone.minute(export.created_at),
        by: actor(&export.created_by),
        format: export_words::format(export.format),
        kinds: export_words::kinds(&export),
        role: export.role_id.map(|id| title(id, &roles)),
        standing,
        progress: export_words::progress(&export, standing),
        files,
        left_out: export_words::left_out(&export).filter(|_| is_done),
        until: export.kept_until().filter(|_| is_done).map(|until| zone.minute(until)),
        position: export.position.filter(|_| is_done),
        layout: Layout::of(&request, Section::Candidates),
    })
}

/// The files of an export with the links in the API's answer.
fn links(export: &Export, answer: &str) -> Vec<FileRow> {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let urls = answer["files"].as_array().map(Vec::as_slice).unwrap_or_default();
    let row = |(file, answered): (&ExportFile, &Value)| {
        Some(FileRow {
            kind: export_words::kind(file.kind),
            rows: grouped(file.rows),
            size: size(file.size),
            url: answered["url"].as_str()?.to_owned(),
        })
    };
    export.files.iter().zip(urls).filter_map(row).collect()
}
