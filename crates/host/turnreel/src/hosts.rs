//! The names this server answers to, and the pages that may ask.
//!
//! A page on the net can make a browser on this machine send requests here (DNS rebinding, cross-site forms): a request
//! must name us as we are called, and come from our own page, a listed one, or no page at all.

use axum::http::{HeaderMap, HeaderValue, Uri, header};

/// The lists a request's Host and Origin are held against.
pub(crate) struct Hosts {
    hosts: Vec<String>,
    origins: Vec<String>,
    embed_origins: Vec<String>,
}

/// Where a request comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Our own page, or no page.
    Own,
    /// A page that is listed.
    Embedding,
    /// Any other.
    Foreign,
}

impl Hosts {
    /// Those of this machine itself at `port`, and `more` names as a proxy or a network knows us: with their port, or
    /// without it where that is the scheme's own.
    pub(crate) fn new(port: u16, embed_origins: &[String], more: &[String]) -> Self {
        let names = ["127.0.0.1", "localhost", "[::1]"];
        let mut hosts: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
        if port == 80 {
            hosts.extend(names.map(str::to_owned));
        }
        let mut origins: Vec<String> = hosts.iter().map(|host| format!("http://{host}")).collect();
        for host in more {
            let host = host.to_ascii_lowercase();
            // In front of such a name there may be a proxy that speaks TLS.
            origins.extend(["http", "https"].map(|scheme| format!("{scheme}://{host}")));
            hosts.push(host);
        }
        Hosts {
            hosts,
            origins,
            embed_origins: embed_origins
                .iter()
                .map(|origin| origin.to_ascii_lowercase())
                .collect(),
        }
    }

    /// Whether the request is meant for us. A target that names a host counts as well as the header (RFC 9112 3.2.2).
    pub(crate) fn allowed(&self, headers: &HeaderMap, target: &Uri) -> bool {
        let is_ours = |host: &str| self.hosts.contains(&host.to_ascii_lowercase());
        only(headers, &header::HOST).is_some_and(is_ours)
            && target
                .authority()
                .is_none_or(|named| is_ours(named.as_str()))
    }

    /// Where the request comes from.
    pub(crate) fn origin(&self, headers: &HeaderMap) -> Origin {
        if !headers.contains_key(header::ORIGIN) {
            // Browsers leave Origin out of some requests, but say where those come from. A page on another port of this
            // machine is "same-site".
            return match headers.get("sec-fetch-site").map(HeaderValue::as_bytes) {
                None | Some(b"same-origin" | b"none") => Origin::Own,
                Some(_) => Origin::Foreign,
            };
        }
        let Some(origin) = only(headers, &header::ORIGIN).map(str::to_ascii_lowercase) else {
            return Origin::Foreign;
        };
        if self.origins.contains(&origin) {
            Origin::Own
        } else if self.embed_origins.contains(&origin) {
            Origin::Embedding
        } else {
            Origin::Foreign
        }
    }
}

/// The header's value where there is exactly one.
pub(crate) fn only<'h>(headers: &'h HeaderMap, name: &header::HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}
