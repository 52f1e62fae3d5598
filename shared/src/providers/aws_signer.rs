//! Signs requests to services of AWS with Signature Version 4.

use crate::clock::Timestamp;
use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningInstructions, SigningSettings, sign};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;
use reqwest::RequestBuilder;

/// Signs requests to one service in one region.
#[derive(Clone, Debug)]
pub(super) struct AwsSigner {
    credentials: SharedCredentialsProvider,
    region: String,
    service: &'static str,
}

/// Why a request could not be signed. Nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unsigned(pub(super) &'static str);

/// What a signature covers.
pub(super) struct ToSign<'r> {
    pub(super) method: &'r str,
    pub(super) url: &'r str,
    pub(super) headers: &'r [(&'r str, &'r str)],
    pub(super) body: SignableBody<'r>,
}

impl AwsSigner {
    /// Fails if the region is not a name.
    pub(super) fn new(
        credentials: SharedCredentialsProvider,
        region: &str,
        service: &'static str,
    ) -> Result<Self, String> {
        if is_label(region) {
            Ok(Self { credentials, region: region.to_owned(), service })
        } else {
            Err("a region may have only lower-case letters, digits and hyphens".to_owned())
        }
    }

    /// The region.
    pub(super) fn region(&self) -> &str {
        &self.region
    }

    /// The host of the service in the region, such as `s3.eu-central-1.amazonaws.com`.
    pub(super) fn host(&self) -> String {
        format!("{}.{}.{}", self.service, self.region, domain(&self.region))
    }

    /// The current credentials.
    pub(super) async fn credentials(&self) -> Result<Credentials, Unsigned> {
        self.credentials.provide_credentials().await.map_err(|_| Unsigned("there are no credentials"))
    }

    /// The signature of a request.
    pub(super) async fn sign(
        &self,
        ToSign { method, url, headers, body }: ToSign<'_>,
        settings: SigningSettings,
        now: Timestamp,
    ) -> Result<SigningInstructions, Unsigned> {
        let identity = Identity::from(self.credentials().await?);
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(self.service)
            .time(SystemTime::from(*now))
            .settings(settings)
            .build();
        let unsigned = || Unsigned("the signer rejected it");
        let parameters = parameters.map_err(|_| unsigned())?.into();
        let request =
            SignableRequest::new(method, url, headers.iter().copied(), body).map_err(|_| unsigned())?;
        sign(request, &parameters).map(|signed| signed.into_parts().0).map_err(|_| unsigned())
    }

    /// Adds the headers of `signed` and those of its signature to a request.
    pub(super) async fn add_to(
        &self,
        request: RequestBuilder,
        signed: ToSign<'_>,
        settings: SigningSettings,
        now: Timestamp,
    ) -> Result<RequestBuilder, Unsigned> {
        let headers = signed.headers;
        let signature = self.sign(signed, settings, now).await?;
        let headers = headers.iter().copied().chain(signature.headers());
        Ok(headers.fold(request, |request, (name, value)| request.header(name, value)))
    }
}

/// Whether a text is a name of lower-case letters, digits and hyphens, which a URL can contain.
pub(super) fn is_label(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// The domain of AWS's services in a region. Each partition of AWS has its own, except for `GovCloud`, and the names of its
/// regions say which one they are in.
fn domain(region: &str) -> &'static str {
    const DOMAINS: [(&str, &str); 6] = [
        ("cn-", "amazonaws.com.cn"),
        ("eusc-", "amazonaws.eu"),
        ("us-iso-", "c2s.ic.gov"),
        ("us-isob-", "sc2s.sgov.gov"),
        ("eu-isoe-", "cloud.adc-e.uk"),
        ("us-isof-", "csp.hci.ic.gov"),
    ];
    let found = DOMAINS.iter().find(|(regions, _)| region.starts_with(regions));
    found.map_or("amazonaws.com", |(_, domain)| domain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::config::endpoint::{DefaultResolver, Params, ResolveEndpoint};

    /// AWS's own SDK knows all partitions.
    #[tokio::test]
    async fn a_host_has_the_domain_of_the_regions_partition() {
        for (region, domain) in [
            ("us-east-1", "amazonaws.com"),
            ("ap-southeast-7", "amazonaws.com"),
            ("eu-central-1", "amazonaws.com"),
            ("il-central-1", "amazonaws.com"),
            ("mx-central-1", "amazonaws.com"),
            ("us-gov-east-1", "amazonaws.com"),
            ("us-gov-west-1", "amazonaws.com"),
            ("cn-north-1", "amazonaws.com.cn"),
            ("cn-northwest-1", "amazonaws.com.cn"),
            ("eusc-de-east-1", "amazonaws.eu"),
            ("us-iso-east-1", "c2s.ic.gov"),
            ("us-iso-west-1", "c2s.ic.gov"),
            ("us-isob-east-1", "sc2s.sgov.gov"),
            ("us-isob-west-1", "sc2s.sgov.gov"),
            ("eu-isoe-west-1", "cloud.adc-e.uk"),
            ("us-isof-east-1", "csp.hci.ic.gov"),
            ("us-isof-south-1", "csp.hci.ic.gov"),
        ] {
            let credentials = SharedCredentialsProvider::new(Credentials::new("", "", None, None, "test"));
            let host = AwsSigner::new(credentials, region, "dynamodb").unwrap().host();
            assert_eq!(host, format!("dynamodb.{region}.{domain}"));
            let parameters = Params::builder().region(region).build().unwrap();
            let resolver = DefaultResolver::new();
            let resolved = ResolveEndpoint::resolve_endpoint(&resolver, &parameters).await.unwrap();
            assert_eq!(resolved.url(), format!("https://{host}"));
        }
    }
}
