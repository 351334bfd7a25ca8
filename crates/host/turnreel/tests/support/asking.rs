//! Asking a server over HTTP, and reading what it answers.

use serde_json::Value;

use super::PATIENCE;
use super::server::Server;
use super::socket::{Socket, connect, upgrade};

/// Where a server is, for those who stay while it goes and comes back. What does not come about is `None`.
#[derive(Clone)]
pub(crate) struct Remote {
    pub(crate) url: String,
    pub(crate) token: String,
    agent: ureq::Agent,
}

impl Remote {
    pub(crate) fn of(server: &Server) -> Remote {
        Remote {
            url: server.url.clone(),
            token: server.token.clone(),
            agent: agent(),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Option<(u16, Value)> {
        let request = self.agent.get(format!("{}{path}", self.url));
        let request = request.header("Authorization", format!("Bearer {}", self.token));
        try_read(request.call())
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Option<(u16, Value)> {
        let request = self.agent.post(format!("{}{path}", self.url));
        let request = request.header("Authorization", format!("Bearer {}", self.token));
        try_read(
            request
                .header("Content-Type", "application/json")
                .send(body),
        )
    }

    pub(crate) fn socket(&self) -> Option<Socket> {
        let address = self.url.strip_prefix("http://").unwrap();
        let socket = connect(upgrade(address, &self.token), address, PATIENCE)?;
        Some(Socket { socket })
    }
}

pub(crate) fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .timeout_global(Some(PATIENCE))
        .build()
        .new_agent()
}

/// One figure of `/metrics`.
pub(crate) fn figure(server: &Server, name: &str) -> f64 {
    let (_, text) = server.get("/metrics");
    let line = text.as_str().unwrap().lines();
    let mut values = line.filter_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    values.next().unwrap_or_else(|| panic!("no figure {name}"))
}

pub(super) fn read(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> (u16, Value) {
    read_body(answer.unwrap()).unwrap()
}

fn try_read(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Option<(u16, Value)> {
    read_body(answer.ok()?).ok()
}

fn read_body(mut answer: ureq::http::Response<ureq::Body>) -> Result<(u16, Value), ureq::Error> {
    let text = answer
        .body_mut()
        .with_config()
        .limit(64 * 1024 * 1024)
        .read_to_string()?;
    let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok((answer.status().as_u16(), value))
}
