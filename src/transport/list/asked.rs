//! Pages of the list, by requests: a socket does not say why it was refused, and some networks let none through.

use chat_event::Json;
use chat_feed::connection::{MAY_ANSWER, MAY_REMOVE};
use serde::Deserialize;

use super::ListUpdate;
use crate::platform::clock;
use crate::platform::stream::{FetchError, fetch_bytes};
use crate::transport::link::{Server, in_time};
use crate::transport::live::encoded;

/// Why a stretch of following is over.
pub(super) enum End {
    /// The token is wrong.
    Refused,
    /// What serves this page has no sessions: a folder of files, for one.
    Absent,
    /// Nothing answers, or it asks to be left alone for so many milliseconds.
    Away(Option<u64>),
}

/// A page of the list.
#[derive(Deserialize)]
pub(super) struct Page {
    pub(super) sessions: Vec<Json>,
    /// What is asked on from.
    #[serde(default)]
    pub(super) next: Option<String>,
    #[serde(default)]
    follows: Vec<String>,
    #[serde(default)]
    may: Vec<String>,
    #[serde(default, rename = "nowMs")]
    now_ms: Option<i64>,
    /// When it was asked for.
    #[serde(skip)]
    asked_ms: i64,
}

impl Page {
    /// What the server says of itself.
    pub(super) fn server(&mut self) -> ListUpdate {
        let may = |asked: &str| self.may.iter().any(|word| word == asked);
        let (may_answer, may_remove) = (may(MAY_ANSWER), may(MAY_REMOVE));
        ListUpdate::Server {
            follows: std::mem::take(&mut self.follows),
            may_answer,
            may_remove,
            now_ms: self.now_ms.map(|now_ms| (now_ms, self.asked_ms)),
        }
    }
}

/// The sessions behind `after`, at most so many.
pub(super) async fn ask(server: &Server, limit: u32, after: Option<&str>) -> Result<Page, End> {
    let mut address = server.route(&format!("sessions?limit={limit}"));
    if let Some(after) = after {
        address.push_str("&after=");
        address.push_str(&encoded(after));
    }
    let asked_ms = clock::epoch_ms();
    let asked = in_time(fetch_bytes(&address, server.token.as_deref())).await;
    match asked.ok_or(End::Away(None))? {
        // Some hosts answer whatever they do not have with their first page, others with 403.
        Ok(bytes) => {
            let page = serde_json::from_slice::<Page>(&bytes).map_err(|_| End::Absent)?;
            Ok(Page { asked_ms, ..page })
        }
        Err(why) => Err(match why {
            FetchError::Status {
                code: 404 | 405 | 501,
                ..
            }
            | FetchError::Status {
                code: 403,
                in_json: false,
                ..
            } => End::Absent,
            FetchError::Status {
                code: 401 | 403, ..
            } => End::Refused,
            FetchError::Status { retry_after_ms, .. } => End::Away(retry_after_ms),
            FetchError::Failed(_) => End::Away(None),
        }),
    }
}
