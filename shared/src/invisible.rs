//! Characters that a reader does not see.

/// Whether a character changes the direction of text, is a control character, or has no glyph and can hide text from
/// people but not from a model. Newlines, tabs, and the joiners and emoji selectors that words need are not invisible.
pub const fn is_invisible(c: char) -> bool {
    !matches!(c, '\n' | '\t' | '\u{200C}' | '\u{200D}' | '\u{FE0E}' | '\u{FE0F}')
        && matches!(
            c,
            '\0'..='\u{1F}' | '\u{7F}'..='\u{9F}' | '\u{AD}' | '\u{34F}' | '\u{61C}'
                | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}' | '\u{180B}'..='\u{180F}'
                | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
                | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
                | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}'
        )
}
