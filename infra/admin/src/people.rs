//! The commands for the data of one person, and the replay of erasures after a restore.

use std::fmt;

use serde::Serialize;
use shared::clock::Timestamp;
use shared::id::Id;
use shared::model::{Actor, CandidateRecord, Erasure, ErasureReason, LegalHold, Mode, Tenant};
use shared::services::erasure::{self, EraseError, Tombstone};
use shared::store::{CommitError, MaybeErased, OrganizationError, StoreError, Transaction};

use crate::admin::{Admin, CommandError};
use crate::cli::{ErasedPerson, HeldPerson, OnePerson};

/// A person who was erased.
#[derive(Serialize)]
pub(crate) struct PersonErasure {
    id: Id,
    mode: Mode,
    erased_at: Timestamp,
    reason: ErasureReason,
}

/// The legal hold on a person.
#[derive(Serialize)]
pub(crate) struct Held {
    id: Id,
    mode: Mode,
    legal_hold: Option<LegalHold>,
}

/// A person whom a replay did not erase.
#[derive(Serialize)]
struct Skipped {
    organization_id: Id,
    mode: Mode,
    id: Id,
}

/// The result of a replay.
#[derive(Default, Serialize)]
pub(crate) struct Replayed {
    /// The number of tombstones.
    tombstones: usize,
    /// The number of people who were in the table again, and are erased now.
    erased: usize,
    /// The people who are on legal hold in the table.
    on_hold: Vec<Skipped>,
    /// The keys of objects that are not tombstones.
    unreadable: Vec<String>,
}

/// The maximum number of attempts at a write that conflicts with others.
const ATTEMPTS: usize = 10;

/// The tenant and the identifier of a person.
pub(crate) async fn find(admin: &Admin, person: &OnePerson) -> Result<(Tenant, Id), CommandError> {
    let tenant = person.tenant.tenant();
    admin.store.find_organization(tenant).await?.ok_or(OrganizationError::NoSuchOrganization)?;
    let id = match (person.id, &person.email) {
        (Some(id), _) => Some(id),
        (None, Some(email)) => admin.store.find_claimed_email(tenant, email).await?,
        (None, None) => None,
    };
    Ok((tenant, id.ok_or(OrganizationError::NoSuchPerson)?))
}

/// Erases a person. If the person was erased already, returns that erasure.
pub(crate) async fn erase(admin: &Admin, person: &ErasedPerson) -> Result<PersonErasure, CommandError> {
    if admin.bucket.is_none() && !person.no_files {
        return Err(CommandError::NoBucket);
    }
    let (tenant, id) = find(admin, &person.person).await?;
    let erasure = Erasure::new(id, person.reason, &Actor::system(), admin.now);
    let erased =
        erasure::erase(&admin.store, admin.bucket.as_ref(), tenant, erasure, admin.clock.now()).await;
    match erased {
        Ok(Some(Erasure { erased_at, reason, .. })) => {
            Ok(PersonErasure { id, mode: tenant.mode, erased_at, reason })
        }
        Ok(None) => Err(OrganizationError::NoSuchPerson.into()),
        Err(error) => Err(command_error(error, tenant.mode, id)),
    }
}

/// Sets a legal hold on a person.
pub(crate) async fn hold(admin: &Admin, person: &HeldPerson) -> Result<Held, CommandError> {
    let (tenant, id) = find(admin, &person.person).await?;
    let hold = LegalHold { reason: person.reason.clone(), set_at: admin.now, actor: Actor::system() };
    change(admin, tenant, id, |record| record.hold(hold.clone())).await
}

/// Lifts the legal hold on a person, if there is one.
pub(crate) async fn lift_hold(admin: &Admin, person: &OnePerson) -> Result<Held, CommandError> {
    let (tenant, id) = find(admin, person).await?;
    change(admin, tenant, id, |record| match record.legal_hold {
        Some(_) => record.lift_hold(admin.now),
        None => record,
    })
    .await
}

/// Changes a person's record, retrying write conflicts.
async fn change(
    admin: &Admin,
    tenant: Tenant,
    id: Id,
    change: impl Fn(CandidateRecord) -> CandidateRecord,
) -> Result<Held, CommandError> {
    for _ in 0..ATTEMPTS {
        let found = admin.store.find_candidate(tenant, id).await?.and_then(MaybeErased::present);
        let before = found.ok_or(OrganizationError::NoSuchPerson)?;
        let after = change(before.clone());
        let held = Held { id, mode: tenant.mode, legal_hold: after.legal_hold.clone() };
        if after == before {
            return Ok(held);
        }
        let mut transaction = Transaction::new(tenant);
        transaction.replace_candidate(&before, &after, &[])?;
        match admin.store.commit(transaction).await {
            Ok(()) => return Ok(held),
            Err(CommitError::Store(error)) => return Err(error.into()),
            Err(_) => {}
        }
    }
    Err(StoreError::Unavailable("write conflicts persisted".to_owned()).into())
}

/// Erases again whoever a restored backup of the table has brought back.
pub(crate) async fn replay(admin: &Admin) -> Result<Replayed, CommandError> {
    let bucket = admin.bucket.as_ref().ok_or(CommandError::NoTombstones)?;
    let mut replayed = Replayed::default();
    let mut after: Option<String> = None;
    loop {
        let keys = bucket.list(Tombstone::PREFIX, after.as_deref(), admin.clock.now()).await;
        let keys = keys.map_err(CommandError::Bucket)?;
        let Some(last) = keys.last() else { return Ok(replayed) };
        after = Some(last.clone());
        for key in keys {
            let tombstone = Tombstone::find(bucket, &key, admin.clock.now()).await;
            match tombstone.map_err(CommandError::Bucket)? {
                Some(tombstone) => replay_one(admin, &tombstone, &mut replayed).await?,
                None => replayed.unreadable.push(key),
            }
        }
    }
}

async fn replay_one(
    admin: &Admin,
    tombstone: &Tombstone,
    replayed: &mut Replayed,
) -> Result<(), CommandError> {
    let (tenant, id) = (tombstone.tenant(), tombstone.erasure.id);
    replayed.tombstones += 1;
    if admin.store.find_candidate(tenant, id).await?.and_then(MaybeErased::present).is_none() {
        return Ok(());
    }
    let erasure = tombstone.erasure.clone();
    // Without the bucket, which has the tombstone already.
    match erasure::erase(&admin.store, None, tenant, erasure, admin.clock.now()).await {
        Ok(_) => replayed.erased += 1,
        Err(EraseError::OnHold(_)) => {
            let Tenant { organization, mode } = tenant;
            replayed.on_hold.push(Skipped { organization_id: organization, mode, id });
        }
        Err(error) => return Err(command_error(error, tenant.mode, id)),
    }
    Ok(())
}

fn command_error(error: EraseError, mode: Mode, id: Id) -> CommandError {
    match error {
        EraseError::OnHold(_) => CommandError::OnHold { mode, id },
        EraseError::Commit(CommitError::Store(error)) => error.into(),
        EraseError::Commit(error) => StoreError::Unavailable(error.to_string()).into(),
        EraseError::Bucket(error) => CommandError::Bucket(error),
    }
}

impl fmt::Display for PersonErasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, erased_at, reason, .. } = self;
        write!(
            f,
            "The person {id} was erased at {erased_at} ({}). The service's tasks remove the data.",
            reason.as_str()
        )
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.legal_hold {
            Some(hold) => write!(f, "The person {} is on legal hold since {}.", self.id, hold.set_at),
            None => write!(f, "The person {} is not on legal hold.", self.id),
        }
    }
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tombstones, erased, on_hold, unreadable } = self;
        write!(f, "{tombstones} tombstones; {erased} people were in the table again and are erased now.")?;
        for Skipped { organization_id, mode, id } in on_hold {
            let mode = mode.as_str();
            write!(
                f,
                "\nNot erased, because of a legal hold: person {id} of organization {organization_id}, {mode} mode."
            )?;
        }
        for key in unreadable {
            write!(f, "\nNot a tombstone: {key}")?;
        }
        Ok(())
    }
}
