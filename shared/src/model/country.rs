//! Countries, by their codes.

// Not the crate rust_iso3166: it would add 15 crates for a table, and withdrawn codes must stay.

use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Currency;

/// A country or territory of ISO 3166-1, or one that ISO 3166-1 has no code for and that has telephone numbers of its own:
/// Kosovo (`XK`, as the EU and CLDR write it), Ascension Island (`AC`) and Tristan da Cunha (`TA`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Country {
    code: &'static str,
    name: &'static str,
    currency: &'static str,
}

impl Country {
    /// The alpha-2 code: `DE`.
    pub const fn code(self) -> &'static str {
        self.code
    }

    /// All countries, in the order of their codes.
    pub fn all() -> impl Iterator<Item = Self> {
        COUNTRIES.iter().map(|(code, name, currency)| Self { code, name, currency })
    }

    /// Parses a list of different countries, separated by commas or spaces. A list has at least one country.
    pub fn list(codes: &str) -> Result<Vec<Self>, String> {
        let mut countries = Vec::new();
        for code in codes.split([',', ' ']).filter(|code| !code.is_empty()) {
            let country = code.parse::<Self>().map_err(|_| {
                let shown: String = code.chars().take(20).collect();
                format!("must be ISO 3166-1 alpha-2 country codes, such as DE, AT; {shown} is none")
            })?;
            if !countries.contains(&country) {
                countries.push(country);
            }
        }
        if countries.is_empty() { Err("must name at least one country".to_owned()) } else { Ok(countries) }
    }

    /// The currency in which people are usually paid; `None` where nobody lives.
    pub fn currency(self) -> Option<Currency> {
        self.currency.parse().ok()
    }

    /// The country with this English name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|country| country.name.eq_ignore_ascii_case(name))
    }

    /// The English name: `Germany`.
    pub const fn name(self) -> &'static str {
        self.name
    }
}

impl FromStr for Country {
    type Err = String;

    /// Finds the country with this code, in any case.
    fn from_str(code: &str) -> Result<Self, Self::Err> {
        let found = Self::all().find(|country| country.code.eq_ignore_ascii_case(code));
        found.ok_or_else(|| "must be an ISO 3166-1 alpha-2 country code, such as DE".to_owned())
    }
}

impl Serialize for Country {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code)
    }
}

impl<'de> Deserialize<'de> for Country {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// The codes, the names, and the currency of each, if it has one: the first in CLDR 48 that is legal tender in November 2026, but
/// the own one of countries where another is legal tender, too. A withdrawn code must stay, because stored roles may have it.
const COUNTRIES: [(&str, &str, &str); 252] = [
    ("AC", "Ascension Island", "SHP"),
    ("AD", "Andorra", "EUR"),
    ("AE", "United Arab Emirates", "AED"),
    ("AF", "Afghanistan", "AFN"),
    ("AG", "Antigua and Barbuda", "XCD"),
    ("AI", "Anguilla", "XCD"),
    ("AL", "Albania", "ALL"),
    ("AM", "Armenia", "AMD"),
    ("AO", "Angola", "AOA"),
    ("AQ", "Antarctica", ""),
    ("AR", "Argentina", "ARS"),
    ("AS", "American Samoa", "USD"),
    ("AT", "Austria", "EUR"),
    ("AU", "Australia", "AUD"),
    ("AW", "Aruba", "AWG"),
    ("AX", "Åland Islands", "EUR"),
    ("AZ", "Azerbaijan", "AZN"),
    ("BA", "Bosnia and Herzegovina", "BAM"),
    ("BB", "Barbados", "BBD"),
    ("BD", "Bangladesh", "BDT"),
    ("BE", "Belgium", "EUR"),
    ("BF", "Burkina Faso", "XOF"),
    ("BG", "Bulgaria", "EUR"),
    ("BH", "Bahrain", "BHD"),
    ("BI", "Burundi", "BIF"),
    ("BJ", "Benin", "XOF"),
    ("BL", "Saint Barthélemy", "EUR"),
    ("BM", "Bermuda", "BMD"),
    ("BN", "Brunei", "BND"),
    ("BO", "Bolivia", "BOB"),
    ("BQ", "Caribbean Netherlands", "USD"),
    ("BR", "Brazil", "BRL"),
    ("BS", "Bahamas", "BSD"),
    ("BT", "Bhutan", "BTN"),
    ("BV", "Bouvet Island", "NOK"),
    ("BW", "Botswana", "BWP"),
    ("BY", "Belarus", "BYN"),
    ("BZ", "Belize", "BZD"),
    ("CA", "Canada", "CAD"),
    ("CC", "Cocos (Keeling) Islands", "AUD"),
    ("CD", "Congo (Kinshasa)", "CDF"),
    ("CF", "Central African Republic", "XAF"),
    ("CG", "Congo (Brazzaville)", "XAF"),
    ("CH", "Switzerland", "CHF"),
    ("CI", "Côte d'Ivoire", "XOF"),
    ("CK", "Cook Islands", "NZD"),
    ("CL", "Chile", "CLP"),
    ("CM", "Cameroon", "XAF"),
    ("CN", "China", "CNY"),
    ("CO", "Colombia", "COP"),
    ("CR", "Costa Rica", "CRC"),
    ("CU", "Cuba", "CUP"),
    ("CV", "Cape Verde", "CVE"),
    ("CW", "Curaçao", "XCG"),
    ("CX", "Christmas Island", "AUD"),
    ("CY", "Cyprus", "EUR"),
    ("CZ", "Czechia", "CZK"),
    ("DE", "Germany", "EUR"),
    ("DJ", "Djibouti", "DJF"),
    ("DK", "Denmark", "DKK"),
    ("DM", "Dominica", "XCD"),
    ("DO", "Dominican Republic", "DOP"),
    ("DZ", "Algeria", "DZD"),
    ("EC", "Ecuador", "USD"),
    ("EE", "Estonia", "EUR"),
    ("EG", "Egypt", "EGP"),
    ("EH", "Western Sahara", "MAD"),
    ("ER", "Eritrea", "ERN"),
    ("ES", "Spain", "EUR"),
    ("ET", "Ethiopia", "ETB"),
    ("FI", "Finland", "EUR"),
    ("FJ", "Fiji", "FJD"),
    ("FK", "Falkland Islands", "FKP"),
    ("FM", "Micronesia", "USD"),
    ("FO", "Faroe Islands", "DKK"),
    ("FR", "France", "EUR"),
    ("GA", "Gabon", "XAF"),
    ("GB", "United Kingdom", "GBP"),
    ("GD", "Grenada", "XCD"),
    ("GE", "Georgia", "GEL"),
    ("GF", "French Guiana", "EUR"),
    ("GG", "Guernsey", "GBP"),
    ("GH", "Ghana", "GHS"),
    ("GI", "Gibraltar", "GIP"),
    ("GL", "Greenland", "DKK"),
    ("GM", "Gambia", "GMD"),
    ("GN", "Guinea", "GNF"),
    ("GP", "Guadeloupe", "EUR"),
    ("GQ", "Equatorial Guinea", "XAF"),
    ("GR", "Greece", "EUR"),
    ("GS", "South Georgia and South Sandwich Islands", "GBP"),
    ("GT", "Guatemala", "GTQ"),
    ("GU", "Guam", "USD"),
    ("GW", "Guinea-Bissau", "XOF"),
    ("GY", "Guyana", "GYD"),
    ("HK", "Hong Kong", "HKD"),
    ("HM", "Heard and McDonald Islands", "AUD"),
    ("HN", "Honduras", "HNL"),
    ("HR", "Croatia", "EUR"),
    ("HT", "Haiti", "HTG"),
    ("HU", "Hungary", "HUF"),
    ("ID", "Indonesia", "IDR"),
    ("IE", "Ireland", "EUR"),
    ("IL", "Israel", "ILS"),
    ("IM", "Isle of Man", "GBP"),
    ("IN", "India", "INR"),
    ("IO", "British Indian Ocean Territory", "USD"),
    ("IQ", "Iraq", "IQD"),
    ("IR", "Iran", "IRR"),
    ("IS", "Iceland", "ISK"),
    ("IT", "Italy", "EUR"),
    ("JE", "Jersey", "GBP"),
    ("JM", "Jamaica", "JMD"),
    ("JO", "Jordan", "JOD"),
    ("JP", "Japan", "JPY"),
    ("KE", "Kenya", "KES"),
    ("KG", "Kyrgyzstan", "KGS"),
    ("KH", "Cambodia", "KHR"),
    ("KI", "Kiribati", "AUD"),
    ("KM", "Comoros", "KMF"),
    ("KN", "Saint Kitts and Nevis", "XCD"),
    ("KP", "North Korea", "KPW"),
    ("KR", "South Korea", "KRW"),
    ("KW", "Kuwait", "KWD"),
    ("KY", "Cayman Islands", "KYD"),
    ("KZ", "Kazakhstan", "KZT"),
    ("LA", "Laos", "LAK"),
    ("LB", "Lebanon", "LBP"),
    ("LC", "Saint Lucia", "XCD"),
    ("LI", "Liechtenstein", "CHF"),
    ("LK", "Sri Lanka", "LKR"),
    ("LR", "Liberia", "LRD"),
    ("LS", "Lesotho", "LSL"),
    ("LT", "Lithuania", "EUR"),
    ("LU", "Luxembourg", "EUR"),
    ("LV", "Latvia", "EUR"),
    ("LY", "Libya", "LYD"),
    ("MA", "Morocco", "MAD"),
    ("MC", "Monaco", "EUR"),
    ("MD", "Moldova", "MDL"),
    ("ME", "Montenegro", "EUR"),
    ("MF", "Saint Martin", "EUR"),
    ("MG", "Madagascar", "MGA"),
    ("MH", "Marshall Islands", "USD"),
    ("MK", "North Macedonia", "MKD"),
    ("ML", "Mali", "XOF"),
    ("MM", "Myanmar", "MMK"),
    ("MN", "Mongolia", "MNT"),
    ("MO", "Macao", "MOP"),
    ("MP", "Northern Mariana Islands", "USD"),
    ("MQ", "Martinique", "EUR"),
    ("MR", "Mauritania", "MRU"),
    ("MS", "Montserrat", "XCD"),
    ("MT", "Malta", "EUR"),
    ("MU", "Mauritius", "MUR"),
    ("MV", "Maldives", "MVR"),
    ("MW", "Malawi", "MWK"),
    ("MX", "Mexico", "MXN"),
    ("MY", "Malaysia", "MYR"),
    ("MZ", "Mozambique", "MZN"),
    ("NA", "Namibia", "NAD"),
    ("NC", "New Caledonia", "XPF"),
    ("NE", "Niger", "XOF"),
    ("NF", "Norfolk Island", "AUD"),
    ("NG", "Nigeria", "NGN"),
    ("NI", "Nicaragua", "NIO"),
    ("NL", "Netherlands", "EUR"),
    ("NO", "Norway", "NOK"),
    ("NP", "Nepal", "NPR"),
    ("NR", "Nauru", "AUD"),
    ("NU", "Niue", "NZD"),
    ("NZ", "New Zealand", "NZD"),
    ("OM", "Oman", "OMR"),
    ("PA", "Panama", "PAB"),
    ("PE", "Peru", "PEN"),
    ("PF", "French Polynesia", "XPF"),
    ("PG", "Papua New Guinea", "PGK"),
    ("PH", "Philippines", "PHP"),
    ("PK", "Pakistan", "PKR"),
    ("PL", "Poland", "PLN"),
    ("PM", "Saint Pierre and Miquelon", "EUR"),
    ("PN", "Pitcairn Islands", "NZD"),
    ("PR", "Puerto Rico", "USD"),
    ("PS", "Palestine", "ILS"),
    ("PT", "Portugal", "EUR"),
    ("PW", "Palau", "USD"),
    ("PY", "Paraguay", "PYG"),
    ("QA", "Qatar", "QAR"),
    ("RE", "Réunion", "EUR"),
    ("RO", "Romania", "RON"),
    ("RS", "Serbia", "RSD"),
    ("RU", "Russia", "RUB"),
    ("RW", "Rwanda", "RWF"),
    ("SA", "Saudi Arabia", "SAR"),
    ("SB", "Solomon Islands", "SBD"),
    ("SC", "Seychelles", "SCR"),
    ("SD", "Sudan", "SDG"),
    ("SE", "Sweden", "SEK"),
    ("SG", "Singapore", "SGD"),
    ("SH", "Saint Helena", "SHP"),
    ("SI", "Slovenia", "EUR"),
    ("SJ", "Svalbard and Jan Mayen", "NOK"),
    ("SK", "Slovakia", "EUR"),
    ("SL", "Sierra Leone", "SLE"),
    ("SM", "San Marino", "EUR"),
    ("SN", "Senegal", "XOF"),
    ("SO", "Somalia", "SOS"),
    ("SR", "Suriname", "SRD"),
    ("SS", "South Sudan", "SSP"),
    ("ST", "São Tomé and Príncipe", "STN"),
    ("SV", "El Salvador", "USD"),
    ("SX", "Sint Maarten", "XCG"),
    ("SY", "Syria", "SYP"),
    ("SZ", "Eswatini", "SZL"),
    ("TA", "Tristan da Cunha", "GBP"),
    ("TC", "Turks and Caicos Islands", "USD"),
    ("TD", "Chad", "XAF"),
    ("TF", "French Southern Territories", "EUR"),
    ("TG", "Togo", "XOF"),
    ("TH", "Thailand", "THB"),
    ("TJ", "Tajikistan", "TJS"),
    ("TK", "Tokelau", "NZD"),
    ("TL", "Timor-Leste", "USD"),
    ("TM", "Turkmenistan", "TMT"),
    ("TN", "Tunisia", "TND"),
    ("TO", "Tonga", "TOP"),
    ("TR", "Türkiye", "TRY"),
    ("TT", "Trinidad and Tobago", "TTD"),
    ("TV", "Tuvalu", "AUD"),
    ("TW", "Taiwan", "TWD"),
    ("TZ", "Tanzania", "TZS"),
    ("UA", "Ukraine", "UAH"),
    ("UG", "Uganda", "UGX"),
    ("UM", "U.S. Outlying Islands", "USD"),
    ("US", "United States", "USD"),
    ("UY", "Uruguay", "UYU"),
    ("UZ", "Uzbekistan", "UZS"),
    ("VA", "Vatican City", "EUR"),
    ("VC", "Saint Vincent and Grenadines", "XCD"),
    ("VE", "Venezuela", "VES"),
    ("VG", "British Virgin Islands", "USD"),
    ("VI", "U.S. Virgin Islands", "USD"),
    ("VN", "Vietnam", "VND"),
    ("VU", "Vanuatu", "VUV"),
    ("WF", "Wallis and Futuna", "XPF"),
    ("WS", "Samoa", "WST"),
    ("XK", "Kosovo", "EUR"),
    ("YE", "Yemen", "YER"),
    ("YT", "Mayotte", "EUR"),
    ("ZA", "South Africa", "ZAR"),
    ("ZM", "Zambia", "ZMW"),
    ("ZW", "Zimbabwe", "USD"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_unique_and_found_in_any_case() {
        assert!(COUNTRIES.is_sorted_by(|(one, ..), (next, ..)| one < next));
        for (code, name, currency) in COUNTRIES {
            assert!(code.len() == 2 && code.bytes().all(|letter| letter.is_ascii_uppercase()), "{code}");
            let country: Country = code.to_lowercase().parse().unwrap();
            assert_eq!((country.code(), country.name()), (code, name));
            assert_eq!(country.currency().map_or("", Currency::code), currency);
            assert_eq!(Country::named(&name.to_ascii_uppercase()), Some(country));
        }
    }

    #[test]
    fn a_list_has_different_countries() {
        let list =
            |codes| Country::list(codes).map(|list| list.into_iter().map(Country::code).collect::<Vec<_>>());
        assert_eq!(list(" de,AT  ch,DE"), Ok(vec!["DE", "AT", "CH"]));
        for wrong in ["", " , ", "DE, Austria", "D", "DE;AT"] {
            assert!(list(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn other_words_are_not_countries() {
        for word in ["", "D", "DEU", "XX", "UK", "EU", "Germany", "d\u{130}"] {
            let message = "must be an ISO 3166-1 alpha-2 country code, such as DE";
            assert_eq!(word.parse::<Country>(), Err(message.to_owned()), "{word}");
        }
    }
}
