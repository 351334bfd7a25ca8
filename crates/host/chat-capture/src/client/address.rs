//! Which addresses are spoken to: those of this machine, for the token travels in clear.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use super::Error;

/// Whether the address is one that is spoken to: plain HTTP, which must not leave this machine.
///
/// # Errors
///
/// [`Error::BadEndpoint`] for any other.
pub fn check_endpoint(url: &str) -> Result<(), Error> {
    let refuse = |why| {
        Err(Error::BadEndpoint {
            url: url.to_owned(),
            why,
        })
    };
    if url.starts_with("https://") {
        return refuse("https is not spoken yet; use a server on this machine");
    }
    let Some(rest) = url.strip_prefix("http://") else {
        return refuse("expected http://127.0.0.1:PORT");
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let within = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let address = match within {
        Some(host) => host.parse().map(IpAddr::V6),
        None => host.parse().map(IpAddr::V4),
    };
    if url.parse::<ureq::http::Uri>().is_err() {
        return refuse("it is no address");
    }
    match (host, address) {
        ("127.0.0.1" | "localhost" | "[::1]", _) => Ok(()),
        // A server may listen on another address that this machine has.
        (_, Ok(address)) if address.is_loopback() || is_of_this_machine(address) => Ok(()),
        _ => refuse("the token would travel in clear; only this machine is spoken to over http"),
    }
}

/// Whether what is sent to the address stays on this machine: the way there begins where it ends. Nothing is sent to learn
/// that. Where an address may be listened on says less: some systems allow it of one that another machine has.
fn is_of_this_machine(address: IpAddr) -> bool {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let way = UdpSocket::bind((any, 0)).and_then(|socket| {
        // Any port but 0 does.
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    way.is_ok_and(|from| from.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_goes_to_this_machine_only() {
        for url in [
            "http://127.0.0.1:7473",
            "http://localhost:80/",
            "http://[::1]:7473",
        ] {
            assert!(check_endpoint(url).is_ok(), "{url}");
        }
        assert!(check_endpoint("http://127.0.0.9:7473").is_ok());
        // Where it has a network, one of its addresses there.
        let way = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
            socket.connect("198.51.100.7:9")?;
            socket.local_addr()
        });
        if let Ok(own) = way {
            let url = format!("http://{}:7473", own.ip());
            assert!(check_endpoint(&url).is_ok(), "{url}");
        }
        for url in [
            "https://127.0.0.1:7473",
            "http://example.org",
            "http://::1:7473",
            "http://0.0.0.0:7473",
            "http://[::]:7473",
            "http://198.51.100.7:7473",
            "http://[2001:db8::7]:7473",
            "http://224.0.0.1:7473",
            "http://127.0.0.1@example.org",
            "http://127.0.0.1.example.org:80",
            "127.0.0.1:7473",
            "http://127.0.0.1:7473/a b",
        ] {
            assert!(check_endpoint(url).is_err(), "{url}");
        }
    }
}
