//! Commands for operators: the quarantine, tasks, connected applications and the state of stored data.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use shared::id::Id;
use shared::model::TaskKind;

use super::tenant::OneMode;
use super::values::base_url;

#[derive(Debug, Subcommand)]
pub(crate) enum Operation {
    /// Check a deployment through its gateway and CDN: requests to each group of routes, and what becomes of headers
    ///
    /// With --bucket, it also stores and deletes a small file, to see which key encrypts it.
    #[command(after_help = "\
Example:
  rolecall-admin smoke https://api.example.com")]
    Smoke(Smoke),
    /// Handle items that cannot be read: list, show, move, restore, drop
    #[command(subcommand)]
    Quarantine(QuarantineCommand),
    /// Handle background tasks: list, drop
    #[command(subcommand)]
    Task(TaskCommand),
    /// Handle the applications that members have connected: list, revoke
    #[command(subcommand)]
    App(AppCommand),
    /// Handle webhook endpoints: list, show, disable, enable
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// Check that everything stored can be read, and that copies and counters agree with their records
    ///
    /// It changes nothing. The audit log and what expires are not checked.
    #[command(after_help = "\
Examples:
  rolecall-admin verify 243619432448124
  rolecall-admin verify --all --items-per-second 500 --json | jq .findings")]
    Verify(Selection),
    /// Write people in an older form, and missing and different copies and counters, again
    ///
    /// People who were stored by an earlier release are written as this one does: what they are found by, for example. Copies
    /// are entries in lists, searches and career pages. The service stays in use. A run that was interrupted goes on with the
    /// people who are left.
    Rebuild {
        #[command(flatten)]
        selection: Selection,
        /// Only report what would be written
        #[arg(long)]
        preview: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// List the webhook endpoints of an organization
    List {
        #[command(flatten)]
        tenant: OneMode,
    },
    /// Show a webhook endpoint, and its latest deliveries with the answers
    Show(OneWebhook),
    /// Stop sending events to a webhook endpoint
    Disable(OneWebhook),
    /// Send events to a webhook endpoint again, from the end of the feed on
    Enable(OneWebhook),
}

#[derive(Debug, Args)]
pub(crate) struct OneWebhook {
    #[command(flatten)]
    pub(crate) tenant: OneMode,
    /// The endpoint's identifier
    #[arg(value_name = "ENDPOINT")]
    pub(crate) id: Id,
}

#[derive(Debug, Subcommand)]
pub(crate) enum QuarantineCommand {
    /// List the items in quarantine
    List,
    /// Print an item with all of its attributes as JSON
    Show(StoredItem),
    /// Move an item to the quarantine, if this release cannot read it
    ///
    /// Jobs move unreadable tasks by themselves. Other unreadable items stay where they are, so that a newer release can
    /// still read them. Move one if nobody needs it there, for example because it is damaged.
    Move(StoredItem),
    /// Move an item back to its place, with corrections if it needs any
    ///
    /// The item must be readable then. Nothing is changed if another item has the key meanwhile.
    #[command(after_help = "\
Examples:
  rolecall-admin quarantine restore 'TASK#04#1' '001795165200#1#live#001795167000#call#1700000000000041'
  rolecall-admin quarantine restore '1#live#ROLE' 1700000000000011 --set status='\"open\"' --remove colour")]
    Restore {
        #[command(flatten)]
        item: StoredItem,
        /// A new value of an attribute, as JSON; repeat the option for several
        #[arg(long, value_name = "NAME=JSON", value_parser = assignment)]
        set: Vec<(String, serde_json::Value)>,
        /// An attribute to remove; repeat the option for several
        #[arg(long, value_name = "NAME")]
        remove: Vec<String>,
    },
    /// Delete an item in quarantine for ever
    Drop {
        #[command(flatten)]
        item: StoredItem,
        /// Delete it; without this option, the command only shows it
        #[arg(long)]
        yes: bool,
    },
}

/// The key that an item has, or had before it was moved.
#[derive(Debug, Args)]
pub(crate) struct StoredItem {
    /// The partition key
    #[arg(value_name = "PK")]
    pub(crate) pk: String,
    /// The range key
    #[arg(value_name = "SK")]
    pub(crate) sk: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// List the tasks that are due, of all organizations, oldest first
    ///
    /// The tasks function works on due tasks every minute, so a task that stays here fails each time. Its log has the reason.
    List {
        /// Also list the tasks that are due later
        #[arg(long)]
        all: bool,
    },
    /// Delete a task that can never succeed
    ///
    /// What the task was for is not done: a call is not made, a person is not erased. Find out why it fails first.
    Drop {
        #[command(flatten)]
        tenant: OneMode,
        /// The kind
        #[arg(value_name = "KIND", value_parser = task_kind())]
        kind: TaskKind,
        /// The identifier of what the task is about
        #[arg(value_name = "ID")]
        id: Id,
        /// Delete it; without this option, the command only shows it
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AppCommand {
    /// List the applications that members have connected, newest first
    List {
        #[command(flatten)]
        tenant: OneMode,
    },
    /// Disconnect an application, effective with its next request
    ///
    /// The webhook endpoints are disabled whose URL the application has chosen.
    Revoke {
        #[command(flatten)]
        tenant: OneMode,
        /// The identifier in the list
        #[arg(value_name = "ID")]
        id: Id,
    },
}

/// The deployment to check.
#[derive(Debug, Args)]
pub(crate) struct Smoke {
    /// The service's base URL
    #[arg(value_name = "URL", value_parser = base_url)]
    pub(crate) url: String,
}

/// What a maintenance command reads, and how fast.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// The organization's identifier
    #[arg(value_name = "ORGANIZATION_ID", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) organization: Option<Id>,
    /// All organizations
    #[arg(long)]
    pub(crate) all: bool,
    /// Continue an interrupted run after this organization, the last one that it named
    #[arg(long, value_name = "ORGANIZATION_ID", requires = "all")]
    pub(crate) after: Option<Id>,
    /// The average number of items to read in a second, so that the service has the rest of the table's capacity; an item that
    /// is written for people counts as four
    #[arg(long, value_name = "N", default_value = "1000", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) items_per_second: u32,
}

fn task_kind() -> impl TypedValueParser<Value = TaskKind> {
    PossibleValuesParser::new(TaskKind::ALL.map(TaskKind::as_str)).try_map(|word| word.parse::<TaskKind>())
}

fn assignment(argument: &str) -> Result<(String, serde_json::Value), String> {
    let (name, value) = argument.split_once('=').ok_or("must be NAME=JSON, such as status='\"open\"'")?;
    let value = serde_json::from_str(value)
        .map_err(|error| format!("the value of {name} is not JSON: {error}; put text in double quotes"))?;
    Ok((name.to_owned(), value))
}
