//! Decompresses data within the budget.

use std::io::Read;

use flate2::read::{DeflateDecoder, ZlibDecoder};

use super::budget::Budget;
use super::refusal::Refusal;

/// The number of bytes that are decompressed at a time.
const STEP: usize = 32 * 1024;

/// Decompresses data in zlib's format, up to its end.
pub(super) fn inflated_zlib(data: &[u8], budget: &mut Budget) -> Result<Vec<u8>, Refusal> {
    read(ZlibDecoder::new(data), usize::MAX, budget)
}

/// Decompresses at most `limit` bytes of raw data, as it is in archives.
pub(super) fn inflated(data: &[u8], limit: usize, budget: &mut Budget) -> Result<Vec<u8>, Refusal> {
    read(DeflateDecoder::new(data), limit, budget)
}

fn read(mut decoder: impl Read, limit: usize, budget: &mut Budget) -> Result<Vec<u8>, Refusal> {
    let (mut content, mut step) = (Vec::new(), vec![0; STEP.min(limit)]);
    while content.len() < limit {
        let most = step.len().min(limit - content.len());
        let length = decoder.read(&mut step[..most]).map_err(|_| Refusal::Damaged)?;
        if length == 0 {
            break;
        }
        budget.read(length)?;
        content.extend_from_slice(&step[..length]);
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use std::io::Write;

    fn zlib(content: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn decompressed_bytes_are_paid_for() {
        let (content, mut budget) = (vec![7; 100_000], Budget::of(0));
        assert_eq!(inflated_zlib(&zlib(&content), &mut budget), Ok(content.clone()));
        assert_eq!(budget.spent(), 100_000);
        let data = &zlib(&content)[2..];
        assert_eq!(inflated(data, 10, &mut budget).map(|content| content.len()), Ok(10));
        assert_eq!(inflated_zlib(&zlib(&content)[..50], &mut budget), Err(Refusal::Damaged));
        assert_eq!(inflated_zlib(&zlib(&vec![0; 9 << 20]), &mut budget), Err(Refusal::TooComplex));
    }
}
