//! The environment of a function.

use crate::clock::Clock;
use crate::config::Config;
use crate::providers::Providers;
use crate::random::Random;
use crate::store::Store;

/// What a function needs to answer requests.
#[derive(Clone)]
pub struct Environment {
    /// The table.
    pub store: Store,
    /// The time.
    pub clock: Clock,
    /// Random values.
    pub random: Random,
    /// The configuration.
    pub config: Config,
    /// The outside services.
    pub providers: Providers,
}
