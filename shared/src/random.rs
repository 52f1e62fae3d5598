//! The injected source of randomness. Only this module uses the operating system's entropy source.

use std::sync::{Arc, Mutex, PoisonError};

use rand::rngs::{StdRng, SysRng};
use rand::{RngExt, SeedableRng, TryRng};

use crate::base62::DIGITS;

/// A cryptographically strong source of random values.
#[derive(Clone)]
pub struct Random {
    generator: Arc<Mutex<StdRng>>,
    /// Whether each value comes from a new seed of the operating system. A copy of the process's memory then reveals
    /// neither earlier nor later values.
    is_reseeded: bool,
}

impl Random {
    /// A source that is seeded by the operating system. It fails only if the system has no entropy source.
    pub fn system() -> Result<Self, String> {
        let generator = from_system().ok_or("the system has no entropy source")?;
        Ok(Self { generator: Arc::new(Mutex::new(generator)), is_reseeded: true })
    }

    /// A source that returns the same sequence for the same seed. Use it only in tests.
    pub fn seeded(seed: u64) -> Self {
        Self { generator: Arc::new(Mutex::new(StdRng::seed_from_u64(seed))), is_reseeded: false }
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
        let mut generator = self.generator.lock().unwrap_or_else(PoisonError::into_inner);
        // If the system's source fails after the start, the generator continues from its last seed.
        if let Some(reseeded) = self.is_reseeded.then(from_system).flatten() {
            *generator = reseeded;
        }
        take(&mut generator)
    }
}

/// A generator with a new seed of the operating system.
fn from_system() -> Option<StdRng> {
    let mut seed = <StdRng as SeedableRng>::Seed::default();
    SysRng.try_fill_bytes(&mut seed).ok()?;
    Some(StdRng::from_seed(seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_values_do_not_follow_from_earlier_states_of_the_generator() {
        assert_eq!(Random::seeded(1).bytes::<32>(), Random::seeded(1).bytes());
        let is_reseeded = Random::system().unwrap().is_reseeded;
        let [one, other] = [1, 1].map(|seed| Random { is_reseeded, ..Random::seeded(seed) });
        assert_ne!(one.bytes::<32>(), other.bytes());
    }
}
