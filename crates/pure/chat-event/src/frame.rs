//! The frames that a reader and a server exchange over a WebSocket, as JSON text.
//!
//! Unknown `op`s give no frame and unknown fields are ignored, both ways, so that either side can be newer.
//! When which frame is sent is for the server and the page's transport.

use std::fmt::Write;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::error::without_position;
use crate::{ChatEvent, Error, Json};

/// The name of this protocol among WebSocket subprotocols.
pub const SUBPROTOCOL: &str = "turnreel.v1";

/// The largest text a client may send, in bytes.
pub const MAX_CLIENT_BYTES: usize = 64 * 1024;

/// The largest text a server should send, in bytes; one event may be larger alone.
pub const MAX_SERVER_BYTES: usize = 256 * 1024;

/// The deepest nesting a server reads.
pub const MAX_CLIENT_DEPTH: usize = 64;

/// What a client says.
///
/// `sub` is the client's own number for a subscription.
///
/// ```
/// use chat_event::frame::ClientFrame;
/// let frame = ClientFrame::read(r#"{"op":"ack","sub":1,"seq":104}"#).unwrap();
/// assert_eq!(frame, Some(ClientFrame::Ack { sub: 1, seq: 104 }));
/// assert_eq!(ClientFrame::read(r#"{"op":"zap"}"#), Ok(None));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum ClientFrame {
    /// Subscribe, or resume behind `after`.
    Open(Open),
    /// End a subscription.
    Close {
        /// The one with this number.
        sub: u64,
    },
    /// Everything up to `seq` was taken.
    Ack {
        /// Of which subscription.
        sub: u64,
        /// The last event taken.
        seq: u64,
    },
    /// Is anybody there?
    Ping {
        /// Comes back in the answer.
        n: u64,
    },
}

/// A wish to follow a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// The client's number for the subscription.
    pub sub: u64,
    /// The session, or `*` for the list of sessions.
    pub session: String,
    /// The epoch that `after` counts in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<String>,
    /// The last event the client has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// What the client can do beyond version 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caps: Vec<String>,
}

impl ClientFrame {
    /// Reads a frame; `None` where its `op` is not known.
    ///
    /// # Errors
    ///
    /// [`Error::BadFrame`] where the text is no object with an `op`, lacks what its `op` needs, is too long, or is
    /// nested deeper than [`MAX_CLIENT_DEPTH`].
    pub fn read(text: &str) -> Result<Option<Self>, Error> {
        #[derive(Deserialize)]
        struct Sub {
            sub: u64,
        }
        #[derive(Deserialize)]
        struct Ack {
            sub: u64,
            seq: u64,
        }
        #[derive(Deserialize)]
        struct Ping {
            n: u64,
        }
        if text.len() > MAX_CLIENT_BYTES {
            return Err(bad(format!("longer than {MAX_CLIENT_BYTES} bytes")));
        }
        let frame = match op(text, MAX_CLIENT_DEPTH)?.as_str() {
            "open" => ClientFrame::Open(fields(text)?),
            "close" => {
                let Sub { sub } = fields(text)?;
                ClientFrame::Close { sub }
            }
            "ack" => {
                let Ack { sub, seq } = fields(text)?;
                ClientFrame::Ack { sub, seq }
            }
            "ping" => {
                let Ping { n } = fields(text)?;
                ClientFrame::Ping { n }
            }
            _ => return Ok(None),
        };
        Ok(Some(frame))
    }

    /// The frame as text.
    pub fn to_text(&self) -> String {
        // Frames hold strings and numbers only, which always have a JSON text.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What a server says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum ServerFrame {
    /// The list of sessions changed.
    Sessions(Sessions),
    /// The answer to [`ClientFrame::Open`]: always says how the resume went.
    Hello(Hello),
    /// Events without a hole, from the one behind the last that was sent.
    Ev(Ev),
    /// A sign of life; where `head` is above what the client has, it missed something.
    Hb(Head),
    /// The client was too slow and events were left out: page them, then open again.
    Lag(Head),
    /// Events are missing for good.
    Gap(Gap),
    /// The client's place is worth nothing any more: begin anew.
    Reset(Reset),
    /// Something a client sent could not be done.
    Err(Problem),
    /// The server goes, and will be back.
    Bye(Bye),
    /// The answer to [`ClientFrame::Ping`].
    Pong(Pong),
}

/// What changed in the list of sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sessions {
    /// The subscription.
    pub sub: u64,
    /// New and changed entries, as the list of sessions has them.
    #[serde(default)]
    pub changed: Vec<Json>,
    /// Ids of sessions that are no more.
    #[serde(default)]
    pub gone: Vec<String>,
}

/// How a subscription begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// The subscription.
    pub sub: u64,
    /// The protocol's version.
    pub proto: u64,
    /// The log's epoch.
    #[serde(default)]
    pub epoch: String,
    /// The last event there is; 0 for none.
    #[serde(default)]
    pub head: u64,
    /// The first event that can still be had; 0 for none.
    #[serde(default)]
    pub oldest: u64,
    /// How the resume went.
    #[serde(default)]
    pub resume: Resume,
    /// How often a sign of life comes, in milliseconds.
    #[serde(default)]
    pub hb_ms: u64,
    /// What the token allows here beyond reading: `answer` what the agent asks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may: Vec<String>,
    /// The server's limits by name.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub limits: Json,
}

/// How a resume went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resume {
    /// The client has everything up to `head`, or is sent it now.
    Ok,
    /// The client has to page what is missing.
    Behind,
    /// The client's place is worth nothing: begin anew.
    Reset,
    /// The client did not ask for one; also what a newer server's word is read as, since beginning anew is always right.
    #[default]
    #[serde(other)]
    None,
}

/// Events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ev {
    /// The subscription.
    pub sub: u64,
    /// `seq` of the first event.
    pub from: u64,
    /// `seq` of the last event.
    pub to: u64,
    /// The events.
    #[serde(rename = "e", deserialize_with = "events")]
    pub events: Vec<ChatEvent>,
}

/// The last event there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The subscription.
    pub sub: u64,
    /// Its `seq`.
    pub head: u64,
}

/// A hole in the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The subscription.
    pub sub: u64,
    /// The first missing `seq`.
    pub from: u64,
    /// The last missing `seq`.
    pub to: u64,
    /// `disk`, `retention`, `quarantine` or `redacted`.
    #[serde(default)]
    pub why: String,
}

/// The end of an epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reset {
    /// The subscription.
    pub sub: u64,
    /// The epoch that counts now.
    #[serde(default)]
    pub epoch: String,
    /// `unclean_boot`, `restored`, `deleted`, `cursor_unknown` or `too_far_behind`.
    #[serde(default)]
    pub why: String,
}

/// Why something could not be done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The subscription it is about, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub: Option<u64>,
    /// A word for programs.
    pub code: String,
    /// A sentence for people.
    #[serde(default)]
    pub msg: String,
    /// Whether the connection ends with it.
    #[serde(default)]
    pub fatal: bool,
    /// When it is worth another try, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// A farewell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bye {
    /// `restart` or `drain`.
    #[serde(default)]
    pub why: String,
    /// When to come back, in milliseconds.
    #[serde(default)]
    pub reconnect_after_ms: u64,
}

/// An echo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pong {
    /// The number of the [`ClientFrame::Ping`].
    pub n: u64,
    /// The last event there is, where the connection follows one session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<u64>,
}

impl ServerFrame {
    /// Reads a frame; `None` where its `op` is not known.
    ///
    /// # Errors
    ///
    /// [`Error::BadFrame`] where the text is no object with an `op`, lacks what its `op` needs, or bears what is no event.
    pub fn read(text: &str) -> Result<Option<Self>, Error> {
        // Each event has its own limit, and stands two levels deep.
        let frame = match op(text, crate::MAX_DEPTH + 2)?.as_str() {
            "sessions" => ServerFrame::Sessions(fields(text)?),
            "hello" => ServerFrame::Hello(fields(text)?),
            "ev" => ServerFrame::Ev(fields(text)?),
            "hb" => ServerFrame::Hb(fields(text)?),
            "lag" => ServerFrame::Lag(fields(text)?),
            "gap" => ServerFrame::Gap(fields(text)?),
            "reset" => ServerFrame::Reset(fields(text)?),
            "err" => ServerFrame::Err(fields(text)?),
            "bye" => ServerFrame::Bye(fields(text)?),
            "pong" => ServerFrame::Pong(fields(text)?),
            _ => return Ok(None),
        };
        Ok(Some(frame))
    }

    /// The frame as text.
    pub fn to_text(&self) -> String {
        // Frames hold strings, numbers and JSON that was read before, which always have a JSON text.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// An `ev` frame's text but for the subscription: made once, then shared by all who are sent it.
///
/// ```
/// use chat_event::frame::{EvText, ServerFrame};
/// let line = r#"{"seq":7,"id":"e7","type":"turn_end","payload":{}}"#;
/// let shared = EvText::new(7, 7, [line]);
/// let text = shared.for_sub(3);
/// assert_eq!(text, format!(r#"{{"op":"ev","sub":3,"from":7,"to":7,"e":[{line}]}}"#));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvText {
    behind_sub: String,
}

impl EvText {
    /// What it takes in memory, in bytes.
    pub fn bytes(&self) -> usize {
        self.behind_sub.len()
    }

    /// Events `from` to `to`, each a line of the log word for word, without its newline.
    pub fn new<'a>(from: u64, to: u64, lines: impl IntoIterator<Item = &'a str>) -> Self {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write!(text, r#""from":{from},"to":{to},"e":["#);
        for (n_before, line) in lines.into_iter().enumerate() {
            if n_before > 0 {
                text.push(',');
            }
            text.push_str(line);
        }
        text.push_str("]}");
        EvText { behind_sub: text }
    }

    /// The frame for the subscription `sub`.
    pub fn for_sub(&self, sub: u64) -> String {
        format!(r#"{{"op":"ev","sub":{sub},{}"#, self.behind_sub)
    }

    /// About how long the frame is, in bytes.
    pub fn byte_len(&self) -> usize {
        self.behind_sub.len() + 32
    }
}

/// The frame's `op`.
fn op(text: &str, max_depth: usize) -> Result<String, Error> {
    #[derive(Deserialize)]
    struct Op {
        op: String,
    }
    if crate::depth::exceeds(text, max_depth) {
        return Err(bad(format!("nested deeper than {max_depth}")));
    }
    // Serde would also take an array for a structure.
    if !text.trim_ascii_start().starts_with('{') {
        return Err(bad("not an object".to_owned()));
    }
    fields::<Op>(text).map(|frame| frame.op)
}

fn fields<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|why| bad(without_position(&why.to_string()).to_owned()))
}

fn bad(reason: String) -> Error {
    Error::BadFrame { reason }
}

/// Reads events as tolerantly as they are read from a log, and checks the checksums of those that bear one.
fn events<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ChatEvent>, D::Error> {
    let texts = Vec::<Box<RawValue>>::deserialize(deserializer)?;
    texts
        .iter()
        .map(|text| {
            crate::jsonl::read_record(text.get(), text.get().as_bytes())
                .map(|(event, _)| event)
                .map_err(|(_, reason)| serde::de::Error::custom(format_args!("e: {reason}")))
        })
        .collect()
}
