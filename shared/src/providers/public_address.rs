//! Public IP addresses: those outside IANA's special-purpose blocks, for IPv4 and IPv6.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 blocks that are not public, with their prefix lengths.
const SPECIAL_V4: [(Ipv4Addr, u32); 18] = [
    // This network.
    (Ipv4Addr::UNSPECIFIED, 8),
    // Private, shared (carriers), loopback, link-local.
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    // Protocol assignments, AS112, AMT, 6to4 relays.
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 31, 196, 0), 24),
    (Ipv4Addr::new(192, 52, 193, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 175, 48, 0), 24),
    // Benchmarking and documentation.
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast, reserved and broadcast.
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// All global unicast addresses. The block contains no addresses that embed an IPv4 address, except 6to4 and Teredo.
const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// IPv6 blocks within `GLOBAL_V6` that are not public.
const SPECIAL_V6: [(Ipv6Addr, u32); 5] = [
    // Protocol assignments: Teredo, benchmarking, AMT, AS112, ORCHID, DRIP.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    // Documentation.
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
    // 6to4.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    // AS112.
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48),
];

/// Whether an IP address is public.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let within = |(block, length): &(Ipv4Addr, u32)| {
                (address.to_bits() ^ block.to_bits()).leading_zeros() >= *length
            };
            !SPECIAL_V4.iter().any(within)
        }
        IpAddr::V6(address) => {
            let within = |(block, length): &(Ipv6Addr, u32)| {
                (address.to_bits() ^ block.to_bits()).leading_zeros() >= *length
            };
            within(&GLOBAL_V6) && !SPECIAL_V6.iter().any(within)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn special_blocks_are_not_public_from_first_to_last_address() {
        // `before` and `after` are the adjacent public addresses, if any.
        for (before, first, last, after) in [
            ("", "0.0.0.0", "0.255.255.255", "1.0.0.0"),
            ("9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"),
            ("100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"),
            ("126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"),
            ("169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"),
            ("172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"),
            ("191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"),
            ("192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"),
            ("192.31.195.255", "192.31.196.0", "192.31.196.255", "192.31.197.0"),
            ("192.52.192.255", "192.52.193.0", "192.52.193.255", "192.52.194.0"),
            ("192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"),
            ("192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"),
            ("192.175.47.255", "192.175.48.0", "192.175.48.255", "192.175.49.0"),
            ("198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"),
            ("198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"),
            ("203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"),
            ("223.255.255.255", "224.0.0.0", "239.255.255.255", ""),
            ("", "240.0.0.0", "255.255.255.255", ""),
            ("", "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::"),
            (
                "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "2001::",
                "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
                "2001:200::",
            ),
            (
                "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
                "2001:db8::",
                "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
                "2001:db9::",
            ),
            (
                "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "2002::",
                "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "2003::",
            ),
            (
                "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff",
                "2620:4f:8000::",
                "2620:4f:8000:ffff:ffff:ffff:ffff:ffff",
                "2620:4f:8001::",
            ),
            (
                "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "3fff::",
                "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
                "3fff:1000::",
            ),
            (
                "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "4000::",
                "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "",
            ),
        ] {
            for special in [first, last] {
                assert!(!is_public(special.parse().unwrap()), "{special}");
            }
            for public in [before, after].into_iter().filter(|public| !public.is_empty()) {
                assert!(is_public(public.parse().unwrap()), "{public}");
            }
        }
    }

    #[test]
    fn well_known_addresses_are_classified_correctly() {
        let special = "127.0.0.1 169.254.169.254 169.254.170.2 169.254.170.23 100.100.100.200 192.0.0.192 192.0.0.9 \
            255.255.255.255 ::1 :: fd00:ec2::254 fe80::1 fec0::1 fc00::1 ff02::1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 \
            ::127.0.0.1 64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::a00:1 100::1 100:0:0:1::1 2001:0:7f00:1:: \
            2001:2::1 2001:3::1 2001:4:112::1 2001:10::1 2001:20::1 2001:30::1 2002:7f00:1:: 2002:a9fe:a9fe::1 5f00::1";
        for special in special.split(' ') {
            assert!(!is_public(special.parse().unwrap()), "{special}");
        }
        for public in
            "8.8.8.8 1.1.1.1 93.184.216.34 2606:4700::1111 2001:4860:4860::8888 2a00:1450::1".split(' ')
        {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    proptest! {
        #[test]
        fn addresses_that_the_standard_library_calls_special_are_not_public(bits: u32, wide: u128) {
            let v4 = Ipv4Addr::from_bits(bits);
            let special = v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_documentation()
                || v4.is_multicast() || v4.is_broadcast() || v4.is_unspecified();
            prop_assert!(!(special && is_public(v4.into())), "{v4}");
            for v6 in [Ipv6Addr::from_bits(wide), v4.to_ipv6_mapped(), v4.to_ipv6_compatible()] {
                let special = v6.is_loopback() || v6.is_unspecified() || v6.is_multicast()
                    || v6.is_unique_local() || v6.is_unicast_link_local() || v6.to_ipv4().is_some();
                prop_assert!(!(special && is_public(v6.into())), "{v6}");
            }
        }
    }
}
