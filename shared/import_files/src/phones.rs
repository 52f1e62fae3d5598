//! Phone numbers, which may have lost a plus or zeros.

use shared::model::{Country, Phone, PhoneError, PlainPhones};

/// Reads a number, with a warning if it had to be completed. Fails with the end of a sentence that begins with the name of a
/// field.
pub(crate) fn read(
    text: &str,
    country: Option<Country>,
    plain: Option<PlainPhones>,
) -> Result<(Phone, Option<String>), String> {
    let Some(digits) = Phone::bare_digits(text) else {
        let read = Phone::read(text, country);
        return read.map(|phone| (phone, None)).map_err(|problem| problem.to_string());
    };
    match Phone::of_digits(&digits, country, plain) {
        Ok(phone) => {
            let warning = format!("phone has no plus: {digits} was read as {}", phone.as_str());
            Ok((phone, Some(warning)))
        }
        Err(problem @ PhoneError::Ambiguous { .. }) => {
            Err(format!("{problem}; send plain_phones to say which"))
        }
        Err(problem) => Err(problem.to_string()),
    }
}
