use std::collections::HashSet;

use proptest::prelude::*;
use rlibphonenumber::PhoneNumberType as Type;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as ValueError, StrDeserializer};

use super::*;

/// The types of numbers that the library has examples of.
const TYPES: [Type; 11] = [
    Type::FixedLine,
    Type::Mobile,
    Type::TollFree,
    Type::PremiumRate,
    Type::SharedCost,
    Type::VoIP,
    Type::PersonalNumber,
    Type::Pager,
    Type::UAN,
    Type::VoiceMail,
    Type::FixedLineOrMobile,
];

/// The prefixes of calls within a country, with the regions that have them.
const TRUNK_PREFIXES: [(&str, &str); 4] = [
    (
        "0",
        "AE AF AL AM AR AT AU AX AZ BA BD BE BG BL BO BR CC CD CH CN CO CU CX DE DZ EC EG EH ER ET FI FR GB GE GF GG \
         GH GP HR ID IE IL IM IN IQ IR JE JO JP KE KG KH KI KP KR LA LB LI LK LR LT LY MA MC MD ME MF MG MK MM MN MQ \
         MW MY NA NG NL NP NZ PE PH PK PM PS PY RE RO RS RW SA SD SE SI SK SL SO SS SY TH TR TW TZ UA UG UY VE VN XK \
         YE YT ZA ZM ZW",
    ),
    ("1", "AG AI AS BB BM BS CA DM DO GD GU JM KN KY LC MH MP MS PR SX TC TT US VC VG VI"),
    ("8", "BY KZ RU TM"),
    ("06", "HU"),
];

/// Texts that are numbers, with the country that they are read by, and the number.
const TYPED: &[(&str, &str, &str)] = &[
    // Spaces and punctuation.
    ("+14155552671", "", "+14155552671"),
    ("  +1 (415) 555-2671 ", "", "+14155552671"),
    ("+1.415.555.2671", "", "+14155552671"),
    ("+1-415-555-2671", "", "+14155552671"),
    ("+1/415/555/2671", "", "+14155552671"),
    ("+1 [415] 555 2671", "", "+14155552671"),
    ("(+1) 415 555 2671", "", "+14155552671"),
    ("[+1] 415 555 2671", "", "+14155552671"),
    ("(+1 415 555 2671)", "", "+14155552671"),
    ("+1·415·555·2671", "", "+14155552671"),
    ("+1•415•555•2671", "", "+14155552671"),
    ("+1_415_555_2671", "", "+14155552671"),
    ("+1,415,555,2671", "", "+14155552671"),
    ("+1 415'555'2671", "", "+14155552671"),
    ("+1|415|555|2671", "", "+14155552671"),
    ("+1\\415\\555\\2671", "", "+14155552671"),
    ("+1 415 : 555 2671", "", "+14155552671"),
    ("+1\u{a0}415\u{202f}555\u{3000}2671", "", "+14155552671"),
    ("+1\t415\t555\t2671", "", "+14155552671"),
    ("+1 415\n555 2671", "", "+14155552671"),
    ("+1‐415‑555‒2671", "", "+14155552671"),
    ("+1–415—555―2671", "", "+14155552671"),
    ("+1\u{2212}415\u{2212}555\u{2212}2671", "", "+14155552671"),
    ("+81ー90ー1234ー5678", "", "+819012345678"),
    ("++14155552671", "", "+14155552671"),
    ("+ +1 415 555 2671", "", "+14155552671"),
    ("+ 1 415 555 2671", "", "+14155552671"),
    ("+33 6,12,34,56,78", "", "+33612345678"),
    ("+33 6/12/34/56/78", "", "+33612345678"),
    ("+49\u{a0}30/901820", "", "+4930901820"),
    ("+49 30 901820-12", "", "+493090182012"),
    ("+44.20.7946.0958", "", "+442079460958"),
    // Invisible marks.
    ("\u{202a}+1 415 555 2671\u{202c}", "", "+14155552671"),
    ("\u{202d}+49 151 12345678\u{202c}", "", "+4915112345678"),
    ("\u{200e}+49\u{200b}151\u{200f}12345678", "", "+4915112345678"),
    ("\u{2066}+49 151 12345678\u{2069}", "", "+4915112345678"),
    ("\u{feff}+49 151 12345678", "", "+4915112345678"),
    ("+49\u{ad}151\u{2060}12345678", "", "+4915112345678"),
    ("\u{200e}0151\u{200b} 23456789", "DE", "+4915123456789"),
    // Digits of other scripts.
    ("＋８１　９０−１２３４−５６７８", "", "+819012345678"),
    ("（０９０）１２３４－５６７８", "JP", "+819012345678"),
    ("٠١٠ ٠١٢٣ ٤٥٦٧", "EG", "+201001234567"),
    ("+٢٠ ١٠ ٠١٢٣ ٤٥٦٧", "", "+201001234567"),
    ("۰۹۱۲ ۳۴۵ ۶۷۸۹", "IR", "+989123456789"),
    ("+९१ ९८७६५ ४३२१०", "", "+919876543210"),
    ("০১৭১২ ৩৪৫৬৭৮", "BD", "+8801712345678"),
    ("๐๘๑ ๒๓๔ ๕๖๗๘", "TH", "+66812345678"),
    ("+𝟒𝟗 𝟏𝟓𝟏 𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖", "", "+4915112345678"),
    // Links and labels.
    ("tel:+49-151-12345678", "", "+4915112345678"),
    ("TEL: +49 151 12345678", "", "+4915112345678"),
    ("Tel. +49 151 12345678", "", "+4915112345678"),
    ("tel:0151-12345678", "DE", "+4915112345678"),
    // 00 instead of the plus.
    ("0049 151 12345678", "", "+4915112345678"),
    ("00 49 151 12345678", "", "+4915112345678"),
    ("(0049) 151 12345678", "", "+4915112345678"),
    ("+0049 151 12345678", "", "+4915112345678"),
    ("0033 6 12 34 56 78", "US", "+33612345678"),
    ("0033 6 12 34 56 78", "DE", "+33612345678"),
    ("0049 0151 12345678", "", "+4915112345678"),
    ("0011 49 151 12345678", "AU", "+4915112345678"),
    ("001 49 151 12345678", "SG", "+4915112345678"),
    ("011 49 151 12345678", "US", "+4915112345678"),
    ("010 49 151 12345678", "JP", "+4915112345678"),
    // A trunk prefix after the country code.
    ("+49 (0)151 12345678", "", "+4915112345678"),
    ("+49(0) 151 12345678", "", "+4915112345678"),
    ("+49 [0] 151 12345678", "", "+4915112345678"),
    ("+49 ( 0 ) 151 12345678", "", "+4915112345678"),
    ("+49 (0151) 12345678", "", "+4915112345678"),
    ("00 49 (0)30 901820", "", "+4930901820"),
    ("+49 0151 12345678", "", "+4915112345678"),
    ("+44 ( 020) 7946 0958", "", "+442079460958"),
    ("+44 07911 123456", "", "+447911123456"),
    ("+33 06 12 34 56 78", "", "+33612345678"),
    ("+7 8 912 345 67 89", "", "+79123456789"),
    ("+7 (8) 912 345 67 89", "", "+79123456789"),
    ("+375 8 029 491 19 11", "", "+375294911911"),
    ("+36 06 20 123 4567", "", "+36201234567"),
    ("+1 1 415 555 2671", "", "+14155552671"),
    ("+1 (0) 415 555 2671", "", "+14155552671"),
    ("+61 04 1234 5678", "", "+61412345678"),
    ("+81 090 1234 5678", "", "+819012345678"),
    ("+54 11 15 2345 6789", "", "+5491123456789"),
    ("+54 9 11 2345 6789", "", "+5491123456789"),
    ("+55 0 15 11 96123 4567", "", "+5511961234567"),
    ("+57 0 321 1234567", "", "+573211234567"),
    ("+52 1 222 123 4567", "", "+522221234567"),
    ("+52 1 55 1234 5678", "", "+525512345678"),
    ("+52 044 55 1234 5678", "", "+525512345678"),
    ("+52 55 1234 5678", "", "+525512345678"),
    ("+34 0 612 34 56 78", "", "+34612345678"),
    ("+383 043 201 234", "", "+38343201234"),
    // In Italy the zero of a landline is part of the number.
    ("+39 06 6982 1234", "", "+390669821234"),
    ("+39 (0)6 6982 1234", "", "+390669821234"),
    ("+39 (0)333 1234567", "", "+393331234567"),
    ("+39 0333 1234567", "", "+393331234567"),
    ("+378 0549 886377", "", "+3780549886377"),
    // As the country writes it.
    ("0151 23456789", "DE", "+4915123456789"),
    ("(0151) 23456789", "DE", "+4915123456789"),
    ("0151/23456789", "DE", "+4915123456789"),
    ("030/901820", "DE", "+4930901820"),
    ("030 - 90 18 20", "DE", "+4930901820"),
    ("151 23456789", "DE", "+4915123456789"),
    ("(415) 555-2671", "US", "+14155552671"),
    ("1-415-555-2671", "US", "+14155552671"),
    ("415.555.2671", "CA", "+14155552671"),
    ("07911 123456", "GB", "+447911123456"),
    ("06 12 34 56 78", "FR", "+33612345678"),
    ("06.12.34.56.78", "FR", "+33612345678"),
    ("06 6982 1234", "IT", "+390669821234"),
    ("098765 43210", "IN", "+919876543210"),
    ("98765 43210", "IN", "+919876543210"),
    ("8 (912) 345-67-89", "RU", "+79123456789"),
    ("06 20 123 4567", "HU", "+36201234567"),
    ("612 34 56 78", "ES", "+34612345678"),
    ("687 25 43 21", "ES", "+34687254321"),
    ("138 0013 8000", "CN", "+8613800138000"),
    ("0470/12.34.56", "BE", "+32470123456"),
    ("011 15 2345 6789", "AR", "+5491123456789"),
    ("044 55 1234 5678", "MX", "+525512345678"),
    ("(11) 96123-4567", "BR", "+5511961234567"),
    ("0 15 11 96123-4567", "BR", "+5511961234567"),
    ("043 201 234", "XK", "+38343201234"),
    // Of another country than the role's.
    ("+33 6 12 34 56 78", "DE", "+33612345678"),
    ("+1 415 555 2671", "DE", "+14155552671"),
    // Without the plus, but with the code of the country, or of another one where the country has no such number.
    ("49 151 12345678", "DE", "+4915112345678"),
    ("4915112345678", "DE", "+4915112345678"),
    ("14155552671", "US", "+14155552671"),
    ("33 6 12 34 56 78", "US", "+33612345678"),
    // What spreadsheets leave behind.
    ("+4915112345678.0", "", "+4915112345678"),
    ("4915112345678.0", "DE", "+4915112345678"),
    ("15112345678.0", "DE", "+4915112345678"),
    ("+4915112345678,0", "", "+4915112345678"),
    ("+4915112345678.00", "", "+4915112345678"),
    ("'+4915112345678", "", "+4915112345678"),
    ("'015112345678", "DE", "+4915112345678"),
    ("+49 30 90 18.20", "", "+4930901820"),
    // Possible numbers that no network has, and ones that are never called.
    ("+1 200 555 2671", "", "+12005552671"),
    ("+49 900 1234567", "", "+499001234567"),
    ("+881 612 345 678", "", "+881612345678"),
    ("+800 1234 5678", "", "+80012345678"),
    ("+383 43 201 234", "", "+38343201234"),
    ("+247 40123", "", "+24740123"),
    ("+290 8999", "", "+2908999"),
    ("+98 9601", "", "+989601"),
];

fn country(code: &str) -> Option<Country> {
    (!code.is_empty()).then(|| code.parse().unwrap())
}

fn read(typed: &str, code: &str) -> Result<String, PhoneError> {
    Phone::read(typed, country(code)).map(|phone| phone.0)
}

/// An example number of each region and type that the library has.
fn examples() -> Vec<(Region, PhoneNumber)> {
    let regions = PHONE_NUMBER_UTIL.get_supported_regions();
    let of = |region| {
        TYPES.into_iter().filter_map(move |kind| {
            let example = PHONE_NUMBER_UTIL.get_example_number_for_type_and_region(region, kind);
            example.ok().map(|example| (region, example))
        })
    };
    regions.flat_map(of).collect()
}

#[test]
fn numbers_are_read_as_people_type_them() {
    for &(typed, code, number) in TYPED {
        assert_eq!(read(typed, code).as_deref(), Ok(number), "{typed} {code}");
        let phone = Phone::read(typed, country(code)).unwrap();
        assert_eq!(read(phone.as_str(), ""), Ok(number.to_owned()), "{typed}");
        assert_eq!(phone.parsed(), phone, "{typed}");
        assert_eq!(Phone::understood(typed, country(code)), Some(phone), "{typed}");
    }
}

#[test]
fn what_is_no_number_is_refused_with_the_reason() {
    for (typed, code, error) in [
        // No country.
        ("4155552671", "", PhoneError::Country),
        ("14155552671", "", PhoneError::Country),
        ("0151 23456789", "", PhoneError::Country),
        ("(030) 901820", "", PhoneError::Country),
        ("0151 23456789", "AQ", PhoneError::Country),
        ("", "", PhoneError::Country),
        ("+", "", PhoneError::Country),
        ("+ ()", "DE", PhoneError::Country),
        ("call me in the evening", "DE", PhoneError::Country),
        ("+999 1234567", "", PhoneError::CountryCode),
        ("+0123456789", "", PhoneError::CountryCode),
        // Letters and other signs.
        ("+1 415 CALL NOW", "", PhoneError::Letters),
        ("1-800-FLOWERS", "US", PhoneError::Letters),
        ("+49 151 12345678 (mobile)", "", PhoneError::Letters),
        ("mobile: +49 151 12345678", "", PhoneError::Letters),
        ("+49 151 12345678 ~", "", PhoneError::Letters),
        ("+49 151 ½ 12345678", "", PhoneError::Letters),
        ("+49 151 ² 12345678", "", PhoneError::Letters),
        ("+49 151 ① 12345678", "", PhoneError::Letters),
        ("0151 23456789 or 030 901820", "DE", PhoneError::Letters),
        ("<b>0151 23456789</b>", "DE", PhoneError::Letters),
        ("tel:7042;phone-context=example.com", "", PhoneError::Letters),
        // Extensions.
        ("+1 415 555 2671 ext. 12", "", PhoneError::Extension),
        ("+1 415 555 2671 x12", "", PhoneError::Extension),
        ("+1 415 555 2671 extension 12", "", PhoneError::Extension),
        ("+1 415 555 2671 #12", "", PhoneError::Extension),
        ("tel:+1-415-555-2671;ext=12", "", PhoneError::Extension),
        ("030 901820 ext 5", "DE", PhoneError::Extension),
        ("030 901820 ext 5", "", PhoneError::Extension),
        // Two numbers.
        ("+49 151 12345678 / +49 30 901820", "", PhoneError::Two),
        ("+4915112345678 +4930901820", "", PhoneError::Two),
        ("+49 151 12345678 / 030 901820", "", PhoneError::Two),
        ("0151 12345678, 030 901820", "DE", PhoneError::Two),
        ("0151 12345678\n030 901820", "DE", PhoneError::Two),
        ("0151 12345678 | 030 901820", "DE", PhoneError::Two),
        ("030 901820 030 1234567", "DE", PhoneError::Two),
        ("030/901820/21", "DE", PhoneError::Two),
        ("+49 30 901820, 12", "", PhoneError::Extension),
        ("+45 12 34 56 78 / 21 34 56 78", "", PhoneError::Long),
        ("415-555-2671 415-555-2672", "US", PhoneError::Long),
        // Too few and too many digits.
        ("12", "DE", PhoneError::Short),
        ("+49 1", "", PhoneError::Short),
        ("+1 555 2671", "", PhoneError::Short),
        ("555-2671", "US", PhoneError::Short),
        ("+1 415 555 26712", "", PhoneError::Long),
        ("+49 151 123456789012345", "", PhoneError::Long),
        ("+1234567890123456789012345", "", PhoneError::Long),
        ("+47 123456", "", PhoneError::Length),
        // Spreadsheets.
        ("4.91511E+12", "DE", PhoneError::Exponent),
        ("4,91511E+12", "DE", PhoneError::Exponent),
        ("+4.91511e+12", "", PhoneError::Exponent),
        ("1.23457E+15", "", PhoneError::Exponent),
        ("4E12", "", PhoneError::Exponent),
        (&"9".repeat(101), "DE", PhoneError::Text),
    ] {
        assert_eq!(read(typed, code), Err(error), "{typed} {code}");
    }
}

#[test]
fn a_career_page_drops_extensions_and_refuses_the_rest() {
    for (typed, code, number) in [
        ("+1 415 555 2671 ext. 12", "", Some("+14155552671")),
        ("(415) 555-2671 x12", "US", Some("+14155552671")),
        ("tel:+1-415-555-2671;ext=12", "", Some("+14155552671")),
        ("030 901820 ext 5", "DE", Some("+4930901820")),
        ("030 901820 ext 5", "", None),
        ("0151 12345678, 030 901820", "DE", None),
        ("0151 23456789", "", None),
        ("", "US", None),
    ] {
        let understood = Phone::understood(typed, country(code));
        assert_eq!(understood.as_ref().map(Phone::as_str), number, "{typed} {code}");
    }
    for (typed, is_in_full) in [
        ("+49 151 12345678", true),
        ("tel:+49-151-12345678", true),
        ("+49 0151 12345678", false),
        ("+49 (0)151 12345678", false),
        ("0049 151 12345678", false),
        ("+49 151 12345678 ext. 1", false),
        ("+49 151 12345679", false),
        ("", false),
    ] {
        let phone: Phone = "+4915112345678".parse().unwrap();
        assert_eq!(phone.is_in_full(typed), is_in_full, "{typed}");
    }
}

/// A number is understood with the prefix of calls within the country after the country code, though most such numbers are
/// valid for the library and would be dialled with the prefix.
#[test]
fn a_trunk_prefix_after_the_country_code_is_no_part_of_the_number() {
    let mut regions = HashSet::new();
    for (region, example) in examples() {
        let number = e164(&example);
        let code = format!("+{}", example.country_code);
        assert_eq!(read(&number, "").as_deref(), Ok(number.as_str()), "{region:?}");
        let name = region.as_region_str().as_ref().to_owned();
        let of_region =
            TRUNK_PREFIXES.iter().find(|(_, regions)| regions.split(' ').any(|known| known == name));
        let Some((prefix, _)) = of_region else { continue };
        regions.insert(name);
        let rest = number.strip_prefix(&code).unwrap();
        for typed in [
            format!("{code} {prefix} {rest}"),
            format!("{code}{prefix}{rest}"),
            format!("{code} ({prefix}) {rest}"),
        ] {
            assert_eq!(read(&typed, "").as_deref(), Ok(number.as_str()), "{region:?} {typed}");
            assert_eq!(
                Phone(typed.replace([' ', '(', ')'], "")).parsed().as_str(),
                number,
                "{region:?} {typed}"
            );
        }
    }
    assert_eq!(regions.len(), 144);
}

#[test]
fn the_countries_of_all_numbers_are_known() {
    for (region, example) in examples() {
        let country: Result<Country, _> = region.as_region_str().as_ref().parse();
        assert!(country.is_ok(), "{region:?} {example}");
    }
    for code in ["XK", "AC", "TA"] {
        let region = code.parse().unwrap();
        let example = examples().into_iter().find(|(of, _)| *of == region).unwrap().1;
        assert_eq!(example.get_region_code(), Some(region));
    }
}

#[test]
fn a_query_also_finds_what_earlier_versions_have_stored() {
    let numbers = |query: &str| -> Result<Vec<String>, PhoneError> {
        Ok(Phone::in_query(query)?.into_iter().map(|phone| phone.0).collect())
    };
    for (query, expected) in [
        ("+49 151 12345678", vec!["+4915112345678"]),
        (" 49 151 12345678", vec!["+4915112345678"]),
        (" 4915112345678", vec!["+4915112345678"]),
        ("004915112345678", vec!["+4915112345678"]),
        ("+49015112345678", vec!["+4915112345678", "+49015112345678"]),
        (" 49015112345678", vec!["+4915112345678", "+49015112345678"]),
        ("+9991234567", vec!["+9991234567"]),
        ("+123456789012345", vec!["+123456789012345"]),
    ] {
        assert_eq!(numbers(query), Ok(expected.into_iter().map(str::to_owned).collect()), "{query}");
    }
    for (query, error) in [
        ("4155552671", PhoneError::Country),
        ("+0049", PhoneError::Short),
        ("+1 415 555 2671 x1", PhoneError::Extension),
        ("+49 151 12345678 +49 30 901820", PhoneError::Two),
    ] {
        assert_eq!(numbers(query), Err(error), "{query}");
    }
}

#[test]
fn a_stored_number_is_read_as_it_is() {
    for stored in ["+49015112345678", "+9991234567", "+4915112345678"] {
        let item: StrDeserializer<'_, ValueError> = stored.into_deserializer();
        assert_eq!(Phone::deserialize(item).unwrap().as_str(), stored);
    }
    let parsed = |stored: &str| Phone(stored.to_owned()).parsed().0;
    assert_eq!(parsed("+49015112345678"), "+4915112345678");
    assert_eq!(parsed("+9991234567"), "+9991234567", "no country has this code");
}

#[test]
fn a_request_is_refused_at_once_if_no_country_can_help() {
    let given = |typed: &str| typed.parse::<GivenPhone>();
    assert_eq!(given("0151 12345678").unwrap().international(), None);
    assert_eq!(given("0049 151 12345678").unwrap().international(), None);
    assert_eq!(given("+49 0151 12345678").unwrap().international().unwrap().as_str(), "+4915112345678");
    for (typed, error) in [
        ("12", PhoneError::Country),
        ("x", PhoneError::Country),
        ("+12", PhoneError::Short),
        ("0151 FLOWERS", PhoneError::Letters),
        ("0151 12345678 x1", PhoneError::Extension),
        ("4.91511E+12", PhoneError::Exponent),
    ] {
        assert_eq!(given(typed), Err(error.to_string()), "{typed}");
    }
}

proptest! {
    #[test]
    fn reading_any_text_never_panics(typed in "\\PC{0,120}") {
        let _ = (Phone::understood(&typed, country("DE")), Phone::in_query(&typed), typed.parse::<GivenPhone>());
        let _ = Phone(typed).parsed();
    }

    #[test]
    fn a_number_that_was_read_is_read_as_the_same_number_again(
        digits in "\\+?[0-9 ]{5,20}",
        code in prop::sample::select(vec!["", "DE", "US", "IT", "MX", "AR", "HU", "JP", "ID"]),
    ) {
        if let Ok(number) = read(&digits, code) {
            prop_assert!((7..=16).contains(&number.len()), "{number}");
            prop_assert_eq!(read(&number, ""), Ok(number.clone()));
            prop_assert_eq!(read(&number, "FR"), Ok(number));
        }
    }

    #[test]
    fn punctuation_and_marks_do_not_change_a_number(marks in prop::collection::vec(
        prop::sample::select(vec!["", " ", "-", ".", "\u{200b}", "\u{2212}", "·", "\u{a0}", "\u{202c}"]), 12,
    )) {
        let typed: String = "4915112345678".chars().zip(marks).flat_map(|(digit, mark)| [digit.to_string(), mark.to_owned()]).collect();
        prop_assert_eq!(read(&format!("+{typed}8"), ""), Ok("+4915112345678".to_owned()));
    }
}
