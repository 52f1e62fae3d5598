//! Currencies, by their codes.

// Not the crate iso_currency: it would add four crates, and it also has metals, bond units and codes for tests.

use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A currency of ISO 4217 in which salaries are paid or set. Metals, bond units and codes for tests are not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Currency(&'static str);

impl Currency {
    /// US dollars.
    pub const USD: Self = Self("USD");

    /// All currencies, in the order of their codes.
    pub fn all() -> impl Iterator<Item = Self> {
        CODES.into_iter().map(Self)
    }

    /// The code: `EUR`.
    pub const fn code(self) -> &'static str {
        self.0
    }

    /// What precedes an amount: `$`, `€` or `£`, or the code of any other currency with a space.
    pub fn prefix(self) -> String {
        match self.0 {
            "USD" => "$".to_owned(),
            "EUR" => "€".to_owned(),
            "GBP" => "£".to_owned(),
            code => format!("{code} "),
        }
    }
}

impl FromStr for Currency {
    type Err = String;

    /// Finds the currency with this code, in any case.
    fn from_str(code: &str) -> Result<Self, Self::Err> {
        let found = CODES.into_iter().find(|known| known.eq_ignore_ascii_case(code));
        found.map(Self).ok_or_else(|| "must be an ISO 4217 currency code, such as EUR".to_owned())
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// The codes. A withdrawn code must stay, because stored roles may have it.
const CODES: [&str; 164] = [
    "AED", "AFN", "ALL", "AMD", "AOA", "ARS", "AUD", "AWG", "AZN", "BAM", "BBD", "BDT", "BHD", "BIF", "BMD",
    "BND", "BOB", "BOV", "BRL", "BSD", "BTN", "BWP", "BYN", "BZD", "CAD", "CDF", "CHE", "CHF", "CHW", "CLF",
    "CLP", "CNY", "COP", "COU", "CRC", "CUP", "CVE", "CZK", "DJF", "DKK", "DOP", "DZD", "EGP", "ERN", "ETB",
    "EUR", "FJD", "FKP", "GBP", "GEL", "GHS", "GIP", "GMD", "GNF", "GTQ", "GYD", "HKD", "HNL", "HTG", "HUF",
    "IDR", "ILS", "INR", "IQD", "IRR", "ISK", "JMD", "JOD", "JPY", "KES", "KGS", "KHR", "KMF", "KPW", "KRW",
    "KWD", "KYD", "KZT", "LAK", "LBP", "LKR", "LRD", "LSL", "LYD", "MAD", "MDL", "MGA", "MKD", "MMK", "MNT",
    "MOP", "MRU", "MUR", "MVR", "MWK", "MXN", "MXV", "MYR", "MZN", "NAD", "NGN", "NIO", "NOK", "NPR", "NZD",
    "OMR", "PAB", "PEN", "PGK", "PHP", "PKR", "PLN", "PYG", "QAR", "RON", "RSD", "RUB", "RWF", "SAR", "SBD",
    "SCR", "SDG", "SEK", "SGD", "SHP", "SLE", "SOS", "SRD", "SSP", "STN", "SVC", "SYP", "SZL", "THB", "TJS",
    "TMT", "TND", "TOP", "TRY", "TTD", "TWD", "TZS", "UAH", "UGX", "USD", "USN", "UYI", "UYU", "UYW", "UZS",
    "VED", "VES", "VND", "VUV", "WST", "XAF", "XCD", "XCG", "XOF", "XPF", "YER", "ZAR", "ZMW", "ZWG",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_unique_and_found_in_any_case() {
        assert!(CODES.is_sorted_by(|one, next| one < next));
        for code in CODES {
            assert!(code.len() == 3 && code.bytes().all(|letter| letter.is_ascii_uppercase()), "{code}");
            let currency: Currency = code.to_lowercase().parse().unwrap();
            assert_eq!(currency.code(), code);
        }
        assert_eq!("usd".parse(), Ok(Currency::USD));
    }

    #[test]
    fn other_words_are_not_currencies() {
        for word in ["", "EU", "EURO", "ZZZ", "XXX", "XTS", "XAU", "BTC", "€"] {
            let message = "must be an ISO 4217 currency code, such as EUR";
            assert_eq!(word.parse::<Currency>(), Err(message.to_owned()), "{word}");
        }
    }
}
