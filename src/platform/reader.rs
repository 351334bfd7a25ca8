//! The worker that reads a log for the page: it runs this same program, from the same module.

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

use super::stream::Blob;
use super::worker::Worker;

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
    fn asked() -> JsValue;
    #[wasm_bindgen(js_name = tellPage)]
    fn tell_page_bytes(bytes: js_sys::Uint8Array, kept: js_sys::Uint8Array, blob: Option<&Blob>);
    #[wasm_bindgen(js_name = hearPage)]
    fn hear_page(on_said: JsValue);
}

#[wasm_bindgen]
extern "C" {
    type Meta;
    #[wasm_bindgen(method, getter)]
    fn url(this: &Meta) -> String;
    #[wasm_bindgen(thread_local_v2, js_namespace = import, js_name = meta)]
    static META: Meta;
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
    /// What was not there may be there now.
    Again,
    /// No more of it is wanted.
    Stop,
}

/// Stand for [`Said::Again`] and [`Said::Stop`] among numbers of events.
const AGAIN: f64 = -1.0;
const STOP: f64 = -2.0;

/// A worker that reads; dropping it ends it.
pub(crate) struct Reader {
    worker: Worker,
    _on_told: Closure<OnTold>,
    _on_end: Closure<dyn FnMut()>,
}

impl Reader {
    /// Starts one. `on_told` takes what it tells ([`tell_page`]), `on_end` that it cannot go on.
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
            Said::Again => AGAIN,
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
    set("script", &META.with(Meta::url).into());
    set("module", &wasm_bindgen::module());
    Some(object.into())
}

/// What this worker was asked; `None` in a page.
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
            AGAIN => Said::Again,
            STOP => Said::Stop,
            n_events => Said::Known(n_events as usize),
        });
    };
    hear_page(Closure::<dyn Fn(f64)>::new(on_number).into_js_value());
}
