//! Forms with a file, as browsers send them: `multipart/form-data` (RFC 7578).

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::{future, stream};
use multer::Multipart;

use super::{Error, Parameters};

/// A form as a browser submits it.
#[derive(Debug, Default)]
pub struct SubmittedForm {
    /// The fields.
    pub fields: Parameters,
    /// The file, if one was chosen.
    pub file: Option<SentFile>,
    /// Whether the fields have more text than a form may have, so that the end of it is missing.
    pub is_cut: bool,
}

/// A file in a form.
#[derive(Debug)]
pub struct SentFile {
    /// Its name on the sender's device.
    pub name: String,
    /// Its content.
    pub content: Bytes,
}

/// Parses a form. Its fields are cut after `max_fields` bytes in total. The parts with a file name are files; only the
/// first counts. A file may have any size, because the whole form is in memory already.
pub(super) async fn parse(boundary: String, body: &[u8], max_fields: usize) -> Result<SubmittedForm, Error> {
    let body = stream::once(future::ready(Ok::<_, Infallible>(Bytes::copy_from_slice(body))));
    let mut parts = Multipart::new(body, boundary);
    let malformed = |_| Error::UnsupportedMediaType("a well-formed form");
    let (mut fields, mut file, mut room, mut is_cut) = (Vec::new(), None, max_fields, false);
    while let Some(part) = parts.next_field().await.map_err(malformed)? {
        let name = part.name().unwrap_or_default().to_owned();
        let file_name = part.file_name().map(str::to_owned);
        let content = part.bytes().await.map_err(malformed)?;
        match file_name {
            // Without a choice, a browser sends an empty file without a name.
            Some(file_name) if file_name.is_empty() && content.is_empty() => {}
            Some(name) => drop(file.get_or_insert(SentFile { name, content })),
            None => {
                room = room.saturating_sub(name.len());
                is_cut |= content.len() > room;
                let content = &content[..content.len().min(room)];
                room -= content.len();
                fields.push((name, String::from_utf8_lossy(content).into_owned()));
            }
        }
    }
    Ok(SubmittedForm { fields: fields.into_iter().collect(), file, is_cut })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    async fn read(body: &[u8]) -> Result<SubmittedForm, Error> {
        parse("x".to_owned(), body, 20).await
    }

    fn part(disposition: &str, content: &str) -> String {
        format!("--x\r\ncontent-disposition: form-data; {disposition}\r\n\r\n{content}\r\n")
    }

    #[tokio::test]
    async fn fields_and_the_first_file_are_read() {
        let parts = [
            part("name=\"a\"", "1\r\n2"),
            part("name=\"none\"; filename=\"\"", ""),
            part("name=\"file\"; filename=\"cv.pdf\"", "%PDF"),
            part("name=\"more\"; filename=\"b.pdf\"", "B"),
            part("name=\"b\"", "\u{e9}"),
        ];
        let form = read(format!("{}--x--\r\n", parts.concat()).as_bytes()).await.unwrap();
        assert_eq!((form.fields.get("a"), form.fields.get("b")), ("1\r\n2", "\u{e9}"));
        let file = form.file.unwrap();
        assert_eq!((form.fields.iter().count(), &*file.name, &*file.content), (2, "cv.pdf", &b"%PDF"[..]));
    }

    #[tokio::test]
    async fn the_fields_of_a_form_are_cut_and_its_file_is_not() {
        let file = part("name=\"file\"; filename=\"cv.pdf\"", &"%PDF".repeat(1_000_000));
        let parts =
            [part("name=\"a\"", "1"), file, part("name=\"b\"", &"é".repeat(20)), part("name=\"c\"", "")];
        let form = read(format!("{}--x--\r\n", parts.concat()).as_bytes()).await.unwrap();
        assert_eq!((form.fields.get("a"), form.fields.get("b").chars().count()), ("1", 9));
        assert_eq!((form.file.unwrap().content.len(), form.is_cut), (4_000_000, true));
        let fits = format!("{}--x--\r\n", part("name=\"a\"", &"b".repeat(19)));
        assert!(!read(fits.as_bytes()).await.unwrap().is_cut);
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_parsed(mut bytes: Vec<u8>, start in any::<bool>()) {
            if start {
                bytes.splice(..0, *b"--x\r\ncontent-disposition: form-data; name=\"a\"\r\n");
            }
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            drop(runtime.block_on(read(&bytes)));
        }
    }
}
