//! Accent colours: an organization's own colour, in shades that are legible on light and dark pages.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A colour in sRGB that is dark enough for text on a white page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Accent(Colour);

/// A colour in sRGB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour([u8; 3]);

/// The minimum contrast between text and its background (WCAG 2.2, success criterion 1.4.3, level AA).
const MIN_CONTRAST: f64 = 4.5;

impl Colour {
    /// White.
    pub const WHITE: Self = Self([255; 3]);
    /// The darkest colour of the pages.
    pub const INK: Self = Self([0x11, 0x12, 0x14]);

    /// The contrast with another colour, from 1 to 21 (WCAG 2.2, "contrast ratio").
    pub fn contrast(self, other: Self) -> f64 {
        let (one, other) = (self.luminance(), other.luminance());
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    /// The relative luminance (WCAG 2.2, "relative luminance").
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.0.map(|channel| {
            let channel = f64::from(channel) / 255.0;
            if channel <= 0.040_45 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// Mixes the colour with this percentage of white.
    fn lighter(self, percent: u16) -> Self {
        Self(self.0.map(|channel| {
            let channel = u16::from(channel);
            let mixed = channel + (255 - channel) * percent.min(100) / 100;
            u8::try_from(mixed).unwrap_or(u8::MAX)
        }))
    }

    /// The text colour with the better contrast on this colour: white or ink.
    #[must_use]
    pub fn text_on(self) -> Self {
        if self.contrast(Self::WHITE) >= self.contrast(Self::INK) { Self::WHITE } else { Self::INK }
    }
}

impl Accent {
    /// The colour on light pages.
    pub const fn on_light(self) -> Colour {
        self.0
    }

    /// The colour on dark pages: the first tint with a contrast of at least 7 against ink.
    pub fn on_dark(self) -> Colour {
        let mut tints = (0..100).map(|percent| self.0.lighter(percent));
        tints.find(|tint| tint.contrast(Colour::INK) >= 7.0).unwrap_or(Colour::WHITE)
    }
}

impl FromStr for Accent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6);
        let channels = digits.and_then(|digits| {
            let channel = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
            digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some([
                channel(0)?,
                channel(2)?,
                channel(4)?,
            ])
        });
        let colour = Colour(channels.ok_or("must be a colour such as #2450d3")?);
        let contrast = colour.contrast(Colour::WHITE);
        if contrast < MIN_CONTRAST {
            return Err(format!(
                "must be darker: its contrast with white is {:.1}, but text needs at least {MIN_CONTRAST}",
                (contrast * 10.0).floor() / 10.0
            ));
        }
        Ok(Self(colour))
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

impl TryFrom<String> for Accent {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Accent> for String {
    fn from(accent: Accent) -> Self {
        accent.0.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_colour_with_too_little_contrast_is_rejected() {
        let contrast = |one: Colour, other| (one.contrast(other) * 100.0).round() / 100.0;
        assert_eq!(contrast(Colour::WHITE, Colour([0; 3])).to_string(), "21");
        assert_eq!(contrast(Colour([0x76; 3]), Colour::WHITE).to_string(), "4.54");
        assert_eq!("#2450D3".parse::<Accent>().unwrap().on_light().to_string(), "#2450d3");
        for (colour, wrong) in [
            ("#ffcc00", "must be darker: its contrast with white is 1.5, but text needs at least 4.5"),
            ("2450d3", "must be a colour such as #2450d3"),
            ("#2450d", "must be a colour such as #2450d3"),
            ("#2450dé", "must be a colour such as #2450d3"),
            ("#+12345", "must be a colour such as #2450d3"),
            ("blue", "must be a colour such as #2450d3"),
            ("", "must be a colour such as #2450d3"),
        ] {
            assert_eq!(colour.parse::<Accent>(), Err(wrong.to_owned()));
        }
    }

    proptest! {
        #[test]
        fn an_accent_is_legible_on_light_and_dark_pages(channels: [u8; 3]) {
            let text = Colour(channels).to_string();
            let Ok(accent) = text.parse::<Accent>() else { return Ok(()) };
            prop_assert!(accent.on_light().contrast(Colour::WHITE) >= MIN_CONTRAST);
            prop_assert!(accent.on_dark().contrast(Colour::INK) >= 7.0);
            for colour in [accent.on_light(), accent.on_dark()] {
                prop_assert!(colour.text_on().contrast(colour) >= MIN_CONTRAST);
            }
            prop_assert_eq!(String::from(accent), text);
        }

        #[test]
        fn parsing_any_text_never_panics(given in "\\PC{0,12}") {
            let _ = given.parse::<Accent>();
        }
    }
}
