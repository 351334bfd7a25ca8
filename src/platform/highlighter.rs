//! The worker that colours code. Where none can be started (a page of another origin than the script's, a policy that
//! forbids it) there are no colours.

use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/src/platform/highlighter.js")]
extern "C" {
    #[wasm_bindgen(js_name = startHighlighter)]
    fn start_highlighter(
        on_answer: &Closure<dyn FnMut(u32, Option<Vec<u32>>)>,
        on_end: &Closure<dyn FnMut()>,
    ) -> JsValue;
    #[wasm_bindgen(js_name = askHighlighter)]
    fn ask_highlighter(worker: &JsValue, id: u32, language: &str, text: &str);
    #[wasm_bindgen(js_name = endHighlighter)]
    fn end_highlighter(worker: &JsValue);
}

/// A running worker; dropping it ends it, whatever it is doing.
pub(crate) struct Highlighter {
    worker: JsValue,
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
        let on_answer = Closure::new(on_answer);
        let on_end = Closure::new(on_end);
        let worker = start_highlighter(&on_answer, &on_end);
        // Made only where there is a worker: dropping it ends the worker.
        (!worker.is_undefined()).then(|| Highlighter {
            worker,
            _on_answer: on_answer,
            _on_end: on_end,
        })
    }

    /// Asks for the spans of a text.
    pub(crate) fn ask(&self, id: u32, language: &str, text: &str) {
        ask_highlighter(&self.worker, id, language, text);
    }
}

impl Drop for Highlighter {
    fn drop(&mut self) {
        end_highlighter(&self.worker);
    }
}
