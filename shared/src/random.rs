//! The injected source of randomness. Only this module uses the operating system's entropy source.

use std::sync::{Arc, Mutex, PoisonError};

use rand::rngs::{StdRng, SysRng};
use rand::{RngExt, SeedableRng, TryRng};

use crate::base62::DIGITS;

/// A cryptographically strong source of random values.
#[derive(Clone)]
pub struct Random(Arc<Mutex<StdRng>>);

impl Random {
    /// A source that is seeded by the operating system. It fails only if the system has no entropy source.
    pub fn system() -> Result<Self, String> {
        let mut seed = <StdRng as SeedableRng>::Seed::default();
        SysRng.try_fill_bytes(&mut seed).map_err(|error| format!("no system entropy: {error}"))?;
        Ok(Self(Arc::new(Mutex::new(StdRng::from_seed(seed)))))
    }

    /// A source that returns the same sequence for the same seed. Use it only in tests.
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(StdRng::seed_from_u64(seed))))
    }

    /// Returns a uniformly distributed number from 0 to `bound - 1`, or 0 if `bound` is 0.
    pub fn below(&self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.draw(|rng| rng.random_range(0..bound)) }
    }

    /// Returns `length` random letters and digits with 5.95 bits of entropy each.
    pub fn token(&self, length: usize) -> String {
        self.draw(|rng| (0..length).map(|_| char::from(DIGITS[rng.random_range(0..DIGITS.len())])).collect())
    }

    /// Returns `N` random bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        self.draw(RngExt::random)
    }

    fn draw<T>(&self, take: impl FnOnce(&mut StdRng) -> T) -> T {
        take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
