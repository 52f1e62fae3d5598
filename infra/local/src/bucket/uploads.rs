//! Uploads of large objects in parts. The parts are in the storage, under keys that no object has.

use bytes::{Bytes, BytesMut};
use http::header::ETAG;
use http::{HeaderValue, Request, Response, StatusCode};
use sha2::{Digest, Sha256};

use shared::clock::Timestamp;
use shared::providers::bucket::MIN_PART;

use super::error::{S3Error, escaped, xml};
use super::request::header_text;
use super::signature::hex;
use super::storage::{Metadata, etag};
use super::{DEFAULT_CONTENT_TYPE, LocalBucket, WRITE};

/// The maximum number of parts.
const MAX_PARTS: usize = 10_000;

/// The key of a part; of what the object will say about itself, if the number is 0.
fn part_key(upload: &str, number: usize) -> String {
    format!(".uploads/{upload}/{number:05}")
}

impl LocalBucket {
    /// Begins an upload.
    pub(super) async fn begin_upload(
        &self,
        request: &Request<Bytes>,
        now: Timestamp,
    ) -> Result<Response<Bytes>, S3Error> {
        let key = self.key(request.uri().path())?;
        self.admit(request, WRITE, key, now)?;
        let header = |name: &str| header_text(request.headers(), name);
        let metadata = Metadata {
            content_type: header("content-type").unwrap_or(DEFAULT_CONTENT_TYPE).to_owned(),
            content_disposition: header("content-disposition").map(str::to_owned),
            scan: None,
        };
        let mut number = 0;
        let upload = loop {
            let name = hex(Sha256::digest(format!("{key} {now} {number}")).get(..16).unwrap_or_default());
            if self.storage.read(&part_key(&name, 0)).await?.is_none() {
                break name;
            }
            number += 1;
        };
        self.storage.write(&part_key(&upload, 0), &metadata, &Bytes::copy_from_slice(key.as_bytes())).await?;
        let begun = format!(
            "<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
        );
        Ok(xml(StatusCode::OK, &begun))
    }

    /// What the object of an upload will say about itself, and the identifier of the upload, which is for this key.
    async fn find_upload(
        &self,
        request: &Request<Bytes>,
        action: &str,
        now: Timestamp,
    ) -> Result<(Metadata, String, usize), S3Error> {
        let key = self.key(request.uri().path())?;
        let parameters = self.admit(request, action, key, now)?;
        let upload = parameters.get("uploadId").map_or("", String::as_str);
        let number = parameters.get("partNumber").map_or(Ok(0), |number| number.parse());
        let number = number.map_err(|_| S3Error::invalid_argument("partNumber must be a number."))?;
        let missing = || S3Error::new(404, "NoSuchUpload", "The upload does not exist.");
        let is_name = upload.bytes().all(|byte| byte.is_ascii_hexdigit()) && !upload.is_empty();
        let found = if is_name { self.storage.read(&part_key(upload, 0)).await? } else { None };
        let (metadata, _) = found.filter(|(_, of)| of == key.as_bytes()).ok_or_else(missing)?;
        Ok((metadata, upload.to_owned(), number))
    }

    /// Stores a part.
    pub(super) async fn put_part(
        &self,
        request: &Request<Bytes>,
        now: Timestamp,
    ) -> Result<Response<Bytes>, S3Error> {
        let (metadata, upload, number) = self.find_upload(request, WRITE, now).await?;
        if !(1..=MAX_PARTS).contains(&number) {
            return Err(S3Error::invalid_argument("partNumber must be 1 to 10000."));
        }
        self.storage.write(&part_key(&upload, number), &metadata, request.body()).await?;
        let mut response = Response::new(Bytes::new());
        let etag = HeaderValue::try_from(etag(request.body())).ok();
        response.headers_mut().extend(etag.map(|etag| (ETAG, etag)));
        Ok(response)
    }

    /// Makes an object of the parts that the request names.
    pub(super) async fn finish_upload(
        &self,
        request: &Request<Bytes>,
        now: Timestamp,
    ) -> Result<Response<Bytes>, S3Error> {
        let (metadata, upload, _) = self.find_upload(request, WRITE, now).await?;
        let named = String::from_utf8_lossy(request.body()).into_owned();
        let tags = named.split("<ETag>").skip(1).filter_map(|rest| rest.split("</ETag>").next());
        let tags: Vec<_> = tags.collect();
        let mut content = BytesMut::new();
        for (tag, number) in tags.iter().zip(1..) {
            let part = self.storage.read(&part_key(&upload, number)).await?;
            let part = part.map(|(_, part)| part).filter(|part| etag(part) == *tag);
            let part = part.ok_or_else(|| {
                S3Error::new(400, "InvalidPart", "A part does not exist or is another one.")
            })?;
            if number < tags.len() && part.len() < MIN_PART {
                return Err(S3Error::new(400, "EntityTooSmall", "A part is too small."));
            }
            content.extend_from_slice(&part);
        }
        if tags.is_empty() {
            return Err(S3Error::new(400, "MalformedXML", "The request names no part."));
        }
        let (key, content) = (self.key(request.uri().path())?, content.freeze());
        self.storage.write(key, &metadata, &content).await?;
        self.delete_parts(&upload).await?;
        let tag = escaped(&etag(&content));
        let made =
            format!("<CompleteMultipartUploadResult><ETag>{tag}</ETag></CompleteMultipartUploadResult>");
        Ok(xml(StatusCode::OK, &made))
    }

    /// Gives up an upload.
    pub(super) async fn abort_upload(
        &self,
        request: &Request<Bytes>,
        now: Timestamp,
    ) -> Result<Response<Bytes>, S3Error> {
        let (_, upload, _) = self.find_upload(request, "s3:AbortMultipartUpload", now).await?;
        self.delete_parts(&upload).await?;
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::NO_CONTENT;
        Ok(response)
    }

    async fn delete_parts(&self, upload: &str) -> Result<(), S3Error> {
        // The parts of our uploads have no gaps.
        for number in 0..=MAX_PARTS {
            if self.storage.read(&part_key(upload, number)).await?.is_none() {
                break;
            }
            self.storage.delete(&part_key(upload, number)).await?;
        }
        Ok(())
    }
}
