//! E-mail addresses and URLs, validated when they are received.

use std::str::FromStr;

use email_address::{EmailAddress, Options};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;
use url::{Host, Url};

/// The characters that are encoded in a `mailto` URL (RFC 6068, section 2).
const IN_MAILTO: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'+');

/// An e-mail address of at most 254 characters, as entered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Email(String);

impl Email {
    /// The maximum number of characters.
    pub const MAX: usize = 254;

    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The `mailto` URL.
    pub fn mailto(&self) -> String {
        let (local, domain) = self.0.rsplit_once('@').unwrap_or((&self.0, ""));
        let [local, domain] = [local, domain].map(|part| utf8_percent_encode(part, &IN_MAILTO));
        format!("mailto:{local}@{domain}")
    }

    /// The normal form: composed characters (NFC) in lower case, and the domain in ASCII. Two addresses with the same
    /// normal form are considered equal. Browsers send the domains of their forms in ASCII.
    pub fn normalized(&self) -> String {
        let lower: String = self.0.to_lowercase().nfc().collect();
        let Some((local, domain)) = lower.rsplit_once('@') else { return lower };
        match Host::parse(domain) {
            Ok(Host::Domain(domain)) => format!("{local}@{domain}"),
            _ => lower,
        }
    }

    /// The mailbox at Gmail, which several addresses lead to: dots don't count, nor does anything from a plus on, and
    /// googlemail.com is the same domain. `None` for all other providers.
    pub fn gmail_mailbox(&self) -> Option<String> {
        let address = self.normalized();
        let (local, domain) = address.rsplit_once('@')?;
        if !matches!(domain, "gmail.com" | "googlemail.com") {
            return None;
        }
        let mailbox: String = local.chars().take_while(|c| *c != '+').filter(|c| *c != '.').collect();
        (!mailbox.is_empty()).then_some(mailbox)
    }
}

impl FromStr for Email {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        if given.chars().count() > Self::MAX {
            return Err(format!("must be at most {} characters", Self::MAX));
        }
        let options = Options::default().without_display_text().without_domain_literal().with_required_tld();
        // The parser refuses combining characters.
        let composed: String = given.nfc().collect();
        match EmailAddress::parse_with_options(&composed, options) {
            Ok(_) => Ok(Self(given.to_owned())),
            Err(_) => Err("must be an e-mail address, such as jane@example.com".to_owned()),
        }
    }
}

/// An http or https URL of at most 2,000 characters, as entered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WebAddress(String);

impl WebAddress {
    /// The maximum number of characters.
    pub const MAX: usize = 2_000;

    /// The URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A URL that the service itself generated. It is not validated and can have any length.
    pub fn made(url: String) -> Self {
        Self(url)
    }
}

impl FromStr for WebAddress {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        if given.chars().count() > Self::MAX {
            return Err(format!("must be at most {} characters", Self::MAX));
        }
        let begins_with = |scheme: &str| {
            given.split_once("://").is_some_and(|(given, _)| given.eq_ignore_ascii_case(scheme))
        };
        let problem = if !begins_with("http") && !begins_with("https") {
            "must be a URL that begins with http:// or https://"
        } else if given.chars().any(|c| c.is_whitespace() || c.is_control()) {
            "must be a URL without spaces and control characters; write a space as %20"
        } else if Url::parse(given).is_err() {
            "must be a URL with a well-formed host, such as https://example.com"
        } else {
            return Ok(Self(given.to_owned()));
        };
        Err(problem.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_mailto_url_has_only_one_recipient_and_no_fields() {
        for (email, url) in [
            ("jane@example.com", "mailto:jane@example.com"),
            ("Jane.Doe+rust@Example.COM", "mailto:Jane.Doe+rust@Example.COM"),
            ("jörg@müller.de", "mailto:j%C3%B6rg@m%C3%BCller.de"),
            ("a?cc=b&subject=100%@example.com", "mailto:a%3Fcc%3Db%26subject%3D100%25@example.com"),
            ("\"a@b,c d\"@example.com", "mailto:%22a%40b%2Cc%20d%22@example.com"),
        ] {
            assert_eq!(email.parse::<Email>().unwrap().mailto(), url);
        }
    }

    #[test]
    fn email_addresses_are_validated() {
        for good in [
            "jane@example.com",
            "Jane.Doe+rust@Example.COM",
            "o'brien@example.co.uk",
            "jörg@müller.de",
            "用户@例子.公司",
            "a@b.io",
        ] {
            assert_eq!(good.parse::<Email>().unwrap().as_str(), good);
        }
        for bad in [
            "jane",
            "jane@",
            "@example.com",
            "jane@localhost",
            "jane@@example.com",
            "jane doe@example.com",
            "Jane <jane@example.com>",
            "jane@example..com",
            "jane@[127.0.0.1]",
            ".jane@example.com",
            "jane@example.com, joe@example.com",
        ] {
            assert!(bad.parse::<Email>().is_err(), "{bad}");
        }
        let long = format!("{}@{}.com", "a".repeat(64), "b".repeat(60));
        assert!(long.parse::<Email>().is_ok());
        assert!(format!("{}@{}.com", "a".repeat(64), "b.".repeat(100)).parse::<Email>().is_err());
        let normalized = |email: &str| email.parse::<Email>().unwrap().normalized();
        for (one, other) in [
            ("Jörg+A@Example.com", "JÖRG+a@EXAMPLE.COM"),
            ("jo\u{308}rg@example.com", "j\u{f6}rg@example.com"),
            ("x@München.example", "x@xn--mnchen-3ya.example"),
            ("x@mu\u{308}nchen.example", "x@XN--MNCHEN-3YA.example"),
        ] {
            assert_eq!(normalized(one), normalized(other), "{one}");
        }
        assert_ne!(normalized("jane+a@example.com"), normalized("jane@example.com"));
        assert_eq!(normalized("x@xn--a.example"), "x@xn--a.example", "no domain is lost");
    }

    #[test]
    fn addresses_of_a_gmail_mailbox_are_recognized() {
        let mailbox = |email: &str| email.parse::<Email>().unwrap().gmail_mailbox();
        for email in [
            "janedoe@gmail.com",
            "Jane.Doe+jobs@GMail.com",
            "j.a.n.e.d.o.e@googlemail.com",
            "janedoe+a+b.c@gmail.com",
        ] {
            assert_eq!(mailbox(email).as_deref(), Some("janedoe"), "{email}");
        }
        for email in
            ["janedoe@example.com", "janedoe@mail.gmail.com", "janedoe@gmail.com.example", "+jobs@gmail.com"]
        {
            assert_eq!(mailbox(email), None, "{email}");
        }
        assert_eq!(mailbox("jane-doe@gmail.com").as_deref(), Some("jane-doe"));
    }

    #[test]
    fn web_addresses_are_validated() {
        for good in ["https://example.com/cv.pdf", "http://例子.公司/简历?x=1#y", "HTTPS://EXAMPLE.COM"]
        {
            assert!(good.parse::<WebAddress>().is_ok(), "{good}");
        }
        for (bad, problem) in [
            ("example.com/cv.pdf", "begins with http"),
            ("ftp://example.com", "begins with http"),
            ("javascript:alert(1)", "begins with http"),
            ("", "begins with http"),
            ("https://", "a well-formed host"),
            ("HTTPS://example.com:99999/", "a well-formed host"),
            ("https://a b.com", "without spaces"),
            ("https:\n//a.com", "begins with http"),
            ("https:a.com/cv.pdf", "begins with http"),
            ("https:/a.com/cv.pdf", "begins with http"),
        ] {
            let error = bad.parse::<WebAddress>().unwrap_err();
            assert!(error.contains(problem), "{bad}: {error}");
        }
        assert!(format!("https://example.com/{}", "x".repeat(1_980)).parse::<WebAddress>().is_ok());
        assert!(format!("https://example.com/{}", "x".repeat(1_981)).parse::<WebAddress>().is_err());
    }

    proptest! {
        #[test]
        fn parsing_any_text_never_panics(given in "\\PC{0,300}") {
            let email = given.parse::<Email>().map(|email| (email.normalized(), email.gmail_mailbox()));
            let _ = (email, given.parse::<WebAddress>());
        }
    }
}
