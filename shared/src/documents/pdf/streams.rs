//! The data of streams.

use super::encryption::Encryption;
use super::file::PdfFile;
use super::tokens::Object;
use crate::documents::budget::Budget;
use crate::documents::inflate::inflated_zlib;
use crate::documents::refusal::Refusal;

/// The data of a stream, decrypted and decompressed. Without compression and encryption, `None`: it is in the file.
pub(super) fn decoded(
    file: &PdfFile<'_>,
    id: (u32, u32),
    dictionary: &Object<'_>,
    data: usize,
    encryption: Option<&Encryption>,
    budget: &mut Budget,
) -> Result<Option<Vec<u8>>, Refusal> {
    let is_plain = is_plain(dictionary)?;
    let data = &file.bytes[data..];
    let decrypted = match encryption {
        Some(encryption) => {
            let length = file.length(dictionary, budget)?.ok_or(Refusal::Damaged)?;
            encryption.stream(id, data.get(..length).ok_or(Refusal::Damaged)?, budget)?
        }
        None => None,
    };
    match (decrypted, is_plain) {
        (None, true) => Ok(None),
        (Some(decrypted), true) => Ok(Some(decrypted)),
        (None, false) => inflated_zlib(data, budget).map(Some),
        (Some(decrypted), false) => inflated_zlib(&decrypted, budget).map(Some),
    }
}

/// Whether a stream is not compressed; an error if it has another filter than one that only decompresses.
fn is_plain(dictionary: &Object<'_>) -> Result<bool, Refusal> {
    for parameters in dictionary.values(b"DecodeParms").chain(dictionary.values(b"DP")) {
        let parameters =
            if let Object::Array(all) = parameters { all } else { std::slice::from_ref(parameters) };
        let is_usual = |parameters: &Object<'_>| match parameters {
            Object::Null => true,
            Object::Dictionary(_) => {
                parameters.values(b"Predictor").all(|predictor| *predictor == Object::Number(1))
            }
            _ => false,
        };
        if !parameters.iter().all(is_usual) {
            return Err(Refusal::Damaged);
        }
    }
    let mut filters = dictionary.values(b"Filter");
    let filter = match (filters.next(), filters.next()) {
        (None | Some(Object::Null), None) => return Ok(true),
        (Some(Object::Array(filters)), None) => match &filters[..] {
            [] => return Ok(true),
            [filter] => filter,
            _ => return Err(Refusal::Damaged),
        },
        (Some(filter), None) => filter,
        _ => return Err(Refusal::Damaged),
    };
    match filter {
        Object::Name(name) if name.is(b"FlateDecode") => Ok(false),
        _ => Err(Refusal::Damaged),
    }
}
