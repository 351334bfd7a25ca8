//! The built page, embedded in the program from `dist/`; a program that was built for debugging reads it there.
//!
//! What is asked for in brotli lies there packed; else a file is packed once, when it is first asked for, or at start-up by
//! [`warm_up`].

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex};

use rust_embed::RustEmbed;
use tokio::sync::OnceCell;

use crate::error::ApiError;
use crate::locked::locked;

#[derive(RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/../../../dist/"]
#[allow_missing = true]
struct Dist;

/// The page.
pub(crate) const PAGE: &str = "index.html";

/// The page in one file, without a session.
const PLAYER: &str = "player.html";

/// The page in one file, which ends where the session begins; `None` where the program was built without it.
pub(crate) fn player() -> Option<std::borrow::Cow<'static, [u8]>> {
    Some(Dist::get(PLAYER)?.data)
}

/// One file.
pub(crate) struct Asset {
    name: String,
    bytes: std::borrow::Cow<'static, [u8]>,
    sha256: [u8; 32],
    pub(crate) content_type: &'static str,
    /// Whether another content would have another name.
    pub(crate) name_is_hashed: bool,
}

/// How bytes travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Encoding {
    Plain,
    Gzip,
    Brotli,
}

/// Files below this gain nothing.
const COMPRESS_OVER_BYTES: usize = 1024;

/// Brotli's steps above 9 take tens of times as long for some percent.
const BROTLI_QUALITY: u32 = 9;

/// What each file is in each encoding. Of those who ask for it first one packs it, and the others wait.
type Compressed = HashMap<(String, Encoding), Arc<OnceCell<Arc<[u8]>>>>;
static COMPRESSED: LazyLock<Mutex<Compressed>> = LazyLock::new(Mutex::default);

/// How the name of a file ends that holds another one packed in brotli.
const PACKED: &str = ".br";

/// The file of that name.
pub(crate) fn find(name: &str) -> Option<Asset> {
    let file = Dist::get(name)?;
    Some(Asset {
        name: name.to_owned(),
        sha256: file.metadata.sha256_hash(),
        bytes: match name {
            PAGE => served(&file.data).into(),
            _ => file.data,
        },
        content_type: content_type(name),
        name_is_hashed: name_is_hashed(name),
    })
}

/// The page as this program serves it: it says that there are sessions to ask for. On any other host it would be told with an
/// error that there are none, and browsers write each of those down.
fn served(page: &[u8]) -> Vec<u8> {
    let page = String::from_utf8_lossy(page);
    page.replacen("<html", "<html data-sessions", 1)
        .into_bytes()
}

/// Compresses what browsers will ask for.
pub(crate) async fn warm_up() {
    for name in Dist::iter() {
        // It is packed already, and asked for seldom.
        if name == PLAYER || name.ends_with(PACKED) {
            continue;
        }
        if let Some(asset) = find(&name)
            && let Err(why) = asset.encoded(Encoding::Brotli).await
        {
            tracing::warn!(file = &*name, "could not pack it: {}", why.message);
        }
    }
}

impl Asset {
    pub(crate) fn etag(&self, encoding: Encoding) -> String {
        let hex: String = self.sha256[..12]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("\"{hex}-{}\"", encoding.name().unwrap_or("id"))
    }

    /// The bytes in that encoding, or plain where it gains nothing.
    ///
    /// # Errors
    ///
    /// Where the server stops.
    pub(crate) async fn encoded(
        self,
        encoding: Encoding,
    ) -> Result<(Arc<[u8]>, Encoding), ApiError> {
        let compresses = encoding != Encoding::Plain
            && self.bytes.len() > COMPRESS_OVER_BYTES
            && !self.content_type.starts_with("image/png")
            && !self.content_type.starts_with("font/");
        let encoding = if compresses {
            encoding
        } else {
            Encoding::Plain
        };
        let key = (self.name.clone(), encoding);
        let cell = locked(&COMPRESSED).entry(key).or_default().clone();
        if let Some(bytes) = cell.get() {
            return Ok((bytes.clone(), encoding));
        }
        // On a task of its own: where a client that goes away ended it, the next would begin anew beside the thread that packs.
        let packing = tokio::spawn(async move {
            let pack = || tokio::task::spawn_blocking(move || self.packed(encoding));
            cell.get_or_try_init(pack).await.cloned()
        });
        Ok((packing.await??, encoding))
    }

    fn packed(&self, encoding: Encoding) -> Arc<[u8]> {
        let packed = (encoding == Encoding::Brotli)
            .then(|| Dist::get(&format!("{}{PACKED}", self.name)))
            .flatten();
        match packed {
            Some(packed) => packed.data.as_ref().into(),
            None => compress(&self.bytes, encoding).into(),
        }
    }
}

impl Encoding {
    /// The best of what the client takes.
    pub(crate) fn accepted(accept: &str) -> Self {
        let takes = |wanted: &str| {
            accept.split(',').any(|offer| {
                let mut parts = offer.split(';').map(str::trim);
                let name = parts.next().unwrap_or_default();
                let refused =
                    parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
                name.eq_ignore_ascii_case(wanted) && !refused
            })
        };
        if takes("br") {
            Encoding::Brotli
        } else if takes("gzip") {
            Encoding::Gzip
        } else {
            Encoding::Plain
        }
    }

    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Encoding::Plain => None,
            Encoding::Gzip => Some("gzip"),
            Encoding::Brotli => Some("br"),
        }
    }
}

fn compress(bytes: &[u8], encoding: Encoding) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / 3);
    // Writing to memory cannot fail.
    let _ = match encoding {
        Encoding::Plain => out.write_all(bytes),
        Encoding::Gzip => {
            let mut gzip = flate2::write::GzEncoder::new(&mut out, flate2::Compression::best());
            gzip.write_all(bytes).and_then(|()| gzip.try_finish())
        }
        Encoding::Brotli => {
            let mut brotli = brotli::CompressorWriter::new(&mut out, 64 * 1024, BROTLI_QUALITY, 22);
            brotli.write_all(bytes).and_then(|()| brotli.flush())
        }
    };
    out
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "json" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" | "ts" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// `agent-feed-1f0c…9a.js`, `agent-feed-1f0c…9a_bg.wasm`: a run of eight hex digits or more after a dash.
fn name_is_hashed(name: &str) -> bool {
    name.split(['-', '.', '_', '/'])
        .skip(1)
        .any(|part| part.len() >= 8 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
impl Asset {
    /// A file that the program need not have.
    pub(crate) fn made(name: &str, bytes: Vec<u8>) -> Asset {
        Asset {
            name: name.to_owned(),
            bytes: bytes.into(),
            sha256: [0; 32],
            content_type: content_type(name),
            name_is_hashed: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hashed_names_are_kept_for_ever() {
        assert!(name_is_hashed("agent-feed-1f0c93ab77de129a.js"));
        assert!(name_is_hashed("agent-feed-1f0c93ab77de129a_bg.wasm"));
        assert!(!name_is_hashed("agent-feed.js"));
        assert!(!name_is_hashed(PAGE));
    }

    #[test]
    fn the_page_says_that_its_server_has_sessions() {
        let marked = "<!doctype html><html data-sessions lang=en><head>";
        let served = served(b"<!doctype html><html lang=en><head>");
        assert_eq!(String::from_utf8_lossy(&served), marked);
    }

    #[test]
    fn an_encoding_that_is_refused_is_not_used() {
        assert_eq!(
            Encoding::accepted("gzip, deflate, br, zstd"),
            Encoding::Brotli
        );
        assert_eq!(Encoding::accepted("br;q=0, gzip;q=0.5"), Encoding::Gzip);
        assert_eq!(Encoding::accepted(""), Encoding::Plain);
    }

    #[tokio::test]
    async fn of_those_who_ask_for_a_file_first_one_packs_it_for_all() {
        let asset = || Asset::made("made-by-a-test.js", b"let x = 1;\n".repeat(100_000));
        let asking = |_| tokio::spawn(asset().encoded(Encoding::Gzip));
        let asking: Vec<_> = (0..16).map(asking).collect();
        let mut got = Vec::new();
        for (nth, asking) in asking.into_iter().enumerate() {
            match nth {
                // Who goes away leaves it to be packed.
                0 => asking.abort(),
                _ => got.push(asking.await.unwrap().unwrap()),
            }
        }
        let (first, encoding) = &got[0];
        assert_eq!(*encoding, Encoding::Gzip);
        assert!(first.len() < 100_000);
        assert!(got.iter().all(|(bytes, _)| Arc::ptr_eq(bytes, first)));
    }
}
