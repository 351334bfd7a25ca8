//! Addresses as operators write them: what is listened on, which names are answered to, and where the page is reached.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use tokio::net::{TcpListener, TcpSocket};

use super::DEFAULT_PORT;
use crate::hosts::name_and_port;
use crate::tokens::{self, Record};

/// Connections that wait to be let in: where the system's queue is full it drops them, and who comes tries again after a
/// second. It may hold fewer; on Linux 4096 is what it allows at most unless it is told otherwise.
const WAITING_CONNECTIONS: u32 = 4096;

/// An address and its port; `localhost` is the one address of this machine that all systems have.
pub(super) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let text = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    text.parse().map_err(|_| {
        "expected an address and a port, such as 127.0.0.1:7473 or [::1]:7473".to_owned()
    })
}

/// An origin as browsers write it: scheme, host, and the port where it is not the scheme's own.
pub(super) fn parse_origin(text: &str) -> Result<String, String> {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    match rest {
        Some(host) if !host.is_empty() && !host.contains(['/', '*', '@', ' ', '?', '#']) => {
            Ok(text.to_ascii_lowercase())
        }
        _ => Err(
            "expected an origin such as https://example.org, without a path or a wildcard"
                .to_owned(),
        ),
    }
}

/// A name or an address, with the port where it is not the scheme's own.
pub(super) fn parse_host(text: &str) -> Result<String, String> {
    let expected = || "expected a host such as feed.example.org or 192.0.2.7:7473, without a scheme, a path or a wildcard";
    let (name, port) = name_and_port(text);
    if port.is_some_and(|port| !port.parse::<u16>().is_ok_and(|port| port > 0)) {
        return Err(format!("{}; a port is 1 to 65535", expected()));
    }
    let inner = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let fits = match inner {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => {
            let fits =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
            !name.trim_end_matches('.').is_empty() && name.bytes().all(fits)
        }
    };
    match fits {
        true => Ok(text.to_ascii_lowercase()),
        false if text.parse::<Ipv6Addr>().is_ok() => Err(format!("expected [{text}]")),
        false => Err(expected().to_owned()),
    }
}

/// The address of the page, as a link begins: scheme, host, and a path where a proxy has it below one. No slash ends it.
pub(super) fn parse_public_url(text: &str) -> Result<String, String> {
    let expected = || {
        "expected an address such as https://feed.example.org or https://example.org/turnreel"
            .to_owned()
    };
    let (scheme, rest) = text.split_once("://").ok_or_else(expected)?;
    let scheme = scheme.to_ascii_lowercase();
    let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = parse_host(host)?;
    let fits =
        |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'"' | b'<' | b'>');
    if !matches!(&*scheme, "http" | "https") || !path.bytes().all(fits) {
        return Err(expected());
    }
    Ok(format!("{scheme}://{host}{}", path.trim_end_matches('/')))
}

/// The host of such an address.
pub(super) fn host_of(public_url: &str) -> Option<String> {
    let (_, rest) = public_url.split_once("://")?;
    rest.split('/').next().map(str::to_owned)
}

/// Beyond this machine the start-up token is not enough of a lock: it is printed, it lies in a file that every program of
/// its owner reads, and it opens everything. So those who come must have tokens of their own first.
pub(super) fn check_address(address: SocketAddr, dir: &Path) -> Result<(), String> {
    if address.ip().is_loopback() || !tokens::list(dir)?.iter().all(Record::is_over) {
        return Ok(());
    }
    Err(format!(
        "could not listen on {}: beyond this machine only with tokens for those who come; make one with `turnreel token create`, or listen on 127.0.0.1",
        address.ip()
    ))
}

/// The address by which this machine reaches a server that listens on `address`. One that listens on all is at none of that
/// name: it would not answer to it, and pipes and hooks would not send there.
pub(super) fn from_here(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Listens there. Where the port in use is the one that is taken when none is asked for, and it `may_move`, on a free one.
///
/// # Errors
///
/// Where nobody can listen there; why, is said.
pub(super) fn listen_or_move(address: SocketAddr, may_move: bool) -> Result<TcpListener, String> {
    let listening = match listen(address) {
        // Who asked for no port in particular is served on another.
        Err(why)
            if why.kind() == std::io::ErrorKind::AddrInUse
                && may_move
                && address == SocketAddr::from(([127, 0, 0, 1], DEFAULT_PORT)) =>
        {
            tracing::info!("port {DEFAULT_PORT} is in use; taking a free one");
            listen(SocketAddr::from(([127, 0, 0, 1], 0)))
        }
        listening => listening,
    };
    listening.map_err(|why| cannot_listen(address, &why))
}

/// Listens as [`TcpListener::bind`] does, with a longer queue.
fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // What is left of connections of the server before is no reason not to listen. Elsewhere it would share the port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING_CONNECTIONS)
}

fn cannot_listen(address: SocketAddr, why: &std::io::Error) -> String {
    match why.kind() {
        std::io::ErrorKind::AddrInUse => format!(
            "could not listen on {address}: the port is in use; choose another with --listen {}:PORT, or port 0 for any free one",
            address.ip()
        ),
        _ => format!("could not listen on {address}: {why}"),
    }
}
