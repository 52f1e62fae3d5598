//! The standard security handler (ISO 32000-2, 7.6), for PDFs that open without a password.
//!
//! Such a PDF only asks readers to forbid changes. Its names are not encrypted, but its object streams are, and they may
//! contain actions.

use aes::cipher::{Block, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes256};
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::file::{PdfFile, Place};
use super::md5::md5;
use super::tokens::Object;
use crate::documents::budget::Budget;
use crate::documents::refusal::Refusal;

/// What takes the place of a password that is shorter: the whole of an empty one.
const PADDING: [u8; 32] = [
    0x28, 0xBF, 0x4E, 0x5E, 0x4E, 0x75, 0x8A, 0x41, 0x64, 0x00, 0x4E, 0x56, 0xFF, 0xFA, 0x01, 0x08, 0x2E,
    0x2E, 0x00, 0xB6, 0xD0, 0x68, 0x3E, 0x80, 0x2F, 0x0C, 0xA9, 0xFE, 0x64, 0x53, 0x69, 0x7A,
];
/// The length of a block of AES.
const BLOCK: usize = 16;

/// Where a PDF describes its encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EncryptionAt {
    /// In the object with this number.
    Object(u32),
    /// In the trailer at this place.
    Trailer(Place),
}

/// How streams are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    None,
    Rc4,
    Aes128,
    Aes256,
}

/// The key of a PDF that opens with an empty password.
#[derive(Debug)]
pub(super) struct Encryption {
    key: Vec<u8>,
    method: Method,
}

/// The entries of an encryption dictionary.
struct Parameters<'o>(Object<'o>);

impl Parameters<'_> {
    fn number(&self, key: &[u8]) -> Option<i64> {
        match self.0.values(key).next() {
            Some(Object::Number(number)) => Some(*number),
            _ => None,
        }
    }

    fn bytes<const LENGTH: usize>(&self, key: &[u8]) -> Result<[u8; LENGTH], Refusal> {
        let text = self
            .0
            .values(key)
            .find_map(|value| if let Object::Text(text) = value { Some(text) } else { None });
        let bytes = text.map(super::tokens::Text::bytes).unwrap_or_default();
        bytes.first_chunk().copied().ok_or(Refusal::Protected)
    }

    /// The method of a version that names its methods.
    fn method(&self) -> Result<Method, Refusal> {
        let Some(Object::Name(name)) = self.0.values(b"StmF").next() else { return Ok(Method::None) };
        if name.is(b"Identity") {
            return Ok(Method::None);
        }
        let name = name.decoded();
        let filter = self.0.values(b"CF").flat_map(|filters| filters.values(&name)).next();
        let method = filter.and_then(|filter| filter.values(b"CFM").next());
        let Some(Object::Name(method)) = method else { return Err(Refusal::Protected) };
        match &*method.decoded() {
            b"None" => Ok(Method::None),
            b"V2" => Ok(Method::Rc4),
            b"AESV2" => Ok(Method::Aes128),
            b"AESV3" => Ok(Method::Aes256),
            _ => Err(Refusal::Protected),
        }
    }
}

impl Encryption {
    /// Opens a PDF with an empty password.
    pub(super) fn open(
        at: EncryptionAt,
        file: &PdfFile<'_>,
        identifier: &[u8],
        budget: &mut Budget,
    ) -> Result<Self, Refusal> {
        let found = match at {
            EncryptionAt::Object(number) => {
                let places: Vec<Place> = file.places(number).collect();
                // Readers differ in which of several they take.
                let [place] = places[..] else { return Err(Refusal::Protected) };
                file.at(place, budget)?
            }
            EncryptionAt::Trailer(place) => {
                let trailer = file.at(place, budget)?;
                trailer.and_then(|trailer| trailer.values(b"Encrypt").next().cloned())
            }
        };
        let parameters = Parameters(found.ok_or(Refusal::Protected)?);
        let is_standard = parameters
            .0
            .values(b"Filter")
            .all(|filter| matches!(filter, Object::Name(name) if name.is(b"Standard")));
        if !is_standard || has_twice(&parameters.0) {
            return Err(Refusal::Protected);
        }
        let (version, revision) = (parameters.number(b"V"), parameters.number(b"R"));
        match (version, revision) {
            (Some(version @ (1 | 2 | 4)), Some(revision @ 2..=4)) => {
                let length = match version {
                    1 => 5,
                    2 => parameters.number(b"Length").unwrap_or(40) / 8,
                    _ => 16,
                };
                let length = usize::try_from(length).ok().filter(|length| (5..=16).contains(length));
                let key = key_with_md5(&parameters, revision, length.ok_or(Refusal::Protected)?, identifier)?;
                let method = if version == 4 { parameters.method()? } else { Method::Rc4 };
                Ok(Self { key, method })
            }
            (Some(5), Some(revision @ (5 | 6))) => {
                let key = key_with_sha(&parameters, revision == 6, budget)?;
                Ok(Self { key, method: parameters.method()? })
            }
            _ => Err(Refusal::Protected),
        }
    }

    /// Decrypts the data of the stream in an object; `None` if streams are not encrypted.
    pub(super) fn stream(
        &self,
        (number, generation): (u32, u32),
        data: &[u8],
        budget: &mut Budget,
    ) -> Result<Option<Vec<u8>>, Refusal> {
        if self.method == Method::None {
            return Ok(None);
        }
        // Decrypting takes longer than reading.
        budget.read(data.len().saturating_mul(2))?;
        if self.method == Method::Aes256 {
            let cipher = Aes256::new_from_slice(&self.key).map_err(|_| Refusal::Protected)?;
            return without_padding(data, &cipher).map(Some);
        }
        let salt: &[u8] = if self.method == Method::Aes128 { b"sAlT" } else { b"" };
        let hash = md5(&[&self.key, &number.to_le_bytes()[..3], &generation.to_le_bytes()[..2], salt]);
        let length = (self.key.len() + 5).min(16);
        if self.method == Method::Rc4 {
            return Ok(Some(rc4(&hash[..length], data)));
        }
        let cipher = Aes128::new_from_slice(&hash[..length]).map_err(|_| Refusal::Protected)?;
        without_padding(data, &cipher).map(Some)
    }
}

/// Whether a dictionary has a key twice, so that readers differ in its meaning.
fn has_twice(dictionary: &Object<'_>) -> bool {
    let mut keys: Vec<_> = dictionary.entries().iter().map(|(name, _)| name.decoded()).collect();
    keys.sort_unstable();
    keys.windows(2).any(|keys| keys[0] == keys[1])
}

/// The key that an empty password gives in revisions 2 to 4 (algorithms 2, 6 and 7).
fn key_with_md5(
    parameters: &Parameters<'_>,
    revision: i64,
    length: usize,
    identifier: &[u8],
) -> Result<Vec<u8>, Refusal> {
    let (owner, user) = (parameters.bytes::<32>(b"O")?, parameters.bytes::<32>(b"U")?);
    let permissions = parameters.number(b"P").ok_or(Refusal::Protected)?;
    let permissions = permissions.to_le_bytes();
    let is_metadata_plain = parameters.0.values(b"EncryptMetadata").any(|value| *value == Object::False);
    let metadata: &[u8] = if revision >= 4 && is_metadata_plain { &[0xFF; 4] } else { &[] };
    let mut key = md5(&[&PADDING, &owner, &permissions[..4], identifier, metadata]);
    if revision >= 3 {
        for _ in 0..50 {
            key = md5(&[&key[..length]]);
        }
    }
    let key = key[..length].to_vec();
    let is_right = if revision == 2 {
        rc4(&key, &PADDING) == user
    } else {
        let mut expected = md5(&[&PADDING, identifier]).to_vec();
        for round in 0..20 {
            let key: Vec<u8> = key.iter().map(|byte| byte ^ round).collect();
            expected = rc4(&key, &expected);
        }
        expected == user[..16]
    };
    if is_right { Ok(key) } else { Err(Refusal::Password) }
}

/// The key that an empty password gives in revisions 5 and 6 (algorithms 2.A and 11).
fn key_with_sha(
    parameters: &Parameters<'_>,
    is_hardened: bool,
    budget: &mut Budget,
) -> Result<Vec<u8>, Refusal> {
    let user = parameters.bytes::<48>(b"U")?;
    let mut encrypted = parameters.bytes::<32>(b"UE")?;
    let (expected, salts) = user.split_at(32);
    let (salt, key_salt) = salts.split_at(8);
    if hash_of_nothing(salt, is_hardened, budget)? != expected {
        return Err(Refusal::Password);
    }
    let hash = hash_of_nothing(key_salt, is_hardened, budget)?;
    let cipher = Aes256::new_from_slice(&hash).map_err(|_| Refusal::Protected)?;
    decrypt(&mut encrypted, [0; BLOCK], &cipher);
    Ok(encrypted.to_vec())
}

/// The hash of an empty user password (algorithm 2.B).
fn hash_of_nothing(salt: &[u8], is_hardened: bool, budget: &mut Budget) -> Result<Vec<u8>, Refusal> {
    let mut key = Sha256::digest(salt).to_vec();
    if !is_hardened {
        return Ok(key);
    }
    for round in 1_u32.. {
        let mut data = key.repeat(64);
        budget.read(2 * data.len())?;
        let (Ok(cipher), Some(vector)) = (Aes128::new_from_slice(&key[..16]), key[16..].first_chunk()) else {
            return Err(Refusal::Protected);
        };
        encrypt(&mut data, *vector, &cipher);
        let remainder = data[..16].iter().map(|byte| u32::from(*byte)).sum::<u32>() % 3;
        key = match remainder {
            0 => Sha256::digest(&data).to_vec(),
            1 => Sha384::digest(&data).to_vec(),
            _ => Sha512::digest(&data).to_vec(),
        };
        let last = data.last().copied().map_or(0, u32::from);
        if round >= 64 && last + 32 <= round {
            break;
        }
    }
    key.truncate(32);
    Ok(key)
}

/// Decrypts data that begins with its initialization vector, and removes the padding.
fn without_padding<C: BlockCipherDecrypt>(data: &[u8], cipher: &C) -> Result<Vec<u8>, Refusal> {
    let Some((vector, data)) = data.split_first_chunk::<BLOCK>() else { return Err(Refusal::Damaged) };
    let mut content = data[..data.len() / BLOCK * BLOCK].to_vec();
    decrypt(&mut content, *vector, cipher);
    let padding = content.last().map_or(0, |length| usize::from(*length));
    if (1..=BLOCK).contains(&padding) {
        content.truncate(content.len().saturating_sub(padding));
    }
    Ok(content)
}

/// Cipher block chaining.
fn decrypt<C: BlockCipherDecrypt>(data: &mut [u8], mut vector: [u8; BLOCK], cipher: &C) {
    for block in data.as_chunks_mut::<BLOCK>().0 {
        let before = *block;
        let mut output = Block::<C>::default();
        output.copy_from_slice(block);
        cipher.decrypt_block(&mut output);
        for (byte, (plain, mask)) in block.iter_mut().zip(output.iter().zip(vector)) {
            *byte = plain ^ mask;
        }
        vector = before;
    }
}

/// Cipher block chaining.
fn encrypt<C: BlockCipherEncrypt>(data: &mut [u8], mut vector: [u8; BLOCK], cipher: &C) {
    for block in data.as_chunks_mut::<BLOCK>().0 {
        let mut input = Block::<C>::default();
        for (byte, (plain, mask)) in input.iter_mut().zip(block.iter().zip(vector)) {
            *byte = plain ^ mask;
        }
        cipher.encrypt_block(&mut input);
        block.copy_from_slice(&input);
        vector = *block;
    }
}

/// The stream cipher RC4, which encrypts and decrypts.
fn rc4(key: &[u8], data: &[u8]) -> Vec<u8> {
    let mut state: [u8; 256] = std::array::from_fn(|index| u8::try_from(index).unwrap_or_default());
    let mut other = 0_u8;
    for index in 0..state.len() {
        other = other.wrapping_add(state[index]).wrapping_add(key[index % key.len()]);
        state.swap(index, usize::from(other));
    }
    let (mut one, mut other) = (0_u8, 0_u8);
    let next = |byte: &u8| {
        one = one.wrapping_add(1);
        other = other.wrapping_add(state[usize::from(one)]);
        state.swap(usize::from(one), usize::from(other));
        byte ^ state[usize::from(state[usize::from(one)].wrapping_add(state[usize::from(other)]))]
    };
    data.iter().map(next).collect()
}
