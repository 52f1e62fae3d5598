//! The command line: commands, their arguments and the help that teaches them. Arguments are parsed into domain values
//! here, so that a command never sees a wrong one.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use shared::id::Id;
use shared::model::{Email, MemberRole, Mode, Name, Plan, Scope, Slug, Tenant, Text};
use shared::sealed::SealingKeys;
use shared::secret::Secret;
use shared::store::Store;

/// The longest slug that can be asked for: the test copy's is the same with `-test` behind it.
const LONGEST_SLUG: usize = Slug::MAX - "-test".len();

/// Administers a Rolecall service: its table, organizations, members, API keys, channels and usage.
#[derive(Debug, Parser)]
#[command(name = "rolecall-admin", version, after_help = EXAMPLES, subcommand_required = true)]
pub struct Cli {
    /// The DynamoDB table
    #[arg(long, global = true, help_heading = GLOBAL, env = "TABLE_NAME", value_name = "NAME", default_value = "rolecall")]
    pub table: String,
    /// A DynamoDB that takes any credentials, such as the local service's, instead of AWS
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "URL", value_parser = endpoint)]
    pub endpoint: Option<String>,
    /// Answer in JSON
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub json: bool,
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
}

const GLOBAL: &str = "Options of every command";

const EXAMPLES: &str = "\
Without --endpoint it works on AWS, with the usual variables and files: AWS_PROFILE, AWS_REGION,
AWS_ACCESS_KEY_ID and so on. Exit codes: 0 done, 1 not done, 2 wrong usage.

Examples:
  rolecall-admin organization create \"Acme Ltd\" --plan pro
  rolecall-admin key create 243619432448124 --name \"Career site\" --scope roles:read
  rolecall-admin usage show 243619432448124 --days 7
  rolecall-admin organization list --json | jq -r '.[].slug'

  On the local service's database (it prints the address):
  rolecall-admin --endpoint http://127.0.0.1:8000 organization list";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The DynamoDB table
    #[command(subcommand)]
    Table(TableCommand),
    /// Organizations: create, list, plan, suspension
    #[command(subcommand)]
    Organization(OrganizationCommand),
    /// Members, who sign in to the dashboard: create, list, link, remove
    #[command(subcommand)]
    Member(MemberCommand),
    /// API keys: create, list, revoke
    #[command(subcommand)]
    Key(KeyCommand),
    /// Accounts on X and WhatsApp: connect, show, disconnect
    #[command(subcommand)]
    Channel(ChannelCommand),
    /// Requests counted
    #[command(subcommand)]
    Usage(UsageCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum TableCommand {
    /// Create the table, unless it exists
    ///
    /// A deployment of the template has its table already; this is for a DynamoDB elsewhere.
    #[command(after_help = "\
Example:
  rolecall-admin --endpoint http://127.0.0.1:8000 table create")]
    Create,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OrganizationCommand {
    /// Create an organization, with a live and a test mode
    ///
    /// The slug is its part of the career pages' address and never changes; the test mode's ends in -test.
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
    /// Put an organization on another plan, from its next request on
    #[command(after_help = "\
Example:
  rolecall-admin organization plan 243619432448124 pro")]
    Plan {
        /// The organization's identifier
        #[arg(value_name = "ID")]
        id: Id,
        /// The plan: free has 100 requests a day in each mode, pro as many as one likes
        #[arg(value_parser = plan())]
        plan: Plan,
    },
    /// Refuse all of an organization's requests with 403, from the next one on
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
}

#[derive(Debug, Args)]
pub(crate) struct NewOrganization {
    /// The name that people read, at most 200 characters
    #[arg(value_parser = text::<200>)]
    pub(crate) name: Text<200>,
    /// The plan: free has 100 requests a day in each mode, pro as many as one likes
    #[arg(long, value_parser = plan())]
    pub(crate) plan: Plan,
    /// The slug [default: the name's, numbered while it is taken]
    #[arg(long, value_parser = slug)]
    pub(crate) slug: Option<Slug>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemberCommand {
    /// Create a member and print the link that sets the password, once
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
    /// Print a link that sets a new password, in place of any before
    Link(NewLink),
    /// Remove a member: every session and connected application of theirs ends
    Remove {
        /// The organization's identifier
        #[arg(value_name = "ORGANIZATION_ID")]
        organization: Id,
        /// The member's identifier
        #[arg(value_name = "MEMBER_ID")]
        id: Id,
    },
}

#[derive(Debug, Args)]
pub(crate) struct NewMember {
    /// The organization's identifier
    #[arg(value_name = "ORGANIZATION_ID")]
    pub(crate) organization: Id,
    /// The name that others see, at most 200 characters
    #[arg(long, value_parser = text::<200>)]
    pub(crate) name: Name,
    /// What the member signs in with; it can belong to one member of the whole service
    #[arg(long)]
    pub(crate) email: Email,
    /// What the member may do: owners also manage members
    #[arg(long, value_parser = member_role())]
    pub(crate) role: MemberRole,
    /// Where the service is, for the link
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
    /// Where the service is, for the link
    #[arg(long, value_name = "URL", env = "BASE_URL", value_parser = base_url)]
    pub(crate) base_url: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create an API key and print it, once
    ///
    /// Only a hash of the key is stored: whoever loses it revokes it and creates another.
    #[command(after_help = "\
Examples:
  rolecall-admin key create 243619432448124 --name \"Career site\" --scope roles:read
  rolecall-admin key create 243619432448124 --name Trial --mode test --expires-in-days 30
  KEY=$(rolecall-admin key create 243619432448124 --name CI --mode test --json | jq -r .key)")]
    Create(NewKey),
    /// List an organization's keys, revoked ones included, newest first
    List {
        #[command(flatten)]
        tenant: OneMode,
    },
    /// Refuse a key, from the next request on
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
    /// What its owner calls the key, at most 100 characters
    #[arg(long, value_parser = text::<100>)]
    pub(crate) name: Text<100>,
    /// What the key may do; give it several times for several scopes [default: all]
    #[arg(long = "scope", value_name = "SCOPE", value_parser = scope())]
    pub(crate) scopes: Vec<Scope>,
    /// Refuse the key after this many days [default: never]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3660))]
    pub(crate) expires_in_days: Option<u32>,
}

/// A channel, as it is typed.
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
    /// Connect an account on X, in place of any other
    ///
    /// The tokens are those of X's authorization code flow, with the scopes tweet.read, tweet.write, users.read and
    /// offline.access. They are sealed before they are stored. Set them as variables: what is typed as an option can
    /// be seen by others on the machine.
    #[command(after_help = "\
Example, with X_ACCESS_TOKEN, X_REFRESH_TOKEN and SEALING_KEYS set:
  rolecall-admin channel connect-x 243619432448124 --username acme")]
    ConnectX(NewXAccount),
    /// Connect a WhatsApp number, in place of any other
    ///
    /// The token is a system user's, with the permission to manage the business. It is sealed before it is stored.
    #[command(
        name = "connect-whatsapp",
        after_help = "\
Example, with WHATSAPP_TOKEN and SEALING_KEYS set:
  rolecall-admin channel connect-whatsapp 243619432448124 --phone-number-id 106540352242922"
    )]
    ConnectWhatsApp(NewWhatsAppNumber),
    /// Forget a channel's account and its tokens
    Disconnect {
        /// The organization's identifier
        #[arg(value_name = "ORGANIZATION_ID")]
        organization: Id,
        /// The channel
        channel: Channel,
    },
    /// Show both channels, as they were last known
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
    /// The account's name on X
    #[arg(long, value_name = "NAME", value_parser = username)]
    pub(crate) username: String,
    /// Lets us post for the account
    #[arg(long, value_name = "TOKEN", env = "X_ACCESS_TOKEN", hide_env_values = true, value_parser = token)]
    pub(crate) access_token: Secret,
    /// Gives the next pair of tokens
    #[arg(long, value_name = "TOKEN", env = "X_REFRESH_TOKEN", hide_env_values = true, value_parser = token)]
    pub(crate) refresh_token: Secret,
    /// How long the access token is still good
    #[arg(long, value_name = "N", default_value_t = 7200)]
    pub(crate) expires_in_seconds: u32,
    /// The functions' sealing keys
    #[arg(long, value_name = "ID:KEY", env = "SEALING_KEYS", hide_env_values = true, value_parser = SealingKeys::parse)]
    pub(crate) sealing_keys: SealingKeys,
}

#[derive(Debug, Args)]
pub(crate) struct NewWhatsAppNumber {
    /// The organization's identifier
    #[arg(value_name = "ORGANIZATION_ID")]
    pub(crate) organization: Id,
    /// The number's identifier at WhatsApp, not the number itself
    #[arg(long, value_name = "ID", value_parser = digits)]
    pub(crate) phone_number_id: String,
    /// Lets us ask how the number is doing
    #[arg(long, value_name = "TOKEN", env = "WHATSAPP_TOKEN", hide_env_values = true, value_parser = token)]
    pub(crate) token: Secret,
    /// The functions' sealing keys
    #[arg(long, value_name = "ID:KEY", env = "SEALING_KEYS", hide_env_values = true, value_parser = SealingKeys::parse)]
    pub(crate) sealing_keys: SealingKeys,
}

#[derive(Debug, Subcommand)]
pub(crate) enum UsageCommand {
    /// Show an organization's requests: today's and the days' before
    ///
    /// Days are UTC dates. A finished day is in the history once the usage reset job has run.
    #[command(after_help = "\
Example:
  rolecall-admin usage show 243619432448124 --mode test --days 7")]
    Show {
        #[command(flatten)]
        tenant: OneMode,
        /// How many days before today
        #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3660))]
        days: u32,
    },
}

#[derive(Debug, Args)]
pub(crate) struct OneMode {
    /// The organization's identifier
    #[arg(value_name = "ORGANIZATION_ID")]
    organization: Id,
    /// Which of the organization's two copies
    #[arg(long, value_parser = mode(), default_value = "live")]
    mode: Mode,
}

impl OneMode {
    pub(crate) const fn tenant(&self) -> Tenant {
        Tenant { organization: self.organization, mode: self.mode }
    }
}

impl Cli {
    /// The table that the arguments name.
    pub async fn store(&self) -> Store {
        match &self.endpoint {
            Some(endpoint) => Store::at_endpoint(endpoint, &self.table),
            None => Store::from_default_chain(&self.table).await,
        }
    }
}

fn endpoint(given: &str) -> Result<String, String> {
    let rest = given.strip_prefix("http://").or_else(|| given.strip_prefix("https://"));
    match rest {
        Some(rest) if !rest.is_empty() => Ok(given.to_owned()),
        _ => Err("must begin with http:// or https://".to_owned()),
    }
}

fn base_url(given: &str) -> Result<String, String> {
    endpoint(given.trim_end_matches('/'))
}

fn text<const MAX: usize>(given: &str) -> Result<Text<MAX>, String> {
    Text::parse(given)?.ok_or_else(|| "can't be blank".to_owned())
}

fn slug(given: &str) -> Result<Slug, String> {
    let slug = Slug::of(given, "");
    if given.is_empty() || given.len() > LONGEST_SLUG || slug.as_str() != given {
        return Err(format!(
            "must be at most {LONGEST_SLUG} lower-case letters, digits and single inner hyphens, with a letter among them"
        ));
    }
    Ok(slug)
}

fn username(given: &str) -> Result<String, String> {
    let name = given.strip_prefix('@').unwrap_or(given);
    let in_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if (1..=15).contains(&name.len()) && name.bytes().all(in_name) {
        Ok(name.to_owned())
    } else {
        Err("must be 1 to 15 letters, digits and underscores".to_owned())
    }
}

fn digits(given: &str) -> Result<String, String> {
    if (1..=20).contains(&given.len()) && given.bytes().all(|byte| byte.is_ascii_digit()) {
        Ok(given.to_owned())
    } else {
        Err("must be 1 to 20 digits".to_owned())
    }
}

fn token(given: &str) -> Result<Secret, String> {
    if given.is_empty() || !given.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("must be visible ASCII without spaces".to_owned());
    }
    Ok(Secret::new(given))
}

fn member_role() -> impl TypedValueParser<Value = MemberRole> {
    PossibleValuesParser::new(MemberRole::ALL.map(MemberRole::as_str))
        .try_map(|name| name.parse::<MemberRole>())
}

fn plan() -> impl TypedValueParser<Value = Plan> {
    PossibleValuesParser::new(Plan::ALL.map(Plan::as_str)).try_map(|name| name.parse::<Plan>())
}

fn scope() -> impl TypedValueParser<Value = Scope> {
    PossibleValuesParser::new(Scope::ALL.map(Scope::as_str)).try_map(|name| name.parse::<Scope>())
}

fn mode() -> impl TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(Mode::ALL.map(Mode::as_str)).try_map(|name| {
        Mode::ALL.into_iter().find(|mode| mode.as_str() == name).ok_or("must be live or test")
    })
}
