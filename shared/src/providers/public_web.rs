//! Requests to URLs that somebody else has chosen. They connect only to public IP addresses, and each request resolves its
//! host once.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::ClientBuilder;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::client;
use super::public_address::is_public;

/// A builder for clients that have these time limits, follow no redirects, use no proxy and find hosts with `resolver`.
pub(super) fn builder(connect: Duration, total: Duration, resolver: impl Resolve + 'static) -> ClientBuilder {
    client::builder(connect, total)
        .dns_resolver(resolver)
        // Keeps no idle connections, so that each request resolves its host again.
        .pool_max_idle_per_host(0)
        .referer(false)
}

/// The system's resolver.
pub(super) struct System;

impl Resolve for System {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The client replaces the port with the URL's port.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(Box::new(found.collect::<Vec<_>>().into_iter()) as Addrs)
        })
    }
}

/// A resolver that returns only the public IP addresses that another resolver finds. The client connects to exactly
/// these addresses and does not resolve the name again.
#[derive(Clone)]
pub struct PublicOnly(Arc<dyn Resolve>);

impl PublicOnly {
    /// The public addresses that the system's resolver finds.
    pub fn of_the_system() -> Self {
        Self::of(System)
    }

    /// The public addresses that `resolver` finds.
    pub fn of(resolver: impl Resolve + 'static) -> Self {
        Self(Arc::new(resolver))
    }
}

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.0.resolve(name);
        Box::pin(async move {
            let mut public = found.await?.filter(|address| is_public(address.ip())).peekable();
            if public.peek().is_none() {
                return Err("the name has no public IP address".into());
            }
            Ok(Box::new(public) as Addrs)
        })
    }
}

/// A resolver that returns these addresses for every name, for tests. Their ports replace the URL's port.
#[derive(Clone, Debug)]
pub struct FixedResolver(pub Vec<SocketAddr>);

impl Resolve for FixedResolver {
    fn resolve(&self, _: Name) -> Resolving {
        let found = self.0.clone();
        Box::pin(async move { Ok(Box::new(found.into_iter()) as Addrs) })
    }
}
