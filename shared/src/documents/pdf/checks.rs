//! What a PDF must not contain: actions and content that do something by themselves.

use std::collections::HashSet;

use memchr::memmem;

use super::encryption::{Encryption, EncryptionAt};
use super::file::{PdfFile, Place};
use super::streams::decoded;
use super::tokens::{Name, Object};
use crate::documents::budget::Budget;
use crate::documents::location::is_local;
use crate::documents::refusal::Refusal;
use crate::documents::text;

/// The keys of a file specification that name the file.
const FILE_NAMES: [&[u8]; 5] = [b"F", b"UF", b"DOS", b"Mac", b"Unix"];
/// The extensions of attached files that are accepted: data that goes with the document, which no program runs.
const DATA_EXTENSIONS: [&str; 5] = ["xml", "json", "txt", "csv", "md"];
/// The maximum number of objects that a reference may mean: each saved change of a PDF can add one.
const MAX_PLACES: usize = 1_000;
/// The maximum number of references from one to the next.
const MAX_REFERENCES: usize = 8;

/// Judges objects. What depends on other objects is judged when all objects are known.
#[derive(Default)]
pub(super) struct Judge {
    unfinished: Vec<Place>,
    encryptions: Vec<EncryptionAt>,
    identifier: Option<Vec<u8>>,
}

/// Whether a stream's dictionary is that of an object stream. Some readers need no type.
pub(super) fn is_object_stream(dictionary: &Object<'_>) -> bool {
    let has = |key: &[u8]| dictionary.values(key).next().is_some();
    has_name(dictionary, b"Type", b"ObjStm") || (has(b"First") && has(b"N"))
}

/// Whether a dictionary has this name as a value of this key.
fn has_name(dictionary: &Object<'_>, key: &[u8], name: &[u8]) -> bool {
    dictionary.values(key).any(|value| matches!(value, Object::Name(found) if found.is(name)))
}

impl Judge {
    /// Where the encryption is described, each time that the PDF says it.
    pub(super) fn encryptions(&self) -> &[EncryptionAt] {
        &self.encryptions
    }

    /// The first part of the file's identifier, which some keys depend on.
    pub(super) fn identifier(&self) -> &[u8] {
        self.identifier.as_deref().unwrap_or_default()
    }

    /// Judges an object as far as it does not depend on others.
    pub(super) fn object(
        &mut self,
        object: &Object<'_>,
        place: Place,
        is_stream: bool,
        is_trailer: bool,
    ) -> Result<(), Refusal> {
        if is_stream || is_trailer {
            for (key, value) in object.entries() {
                self.stream_entry(*key, value, place, is_stream)?;
            }
        }
        let mut is_finished = true;
        each_dictionary(object, |dictionary| {
            for (key, value) in dictionary {
                is_finished &= entry(*key, value)?;
            }
            Ok(())
        })?;
        if !is_finished {
            self.unfinished.push(place);
        }
        Ok(())
    }

    /// Judges an entry of a trailer, or of the dictionary of a stream, which may be a trailer, too.
    fn stream_entry(
        &mut self,
        key: Name<'_>,
        value: &Object<'_>,
        place: Place,
        is_stream: bool,
    ) -> Result<(), Refusal> {
        match (&*key.decoded(), value) {
            (_, Object::Null) => {}
            (b"Encrypt", Object::Reference(number)) => self.encryptions.push(EncryptionAt::Object(*number)),
            (b"Encrypt", Object::Dictionary(_)) => self.encryptions.push(EncryptionAt::Trailer(place)),
            (b"Encrypt", _) => return Err(Refusal::Protected),
            (b"ID", Object::Array(parts)) => {
                if let (None, Some(Object::Text(first))) = (&self.identifier, parts.first()) {
                    self.identifier = Some(first.bytes());
                }
            }
            // The stream's data is in another file, or the form's content in another PDF.
            (b"F" | b"Ref", _) if is_stream => return Err(Refusal::PdfRemote),
            _ => {}
        }
        Ok(())
    }

    /// Judges what depends on other objects.
    pub(super) fn finish(
        self,
        file: &PdfFile<'_>,
        encryption: Option<&Encryption>,
        budget: &mut Budget,
    ) -> Result<(), Refusal> {
        let mut linked = Linked { file, is_encrypted: encryption.is_some(), budget };
        for place in self.unfinished {
            let Some(object) = file.at(place, linked.budget)? else { continue };
            each_dictionary(&object, |dictionary| linked.dictionary(dictionary))?;
        }
        Ok(())
    }
}

type Entries<'o, 'b> = &'o [(Name<'b>, Object<'b>)];

/// Visits all dictionaries in an object.
fn each_dictionary<'o, 'b>(
    object: &'o Object<'b>,
    mut visit: impl FnMut(Entries<'o, 'b>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let mut open = vec![object];
    while let Some(object) = open.pop() {
        match object {
            Object::Array(values) => open.extend(values),
            Object::Dictionary(entries) => {
                visit(entries)?;
                open.extend(entries.iter().map(|(_, value)| value));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Judges an entry of any dictionary. Returns whether the verdict is final: otherwise it depends on other objects.
fn entry(key: Name<'_>, value: &Object<'_>) -> Result<bool, Refusal> {
    match (&*key.decoded(), value) {
        (_, Object::Null) => Ok(true),
        (b"S", Object::Name(action)) => kind_of_action(*action),
        (b"Subtype", Object::Name(subtype)) => kind_of_annotation(*subtype),
        (b"JS", Object::Text(_)) => Err(Refusal::PdfScript),
        (b"XFA", Object::Array(parts)) if matches!(parts.first(), Some(Object::Text(_))) => Err(Refusal::Xfa),
        (b"EF", Object::Dictionary(files)) => Ok(files.is_empty()),
        (b"RF", Object::Dictionary(files)) if files.is_empty() => Ok(true),
        (b"RF", Object::Dictionary(_) | Object::Reference(_)) => Err(Refusal::Attachment),
        (b"S" | b"Subtype" | b"JS" | b"XFA" | b"EF", Object::Reference(_)) | (b"OpenAction" | b"AA", _) => {
            Ok(false)
        }
        _ => Ok(true),
    }
}

/// Judges an action by its kind. Returns whether the verdict is final.
fn kind_of_action(kind: Name<'_>) -> Result<bool, Refusal> {
    match &*kind.decoded() {
        b"JavaScript" => Err(Refusal::PdfScript),
        b"Launch" => Err(Refusal::Launch),
        b"SubmitForm" | b"ImportData" => Err(Refusal::DataForm),
        b"GoToE" => Err(Refusal::Attachment),
        b"Rendition" | b"Movie" | b"Sound" | b"RichMediaExecute" => Err(Refusal::Media),
        b"GoToR" | b"Thread" => Ok(false),
        _ => Ok(true),
    }
}

/// Judges an annotation by its kind. Returns whether the verdict is final.
fn kind_of_annotation(kind: Name<'_>) -> Result<bool, Refusal> {
    match &*kind.decoded() {
        b"RichMedia" | b"3D" | b"Movie" => Err(Refusal::Media),
        b"FileAttachment" => Ok(false),
        _ => Ok(true),
    }
}

/// Judges objects together with those that they refer to.
struct Linked<'f, 'b, 'm> {
    file: &'f PdfFile<'b>,
    is_encrypted: bool,
    budget: &'m mut Budget,
}

impl<'f> Linked<'f, '_, '_> {
    /// What a value may be: itself, or the objects that it refers to.
    fn resolve<'o>(&mut self, value: &Object<'o>) -> Result<Vec<Object<'o>>, Refusal>
    where
        'f: 'o,
    {
        let Object::Reference(number) = value else { return Ok(vec![value.clone()]) };
        let (mut objects, mut open) = (Vec::new(), vec![(*number, 1)]);
        while let Some((number, depth)) = open.pop() {
            self.budget.look_up()?;
            for (place, count) in self.file.places(number).zip(1..) {
                if count > MAX_PLACES {
                    return Err(Refusal::TooComplex);
                }
                match self.file.at(place, self.budget)? {
                    Some(Object::Reference(_)) if depth == MAX_REFERENCES => return Err(Refusal::TooComplex),
                    Some(Object::Reference(next)) => open.push((next, depth + 1)),
                    object => objects.extend(object),
                }
            }
        }
        Ok(objects)
    }

    /// The values of a key, with references resolved.
    fn values<'o>(&mut self, entries: Entries<'_, 'o>, key: &[u8]) -> Result<Vec<Object<'o>>, Refusal>
    where
        'f: 'o,
    {
        let mut values = Vec::new();
        for (_, value) in entries.iter().filter(|(name, _)| name.is(key)) {
            values.extend(self.resolve(value)?);
        }
        Ok(values)
    }

    fn dictionary<'o>(&mut self, entries: Entries<'_, 'o>) -> Result<(), Refusal>
    where
        'f: 'o,
    {
        for action in self.values(entries, b"S")? {
            let Object::Name(action) = action else { continue };
            kind_of_action(action)?;
            match &*action.decoded() {
                b"GoToR" if !self.names_local_files(entries)? => return Err(Refusal::OpensByItself),
                b"Thread" if !self.values(entries, b"F")?.is_empty() => return Err(Refusal::PdfRemote),
                _ => {}
            }
        }
        for subtype in self.values(entries, b"Subtype")? {
            let Object::Name(subtype) = subtype else { continue };
            kind_of_annotation(subtype)?;
            let is_file = subtype.is(b"FileAttachment");
            let has_file = |file: &Object<'_>| file.values(b"EF").next().is_some();
            if is_file && !self.values(entries, b"FS")?.iter().all(has_file) {
                return Err(Refusal::PdfRemote);
            }
        }
        for (key, value) in entries {
            match &*key.decoded() {
                b"JS" | b"XFA" => self.script(*key, value)?,
                b"EF" => self.attachments(entries, value)?,
                b"OpenAction" | b"AA" => self.acting(value, key.is(b"AA"))?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses a script or a form that is a string or a stream. Other values only have the same key.
    fn script(&mut self, key: Name<'_>, value: &Object<'_>) -> Result<(), Refusal> {
        let Object::Reference(number) = value else { return Ok(()) };
        let refusal = if key.is(b"JS") { Refusal::PdfScript } else { Refusal::Xfa };
        if self.resolve(value)?.iter().any(|object| match object {
            Object::Text(_) => true,
            Object::Array(parts) => matches!(parts.first(), Some(Object::Text(_))),
            _ => false,
        }) {
            return Err(refusal);
        }
        for place in self.file.places(*number) {
            if self.file.stream(place, self.budget)?.is_some() {
                return Err(refusal);
            }
        }
        Ok(())
    }

    /// The names of the file that a dictionary's `F` specifies, or that the dictionary itself does.
    fn file_names<'o>(&mut self, entries: Entries<'_, 'o>) -> Result<Vec<String>, Refusal>
    where
        'f: 'o,
    {
        let mut names = Vec::new();
        for key in FILE_NAMES {
            for value in self.values(entries, key)? {
                if let Object::Text(text) = value {
                    names.push(text.text());
                }
            }
        }
        Ok(names)
    }

    /// Whether all files that an action names are on the reader's own computer. An encrypted name is unknown.
    fn names_local_files<'o>(&mut self, action: Entries<'_, 'o>) -> Result<bool, Refusal>
    where
        'f: 'o,
    {
        let mut names = self.file_names(action)?;
        for specification in self.values(action, b"F")? {
            names.extend(self.file_names(specification.entries())?);
        }
        Ok(!self.is_encrypted && names.iter().all(|name| is_local(name)))
    }

    /// Refuses attached files except data.
    fn attachments<'o>(&mut self, specification: Entries<'_, 'o>, files: &Object<'o>) -> Result<(), Refusal>
    where
        'f: 'o,
    {
        let mut streams = Vec::new();
        for files in self.resolve(files)? {
            streams.extend(files.entries().iter().map(|(_, stream)| stream.clone()));
        }
        if streams.is_empty() {
            return Ok(());
        }
        let mut names = self.file_names(specification)?;
        // Some programs leave the name for older readers empty.
        names.retain(|name| !name.is_empty());
        if self.is_encrypted || names.is_empty() || !names.iter().all(|name| is_name_of_data(name)) {
            return Err(Refusal::Attachment);
        }
        for stream in streams {
            let Object::Reference(number) = stream else { return Err(Refusal::Attachment) };
            for place in self.file.places(number) {
                if !self.is_data(place)? {
                    return Err(Refusal::Attachment);
                }
            }
        }
        Ok(())
    }

    /// Whether the stream at a place contains data that no program runs. What is no stream contains nothing.
    fn is_data(&mut self, place: Place) -> Result<bool, Refusal> {
        let Some((dictionary, data)) = self.file.stream(place, self.budget)? else { return Ok(true) };
        let content = match decoded(self.file, (0, 0), &dictionary, data, None, self.budget) {
            Ok(content) => content,
            Err(Refusal::TooComplex) => return Err(Refusal::TooComplex),
            Err(_) => return Ok(false),
        };
        if let Some(content) = content {
            return text::is_data(&content, self.budget);
        }
        let length = self.file.length(&dictionary, self.budget)?.unwrap_or_default();
        let rest = &self.file.bytes[data..];
        let end = memmem::find(rest, b"endstream").unwrap_or(rest.len()).max(length).min(rest.len());
        self.budget.read(end)?;
        text::is_data(&rest[..end], self.budget)
    }

    /// Refuses actions that nobody has to click if they open an address or another file.
    fn acting<'o>(&mut self, value: &Object<'o>, is_list: bool) -> Result<(), Refusal>
    where
        'f: 'o,
    {
        // An array is a list of actions only after another action. Otherwise it is a place in the document.
        let mut open = Vec::new();
        if is_list {
            for actions in self.resolve(value)? {
                open.extend(actions.entries().iter().map(|(_, action)| (action.clone(), false)));
            }
        } else {
            open.push((value.clone(), false));
        }
        let mut seen = HashSet::new();
        while let Some((value, is_next)) = open.pop() {
            if matches!(value, Object::Reference(number) if !seen.insert(number)) {
                continue;
            }
            for action in self.resolve(&value)? {
                for kind in self.values(action.entries(), b"S")? {
                    if matches!(kind, Object::Name(name) if name.is(b"URI") || name.is(b"GoToR")) {
                        return Err(Refusal::OpensByItself);
                    }
                }
                open.extend(action.values(b"Next").map(|next| (next.clone(), true)));
                if let (true, Object::Array(actions)) = (is_next, action) {
                    open.extend(actions.into_iter().map(|action| (action, true)));
                }
            }
        }
        Ok(())
    }
}

/// Whether a file name is one of data, and looks to people as what it is.
fn is_name_of_data(name: &str) -> bool {
    let is_odd = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    !name.contains(is_odd) && extension.is_some_and(|extension| DATA_EXTENSIONS.contains(&extension.as_str()))
}
