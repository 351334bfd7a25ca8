//! Our own page: the list of sessions at the left, one `<agent-feed>` beside it, a place to drop a file on.
//!
//! What the address says: `?src=` opens a log of the same origin, `?live=` a plain socket of lines, `#session=` a
//! session of the server; `#token=` is moved from the address into memory at once.

mod empty;
mod local;
mod sessions;

use std::cell::RefCell;
use std::rc::Rc;

use leptos::ev;
use leptos::html::{button, code, div, form, h2, input, main, nav, p};
use leptos::mount::mount_to;
use leptos::prelude::*;

use crate::element;
use crate::platform::dom::{self, Element};
use crate::platform::{clock, folder, frame, location};
use crate::transport::link::Server;
use crate::transport::list::{self, ListUpdate, Row};
use crate::transport::{Connection, Running, lines};
use local::LocalSession;

/// The id of the element that our own page has and other pages have not.
const ROOT_ID: &str = "turnreel";
/// How often relative times are written anew.
const CLOCK_MS: u32 = 20_000;

/// Mounts our page where this is it.
pub(crate) fn mount() {
    let Some(root) = dom::by_id(ROOT_ID) else {
        return;
    };
    let page = Rc::new(Page::new());
    page.take_address();
    let for_view = page.clone();
    mount_to(dom::as_html(&root), move || view(&for_view)).forget();
    page.place_feed();
    page.follow_list();
    page.open_from_address();
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
    /// Dropped files: by the name of their session.
    Local(String),
    /// An address, a socket: by a name for people.
    Other(String),
}

/// The page's state. Signals are handles, so a clone of it is the same page.
#[derive(Clone, Copy)]
struct State {
    rows: RwSignal<Vec<Row>>,
    local: RwSignal<Vec<LocalSession>, LocalStorage>,
    open: RwSignal<Open>,
    connection: RwSignal<Option<Connection>>,
    refused: RwSignal<bool>,
    problem: RwSignal<Option<String>>,
    filter: RwSignal<String>,
    list_shown: RwSignal<bool>,
    now_ms: RwSignal<i64>,
}

struct Page {
    state: State,
    feed: Element,
    token: RefCell<Option<String>>,
    following: RefCell<Option<Running>>,
    socket: RefCell<Option<Running>>,
}

/// The page, for handlers: they may hold it.
type PageRef = StoredValue<Rc<Page>, LocalStorage>;

impl Page {
    fn new() -> Page {
        let owner = Owner::new();
        owner.set();
        let state = State {
            rows: RwSignal::new(Vec::new()),
            local: RwSignal::new_local(Vec::new()),
            open: RwSignal::new(Open::Nothing),
            connection: RwSignal::new(None),
            refused: RwSignal::new(false),
            problem: RwSignal::new(None),
            filter: RwSignal::new(String::new()),
            list_shown: RwSignal::new(true),
            now_ms: RwSignal::new(clock::epoch_ms()),
        };
        // The page lives as long as its document.
        std::mem::forget(owner);
        Page {
            state,
            feed: dom::create(element::NAME),
            token: RefCell::default(),
            following: RefCell::default(),
            socket: RefCell::default(),
        }
    }

    /// Takes the token out of the address, so that it is in no history and no screenshot.
    fn take_address(&self) {
        if let Some(token) = location::fragment("token") {
            self.set_token(Some(token));
            let session = location::fragment("session");
            let kept: Vec<(&str, &str)> = session
                .iter()
                .map(|session| ("session", session.as_str()))
                .collect();
            location::replace_fragment(&kept);
        }
    }

    fn set_token(&self, token: Option<String>) {
        dom::set_text_property(&self.feed, "token", token.as_deref());
        *self.token.borrow_mut() = token;
    }

    fn place_feed(&self) {
        if let Some(place) = dom::by_id("feed") {
            dom::write_attribute(&self.feed, "hidden", "");
            dom::insert_before(&place, &self.feed, None);
        }
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
                state.rows.update(|rows| {
                    rows.retain(|row| {
                        !gone.contains(&row.id) && !changed.iter().any(|new| new.id == row.id)
                    });
                    rows.extend(changed);
                    sessions::sort(rows);
                });
            }
            ListUpdate::Connection(connection) => state.connection.set(Some(connection)),
            ListUpdate::Refused => state.refused.set(true),
        }
    }

    fn open_from_address(self: &Rc<Self>) {
        if let Some(src) = location::query("src") {
            let address =
                location::resolve(&src).filter(|address| location::is_same_origin(address));
            if address.is_some() {
                self.show(Open::Other(src.clone()));
            }
            match address {
                Some(address) => dom::write_attribute(&self.feed, "src", &address),
                // A link could make this page load, and show as its own, what a stranger wrote.
                None => self.state.problem.set(Some(format!(
                    "Only logs of this page's own origin are opened: {src}"
                ))),
            }
        } else if let Some(address) = location::query("live") {
            self.show(Open::Other(address.clone()));
            let feed = self.feed.clone();
            let socket = lines::of_socket(&address, move |bytes| {
                dom::call_with_bytes(&feed, "append", bytes)
            });
            *self.socket.borrow_mut() = socket;
        } else if let Some(session) = location::fragment("session") {
            self.open_session(&session);
        }
    }

    fn open_session(&self, session: &str) {
        self.socket.borrow_mut().take();
        self.show(Open::Session(session.to_owned()));
        location::replace_fragment(&[("session", session)]);
        dom::remove_attribute(&self.feed, "src");
        dom::write_attribute(&self.feed, "session", session);
    }

    /// Lists the sessions of dropped files before all others, and opens the only or newest one.
    fn take_files(self: &Rc<Self>, dropped: folder::Dropped) {
        let page = self.clone();
        leptos::task::spawn_local(async move {
            let (files, more) = dropped.files().await;
            let sessions = local::sessions_of(files);
            let Some(newest) = sessions.first().map(|session| session.name.clone()) else {
                let problem =
                    "There is no session in what was dropped: .jsonl and .json files are read";
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
            local::read_titles(page.state.local).await;
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
        let nothing = open == Open::Nothing;
        dom::toggle_attribute(&self.feed, "hidden", nothing);
        self.state.open.set(open);
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
        let title = dom::listen(&self.feed, "af-session", |event| {
            if let Some(title) = dom::detail_of(&event, "title").filter(|title| !title.is_empty()) {
                location::set_title(&format!("{title} – Turnreel"));
            }
        });
        let page = self.clone();
        let refused = dom::listen(&self.feed, "af-error", move |event| {
            if dom::detail_of(&event, "refused").is_some_and(|refused| refused == "true") {
                page.state.refused.set(true);
            }
        });
        // They are needed as long as the page is there.
        std::mem::forget([over, dropped, keys, title, refused]);
    }

    fn tick(&self) {
        let state = self.state;
        leptos::task::spawn_local(async move {
            loop {
                frame::sleep(CLOCK_MS).await;
                state.now_ms.set(clock::epoch_ms());
            }
        });
    }
}

fn view(page: &Rc<Page>) -> impl IntoView + use<> {
    let state = page.state;
    let page = PageRef::new_local(page.clone());
    let list_class = move || {
        if state.list_shown.get() {
            "app"
        } else {
            "app app--wide"
        }
    };
    let open_class = move || {
        if state.open.get() == Open::Nothing {
            "content"
        } else {
            "content content--open"
        }
    };
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
    let content = main().class(open_class).child((
        back_button(page),
        trouble,
        problem,
        nothing,
        div().attr("id", "feed").class("feed-place"),
    ));
    let list = nav()
        .class("sessions")
        .attr("aria-label", "Sessions")
        .child(sessions::view(page, state));
    div()
        .class(list_class)
        .attr("data-open", move || {
            (state.open.get() != Open::Nothing).then_some("")
        })
        .child((list, content))
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
        "The server refused the token (401)"
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
    form()
        .class("refused")
        .attr("role", "alert")
        .on(ev::submit, connect)
        .child((
            h2().class("refused__title").child(title),
            p().class("muted").child(explained),
            div().class("refused__row").child((field, submit)),
        ))
}
