//! Names of hosts that can be public.

/// Domains that are local to each network.
const INTERNAL: [&str; 4] = ["localhost", "local", "internal", "home.arpa"];

/// Whether the name of a host, in ASCII, has several labels and is not in a domain that is local to each network. It may
/// still resolve to an internal address.
pub fn is_public_name(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let is_domain = name.contains('.') && name.split('.').all(is_label);
    is_domain && !INTERNAL.iter().any(|domain| is_within(name, domain))
}

fn is_within(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}
