//! The list of sessions of a server, followed over the same kind of socket.

use std::rc::Rc;

use chat_event::frame::{Open, ServerFrame};
use serde::Deserialize;

use super::link::{Backoff, Server, Signal, Socket};
use super::{Connection, Running};
use crate::platform::stream::{FetchError, fetch_bytes};

/// One session, as the server tells it; what it does not tell is not shown.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Row {
    /// Its id.
    pub(crate) id: String,
    /// Its title.
    pub(crate) title: Option<String>,
    /// The agent's name and version.
    pub(crate) agent: Option<String>,
    /// The working directory.
    pub(crate) cwd: Option<String>,
    /// `busy`, `idle`, `retrying` or `ended`.
    pub(crate) status: String,
    /// Whether it came with the program.
    pub(crate) sample: bool,
    /// When its last event was stored.
    pub(crate) last_activity_ms: Option<i64>,
    /// When its first event happened.
    pub(crate) started_ms: Option<i64>,
    /// How many events it has.
    pub(crate) events: u64,
}

/// What is told of the list.
pub(crate) enum ListUpdate {
    /// Rows that are new or changed, and the ids of those that went.
    Rows(Vec<Row>, Vec<String>),
    /// How the list comes here.
    Connection(Connection),
    /// The server wants another token.
    Refused,
}

/// Follows the list; tells until it is stopped.
pub(crate) fn follow(server: Server, sink: Rc<dyn Fn(ListUpdate)>) -> Running {
    Running::begin(async move {
        let mut backoff = Backoff::default();
        loop {
            let asked_ms = match stretch(&server, &sink, &mut backoff).await {
                Ok(asked_ms) => asked_ms,
                Err(End::Refused) => return sink(ListUpdate::Refused),
                Err(End::Absent) => return,
            };
            backoff
                .wait(asked_ms, |connection| {
                    sink(ListUpdate::Connection(connection))
                })
                .await;
        }
    })
}

/// Why it is not tried again.
enum End {
    /// The token is wrong.
    Refused,
    /// What serves this page has no sessions: a folder of files, for one.
    Absent,
}

async fn stretch(
    server: &Server,
    sink: &Rc<dyn Fn(ListUpdate)>,
    backoff: &mut Backoff,
) -> Result<Option<u64>, End> {
    // A socket does not say why it was refused; a request does.
    match fetch_bytes(&server.route("sessions?limit=1"), server.token.as_deref()).await {
        Ok(_) => {}
        Err(FetchError::Status(401 | 403)) => return Err(End::Refused),
        Err(FetchError::Status(404 | 405 | 501)) => return Err(End::Absent),
        Err(FetchError::Status(_) | FetchError::Failed(_)) => return Ok(None),
    }
    let open = Open {
        sub: 1,
        session: "*".to_owned(),
        ..Open::default()
    };
    let Some(mut socket) = Socket::open(server, open).await else {
        return Ok(None);
    };
    backoff.connected();
    sink(ListUpdate::Connection(Connection::Live));
    loop {
        match socket.next().await {
            Signal::Closed(asked_ms) => return Ok(asked_ms),
            Signal::Tick => {}
            Signal::Frame(ServerFrame::Sessions(sessions)) => {
                // A row that is none is left out: the others are as good without it.
                let rows = sessions
                    .changed
                    .iter()
                    .filter_map(chat_event::Json::parse)
                    .collect();
                sink(ListUpdate::Rows(rows, sessions.gone));
            }
            Signal::Frame(_) => {}
        }
    }
}
