//! Bar charts.

/// A bar chart. Coordinates are in units of the SVG's view box.
pub(crate) struct Chart {
    /// The bars, from left to right.
    pub(crate) bars: Vec<Bar>,
    /// The sum of all bars.
    pub(crate) total: u64,
    /// The highest number.
    pub(crate) peak: u64,
}

/// The bar of one number.
pub(crate) struct Bar {
    /// What is counted.
    pub(crate) label: String,
    /// The number.
    pub(crate) count: u64,
    /// The left edge.
    pub(crate) x: usize,
    /// The upper edge.
    pub(crate) y: u64,
    /// The height.
    pub(crate) height: u64,
}

impl Chart {
    /// The height of the chart.
    pub(crate) const HEIGHT: u64 = 120;
    /// The distance from one bar to the next.
    const STEP: usize = 20;
    /// The minimum height of a bar whose number is not 0, so that it stays visible.
    const MIN_BAR: u64 = 3;

    /// Returns the chart of these numbers with their labels, from left to right.
    pub(crate) fn of(numbers: impl IntoIterator<Item = (String, u64)>) -> Self {
        let numbers: Vec<_> = numbers.into_iter().collect();
        let peak = numbers.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let total = numbers.iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count));
        let bars = numbers.into_iter().enumerate().map(|(place, (label, count))| {
            let share = u128::from(count) * u128::from(Self::HEIGHT) / u128::from(peak.max(1));
            let share = u64::try_from(share).unwrap_or(Self::HEIGHT);
            let height = if count == 0 { 0 } else { share.max(Self::MIN_BAR) };
            Bar { label, count, x: place * Self::STEP, y: Self::HEIGHT - height, height }
        });
        Self { bars: bars.collect(), total, peak }
    }

    /// The width of the chart.
    pub(crate) fn width(&self) -> usize {
        self.bars.len() * Self::STEP
    }

    /// The label of the first bar.
    pub(crate) fn first(&self) -> &str {
        self.bars.first().map_or("", |bar| &bar.label)
    }

    /// The label of the last bar.
    pub(crate) fn last(&self) -> &str {
        self.bars.last().map_or("", |bar| &bar.label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bars_end_at_the_baseline_and_all_but_zero_are_visible(
            counts in prop::collection::vec(any::<u64>(), 0..40),
        ) {
            let chart = Chart::of(counts.iter().map(|count| (String::new(), *count)));
            prop_assert_eq!(chart.bars.len(), counts.len());
            for (bar, count) in chart.bars.iter().zip(counts) {
                prop_assert_eq!(bar.y + bar.height, Chart::HEIGHT);
                prop_assert_eq!(bar.height == 0, count == 0);
                prop_assert!(count != chart.peak || count == 0 || bar.height == Chart::HEIGHT);
                prop_assert!(bar.x < chart.width());
            }
        }
    }
}
