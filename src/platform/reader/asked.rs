//! The page that asked this worker to read a log.

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

use super::{Asked, STOP, Said, Source};
use crate::platform::stream::Blob;

#[wasm_bindgen(module = "/src/platform/reader.js")]
extern "C" {
    fn asked() -> JsValue;
    #[wasm_bindgen(js_name = tellPage)]
    fn tell_page_bytes(bytes: js_sys::Uint8Array, kept: js_sys::Uint8Array, blob: Option<&Blob>);
    #[wasm_bindgen(js_name = hearPage)]
    fn hear_page(on_said: JsValue);
}

/// What this worker was asked; `None` where nobody asked.
pub(crate) fn asked_here() -> Option<Asked> {
    let asked = asked();
    if asked.is_undefined() {
        return None;
    }
    let get = |name: &str| js_sys::Reflect::get(&asked, &name.into()).unwrap_or_default();
    let source = get("source");
    let source = match source.as_string() {
        Some(address) => Source::Address(address, get("token").as_string()),
        None => Source::File(source.unchecked_into()),
    };
    // Whole numbers, far below 2^53.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Some(Asked {
        source,
        arrival_ms: get("arrival").as_f64().unwrap_or_default() as i64,
        most_bytes: get("most").as_f64().unwrap_or_default() as u64,
    })
}

/// Tells the page something: bytes it reads, bytes it keeps, and what the browser holds for it.
pub(crate) fn tell_page(bytes: &[u8], kept: &[u8], blob: Option<&Blob>) {
    tell_page_bytes(bytes.into(), kept.into(), blob);
}

/// What to do when the page says something, for as long as this worker lives.
pub(crate) fn when_page_says(on_said: impl Fn(Said) + 'static) {
    // Whole numbers, far below 2^53.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let on_number = move |what: f64| {
        on_said(match what {
            STOP => Said::Stop,
            n_events => Said::Known(n_events as usize),
        });
    };
    hear_page(Closure::<dyn Fn(f64)>::new(on_number).into_js_value());
}
