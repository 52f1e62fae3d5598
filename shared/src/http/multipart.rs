//! Forms with a file, as browsers send them: `multipart/form-data` (RFC 7578).

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::{future, stream};
use multer::Multipart;

use super::{Error, Parameters};

/// The maximum size of a request with a file, in bytes. Lambda accepts events of 6 MB, which contain the body in base64.
const MAX_BODY: usize = 4_600_000;

/// A form as a browser submits it.
#[derive(Debug, Default)]
pub struct SubmittedForm {
    /// The fields.
    pub fields: Parameters,
    /// The file, if one was chosen.
    pub file: Option<SentFile>,
}

/// A file in a form.
#[derive(Debug)]
pub struct SentFile {
    /// Its name on the sender's device.
    pub name: String,
    /// Its content.
    pub content: Bytes,
}

/// Parses a form. Its fields have at most `max_fields` bytes in total. The parts with a file name are files; only the first
/// counts.
pub(super) async fn parse(boundary: String, body: &[u8], max_fields: usize) -> Result<SubmittedForm, Error> {
    if body.len() > MAX_BODY {
        return Err(Error::PayloadTooLarge(MAX_BODY));
    }
    let body = stream::once(future::ready(Ok::<_, Infallible>(Bytes::copy_from_slice(body))));
    let mut parts = Multipart::new(body, boundary);
    let malformed = |_| Error::UnsupportedMediaType("a well-formed form");
    let (mut fields, mut file, mut size) = (Vec::new(), None, 0);
    while let Some(part) = parts.next_field().await.map_err(malformed)? {
        let name = part.name().unwrap_or_default().to_owned();
        let file_name = part.file_name().map(str::to_owned);
        let content = part.bytes().await.map_err(malformed)?;
        match file_name {
            // Without a choice, a browser sends an empty file without a name.
            Some(file_name) if file_name.is_empty() && content.is_empty() => {}
            Some(name) => drop(file.get_or_insert(SentFile { name, content })),
            None => {
                size += name.len() + content.len();
                if size > max_fields {
                    return Err(Error::PayloadTooLarge(max_fields));
                }
                fields.push((name, String::from_utf8_lossy(&content).into_owned()));
            }
        }
    }
    Ok(SubmittedForm { fields: fields.into_iter().collect(), file })
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
    async fn a_form_that_is_too_long_is_rejected_and_says_how_long_it_may_be() {
        let long = format!("{}--x--\r\n", part("name=\"a\"", &"b".repeat(20)));
        assert!(matches!(read(long.as_bytes()).await, Err(Error::PayloadTooLarge(20))));
        assert!(matches!(read(&vec![b'x'; MAX_BODY + 1]).await, Err(Error::PayloadTooLarge(MAX_BODY))));
        // The whole event has at most 6 MB. The rest of it has at most 100 KB.
        assert!(MAX_BODY.div_ceil(3) * 4 + 100_000 < 6 * 1024 * 1024);
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
