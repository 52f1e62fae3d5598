//! Logos: the pictures of organizations on their career pages.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use imagesize::ImageType;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::string_enum::string_enum;

/// The maximum size of a logo, in bytes: what fits into an item of the table, with room for the rest of it.
const MAX_BYTES: usize = 200 * 1024;
/// The maximum width and height of a logo, in pixels.
const MAX_SIDE: usize = 4_096;

string_enum! {
    /// The format of a logo, as a media type. SVG is not among them, because it can contain scripts.
    pub enum LogoFormat {
        /// Portable Network Graphics.
        Png = "image/png",
        /// JPEG.
        Jpeg = "image/jpeg",
        /// WebP.
        Webp = "image/webp",
    }
}

/// A logo whose content was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logo {
    /// The format of the content.
    pub format: LogoFormat,
    /// The content.
    pub content: Vec<u8>,
}

/// The hash of a logo's content, which is part of its URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LogoHash(String);

impl Logo {
    /// Checks a file by its content: its name and its declared type come from the sender. The error is what follows "The
    /// logo".
    pub fn check(content: &[u8]) -> Result<Self, &'static str> {
        if content.len() > MAX_BYTES {
            return Err("must be at most 200 KB");
        }
        let format = match imagesize::image_type(content) {
            Ok(ImageType::Png) => LogoFormat::Png,
            Ok(ImageType::Jpeg) => LogoFormat::Jpeg,
            Ok(ImageType::Webp) => LogoFormat::Webp,
            _ => return Err("must be a PNG, JPEG or WebP picture"),
        };
        let size =
            imagesize::blob_size(content).map_err(|_| "must be a complete PNG, JPEG or WebP picture")?;
        let is_side = |pixels: usize| (1..=MAX_SIDE).contains(&pixels);
        if !is_side(size.width) || !is_side(size.height) {
            return Err("must be at most 4,096 pixels wide and high");
        }
        Ok(Self { format, content: content.to_vec() })
    }

    /// The hash of the content.
    pub fn hash(&self) -> LogoHash {
        LogoHash(URL_SAFE_NO_PAD.encode(&Sha256::digest(&self.content)[..12]))
    }
}

impl fmt::Display for LogoHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        picture.extend_from_slice(&width.to_be_bytes());
        picture.extend_from_slice(&height.to_be_bytes());
        picture.extend_from_slice(b"\x08\x06\0\0\0");
        picture
    }

    fn format(content: &[u8]) -> Result<LogoFormat, &'static str> {
        Logo::check(content).map(|logo| logo.format)
    }

    #[test]
    fn the_format_is_that_of_the_content() {
        let jpeg = b"\xff\xd8\xff\xc0\0\x11\x08\0\x10\0\x10\x03\x01\x22\0\x02\x11\x01\x03\x11\x01";
        let webp = b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\0\0\0\x10\x07\x10\x11\x11\x88\x88\xfe\x07\0";
        assert_eq!(format(&png(40, 40)), Ok(LogoFormat::Png));
        assert_eq!(format(jpeg), Ok(LogoFormat::Jpeg));
        assert_eq!(format(webp), Ok(LogoFormat::Webp));
        for other in [
            &b""[..],
            b"GIF89a\x01\0\x01\0\0\0\0;",
            b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
            b"<?xml version='1.0'?><svg/>",
            b"<!doctype html>",
            b"BM\x1e\0\0\0\0\0\0\0\x1a\0\0\0",
        ] {
            assert_eq!(format(other), Err("must be a PNG, JPEG or WebP picture"), "{other:?}");
        }
    }

    #[test]
    fn a_logo_has_a_size() {
        assert_eq!(format(&png(4_096, 1)), Ok(LogoFormat::Png));
        for (width, height) in [(4_097, 1), (1, 4_097), (0, 1), (1, 0)] {
            assert_eq!(format(&png(width, height)), Err("must be at most 4,096 pixels wide and high"));
        }
        assert_eq!(format(&png(1, 1)[..16]), Err("must be a complete PNG, JPEG or WebP picture"));
        let mut large = png(1, 1);
        large.resize(MAX_BYTES, 0);
        assert_eq!(format(&large), Ok(LogoFormat::Png));
        large.push(0);
        assert_eq!(format(&large), Err("must be at most 200 KB"));
    }

    #[test]
    fn the_hash_identifies_the_content() {
        let [one, other] = [1, 2].map(|side| Logo::check(&png(side, side)).unwrap().hash().to_string());
        assert!(one != other && one.len() == 16, "{one} {other}");
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_checked(mut bytes: Vec<u8>, start in 0..4_usize) {
            let start = [&b""[..], b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF\x1a\0\0\0WEBPVP8"][start];
            bytes.splice(..0, start.iter().copied());
            let _ = format(&bytes);
        }
    }
}
