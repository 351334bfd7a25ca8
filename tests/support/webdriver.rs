//! Another browser, by the protocol that all of them speak: W3C WebDriver.
#![allow(
    clippy::expect_used,
    reason = "a browser that does not do as it is told fails the test"
)]

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::ports::free_port;
use crate::server::exchange;

/// How long its driver may take to begin.
const START_LIMIT: Duration = Duration::from_secs(90);
/// How long what is run in a page may take.
const SCRIPT_LIMIT: Duration = Duration::from_secs(60);

/// A browser with one page.
pub(crate) struct OtherBrowser {
    driver: Child,
    port: u16,
    session: String,
}

impl OtherBrowser {
    /// Starts it by its driver: geckodriver, `WebKitWebDriver`, or any other.
    pub(crate) async fn start(driver: &Path) -> OtherBrowser {
        let port = free_port();
        let started = Command::new(driver)
            .arg(format!("--port={port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        let mut browser = OtherBrowser {
            driver: started.expect("the driver starts"),
            port,
            session: String::new(),
        };
        let begun = tokio::time::timeout(START_LIMIT, async {
            while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        begun.await.expect("the driver listens");
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "timeouts": {"script": SCRIPT_LIMIT.as_millis() as u64},
        }, "firstMatch": [
            {"browserName": "firefox", "moz:firefoxOptions": {"args": ["-headless"]}},
            {},
        ]}});
        let session = browser.ask("POST", "/session", &wanted).await;
        let id = session["sessionId"].as_str().expect("a session");
        browser.session = format!("/session/{id}");
        let told = &session["capabilities"];
        println!("{} {}", told["browserName"], told["browserVersion"]);
        browser
    }

    /// Loads a page.
    pub(crate) async fn goto(&self, url: &str) {
        let path = format!("{}/url", self.session);
        self.ask("POST", &path, &json!({"url": url})).await;
    }

    /// Runs the body of an asynchronous function in the page; returned is what that returns.
    pub(crate) async fn eval(&self, body: &str) -> Value {
        let script = format!(
            "const done = arguments[arguments.length - 1];
             (async () => {{ {body} }})().then((value) => done({{ value }}), (why) => done({{ why: String(why) }}));"
        );
        let path = format!("{}/execute/async", self.session);
        let mut told = self
            .ask("POST", &path, &json!({"script": script, "args": []}))
            .await;
        assert_eq!(told.get("why"), None, "in the page");
        told["value"].take()
    }

    /// Closes it.
    pub(crate) async fn close(mut self) {
        self.ask("DELETE", &self.session, &Value::Null).await;
        self.driver.kill().await.expect("the driver ends");
    }

    async fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let request = format!(
            "{method} {path} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.port,
            body.len()
        );
        let (_, answer) = exchange(self.port, &request).await;
        let mut told: Value = serde_json::from_slice(&answer).expect("the answer is JSON");
        assert_eq!(told["value"].get("error"), None, "{method} {path}: {told}");
        told["value"].take()
    }
}
