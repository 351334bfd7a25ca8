//! The worker that reads a log for the page, as the page sees it; what the worker sees of the page is `asked`'s.

#[cfg(not(feature = "page"))]
mod asked;

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

use super::stream::Blob;
use super::worker::Worker;
#[cfg(not(feature = "page"))]
pub(crate) use asked::{asked_here, tell_page, when_page_says};

#[wasm_bindgen(module = "/src/platform/reader.js")]
extern "C" {
    #[wasm_bindgen(js_name = askReader)]
    fn ask_reader(
        worker: &JsValue,
        asked: &JsValue,
        on_told: &Closure<OnTold>,
        on_end: &Closure<dyn FnMut()>,
    );
    #[wasm_bindgen(js_name = sayToReader)]
    fn say_to_reader(worker: &JsValue, what: f64);
}

/// Takes bytes that are read, bytes that are kept, and what the browser holds, where there is some.
type OnTold = dyn FnMut(Vec<u8>, Vec<u8>, JsValue);

/// Where bytes come from.
#[derive(Clone)]
pub(crate) enum Source {
    /// A file.
    File(Blob),
    /// An address, and the token that it is asked with.
    Address(String, Option<String>),
}

/// What the worker is asked.
pub(crate) struct Asked {
    /// What it reads.
    pub(crate) source: Source,
    /// The time that stands for those of events that have none, Unix epoch in milliseconds.
    pub(crate) arrival_ms: i64,
    /// How many bytes of memory the worker may take for it.
    pub(crate) most_bytes: u64,
}

/// What the page says to the worker later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Said {
    /// So many events the page took itself.
    Known(usize),
    /// No more of it is wanted.
    Stop,
}

/// Stands for [`Said::Stop`] among numbers of events.
const STOP: f64 = -1.0;

/// A worker that reads; dropping it ends it.
pub(crate) struct Reader {
    worker: Worker,
    _on_told: Closure<OnTold>,
    _on_end: Closure<dyn FnMut()>,
}

impl Reader {
    /// Starts one. `on_told` takes what it tells (bytes to read, bytes to keep, and what the browser holds), `on_end` that
    /// it cannot go on.
    pub(crate) fn start(
        asked: &Asked,
        mut on_told: impl FnMut(Vec<u8>, Vec<u8>, Option<Blob>) + 'static,
        on_end: impl FnMut() + 'static,
    ) -> Option<Reader> {
        let asked = to_js(asked)?;
        let worker = Worker::start("reader")?;
        let on_told: Closure<OnTold> = Closure::new(move |bytes, kept, blob: JsValue| {
            on_told(bytes, kept, blob.dyn_into().ok());
        });
        let on_end = Closure::new(on_end);
        ask_reader(worker.as_js(), &asked, &on_told, &on_end);
        Some(Reader {
            worker,
            _on_told: on_told,
            _on_end: on_end,
        })
    }

    /// Says something to it.
    pub(crate) fn say(&self, said: Said) {
        let what = match said {
            // Far below 2^53.
            #[allow(clippy::cast_precision_loss)]
            Said::Known(n_events) => n_events as f64,
            Said::Stop => STOP,
        };
        say_to_reader(self.worker.as_js(), what);
    }
}

fn to_js(asked: &Asked) -> Option<JsValue> {
    let object = js_sys::Object::new();
    let set = |name: &str, value: &JsValue| {
        let _ = js_sys::Reflect::set(&object, &name.into(), value);
    };
    match &asked.source {
        // What only behaves like a file cannot be handed to a worker.
        Source::File(file) => set("source", file.dyn_ref::<Blob>()?),
        Source::Address(address, token) => {
            set("source", &address.into());
            set("token", &token.clone().into());
        }
    }
    // Far below 2^53.
    #[allow(clippy::cast_precision_loss)]
    {
        set("arrival", &(asked.arrival_ms as f64).into());
        set("most", &(asked.most_bytes as f64).into());
    }
    Some(object.into())
}
