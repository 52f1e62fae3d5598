//! The upload form that a browser posts, as `multipart/form-data`.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::{future, stream};
use http::Request;
use multer::Multipart;

use super::error::S3Error;
use super::request::{Parameters, header_text};

/// The maximum total size of the fields before the file, in bytes.
// S3's limit.
pub(super) const MAX_FIELDS: usize = 20_000;

/// A form: its fields by their lower-case names, and its file.
pub(super) struct Form {
    pub(super) fields: Parameters,
    pub(super) file: Bytes,
}

impl Form {
    /// Reads a form. Parts after the file are ignored.
    pub(super) async fn read(request: &Request<Bytes>) -> Result<Self, S3Error> {
        let content_type = header_text(request.headers(), "content-type");
        let boundary = content_type.and_then(|content_type| multer::parse_boundary(content_type).ok());
        let boundary = boundary.ok_or_else(|| {
            S3Error::new(412, "PreconditionFailed", "The form must be multipart/form-data.")
        })?;
        let body = stream::once(future::ready(Ok::<_, Infallible>(request.body().clone())));
        let mut parts = Multipart::new(body, boundary);
        let malformed = |_| S3Error::new(400, "MalformedPOSTRequest", "The form is malformed.");
        let (mut fields, mut size) = (Parameters::new(), 0);
        while let Some(part) = parts.next_field().await.map_err(malformed)? {
            let name = part.name().unwrap_or_default().to_ascii_lowercase();
            let value = part.bytes().await.map_err(malformed)?;
            if name == "file" {
                return Ok(Self { fields, file: value });
            }
            size += name.len() + value.len();
            if size > MAX_FIELDS {
                let message = "The fields before the file are too long.";
                return Err(S3Error::new(400, "MaxPostPreDataLengthExceeded", message));
            }
            let value = String::from_utf8(value.into());
            let value = value.map_err(|_| S3Error::invalid_argument(format!("{name} must be UTF-8.")))?;
            if fields.insert(name.clone(), value).is_some() {
                return Err(S3Error::invalid_argument(format!("{name} appears twice.")));
            }
        }
        Err(S3Error::invalid_argument("The form must contain a file."))
    }

    /// The value of a required field.
    pub(super) fn field(&self, name: &str) -> Result<&str, S3Error> {
        self.fields.get(name).map(String::as_str).ok_or_else(|| {
            S3Error::invalid_argument(format!("The form must have a field {name} before the file."))
        })
    }
}
