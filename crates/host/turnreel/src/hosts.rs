//! The names this server answers to, and the pages that may ask.
//!
//! A page on the net can make a browser on this machine send requests here (DNS rebinding, cross-site forms): a request
//! must name us as we are called, and come from our own page, a listed one, or no page at all.

use axum::http::uri::Authority;
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
    /// Those of this machine itself at `port`, and `more` names as a proxy or a network knows us. A name without a port is
    /// answered to at the ports of both schemes, where clients say them, and at our own; one with the port of a scheme without
    /// it, too. So is the `public` one of them, whatever its port: a proxy may hand on the name alone.
    pub(crate) fn new(
        port: u16,
        embed_origins: &[String],
        more: &[String],
        public: Option<&str>,
    ) -> Self {
        let names = ["127.0.0.1", "localhost", "[::1]"];
        let mut hosts: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
        if port == 80 {
            hosts.extend(names.map(str::to_owned));
        }
        let mut origins: Vec<String> = hosts.iter().map(|host| format!("http://{host}")).collect();
        for host in more {
            let host = host.to_ascii_lowercase();
            let (name, named) = name_and_port(&host);
            let name = name.strip_suffix('.').unwrap_or(name);
            let ports = match named {
                None => vec![
                    String::new(),
                    ":80".into(),
                    ":443".into(),
                    format!(":{port}"),
                ],
                Some("80" | "443") => {
                    vec![String::new(), format!(":{}", named.unwrap_or_default())]
                }
                Some(named) => vec![format!(":{named}")],
            };
            // A name that ends with the root is the same one.
            for host in ports
                .iter()
                .flat_map(|port| [format!("{name}{port}"), format!("{name}.{port}")])
            {
                // In front of such a name there may be a proxy that speaks TLS.
                origins.extend(["http", "https"].map(|scheme| format!("{scheme}://{host}")));
                hosts.push(host);
            }
        }
        hosts.extend(public.map(|host| name_and_port(host).0.to_ascii_lowercase()));
        Hosts {
            hosts,
            origins,
            embed_origins: embed_origins
                .iter()
                .map(|origin| origin.to_ascii_lowercase())
                .collect(),
        }
    }

    /// Whether the request is meant for us; else the host that it is meant for, where it names one. A target that names a host
    /// counts as well as the header (RFC 9112 3.2.2).
    pub(crate) fn check<'r>(
        &self,
        headers: &'r HeaderMap,
        target: &'r Uri,
    ) -> Result<(), Option<&'r str>> {
        let named = target.authority().map(Authority::as_str);
        let host = only(headers, &header::HOST);
        for host in [host].into_iter().chain(named.map(Some)) {
            if !host.is_some_and(|host| self.hosts.contains(&host.to_ascii_lowercase())) {
                return Err(host);
            }
        }
        Ok(())
    }

    /// The origin of our own page that asks, where it says one.
    pub(crate) fn own_origin<'r>(&self, headers: &'r HeaderMap) -> Option<&'r str> {
        let is_ours = |origin: &&str| self.origins.contains(&origin.to_ascii_lowercase());
        only(headers, &header::ORIGIN).filter(is_ours)
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
        if self.own_origin(headers).is_some() {
            Origin::Own
        } else if self.embed_origins.contains(&origin) {
            Origin::Embedding
        } else {
            Origin::Foreign
        }
    }
}

/// A host apart, and its port where it has one.
pub(crate) fn name_and_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        Some(_) | None => (host, None),
    }
}

/// The header's value where there is exactly one.
pub(crate) fn only<'h>(headers: &'h HeaderMap, name: &header::HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}
