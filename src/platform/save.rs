//! Files that are made in the page: gathered in pieces, made a page of, handed to the reader. Nothing leaves the browser.

use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::frame::Slice;
use super::stream::Blob;

#[wasm_bindgen(module = "/src/platform/save.js")]
extern "C" {
    #[wasm_bindgen(js_name = makePieces)]
    fn make_pieces() -> JsValue;
    #[wasm_bindgen(js_name = addPiece)]
    fn add_piece(pieces: &JsValue, bytes: &[u8]);
    #[wasm_bindgen(js_name = blobOf)]
    fn blob_of(pieces: &JsValue, content_type: &str) -> Blob;
    #[wasm_bindgen(js_name = blobOfBytes)]
    fn blob_of_bytes_js(bytes: &[u8]) -> Blob;
    #[wasm_bindgen(js_name = canMakePages)]
    fn can_make_pages_js() -> bool;
    #[wasm_bindgen(js_name = beginPage)]
    fn begin_page(log: &Blob) -> js_sys::Promise;
    #[wasm_bindgen(js_name = packedLength)]
    fn packed_length(page: &JsValue) -> usize;
    #[wasm_bindgen(js_name = addPagePiece)]
    fn add_page_piece(page: &JsValue, at: usize, piece_bytes: usize, before: &str, after: &str);
    #[wasm_bindgen(js_name = endPage)]
    fn end_page(page: &JsValue, end: &str) -> Blob;
    #[wasm_bindgen(js_name = save)]
    fn save_js(blob: &Blob, name: &str);
}

/// Bytes that the browser keeps, outside of this program's memory; a copy is the same bytes.
#[derive(Clone)]
pub(crate) struct Pieces(JsValue);

impl Default for Pieces {
    fn default() -> Self {
        Pieces(make_pieces())
    }
}

impl Pieces {
    /// Adds bytes.
    pub(crate) fn add(&self, bytes: &[u8]) {
        if !bytes.is_empty() {
            add_piece(&self.0, bytes);
        }
    }

    /// An array of them, for a script.
    pub(crate) fn to_js(&self) -> JsValue {
        self.0.clone()
    }

    /// All of them.
    pub(crate) fn to_blob(&self, content_type: &str) -> Blob {
        blob_of(&self.0, content_type)
    }
}

/// Bytes that the browser keeps from now on.
pub(crate) fn blob_of_bytes(bytes: &[u8]) -> Blob {
    blob_of_bytes_js(bytes)
}

/// Whether a page can be made here: one that is a single file itself has no parts to make it of.
pub(crate) fn can_make_pages() -> bool {
    can_make_pages_js()
}

/// What stands in a page around the pieces of its log.
pub(crate) struct Around {
    /// How many packed bytes a piece is of.
    pub(crate) piece_bytes: usize,
    /// Before and behind each of them.
    pub(crate) piece: [&'static str; 2],
    /// Behind all of them.
    pub(crate) end: &'static str,
}

/// A page in one file: the player, then the log, packed. It is made no further where it is not wanted any more.
pub(crate) async fn make_page(
    log: &Blob,
    around: &Around,
    is_wanted: &dyn Fn() -> bool,
) -> Result<Blob, String> {
    let page = JsFuture::from(begin_page(log)).await.map_err(|why| {
        let message = why
            .dyn_ref::<js_sys::Error>()
            .map(|why| String::from(why.message()));
        message.unwrap_or_else(|| "the browser gives no reason".to_owned())
    })?;
    let [before, after] = around.piece;
    let mut slice = Slice::begin();
    // Of a long session they are hundreds.
    for at in (0..packed_length(&page)).step_by(around.piece_bytes) {
        if !is_wanted() {
            break;
        }
        add_page_piece(&page, at, around.piece_bytes, before, after);
        slice.give_way().await;
    }
    Ok(end_page(&page, around.end))
}

/// Hands a file to the reader.
pub(crate) fn save(blob: &Blob, name: &str) {
    save_js(blob, name);
}
