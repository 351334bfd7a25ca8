//! Files that are written beside their name, and take it when they are whole.

use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// The folder that a path lies in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A file beside the one it will be, with the rights a new file has; it is gone unless it is given its name.
///
/// # Errors
///
/// Where the folder is not there, or may not be written.
pub(crate) fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".turnreel-").suffix(".new");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder_of(path))
}
