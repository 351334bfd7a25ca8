//! Which server spools are for: what was meant for one goes to no other.
//!
//! The server of a data folder has the folder of its spools itself, whatever its address is at the time. Each other server
//! has a folder of its own below, named for its address, with its own notes of who tells of a session: they say what that
//! server was told.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Below the folder of spools; who looks for the spools of the data folder's own server does not look there.
const OTHERS: &str = "to";

/// Whether both are addresses of one server.
pub fn is_same_endpoint(one: &str, other: &str) -> bool {
    plain(one) == plain(other)
}

/// The folder of what waits for the server at this address, which is not that of the data folder: below `dir`, the folder
/// of its spools.
pub fn spools_for(dir: &Path, url: &str) -> PathBuf {
    let plain = plain(url);
    let address: String = plain
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '.' {
                c
            } else {
                '-'
            }
        })
        .take(64)
        .collect();
    // Two addresses may differ in what a name cannot hold.
    let mut hash = String::new();
    for byte in Sha256::digest(&plain).iter().take(4) {
        // Writing to a string cannot fail.
        let _ = write!(hash, "{byte:02x}");
    }
    dir.join(OTHERS).join(format!("{address}-{hash}"))
}

/// The folders of what waits for other servers than that of the data folder.
pub fn spools_for_others(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir.join(OTHERS)).into_iter().flatten();
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

/// Whether the folder is one of those.
pub(crate) fn is_for_another(dir: &Path) -> bool {
    let above = dir.parent().and_then(Path::file_name);
    above.is_some_and(|name| name == OTHERS)
}

/// The address in one of the ways in which it can be written.
fn plain(url: &str) -> String {
    let url = url.trim().trim_end_matches('/');
    let rest = url.strip_prefix("http://").unwrap_or(url);
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let authority = authority.to_ascii_lowercase();
    let authority = match authority.strip_prefix("localhost") {
        Some(port) if port.is_empty() || port.starts_with(':') => format!("127.0.0.1{port}"),
        _ => authority,
    };
    format!("{authority}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_has_one_folder_and_no_other_has_it() {
        let name = |url: &str| spools_for(Path::new("spool"), url);
        let own = name("http://127.0.0.1:7473");
        assert_eq!(own, name("http://localhost:7473/"));
        assert!(own.starts_with("spool/to"), "{own:?}");
        for other in [
            "http://127.0.0.1:7474",
            "http://127.0.0.1-7473",
            "http://127.0.0.1:7473/team",
            "http://[::1]:7473",
        ] {
            assert_ne!(own, name(other), "{other}");
        }
    }
}
