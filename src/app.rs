//! Our own page: the list of sessions at the left, one `<agent-feed>` beside it, a place to drop a file on.
//!
//! What the address says: `?src=` opens a log of the same origin, `#session=` a session of the server, `#sessions=`
//! several beside each other, `#e=` an event in what is opened, or with `.2` behind its id the second of its rows, which
//! follows the row that has the focus; `#token=` is moved from the address into memory at once, and kept for this tab
//! until it is closed or refused: a reload does not ask for it again. A reload leaves the reader at the same place.

mod empty;
mod first;
mod hears;
mod keys;
mod liking;
mod list;
mod local;
mod opening;
mod place;
mod removing;
mod sessions;
mod state;
mod title;
mod together;
mod top;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use chat_feed::sessions::Rows;
use leptos::mount::mount_to;
use leptos::prelude::*;

use crate::platform::dom::{self, Element};
use crate::platform::part::part;
use crate::platform::{clock, frame};
use crate::transport::Running;
use crate::transport::link::Server;
use state::{Open, State};

/// How often relative times are written anew.
const CLOCK_MS: i64 = 20_000;
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
