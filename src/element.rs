//! `<agent-feed>`: a session in any page, from one script.
//!
//! Attributes: `src` (the address of a log) or `session` with `endpoint` (a server); `theme`, `density`, `follow`,
//! `bar`, `shortcuts`; `state` is written here: `loading`, `ready`, `live`, `ended`, `error`.
//! DOM events: `af-ready`, `af-error`, `af-state`, `af-connection`, `af-session`. Properties and methods: `element.js`.
//!
//! Brings transport, store and view together; what each does is its own.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};

use chat_normalize::{Context, SessionFolder, SessionParts, SessionReader};
use leptos::prelude::*;

use crate::components::FetchDiff;
use crate::components::bar::{Connection, Note};
use crate::components::feed::FeedView;
use crate::feed_store::FeedStore;
use crate::platform::custom_element::{self, Feed};
use crate::platform::dom::{self, Element};
use crate::platform::stream::Blob;
use crate::platform::{clock, frame, location, outline, style};
use crate::transport::link::Server;
use crate::transport::{self, Loss, Running, Sink, Update, live, replay};

/// The element's name.
pub(crate) const NAME: &str = "agent-feed";

const ATTRIBUTES: &[&str] = &[
    "src",
    "session",
    "endpoint",
    "theme",
    "density",
    "follow",
    "bar",
    "shortcuts",
];

const CSS: &str = concat!(
    include_str!("../style/tokens.css"),
    include_str!("../style/feed.css"),
    include_str!("../style/bar.css"),
    include_str!("../style/prompt.css"),
    include_str!("../style/text.css"),
    include_str!("../style/thinking.css"),
    include_str!("../style/tool_call.css"),
    include_str!("../style/file_edit.css"),
    include_str!("../style/diff.css"),
    include_str!("../style/exchange.css"),
    include_str!("../style/ask.css"),
    include_str!("../style/plan.css"),
    include_str!("../style/mark.css"),
    include_str!("../style/raw.css"),
    include_str!("../style/turn_end.css"),
);

/// Rows mounted at once while the whole session is written out.
const STRETCH_ROWS: usize = 100;

/// Makes the element known to the browser.
pub(crate) fn define() {
    custom_element::define(NAME, ATTRIBUTES, |host, root| {
        style::adopt(&root, CSS);
        FeedElement::new(host, &root)
    });
}

/// One `<agent-feed>` of the page.
struct FeedElement {
    me: Weak<FeedElement>,
    host: Element,
    store: Rc<FeedStore>,
    view: Rc<FeedView>,
    attributes: RefCell<Attributes>,
    token: RefCell<Option<String>>,
    running: RefCell<Option<Running>>,
    pushed: RefCell<Option<SessionReader>>,
    opening: Cell<bool>,
    state: Cell<&'static str>,
    told_session: RefCell<Option<String>>,
}

#[derive(Default)]
struct Attributes {
    src: Option<String>,
    session: Option<String>,
    endpoint: Option<String>,
    follow: Option<String>,
}

impl FeedElement {
    fn new(host: Element, root: &style::Root) -> Rc<FeedElement> {
        let store = Rc::new(FeedStore::new());
        let view = FeedView::new(&style::container_of(root), store.clone());
        Rc::new_cyclic(|me| FeedElement {
            me: me.clone(),
            host,
            store,
            view,
            attributes: RefCell::default(),
            token: RefCell::default(),
            running: RefCell::default(),
            pushed: RefCell::default(),
            opening: Cell::new(false),
            state: Cell::new(""),
            told_session: RefCell::default(),
        })
    }

    /// Opens what the attributes say, after all that change now have changed.
    fn open_soon(&self) {
        if self.opening.replace(true) {
            return;
        }
        let me = self.me.clone();
        wasm_bindgen_futures::spawn_local(async move {
            if let Some(me) = me.upgrade() {
                me.opening.set(false);
                me.open();
            }
        });
    }

    fn open(&self) {
        let (src, session, endpoint) = {
            let attributes = self.attributes.borrow();
            (
                attributes.src.clone(),
                attributes.session.clone(),
                attributes.endpoint.clone(),
            )
        };
        if let Some(src) = src {
            self.begin_reading();
            let token = self.token.borrow().clone().filter(|_| {
                // The token is for the server the page came from and for no other.
                location::resolve(&src).is_some_and(|address| location::is_same_origin(&address))
            });
            let Some(address) = location::resolve(&src) else {
                return self.fail(
                    &format!("could not load the session: no address: {src}"),
                    false,
                );
            };
            *self.running.borrow_mut() = Some(replay::of_address(address, token, self.sink()));
        } else if let Some(session) = session {
            self.begin();
            let token = self.token.borrow().clone();
            let Some(server) = Server::new(endpoint.as_deref(), token) else {
                return self.fail(
                    &format!(
                        "could not reach a server: no address: {}",
                        endpoint.unwrap_or_default()
                    ),
                    false,
                );
            };
            let (for_diffs, diffs_of) = (server.clone(), session.clone());
            let fetch: FetchDiff = Rc::new(move |event_id| {
                Box::pin(live::full_diff(
                    for_diffs.clone(),
                    diffs_of.clone(),
                    event_id.to_owned(),
                ))
            });
            *self.view.context.fetch_diff.borrow_mut() = Some(fetch);
            *self.running.borrow_mut() = Some(live::follow(server, session, self.sink()));
        }
    }

    /// Empties the feed for another session.
    fn begin(&self) {
        self.running.borrow_mut().take();
        self.pushed.borrow_mut().take();
        self.empty();
        self.view.context.forget();
        *self.view.context.fetch_diff.borrow_mut() = None;
        self.view.bar.note.set(None);
        self.view.bar.progress.set(None);
        *self.told_session.borrow_mut() = None;
        self.set_state("loading");
    }

    /// Takes all rows out, and from the list at once: the names of rows are given anew from here on.
    fn empty(&self) {
        self.store.clear();
        self.view.settle();
    }

    /// A log is read from its top; following it would mount every row on the way to its end.
    fn begin_reading(&self) {
        self.begin();
        self.view.set_following(false);
        self.set_connection("replay", "Replay");
    }

    fn sink(&self) -> Sink {
        let me = self.me.clone();
        Rc::new(move |update| {
            if let Some(me) = me.upgrade() {
                me.take(update);
            }
        })
    }

    fn take(&self, update: Update) {
        match update {
            Update::Clear => self.empty(),
            Update::Events(events) => self.store.apply(&events),
            Update::Progress(percent) => self.view.bar.progress.set(Some(percent)),
            Update::Connection(connection) => self.show_connection(&connection),
            Update::CaughtUp => {
                self.view.settle();
                self.set_state("live");
                dom::dispatch(&self.host, "af-ready", &dom::object_of(&[]));
            }
            Update::End => {
                self.store.end_of_log();
                self.view.bar.progress.set(None);
                self.view.settle();
                // A log opens at its end, for reading, unless the reader is already somewhere.
                if self.follows() && !self.view.reader_moved() {
                    self.view.set_following(true);
                }
                self.set_state("ready");
                dom::dispatch(&self.host, "af-ready", &dom::object_of(&[]));
            }
            Update::Failed(transport::Failure { what, refused }) => self.fail(&what, refused),
        }
        self.tell_session();
    }

    fn fail(&self, what: &str, refused: bool) {
        self.view.bar.progress.set(None);
        let more = if self.store.event_count() > 0 {
            "What was read before is shown below."
        } else {
            ""
        };
        self.view.bar.note.set(Some(Note {
            what: what.to_owned(),
            more: more.to_owned(),
        }));
        if self.store.event_count() == 0 {
            // Nothing is shown, so nothing is replayed.
            self.set_connection("", "");
        }
        self.set_state("error");
        let refused = if refused { "true" } else { "" };
        dom::dispatch(
            &self.host,
            "af-error",
            &dom::object_of(&[("message", what), ("refused", refused)]),
        );
    }

    fn set_state(&self, state: &'static str) {
        if self.state.replace(state) != state {
            dom::write_attribute(&self.host, "state", state);
            self.view.set_busy(state == "loading");
            self.view.context.live.set(state == "live");
            dom::dispatch(&self.host, "af-state", &dom::object_of(&[("state", state)]));
        }
    }

    fn show_connection(&self, connection: &transport::Connection) {
        use transport::Connection as Is;
        let (state, text) = match connection {
            Is::Connecting => ("connecting", "Connecting".to_owned()),
            Is::CatchingUp(0) => ("catching-up", "Catching up".to_owned()),
            Is::CatchingUp(behind) => ("catching-up", format!("Catching up, {behind} behind")),
            Is::Live => ("live", "Live".to_owned()),
            Is::Ended => ("ended", "Ended".to_owned()),
            Is::Polling => ("live", "Live, every 2 s".to_owned()),
            Is::Reconnecting { seconds, why } => {
                let why = match why {
                    Loss::NoAnswer => "",
                    Loss::Busy => "The server is busy. ",
                    Loss::Restart => "The server restarts. ",
                };
                ("reconnecting", format!("{why}Reconnecting in {seconds} s"))
            }
            Is::Offline => {
                let since = self
                    .store
                    .feed()
                    .session()
                    .last_ms
                    .map(clock::time_of_day)
                    .unwrap_or_default();
                ("offline", format!("Offline, data as of {since}"))
            }
        };
        match connection {
            Is::Ended => self.set_state("ended"),
            Is::Live | Is::Polling => self.set_state("live"),
            _ => {}
        }
        self.set_connection(state, &text);
    }

    fn set_connection(&self, state: &'static str, text: &str) {
        let connection = Connection {
            state,
            text: text.to_owned(),
        };
        let known = self.view.bar.connection.get_untracked();
        if known != connection {
            self.view.bar.connection.set(connection);
            dom::dispatch(
                &self.host,
                "af-connection",
                &dom::object_of(&[("state", state), ("text", text)]),
            );
        }
    }

    /// Tells the page the session's title, when it becomes known or changes.
    fn tell_session(&self) {
        let title = self.store.feed().session().title.clone();
        if title.is_some() && *self.told_session.borrow() != title {
            let text = title.clone().unwrap_or_default();
            *self.told_session.borrow_mut() = title;
            dom::dispatch(
                &self.host,
                "af-session",
                &dom::object_of(&[("title", &text)]),
            );
        }
    }

    /// `follow` is on unless it is said to be off.
    fn follows(&self) -> bool {
        !matches!(
            self.attributes.borrow().follow.as_deref(),
            Some("false" | "off" | "none")
        )
    }
}

impl Feed for FeedElement {
    fn attribute_changed(&self, name: &str, value: Option<&str>) {
        let value = value.map(str::to_owned);
        match name {
            "src" => {
                self.attributes.borrow_mut().src = value;
                self.open_soon();
            }
            "session" => {
                self.attributes.borrow_mut().session = value;
                self.open_soon();
            }
            "endpoint" => {
                self.attributes.borrow_mut().endpoint = value;
                self.open_soon();
            }
            "follow" => {
                self.attributes.borrow_mut().follow = value;
                self.view.set_following(self.follows());
            }
            "bar" => self
                .view
                .bar
                .shown
                .set(!matches!(value.as_deref(), Some("none" | "false"))),
            "shortcuts" => self
                .view
                .set_shortcuts(!matches!(value.as_deref(), Some("off" | "false"))),
            "density" => self.view.relayout(),
            _ => {}
        }
    }

    fn set_token(&self, token: Option<String>) {
        *self.token.borrow_mut() = token;
        if self.state.get() == "error" {
            self.open_soon();
        }
    }

    fn load(&self, files: Vec<(String, Blob)>) {
        self.begin_reading();
        if let [(_, file)] = files.as_slice() {
            *self.running.borrow_mut() = Some(replay::of_file(file.clone(), self.sink()));
            return;
        }
        let folder = SessionFolder::group(files.iter().map(|(path, _)| path.as_str()));
        match <[SessionParts; 1]>::try_from(folder.sessions) {
            Ok([parts]) => {
                *self.running.borrow_mut() = Some(replay::of_files(parts, files, self.sink()));
            }
            Err(sessions) => self.fail(
                &format!(
                    "these files are {} sessions: give those of one",
                    sessions.len()
                ),
                false,
            ),
        }
    }

    fn append(&self, bytes: &[u8]) {
        if self.running.borrow_mut().take().is_some() || self.state.get() == "error" {
            self.begin();
        }
        let mut events = Vec::new();
        let result = {
            let mut pushed = self.pushed.borrow_mut();
            let reader = pushed.get_or_insert_with(|| SessionReader::new(Context::default()));
            reader.push(bytes, clock::epoch_ms(), &mut events)
        };
        match result {
            Ok(()) => {
                self.set_state("live");
                self.take(Update::Events(events));
            }
            Err(why) => self.fail(&why.to_string(), false),
        }
    }

    fn clear(&self) {
        self.begin();
        self.set_state("ready");
    }

    fn event_count(&self) -> u32 {
        self.store.event_count()
    }

    fn row_count(&self) -> u32 {
        self.view.row_count()
    }

    fn scroller(&self) -> Option<Element> {
        Some(self.view.scroller())
    }

    fn go_to_event(&self, event_idx: u32) -> Option<u32> {
        self.view.go_to_event(event_idx)
    }

    fn serialize_rows(&self, mask_times: bool) -> Pin<Box<dyn Future<Output = String>>> {
        let view = self.view.clone();
        Box::pin(async move {
            view.settle();
            let list = view.list().clone();
            let mut text = String::new();
            // What is mounted now may be a frame behind; what is mounted from here on is not.
            list.force(Some(0..0));
            let mut from = 0;
            while from < list.len() {
                let to = (from + STRETCH_ROWS).min(list.len());
                list.force(Some(from..to));
                text.push_str(&outline::outline(list.window(), mask_times));
                from = to;
                frame::yield_now().await;
            }
            list.force(None);
            text
        })
    }

    fn disconnect(&self) {
        self.running.borrow_mut().take();
        self.view.close();
    }
}
