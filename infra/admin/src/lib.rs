//! The administration tool: the table, organizations, members, API keys, channels and usage, from the command line.
//!
//! A command's function talks to the store and gives an answer: one value that is JSON through `serde` and readable
//! text through `Display`. Here commands meet their functions, answers the output, and failures a sentence.

mod channels;
mod cli;
mod keys;
mod members;
mod organizations;
mod output;
mod table;
mod usage;

#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::io::Write;

use jiff::Timestamp;
use serde::Serialize;
use shared::clock::{Clock, to_second};
use shared::id::Ids;
use shared::random::Random;
use shared::store::{Denied, Failure, Store};

pub use cli::Cli;
use cli::{
    ChannelCommand, Command, KeyCommand, MemberCommand, OrganizationCommand, TableCommand, UsageCommand,
};

/// What the commands work with.
struct Admin {
    store: Store,
    now: Timestamp,
    ids: Ids,
    random: Random,
}

/// How many identifiers are drawn for a new thing: one may, rarely, be in use already.
const DRAWS: usize = 3;

/// Carries out one command and writes its answer to `out`, or says in a sentence why it could not.
pub async fn run(
    cli: Cli,
    store: Store,
    clock: Clock,
    random: Random,
    out: &mut impl Write,
) -> Result<(), String> {
    let admin = Admin { store, now: to_second(clock.now()), ids: Ids::new(clock, random.clone()), random };
    let Cli { table, endpoint, json, command } = cli;
    let answer = perform(command, json, &table, &admin).await;
    let answer = answer.map_err(|denied| sentence(&denied, &table, endpoint.as_deref()))?;
    let written = out.write_all(answer.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| format!("It is done, but the answer could not be written: {error}."))
}

async fn perform(command: Command, json: bool, table: &str, admin: &Admin) -> Result<String, Denied> {
    use {ChannelCommand as Channel, KeyCommand as Key, OrganizationCommand as Organization};
    match command {
        Command::Table(TableCommand::Create) => render(json, &table::create(admin, table).await?),
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
        Command::Organization(Organization::Suspend { id }) => {
            render(json, &organizations::suspend(admin, id, true).await?)
        }
        Command::Organization(Organization::Resume { id }) => {
            render(json, &organizations::suspend(admin, id, false).await?)
        }
        Command::Member(MemberCommand::Create(new)) => render(json, &members::create(admin, new).await?),
        Command::Member(MemberCommand::List { organization }) => {
            render(json, &members::list(admin, organization).await?)
        }
        Command::Member(MemberCommand::Link(new)) => render(json, &members::link(admin, new).await?),
        Command::Member(MemberCommand::Remove { organization, id }) => {
            render(json, &members::remove(admin, organization, id).await?)
        }
        Command::Key(Key::Create(new)) => render(json, &keys::create(admin, new).await?),
        Command::Key(Key::List { tenant }) => render(json, &keys::list(admin, tenant.tenant()).await?),
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
        Command::Usage(UsageCommand::Show { tenant, days }) => {
            render(json, &usage::show(admin, tenant.tenant(), days).await?)
        }
    }
}

fn render(json: bool, answer: &(impl Serialize + Display)) -> Result<String, Denied> {
    if !json {
        return Ok(format!("{answer}\n"));
    }
    let text = serde_json::to_string_pretty(answer);
    let text = text.map_err(|error| Failure::Internal(format!("the answer cannot be written: {error}")))?;
    Ok(format!("{text}\n"))
}

/// Why nothing was done, and what to do about it where that is known.
fn sentence(denied: &Denied, table: &str, endpoint: Option<&str>) -> String {
    match denied {
        Denied::NoSuchOrganization => {
            "There is no such organization; `rolecall-admin organization list` shows those there are."
                .to_owned()
        }
        Denied::NoSuchKey => {
            "The organization has no such key in this mode; `rolecall-admin key list` shows those there are."
                .to_owned()
        }
        Denied::NoSuchMember => {
            "The organization has no such member; `rolecall-admin member list` shows those there are."
                .to_owned()
        }
        Denied::SlugTaken => "The slug is taken by another organization; choose one with --slug.".to_owned(),
        Denied::Exists => "The identifiers that were drawn are in use; run the command again.".to_owned(),
        Denied::Failed(Failure::Internal(text)) if text.contains("ResourceNotFoundException") => {
            format!("There is no table {table}; create it with `rolecall-admin table create`.")
        }
        Denied::Failed(Failure::Unavailable(text)) if text == "not reachable" => match endpoint {
            Some(endpoint) => format!("DynamoDB is not reachable at {endpoint}."),
            None => {
                "AWS is not reachable: set AWS_REGION and credentials, or name a DynamoDB with --endpoint."
                    .to_owned()
            }
        },
        Denied::TooManyKeys | Denied::EmailTaken | Denied::Failed(_) => {
            let text = denied.to_string();
            let mut letters = text.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            first.into_iter().chain(letters).chain(['.']).collect()
        }
    }
}
