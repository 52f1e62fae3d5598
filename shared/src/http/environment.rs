//! The environment of a function.

use super::known_holders::KnownHolders;
use super::known_sites::KnownSites;
use crate::clock::Clock;
use crate::config::Config;
use crate::model::PasswordCost;
use crate::providers::Providers;
use crate::random::Random;
use crate::store::Store;

/// The dependencies of a function.
#[derive(Clone)]
pub struct Environment {
    /// The table.
    pub store: Store,
    /// The clock.
    pub clock: Clock,
    /// The source of random values.
    pub random: Random,
    /// The configuration.
    pub config: Config,
    /// The external services.
    pub providers: Providers,
    /// The cost of hashing a password.
    pub password_cost: PasswordCost,
    /// The holders of credentials that this instance has seen.
    pub known_holders: KnownHolders,
    /// The career sites that this instance has seen.
    pub known_sites: KnownSites,
}
