//! The `audit` command: an organization's audit log.

use std::io::Write;

use shared::model::AuditEntry;
use shared::store::{AuditSelection, OrganizationError, Paging};

use crate::admin::{Admin, CommandError};
use crate::cli::Audit;

const PAGE: u32 = 100;

/// Writes the entries while they are read, one per line: as JSON, or as words.
pub(crate) async fn print(
    admin: &Admin,
    log: &Audit,
    json: bool,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let tenant = log.tenant.tenant();
    let organization =
        admin.store.find_organization(tenant).await?.ok_or(OrganizationError::NoSuchOrganization)?;
    let selection = match (log.actor, log.action) {
        (Some(actor), _) => AuditSelection::Actor(actor),
        (None, Some(action)) => AuditSelection::Action(action),
        (None, None) => AuditSelection::All,
    };
    let mut page = Paging { limit: PAGE, before: None };
    let mut is_empty = true;
    loop {
        let listed = admin
            .store
            .list_audit_log(&organization, selection, [log.from, log.to], admin.now, &page)
            .await?;
        for entry in &listed.items {
            is_empty = false;
            let line = if json {
                serde_json::to_string(entry).map_err(std::io::Error::from)
            } else {
                Ok(text(entry))
            };
            let written = line.and_then(|line| writeln!(out, "{line}"));
            written.map_err(CommandError::Unwritten)?;
        }
        match listed.next {
            Some(next) => page.before = Some(next),
            None => break,
        }
    }
    if is_empty && !json {
        writeln!(out, "No entries.").map_err(CommandError::Unwritten)?;
    }
    Ok(())
}

/// Describes an entry: `2026-11-20T09:30:00.000Z member:17 candidate.read candidate:18 from 192.0.2.1`.
fn text(entry: &AuditEntry) -> String {
    let mut words = vec![entry.at.to_string(), entry.actor.term().to_string()];
    words.extend(entry.actor.member.map(|member| format!("(of member:{member})")));
    words.push(entry.action.as_str().to_owned());
    words.extend(entry.target.map(|target| match target.id {
        Some(id) => format!("{}:{id}", target.kind.as_str()),
        None => target.kind.as_str().to_owned(),
    }));
    words.extend(entry.shown.map(|shown| format!("({shown} shown)")));
    words.extend(entry.network.as_ref().map(|network| format!("from {network}")));
    words.join(" ")
}
