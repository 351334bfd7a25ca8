//! `s3://BUCKET[/PREFIX][?region=…&endpoint=…]`, and how the store there is connected to.

use std::sync::Arc;

use object_store::ClientConfigKey;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::{BackoffConfig, ObjectStore, RetryConfig};
use reqwest::Url;

use crate::error::Error;

/// What an operator says of the store.
pub(super) struct Address {
    bucket: String,
    prefix: String,
    region: Option<String>,
    endpoint: Option<Url>,
}

impl Address {
    pub(super) fn parse(url: &str) -> Result<Self, Error> {
        let refused = |why: &str| Error::store("read the address", why);
        // What could not be read may be a part of a secret.
        let Some(url) = Url::parse(url).ok().filter(|url| url.scheme() == "s3") else {
            return Err(refused(
                "expected s3://BUCKET[/PREFIX][?region=REGION&endpoint=URL]",
            ));
        };
        if has_user(&url) {
            return Err(refused(
                "credentials are not taken from it, but from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or as the machine has them",
            ));
        }
        let bucket = url.host_str().unwrap_or_default().to_owned();
        let is_word = |text: &str, more: &str| {
            !text.is_empty()
                && text
                    .chars()
                    .all(|it| it.is_ascii_alphanumeric() || more.contains(it))
        };
        if !(3..=63).contains(&bucket.len()) || !is_word(&bucket, ".-_") || url.port().is_some() {
            return Err(refused("its bucket has no name that a bucket can have"));
        }
        let prefix = url.path().trim_matches('/').to_owned();
        let mut parts = prefix.split('/').filter(|_| !prefix.is_empty());
        if !parts.all(|part| is_word(part, "-_.") && part != "." && part != "..") {
            return Err(refused(
                "its prefix has more than letters, digits and -_. between its slashes",
            ));
        }
        let mut address = Address {
            bucket,
            prefix,
            region: None,
            endpoint: None,
        };
        for (name, value) in url.query_pairs() {
            match &*name {
                "region" if is_word(&value, "-") => address.region = Some(value.into_owned()),
                "endpoint" => address.endpoint = Some(endpoint(&value)?),
                "region" => return Err(refused("region: expected one such as eu-central-1")),
                _ => return Err(refused("expected `region` and `endpoint` behind its ?")),
            }
        }
        if url.fragment().is_some() {
            return Err(refused("it has a part behind a #"));
        }
        Ok(address)
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(super) fn connect(&self) -> Result<Arc<dyn ObjectStore>, Error> {
        crate::tls::choose_cryptography();
        let is_plain = self.endpoint.as_ref().map(Url::scheme) == Some("http");
        let mut builder = AmazonS3Builder::from_env()
            .with_bucket_name(&self.bucket)
            .with_allow_http(is_plain)
            // One request for each object: not all stores know how to delete many at once.
            .with_disable_bulk_delete(true)
            // How long is waited is for those who ask: it depends on how much there is to carry.
            .with_config(AmazonS3ConfigKey::Client(ClientConfigKey::Timeout), "1 day")
            .with_config(
                AmazonS3ConfigKey::Client(ClientConfigKey::ConnectTimeout),
                "5 seconds",
            )
            .with_retry(RetryConfig {
                backoff: BackoffConfig::default(),
                max_retries: 2,
                retry_timeout: super::objects::PATIENCE,
            });
        if let Some(region) = &self.region {
            builder = builder.with_region(region);
        }
        if let Some(endpoint) = &self.endpoint {
            let endpoint = endpoint.as_str().trim_end_matches('/');
            // The environment may name another, which would count first.
            builder = builder
                .with_config(AmazonS3ConfigKey::S3Endpoint, endpoint)
                .with_virtual_hosted_style_request(false);
        }
        let store = builder.build();
        let store = store.map_err(|why| Error::store("set up the object store", why))?;
        Ok(Arc::new(store))
    }
}

fn endpoint(text: &str) -> Result<Url, Error> {
    let refused = |why: &str| Error::store("read the address", format!("endpoint: {why}"));
    let url = Url::parse(text).map_err(|why| refused(&why.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(refused("expected https://HOST[:PORT], or http://"));
    }
    if has_user(&url) || url.query().is_some() || url.fragment().is_some() {
        return Err(refused("it has more than a host, a port and a path"));
    }
    Ok(url)
}

fn has_user(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_bucket_a_prefix_a_region_and_an_endpoint() {
        let address = Address::parse(
            "s3://feed-archive/teams/a?region=eu-central-1&endpoint=http://127.0.0.1:9000",
        )
        .unwrap();
        assert_eq!(address.bucket, "feed-archive");
        assert_eq!(address.prefix(), "teams/a");
        assert_eq!(address.region.as_deref(), Some("eu-central-1"));
        assert_eq!(address.endpoint.unwrap().as_str(), "http://127.0.0.1:9000/");
        let bare = Address::parse("s3://feed-archive/").unwrap();
        assert_eq!((bare.prefix(), &bare.endpoint), ("", &None));
    }

    #[test]
    fn what_is_no_address_is_refused_without_repeating_it() {
        for text in [
            "",
            "feed-archive",
            "https://feed-archive.s3.amazonaws.com",
            "s3://",
            "s3://fe",
            "s3://feed-archive:9000",
            "s3://CANARY:CANARY@feed-archive",
            "s3://feed-archive/a%2Fb",
            "s3://feed-archive/a b",
            "s3://feed-archive/a//b",
            "s3://feed-archive?CANARY=1",
            "s3://feed-archive?region=CANARY/x",
            "s3://feed-archive?endpoint=CANARY",
            "s3://feed-archive?endpoint=ftp://CANARY",
            "s3://feed-archive?endpoint=https://a:CANARY@b",
            "s3://feed-archive?endpoint=https://b/?CANARY",
            "s3://feed-archive#CANARY",
        ] {
            let why = Address::parse(text).err().map(|why| why.to_string());
            let why = why.unwrap_or_else(|| panic!("{text} was taken"));
            assert!(!why.contains("CANARY"), "{why}");
        }
    }
}
