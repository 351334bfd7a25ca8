//! The seam between the pure feed and the page: owns the renderer and the arrangement of its rows, gathers what changed,
//! and lets the page know once a frame. One signal a mounted row; the text of a growing row goes to its text node and
//! past the signals.
//!
//! What the rows stand for and how they are arranged is in [`rows`], what those that are mounted hear in [`mounted`], what
//! is looked for in [`finding`]. Which moment of the session is shown is kept in [`moments`]. How a row looks, and which
//! rows are mounted, is for others.

mod finding;
mod moments;
mod mounted;
mod rows;

use std::cell::{Ref, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use chat_event::pack::Broken;
use chat_event::{ChatEvent, Outcome};
use chat_feed::arrangement::{Arrangement, RowChange};
use chat_feed::find::Find;
use chat_feed::playback::Moment;
use chat_feed::viewport::RowId;
use chat_feed::{BlockId, ChatRenderer, Feed, FeedPatch, Gathered, Heard};
use leptos::prelude::*;

use finding::TellFind;
use mounted::Mounted;
pub(crate) use mounted::TextSink;

/// The state of one session's feed.
pub(crate) struct FeedStore {
    renderer: RefCell<ChatRenderer>,
    /// While another renderer tells this one what to show: events that came from elsewhere and wait for it to be done.
    hearing: RefCell<Option<Vec<ChatEvent>>>,
    /// What is shown in place of the newest state, while the reader looks back.
    moment: RefCell<Option<Moment>>,
    playing: moments::Playing,
    arrangement: RefCell<Arrangement>,
    patches: RefCell<Vec<FeedPatch>>,
    /// What the arrangement and the mounted rows have yet to hear of.
    gathered: RefCell<Gathered>,
    /// What the page has yet to hear of, beside what the arrangement will say.
    changes: RefCell<Vec<RowChange>>,
    mounted: RefCell<HashMap<RowId, Mounted>>,
    shown_whole: RefCell<BTreeMap<BlockId, bool>>,
    /// What is looked for, while anything is.
    find: Rc<RefCell<Option<Find>>>,
    tell_find: RefCell<Option<TellFind>>,
    /// Counts up when the session's facts, or a turn's, changed.
    facts: ArcRwSignal<u32>,
    on_dirty: RefCell<Box<dyn Fn()>>,
    on_events: RefCell<Box<dyn Fn()>>,
}

impl FeedStore {
    /// An empty feed.
    pub(crate) fn new() -> FeedStore {
        FeedStore {
            renderer: RefCell::new(ChatRenderer::with_history()),
            hearing: RefCell::default(),
            moment: RefCell::default(),
            playing: moments::Playing::default(),
            arrangement: RefCell::default(),
            patches: RefCell::default(),
            gathered: RefCell::default(),
            changes: RefCell::default(),
            mounted: RefCell::default(),
            shown_whole: RefCell::default(),
            find: Rc::default(),
            tell_find: RefCell::default(),
            facts: ArcRwSignal::new(0),
            on_dirty: RefCell::new(Box::new(|| {})),
            on_events: RefCell::new(Box::new(|| {})),
        }
    }

    /// What to call when there is something to flush: what somebody did, or events that came.
    pub(crate) fn on_dirty(&self, act: impl Fn() + 'static, events: impl Fn() + 'static) {
        *self.on_dirty.borrow_mut() = Box::new(act);
        *self.on_events.borrow_mut() = Box::new(events);
    }

    /// Takes events in the log's order.
    pub(crate) fn apply<'e>(&self, events: impl IntoIterator<Item = &'e ChatEvent>) {
        if let Some(waiting) = &mut *self.hearing.borrow_mut() {
            return waiting.extend(events.into_iter().cloned());
        }
        let mut patches = self.patches.take();
        {
            let mut renderer = self.renderer.borrow_mut();
            for event in events {
                renderer.apply(event, &mut patches);
            }
        }
        self.note_live(patches);
    }

    /// Takes what another renderer made of events that this one has not seen: `hear` takes it.
    pub(crate) fn hear(
        &self,
        hear: impl FnOnce(&mut ChatRenderer, &mut Vec<FeedPatch>) -> Result<Heard, Broken>,
    ) -> Result<(), Broken> {
        let mut patches = self.patches.take();
        // Of what could not be read nothing is told: who hears of that begins again with nothing.
        let heard = hear(&mut self.renderer.borrow_mut(), &mut patches)?;
        self.note_live(patches);
        match heard {
            Heard::More => {
                self.hearing.borrow_mut().get_or_insert_default();
            }
            Heard::All => {
                let waiting = self.hearing.take();
                self.apply(waiting.iter().flatten());
            }
        }
        Ok(())
    }

    /// The log is at its end: what still waited for its other half is shown as it is.
    pub(crate) fn end_of_log(&self) {
        let mut patches = self.patches.take();
        let mut renderer = self.renderer.borrow_mut();
        renderer.end_of_log(&mut patches);
        renderer.close();
        drop(renderer);
        self.note_live(patches);
    }

    /// Begins again with nothing.
    pub(crate) fn clear(&self) {
        *self.renderer.borrow_mut() = ChatRenderer::with_history();
        self.hearing.take();
        self.forget_moments();
        self.shown_whole.borrow_mut().clear();
        self.note(&mut vec![FeedPatch::Clear]);
    }

    /// Asks for a frame, as if something had changed.
    pub(crate) fn ask_frame(&self) {
        (self.on_dirty.borrow())();
    }

    /// What is shown: the newest state, or that of the moment the reader looks at.
    pub(crate) fn feed(&self) -> Ref<'_, Feed> {
        Ref::filter_map(self.moment.borrow(), |moment| {
            moment.as_ref().map(Moment::feed)
        })
        .unwrap_or_else(|_| Ref::map(self.renderer.borrow(), ChatRenderer::feed))
    }

    /// How the newest turn ended, where that was told: `completed`, `interrupted` or `failed`; whatever moment is shown.
    pub(crate) fn outcome(&self) -> Option<&'static str> {
        self.renderer.borrow().outcome().map(Outcome::as_str)
    }

    /// Events taken so far.
    pub(crate) fn event_count(&self) -> u32 {
        self.renderer.borrow().event_count()
    }

    /// Counts up when the session's facts, or a turn's, changed.
    pub(crate) fn facts(&self) -> ArcRwSignal<u32> {
        self.facts.clone()
    }

    fn note(&self, patches: &mut Vec<FeedPatch>) {
        if let Some(tell) = &*self.tell_find.borrow() {
            tell(&self.feed(), patches);
        }
        self.gathered.borrow_mut().take_from(patches);
        // The buffer is kept: a chunk of a log makes thousands of patches.
        self.patches.replace(std::mem::take(patches));
        (self.on_events.borrow())();
    }

    /// The row that a link names.
    pub(crate) fn block_named(&self, name: &str) -> Option<BlockId> {
        let block = self.renderer.borrow().block_named(name);
        block.filter(|&block| self.feed().contains(block))
    }

    /// The row that an event came to, by the event's id.
    pub(crate) fn block_of_id(&self, event_id: &str) -> Option<BlockId> {
        let block = self.renderer.borrow().block_of_id(event_id);
        block.filter(|&block| self.feed().contains(block))
    }
}
