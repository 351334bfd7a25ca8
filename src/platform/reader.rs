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
        on_told: &Closure<dyn FnMut(Vec<u8>)>,
        on_end: &Closure<dyn FnMut()>,
    );
    #[wasm_bindgen(js_name = askReaderAgain)]
    fn ask_reader_again(worker: &JsValue);
    fn asked() -> JsValue;
    #[wasm_bindgen(js_name = tellPage)]
    fn tell_page_bytes(bytes: js_sys::Uint8Array);
    #[wasm_bindgen(js_name = onAskedAgain)]
    fn on_asked_again(again: JsValue);
}

#[wasm_bindgen]
extern "C" {
    type Meta;
    #[wasm_bindgen(method, getter)]
    fn url(this: &Meta) -> String;
    #[wasm_bindgen(thread_local_v2, js_namespace = import, js_name = meta)]
    static META: Meta;
}

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
    /// So many events the page has already.
    pub(crate) n_known: usize,
}

/// A worker that reads; dropping it ends it.
pub(crate) struct Reader {
    worker: Worker,
    _on_told: Closure<dyn FnMut(Vec<u8>)>,
    _on_end: Closure<dyn FnMut()>,
}

impl Reader {
    /// Starts one. `on_told` takes what it tells, `on_end` that it cannot go on.
    pub(crate) fn start(
        asked: &Asked,
        on_told: impl FnMut(Vec<u8>) + 'static,
        on_end: impl FnMut() + 'static,
    ) -> Option<Reader> {
        let asked = to_js(asked)?;
        let worker = Worker::start("reader")?;
        let on_told = Closure::new(on_told);
        let on_end = Closure::new(on_end);
        ask_reader(worker.as_js(), &asked, &on_told, &on_end);
        Some(Reader {
            worker,
            _on_told: on_told,
            _on_end: on_end,
        })
    }

    /// Asks it to try again what it could not.
    pub(crate) fn again(&self) {
        ask_reader_again(self.worker.as_js());
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
        set("known", &(asked.n_known as f64).into());
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
    let number = |name: &str| get(name).as_f64().unwrap_or_default();
    // Whole numbers, far below 2^53.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Some(Asked {
        source,
        arrival_ms: number("arrival") as i64,
        n_known: number("known") as usize,
    })
}

/// Tells the page something.
pub(crate) fn tell_page(bytes: &[u8]) {
    tell_page_bytes(js_sys::Uint8Array::from(bytes));
}

/// What to do when the page asks for what was told again.
pub(crate) fn when_asked_again(again: impl FnOnce() + 'static) {
    on_asked_again(Closure::once_into_js(again));
}
