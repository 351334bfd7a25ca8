//! Which moment of the session is shown, and what moves it.
//!
//! While the reader looks back, what comes goes into the renderer and its history and is not shown; on the way from one
//! moment to another the rows hear of what changed by the same patches as live.

use std::cell::{Cell, RefCell};

use chat_feed::playback::{Clock, Command, Moment, Named, Player, State, Stops, Typed};
use chat_feed::{Block, FeedPatch};
use leptos::prelude::*;

use super::FeedStore;

/// The player of a store.
pub(super) struct Playing {
    player: RefCell<Player>,
    stops: RefCell<Stops>,
    /// What is shown, as far as it was told.
    told: Cell<Option<Told>>,
    /// Counts up when the player stands elsewhere, or something came.
    moved: ArcRwSignal<u32>,
    /// Counts up when somebody goes to another moment by hand.
    n_seeks: Cell<u32>,
    on_unseen: RefCell<TellUnseen>,
}

/// Hears of a row that came and is not shown.
type TellUnseen = Box<dyn Fn(&Block)>;

/// What the page knows of the player.
#[derive(Clone, Copy, PartialEq)]
struct Told {
    n_known: u32,
    /// How many events are shown, where it is a moment at all, and what is typed of the next.
    shown: Option<u32>,
    typed: Option<Typed>,
    state: State,
    moves: bool,
    /// While it moves, how far it has played: the clock goes on also where nothing happens.
    played: Option<u64>,
}

/// So often the page hears of a player that moves while nothing happens.
const CLOCK_MS: f64 = 250.0;

impl Default for Playing {
    fn default() -> Self {
        Playing {
            player: RefCell::default(),
            stops: RefCell::default(),
            told: Cell::default(),
            moved: ArcRwSignal::new(0),
            n_seeks: Cell::new(0),
            on_unseen: RefCell::new(Box::new(|_| {})),
        }
    }
}

impl FeedStore {
    /// Does what is asked of the player, and shows the moment it stands at.
    pub(crate) fn play(&self, command: Command) {
        // To stay with the newest leads nowhere.
        let is_seek = match command {
            Command::Play | Command::Toggle => false,
            Command::Live => self.looks_back(),
            command => command.moves(),
        };
        let n_seeks = &self.playing.n_seeks;
        n_seeks.set(n_seeks.get().wrapping_add(is_seek.into()));
        self.place(command);
    }

    /// The same where nobody goes there by hand: on the way to something else.
    pub(crate) fn place(&self, command: Command) {
        self.follow_session();
        let stops = self.playing.stops.borrow();
        self.playing.player.borrow_mut().perform(command, &stops);
        drop(stops);
        self.show_moment();
        // Its speed may be another one though the moment is the same.
        self.tell_moved();
        self.ask_frame();
    }

    /// Says whether more may come of the session.
    pub(crate) fn set_goes_on(&self, goes_on: bool) {
        self.follow_session();
        self.playing.player.borrow_mut().set_goes_on(goes_on);
        self.show_moment();
        self.ask_frame();
    }

    /// Says whether more is known to come.
    pub(crate) fn set_more_comes(&self, more_comes: bool) {
        self.playing.player.borrow_mut().set_more_comes(more_comes);
        self.ask_frame();
    }

    /// The strip is pointed at, or is held, or let go: what it is as long as.
    pub(crate) fn on_axis(&self, change: impl FnOnce(&mut Player)) {
        change(&mut self.playing.player.borrow_mut());
        // The thumb may be at another place on it, and the strip is drawn anew.
        self.tell_moved();
        self.ask_frame();
    }

    /// Cuts idle stretches to another length; the same is shown as before.
    pub(crate) fn set_idle_limit(&self, idle_limit_ms: u64) {
        let renderer = self.renderer.borrow();
        let mut player = self.playing.player.borrow_mut();
        player.set_idle_limit(idle_limit_ms, renderer.feed());
        drop((renderer, player));
        self.tell_moved();
        self.ask_frame();
    }

    /// Names places of the session; they are markers and begin chapters.
    pub(crate) fn set_named(&self, named: Vec<Named>) {
        self.playing.stops.borrow_mut().set_named(named);
        self.follow_session();
        self.tell_moved();
        self.ask_frame();
    }

    /// Says whether texts that came whole are typed at a made-up pace.
    pub(crate) fn set_types_whole(&self, types_whole: bool) {
        let mut player = self.playing.player.borrow_mut();
        player.set_types_whole(types_whole);
    }

    /// Once a frame: goes on playing; whether there will be something else in the next.
    pub(crate) fn advance(&self, now_ms: f64) -> bool {
        self.follow_session();
        let stops = self.playing.stops.borrow();
        let goes_on = self.playing.player.borrow_mut().advance(now_ms, &stops);
        drop(stops);
        self.show_moment();
        goes_on
    }

    /// What the player says of itself.
    pub(crate) fn player<T>(&self, read: impl FnOnce(&Player) -> T) -> T {
        read(&self.playing.player.borrow())
    }

    /// The places a reader goes to.
    pub(crate) fn stops<T>(&self, read: impl FnOnce(&Stops) -> T) -> T {
        read(&self.playing.stops.borrow())
    }

    /// The whole session, whatever moment is shown.
    pub(crate) fn whole<T>(&self, read: impl FnOnce(&chat_feed::Feed, &Clock) -> T) -> T {
        let player = self.playing.player.borrow();
        read(self.renderer.borrow().feed(), player.clock())
    }

    /// How many requests wait for an answer now, whatever moment is shown.
    pub(crate) fn waiting_now(&self) -> usize {
        self.renderer.borrow().waiting_asks()
    }

    /// Counts up when the player stands elsewhere, or something came.
    pub(crate) fn moved(&self) -> ArcRwSignal<u32> {
        self.playing.moved.clone()
    }

    /// Counts up when somebody goes to another moment by hand.
    pub(crate) fn seek_count(&self) -> u32 {
        self.playing.n_seeks.get()
    }

    /// Whether a moment is shown that is not the newest.
    pub(crate) fn looks_back(&self) -> bool {
        self.moment.borrow().is_some()
    }

    /// The time of what is shown, Unix epoch in milliseconds; `None` for the newest.
    pub(crate) fn moment_ms(&self) -> Option<i64> {
        let player = self.playing.player.borrow();
        let looks_back = self.looks_back();
        looks_back
            .then(|| player.clock().wall_ms_at(player.played_ms()))
            .flatten()
    }

    /// So many events show the row that a link names; `None` where it has not come.
    pub(crate) fn events_to_show(&self, name: &str) -> Option<u32> {
        let renderer = self.renderer.borrow();
        let block = renderer.block_named(name)?;
        Some(renderer.feed().block(block).first_event + 1)
    }

    /// What to call with each row that comes while the reader looks back.
    pub(crate) fn on_unseen(&self, tell: impl Fn(&Block) + 'static) {
        *self.playing.on_unseen.borrow_mut() = Box::new(tell);
    }

    /// What came, as far as it is shown.
    pub(super) fn note_live(&self, mut patches: Vec<FeedPatch>) {
        if self.looks_back() {
            let renderer = self.renderer.borrow();
            let (feed, tell) = (renderer.feed(), self.playing.on_unseen.borrow());
            for patch in patches.drain(..) {
                if let FeedPatch::Insert { block, .. } = patch
                    && feed.contains(block)
                {
                    tell(feed.block(block));
                }
            }
        }
        self.note(&mut patches);
    }

    pub(super) fn forget_moments(&self) {
        self.moment.borrow_mut().take();
        self.playing.player.borrow_mut().forget_session();
        self.playing.stops.borrow_mut().forget_session();
        self.playing.told.set(None);
        self.tell_moved();
    }

    fn follow_session(&self) {
        let renderer = self.renderer.borrow();
        let mut stops = self.playing.stops.borrow_mut();
        let mut player = self.playing.player.borrow_mut();
        stops.follow(renderer.feed());
        player.follow(renderer.feed());
        stops.place_named(&renderer, player.clock());
    }

    fn show_moment(&self) {
        let told = {
            let player = self.playing.player.borrow();
            Told {
                n_known: player.clock().n_events(),
                shown: player.shown(),
                typed: player.typed(),
                state: player.state(),
                moves: player.moves(),
                played: player
                    .moves()
                    .then(|| (player.played_ms() / CLOCK_MS) as u64),
            }
        };
        let before = self.playing.told.replace(Some(told));
        if before == Some(told) {
            return;
        }
        let played = told.played;
        if before.is_some_and(|before| Told { played, ..before } == told) {
            return self.tell_moved();
        }
        let mut patches = Vec::new();
        {
            let renderer = self.renderer.borrow();
            let mut moment = self.moment.borrow_mut();
            match told.shown {
                Some(n_events) => {
                    let moment = moment.get_or_insert_with(|| Moment::now(&renderer));
                    match told.typed {
                        Some(typed) => moment.seek_typed(&renderer, typed, &mut patches),
                        None => moment.seek(&renderer, n_events, &mut patches),
                    }
                }
                None => {
                    if let Some(mut moment) = moment.take() {
                        moment.seek_now(&renderer, &mut patches);
                    }
                }
            }
        }
        if !patches.is_empty() {
            self.note(&mut patches);
        }
        self.tell_moved();
    }

    /// Has all that shows the player look at it again.
    pub(crate) fn tell_moved(&self) {
        self.playing
            .moved
            .update(|count| *count = count.wrapping_add(1));
    }
}
