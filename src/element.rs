//! `<agent-feed>`: a session in any page, from one script.
//!
//! Attributes: `src` (the address of a log) or `session` with `endpoint` (a server); `theme`, `density`, `follow`,
//! `bar`, `shortcuts`, `readonly`, `memory`; `state` is written here: `loading`, `ready`, `live`, `ended`, `error`.
//! DOM events: `af-ready`, `af-error`, `af-state`, `af-connection`, `af-session`, `af-badge`; and `af-permission` and
//! `af-question` before an answer is sent, which is not where they are cancelled; `af-select` (a row has the focus),
//! `af-link`, `af-copy` and `af-open-file` (a link, a text, a path is copied, unless cancelled), `af-marker` (playing passed
//! one), `af-command` (a key for the page around), `af-event`, `af-follow` and `af-filter` (more came, following began or
//! ended, other hits), and those of media elements: `play`, `pause`,
//! `ended`, `seeked`, `ratechange`, `timeupdate`. Properties and methods: `element.js`.
//!
//! Brings transport, store and view together; what each does is its own.

mod answering;
mod connecting;
mod export;
mod handle;
mod playing;

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use chat_feed::arrangement::Mode;
use leptos::prelude::*;

use crate::components::bar::{Note, Reading};
use crate::components::feed::FeedView;
use crate::components::find::{AskServer, Elsewhere};
use crate::components::reading::READING;
use crate::components::whole::FetchBody;
use crate::feed_store::FeedStore;
use crate::platform::custom_element;
use crate::platform::dom::{self, Element};
use crate::platform::save::Pieces;
use crate::platform::stream::Blob;
use crate::platform::style::sheet;
use crate::platform::{frame, turns};
use crate::platform::{location, style};
use crate::transport::again::Origin;
use crate::transport::kept::{Doors, Kept, NAMED};
use crate::transport::link::Server;
use crate::transport::live::{LIVE, Live, Retry};
use crate::transport::pushed::Pushed;
use crate::transport::{Failure, Limits, Progress, Running, Sink, Update, bytes, replay};

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
    "readonly",
    "memory",
    "verbosity",
    "fold",
    "group",
    "diff-view",
    "wrap",
    "controls",
    "speed",
    "loop",
    "pause-on-markers",
    "autoplay",
    "start-at",
    "poster",
];

const CSS: &str = concat!(
    sheet!("tokens"),
    sheet!("feed"),
    sheet!("bar"),
    sheet!("prompt"),
    sheet!("text"),
    sheet!("thinking"),
    sheet!("tool_call"),
    sheet!("terminal"),
    sheet!("file_edit"),
    sheet!("diff"),
    sheet!("exchange"),
    sheet!("ask"),
    sheet!("plan"),
    sheet!("mark"),
    sheet!("raw"),
    sheet!("turn_end"),
    sheet!("company"),
    sheet!("controls"),
    sheet!("reading"),
);

/// A short log is shown from its end when it took no longer than this to read.
const SHORT_LOG_MS: f64 = 150.0;
/// Of what takes longer to read it is said in words how far reading is.
const LONG_MS: f64 = 500.0;
/// How often it is said how far reading is.
const PROGRESS_MS: f64 = 100.0;

/// What is said where reading broke off.
const SHOWN_BELOW: &str = "What was read before is shown below.";

/// The memory that a log may fill, in MB, where less is not said; a page takes it, and its worker while it reads.
// A program has 4 GiB, and a text that fills all of it takes twice as much again when it grows.
const MEMORY_MB: u64 = 1_400;

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
    /// The token that the server was asked with.
    asked_with: RefCell<Option<String>>,
    running: RefCell<Option<Running>>,
    pushed: RefCell<Option<Rc<Pushed>>>,
    /// What was pushed, and where else the session came from: for those who want all of it again.
    pushed_bytes: RefCell<Pieces>,
    origin: RefCell<Option<Origin>>,
    /// Long bodies of a log that was read.
    kept: RefCell<Kept>,
    reading_since_ms: Cell<f64>,
    progress_told_ms: Cell<f64>,
    /// Ends the wait for the next try; where there is none, nothing is waited for.
    retry: RefCell<Option<Retry>>,
    /// The server and the session that answers go to.
    answers_to: RefCell<Option<(Live, Server, String)>>,
    may_answer: Cell<bool>,
    /// How far behind it was when it began to catch up.
    behind_from: Cell<u64>,
    opening: Cell<bool>,
    state: Cell<&'static str>,
    told_session: RefCell<Option<String>>,
    /// The event to go to once it is here.
    going_to: RefCell<Option<String>>,
}

#[derive(Default)]
struct Attributes {
    src: Option<String>,
    session: Option<String>,
    endpoint: Option<String>,
    follow: Option<String>,
    readonly: bool,
    memory: Option<String>,
}

impl FeedElement {
    fn new(host: Element, root: &style::Root) -> Rc<FeedElement> {
        let store = Rc::new(FeedStore::new());
        let view = FeedView::new(&style::container_of(root), store.clone());
        *view.context.links.host.borrow_mut() = Some(host.clone());
        let told_host = host.clone();
        view.on_badge(move |badge| {
            let detail = dom::object_of(&[("badge", &badge.to_string())]);
            dom::dispatch(&told_host, "af-badge", &detail);
        });
        let told_host = host.clone();
        view.context.diffs.on_choice(move |split, wrap| {
            dom::write_attribute(&told_host, "diff-view", split.as_str());
            dom::toggle_attribute(&told_host, "wrap", wrap);
        });
        let element = Rc::new_cyclic(|me| FeedElement {
            me: me.clone(),
            host,
            store,
            view,
            retry: RefCell::default(),
            answers_to: RefCell::default(),
            may_answer: Cell::new(false),
            behind_from: Cell::new(0),
            attributes: RefCell::default(),
            token: RefCell::default(),
            asked_with: RefCell::default(),
            running: RefCell::default(),
            pushed: RefCell::default(),
            pushed_bytes: RefCell::default(),
            origin: RefCell::default(),
            kept: RefCell::default(),
            reading_since_ms: Cell::new(0.0),
            progress_told_ms: Cell::new(0.0),
            opening: Cell::new(false),
            state: Cell::new(""),
            told_session: RefCell::default(),
            going_to: RefCell::default(),
        });
        let me = element.me.clone();
        element.view.context.on_looking_back(move || {
            if let Some(me) = me.upgrade() {
                me.offer_answers();
            }
        });
        let me = element.me.clone();
        element.view.context.export.on_start(move |form| {
            if let Some(me) = me.upgrade() {
                me.begin_export(form);
            }
        });
        let me = element.me.clone();
        element.view.bar.on_retry(move || {
            if let Some(me) = me.upgrade()
                && let Some(retry) = &*me.retry.borrow()
            {
                retry.now();
            }
        });
        element
    }

    /// Arranges the rows in another way; what the reader looks at stays where it is.
    fn arrange(&self, change: impl FnOnce(&mut Mode)) {
        let mut mode = self.store.mode();
        change(&mut mode);
        self.store.set_mode(mode);
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
                let what = format!("could not load the session: no address: {src}");
                return self.fail(&Failure::new(what, "Correct the attribute src."));
            };
            *self.origin.borrow_mut() = Some(Origin::Address(address.clone(), token.clone()));
            let running = replay::of_address(address, token, self.limits(), self.sink());
            *self.running.borrow_mut() = Some(running);
        } else if let Some(session) = session {
            self.begin();
            let token = self.token.borrow().clone();
            self.asked_with.borrow_mut().clone_from(&token);
            let Some(server) = Server::new(endpoint.as_deref(), token) else {
                let named = endpoint.unwrap_or_default();
                let what = format!("could not reach a server: no address: {named}");
                return self.fail(&Failure::new(what, "Correct the attribute endpoint."));
            };
            let origin = Origin::Session(server.clone(), session.clone());
            *self.origin.borrow_mut() = Some(origin);
            let (me, sink) = (self.me.clone(), self.sink());
            *self.running.borrow_mut() = Some(Running::begin(async move {
                let live = LIVE.needed(|lack| sink(Update::Lacks(lack))).await;
                if let Some(me) = me.upgrade() {
                    me.follow_session(live, server, session);
                }
            }));
        }
    }

    fn follow_session(&self, live: Live, server: Server, session: String) {
        let (from, of) = (server.clone(), session.clone());
        let fetch: FetchBody = Rc::new(move |event_id, wanted, told| {
            let event_id = event_id.to_owned();
            (live.body)(from.clone(), of.clone(), event_id, wanted, told)
        });
        self.view.context.wholes.fetch_by(Some(fetch), "");
        let (from, of) = (server.clone(), session.clone());
        let ask: AskServer = Rc::new(move |text, after| {
            let found = (live.search)(from.clone(), of.clone(), text, after);
            Box::pin(async move {
                let found = found.await?;
                let ids = found.matches.into_iter().map(|found| found.id);
                Ok((ids.collect(), found.next))
            })
        });
        self.view.context.search_by(Some(Elsewhere::Server(ask)));
        *self.answers_to.borrow_mut() = Some((live, server.clone(), session.clone()));
        let (running, retry) = (live.follow)(server, session, self.sink());
        *self.running.borrow_mut() = Some(running);
        *self.retry.borrow_mut() = Some(retry);
    }

    /// The next long bodies of the log that is read; with the first of them others can be asked for.
    fn keep(&self, stretch: Blob, doors: Doors) {
        let kept = self.kept.borrow();
        if kept.is_empty() {
            let (fetch, show) = doors(kept.clone());
            self.view.context.wholes.fetch_by(Some(fetch), NAMED);
            self.view.context.search_by(Some(Elsewhere::Bodies(show)));
        }
        kept.add(stretch);
    }

    /// Empties the feed for another session.
    fn begin(&self) {
        self.running.borrow_mut().take();
        self.retry.borrow_mut().take();
        self.answers_to.borrow_mut().take();
        self.may_answer.set(false);
        self.pushed.borrow_mut().take();
        *self.pushed_bytes.borrow_mut() = Pieces::default();
        self.origin.borrow_mut().take();
        self.empty();
        self.view.keep_room(false);
        self.kept.take();
        self.view.context.wholes.fetch_by(None, "");
        self.view.context.search_by(None);
        self.view.bar.note.set(None);
        self.view.bar.away.set(None);
        self.view.bar.lacks.forget();
        self.view.bar.progress.set(None);
        self.view.bar.stop.with_value(|stop| stop.set(false));
        *self.told_session.borrow_mut() = None;
        self.set_state("loading");
    }

    /// Takes all rows out, and from the list at once: the names of rows are given anew from here on.
    fn empty(&self) {
        self.store.clear();
        self.view.context.forget();
        self.view.settle();
    }

    /// A log is read from its top; following it would mount every row on the way to its end.
    fn begin_reading(&self) {
        self.begin();
        self.view.keep_room(true);
        self.reading_since_ms.set(frame::now_ms());
        self.progress_told_ms.set(0.0);
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
            Update::Soon => self.view.hold(SHORT_LOG_MS),
            Update::Clear => {
                self.empty();
                self.kept.borrow().clear();
            }
            Update::Bodies(stretch, doors) => self.keep(stretch, doors),
            Update::Events(events) => {
                self.store.apply(&events);
                bytes::give_back(events);
            }
            Update::Heard(told, hear, broken) => {
                let heard = self
                    .store
                    .hear(|renderer, patches| hear(renderer, told, patches));
                broken.set(heard.is_err());
            }
            Update::Progress(progress) => self.show_progress(progress),
            Update::Connection(connection) => self.show_connection(&connection),
            Update::MayAnswer(may_answer) => {
                self.may_answer.set(may_answer);
                self.offer_answers();
            }
            Update::CaughtUp => {
                self.view.settle();
                self.set_state("live");
                self.go_on(true);
                dom::dispatch(&self.host, "af-ready", &dom::object_of(&[]));
            }
            Update::End => self.end(),
            Update::Stopped(failure) => {
                self.end();
                self.tell_failure(&failure, "");
            }
            Update::Lacks(lack) => self.view.bar.lacks.add(lack),
            // Another token has come while the first was asked with.
            Update::Failed(failure) if failure.refused && self.has_other_token() => {
                self.open_soon();
            }
            Update::Failed(failure) => {
                self.fail(&failure);
                if self.store.event_count() > 0 || self.answers_to.borrow().is_some() {
                    self.set_connection("error", failure.word);
                }
                self.may_answer.set(false);
                self.offer_answers();
            }
        }
        self.tell_session();
    }

    /// The log is at its end, or as far as it is shown.
    fn end(&self) {
        self.store.end_of_log();
        self.view.bar.progress.set(None);
        // A log opens at its end, for reading, unless the reader is already somewhere.
        if self.follows() && !self.view.reader_moved() {
            self.view.set_following(true);
        }
        self.view.settle();
        self.set_state("ready");
        self.begin_playing();
        self.go_on(true);
        dom::dispatch(&self.host, "af-ready", &dom::object_of(&[]));
    }

    fn show_progress(&self, progress: Progress) {
        let now_ms = frame::now_ms();
        if now_ms - self.reading_since_ms.get() > LONG_MS {
            READING.fetch();
        }
        if now_ms - self.progress_told_ms.get() < PROGRESS_MS {
            return;
        }
        self.progress_told_ms.set(now_ms);
        // Whatever a header claims.
        let percent = |of_bytes| progress.n_read.saturating_mul(100).checked_div(of_bytes);
        let percent = progress.of_bytes.and_then(percent).unwrap_or(0);
        self.view.bar.progress.set(Some(Reading {
            percent: percent.min(100),
            n_read: progress.n_read,
            of_bytes: progress.of_bytes,
            fits: progress.fits,
            n_events: self.store.event_count().into(),
        }));
    }

    /// How much memory the session may fill, and what stops it.
    fn limits(&self) -> Limits {
        let attributes = self.attributes.borrow();
        let said = attributes.memory.as_deref();
        let said = said.and_then(|text| text.trim().parse::<u64>().ok());
        Limits {
            most_bytes: said.map_or(MEMORY_MB, |said| said.min(MEMORY_MB)) * 1_000_000,
            stop: self.view.bar.stop.get_value(),
        }
    }

    /// Goes where a link leads, once that is here; at the end of what is known it is given up.
    fn go_on(&self, known_to_end: bool) {
        let Some(event_id) = self.going_to.borrow().clone() else {
            return;
        };
        self.go_to_its_moment(&event_id);
        let found = self.view.context.go_to_id(&event_id);
        if found || known_to_end {
            self.going_to.borrow_mut().take();
        }
        if !found && known_to_end {
            self.view.bar.note.set(Some(Note {
                what: "The event that the link leads to is not in this session".to_owned(),
                more: event_id,
            }));
        }
    }

    fn has_other_token(&self) -> bool {
        let is_served = self.attributes.borrow().session.is_some();
        is_served && *self.token.borrow() != *self.asked_with.borrow()
    }

    fn fail(&self, failure: &Failure) {
        self.view.bar.progress.set(None);
        self.view.bar.away.set(None);
        let known = self.store.event_count() > 0;
        if !known {
            // Nothing is shown, so nothing is replayed.
            self.set_connection("", "");
        }
        self.set_state("error");
        let shown = if known { SHOWN_BELOW } else { "" };
        self.tell_failure(failure, shown);
    }

    fn tell_failure(&self, failure: &Failure, shown: &str) {
        let more = [&*failure.next, shown].into_iter();
        let more: Vec<&str> = more.filter(|text| !text.is_empty()).collect();
        let refused = if failure.refused { "true" } else { "" };
        let detail = dom::object_of(&[("message", &failure.what), ("refused", refused)]);
        // A page that tells its reader itself takes the event over.
        if dom::asks_leave(&self.host, "af-error", &detail) {
            self.view.bar.note.set(Some(Note {
                what: failure.what.clone(),
                more: more.join(" "),
            }));
        }
    }

    fn set_state(&self, state: &'static str) {
        if self.state.replace(state) != state {
            dom::write_attribute(&self.host, "state", state);
            self.view.set_busy(state == "loading");
            self.view.context.live.set(state == "live");
            match state {
                "live" => self.store.set_goes_on(true),
                "ended" | "ready" => self.store.set_goes_on(false),
                // It may go on where it was.
                _ => {}
            }
            if state != "loading" {
                turns::all_is_read();
            }
            dom::dispatch(&self.host, "af-state", &dom::object_of(&[("state", state)]));
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
