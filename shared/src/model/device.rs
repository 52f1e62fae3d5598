//! Browsers and their networks.

use serde::{Deserialize, Serialize};

/// The browser and the network that a session was begun from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// The browser's name and its operating system: `Firefox on Linux`.
    pub browser: String,
    /// The IPv4 address, or the /64 network of an IPv6 address.
    pub network: String,
}
