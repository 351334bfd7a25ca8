//! What a client says.

use serde::{Deserialize, Serialize};

use super::{MAX_CLIENT_BYTES, MAX_CLIENT_DEPTH, bad, fields, op};
use crate::Error;

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
