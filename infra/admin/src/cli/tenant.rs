//! An organization in one mode, as arguments.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use shared::id::Id;
use shared::model::{Mode, Tenant};

#[derive(Debug, Args)]
pub(crate) struct OneMode {
    /// The organization's identifier
    #[arg(value_name = "ORGANIZATION_ID")]
    organization: Id,
    /// The organization's mode
    #[arg(long, value_parser = mode(), default_value = "live")]
    mode: Mode,
}

impl OneMode {
    pub(crate) const fn tenant(&self) -> Tenant {
        Tenant { organization: self.organization, mode: self.mode }
    }
}

pub(super) fn mode() -> impl TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(Mode::ALL.map(Mode::as_str)).try_map(|name| {
        Mode::ALL.into_iter().find(|mode| mode.as_str() == name).ok_or("must be live or test")
    })
}
