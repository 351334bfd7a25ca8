//! Workers. Where none can be started (a page of another origin than the script's, a policy that forbids it) the page goes
//! without.

use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/src/platform/worker.js")]
extern "C" {
    #[wasm_bindgen(js_name = startWorker)]
    fn start_worker(name: &str) -> JsValue;
    #[wasm_bindgen(js_name = endWorker)]
    fn end_worker(worker: &JsValue);
}

/// A running worker; dropping it ends it, whatever it is doing.
pub(super) struct Worker(JsValue);

impl Worker {
    /// Starts one of those that `worker.js` names.
    pub(super) fn start(name: &str) -> Option<Worker> {
        let worker = start_worker(name);
        // Made only where there is a worker: dropping it ends the worker.
        (!worker.is_undefined()).then(|| Worker(worker))
    }

    /// The browser's own.
    pub(super) fn as_js(&self) -> &JsValue {
        &self.0
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        end_worker(&self.0);
    }
}
