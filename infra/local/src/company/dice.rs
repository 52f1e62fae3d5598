//! The choices of the demo company, which are the same at every start.

use shared::random::Random;

/// A source of choices.
pub(super) struct Dice(Random);

impl Dice {
    /// A source that always makes the same choices for this seed.
    pub(super) fn seeded(seed: u64) -> Self {
        Self(Random::seeded(seed))
    }

    /// The source of the choices, for identifiers.
    pub(super) fn random(&self) -> Random {
        self.0.clone()
    }

    /// A number below `bound`.
    pub(super) fn below(&self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// A number from `low` to `high`.
    pub(super) fn between(&self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// Whether something happens that has this probability.
    pub(super) fn chance(&self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the options.
    pub(super) fn pick<T: Copy, const N: usize>(&self, options: &[T; N]) -> T {
        let index = self.below(u64::try_from(N).unwrap_or(0));
        options[usize::try_from(index).unwrap_or(0)]
    }
}
