//! A file without a name: what is in it is gone with the process, however that ends.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::make_dir;

/// Makes one beside the spools in `dir`, to be written and read.
///
/// # Errors
///
/// Where the disk refuses.
pub(crate) fn unnamed_file(dir: &Path) -> std::io::Result<File> {
    // Two threads make theirs at once, and each is to have its own.
    static MADE: AtomicU64 = AtomicU64::new(0);
    // The first event that is kept makes it, and that may come later.
    let _ = make_dir(dir);
    let nth = MADE.fetch_add(1, Ordering::Relaxed);
    let path = dir.join(format!(".passing-{}-{nth}", std::process::id()));
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path)?;
    // Where the system does not let go of a name in use, the file stays and is taken again.
    let _ = std::fs::remove_file(&path);
    Ok(file)
}
