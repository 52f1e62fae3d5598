//! What a role pays.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Currency;
use super::string_enum::string_enum;
use super::text::grouped;

/// An annual salary in whole units of its currency, 0 to 100,000,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Salary(u32);

impl Salary {
    /// The maximum salary.
    pub const MAX: u32 = 100_000_000;

    /// A salary of this amount; `None` if it is out of range.
    pub fn new(amount: i64) -> Option<Self> {
        u32::try_from(amount).ok().filter(|amount| *amount <= Self::MAX).map(Self)
    }

    /// The amount.
    pub const fn amount(self) -> u32 {
        self.0
    }
}

/// An amount of money, 0 to 100,000,000 with at most two decimal places: a number of hundredths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(u64);

impl Amount {
    /// The pattern of an amount.
    pub const PATTERN: &str = r"^(?:(?:0|[1-9][0-9]{0,7})(?:\.[0-9]{1,2})?|100000000(?:\.0{1,2})?)$";
    /// The hundredths of a whole unit.
    const HUNDRED: u64 = 100;

    const fn units(self) -> u64 {
        self.0 / Self::HUNDRED
    }

    /// Whether it has no hundredths.
    pub const fn is_whole(self) -> bool {
        self.0.is_multiple_of(Self::HUNDRED)
    }

    /// The amount with commas: `1,500`, or `1,500.00` with its hundredths.
    fn in_words(self, with_hundredths: bool) -> String {
        let units = grouped(self.units());
        if with_hundredths { format!("{units}.{:02}", self.0 % Self::HUNDRED) } else { units }
    }
}

impl From<Salary> for Amount {
    fn from(salary: Salary) -> Self {
        Self(u64::from(salary.0) * Self::HUNDRED)
    }
}

impl Amount {
    /// Reads an amount as people type it: `60,000`, `70.000`, `70 000`, `70'000`, `80k`, `18.50` or `18,50`. Groups have three
    /// digits and the same separator; what follows another comma or point are two decimal places. A text that could mean
    /// several amounts, such as `1.5` or `60,5`, is refused.
    pub fn typed(text: &str) -> Result<Self, String> {
        let refused = || {
            format!(
                "must be a number from 0 to {}, such as 60000, 60,000, 80k or 18.50: thousands have three digits after the \
                 comma, the point or the space, decimal places are two",
                Salary::MAX
            )
        };
        let text = text.trim();
        if let Some(thousands) = text.strip_suffix(['k', 'K']).map(str::trim_end) {
            let is_number =
                (1..=6).contains(&thousands.len()) && thousands.bytes().all(|b| b.is_ascii_digit());
            return if is_number { format!("{thousands}000").parse() } else { Err(String::new()) }
                .map_err(|_: String| refused());
        }
        let (units, hundredths) = match text.rsplit_once([',', '.']) {
            Some((units, hundredths)) if hundredths.chars().count() != 3 => (units, Some(hundredths)),
            _ => (text, None),
        };
        let separator = units.chars().find(|letter| !letter.is_ascii_digit());
        let units = match separator {
            None => Some(units.to_owned()),
            Some(separator) => ungrouped(units, separator)
                // The decimal places follow another sign than the thousands.
                .filter(|_| hundredths.is_none_or(|places| !text.ends_with(&format!("{separator}{places}")))),
        };
        let amount = match (units, hundredths) {
            (Some(units), None) => units.parse(),
            (Some(units), Some(places)) if places.len() == 2 => format!("{units}.{places}").parse(),
            _ => Err(String::new()),
        };
        amount.map_err(|_: String| refused())
    }
}

/// The digits of a number with groups of three digits; `None` if it has other groups, or another separator.
fn ungrouped(number: &str, separator: char) -> Option<String> {
    let is_separator = matches!(separator, ',' | '.' | '\'' | '’' | ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}');
    let mut groups = number.split(separator);
    let first = groups.next().filter(|first| (1..=3).contains(&first.len()) && !first.starts_with('0'))?;
    let others: Vec<_> = groups.collect();
    (is_separator && others.iter().all(|group| group.len() == 3)).then(|| [first, &others.concat()].concat())
}

/// A whole amount without decimal places, any other with two: `18`, `18.50`.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.units())?;
        if self.is_whole() { Ok(()) } else { write!(f, ".{:02}", self.0 % Self::HUNDRED) }
    }
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (units, hundredths) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |digits: &str, longest| {
            (1..=longest).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit())
        };
        let has_zeros = units.len() > 1 && units.starts_with('0');
        let amount = (is_number(units, 9) && is_number(hundredths, 2) && !has_zeros)
            .then(|| format!("{units}{hundredths:0<2}").parse().ok())
            .flatten()
            .filter(|amount| *amount <= u64::from(Salary::MAX) * Self::HUNDRED);
        amount.map(Self).ok_or_else(|| {
            format!(
                "must be a number from 0 to {} with at most two decimal places, such as 18.50",
                Salary::MAX
            )
        })
    }
}

/// A stored amount is a number if it is whole, otherwise a text.
impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_whole() { serializer.serialize_u64(self.units()) } else { serializer.collect_str(self) }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Whole(u64),
            Text(String),
        }

        let text = match Stored::deserialize(deserializer)? {
            Stored::Whole(units) => units.to_string(),
            Stored::Text(text) => text,
        };
        text.parse().map_err(D::Error::custom)
    }
}

string_enum! {
    /// The time for which an amount is paid.
    pub enum PayPeriod {
        /// An hour.
        Hour = "hour",
        /// A day.
        Day = "day",
        /// A week.
        Week = "week",
        /// A month.
        Month = "month",
        /// A year.
        Year = "year",
    }
}

impl PayPeriod {
    /// The period in words: `an hour`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Hour => "an hour",
            Self::Day => "a day",
            Self::Week => "a week",
            Self::Month => "a month",
            Self::Year => "a year",
        }
    }
}

/// What a role pays: a range, of which either bound may be absent. The minimum never exceeds the maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pay {
    min: Option<Amount>,
    max: Option<Amount>,
    /// The currency, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<Currency>,
    /// The period, unless it is a year.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    period: Option<PayPeriod>,
}

impl Pay {
    /// A range in US dollars a year; `None` if the minimum exceeds the maximum.
    pub fn new(min: Option<Amount>, max: Option<Amount>) -> Option<Self> {
        match (min, max) {
            (Some(min), Some(max)) if min > max => None,
            _ => Some(Self { min, max, currency: None, period: None }),
        }
    }

    /// An annual salary in US dollars; `None` if the minimum exceeds the maximum.
    pub fn annual(min: Option<Salary>, max: Option<Salary>) -> Option<Self> {
        Self::new(min.map(Amount::from), max.map(Amount::from))
    }

    /// The same amounts in another currency. `None` means US dollars.
    #[must_use]
    pub const fn in_currency(self, currency: Option<Currency>) -> Self {
        Self { currency, ..self }
    }

    /// The same amounts for another period.
    #[must_use]
    pub fn per(self, period: PayPeriod) -> Self {
        Self { period: Some(period).filter(|period| *period != PayPeriod::Year), ..self }
    }

    /// The minimum.
    pub const fn min(self) -> Option<Amount> {
        self.min
    }

    /// The maximum.
    pub const fn max(self) -> Option<Amount> {
        self.max
    }

    /// Whether there is an amount.
    pub const fn is_known(self) -> bool {
        self.min.is_some() || self.max.is_some()
    }

    /// The currency as given. `None` means US dollars.
    pub const fn given_currency(self) -> Option<Currency> {
        self.currency
    }

    /// The currency of the amounts.
    pub fn currency(self) -> Currency {
        self.currency.unwrap_or(Currency::USD)
    }

    /// The time for which the amounts are paid.
    pub fn period(self) -> PayPeriod {
        self.period.unwrap_or(PayPeriod::Year)
    }

    /// What clients see of it: nothing without an amount.
    pub fn shown(self) -> Option<(Option<Amount>, Option<Amount>, Currency, PayPeriod)> {
        self.is_known().then(|| (self.min, self.max, self.currency(), self.period()))
    }

    /// The minimum annual salary, rounded down; `None` if the pay is for another period.
    pub fn salary_min(self) -> Option<Salary> {
        let units = self.min.filter(|_| self.is_annual())?.units();
        Salary::new(units.try_into().ok()?)
    }

    /// The maximum annual salary, rounded up; `None` if the pay is for another period.
    pub fn salary_max(self) -> Option<Salary> {
        let Amount(hundredths) = self.max.filter(|_| self.is_annual())?;
        Salary::new(hundredths.div_ceil(Amount::HUNDRED).try_into().ok()?)
    }

    /// The currency of the annual salary as given; `None` if the pay is for another period.
    pub fn salary_currency(self) -> Option<Currency> {
        self.currency.filter(|_| self.is_annual())
    }

    /// Whether the pay is for a year.
    pub const fn is_annual(self) -> bool {
        self.period.is_none()
    }

    /// What it is called: `Salary` for a year, otherwise `Pay`.
    pub const fn label(self) -> &'static str {
        if self.is_annual() { "Salary" } else { "Pay" }
    }

    /// The range in words: `$150,000 to $190,000 a year`, `CHF 31.50 an hour`; `None` if it has no bounds.
    pub fn words(self) -> Option<String> {
        self.joined_by(" to ")
    }

    /// The same with a dash, for short text: `$150,000–$190,000 a year`.
    pub fn short_words(self) -> Option<String> {
        self.joined_by("–")
    }

    fn joined_by(self, separator: &str) -> Option<String> {
        let prefix = self.currency().prefix();
        let with_hundredths = ![self.min, self.max].into_iter().flatten().all(Amount::is_whole);
        let money = |amount: Amount| format!("{prefix}{}", amount.in_words(with_hundredths));
        let range = match (self.min, self.max) {
            (Some(min), Some(max)) if min == max => money(min),
            (Some(min), Some(max)) => format!("{}{separator}{}", money(min), money(max)),
            (Some(min), None) => format!("from {}", money(min)),
            (None, Some(max)) => format!("up to {}", money(max)),
            (None, None) => return None,
        };
        Some(format!("{range} {}", self.period().words()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn amount(text: &str) -> Amount {
        text.parse().unwrap()
    }

    #[test]
    fn amounts_have_at_most_two_decimal_places() {
        for (text, written, hundredths) in [
            ("0", "0", 0),
            ("0.5", "0.50", 50),
            ("18.05", "18.05", 1_805),
            ("18.50", "18.50", 1_850),
            ("18.00", "18", 1_800),
            ("99999999.99", "99999999.99", 9_999_999_999),
            ("100000000.00", "100000000", 10_000_000_000),
        ] {
            assert_eq!((amount(text).0, amount(text).to_string().as_str()), (hundredths, written));
        }
        for wrong in [
            "",
            ".",
            "1.",
            ".5",
            "-1",
            "+1",
            "1e3",
            "1,000",
            "01",
            "00",
            "1.234",
            "100000000.01",
            "100000001",
            "1000000000",
            "1.5 ",
            "١",
            "18,50",
            "NaN",
            "1_000",
            "0x1",
        ] {
            assert!(wrong.parse::<Amount>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn amounts_are_read_as_people_type_them() {
        for (typed, read) in [
            ("60000", "60000"),
            (" 60000 ", "60000"),
            ("60,000", "60000"),
            ("70 000", "70000"),
            ("70\u{a0}000", "70000"),
            ("70\u{202f}000", "70000"),
            ("70\u{2009}000", "70000"),
            ("70.000", "70000"),
            ("70'000", "70000"),
            ("70’000", "70000"),
            ("80k", "80000"),
            ("80 K", "80000"),
            ("0", "0"),
            ("0.50", "0.50"),
            ("18.50", "18.50"),
            ("18,50", "18.50"),
            ("18.00", "18"),
            ("1,234.56", "1234.56"),
            ("1.234,56", "1234.56"),
            ("1 234,56", "1234.56"),
            ("100,000,000", "100000000"),
            ("100000k", "100000000"),
        ] {
            assert_eq!(Amount::typed(typed).map(|amount| amount.to_string()).as_deref(), Ok(read), "{typed}");
        }
        for wrong in [
            "",
            "1.5",
            "60,5",
            "60,",
            ",50",
            "1,2345",
            "1,23,456",
            "1.234.56",
            "1,234,56",
            "1234,567",
            "0,500",
            "01",
            "-1",
            "+1",
            "1e3",
            "80.5k",
            "k",
            "1k5",
            "60,000k",
            "100000001",
            "100,000,000.01",
            "€60,000",
            "60 0",
            "١",
            "1,234.567",
            "70 000,000",
            "sixty",
        ] {
            let sentence = Amount::typed(wrong).expect_err(wrong);
            assert!(sentence.contains("such as 60000, 60,000, 80k or 18.50"), "{wrong}: {sentence}");
        }
    }

    proptest! {
        #[test]
        fn every_amount_is_read_with_every_separator(hundredths in 0..=10_000_000_000_u64, which in 0usize..6) {
            let amount = Amount(hundredths);
            let (thousands, decimal) =
                [(",", "."), (".", ","), (" ", "."), ("\u{a0}", ","), ("'", "."), ("", ".")][which];
            let places = if amount.is_whole() { String::new() } else { format!("{decimal}{:02}", hundredths % 100) };
            let typed = format!("{}{places}", grouped(amount.units()).replace(',', thousands));
            prop_assert_eq!(Amount::typed(&typed), Ok(amount), "{}", typed);
            prop_assert_eq!(Amount::typed(&amount.to_string()), Ok(amount));
        }

        #[test]
        fn any_text_is_read_or_refused(typed in "[0-9,. k'\u{a0}-]{0,14}|\\PC{0,12}") {
            if let Ok(amount) = Amount::typed(&typed) {
                prop_assert!(amount.0 <= u64::from(Salary::MAX) * Amount::HUNDRED);
                // No other digits are read than those that were typed, apart from zeros.
                let digits = |text: &str| -> String { text.chars().filter(char::is_ascii_digit).collect() };
                let (typed, read) = (digits(&typed), digits(&amount.to_string()));
                let same = |text: &str| text.trim_end_matches('0').trim_start_matches('0').to_owned();
                prop_assert_eq!(same(&typed), same(&read));
            }
        }
    }

    proptest! {
        #[test]
        fn every_amount_is_read_and_stored_exactly(hundredths in 0..=10_000_000_000_u64) {
            let amount = Amount(hundredths);
            prop_assert_eq!(amount.to_string().parse(), Ok(amount));
            let stored = serde_json::to_value(amount).unwrap();
            prop_assert_eq!(stored.is_number(), amount.is_whole());
            prop_assert_eq!(serde_json::from_value::<Amount>(stored).unwrap(), amount);
        }

        #[test]
        fn what_has_the_pattern_is_an_amount(
            text in prop::string::string_regex(Amount::PATTERN.trim_matches(['^', '$'])).unwrap(),
        ) {
            prop_assert!(text.parse::<Amount>().is_ok(), "{}", text);
        }

        #[test]
        fn the_minimum_never_exceeds_the_maximum(min: Option<i64>, max: Option<i64>) {
            let (min, max) = (min.and_then(Salary::new), max.and_then(Salary::new));
            let range = Pay::annual(min, max);
            prop_assert_eq!(range.is_none(), matches!((min, max), (Some(min), Some(max)) if min > max));
        }
    }

    #[test]
    fn an_annual_salary_is_stored_as_before() {
        let stored = serde_json::json!({ "min": 90_000, "max": null, "currency": "EUR" });
        let pay: Pay = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!((pay.salary_min(), pay.period()), (Salary::new(90_000), PayPeriod::Year));
        assert_eq!(serde_json::to_value(pay).unwrap(), stored);
        let hourly = Pay::new(Some(amount("18.50")), Some(amount("20"))).unwrap().per(PayPeriod::Hour);
        let stored = serde_json::json!({ "min": "18.50", "max": 20, "period": "hour" });
        assert_eq!(serde_json::to_value(hourly).unwrap(), stored);
        assert_eq!(serde_json::from_value::<Pay>(stored).unwrap(), hourly);
        assert!(hourly.salary_min().is_none() && hourly.salary_max().is_none());
    }

    #[test]
    fn an_annual_salary_is_whole() {
        let pay = Pay::new(Some(amount("999.99")), Some(amount("1000.01"))).unwrap();
        assert_eq!((pay.salary_min(), pay.salary_max()), (Salary::new(999), Salary::new(1_001)));
        assert!(Salary::new(-1).is_none() && Salary::new(100_000_001).is_none());
        assert_eq!(Salary::new(100_000_000).map(Salary::amount), Some(100_000_000));
    }

    #[test]
    fn salary_ranges_with_two_one_or_no_bounds_are_formatted() {
        let range = |min: Option<i64>, max: Option<i64>| {
            Pay::annual(min.and_then(Salary::new), max.and_then(Salary::new)).unwrap()
        };
        for (min, max, expected) in [
            (Some(150_000), Some(190_000), Some("$150,000 to $190,000 a year")),
            (Some(90_000), Some(90_000), Some("$90,000 a year")),
            (Some(1_000), None, Some("from $1,000 a year")),
            (None, Some(100_000_000), Some("up to $100,000,000 a year")),
            (Some(0), Some(999), Some("$0 to $999 a year")),
            (None, None, None),
        ] {
            assert_eq!(range(min, max).words().as_deref(), expected);
            let short = expected.map(|words| words.replace("0 to $", "0–$"));
            assert_eq!(range(min, max).short_words(), short);
        }
    }

    #[test]
    fn salaries_are_shown_in_their_currency() {
        let [min, max] = [60_000, 75_000].map(Salary::new);
        let range = Pay::annual(min, max).unwrap();
        for (currency, words, short_words) in [
            (None, "$60,000 to $75,000 a year", "$60,000–$75,000 a year"),
            (Some("USD"), "$60,000 to $75,000 a year", "$60,000–$75,000 a year"),
            (Some("EUR"), "€60,000 to €75,000 a year", "€60,000–€75,000 a year"),
            (Some("GBP"), "£60,000 to £75,000 a year", "£60,000–£75,000 a year"),
            (Some("CHF"), "CHF 60,000 to CHF 75,000 a year", "CHF 60,000–CHF 75,000 a year"),
        ] {
            let range = range.in_currency(currency.map(|code| code.parse().unwrap()));
            assert_eq!(range.words().as_deref(), Some(words));
            assert_eq!(range.short_words().as_deref(), Some(short_words));
            assert_eq!(range.currency().code(), currency.unwrap_or("USD"));
        }
        assert_eq!(Pay::default().in_currency("EUR".parse().ok()).words(), None);
    }

    #[test]
    fn pay_is_written_with_its_period() {
        for (min, max, currency, period, words) in [
            ("18.5", "22", "USD", PayPeriod::Hour, "$18.50 to $22.00 an hour"),
            ("31.50", "31.5", "CHF", PayPeriod::Hour, "CHF 31.50 an hour"),
            ("1200", "1500", "EUR", PayPeriod::Week, "€1,200 to €1,500 a week"),
            ("1200", "1500", "GBP", PayPeriod::Day, "£1,200 to £1,500 a day"),
            ("1200", "1500", "USD", PayPeriod::Month, "$1,200 to $1,500 a month"),
        ] {
            let pay = Pay::new(Some(amount(min)), Some(amount(max))).unwrap();
            let pay = pay.in_currency(currency.parse().ok()).per(period);
            assert_eq!(pay.words().as_deref(), Some(words));
            assert_eq!(pay.label(), "Pay");
        }
    }
}
