//! What one server tells another of its sessions, as JSON.

use chat_store::Epoch;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The sessions of a server.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ListTold {
    pub(crate) sessions: Vec<RowTold>,
}

/// How far one is there.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RowTold {
    pub(crate) id: String,
    pub(crate) epoch: String,
    pub(crate) head: u64,
    /// Whose copy it is; at home there where it is nobody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) home: Option<String>,
}

/// A part of a log.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LogTold {
    /// The epochs of the log, in order.
    pub(crate) epochs: Vec<Epoch>,
    /// The number to ask on from, and the last there was.
    pub(crate) next: u64,
    pub(crate) head: u64,
    /// The first and the last of numbers whose events cannot be had.
    pub(crate) gaps: Vec<(u64, u64)>,
    /// The lines of the events as they stand in the log: each is JSON.
    pub(crate) lines: Vec<Box<RawValue>>,
}
