//! Whose a socket of this machine is, as far as the system says: a machine may have many users, and a port is anybody's who
//! takes it first.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

/// Whether our own user connects from there, as far as the system says.
pub(crate) fn is_ours(from: SocketAddr) -> bool {
    user(from).is_none_or(|(theirs, ours)| theirs == ours)
}

/// Whether somebody else listens at an address like `http://127.0.0.1:7473` than who owns the file that tells of it: a server
/// that is gone without a word leaves its address behind, and what is sent there now, a token among it, would be theirs. A
/// container's ports are the system's own user's.
pub(crate) fn is_of_another_user(url: &str, told_by: &Path) -> bool {
    const ROOT: u32 = 0;
    let rest = url.strip_prefix("http://").unwrap_or(url);
    let authority = rest.split('/').next().unwrap_or_default();
    let Ok(address) = authority.parse::<SocketAddr>() else {
        return false;
    };
    let everywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port()));
    let user = user(address).or_else(|| user(everywhere));
    user.is_some_and(|(theirs, ours)| {
        ![Some(ours), Some(ROOT), owner_of(told_by)].contains(&Some(theirs))
    })
}

fn owner_of(path: &Path) -> Option<u32> {
    #[cfg(unix)]
    {
        let about = std::fs::metadata(path).ok()?;
        Some(std::os::unix::fs::MetadataExt::uid(&about))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// Whose the socket of that local address is, and who we are; `None` where the system does not say.
fn user(address: SocketAddr) -> Option<(u32, u32)> {
    #[cfg(target_os = "linux")]
    {
        let table = std::fs::read_to_string("/proc/net/tcp").ok()?;
        let ours = std::fs::metadata("/proc/self").ok()?;
        let ours = std::os::unix::fs::MetadataExt::uid(&ours);
        Some((user_of(&table, address)?, ours))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = address;
        None
    }
}

/// Whose the socket of that address is, by the system's table of them (`proc_net_tcp.txt` of the kernel's documentation).
#[cfg(any(target_os = "linux", test))]
fn user_of(table: &str, address: SocketAddr) -> Option<u32> {
    let SocketAddr::V4(address) = address else {
        return None;
    };
    // The bytes of the address stand as the machine has them in a number.
    let ip = u32::from_ne_bytes(address.ip().octets());
    let local = format!("{ip:08X}:{:04X}", address.port());
    table.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        (fields.nth(1)? == local).then_some(())?;
        fields.nth(5)?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn the_table_of_sockets_says_whose_a_connection_is() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   0: 0100007F:1D31 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 47 1 0\n   1: 0100007F:D2F4 0100007F:1D31 01 00000000:00000000 00:00000000 00000000  1001        0 48 1 0\n";
        let user = |port| user_of(table, SocketAddr::from(([127, 0, 0, 1], port)));
        assert_eq!(
            (user(7473), user(54004), user(1)),
            (Some(1000), Some(1001), None)
        );
    }

    #[test]
    fn what_we_listen_on_is_no_others() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        assert!(is_ours(address));
        let nowhere = Path::new("/nowhere/server.json");
        assert!(!is_of_another_user(&format!("http://{address}"), nowhere));
        assert!(!is_of_another_user("http://localhost:1", nowhere));
    }
}
