//! Our own page: the list of sessions at the left, one `<agent-feed>` beside it, a place to drop a file on.
//!
//! What the address says: `?src=` opens a log of the same origin, `?live=` a plain socket of lines, `#session=` a
//! session of the server, `#sessions=` several beside each other, `#e=` an event in what is opened, which follows the
//! row that has the focus; `#token=` is moved from the address into memory at once, and kept for this tab until it is
//! closed or refused: a reload does not ask for it again.

mod empty;
mod first;
mod local;
mod sessions;
mod together;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use chat_feed::sessions::{Rows, Seen};
use leptos::ev;
use leptos::html::{button, code, div, form, h1, h2, input, p};
use leptos::mount::mount_to;
use leptos::prelude::*;

use crate::platform::dom::{self, Element};
use crate::platform::part::part;
use crate::platform::{clock, folder, frame, location, tab_storage};
use crate::transport::link::Server;
use crate::transport::list::{self, ListUpdate};
use crate::transport::readers::READERS;
use crate::transport::{Connection, Running, lines};
use local::LocalSession;

/// How often relative times are written anew.
const CLOCK_MS: u32 = 20_000;
/// The same, while a session's seconds are shown.
const SECONDS_MS: u32 = 1_000;

pub(crate) use first::begin;

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
    mount_to(dom::as_html(&laid.top), move || view(reference, state)).forget();
    page.follow_frame(&laid);
    page.follow_list();
    page.open_from_address(laid.opened);
    page.listen();
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
    /// An address, a socket: by a name for people.
    Other(String),
}

/// The page's state. Signals are handles, so a clone of it is the same page.
#[derive(Clone, Copy)]
struct State {
    rows: RwSignal<Rows, LocalStorage>,
    local: RwSignal<Vec<LocalSession>, LocalStorage>,
    open: RwSignal<Open>,
    connection: RwSignal<Option<Connection>>,
    refused: RwSignal<bool>,
    problem: RwSignal<Option<String>>,
    filter: RwSignal<String>,
    /// Sessions that are to be watched together.
    chosen: RwSignal<Vec<String>>,
    seen: RwSignal<Seen, LocalStorage>,
    /// Whether the list is the whole page: nothing is open, and there is something to open.
    is_screen: Memo<bool>,
    list_shown: RwSignal<bool>,
    now_ms: RwSignal<i64>,
}

struct Page {
    state: State,
    feed: Element,
    token: RefCell<Option<String>>,
    following: RefCell<Option<Running>>,
    socket: RefCell<Option<Running>>,
    /// Of the session that is open.
    title: RefCell<Option<String>>,
    /// Rows that came while the page was hidden.
    n_new: Cell<u32>,
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
        let seen = sessions::kept_seen();
        // What is there on the first visit stays read.
        sessions::keep_seen(&seen);
        let list_shown = RwSignal::new(!first::list_is_hidden());
        let state = State {
            rows,
            local,
            open,
            connection: RwSignal::new(None),
            refused,
            chosen: RwSignal::new(Vec::new()),
            seen: RwSignal::new_local(seen),
            is_screen,
            problem: RwSignal::new(None),
            filter: RwSignal::new(String::new()),
            list_shown,
            now_ms: RwSignal::new(clock::epoch_ms()),
        };
        // The page lives as long as its document.
        std::mem::forget(owner);
        Page {
            state,
            feed: laid.feed.clone(),
            token: RefCell::new(laid.token.clone()),
            following: RefCell::default(),
            socket: RefCell::default(),
            title: RefCell::default(),
            n_new: Cell::new(0),
        }
    }

    /// The server does not take the token: it is not offered again, and asked for.
    fn refuse(&self) {
        tab_storage::set(first::TOKEN_KEY, None);
        self.state.refused.set(true);
    }

    fn set_token(&self, token: Option<String>) {
        dom::set_text_property(&self.feed, "token", token.as_deref());
        tab_storage::set(first::TOKEN_KEY, token.as_deref());
        *self.token.borrow_mut() = token;
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
                let class = if is_open {
                    "content content--open"
                } else {
                    "content"
                };
                dom::write_attribute(&content, "class", class);
            });
        });
    }

    fn follow_list(self: &Rc<Self>) {
        let Some(server) = Server::new(None, self.token.borrow().clone()) else {
            return;
        };
        let page = Rc::downgrade(self);
        let following = list::follow(
            server,
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
        match update {
            ListUpdate::Rows(changed, gone) => {
                state.now_ms.set(clock::epoch_ms());
                let is_open = self.is_one_open(changed.iter().map(|row| row.id.as_str()));
                state.rows.update(|rows| rows.take(changed, &gone));
                if is_open {
                    self.look();
                }
            }
            ListUpdate::Connection(connection) => state.connection.set(Some(connection)),
            ListUpdate::Refused => self.refuse(),
        }
    }

    fn open_from_address(self: &Rc<Self>, opened: first::Opened) {
        if let first::Opened::Log(src) = opened {
            self.show(Open::Other(src));
        } else if let first::Opened::Refused(src) = opened {
            self.state.problem.set(Some(format!(
                "Only logs of this page's own origin are opened: {src}"
            )));
        } else if let Some(address) = location::query("live") {
            self.show(Open::Other(address.clone()));
            let feed = self.feed.clone();
            let socket = lines::of_socket(&address, move |bytes| {
                dom::call_with_bytes(&feed, "append", bytes)
            });
            *self.socket.borrow_mut() = socket;
        } else if let Some(sessions) = location::fragment("sessions") {
            let ids = sessions.split(',').filter(|id| !id.is_empty());
            self.watch(ids.map(str::to_owned).collect());
        } else if let Some(session) = location::fragment("session") {
            // The event stays in the address: it is where the reader is about to be.
            let event = location::fragment("e");
            self.open_session(&session);
            if let Some(event) = event {
                location::set_in_fragment("e", &event);
            }
        }
        self.go_to_address();
    }

    /// Goes to the event that the address names.
    fn go_to_address(&self) {
        if let Some(event) = location::fragment("e") {
            dom::call_with_text(&self.feed, "goTo", &event);
        }
    }

    fn open_session(&self, session: &str) {
        self.socket.borrow_mut().take();
        self.show(Open::Session(session.to_owned()));
        location::replace_fragment(&[("session", session)]);
        dom::remove_attribute(&self.feed, "src");
        dom::write_attribute(&self.feed, "session", session);
    }

    /// Shows several sessions beside each other; of one that is left, all.
    fn watch(&self, mut ids: Vec<String>) {
        let mut known = std::collections::HashSet::new();
        ids.retain(|id| known.insert(id.clone()));
        ids.truncate(sessions::MOST_TOGETHER);
        self.state.chosen.set(Vec::new());
        match ids.as_slice() {
            [] => self.leave(),
            [id] => self.open_session(id),
            ids => {
                self.socket.borrow_mut().take();
                dom::remove_attribute(&self.feed, "src");
                dom::remove_attribute(&self.feed, "session");
                location::replace_fragment(&[("sessions", &ids.join(","))]);
                self.show(Open::Together(ids.to_vec()));
            }
        }
    }

    /// Whether one of these sessions is looked at.
    fn is_one_open<'a>(&self, mut ids: impl Iterator<Item = &'a str>) -> bool {
        self.state.open.with_untracked(|open| match open {
            Open::Session(open) => ids.any(|id| id == open),
            Open::Together(open) => ids.any(|id| open.iter().any(|open| id == open)),
            Open::Nothing | Open::Local(_) | Open::Other(_) => false,
        })
    }

    /// What is open is seen as it is now.
    fn look(&self) {
        let State {
            open, rows, seen, ..
        } = self.state;
        let open = match open.get_untracked() {
            Open::Session(id) => vec![id],
            Open::Together(ids) => ids,
            Open::Nothing | Open::Local(_) | Open::Other(_) => return,
        };
        let now_ms = clock::epoch_ms();
        let mut kept = false;
        seen.update(|seen| {
            rows.with_untracked(|rows| {
                for row in open.iter().filter_map(|id| rows.get(id)) {
                    // While it runs nothing of it is unread, and each event would be written down.
                    let is_news = seen.look(&row.id, row.at_ms());
                    kept |= is_news && !sessions::works(row, now_ms);
                }
            });
        });
        if kept {
            seen.with_untracked(sessions::keep_seen);
        }
    }

    /// Lists the sessions of dropped files before all others, and opens the only or newest one.
    fn take_files(self: &Rc<Self>, dropped: folder::Dropped) {
        let page = self.clone();
        leptos::task::spawn_local(async move {
            let (files, more) = dropped.files().await;
            let problem = page.state.problem;
            let lacks = move |lack| problem.set(Some(format!("{lack}. Drop the files again")));
            let readers = READERS.needed(lacks).await;
            let sessions = local::sessions_of(readers, files);
            let Some(newest) = sessions.first().map(|session| session.name.clone()) else {
                let problem = "There is no session in what was dropped: .jsonl and .json files are read, packed by gzip or zstd too";
                return page.state.problem.set(Some(problem.to_owned()));
            };
            page.state.local.set(sessions);
            page.open_local(&newest);
            if more {
                page.state.problem.set(Some(format!(
                    "Only the first {} files are listed",
                    folder::MOST_FILES
                )));
            }
            local::read_titles(readers, page.state.local).await;
        });
    }

    /// Opens a session of the dropped files.
    fn open_local(&self, name: &str) {
        let files = self.state.local.with_untracked(|sessions| {
            let found = sessions.iter().find(|session| session.name == name);
            found.map(|session| session.files.clone())
        });
        let Some(files) = files else { return };
        self.socket.borrow_mut().take();
        self.show(Open::Local(name.to_owned()));
        location::replace_fragment(&[]);
        dom::remove_attribute(&self.feed, "src");
        dom::remove_attribute(&self.feed, "session");
        dom::call_with_files(&self.feed, "load", &files);
    }

    /// Back to where nothing is open.
    fn leave(&self) {
        dom::remove_attribute(&self.feed, "session");
        dom::remove_attribute(&self.feed, "src");
        location::replace_fragment(&[]);
        self.show(Open::Nothing);
    }

    fn show(&self, open: Open) {
        self.state.problem.set(None);
        let is_elsewhere = matches!(open, Open::Nothing | Open::Together(_));
        dom::toggle_attribute(&self.feed, "hidden", is_elsewhere);
        self.title.borrow_mut().take();
        self.write_title();
        self.state.open.set(open);
        self.look();
    }

    fn connect_with(self: &Rc<Self>, token: String) {
        self.state.refused.set(false);
        self.set_token(Some(token));
        self.follow_list();
    }

    fn listen(self: &Rc<Self>) {
        let over = dom::listen_document("dragover", |event| event.prevent_default());
        let page = self.clone();
        let dropped = dom::listen_document("drop", move |event| {
            event.prevent_default();
            page.take_files(folder::take(&event));
        });
        let page = self.clone();
        let keys = dom::listen_document("keydown", move |event| {
            if dom::key_of(&event).is_some_and(|key| key.name == "b" && !key.control) {
                page.state.list_shown.update(|shown| *shown = !*shown);
            }
        });
        let page = self.clone();
        let commands = dom::listen(&self.feed, "af-command", move |event| {
            if dom::detail_of(&event, "command").as_deref() == Some("sessions") {
                event.prevent_default();
                page.state.list_shown.update(|shown| *shown = !*shown);
            }
        });
        let selected = dom::listen(&self.feed, "af-select", |event| {
            if let Some(event_id) = dom::detail_of(&event, "eventId") {
                location::set_in_fragment("e", &event_id);
            }
        });
        let page = self.clone();
        let moved = dom::listen_window("hashchange", move |_| page.go_to_address());
        let page = self.clone();
        let title = dom::listen(&self.feed, "af-session", move |event| {
            *page.title.borrow_mut() = dom::detail_of(&event, "title");
            page.write_title();
        });
        let page = self.clone();
        let refused = dom::listen(&self.feed, "af-error", move |event| {
            if dom::detail_of(&event, "refused").is_some_and(|refused| refused == "true") {
                // The page asks for the token, which says it.
                event.prevent_default();
                page.refuse();
            }
        });
        let page = self.clone();
        let badge = dom::listen(&self.feed, "af-badge", move |event| {
            let n_new = dom::detail_of(&event, "badge").and_then(|badge| badge.parse().ok());
            page.n_new.set(n_new.unwrap_or(0));
            page.write_title();
        });
        // They are needed as long as the page is there.
        std::mem::forget([over, dropped, keys, title, refused, badge]);
        std::mem::forget([commands, selected, moved]);
    }

    /// The page's title: how much is new, the session's own.
    fn write_title(&self) {
        let title = self.title.borrow();
        let mut text = match title.as_deref().filter(|title| !title.is_empty()) {
            Some(title) => format!("{title} – Turnreel"),
            None => "Turnreel".to_owned(),
        };
        if self.n_new.get() > 0 {
            text = format!("({}) {text}", self.n_new.get());
        }
        location::set_title(&text);
    }

    fn tick(&self) {
        let state = self.state;
        leptos::task::spawn_local(async move {
            loop {
                let now_ms = clock::epoch_ms();
                let counts = state
                    .rows
                    .with_untracked(|rows| rows.iter().any(|row| sessions::counts(row, now_ms)));
                // Nobody sees the seconds of a hidden page.
                let counts = counts && !frame::is_hidden();
                frame::sleep(if counts { SECONDS_MS } else { CLOCK_MS }).await;
                state.now_ms.set(clock::epoch_ms());
            }
        });
    }
}

/// What stands above the feed, or in its place.
fn view(page: PageRef, state: State) -> impl IntoView {
    // It is not put before what is read without the server: the list says it then.
    let trouble = move || {
        let elsewhere = matches!(state.open.get(), Open::Local(_) | Open::Other(_));
        (state.refused.get() && !elsewhere).then(|| token_form(page))
    };
    let problem = move || {
        state
            .problem
            .get()
            .map(|text| p().class("refused").attr("role", "alert").child(text))
    };
    let nothing = move || (state.open.get() == Open::Nothing).then(|| empty::view(page, state));
    (
        h1().class("visually-hidden").child("Turnreel"),
        back_button(page),
        trouble,
        problem,
        nothing,
        together::view(page, state),
    )
}

/// On narrow pages the list and the feed take turns.
fn back_button(page: PageRef) -> impl IntoView {
    button()
        .attr("type", "button")
        .class("back")
        .on(ev::click, move |_| {
            page.with_value(|page| page.leave());
        })
        .child("Sessions")
}

/// Asks for the token that the server wants.
fn token_form(page: PageRef) -> impl IntoView {
    let typed = RwSignal::new(String::new());
    let connect = move |event: ev::SubmitEvent| {
        event.prevent_default();
        let token = typed.get_untracked().trim().to_owned();
        if !token.is_empty() {
            page.with_value(|page| page.connect_with(token));
        }
    };
    let field = input()
        .attr("type", "password")
        .attr("autocomplete", "off")
        .attr("placeholder", "Paste the token")
        .attr("aria-label", "Token")
        .class("field")
        .on(ev::input, move |event| {
            typed.set(event_target_value(&event))
        });
    let submit = button()
        .attr("type", "submit")
        .class("button button--primary")
        .child("Connect");
    let title = if page.with_value(|page| page.token.borrow().is_some()) {
        "The server refused the token"
    } else {
        "This server asks for its token"
    };
    let explained = (
        "It is in the address that ",
        code().child("turnreel serve"),
        " prints, and in the file ",
        code().child("token"),
        " in its data folder. Dropped files open without it.",
    );
    let title = h2().class("refused__title").child(title);
    form().class("refused").on(ev::submit, connect).child((
        div().attr("role", "alert").child(title),
        p().class("muted").child(explained),
        div().class("refused__row").child((field, submit)),
    ))
}
