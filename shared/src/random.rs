//! Randomness, injected: the only place that asks the operating system for it.

use std::sync::{Arc, Mutex, PoisonError};

use rand::rngs::{StdRng, SysRng};
use rand::{RngExt, SeedableRng, TryRng};

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A cryptographically strong source of random values.
#[derive(Clone)]
pub struct Random(Arc<Mutex<StdRng>>);

impl Random {
    /// Seeded by the operating system; fails only where the system has no entropy source.
    pub fn system() -> Result<Self, String> {
        let mut seed = <StdRng as SeedableRng>::Seed::default();
        SysRng.try_fill_bytes(&mut seed).map_err(|error| format!("no system randomness: {error}"))?;
        Ok(Self(Arc::new(Mutex::new(StdRng::from_seed(seed)))))
    }

    /// The same sequence for the same seed: for tests only.
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(StdRng::seed_from_u64(seed))))
    }

    /// A number from 0 to `bound - 1`, each as likely as the others; 0 where `bound` is 0.
    pub fn below(&self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.draw(|rng| rng.random_range(0..bound)) }
    }

    /// `length` random letters and digits, 5.95 bits each.
    pub fn token(&self, length: usize) -> String {
        self.draw(|rng| (0..length).map(|_| char::from(BASE62[rng.random_range(0..BASE62.len())])).collect())
    }

    /// `N` random bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        self.draw(RngExt::random)
    }

    fn draw<T>(&self, take: impl FnOnce(&mut StdRng) -> T) -> T {
        take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
