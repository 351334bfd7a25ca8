//! The list of sessions of a server, followed over the same kind of socket.

mod asked;

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use chat_event::Json;
use chat_event::frame::{ClientFrame, Open, ServerFrame, Sessions};
use chat_feed::connection::{Backoff, Liveness, REFUSED_SOCKETS, SOCKET_AGAIN_MS, poll_pause_ms};
use chat_feed::sessions::Row;
use futures_util::future::{Either, select};

use super::link::{self, Heard, News, Server, Socket};
use super::{Connection, Running};
use crate::platform::frame;
use asked::{End, ask};

/// How often a silent socket is looked at.
const TICK_MS: u32 = 1_000;
/// A socket that is not open by then is given up.
const CONNECT_MS: f64 = 10_000.0;
/// Sessions that are asked for at once where no socket tells of them.
const PAGE_ROWS: u32 = 1_000;
/// Asking for a long list may take a tenth of the time at most.
const REST: f64 = 9.0;

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
        /// Whether it lets sessions be removed.
        may_remove: bool,
        /// Its time, by which rows go, and when that was asked for by ours.
        now_ms: Option<(i64, i64)>,
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
            polled: BTreeMap::new(),
            refused_sockets: 0,
            sink: sink.clone(),
        };
        loop {
            let stretched = stretch(&server, &mut list, &mut backoff, &mut was_live).await;
            let asked_ms = match stretched {
                Ok(()) => continue,
                Err(End::Away(asked_ms)) => asked_ms,
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
    /// What was said of each when it was last asked for without a socket, as a hash: most are as they were.
    polled: BTreeMap<String, u64>,
    /// How many sockets did not come about one after another.
    refused_sockets: u32,
    sink: Rc<dyn Fn(ListUpdate)>,
}

impl Listed {
    fn begin(&mut self) {
        self.begun = Some(BTreeSet::new());
    }

    /// A page that was asked for; of its sessions those are told that changed.
    fn take_page(&mut self, mut sessions: Vec<Json>) {
        sessions.retain(|session| {
            let Some(row) = session.parse::<Row>() else {
                return false;
            };
            let mut hasher = DefaultHasher::new();
            session.as_text().hash(&mut hasher);
            let hash = hasher.finish();
            let is_known = self.polled.insert(row.id.clone(), hash) == Some(hash);
            if is_known && let Some(begun) = &mut self.begun {
                begun.insert(row.id);
            }
            !is_known
        });
        if !sessions.is_empty() {
            self.take(Sessions {
                changed: sessions,
                ..Sessions::default()
            });
        }
    }

    fn take(&mut self, sessions: Sessions) {
        // A row that is none is left out: the others are as good without it.
        let rows = sessions.changed.iter().filter_map(Json::parse);
        let rows: Vec<Row> = rows.collect();
        for row in &rows {
            if let Some(begun) = &mut self.begun {
                begun.insert(row.id.clone());
            }
            self.known.insert(row.id.clone());
        }
        for id in &sessions.gone {
            self.known.remove(id);
            self.polled.remove(id);
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
        // Should one come back it is to be told, though nothing of it changed.
        for id in &gone {
            self.polled.remove(id);
        }
        if !gone.is_empty() {
            (self.sink)(ListUpdate::Rows(Vec::new(), gone));
        }
    }
}

async fn stretch(
    server: &Server,
    list: &mut Listed,
    backoff: &mut Backoff,
    was_live: &mut bool,
) -> Result<(), End> {
    let sink = list.sink.clone();
    let mut page = ask(server, 1, None).await?;
    sink(page.server());
    let open = Open {
        sub: 1,
        session: "*".to_owned(),
        ..Open::default()
    };
    let mut socket = Socket::connect(server);
    let mut liveness = Liveness::default();
    let since_ms = frame::now_ms();
    liveness.heard(since_ms);
    let (mut was_open, mut was_hidden) = (false, frame::is_hidden());
    // Where none came about before, the list is not left alone until it is known whether this one does.
    let polls = list.refused_sockets >= REFUSED_SOCKETS;
    let mut poll_at_ms = since_ms + poll_pause_ms(was_hidden);
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
                was_open = true;
                list.refused_sockets = 0;
                list.polled.clear();
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
            Some(Heard::Frame(ServerFrame::Bye(bye))) => {
                return Err(End::Away(Some(bye.reconnect_after_ms)));
            }
            Some(Heard::Frame(_)) => {}
            Some(Heard::Unreadable | Heard::Closed) => break,
            // That it does not open says nothing of requests, which get through.
            None if !was_open && now_ms - since_ms > CONNECT_MS => break,
            None if liveness.is_dead(now_ms) => {
                News::Silent.tell();
                break;
            }
            None if !was_open && polls && now_ms >= poll_at_ms => {
                poll_at_ms = frame::now_ms() + poll_once(server, list, backoff).await?;
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
    if !was_open {
        list.refused_sockets = list.refused_sockets.saturating_add(1);
    }
    if list.refused_sockets < REFUSED_SOCKETS {
        return Err(End::Away(None));
    }
    drop(socket);
    *was_live = true;
    if polls {
        rest(poll_at_ms - frame::now_ms()).await;
    }
    poll(server, list, backoff).await
}

/// Waits so long, which is minutes at most; not at all where it is over.
async fn rest(pause_ms: f64) {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    frame::sleep(pause_ms.max(0.0) as u32).await;
}

/// Where no socket comes about the list is asked for by pages, until another socket is tried.
async fn poll(server: &Server, list: &mut Listed, backoff: &mut Backoff) -> Result<(), End> {
    let until_ms = frame::now_ms() + SOCKET_AGAIN_MS;
    while frame::now_ms() < until_ms {
        rest(poll_once(server, list, backoff).await?).await;
    }
    Ok(())
}

/// Asks for all of the list; how long it is to rest then.
async fn poll_once(server: &Server, list: &mut Listed, backoff: &mut Backoff) -> Result<f64, End> {
    let begun_ms = frame::now_ms();
    list.begin();
    let mut after = None;
    loop {
        let page = ask(server, PAGE_ROWS, after.as_deref()).await?;
        list.take_page(page.sessions);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    list.is_whole();
    backoff.works(frame::now_ms());
    (list.sink)(ListUpdate::Connection(Connection::Polling));
    let took_ms = frame::now_ms() - begun_ms;
    Ok(poll_pause_ms(frame::is_hidden()).max(took_ms * REST))
}
