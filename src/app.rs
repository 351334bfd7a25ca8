//! Our own page: the list of sessions at the left, one `<agent-feed>` beside it, a place to drop a file on.
//!
//! What the address says: `?src=` opens a log of the same origin, `#session=` a session of the server, `#sessions=`
//! several beside each other, `#e=` an event in what is opened, or with `.2` behind its id the second of its rows, which
//! follows the row that has the focus; `#token=` is moved from the address into memory at once, and kept for this tab
//! until it is closed or refused: a reload does not ask for it again. A reload leaves the reader at the same place.

mod empty;
mod first;
mod keys;
mod liking;
mod local;
mod opening;
mod removing;
mod sessions;
mod together;
mod top;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use chat_feed::sessions::{Rows, Seen};
use leptos::mount::mount_to;
use leptos::prelude::*;

use crate::element;
use crate::platform::dom::{self, Element};
use crate::platform::part::part;
use crate::platform::{clock, folder, frame, location, tab_storage};
use crate::transport::link::Server;
use crate::transport::list::{self, ListUpdate};
use crate::transport::{Connection, Running};
use local::LocalSession;

/// What says in the page that its server has sessions: any other is not asked, because browsers write each refusal down.
const SESSIONS: &str = "data-sessions";
/// How often relative times are written anew.
const CLOCK_MS: i64 = 20_000;
/// The same, while a session's seconds are shown.
const SECONDS_MS: u32 = 1_000;

/// Where the reader was when the page went, behind the address that it had.
const PLACE_KEY: &str = "turnreel.place";
/// The place of who has come back to the end, and follows it.
const AT_END: &str = "end";

pub(crate) use first::begin;

/// Whether this is a reload of a page whose reader had gone elsewhere and come back to the end.
fn was_at_end() -> bool {
    tab_storage::get(PLACE_KEY).is_some_and(|kept| kept == place_kept(AT_END))
}

/// A place as it is kept: that of no other address.
fn place_kept(place: &str) -> String {
    format!("{} {place}", location::address())
}

part! {
    /// The page around the feed.
    static APP: App = table, in app, "lists sessions";
}

/// What the part can do.
#[derive(Clone, Copy)]
struct App {
    /// Fills the page.
    fill: fn(first::Laid),
}

fn table() -> App {
    App { fill }
}

fn fill(laid: first::Laid) {
    let page = Rc::new(Page::new(&laid));
    let reference = PageRef::new_local(page.clone());
    let state = page.state;
    mount_to(dom::as_html(&laid.list), move || {
        sessions::view(reference, state)
    })
    .forget();
    mount_to(dom::as_html(&laid.top), move || top::view(reference, state)).forget();
    mount_to(dom::as_html(&laid.frame), move || {
        removing::view(reference, state)
    })
    .forget();
    removing::offer(&page);
    page.follow_frame(&laid);
    page.follow_waiting();
    page.follow_list();
    page.go_back();
    page.open_from_address(laid.opened);
    page.listen();
    // It may have failed, or told its title, before anybody listened.
    page.note_failure();
    if let Some(title) = laid.titled.end() {
        page.title.replace(Some(title));
        page.write_title();
    }
    page.take_early(laid.early.end());
    page.tick();
}

/// What is open.
#[derive(Clone, Debug, PartialEq)]
enum Open {
    /// Nothing yet.
    Nothing,
    /// A session of the server.
    Session(String),
    /// Several of them, each for itself.
    Together(Vec<String>),
    /// Dropped files: by the name of their session.
    Local(String),
    /// A log of this origin, by its address.
    Address(String),
}

/// The page's state. Signals are handles, so a clone of it is the same page.
#[derive(Clone, Copy)]
struct State {
    rows: RwSignal<Rows, LocalStorage>,
    local: RwSignal<Vec<Rc<LocalSession>>, LocalStorage>,
    /// The agents whose sessions come into the list by themselves.
    follows: RwSignal<Vec<String>>,
    /// Whether the token lets answers be given.
    may_answer: RwSignal<bool>,
    /// Whether it lets sessions be removed; those that the reader is asked about, and word of those that were.
    may_remove: RwSignal<bool>,
    removing: RwSignal<Option<removing::Asked>>,
    removed: RwSignal<String>,
    open: RwSignal<Open>,
    connection: RwSignal<Option<Connection>>,
    refused: RwSignal<bool>,
    /// What is open could not be, and nothing is shown of it.
    failed: RwSignal<bool>,
    problem: RwSignal<Option<String>>,
    /// How far what was dropped is looked through, while that takes long.
    looking: RwSignal<Option<String>>,
    filter: RwSignal<String>,
    /// The row of the list that keys are at, by its id.
    at: RwSignal<Option<String>>,
    /// Sessions that are to be watched together.
    chosen: RwSignal<Vec<String>>,
    /// Whether a press on a row chooses it, as where no pointer shows the boxes and no key is at hand.
    choosing: RwSignal<bool>,
    seen: RwSignal<Seen, LocalStorage>,
    /// Whether the list is the whole page: nothing is open, and there is something to open.
    is_screen: Memo<bool>,
    list_shown: RwSignal<bool>,
    /// Whether no list is known of, so that there is no room for one.
    alone: RwSignal<bool>,
    now_ms: RwSignal<i64>,
}

impl State {
    /// Whether what is open is all there is: no list of a server, nor anything to say of one, and no dropped file.
    fn is_alone(&self) -> bool {
        self.alone.get()
            && !self.refused.get()
            && self.local.with(Vec::is_empty)
            && self.rows.with(Rows::is_empty)
    }

    /// Shows or hides the list, where there is one.
    fn toggle_list(&self) {
        if !untrack(|| self.is_alone()) {
            self.list_shown.update(|shown| *shown = !*shown);
        }
    }
}

struct Page {
    state: State,
    feed: Element,
    token: RefCell<Option<String>>,
    following: RefCell<Option<Running>>,
    /// Of the session that is open.
    title: RefCell<Option<String>>,
    /// Whether the reader went, or was brought, elsewhere than to the end.
    went: Cell<bool>,
    /// Rows that came while the page was hidden.
    n_new: Cell<u32>,
    /// Sessions that wait, and are not open.
    n_waiting: Cell<u32>,
    /// How often something was dropped: what came last is opened.
    n_drops: Cell<u32>,
    /// The feed that had the focus last.
    turned_to: RefCell<Option<Element>>,
}

/// The page, for handlers: they may hold it.
type PageRef = StoredValue<Rc<Page>, LocalStorage>;

impl Page {
    fn new(laid: &first::Laid) -> Page {
        let owner = Owner::new();
        owner.set();
        let rows = RwSignal::new_local(Rows::default());
        let local = RwSignal::new_local(Vec::new());
        let open = RwSignal::new(Open::Nothing);
        let refused = RwSignal::new(false);
        let is_screen = Memo::new(move |_| {
            let has_some = !rows.with(Rows::is_empty) || local.with(|local| !local.is_empty());
            has_some && open.get() == Open::Nothing && !refused.get()
        });
        let mut seen = sessions::kept_seen();
        // What is there on the first visit stays read.
        sessions::keep_seen(&mut seen);
        let list_shown = RwSignal::new(!first::list_is_hidden());
        let state = State {
            rows,
            local,
            follows: RwSignal::default(),
            may_answer: RwSignal::new(false),
            may_remove: RwSignal::new(false),
            removing: RwSignal::new(None),
            removed: RwSignal::new(String::new()),
            open,
            connection: RwSignal::new(None),
            refused,
            failed: RwSignal::new(false),
            at: RwSignal::new(None),
            chosen: RwSignal::new(Vec::new()),
            choosing: RwSignal::new(false),
            seen: RwSignal::new_local(seen),
            is_screen,
            problem: RwSignal::new(None),
            looking: RwSignal::new(None),
            filter: RwSignal::new(String::new()),
            list_shown,
            alone: RwSignal::new(matches!(laid.opened, first::Opened::Log)),
            now_ms: RwSignal::new(clock::server_ms()),
        };
        // The page lives as long as its document.
        std::mem::forget(owner);
        Page {
            state,
            feed: laid.feed.clone(),
            token: RefCell::new(laid.token.clone()),
            following: RefCell::default(),
            title: RefCell::default(),
            went: Cell::new(false),
            n_new: Cell::new(0),
            n_waiting: Cell::new(0),
            n_drops: Cell::new(0),
            turned_to: RefCell::default(),
        }
    }

    /// Lets the frame of the page say what is open.
    fn follow_frame(&self, laid: &first::Laid) {
        let state = self.state;
        let (frame, content) = (laid.frame.clone(), laid.content.clone());
        let owner = Owner::current().unwrap_or_default();
        owner.with(|| {
            Effect::new(move |_| {
                let shown = state.list_shown.get();
                first::keep_list_hidden(!shown);
                let class = if shown { "app" } else { "app app--wide" };
                dom::write_attribute(&frame, "class", class);
                let is_open = state.open.with(|open| *open != Open::Nothing);
                dom::toggle_attribute(&frame, "data-open", is_open);
                dom::toggle_attribute(&frame, "data-screen", state.is_screen.get());
                dom::toggle_attribute(&frame, "data-alone", state.is_alone());
                let class = if is_open {
                    "content content--open"
                } else {
                    "content"
                };
                dom::write_attribute(&content, "class", class);
            });
        });
    }

    /// The server of the list.
    fn server(&self) -> Option<Server> {
        Server::new(None, self.token.borrow().clone())
    }

    fn follow_list(self: &Rc<Self>) {
        let Some(server) = self.server() else {
            return self.take(ListUpdate::Absent);
        };
        let mut asked_for = ["session", "sessions"].into_iter();
        let is_asked_for = asked_for.any(|name| location::fragment(name).is_some());
        if !dom::page_says(SESSIONS) && server.token.is_none() && !is_asked_for {
            return self.take(ListUpdate::Absent);
        }
        let page = Rc::downgrade(self);
        let known = self.state.rows.with_untracked(Rows::ids);
        let following = list::follow(
            server,
            known,
            Rc::new(move |update| {
                if let Some(page) = page.upgrade() {
                    page.take(update);
                }
            }),
        );
        *self.following.borrow_mut() = Some(following);
    }

    fn take(&self, update: ListUpdate) {
        let state = self.state;
        let alone = matches!(update, ListUpdate::Absent);
        if state.alone.get_untracked() != alone {
            state.alone.set(alone);
        }
        match update {
            ListUpdate::Rows(changed, gone) => {
                state.now_ms.set(clock::server_ms());
                let is_open = self.is_one_open(changed.iter().map(|row| row.id.as_str()));
                let is_back = state.rows.with_untracked(|rows| {
                    let new = changed.iter().filter(|row| rows.get(&row.id).is_none());
                    self.is_one_open(new.map(|row| row.id.as_str()))
                });
                state.rows.update(|rows| rows.take(changed, &gone));
                if is_open {
                    self.look();
                    self.write_title();
                }
                if is_back {
                    self.open_again();
                }
            }
            ListUpdate::Server {
                follows,
                may_answer,
                may_remove,
                now_ms,
            } => {
                if let Some((now_ms, asked_ms)) = now_ms {
                    clock::learn_server_ms(now_ms, asked_ms);
                    state.now_ms.set(clock::server_ms());
                }
                state.follows.set(follows);
                state.may_answer.set(may_answer);
                state.may_remove.set(may_remove);
            }
            ListUpdate::Connection(connection) => state.connection.set(Some(connection)),
            ListUpdate::Refused => self.refuse(),
            ListUpdate::Absent => state.connection.set(None),
        }
    }

    /// Where this is a reload, the reader goes on from where it was.
    fn go_back(&self) {
        let kept = tab_storage::get(PLACE_KEY);
        tab_storage::set(PLACE_KEY, None);
        let place = kept
            .as_deref()
            .and_then(|kept| kept.strip_prefix(&*location::address()));
        let place = place.and_then(|place| place.strip_prefix(' '));
        if let Some(place) = place.filter(|place| *place != AT_END) {
            self.went.set(true);
            dom::write_attribute(&self.feed, "data-place", place);
            dom::dispatch(&self.feed, "af-go-back", &dom::object_of(&[]));
        }
    }

    fn listen(self: &Rc<Self>) {
        let over = dom::listen_document("dragover", |event| {
            if folder::is_in(&event) {
                event.prevent_default();
            }
        });
        let page = self.clone();
        let dropped = dom::listen_document("drop", move |event| {
            if folder::is_in(&event) {
                event.prevent_default();
                page.take_files(folder::take(&event));
            }
        });
        let page = self.clone();
        let keys = dom::listen_document("keydown", move |event| {
            page.take_key(&event);
        });
        let page = self.clone();
        let turned_to = dom::listen_document("focusin", move |event| page.note_feed(&event));
        let page = self.clone();
        let commands = dom::listen(&self.feed, "af-command", move |event| {
            match dom::detail_of(&event, "command").as_deref() {
                Some("sessions") => page.toggle_list(),
                Some(element::REMOVE) => page.ask_to_remove_open(),
                Some(_) | None => return,
            }
            event.prevent_default();
        });
        let selected = dom::listen(&self.feed, "af-select", |event| {
            if let Some(name) = dom::detail_of(&event, "name") {
                location::set_in_fragment("e", &name);
            }
        });
        let page = self.clone();
        let moved = dom::listen_window("popstate", move |_| page.go_to_address());
        let page = self.clone();
        let title = dom::listen(&self.feed, "af-session", move |event| {
            *page.title.borrow_mut() = dom::detail_of(&event, "title");
            page.write_title();
        });
        let page = self.clone();
        let refused = dom::listen(&self.feed, "af-error", move |event| {
            // What is read from an address is no matter of the server's token: the note in the feed says what is wrong.
            let is_servers = |open: &Open| !matches!(open, Open::Local(_) | Open::Address(_));
            if dom::is_in_detail(&event, "refused") && page.state.open.with_untracked(is_servers) {
                // The page asks for the token, which says it.
                event.prevent_default();
                page.refuse();
            } else {
                page.note_failure();
            }
        });
        let page = self.clone();
        let ready = dom::listen(&self.feed, "af-ready", move |event| {
            page.note_outcome(dom::detail_of(&event, "outcome"));
        });
        let page = self.clone();
        let badge = dom::listen(&self.feed, "af-badge", move |event| {
            let n_new = dom::number_in_detail(&event, "badge").unwrap_or(0.0);
            // As it was counted.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            page.n_new.set(n_new as u32);
            page.write_title();
        });
        let page = self.clone();
        let follows = dom::listen(&self.feed, "af-follow", move |event| {
            if !dom::is_in_detail(&event, "following") {
                page.went.set(true);
            }
        });
        let page = self.clone();
        let placed = dom::listen(&self.feed, "af-place", move |event| {
            let place = dom::detail_of(&event, "place");
            let place = place.filter(|place| !place.is_empty());
            // Who follows has no place of its own. The address may name one still, to which a reload would go.
            let place = place.or_else(|| page.went.get().then(|| AT_END.to_owned()));
            let kept = place.map(|place| place_kept(&place));
            tab_storage::set(PLACE_KEY, kept.as_deref());
        });
        let liked = dom::listen(&self.feed, "af-view", |event| {
            let chosen = dom::detail_of(&event, "attribute").zip(dom::detail_of(&event, "value"));
            if let Some((attribute, value)) = chosen {
                liking::keep(&attribute, &value);
            }
        });
        // They are needed as long as the page is there.
        std::mem::forget([over, dropped, keys, title, refused, ready, badge]);
        std::mem::forget([commands, selected, moved, turned_to, follows, placed, liked]);
    }

    /// Lets the title say how many sessions wait.
    fn follow_waiting(self: &Rc<Self>) {
        let (page, state) = (self.clone(), self.state);
        let owner = Owner::current().unwrap_or_default();
        owner.with(|| {
            Effect::new(move |_| {
                let beside = sessions::waiting_beside(state);
                let beside = if frame::is_hidden() { beside } else { 0 };
                let n_waiting = sessions::waiting(state) + beside;
                let n_waiting = u32::try_from(n_waiting).unwrap_or(u32::MAX);
                if page.n_waiting.replace(n_waiting) != n_waiting {
                    page.write_title();
                }
            });
        });
    }

    /// The page's title: how much is new or waits, and what is open.
    pub(super) fn write_title(&self) {
        let title = self.title.borrow().clone().filter(|it| !it.is_empty());
        let named = || {
            let State {
                open, rows, local, ..
            } = self.state;
            match open.get_untracked() {
                Open::Nothing => None,
                Open::Session(id) => rows.with_untracked(|rows| {
                    let row = rows.get(&id)?;
                    Some(row.name(&clock::day_and_time))
                }),
                Open::Together(ids) => Some(format!("{} sessions", ids.len())),
                Open::Local(name) => local.with_untracked(|local| {
                    let found = local.iter().find(|session| session.name == name)?;
                    Some(found.title())
                }),
                Open::Address(address) => address
                    .rsplit('/')
                    .find(|part| !part.is_empty())
                    .map(str::to_owned),
            }
        };
        let mut text = match title.or_else(named) {
            Some(title) => format!("{title} · Turnreel"),
            None => "Turnreel".to_owned(),
        };
        let n_news = self.n_new.get().saturating_add(self.n_waiting.get());
        if n_news > 0 {
            text = format!("({n_news}) {text}");
        }
        location::set_title(&text);
    }

    fn tick(&self) {
        let state = self.state;
        leptos::task::spawn_local(async move {
            loop {
                frame::sleep(SECONDS_MS).await;
                let now_ms = clock::server_ms();
                let is_old = (now_ms - state.now_ms.get_untracked()).abs() >= CLOCK_MS;
                let counts = state
                    .rows
                    .with_untracked(|rows| rows.live().any(|row| sessions::counts(row, now_ms)));
                // Nobody sees the seconds of a hidden page.
                if is_old || (counts && !frame::is_hidden()) {
                    state.now_ms.set(now_ms);
                }
            }
        });
    }
}
