//! What lies in the data folder beside the logs: the token, the server's address, the spool.

use std::io::Write;
use std::path::{Path, PathBuf};

use chat_capture::says_gone;
use serde::{Deserialize, Serialize};

use crate::socket_owner;

/// Where a running server can be reached.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ServerFile {
    /// Its address, without a path.
    pub(crate) url: String,
    /// Its process.
    pub(crate) pid: u32,
    /// Whether it follows the sessions that agents keep on this machine.
    #[serde(default)]
    pub(crate) watches: bool,
}

/// The platform's folder for a program's own data.
pub(crate) fn default_dir() -> Option<PathBuf> {
    let env = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    if let Some(data) = env("XDG_DATA_HOME") {
        return Some(data.join("turnreel"));
    }
    if cfg!(windows) {
        return env("LOCALAPPDATA").map(|data| data.join("turnreel"));
    }
    let home = env("HOME")?;
    Some(if cfg!(target_os = "macos") {
        home.join("Library/Application Support/turnreel")
    } else {
        home.join(".local/share/turnreel")
    })
}

/// The folder asked for, or the platform's.
///
/// # Errors
///
/// Where the platform names none.
pub(crate) fn resolve(asked: Option<PathBuf>) -> Result<PathBuf, String> {
    asked.or_else(default_dir).ok_or_else(|| {
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
        let why = match home {
            Some(_) => "is no absolute path",
            None => "is not set",
        };
        format!("could not find a data folder: HOME {why}; give one with --data")
    })
}

/// The token of earlier starts, so that a page that is open goes on after a restart; else a new one.
///
/// # Errors
///
/// Where the folder refuses.
pub(crate) fn token(dir: &Path) -> Result<String, String> {
    read_token(dir).map_or_else(|| rotate_token(dir), Ok)
}

/// Writes a new token in the place of the one before.
///
/// # Errors
///
/// Where the folder refuses.
pub(crate) fn rotate_token(dir: &Path) -> Result<String, String> {
    let token = chat_store::new_token().map_err(|why| why.to_string())?;
    write_private(&token_path(dir), token.as_bytes())?;
    Ok(token)
}

/// The folder's token, where it has one.
pub(crate) fn read_token(dir: &Path) -> Option<String> {
    let text = std::fs::read_to_string(token_path(dir)).ok()?;
    Some(text.trim().to_owned()).filter(|token| is_token(token))
}

/// Whether the folder has a token of a server, or may have one that cannot be read.
pub(crate) fn may_have_token(dir: &Path) -> bool {
    let cannot_be_read = || std::fs::File::open(token_path(dir)).is_err_and(|why| !says_gone(&why));
    read_token(dir).is_some() || cannot_be_read()
}

pub(crate) fn token_path(dir: &Path) -> PathBuf {
    dir.join("token")
}

/// Whether others of this machine can read the file: it came from a backup, or somebody changed it.
pub(crate) fn others_can_read(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(path).is_ok_and(|it| it.permissions().mode() & 0o044 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// The name of this folder's server among others, made when it is first asked for.
///
/// # Errors
///
/// Where the folder refuses.
pub(crate) fn server_id(dir: &Path) -> Result<String, String> {
    let path = dir.join("server-id");
    if let Ok(text) = std::fs::read_to_string(&path)
        && !text.trim().is_empty()
    {
        return Ok(text.trim().to_owned());
    }
    let id = chat_store::random_base64url::<9>().map_err(|why| why.to_string())?;
    write_private(&path, id.as_bytes())?;
    Ok(id)
}

/// 256 bits as base64url.
fn is_token(text: &str) -> bool {
    text.len() == 43
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Makes the folder where it is missing, for its owner alone.
///
/// # Errors
///
/// Where the folder above refuses.
pub(crate) fn make_private(dir: &Path) -> Result<(), String> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(dir)
        .map_err(|why| format!("could not make the data folder: {why}: {}", dir.display()))
}

/// Writes a file that only its owner can read, whole or not at all.
///
/// # Errors
///
/// Where the folder refuses.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let cannot = |why| format!("could not write: {why}: {}", path.display());
    try_write_private(path, bytes).map_err(cannot)
}

/// The same, with what the system said.
///
/// # Errors
///
/// Where the folder refuses.
pub(crate) fn try_write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = path.with_extension("new");
    let _ = std::fs::remove_file(&temporary);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    // A name that is not durable may be the old file's again after a power failure: a token that was revoked were good.
    #[cfg(unix)]
    if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        std::fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Says where the server can be reached.
///
/// # Errors
///
/// Where the folder refuses.
pub(crate) fn write_server_file(dir: &Path, url: &str, watches: bool) -> Result<(), String> {
    let server = ServerFile {
        url: url.to_owned(),
        pid: std::process::id(),
        watches,
    };
    let text = serde_json::to_string(&server).map_err(|why| why.to_string())?;
    write_private(&dir.join("server.json"), text.as_bytes())
}

/// Where the folder's server said that it can be reached.
pub(crate) fn server_file(dir: &Path) -> Option<ServerFile> {
    let path = dir.join("server.json");
    let text = std::fs::read_to_string(&path).ok()?;
    let file: ServerFile = serde_json::from_str(&text).ok()?;
    (!socket_owner::is_of_another_user(&file.url, &path)).then_some(file)
}

/// Why the store did not open the folder, and where its server is: who starts a second one mostly looks for the first.
pub(crate) fn why_not_opened(dir: &Path, why: &chat_store::Error) -> String {
    match why {
        chat_store::Error::Locked { .. } => match server_file(dir) {
            Some(server) => format!("{why}; it is served at {}", server.url),
            None => why.to_string(),
        },
        chat_store::Error::DiskFull => format!("{why}: {}", dir.display()),
        _ if dir.is_file() => format!("{} is a file, and no folder", dir.display()),
        _ => why.to_string(),
    }
}

/// Takes the address back, where it is still ours.
pub(crate) fn remove_server_file(dir: &Path) {
    if server_file(dir).is_some_and(|server| server.pid == std::process::id()) {
        forget_server_file(dir);
    }
}

/// Takes the address back, whose ever it is.
pub(crate) fn forget_server_file(dir: &Path) {
    let _ = std::fs::remove_file(dir.join("server.json"));
}
