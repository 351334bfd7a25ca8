//! What must hold in a browser as it does on the host: the same inputs, read by the same code, compiled to wasm.
//!
//! The test runner serves the package's folder, so inputs come over HTTP.
#![cfg(target_arch = "wasm32")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a promise that is not kept fails its test"
)]

#[path = "support/logs.rs"]
mod logs;

use gloo_net::http::Request;
use serde_json::Value;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

async fn fetch(name: &str) -> Vec<u8> {
    let response = Request::get(&format!("/tests/logs/{name}"))
        .send()
        .await
        .unwrap();
    assert!(response.ok(), "{name}: status {}", response.status());
    response.binary().await.unwrap()
}

#[wasm_bindgen_test]
async fn every_damaged_log_is_read_in_wasm_as_on_the_host() {
    let expected: Value = serde_json::from_slice(&fetch("expected.json").await).unwrap();
    let expected = expected.as_object().unwrap();
    assert_eq!(expected.len(), 46);
    for (name, expected) in expected {
        let mut bytes = fetch(name).await;
        if name.ends_with(".gen") {
            bytes = logs::build(&serde_json::from_slice(&bytes).unwrap());
        }
        logs::check(name, &bytes, expected);
    }
}
