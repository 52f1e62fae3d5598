//! The command line: commands, arguments and help. This module parses arguments into domain values, so the commands
//! receive only valid ones.

mod conversion;
mod operations;
mod tenant;
mod values;

use std::fmt;

pub(crate) use conversion::{Conversion, NewImport, Reading};
pub(crate) use operations::{
    AppCommand, Operation, QuarantineCommand, Selection, Smoke, StoredItem, TaskCommand, WebhookCommand,
};
pub(crate) use tenant::OneMode;
use values::{base_url, endpoint, text};

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_secretsmanager::error::DisplayErrorContext;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use shared::clock::Timestamp;
use shared::id::Id;
use shared::mac_keys::MacKeys;
use shared::model::{
    AuditAction, AuditActorTerm, Country, Email, ErasureReason, ExportFormat, ExportKind, HoldReason,
    MemberRole, Name, Networks, Plan, Scope, Slug, Text, TimeZoneName,
};
use shared::providers::bucket::Bucket;
use shared::providers::client::HttpClient;
use shared::store::{Store, https_client};

use crate::secrets::{CREDENTIAL_KEYS, Secrets};

/// The maximum length of a slug in live mode. The slug in test mode is the same with `-test` appended.
const MAX_SLUG: usize = Slug::MAX - "-test".len();

/// Manages a Rolecall service: its table, organizations, members, API keys, channels and usage
#[derive(Debug, Parser)]
#[command(name = "rolecall-admin", version, after_help = EXAMPLES, subcommand_required = true)]
pub struct Cli {
    /// Name of the DynamoDB table
    #[arg(long, global = true, help_heading = GLOBAL, env = "TABLE_NAME", value_name = "NAME", default_value = "rolecall")]
    pub table: String,
    /// Use a DynamoDB endpoint that accepts any credentials, such as the local service's, instead of AWS
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "URL", value_parser = endpoint)]
    pub endpoint: Option<String>,
    /// Name of the bucket with uploaded files, for exports, erasures and deletions
    #[arg(long, global = true, help_heading = GLOBAL, env = "RESUME_BUCKET", value_name = "NAME")]
    pub bucket: Option<String>,
    /// Use an S3 endpoint other than the region's, such as the local service's
    #[arg(long, global = true, help_heading = GLOBAL, env = "RESUME_ENDPOINT", value_name = "URL", value_parser = endpoint)]
    pub bucket_endpoint: Option<String>,
    /// Name or ARN of the secret in Secrets Manager with the key that authenticates new API keys and links
    #[arg(long, global = true, help_heading = GLOBAL, env = "CREDENTIAL_SECRET", value_name = "NAME")]
    pub credential_secret: Option<String>,
    /// Print JSON
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub json: bool,
    /// The command
    #[command(subcommand)]
    pub(crate) command: Command,
}

const GLOBAL: &str = "Global options";

const EXAMPLES: &str = "\
Without --endpoint, it uses AWS, configured by the usual environment variables and files: AWS_PROFILE, AWS_REGION,
AWS_ACCESS_KEY_ID and so on. Exit codes: 0 success, 1 failure, 2 invalid usage.

No option takes a secret, because other users of a machine see command lines. Secrets are read from environment variables:
  CREDENTIAL_KEYS                  the keys that authenticate API keys and links, the newest first; instead of
                                   --credential-secret
  SEALING_KEYS                     the keys that encrypt stored secrets, as ID:KEY, the newest first
  X_ACCESS_TOKEN, X_REFRESH_TOKEN  the tokens of an account on X
  WHATSAPP_TOKEN                   the token of a WhatsApp number
  ROLECALL_KEY                     an API key, for smoke

Examples:
  rolecall-admin organization create \"Acme Ltd\" --plan pro
  rolecall-admin key create 243619432448124 --name \"Career site\" --scope roles:read
  rolecall-admin usage show 243619432448124 --days 7
  rolecall-admin organization list --json | jq -r '.[].slug'

  With the local service's database (the local service prints its URL):
  rolecall-admin --endpoint http://127.0.0.1:8000 organization list";

const CONVERSIONS: &str = "\
Examples:
  rolecall-admin convert people.xlsx --output people.ndjson --country DE
  rolecall-admin convert people.csv --output people.ndjson --date-format dmy --encoding windows-1250
  rolecall-admin convert people.csv --output people.ndjson --mapping columns.json
  rolecall-admin convert greenhouse --format harvest --output people.ndjson
  rolecall-admin convert merge.json --format merge --output people.ndjson

A mapping is the one of the report (with --json), with other fields:
  {\"header_row\": 1, \"columns\": [{\"header\": \"Telefon\", \"field\": \"phone\"}]}";

const IMPORTS: &str = "\
Examples:
  rolecall-admin import 243619432448124 people.csv --date-format dmy --tag imported --wait
  rolecall-admin import 243619432448124 people.xlsx --sheet Candidates --source Referral --run
  rolecall-admin import 243619432448124 people.csv --files resumes.zip --wait
  rolecall-admin import 243619432448124 people.ndjson --mode test --run --json | jq .counts";

const EXPORTS: &str = "\
Examples:
  rolecall-admin export 243619432448124 --format csv --kind candidates --wait
  rolecall-admin export 243619432448124 --format ndjson --wait --json | jq -r '.files[].url'";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create the DynamoDB table, or adopt a restored one: create, adopt
    #[command(subcommand)]
    Table(TableCommand),
    /// Manage organizations: create, list, show, plan, settings, suspend, resume, export, delete
    #[command(subcommand)]
    Organization(OrganizationCommand),
    /// Manage members, who sign in to the dashboard: create, list, link, reset-second-factor, unlock, remove
    #[command(subcommand)]
    Member(MemberCommand),
    /// Manage API keys: create, list, rotate, revoke
    #[command(subcommand)]
    Key(KeyCommand),
    /// Manage accounts on X and WhatsApp: connect, show, disconnect
    #[command(subcommand)]
    Channel(ChannelCommand),
    /// Handle the data of one person: export, erase, hold, lift-hold
    #[command(subcommand)]
    Person(PersonCommand),
    /// Repeat erasures after the table was restored from a backup: replay
    #[command(subcommand)]
    Erasures(ErasuresCommand),
    #[command(flatten)]
    Operation(Operation),
    /// Show the number of requests that an organization made
    #[command(subcommand)]
    Usage(UsageCommand),
    /// Encrypt the stored secrets of all organizations with the newest key: tokens of accounts and second factors
    ///
    /// Run it after the sealing key was rotated, before its previous value is removed. The service stays in use. A run
    /// that was interrupted can be repeated.
    #[command(after_help = "\
Example:
  SEALING_KEYS=2:NEW,1:OLD rolecall-admin reseal --preview")]
    Reseal(Resealing),
    /// Read a file of people, such as a spreadsheet, and write the rows of an import: one JSON document for each person
    ///
    /// It prints what is wrong with a row, and what a program may have changed on the way. Nothing is sent anywhere. The
    /// names of the columns are understood in plain English and as Greenhouse, Lever and Recruitee write them; a mapping
    /// tells the others. CSV, xlsx and NDJSON are told apart by the end of the file's name.
    #[command(after_help = CONVERSIONS)]
    Convert(Conversion),
    /// Import a file of people into an organization: CSV, xlsx or NDJSON
    ///
    /// The service's tasks check every row first, which changes nothing; `convert` reads the same rows without the service.
    /// With --run, valid rows are then carried out, and invalid ones are skipped. Without it, a member or an API key runs the
    /// import within seven days. An import can be undone for 30 days.
    #[command(after_help = IMPORTS)]
    Import(NewImport),
    /// Write an organization's data into files: people, applications, roles and more
    ///
    /// The service's tasks write the files, which are kept for 24 hours. People are rows that `import` takes. `organization export`
    /// prints everything that is stored instead, as the table has it.
    #[command(after_help = EXPORTS)]
    Export(NewExport),
    /// Print an organization's audit log: who did what, from where and when, newest first
    ///
    /// With --json, each line is a JSON document. Times are in UTC. The live log also has the sign-ins and the changes to
    /// members.
    #[command(after_help = "\
Examples:
  rolecall-admin audit 243619432448124 --from 2026-11-01T00:00:00Z
  rolecall-admin audit 243619432448124 --actor member:243619436539905
  rolecall-admin audit 243619432448124 --action candidate.exported --json")]
    Audit(Audit),
}

#[derive(Debug, Args)]
pub(crate) struct Resealing {
    /// Only count the secrets, and change nothing
    #[arg(long)]
    pub(crate) preview: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Audit {
    #[command(flatten)]
    pub(crate) tenant: OneMode,
    /// Only what this actor did
    #[arg(
        long,
        conflicts_with = "action",
        help = "Only what this actor did: member:ID, api_key:ID, app:ID (the grant's), operator, system or unknown"
    )]
    pub(crate) actor: Option<AuditActorTerm>,
    /// Only acts of this kind
    #[arg(long, value_parser = audit_action(), hide_possible_values = true)]
    pub(crate) action: Option<AuditAction>,
    /// Only entries of this time or later
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<Timestamp>,
    /// Only entries before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<Timestamp>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TableCommand {
    /// Switch on what a restored table lacks, and check it
    ///
    /// A table that DynamoDB restores from a backup has no stream, no expiry, no recovery and no protection. The output has
    /// the ARN of the stream, which a deployment with this table needs. It can be repeated.
    #[command(after_help = "\
Example:
  rolecall-admin --table rolecall-restored table adopt")]
    Adopt,
    /// Create the table if it does not exist
    ///
    /// A deployment of template.yaml already has a table. This command is for other DynamoDB endpoints.
    #[command(after_help = "\
Example:
  rolecall-admin --endpoint http://127.0.0.1:8000 table create")]
    Create,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OrganizationCommand {
    /// Create an organization, with a live and a test mode
    ///
    /// The slug is part of the career pages' URLs and never changes. The test mode's slug ends in -test.
    #[command(after_help = "\
Examples:
  rolecall-admin organization create Acme --plan free
  rolecall-admin organization create \"Acme Ltd\" --plan pro --slug acme")]
    Create(NewOrganization),
    /// List all organizations, newest first
    List,
    /// Show an organization
    Show {
        /// The organization's identifier
        #[arg(value_name = "ID")]
        id: Id,
    },
    /// Change an organization's plan, effective with its next request
    #[command(after_help = "\
Example:
  rolecall-admin organization plan 243619432448124 pro")]
    Plan {
        /// The organization's identifier
        #[arg(value_name = "ID")]
        id: Id,
        /// The plan: free allows 100 requests a day in each mode, pro has no limit
        #[arg(value_parser = plan())]
        plan: Plan,
    },
    /// Show an organization's country, time zone and contact e-mail address, or change them
    ///
    /// Without an option, nothing changes. Each mode has its own settings.
    #[command(after_help = "\
Examples:
  rolecall-admin organization settings 243619432448124
  rolecall-admin organization settings 243619432448124 --country DE --time-zone Europe/Berlin
  rolecall-admin organization settings 243619432448124 --mode test --no-contact-email")]
    Settings(NewSettings),
    /// Suspend an organization: its requests are rejected with 403 until it is resumed, and voice screens are cancelled
    Suspend {
        /// The organization's identifier
        #[arg(value_name = "ID")]
        id: Id,
    },
    /// End a suspension
    Resume {
        /// The organization's identifier
        #[arg(value_name = "ID")]
        id: Id,
    },
    /// Print everything that is stored about an organization in both modes, one JSON document per line
    ///
    /// Each line has a type, a mode and the data: the organization, its career site, channels, members, API keys,
    /// connected applications, audit log, usage, roles, job postings, posts to X, and every candidate as in `person export`.
    /// Credentials are not stored and not part of the export.
    #[command(after_help = "\
Example:
  rolecall-admin organization export 243619432448124 --base-url https://api.example.com > acme.jsonl")]
    Export(Export),
    /// Delete an organization with all its data in both modes
    ///
    /// The organization is suspended first. A deletion that was interrupted can be repeated. Only the identifier and
    /// the time of the deletion are kept. Receipts of idempotency keys and expected uploads cannot be found; they are of no use without the organization, and expire within 24 hours.
    #[command(after_help = "\
Example:
  rolecall-admin organization delete 243619432448124 --confirm acme --bucket rolecall-resumes")]
    Delete(Deletion),
}

#[derive(Debug, Args)]
pub(crate) struct NewSettings {
    #[command(flatten)]
    pub(crate) tenant: OneMode,
    /// The country that applies where nothing else names one, such as DE
    #[arg(long, value_name = "CODE")]
    pub(crate) country: Option<Country>,
    /// Remove the country
    #[arg(long, conflicts_with = "country")]
    pub(crate) no_country: bool,
    /// The time zone of dates without a time zone of their own, such as Europe/Berlin
    #[arg(long, value_name = "NAME")]
    pub(crate) time_zone: Option<TimeZoneName>,
    /// The e-mail address that candidates can write to about their data
    #[arg(long, value_name = "EMAIL")]
    pub(crate) contact_email: Option<Email>,
    /// Remove the contact e-mail address
    #[arg(long, conflicts_with = "contact_email")]
    pub(crate) no_contact_email: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Deletion {
    /// The organization's identifier
    #[arg(value_name = "ID")]
    pub(crate) id: Id,
    /// The organization's slug in live mode, typed again
    #[arg(long, value_name = "SLUG", value_parser = slug)]
    pub(crate) confirm: Slug,
    /// The service has no bucket, so there are no uploaded files to delete
    #[arg(long, conflicts_with = "bucket")]
    pub(crate) no_files: bool,
}

#[derive(Debug, Args)]
pub(crate) struct NewExport {
    #[command(flatten)]
    pub(crate) tenant: OneMode,
    /// The format of the files: ndjson or csv
    #[arg(long)]
    pub(crate) format: ExportFormat,
    /// What to export, such as candidates; repeat the option for several [default: everything]
    #[arg(long = "kind", value_name = "KIND")]
    pub(crate) kinds: Vec<ExportKind>,
    /// Export only what is about this role
    #[arg(long, value_name = "ROLE_ID")]
    pub(crate) role: Option<Id>,
    /// Wait until the files are written, and print links to them
    #[arg(long)]
    pub(crate) wait: bool,
    /// The service's base URL, for the links to job postings
    #[arg(long, value_name = "URL", env = "BASE_URL", value_parser = base_url)]
    pub(crate) base_url: String,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The organization's identifier
    #[arg(value_name = "ID")]
    pub(crate) id: Id,
    /// The service's base URL, for the links to job postings
    #[arg(long, value_name = "URL", env = "BASE_URL", value_parser = base_url)]
    pub(crate) base_url: String,
}

#[derive(Debug, Args)]
pub(crate) struct NewOrganization {
    /// The display name, at most 200 characters
    #[arg(value_parser = text::<200>)]
    pub(crate) name: Text<200>,
    /// The plan: free allows 100 requests a day in each mode, pro has no limit
    #[arg(long, value_parser = plan())]
    pub(crate) plan: Plan,
    /// The slug [default: derived from the name, with a number if it is taken]
    #[arg(long, value_parser = slug)]
    pub(crate) slug: Option<Slug>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemberCommand {
    /// Create a member and print a single-use link to set the password
    #[command(after_help = "\
Example:
  rolecall-admin member create 243619432448124 --name \"Ada Lovelace\" --email ada@acme.example --role owner \\
    --base-url https://api.example.com")]
    Create(NewMember),
    /// List an organization's members, newest first
    List {
        /// The organization's identifier
        #[arg(value_name = "ORGANIZATION_ID")]
        organization: Id,
    },
    /// Print a new single-use link to set the password, which replaces any earlier link
    Link(NewLink),
    /// Remove a member's second factor, so that the password alone is enough to sign in
    ///
    /// This removes the authenticator app, the recovery codes and all passkeys.
    ///
    /// Owners do this for other members in the dashboard. Make sure that the request really comes from the member, who
    /// gets a notice at the next sign-in.
    ResetSecondFactor {
        /// The organization's identifier
        #[arg(value_name = "ORGANIZATION_ID")]
        organization: Id,
        /// The member's identifier
        #[arg(value_name = "MEMBER_ID")]
        id: Id,
    },
    /// Allow further attempts to sign in after too many wrong passwords or codes
    ///
    /// The limits end by themselves after 15 minutes. Make sure that the request really comes from the member.
    Unlock {
        /// The organization's identifier
        #[arg(value_name = "ORGANIZATION_ID")]
        organization: Id,
        /// The member's identifier
        #[arg(value_name = "MEMBER_ID")]
        id: Id,
    },
    /// Remove a member, end all their sessions, disconnect their applications and revoke their API keys
    ///
    /// The webhook endpoints are disabled whose URL the member, or a key or an application of the member, has chosen.
    Remove {
        /// The organization's identifier
        #[arg(value_name = "ORGANIZATION_ID")]
        organization: Id,
        /// The member's identifier
        #[arg(value_name = "MEMBER_ID")]
        id: Id,
        /// Keep the API keys that the member created, and the webhook endpoints
        #[arg(long)]
        keep_keys: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct NewMember {
    /// The organization's identifier
    #[arg(value_name = "ORGANIZATION_ID")]
    pub(crate) organization: Id,
    /// The display name, at most 200 characters
    #[arg(long, value_parser = text::<200>)]
    pub(crate) name: Name,
    /// The e-mail address to sign in with; it must be unique in the organization
    #[arg(long)]
    pub(crate) email: Email,
    /// The member's role; owners also manage members
    #[arg(long, value_parser = member_role())]
    pub(crate) role: MemberRole,
    /// The service's base URL, for the link
    #[arg(long, value_name = "URL", env = "BASE_URL", value_parser = base_url)]
    pub(crate) base_url: String,
}

#[derive(Debug, Args)]
pub(crate) struct NewLink {
    /// The organization's identifier
    #[arg(value_name = "ORGANIZATION_ID")]
    pub(crate) organization: Id,
    /// The member's identifier
    #[arg(value_name = "MEMBER_ID")]
    pub(crate) id: Id,
    /// The service's base URL, for the link
    #[arg(long, value_name = "URL", env = "BASE_URL", value_parser = base_url)]
    pub(crate) base_url: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create an API key and print it
    ///
    /// Only a hash of the key is stored. If it is lost, revoke it and create another.
    #[command(after_help = "\
Examples:
  rolecall-admin key create 243619432448124 --name \"Career site\" --scope roles:read
  rolecall-admin key create 243619432448124 --name Trial --mode test --expires-in-days 30
  KEY=$(rolecall-admin key create 243619432448124 --name CI --mode test --json | jq -r .key)")]
    Create(NewKey),
    /// List an organization's keys, including revoked ones, newest first
    List {
        #[command(flatten)]
        tenant: OneMode,
    },
    /// Create a key that replaces another one, which stays valid for some time
    ///
    /// The new key has the same name, scopes and networks, and lives as long as the replaced one was meant to.
    #[command(after_help = "\
Example:
  rolecall-admin key rotate 243619432448124 243619436539905 --overlap-hours 1")]
    Rotate {
        #[command(flatten)]
        tenant: OneMode,
        /// The identifier of the key to replace
        #[arg(value_name = "KEY_ID")]
        id: Id,
        /// Hours for which the replaced key stays valid
        #[arg(long, value_name = "N", default_value = "24", value_parser = clap::value_parser!(u32).range(1..=168))]
        overlap_hours: u32,
    },
    /// Revoke a key, effective with the next request
    ///
    /// The webhook endpoints are disabled whose URL the key has chosen.
    #[command(after_help = "\
Example:
  rolecall-admin key revoke 243619432448124 243619436539905")]
    Revoke {
        #[command(flatten)]
        tenant: OneMode,
        /// The key's identifier
        #[arg(value_name = "KEY_ID")]
        id: Id,
    },
}

#[derive(Debug, Args)]
pub(crate) struct NewKey {
    #[command(flatten)]
    pub(crate) tenant: OneMode,
    /// A name for the key, at most 100 characters
    #[arg(long, value_parser = text::<100>)]
    pub(crate) name: Text<100>,
    /// A scope of the key; repeat the option for several scopes [default: all except candidates:erase, audit:read, data:import, data:export, events:read and webhooks:*]
    #[arg(long = "scope", value_name = "SCOPE", value_parser = scope())]
    pub(crate) scopes: Vec<Scope>,
    /// IP addresses and networks from which the key may be used, separated by commas [default: all]
    #[arg(long, value_name = "NETWORKS", value_parser = Networks::parse, default_value = "", hide_default_value = true)]
    pub(crate) networks: Networks,
    /// Days until the key expires [default: never]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3660))]
    pub(crate) expires_in_days: Option<u32>,
}

/// A channel, as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Channel {
    X,
    #[value(name = "whatsapp")]
    WhatsApp,
}

impl Channel {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::X => "x",
            Self::WhatsApp => "whatsapp",
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChannelCommand {
    /// Connect an X account, replacing any other
    ///
    /// The tokens come from X's authorization code flow, with the scopes tweet.read, tweet.write, users.read and
    /// offline.access. They are encrypted before they are stored.
    #[command(after_help = "\
Example, with X_ACCESS_TOKEN, X_REFRESH_TOKEN and SEALING_KEYS set:
  rolecall-admin channel connect-x 243619432448124 --username acme")]
    ConnectX(NewXAccount),
    /// Connect a WhatsApp number, replacing any other
    ///
    /// The token belongs to a system user with permission to manage the business. It is encrypted before it is stored.
    #[command(
        name = "connect-whatsapp",
        after_help = "\
Example, with WHATSAPP_TOKEN and SEALING_KEYS set:
  rolecall-admin channel connect-whatsapp 243619432448124 --phone-number-id 106540352242922"
    )]
    ConnectWhatsApp(NewWhatsAppNumber),
    /// Disconnect a channel and delete its tokens
    Disconnect {
        /// The organization's identifier
        #[arg(value_name = "ORGANIZATION_ID")]
        organization: Id,
        /// The channel
        channel: Channel,
    },
    /// Show both channels with their last known status
    Show {
        /// The organization's identifier
        #[arg(value_name = "ORGANIZATION_ID")]
        organization: Id,
    },
}

#[derive(Debug, Args)]
pub(crate) struct NewXAccount {
    /// The organization's identifier
    #[arg(value_name = "ORGANIZATION_ID")]
    pub(crate) organization: Id,
    /// The account's username on X
    #[arg(long, value_name = "NAME", value_parser = username)]
    pub(crate) username: String,
    /// Seconds until the access token expires
    #[arg(long, value_name = "N", default_value_t = 7200)]
    pub(crate) expires_in_seconds: u32,
}

#[derive(Debug, Args)]
pub(crate) struct NewWhatsAppNumber {
    /// The organization's identifier
    #[arg(value_name = "ORGANIZATION_ID")]
    pub(crate) organization: Id,
    /// WhatsApp's identifier for the number, not the number itself
    #[arg(long, value_name = "ID", value_parser = digits)]
    pub(crate) phone_number_id: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PersonCommand {
    /// Print everything that is stored about a person, as JSON
    #[command(after_help = "\
Examples:
  rolecall-admin person export 243619432448124 --email ada@example.com > ada.json
  rolecall-admin person export 243619432448124 --id 243621642240456 --mode test")]
    Export(OnePerson),
    /// Erase a person for good
    ///
    /// The person disappears immediately. The service's tasks remove the data, the files, and the calls at the voice
    /// provider. Only identifiers, the time and the reason are kept, in the table and in the bucket.
    #[command(after_help = "\
Example:
  rolecall-admin person erase 243619432448124 --email ada@example.com --bucket rolecall-resumes")]
    Erase(ErasedPerson),
    /// Set a legal hold on a person: while it is set, nobody can erase the person or delete the organization
    #[command(after_help = "\
Example:
  rolecall-admin person hold 243619432448124 --id 243621642240456 --reason \"Case 17\"")]
    Hold(HeldPerson),
    /// Lift the legal hold on a person
    LiftHold(OnePerson),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ErasuresCommand {
    /// Erase again whoever a restored backup of the table has brought back
    ///
    /// The bucket of uploaded files has a tombstone of each erasure. The command reads all of them. It can be repeated.
    #[command(after_help = "\
Example:
  rolecall-admin --table rolecall-restored --bucket rolecall-resumes erasures replay")]
    Replay,
}

#[derive(Debug, Args)]
pub(crate) struct ErasedPerson {
    #[command(flatten)]
    pub(crate) person: OnePerson,
    /// Why the person is erased
    #[arg(long, value_parser = erasure_reason(), default_value = "request")]
    pub(crate) reason: ErasureReason,
    /// The service has no bucket, so there are no uploaded files to delete
    #[arg(long)]
    pub(crate) no_files: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HeldPerson {
    #[command(flatten)]
    pub(crate) person: OnePerson,
    /// The reason
    #[arg(long, value_name = "TEXT", value_parser = hold_reason)]
    pub(crate) reason: HoldReason,
}

#[derive(Debug, Args)]
#[group(id = "person", required = true, multiple = false, args = ["id", "email"])]
pub(crate) struct OnePerson {
    #[command(flatten)]
    pub(crate) tenant: OneMode,
    /// The candidate's identifier
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<Id>,
    /// The candidate's e-mail address
    #[arg(long)]
    pub(crate) email: Option<Email>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum UsageCommand {
    /// List today's requests of all organizations, the busiest first
    Fleet {
        /// The maximum number of rows
        #[arg(long, value_name = "N", default_value = "20")]
        top: usize,
    },
    /// Show the number of requests that an organization made today and on earlier days
    ///
    /// Days are UTC dates. A day appears in the history once the nightly usage job has run.
    #[command(after_help = "\
Example:
  rolecall-admin usage show 243619432448124 --mode test --days 7")]
    Show {
        #[command(flatten)]
        tenant: OneMode,
        /// Number of earlier days to show
        #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3660))]
        days: u32,
    },
}

impl Cli {
    /// The bucket that the arguments select.
    pub async fn bucket(&self) -> Result<Option<Bucket>, String> {
        match self.bucket.as_deref().filter(|name| !name.is_empty()) {
            Some(name) => {
                let config = aws().await;
                let credentials =
                    config.credentials_provider().ok_or("there are no credentials for the bucket")?;
                let region = config.region().ok_or("there is no region for the bucket")?.as_ref();
                let endpoint = self.bucket_endpoint.as_deref();
                Bucket::new(HttpClient::new()?, credentials, name, region, endpoint).map(Some)
            }
            None => Ok(None),
        }
    }

    /// The secrets of the command. Without a variable, the keys that authenticate credentials are read from the secret in
    /// Secrets Manager that the arguments name, if the command needs them.
    pub async fn secrets(&self, variables: Secrets) -> Result<Secrets, String> {
        let creates_credentials = matches!(
            self.command,
            Command::Key(KeyCommand::Create(_) | KeyCommand::Rotate { .. })
                | Command::Member(MemberCommand::Create(_) | MemberCommand::Link(_))
        );
        match &self.credential_secret {
            Some(name) if creates_credentials && !variables.has(CREDENTIAL_KEYS) => {
                let keys = read_secret(name).await?;
                let invalid = |error| format!("The secret {name} is not a key: {error}.");
                MacKeys::parse(&keys).map_err(invalid)?;
                Ok(variables.with(CREDENTIAL_KEYS, &keys))
            }
            _ => Ok(variables),
        }
    }

    /// The store for the table that the arguments select.
    pub async fn store(&self) -> Store {
        match &self.endpoint {
            Some(endpoint) => Store::at_endpoint(endpoint, &self.table),
            None => Store::from_config((&aws().await).into(), &self.table),
        }
    }
}

/// The account and the region that the SDK finds in environment variables, profiles and so on.
async fn aws() -> SdkConfig {
    aws_config::defaults(BehaviorVersion::latest()).http_client(https_client()).load().await
}

/// Reads a key from Secrets Manager.
async fn read_secret(name: &str) -> Result<String, String> {
    let config = aws().await;
    let answer = aws_sdk_secretsmanager::Client::new(&config).get_secret_value().secret_id(name).send().await;
    let failed = |reason: &dyn fmt::Display| format!("The secret {name} could not be read: {reason}.");
    let answer = answer.map_err(|error| failed(&DisplayErrorContext(error)))?;
    answer.secret_string.ok_or_else(|| failed(&"it is not text"))
}

fn slug(argument: &str) -> Result<Slug, String> {
    let slug = Slug::of(argument, "");
    if argument.is_empty() || argument.len() > MAX_SLUG || slug.as_str() != argument {
        return Err(format!(
            "must be at most {MAX_SLUG} lower-case letters, digits and single inner hyphens, with a letter among them"
        ));
    }
    Ok(slug)
}

fn username(argument: &str) -> Result<String, String> {
    let name = argument.strip_prefix('@').unwrap_or(argument);
    let in_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if (1..=15).contains(&name.len()) && name.bytes().all(in_name) {
        Ok(name.to_owned())
    } else {
        Err("must be 1 to 15 letters, digits and underscores".to_owned())
    }
}

fn digits(argument: &str) -> Result<String, String> {
    if (1..=20).contains(&argument.len()) && argument.bytes().all(|byte| byte.is_ascii_digit()) {
        Ok(argument.to_owned())
    } else {
        Err("must be 1 to 20 digits".to_owned())
    }
}

fn member_role() -> impl TypedValueParser<Value = MemberRole> {
    PossibleValuesParser::new(MemberRole::ALL.map(MemberRole::as_str))
        .try_map(|name| name.parse::<MemberRole>())
}

fn hold_reason(argument: &str) -> Result<HoldReason, String> {
    HoldReason::parse(argument)?.ok_or_else(|| "can't be blank".to_owned())
}

fn audit_action() -> impl TypedValueParser<Value = AuditAction> {
    PossibleValuesParser::new(AuditAction::ALL.map(AuditAction::as_str))
        .try_map(|name| name.parse::<AuditAction>())
}

fn erasure_reason() -> impl TypedValueParser<Value = ErasureReason> {
    PossibleValuesParser::new(ErasureReason::ALL.map(ErasureReason::as_str))
        .try_map(|name| name.parse::<ErasureReason>())
}

fn plan() -> impl TypedValueParser<Value = Plan> {
    PossibleValuesParser::new(Plan::ALL.map(Plan::as_str)).try_map(|name| name.parse::<Plan>())
}

fn scope() -> impl TypedValueParser<Value = Scope> {
    PossibleValuesParser::new(Scope::ALL.map(Scope::as_str)).try_map(|name| name.parse::<Scope>())
}
