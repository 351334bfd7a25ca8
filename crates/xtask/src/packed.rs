//! The page as it is sent: beside each file of it lies the same in brotli, `….wasm.br`.
//!
//! The best that brotli can takes seconds for the module, which is nothing while the page is built and too long for a
//! server that starts: of the first fetch it is a tenth less than what a server packs by itself.

use std::path::{Path, PathBuf};

use brotli::enc::BrotliEncoderParams;

use crate::error::Error;

/// What a packed file's name ends with.
const ENDING: &str = ".br";
/// Below this there is nothing to gain.
const LEAST_BYTES: usize = 1024;
/// What is worth it; anything else is small, or packed already.
const PACKED: [&str; 4] = ["wasm", "js", "css", "html"];

/// Packs what lies in a folder, two files at a time.
///
/// # Errors
/// When a file cannot be read or written.
pub(crate) fn write(folder: &Path) -> Result<(), Error> {
    let unreadable = |source| Error::file("read the page", folder, source);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| PACKED.contains(&ending)) {
            files.push(path);
        }
    }
    files.sort();
    let halves = files.chunks(files.len().div_ceil(2).max(1));
    std::thread::scope(|scope| {
        let threads: Vec<_> = halves
            .map(|files| scope.spawn(|| files.iter().try_for_each(|path| pack(path))))
            .collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| {
                Err(Error::Failed {
                    what: "pack the page".to_owned(),
                    why: "the packer stopped working".to_owned(),
                })
            })
        })
    })
}

fn pack(path: &Path) -> Result<(), Error> {
    let bytes = std::fs::read(path).map_err(|source| Error::file("read the page", path, source))?;
    if bytes.len() < LEAST_BYTES {
        return Ok(());
    }
    let parameters = BrotliEncoderParams {
        quality: 11,
        lgwin: 22,
        size_hint: bytes.len(),
        ..BrotliEncoderParams::default()
    };
    let mut packed = Vec::with_capacity(bytes.len() / 3);
    let path = packed_path(path);
    brotli::BrotliCompress(&mut &bytes[..], &mut packed, &parameters)
        .and_then(|_| std::fs::write(&path, &packed))
        .map_err(|source| Error::file("write the packed page", &path, source))
}

fn packed_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ENDING);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_is_what_was_there() {
        let folder = std::env::temp_dir().join(format!("turnreel-packed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        let text = "let row = rows[at];\n".repeat(400);
        for (name, content) in [("a.js", text.as_str()), ("b.js", "short"), ("c.png", &text)] {
            std::fs::write(folder.join(name), content).expect("a file can be written");
        }
        write(&folder).expect("the folder can be packed");
        let packed = std::fs::read(folder.join("a.js.br")).expect("it is worth packing");
        let mut unpacked = Vec::new();
        brotli::BrotliDecompress(&mut &packed[..], &mut unpacked).expect("it is brotli");
        assert_eq!(unpacked, text.as_bytes());
        assert!(packed.len() * 10 < text.len());
        assert!(!folder.join("b.js.br").exists() && !folder.join("c.png.br").exists());
        std::fs::remove_dir_all(&folder).expect("a folder can be removed");
    }
}
