//! What a server says.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::{fields, op};
use crate::{ChatEvent, Error, Json};

/// What a server says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum ServerFrame {
    /// The list of sessions changed.
    Sessions(Sessions),
    /// The answer to [`ClientFrame::Open`](super::ClientFrame::Open): always says how the resume went.
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
    /// The answer to [`ClientFrame::Ping`](super::ClientFrame::Ping).
    Pong(Pong),
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
    /// The number of the [`ClientFrame::Ping`](super::ClientFrame::Ping).
    pub n: u64,
    /// The last event there is, where the connection follows one session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<u64>,
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
