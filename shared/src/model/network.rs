//! Networks from which an API key may be used.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// The networks from which an API key may be used. An empty list allows all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Networks(Vec<IpNet>);

impl Networks {
    /// The maximum number of networks.
    pub const MAX: usize = 20;

    /// Parses IP addresses and networks in CIDR notation, separated by commas or white space. The error names the first
    /// one that is invalid.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
        let mut networks: Vec<IpNet> = Vec::new();
        for word in words {
            let address = || word.parse::<IpAddr>().map(IpNet::from);
            let network = word.parse::<IpNet>().or_else(|_| address()).map_err(|_| {
                format!("{word} is not an IP address or a network such as 203.0.113.0/24 or 2001:db8::/48")
            })?;
            if network.trunc() != network {
                return Err(format!(
                    "{word} has bits outside its prefix; the network is {}",
                    network.trunc()
                ));
            }
            if !networks.contains(&network) {
                networks.push(network);
            }
        }
        if networks.len() > Self::MAX {
            return Err(format!("at most {} networks are allowed", Self::MAX));
        }
        Ok(Self(networks))
    }

    /// Whether a key with these networks may be used from an address. An unknown address is allowed only if all are.
    pub fn allow(&self, address: Option<IpAddr>) -> bool {
        self.0.is_empty()
            || address.is_some_and(|address| {
                // A client that connects over IPv6 may have an IPv4 address in IPv6 form.
                let address = address.to_canonical();
                self.0.iter().any(|network| network.contains(&address))
            })
    }

    /// Whether all addresses are allowed.
    pub const fn are_unrestricted(&self) -> bool {
        self.0.is_empty()
    }
}

/// The networks, separated by commas. Single addresses have no prefix length.
impl fmt::Display for Networks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, network) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            if network.prefix_len() == network.max_prefix_len() {
                write!(f, "{separator}{}", network.addr())?;
            } else {
                write!(f, "{separator}{network}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_networks_are_parsed_and_shown() {
        let networks =
            Networks::parse("203.0.113.7,\n 198.51.100.0/24 2001:db8::/48 203.0.113.7/32").unwrap();
        assert_eq!(networks.to_string(), "203.0.113.7, 198.51.100.0/24, 2001:db8::/48");
        assert!(Networks::parse(" \n").unwrap().are_unrestricted());
        for (text, part) in [
            ("office", "office is not an IP address"),
            ("203.0.113.0/33", "203.0.113.0/33 is not an IP address"),
            ("203.0.113.256", "is not an IP address"),
            ("203.0.113.7/24", "the network is 203.0.113.0/24"),
            ("2001:db8::1/64", "the network is 2001:db8::/64"),
        ] {
            let message = Networks::parse(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
        let many = |count: u32| (0..count).map(|n| format!("10.0.0.{n}")).collect::<Vec<_>>().join(" ");
        assert!(Networks::parse(&many(20)).is_ok());
        assert!(Networks::parse(&many(21)).unwrap_err().contains("at most 20"));
    }

    #[test]
    fn only_addresses_in_the_networks_are_allowed() {
        let networks = Networks::parse("203.0.113.0/24, 2001:db8::/48").unwrap();
        let allow = |address: &str| networks.allow(Some(address.parse().unwrap()));
        assert!(allow("203.0.113.255") && allow("2001:db8:0:ffff::1") && allow("::ffff:203.0.113.1"));
        assert!(!allow("203.0.114.0") && !allow("2001:db8:1::1") && !allow("::1"));
        assert!(!networks.allow(None));
        assert!(Networks::default().allow(None));
    }
}
