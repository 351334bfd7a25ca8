//! What our own page does before all of it is here: it lays out its frame and opens a log that the address names.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::{APP, liking};
use crate::element;
use crate::platform::dom::{self, Element, Event, Listener};
use crate::platform::part::Lack;
use crate::platform::turns;
use crate::platform::{frame, local_storage, location, tab_storage};

/// The id of the element that our own page has and other pages have not.
pub(super) const ROOT_ID: &str = "turnreel";
/// What the token is kept under. No other page comes to it: it is of this origin, and of this tab.
pub(super) const TOKEN_KEY: &str = "turnreel.token";
/// What the browser keeps of whether the list is hidden.
const HIDDEN_KEY: &str = "turnreel.sessions-hidden";

/// The page as it is laid out before it is filled.
pub(crate) struct Laid {
    /// The list of sessions and the content, beside each other.
    pub(super) frame: Element,
    pub(super) list: Element,
    pub(super) content: Element,
    /// What stands above the feed.
    pub(super) top: Element,
    pub(super) feed: Element,
    pub(super) token: Option<String>,
    pub(super) opened: Opened,
    /// Keys that are pressed before all of the page is here, for who is then there to take them.
    pub(super) early: EarlyKeys,
    /// What the session is called, where that is told before anybody else hears it.
    pub(super) titled: EarlyTitle,
}

/// The title that the feed tells of its session.
pub(super) struct EarlyTitle {
    told: Rc<RefCell<Option<String>>>,
    _listener: Listener,
}

impl EarlyTitle {
    fn listen(feed: &Element) -> EarlyTitle {
        let told = Rc::<RefCell<_>>::default();
        let title = told.clone();
        let listener = dom::listen(feed, "af-session", move |event| {
            *title.borrow_mut() = dom::detail_of(&event, "title");
        });
        EarlyTitle {
            told,
            _listener: listener,
        }
    }

    /// Hears no more of it, and gives what was told.
    pub(super) fn end(self) -> Option<String> {
        self.told.take()
    }
}

/// Keys that were pressed beside the feed, as they come; none of them is lost.
pub(super) struct EarlyKeys {
    pressed: Rc<RefCell<Vec<Event>>>,
    _listener: Listener,
}

impl EarlyKeys {
    fn listen() -> EarlyKeys {
        let pressed = Rc::new(RefCell::new(Vec::new()));
        let keys = pressed.clone();
        let listener = dom::listen_document("keydown", move |event| {
            let is_beside = dom::target(&event).is_some_and(|at| at.tag_name() == "BODY");
            let Some(key) = dom::key_of(&event).filter(|_| is_beside) else {
                return;
            };
            // Firefox would look for what is written behind a slash.
            if key.name.chars().count() == 1 && !key.control {
                event.prevent_default();
            }
            keys.borrow_mut().push(event);
        });
        EarlyKeys {
            pressed,
            _listener: listener,
        }
    }

    /// Hears no more of them, and gives those that came.
    pub(super) fn end(self) -> Vec<Event> {
        self.pressed.take()
    }
}

/// What the address asked for of what is opened at once.
pub(super) enum Opened {
    /// Nothing of it.
    Nothing,
    /// A log, which is being read.
    Log,
    /// A log of another origin.
    Refused(String),
}

/// Begins our page where this is it, in a task of its own: the program has just begun, and no frame waits for both.
pub(crate) fn begin() {
    let Some(root) = dom::by_id(ROOT_ID) else {
        return;
    };
    wasm_bindgen_futures::spawn_local(async move {
        frame::yield_now().await;
        let (laid, place) = lay_out(&root);
        element::prepare();
        // With the feed a task is long enough by itself.
        frame::yield_now().await;
        dom::insert_before(&place, &laid.feed, None);
        if matches!(laid.opened, Opened::Log) {
            fill_when_asked(laid);
        } else {
            fill(laid);
        }
    });
}

/// The page without its feed, and the place for that.
fn lay_out(root: &Element) -> (Laid, Element) {
    let class = if list_is_hidden() {
        "app app--wide"
    } else {
        "app"
    };
    let frame = element("div", class);
    let list = element("nav", "sessions");
    dom::write_attribute(&list, "aria-label", "Sessions");
    let content = element("main", "content");
    let top = element("div", "content__top");
    let place = element("div", "feed-place");
    dom::write_attribute(&place, "id", "feed");
    let feed = dom::create(element::NAME);
    // On a small screen too: what is small by itself is a feed in somebody's page.
    dom::write_attribute(&feed, "density", "cozy");
    liking::restore(&feed);
    // Of a recorded session the moment to begin at; one that goes on is shown as it is.
    if let Some(time) = location::fragment("t") {
        dom::write_attribute(&feed, "start-at", &time);
    }
    if super::place::was_at_end() {
        // Its reader had gone on from there.
        location::remove_from_fragment("e");
    }
    let token = take_token();
    dom::set_text_property(&feed, "token", token.as_deref());
    let opened = match location::query("src") {
        None => Opened::Nothing,
        Some(src) => match address_of_log(&src) {
            None => Opened::Refused(src),
            Some(address) => {
                dom::write_attribute(&feed, "src", &address);
                dom::write_attribute(&frame, "data-open", "");
                // Whoever serves a log may have no sessions: room for them is made once their server answers.
                dom::write_attribute(&frame, "data-alone", "");
                dom::write_attribute(&content, "class", "content content--open");
                Opened::Log
            }
        },
    };
    let reads = matches!(opened, Opened::Log);
    dom::toggle_attribute(&feed, "hidden", !reads);
    for (parent, child) in [
        (root, &frame),
        (&frame, &list),
        (&frame, &content),
        (&content, &top),
        (&content, &place),
    ] {
        dom::insert_before(parent, child, None);
    }
    let titled = EarlyTitle::listen(&feed);
    let laid = Laid {
        frame,
        list,
        content,
        top,
        feed,
        token,
        opened,
        early: EarlyKeys::listen(),
        titled,
    };
    (laid, place)
}

/// Fills the page when its reader turns to it, or when it has been at rest for a while.
fn fill_when_asked(laid: Laid) {
    let laid = Rc::new(Cell::new(Some(laid)));
    let listeners = Rc::new(RefCell::new(Vec::new()));
    let fill_once = move || {
        if let Some(laid) = laid.take() {
            fill(laid);
        }
    };
    for asks in ["pointerover", "focusin", "keydown", "dragenter"] {
        let (fill_once, kept) = (fill_once.clone(), Rc::downgrade(&listeners));
        let asked = move |_| {
            fill_once();
            // A listener is not dropped while it is called.
            if let Some(listeners) = kept.upgrade() {
                wasm_bindgen_futures::spawn_local(async move { listeners.borrow_mut().clear() });
            }
        };
        listeners
            .borrow_mut()
            .push(dom::listen_document(asks, asked));
    }
    turns::unasked(move || {
        listeners.borrow_mut().clear();
        fill_once();
    });
}

/// Fills the page, as soon as the part that does is here.
fn fill(laid: Laid) {
    let top = laid.top.clone();
    wasm_bindgen_futures::spawn_local(async move {
        let app = APP.needed(|lack| say(&top, lack)).await;
        dom::empty(&laid.top);
        (app.fill)(laid);
        turns::first_is_here();
    });
}

/// Says that the page stays empty, and offers to try again.
fn say(top: &Element, lack: Lack) {
    dom::empty(top);
    let note = element("div", "refused");
    dom::write_attribute(&note, "role", "alert");
    let text = element("p", "refused__title");
    dom::write_text(&text, &format!("Could not go on: {lack}"));
    let button = element("button", "button button--primary");
    dom::write_attribute(&button, "type", "button");
    dom::write_text(&button, "Try again");
    std::mem::forget(dom::listen(&button, "click", move |_| lack.again()));
    for (parent, child) in [(top, &note), (&note, &text), (&note, &button)] {
        dom::insert_before(parent, child, None);
    }
}

/// The address of a log that may be opened: a link could make this page load, and show as its own, what a stranger wrote.
pub(super) fn address_of_log(src: &str) -> Option<String> {
    location::resolve(src).filter(|it| location::is_same_origin(it))
}

/// Takes the token out of the address, so that it is in no history and no screenshot.
pub(super) fn take_token() -> Option<String> {
    let Some(token) = location::fragment("token") else {
        return tab_storage::get(TOKEN_KEY);
    };
    location::remove_from_fragment("token");
    tab_storage::set(TOKEN_KEY, Some(&token));
    Some(token)
}

/// Whether the reader has put the list away.
pub(super) fn list_is_hidden() -> bool {
    local_storage::get(HIDDEN_KEY).is_some_and(|kept| kept == "yes")
}

pub(super) fn keep_list_hidden(hidden: bool) {
    local_storage::set(HIDDEN_KEY, if hidden { "yes" } else { "no" });
}

fn element(tag: &str, class: &str) -> Element {
    let element = dom::create(tag);
    dom::write_attribute(&element, "class", class);
    element
}
