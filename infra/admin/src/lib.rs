//! The administration tool: the table, organizations, members, API keys, channels, usage, personal data and the
//! audit log, from the command line.
//!
//! Each command has a function that uses the store and returns one value, which `serde` writes as JSON and `Display`
//! as text. This module calls the functions, prints the results, and explains errors.

mod admin;
mod apps;
mod audit;
mod channels;
mod cli;
mod conversion;
mod data_exports;
mod exports;
mod imports;
mod keys;
mod maintenance;
mod members;
mod organizations;
mod output;
mod people;
mod quarantine;
mod resealing;
mod secrets;
mod smoke;
mod table;
mod tasks;
mod usage;
mod webhooks;

#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::io::Write;
use std::sync::Arc;

use serde::Serialize;
use shared::clock::Clock;
use shared::id::Ids;
use shared::model::AuditActor;
use shared::providers::bucket::Bucket;
use shared::random::Random;
use shared::store::{AuditOrigin, OrganizationError, Store, StoreError};

use admin::{Admin, CommandError};
pub use cli::Cli;
use cli::{
    AppCommand, ChannelCommand, Command, ErasuresCommand, KeyCommand, MemberCommand, Operation,
    OrganizationCommand, PersonCommand, QuarantineCommand, TableCommand, TaskCommand, UsageCommand,
    WebhookCommand,
};
use maintenance::Work;
pub use secrets::Secrets;

/// Runs a command and writes its result to `out`. Returns an error as a sentence.
pub async fn run(
    cli: Cli,
    store: Store,
    clock: Clock,
    random: Random,
    secrets: Secrets,
    bucket: Option<Bucket>,
    out: &mut impl Write,
) -> Result<(), String> {
    let now = clock.now();
    let ids = Ids::new(clock.clone(), random.clone());
    let origin = AuditOrigin::inside(AuditActor::operator(), clock.clone(), ids.clone());
    let store = store.with_origin(Arc::new(origin));
    let admin = Admin { store, now, clock, ids, random, secrets, bucket };
    let Cli { table, endpoint, json, command, .. } = cli;
    let result = execute(command, json, &table, &admin, out).await;
    let output = result.map_err(|error| match error {
        CommandError::Organization(error) => explain(&error, &table, endpoint.as_deref()),
        CommandError::WrongSlug => {
            "The slug after --confirm is not the organization's; see `rolecall-admin organization show`."
                .to_owned()
        }
        CommandError::NoBucket => {
            "Name the bucket of uploaded files with --bucket, or add --no-files if the service has none."
                .to_owned()
        }
        CommandError::Secret(error) => error.to_string(),
        CommandError::NoTombstones => "Name the bucket with the tombstones with --bucket.".to_owned(),
        CommandError::OnHold { mode, id } => format!(
            "The person {id} is on legal hold in {} mode; lift it with `rolecall-admin person lift-hold`.",
            mode.as_str()
        ),
        CommandError::Bucket(error) => format!("The bucket failed: {error}."),
        CommandError::Unreadable(secrets) => {
            format!("None of the keys decrypts these secrets; all others are done: {}.", secrets.join(", "))
        }
        CommandError::Smoke(problems) => format!(
            "The deployment does not answer as it should. {problems}. \
             \"What smoke finds\" in infra/README.md says what to do."
        ),
        CommandError::Restore(error) => sentence(&error.to_string()),
        CommandError::Readable => {
            "Only an item that exists and cannot be read is moved to the quarantine.".to_owned()
        }
        CommandError::NoSuchTask => {
            "The organization has no such task in this mode; list all with `rolecall-admin task list --all`."
                .to_owned()
        }
        CommandError::NoSuchApp => {
            "The organization has no such application in this mode; list all with `rolecall-admin app list`."
                .to_owned()
        }
        CommandError::NoSuchWebhook => {
            "The organization has no such webhook endpoint in this mode; list all with `rolecall-admin webhook list`."
                .to_owned()
        }
        CommandError::Conversion(sentence)
        | CommandError::Import(sentence)
        | CommandError::Export(sentence) => {
            format!("{sentence}.")
        }
        CommandError::Unwritten(error) => format!("The export could not be written: {error}."),
    })?;
    let written = out.write_all(output.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| format!("The command succeeded, but its output could not be written: {error}."))
}

/// Runs a command and returns its result. An export is written to `out` while it is read.
async fn execute(
    command: Command,
    json: bool,
    table: &str,
    admin: &Admin,
    out: &mut impl Write,
) -> Result<String, CommandError> {
    use {ChannelCommand as Channel, KeyCommand as Key, OrganizationCommand as Organization};
    let output = match command {
        Command::Table(TableCommand::Create) => render(json, &table::create(admin, table).await?),
        Command::Table(TableCommand::Adopt) => render(json, &table::adopt(admin, table).await?),
        Command::Organization(Organization::Create(new)) => {
            render(json, &organizations::create(admin, new).await?)
        }
        Command::Organization(Organization::List) => render(json, &organizations::list(admin).await?),
        Command::Organization(Organization::Show { id }) => {
            render(json, &organizations::show(admin, id).await?)
        }
        Command::Organization(Organization::Plan { id, plan }) => {
            render(json, &organizations::plan(admin, id, plan).await?)
        }
        Command::Organization(Organization::Settings(new)) => {
            render(json, &organizations::settings(admin, new).await?)
        }
        Command::Organization(Organization::Suspend { id }) => {
            render(json, &organizations::suspend(admin, id, true).await?)
        }
        Command::Organization(Organization::Resume { id }) => {
            render(json, &organizations::suspend(admin, id, false).await?)
        }
        Command::Organization(Organization::Export(export)) => {
            return exports::organization(admin, export, out).await.map(|()| String::new());
        }
        Command::Person(PersonCommand::Export(person)) => {
            return exports::person(admin, &person, out).await.map(|()| String::new());
        }
        Command::Person(PersonCommand::Erase(person)) => render(json, &people::erase(admin, &person).await?),
        Command::Person(PersonCommand::Hold(person)) => render(json, &people::hold(admin, &person).await?),
        Command::Person(PersonCommand::LiftHold(person)) => {
            render(json, &people::lift_hold(admin, &person).await?)
        }
        Command::Erasures(ErasuresCommand::Replay) => render(json, &people::replay(admin).await?),
        Command::Organization(Organization::Delete(deletion)) => {
            render(json, &organizations::delete(admin, &deletion).await?)
        }
        Command::Operation(operation) => return operate(operation, json, admin).await,
        Command::Reseal(arguments) => render(json, &resealing::reseal(admin, &arguments).await?),
        Command::Member(MemberCommand::Create(new)) => render(json, &members::create(admin, new).await?),
        Command::Member(MemberCommand::List { organization }) => {
            render(json, &members::list(admin, organization).await?)
        }
        Command::Member(MemberCommand::Link(new)) => render(json, &members::link(admin, new).await?),
        Command::Member(MemberCommand::ResetSecondFactor { organization, id }) => {
            render(json, &members::reset_second_factor(admin, organization, id).await?)
        }
        Command::Member(MemberCommand::Unlock { organization, id }) => {
            render(json, &members::unlock(admin, organization, id).await?)
        }
        Command::Member(MemberCommand::Remove { organization, id, keep_keys }) => {
            render(json, &members::remove(admin, organization, id, keep_keys).await?)
        }
        Command::Key(Key::Create(new)) => render(json, &keys::create(admin, new).await?),
        Command::Key(Key::List { tenant }) => render(json, &keys::list(admin, tenant.tenant()).await?),
        Command::Key(Key::Rotate { tenant, id, overlap_hours }) => {
            render(json, &keys::rotate(admin, tenant.tenant(), id, overlap_hours).await?)
        }
        Command::Key(Key::Revoke { tenant, id }) => {
            render(json, &keys::revoke(admin, tenant.tenant(), id).await?)
        }
        Command::Channel(Channel::ConnectX(new)) => render(json, &channels::connect_x(admin, new).await?),
        Command::Channel(Channel::ConnectWhatsApp(new)) => {
            render(json, &channels::connect_whatsapp(admin, new).await?)
        }
        Command::Channel(Channel::Disconnect { organization, channel }) => {
            render(json, &channels::disconnect(admin, organization, channel).await?)
        }
        Command::Channel(Channel::Show { organization }) => {
            render(json, &channels::show(admin, organization).await?)
        }
        Command::Audit(log) => {
            return audit::print(admin, &log, json, out).await.map(|()| String::new());
        }
        Command::Convert(arguments) => {
            let report = conversion::convert(&arguments, admin.now).map_err(CommandError::Conversion)?;
            render(json, &report)
        }
        Command::Import(new) => render(json, &imports::import(admin, new).await?),
        Command::Export(new) => render(json, &data_exports::export(admin, new).await?),
        Command::Usage(UsageCommand::Fleet { top }) => render(json, &usage::fleet(admin, top).await?),
        Command::Usage(UsageCommand::Show { tenant, days }) => {
            render(json, &usage::show(admin, tenant.tenant(), days).await?)
        }
    };
    Ok(output?)
}

/// Runs a command for operators.
async fn operate(operation: Operation, json: bool, admin: &Admin) -> Result<String, CommandError> {
    Ok(match operation {
        Operation::Smoke(smoke) => render(json, &smoke::run(admin, &smoke).await?),
        Operation::Verify(selection) => {
            render(json, &maintenance::run(admin, &selection, Work::Verify).await?)
        }
        Operation::Rebuild { selection, preview } => {
            let work = if preview { Work::Preview } else { Work::Rebuild };
            render(json, &maintenance::run(admin, &selection, work).await?)
        }
        Operation::Quarantine(command) => return quarantined(command, json, admin).await,
        Operation::Webhook(command) => return webhook(command, json, admin).await,
        Operation::Task(TaskCommand::List { all }) => render(json, &tasks::list(admin, all).await?),
        Operation::Task(TaskCommand::Drop { tenant, kind, id, yes }) => {
            render(json, &tasks::discard(admin, tenant.tenant(), kind, id, yes).await?)
        }
        Operation::App(AppCommand::List { tenant }) => {
            render(json, &apps::list(admin, tenant.tenant()).await?)
        }
        Operation::App(AppCommand::Revoke { tenant, id }) => {
            render(json, &apps::revoke(admin, tenant.tenant(), id).await?)
        }
    }?)
}

/// Runs a command on webhook endpoints.
async fn webhook(command: WebhookCommand, json: bool, admin: &Admin) -> Result<String, CommandError> {
    use WebhookCommand as Webhook;
    Ok(match command {
        Webhook::List { tenant } => render(json, &webhooks::list(admin, tenant.tenant()).await?)?,
        Webhook::Show(one) => render(json, &webhooks::show(admin, one.tenant.tenant(), one.id).await?)?,
        Webhook::Disable(one) => render(json, &webhooks::disable(admin, one.tenant.tenant(), one.id).await?)?,
        Webhook::Enable(one) => render(json, &webhooks::enable(admin, one.tenant.tenant(), one.id).await?)?,
    })
}

/// Runs a command on the quarantine.
async fn quarantined(command: QuarantineCommand, json: bool, admin: &Admin) -> Result<String, CommandError> {
    use QuarantineCommand as Quarantine;
    Ok(match command {
        Quarantine::List => render(json, &quarantine::list(admin).await?)?,
        Quarantine::Show(item) => render(json, &quarantine::show(admin, item).await?)?,
        Quarantine::Move(item) => render(json, &quarantine::set_aside(admin, item).await?)?,
        Quarantine::Restore { item, set, remove } => {
            render(json, &quarantine::restore(admin, item, set, remove).await?)?
        }
        Quarantine::Drop { item, yes } => render(json, &quarantine::discard(admin, item, yes).await?)?,
    })
}

fn render(json: bool, result: &(impl Serialize + Display)) -> Result<String, OrganizationError> {
    if !json {
        return Ok(format!("{result}\n"));
    }
    let text = serde_json::to_string_pretty(result);
    let text =
        text.map_err(|error| StoreError::Internal(format!("the result cannot be written as JSON: {error}")))?;
    Ok(format!("{text}\n"))
}

/// Explains an error in a sentence, with a remedy if there is one.
fn explain(error: &OrganizationError, table: &str, endpoint: Option<&str>) -> String {
    match error {
        OrganizationError::NoSuchOrganization => {
            "The organization does not exist; list all with `rolecall-admin organization list`.".to_owned()
        }
        OrganizationError::NoSuchKey => {
            "The organization has no such key in this mode; list all with `rolecall-admin key list`."
                .to_owned()
        }
        OrganizationError::NoSuchMember => {
            "The organization has no such member; list all with `rolecall-admin member list`.".to_owned()
        }
        OrganizationError::NoSuchPerson => {
            "The organization has no such person in this mode; check the identifier or the e-mail address, and --mode."
                .to_owned()
        }
        OrganizationError::SlugTaken => {
            "The slug is taken by another organization; choose a different one with --slug.".to_owned()
        }
        OrganizationError::Exists => "No unused identifier was found; run the command again.".to_owned(),
        OrganizationError::Store(StoreError::Internal(text))
            if text.contains("ResourceNotFoundException") =>
        {
            format!("The table {table} does not exist; create it with `rolecall-admin table create`.")
        }
        OrganizationError::Store(StoreError::Unavailable(text)) if text == "not reachable" => match endpoint {
            Some(endpoint) => format!("DynamoDB cannot be reached at {endpoint}."),
            None => {
                "AWS cannot be reached: set AWS_REGION and credentials, or choose a DynamoDB endpoint with --endpoint."
                    .to_owned()
            }
        },
        OrganizationError::TooManyKeys
        | OrganizationError::KeyRevoked
        | OrganizationError::KeyReplaced
        | OrganizationError::KeyOverlaps
        | OrganizationError::EmailTaken
        | OrganizationError::Repeated
        | OrganizationError::Store(_) => {
            sentence(&error.to_string())
        }
    }
}

/// A message as a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}
