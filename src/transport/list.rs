//! The list of sessions of a server, followed over the same kind of socket.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::rc::Rc;

use chat_event::frame::{ClientFrame, Open, ServerFrame, Sessions};
use chat_feed::connection::{Backoff, Liveness, MAY_ANSWER};
use chat_feed::sessions::Row;
use futures_util::future::{Either, select};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::link::{self, Heard, News, Server, Socket, in_time};
use super::{Connection, Running};
use crate::platform::frame;
use crate::platform::stream::{FetchError, fetch_bytes};

/// How often a silent socket is looked at.
const TICK_MS: u32 = 1_000;

/// What is told of the list.
pub(crate) enum ListUpdate {
    /// Rows that are new or changed, and the ids of those that went.
    Rows(Vec<Row>, Vec<String>),
    /// What the server says of itself.
    Server {
        /// The agents whose sessions come into it by themselves.
        follows: Vec<String>,
        /// Whether the token lets answers be given.
        may_answer: bool,
    },
    /// How the list comes here.
    Connection(Connection),
    /// The server wants another token.
    Refused,
    /// What serves this page has no sessions.
    Absent,
}

/// Follows the list; tells until it is stopped. `known` are the sessions that stand in it already.
pub(crate) fn follow(
    server: Server,
    known: BTreeSet<String>,
    sink: Rc<dyn Fn(ListUpdate)>,
) -> Running {
    Running::begin(async move {
        let mut backoff = Backoff::default();
        let mut was_live = false;
        let mut list = Listed {
            known,
            begun: None,
            sink: sink.clone(),
        };
        loop {
            let asked_ms = match stretch(&server, &mut list, &mut backoff, &mut was_live).await {
                Ok(asked_ms) => asked_ms,
                Err(End::Refused) => return sink(ListUpdate::Refused),
                // What stands before a server that is away may answer in its place.
                Err(End::Absent) if was_live => None,
                Err(End::Absent) => return sink(ListUpdate::Absent),
            };
            let tell = |connection| sink(ListUpdate::Connection(connection));
            link::wait(&mut backoff, asked_ms, tell).await;
        }
    })
}

/// Which sessions the list has. A server does not say to who comes again what went meanwhile: it is what is not named
/// before the answer to a question that was sent with the subscription.
struct Listed {
    known: BTreeSet<String>,
    /// Those named since the list was subscribed to, until all were.
    begun: Option<BTreeSet<String>>,
    sink: Rc<dyn Fn(ListUpdate)>,
}

impl Listed {
    fn begin(&mut self) {
        self.begun = Some(BTreeSet::new());
    }

    fn take(&mut self, sessions: Sessions) {
        // A row that is none is left out: the others are as good without it.
        let rows = sessions.changed.iter().filter_map(chat_event::Json::parse);
        let rows: Vec<Row> = rows.collect();
        for row in &rows {
            if let Some(begun) = &mut self.begun {
                begun.insert(row.id.clone());
            }
            self.known.insert(row.id.clone());
        }
        for id in &sessions.gone {
            self.known.remove(id);
        }
        (self.sink)(ListUpdate::Rows(rows, sessions.gone));
    }

    /// All were named.
    fn is_whole(&mut self) {
        let Some(begun) = self.begun.take() else {
            return;
        };
        let gone: Vec<String> = self.known.difference(&begun).cloned().collect();
        self.known = begun;
        if !gone.is_empty() {
            (self.sink)(ListUpdate::Rows(Vec::new(), gone));
        }
    }
}

/// Why it is not tried again.
enum End {
    /// The token is wrong.
    Refused,
    /// What serves this page has no sessions: a folder of files, for one.
    Absent,
}

/// A page of a list of sessions, as far as it is looked at here.
#[derive(Deserialize)]
struct Page {
    #[serde(rename = "sessions")]
    _sessions: Vec<IgnoredAny>,
    #[serde(default)]
    follows: Vec<String>,
    #[serde(default)]
    may: Vec<String>,
}

async fn stretch(
    server: &Server,
    list: &mut Listed,
    backoff: &mut Backoff,
    was_live: &mut bool,
) -> Result<Option<u64>, End> {
    let sink = list.sink.clone();
    // A socket does not say why it was refused; a request does.
    let address = server.route("sessions?limit=1");
    let asked = in_time(fetch_bytes(&address, server.token.as_deref())).await;
    let Some(answer) = asked else {
        return Ok(None);
    };
    match answer {
        Ok(bytes) => match serde_json::from_slice::<Page>(&bytes) {
            Ok(page) => sink(ListUpdate::Server {
                follows: page.follows,
                may_answer: page.may.iter().any(|word| word == MAY_ANSWER),
            }),
            // Some hosts answer whatever they do not have with their first page, others with 403.
            Err(_) => return Err(End::Absent),
        },
        Err(
            FetchError::Status {
                code: 404 | 405 | 501,
                ..
            }
            | FetchError::Status {
                code: 403,
                in_json: false,
                ..
            },
        ) => return Err(End::Absent),
        Err(FetchError::Status {
            code: 401 | 403, ..
        }) => return Err(End::Refused),
        Err(FetchError::Status { retry_after_ms, .. }) => return Ok(retry_after_ms),
        Err(FetchError::Failed(_)) => return Ok(None),
    }
    let open = Open {
        sub: 1,
        session: "*".to_owned(),
        ..Open::default()
    };
    let mut socket = Socket::connect(server);
    let mut liveness = Liveness::default();
    liveness.heard(frame::now_ms());
    let mut was_hidden = frame::is_hidden();
    loop {
        let next = poll_fn(|context| socket.poll(context));
        let heard = match select(next, frame::sleep(TICK_MS)).await {
            Either::Left((heard, _)) => Some(heard),
            Either::Right(((), _)) => None,
        };
        let now_ms = frame::now_ms();
        if heard.is_some() {
            liveness.heard(now_ms);
        }
        match heard {
            Some(Heard::Opened) => {
                socket.send(&ClientFrame::Open(open.clone()));
                list.begin();
                let n = liveness.ping(now_ms);
                socket.send(&ClientFrame::Ping { n });
                backoff.connected(now_ms);
                *was_live = true;
                sink(ListUpdate::Connection(Connection::Live));
            }
            Some(Heard::Frame(ServerFrame::Sessions(sessions))) => {
                list.take(sessions);
            }
            Some(Heard::Frame(ServerFrame::Pong(_))) => list.is_whole(),
            Some(Heard::Frame(ServerFrame::Bye(bye))) => return Ok(Some(bye.reconnect_after_ms)),
            Some(Heard::Frame(_)) => {}
            Some(Heard::Unreadable | Heard::Closed) => return Ok(None),
            None if liveness.is_dead(now_ms) => {
                News::Silent.tell();
                return Ok(None);
            }
            None => {
                // Timers may have stood still while the page was hidden: the socket may be long gone.
                let is_hidden = frame::is_hidden();
                if was_hidden && !is_hidden {
                    let n = liveness.ping(now_ms);
                    socket.send(&ClientFrame::Ping { n });
                }
                was_hidden = is_hidden;
            }
        }
    }
}
