//! Parts of an input.

/// The input as text. Bytes that are not UTF-8 become replacement characters.
pub(crate) fn text(input: &[u8]) -> String {
    String::from_utf8_lossy(input).into_owned()
}

/// The first line, and the rest of the input without the line's end.
pub(crate) fn first_line(input: &[u8]) -> (&[u8], &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    (&input[..end], input.get(end + 1..).unwrap_or_default())
}

/// ASCII text after replacements. Each replacement is two bytes: the position and the new byte. `None` if the result is
/// not text.
pub(crate) fn edited(ascii: &str, replacements: &[u8]) -> Option<String> {
    let mut bytes = ascii.as_bytes().to_vec();
    for [position, byte] in replacements.as_chunks().0 {
        let position = usize::from(*position) % bytes.len();
        bytes[position] = *byte;
    }
    String::from_utf8(bytes).ok()
}
