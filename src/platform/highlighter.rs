//! The worker that colours code. Where none can be started there are no colours.

use wasm_bindgen::prelude::*;

use super::worker::Worker;

#[wasm_bindgen(module = "/src/platform/highlighter.js")]
extern "C" {
    #[wasm_bindgen(js_name = hearHighlighter)]
    fn hear_highlighter(
        worker: &JsValue,
        on_answer: &Closure<dyn FnMut(u32, Option<Vec<u32>>)>,
        on_end: &Closure<dyn FnMut()>,
    );
    #[wasm_bindgen(js_name = askHighlighter)]
    fn ask_highlighter(worker: &JsValue, id: u32, language: &str, text: &str);
}

/// A running worker; dropping it ends it, whatever it is doing.
pub(crate) struct Highlighter {
    worker: Worker,
    _on_answer: Closure<dyn FnMut(u32, Option<Vec<u32>>)>,
    _on_end: Closure<dyn FnMut()>,
}

impl Highlighter {
    /// Starts one. `on_answer` is called with 0 once it has read its grammars, then with the number of each text and
    /// its spans; `on_end` when it cannot go on.
    pub(crate) fn start(
        on_answer: impl FnMut(u32, Option<Vec<u32>>) + 'static,
        on_end: impl FnMut() + 'static,
    ) -> Option<Highlighter> {
        let worker = Worker::start("highlighter")?;
        let on_answer = Closure::new(on_answer);
        let on_end = Closure::new(on_end);
        hear_highlighter(worker.as_js(), &on_answer, &on_end);
        Some(Highlighter {
            worker,
            _on_answer: on_answer,
            _on_end: on_end,
        })
    }

    /// Asks for the spans of a text.
    pub(crate) fn ask(&self, id: u32, language: &str, text: &str) {
        ask_highlighter(self.worker.as_js(), id, language, text);
    }
}
