//! `<agent-feed>`: a session in any page, from one script.
//!
//! Its attributes are those of `ATTRIBUTES`, and `state`, which is written here: `loading`, `ready`, `live`, `ended`, `error`.
//! Properties and methods are those of `element.js`. The README tells what each of them is for, and each DOM event.
//!
//! Brings transport, store and view together; what each does is its own.

mod answering;
mod connecting;
mod export;
mod handle;
mod keys;
mod opening;
mod playing;
mod rehearsal;
mod taking;
mod waiting;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use chat_feed::arrangement::Mode;
use leptos::prelude::Set;

use crate::components::feed::FeedView;
use crate::components::links::tell_choice;
use crate::feed_store::FeedStore;
use crate::platform::custom_element;
use crate::platform::dom::{self, Element, Member};
use crate::platform::save::Pieces;
use crate::platform::style::sheet;
use crate::platform::{style, turns};
use crate::transport::again::Origin;
use crate::transport::kept::Kept;
use crate::transport::link::Server;
use crate::transport::live::{Live, Retry};
use crate::transport::pushed::{PackedStream, Pushed};
use crate::transport::{Progress, Running};

/// Texts of sessions as nodes, for the page around.
pub(crate) use crate::components::seen;
pub(crate) use keys::show_keys;

/// The element's name.
pub(crate) const NAME: &str = "agent-feed";

/// The page around removes its session, where the reader asks for it by the command.
pub(crate) use crate::components::export::{MAY_REMOVE, REMOVE};

/// It could not be opened, and nothing is shown of it.
pub(crate) const NOTHING: &str = "data-nothing";

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
    "thinking",
    "filter",
    "announce",
    "fold",
    "group",
    "diff-view",
    "diff-palette",
    "wrap",
    "opens-files",
    "controls",
    "speed",
    "idle-limit",
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
    sheet!("plan"),
    sheet!("mark"),
    sheet!("raw"),
    sheet!("turn_end"),
    sheet!("company"),
    sheet!("reading"),
    // Behind those whose rules it takes back; and here already, for who prints what has only begun to be there.
    sheet!("print"),
);

/// Makes the element known to the browser.
pub(crate) fn define() {
    custom_element::define(NAME, ATTRIBUTES, |host, root| {
        style::adopt(&root, CSS);
        FeedElement::new(host, &root)
    });
}

/// Reads what the first element needs, so that it does not take that long when it is put into the page.
pub(crate) fn prepare() {
    style::prepare(CSS);
}

/// One `<agent-feed>` of the page.
struct FeedElement {
    me: Weak<FeedElement>,
    host: Element,
    root: style::Root,
    store: Rc<FeedStore>,
    view: Rc<FeedView>,
    attributes: RefCell<Attributes>,
    token: RefCell<Option<String>>,
    /// The token that the server was asked with.
    asked_with: RefCell<Option<String>>,
    running: RefCell<Option<Running>>,
    pushed: RefCell<Option<Rc<Pushed>>>,
    /// The packed streams that it is given, by their numbers.
    packed_streams: RefCell<BTreeMap<u32, PackedStream>>,
    streams: Cell<Streams>,
    /// Whether what was pushed could not be read: what goes on with it is not looked at.
    refused: Cell<bool>,
    /// Whether it was played as the page asks, which is done once, or goes on and is shown as it is.
    has_begun: Cell<bool>,
    /// Whether the page was told that what a script gave is here.
    told_ready: Cell<bool>,
    /// What was pushed, and where else the session came from: for those who want all of it again.
    pushed_bytes: RefCell<Pieces>,
    origin: RefCell<Option<Origin>>,
    /// Long bodies of a log that was read.
    kept: RefCell<Kept>,
    reading_since_ms: Cell<f64>,
    progress_told_ms: Cell<f64>,
    /// How much of a log was read, as far as that was told.
    progress: Cell<Progress>,
    /// Whether a worker reads it.
    heard: Cell<bool>,
    /// Ends the wait for the next try; where there is none, nothing is waited for.
    retry: RefCell<Option<Retry>>,
    /// The server and the session that answers go to.
    answers_to: RefCell<Option<(Live, Server, String)>>,
    may_answer: Cell<bool>,
    /// How far behind it was when it began to catch up.
    behind_from: Cell<u64>,
    opening: Cell<bool>,
    /// Whether all rows are being written out.
    walks: Rc<Cell<bool>>,
    /// Counts the sessions: who hears of one may have another begin, and what was to be done then is not of that.
    n_begun: Cell<u32>,
    /// Whether rows are filtered as the attribute says.
    filtered: Cell<bool>,
    state: Cell<&'static str>,
    /// What the page was told of the session: its title, its agent and its id.
    told_session: RefCell<[String; 3]>,
    /// The event to go to once it is here.
    going_to: RefCell<Option<String>>,
}

/// The streams that bring what is pushed.
#[derive(Clone, Copy, Default)]
enum Streams {
    /// There is none: it is pushed as it comes.
    #[default]
    None,
    /// One is read.
    Open,
    /// They are at their end.
    Done,
}

#[derive(Default)]
struct Attributes {
    src: Option<String>,
    session: Option<String>,
    /// Of these two the session was named last.
    session_last: bool,
    endpoint: Option<String>,
    follow: Option<String>,
    filter: Option<String>,
    readonly: bool,
    memory: Option<String>,
}

impl Attributes {
    /// Whether it is a session of a server that is to be shown, and no log.
    fn names_session(&self) -> bool {
        self.session.is_some() && (self.session_last || self.src.is_none())
    }
}

impl FeedElement {
    fn new(host: Element, root: &style::Root) -> Rc<FeedElement> {
        let store = Rc::new(FeedStore::new());
        let view = FeedView::new(&style::container_of(root), store.clone());
        *view.context.links.host.borrow_mut() = Some(host.clone());
        let told_host = host.clone();
        view.on_badge(move |badge| {
            let detail = dom::object_of(&[("badge", Member::Number(badge.into()))]);
            dom::dispatch(&told_host, "af-badge", &detail);
        });
        let told_host = host.clone();
        view.context.diffs.on_choice(move |split, wrap| {
            dom::write_attribute(&told_host, "diff-view", split.as_str());
            dom::toggle_attribute(&told_host, "wrap", wrap);
            tell_choice(&told_host, "diff-view", split.as_str());
            tell_choice(&told_host, "wrap", if wrap { "true" } else { "false" });
        });
        let element = Rc::new_cyclic(|me| FeedElement {
            me: me.clone(),
            host,
            root: root.clone(),
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
            packed_streams: RefCell::default(),
            streams: Cell::default(),
            refused: Cell::new(false),
            has_begun: Cell::new(false),
            told_ready: Cell::new(false),
            pushed_bytes: RefCell::default(),
            origin: RefCell::default(),
            kept: RefCell::default(),
            reading_since_ms: Cell::new(0.0),
            progress_told_ms: Cell::new(0.0),
            progress: Cell::default(),
            heard: Cell::new(false),
            opening: Cell::new(false),
            walks: Rc::default(),
            n_begun: Cell::new(0),
            filtered: Cell::new(false),
            state: Cell::new(""),
            told_session: RefCell::default(),
            going_to: RefCell::default(),
        });
        let me = element.me.clone();
        element.view.context.on_looking_back(move || {
            if let Some(me) = me.upgrade() {
                me.offer_answers();
                me.view.bar.back.set(me.store.looks_back());
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
            let Some(me) = me.upgrade() else { return };
            match &*me.retry.borrow() {
                Some(retry) => retry.now(),
                None => me.open_soon(),
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

    /// False where who heard of it had another session begin: what was to follow is not done then.
    fn set_state(&self, state: &'static str) -> bool {
        let is_other = self.state.replace(state) != state;
        if is_other {
            dom::write_attribute(&self.host, "state", state);
            self.view.set_busy(state == "loading");
            self.view.context.live.set(state == "live");
            self.store
                .set_more_comes(matches!(state, "loading" | "live"));
            match state {
                "live" => self.store.set_goes_on(true),
                "ended" | "ready" => self.store.set_goes_on(false),
                // It may go on where it was.
                _ => {}
            }
            if state != "loading" {
                turns::all_is_read();
            }
            if matches!(state, "live" | "ready" | "ended") {
                self.view.end_stand_in();
                if !self.filtered.get() {
                    self.filter_as_told();
                }
            }
            if state == "live" {
                rehearsal::rehearse(&self.me);
            }
        }
        !is_other || self.tell("af-state", &[("state", Member::Text(state))])
    }

    /// Tells the page something; false where it had another session begin when it heard of it.
    fn tell(&self, name: &str, detail: &[(&str, Member<'_>)]) -> bool {
        let begun = self.n_begun.get();
        dom::dispatch(&self.host, name, &dom::object_of(detail));
        self.n_begun.get() == begun
    }

    /// Tells the page what the session is called and who it is of, when that becomes known or changes.
    fn tell_session(&self) {
        // What comes again is called what it was.
        if self.store.event_count() == 0 {
            return;
        }
        let facts = self.store.whole(|feed, _| {
            let session = feed.session();
            let [title, agent] = [&session.title, &session.agent].map(|it| it.as_deref());
            let facts = [title, agent, Some(&*session.session_id)].map(Option::unwrap_or_default);
            let is_news = *self.told_session.borrow() != facts;
            is_news.then(|| facts.map(str::to_owned))
        });
        if let Some(facts) = facts {
            self.tell_facts(facts);
        }
    }

    fn tell_facts(&self, facts: [String; 3]) {
        if *self.told_session.borrow() != facts {
            self.told_session.replace(facts.clone());
            let [title, agent, session_id] = &facts;
            let detail = dom::object_of(&[
                ("title", Member::Text(title)),
                ("agent", Member::Text(agent)),
                ("sessionId", Member::Text(session_id)),
            ]);
            dom::dispatch(&self.host, "af-session", &detail);
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
