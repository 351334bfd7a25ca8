//! One number for many files: equal as long as nothing in them changed. Not for security: FNV-1a, 64 bits.

use std::path::Path;

use crate::error::Error;

/// A hash that files, texts and folders are added to, in order.
#[derive(Clone, Copy)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    pub(crate) fn new() -> Self {
        // Offset basis of FNV-1a for 64 bits.
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Sixteen hexadecimal digits.
    pub(crate) fn to_hex(self) -> String {
        format!("{:016x}", self.0)
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        // The length goes first, so that moving a byte from one text to the next changes the result.
        let byte_len = bytes.len() as u64;
        for byte in byte_len.to_le_bytes().iter().chain(bytes) {
            self.0 ^= u64::from(*byte);
            // Prime of FNV-1a for 64 bits.
            self.0 = self.0.wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Adds a file, or all files below a folder in the order of their names; `leave_out` names what is not read.
    ///
    /// # Errors
    /// When something cannot be read; what does not exist counts as an empty folder.
    pub(crate) fn add_tree(
        &mut self,
        path: &Path,
        leave_out: &dyn Fn(&Path) -> bool,
    ) -> Result<(), Error> {
        if leave_out(path) || !path.exists() {
            return Ok(());
        }
        let unreadable = |source| Error::file("read", path, source);
        if path.is_file() {
            self.add(path.as_os_str().as_encoded_bytes());
            self.add(&std::fs::read(path).map_err(unreadable)?);
            return Ok(());
        }
        let entries = std::fs::read_dir(path).map_err(unreadable)?;
        let mut entries = entries.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        entries
            .iter()
            .try_for_each(|entry| self.add_tree(&entry.path(), leave_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parts: &[&str]) -> String {
        let mut fingerprint = Fingerprint::new();
        parts
            .iter()
            .for_each(|part| fingerprint.add(part.as_bytes()));
        fingerprint.to_hex()
    }

    #[test]
    fn where_one_part_ends_matters() {
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
        assert_eq!(of(&[]).len(), 16);
    }

    #[test]
    fn a_tree_changes_with_any_file_that_is_not_left_out() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let all = |leave_out: &dyn Fn(&Path) -> bool| {
            let mut fingerprint = Fingerprint::new();
            fingerprint
                .add_tree(folder, leave_out)
                .expect("this package can be read");
            fingerprint.to_hex()
        };
        assert_eq!(all(&|_| false), all(&|_| false));
        assert_ne!(
            all(&|_| false),
            all(&|path| path.ends_with("fingerprint.rs"))
        );
    }
}
