//! The frames of `protocol.md` 5.4.

use serde::{Deserialize, Serialize};

/// What a client sends.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(crate) enum ClientFrame {
    Open(Open),
    Close {
        sub: u32,
    },
    Ping {
        #[serde(default)]
        n: u64,
    },
    Ack {},
    /// A newer client's; ignored.
    #[serde(other)]
    Unknown,
}

/// Follow a session, or with `*` the list of them.
#[derive(Debug, Deserialize)]
pub(crate) struct Open {
    /// The client's number for it.
    pub(crate) sub: u32,
    pub(crate) session: String,
    #[serde(default)]
    pub(crate) epoch: Option<String>,
    /// The last number the client has, or its whole cursor.
    #[serde(default)]
    pub(crate) after: Option<After>,
}

/// A place in a log: a number, or `v1.<epoch>.<seq>`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum After {
    Seq(u64),
    Cursor(String),
}

/// What the server sends, but for `ev`, whose events are texts already.
#[derive(Debug, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(crate) enum ServerFrame<'a> {
    Hello {
        proto: u32,
        sub: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        epoch: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        head: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        oldest: Option<u64>,
        resume: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<&'static str>,
        #[serde(rename = "hbMs")]
        hb_ms: u64,
        limits: Limits,
    },
    Hb {
        sub: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        head: Option<u64>,
    },
    Lag {
        sub: u32,
        head: u64,
    },
    Reset {
        sub: u32,
        epoch: &'a str,
        why: &'static str,
    },
    Sessions {
        sub: u32,
        changed: Vec<chat_store::Summary>,
        gone: Vec<String>,
    },
    Err {
        #[serde(skip_serializing_if = "Option::is_none")]
        sub: Option<u32>,
        code: &'static str,
        msg: String,
        fatal: bool,
    },
    Pong {
        n: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        head: Option<u64>,
    },
    Bye {
        why: &'static str,
        #[serde(rename = "reconnectAfterMs")]
        reconnect_after_ms: u64,
    },
}

/// What a client can rely on.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Limits {
    pub(crate) frame_bytes: usize,
    pub(crate) message_bytes: usize,
    pub(crate) ring_events: usize,
    pub(crate) subs: usize,
}

impl ServerFrame<'_> {
    pub(crate) fn to_text(&self) -> String {
        // Frames are strings and numbers: they always have a text.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// An `ev` frame; `events` is a JSON array.
pub(crate) fn ev(sub: u32, from: u64, to: u64, events: &str) -> String {
    format!(r#"{{"op":"ev","sub":{sub},"from":{from},"to":{to},"e":{events}}}"#)
}
