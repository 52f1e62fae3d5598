//! Base62: encodes numbers as digits and letters, with a fixed length.

/// The 62 digits, in ascending order.
pub(crate) const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Encodes the last `length` digits of a number, with leading zeros.
pub(crate) fn encode(mut number: u64, length: usize) -> String {
    let mut digits = vec!['0'; length];
    for digit in digits.iter_mut().rev() {
        *digit = char::from(DIGITS[usize::try_from(number % 62).unwrap_or(0)]);
        number /= 62;
    }
    digits.into_iter().collect()
}

/// Decodes a number. Returns `None` for other characters and for numbers that do not fit in 64 bits.
pub(crate) fn decode(text: &str) -> Option<u64> {
    text.bytes().try_fold(0u64, |number, byte| {
        let digit = DIGITS.iter().position(|digit| *digit == byte)?;
        number.checked_mul(62)?.checked_add(digit as u64)
    })
}
