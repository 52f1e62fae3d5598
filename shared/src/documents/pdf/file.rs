//! The objects of a PDF, and where they are.

use super::tokens::{Lexer, Object, Parsed};
use crate::documents::budget::Budget;
use crate::documents::refusal::Refusal;

/// The maximum number of objects, which bounds the memory.
pub(super) const MAX_OBJECTS: usize = 1_000_000;
/// The number of objects before which there is none, so that its number is unknown. Every reference may mean it.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// Where an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    /// The file (0), or the number of a decompressed object stream.
    pub(super) content: usize,
    pub(super) at: usize,
}

/// A PDF with the objects that were found.
pub(super) struct PdfFile<'b> {
    pub(super) bytes: &'b [u8],
    /// The decompressed object streams.
    pub(super) contents: Vec<Vec<u8>>,
    /// The numbers and places of all objects.
    pub(super) places: Vec<(u32, Place)>,
}

impl<'b> PdfFile<'b> {
    pub(super) fn content(&self, number: usize) -> &[u8] {
        match number.checked_sub(1) {
            None => self.bytes,
            Some(index) => self.contents.get(index).map_or(&[], Vec::as_slice),
        }
    }

    pub(super) fn sort(&mut self) {
        self.places.sort_unstable_by_key(|(number, place)| (*number, place.content, place.at));
    }

    pub(super) fn add(&mut self, number: u32, place: Place) -> Result<(), Refusal> {
        if self.places.len() == MAX_OBJECTS {
            return Err(Refusal::TooComplex);
        }
        self.places.push((number, place));
        Ok(())
    }

    /// Reads the object at a place again.
    pub(super) fn at(&self, place: Place, budget: &mut Budget) -> Result<Option<Object<'_>>, Refusal> {
        budget.look_up()?;
        let parsed = Lexer::new(self.content(place.content), place.at).object(budget)?;
        Ok(parsed.map(|parsed| parsed.object))
    }

    /// The places of the objects with this number: those that a reference may mean. All places must be known and sorted.
    pub(super) fn places(&self, number: u32) -> impl Iterator<Item = Place> {
        let of = |number: u32| {
            let start = self.places.partition_point(|(other, _)| *other < number);
            self.places[start..]
                .iter()
                .take_while(move |(other, _)| *other == number)
                .map(|(_, place)| *place)
        };
        of(number).chain(of(UNKNOWN))
    }

    /// The dictionary of a stream in the file, and where its data begins; `None` if the place has no stream, and
    /// [`Refusal::Damaged`] if readers differ in where the data begins.
    pub(super) fn stream(
        &self,
        place: Place,
        budget: &mut Budget,
    ) -> Result<Option<(Object<'b>, usize)>, Refusal> {
        if place.content != 0 {
            return Ok(None);
        }
        budget.look_up()?;
        let mut lexer = Lexer::new(self.bytes, place.at);
        let Some(Parsed { object, .. }) = lexer.object(budget)? else { return Ok(None) };
        if !lexer.take_word(b"stream", budget)? {
            return Ok(None);
        }
        // The word may be the beginning of a longer one, which is no end of a line.
        let end = self.bytes[..lexer.at()].iter().rposition(|byte| *byte == b's').unwrap_or_default();
        let after = end + b"stream".len();
        let rest = self.bytes.get(after..).unwrap_or_default();
        let spaces = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let line_end = match &rest[spaces..] {
            [b'\r', b'\n', ..] => 2,
            [b'\n' | b'\r', ..] => 1,
            _ => return Err(Refusal::Damaged),
        };
        Ok(Some((object, after + spaces + line_end)))
    }

    /// The length of a stream, as its dictionary has it.
    pub(super) fn length(
        &self,
        dictionary: &Object<'_>,
        budget: &mut Budget,
    ) -> Result<Option<usize>, Refusal> {
        let length = match dictionary.values(b"Length").next() {
            Some(Object::Reference(number)) => {
                let place = self.places(*number).next();
                place.map(|place| self.at(place, budget)).transpose()?.flatten()
            }
            length => length.cloned(),
        };
        Ok(match length {
            Some(Object::Number(length)) => usize::try_from(length).ok(),
            _ => None,
        })
    }
}
