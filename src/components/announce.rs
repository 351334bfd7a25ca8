//! What ends or fails while the reader follows, said politely: one sentence each, a few seconds apart. The streaming
//! text itself is silent. What waits for the reader is said at once, wherever the reader is.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use chat_feed::arrangement::RowChange;
use chat_feed::viewport::RowId;
use chat_feed::{Block, BlockBody, BlockId, Feed, ToolCallBlock, ToolStatus};

use super::ask::decided;
use crate::feed_store::FeedStore;
use crate::platform::dom::Element;
use crate::platform::frame;
use chat_feed::units;

/// What comes this close together is said together.
const GATHER_MS: u32 = 400;
/// The least time between two times of speaking.
const PAUSE_MS: u32 = 5_000;
/// More sentences at once are counted, not said.
const MOST_SENTENCES: usize = 3;

/// Speaks through a live region.
pub(crate) struct Announcer {
    region: Element,
    alert: Element,
    running: RefCell<BTreeSet<RowId>>,
    waiting: RefCell<Vec<String>>,
    busy: Cell<bool>,
}

impl Announcer {
    /// Speaks through these elements, live regions: politely through the one, and at once through the other.
    pub(crate) fn new(region: Element, alert: Element) -> Rc<Announcer> {
        Rc::new(Announcer {
            region,
            alert,
            running: RefCell::default(),
            waiting: RefCell::default(),
            busy: Cell::new(false),
        })
    }

    /// Hears what became of a row; where `speaks` is not set it only remembers what runs, and where the session does not go on
    /// nothing waits. A row of the `n_known` events of earlier frames is only shown again.
    pub(crate) fn note(
        self: &Rc<Self>,
        store: &FeedStore,
        change: RowChange,
        [store_is_live, speaks]: [bool; 2],
        n_known: u32,
    ) {
        let (id, is_inserted) = match change {
            RowChange::Inserted(id, _) => (id, true),
            RowChange::Changed(id) => (id, false),
            RowChange::Removed(id) => {
                self.running.borrow_mut().remove(&id);
                return;
            }
            RowChange::Cleared => {
                self.running.borrow_mut().clear();
                self.waiting.borrow_mut().clear();
                return;
            }
        };
        let feed = store.feed();
        let Some(block) = store.block_at(id).filter(|&block| feed.contains(block)) else {
            return;
        };
        let is_new = is_inserted && feed.block(block).first_event >= n_known;
        if is_new && store_is_live {
            self.alert(feed.block(block));
        }
        let is_news = [is_new, speaks && (is_new || !is_inserted)];
        if let Some(sentence) = self.sentence(&feed, id, block, is_news) {
            self.say(sentence);
        }
    }

    /// Another session: nothing is said of the one before, and what was said of it can be read nowhere.
    pub(crate) fn forget(&self) {
        self.running.borrow_mut().clear();
        self.waiting.borrow_mut().clear();
        for region in [&self.region, &self.alert] {
            region.set_text_content(None);
        }
    }

    /// Hears of a new row wherever the reader is, scrolled away or at an earlier moment: where it waits for them the agent
    /// stands still.
    pub(crate) fn alert(&self, block: &Block) {
        if let Some(sentence) = needs_you(block) {
            self.alert.set_text_content(Some(&sentence));
        }
    }

    /// What is to be said, where anything is said at all: a replay of 20,000 calls worded each of them for nobody, which
    /// was a tenth of its time.
    fn sentence(
        &self,
        feed: &Feed,
        id: RowId,
        block: BlockId,
        [is_new, speaks]: [bool; 2],
    ) -> Option<String> {
        match &feed.block(block).body {
            BlockBody::ToolCall(call) if call.status.runs() => {
                self.running.borrow_mut().insert(id);
                None
            }
            BlockBody::ToolCall(call) => {
                let ran = self.running.borrow_mut().remove(&id);
                (speaks && (ran || is_new)).then(|| ended(call))
            }
            _ if !speaks => None,
            BlockBody::Permission(ask) if !is_new => {
                let decided = decided(ask.resolved.as_ref()?);
                Some(format!("{decided}: {}", ask.request.tool_name))
            }
            BlockBody::Question(ask) if !is_new && ask.resolved.is_some() => {
                Some("The question is answered".to_owned())
            }
            BlockBody::Error { message, .. } if is_new => {
                Some(format!("Error: {}", units::first_line(message, 120)))
            }
            BlockBody::TurnEnd(_) if is_new => Some("Turn finished".to_owned()),
            _ => None,
        }
    }

    fn say(self: &Rc<Self>, sentence: String) {
        self.waiting.borrow_mut().push(sentence);
        if self.busy.replace(true) {
            return;
        }
        let this = Rc::downgrade(self);
        leptos::task::spawn_local(async move {
            frame::sleep(GATHER_MS).await;
            while let Some(this) = this.upgrade() {
                let sentences = this.waiting.take();
                if sentences.is_empty() {
                    this.busy.set(false);
                    break;
                }
                this.region.set_text_content(Some(&together(&sentences)));
                drop(this);
                frame::sleep(PAUSE_MS).await;
            }
        });
    }
}

/// What the agent waits for.
fn needs_you(block: &Block) -> Option<String> {
    match &block.body {
        body if !body.waits() => None,
        BlockBody::Permission(ask) => {
            Some(format!("{} waits for permission", ask.request.tool_name))
        }
        BlockBody::Question(ask) => {
            let question = ask.request.questions.first()?;
            let question = units::first_line(&question.text, 120);
            Some(format!("A question waits: {question}"))
        }
        _ => None,
    }
}

/// The newest sentences, and how many there were before them.
fn together(sentences: &[String]) -> String {
    let n_before = sentences.len().saturating_sub(MOST_SENTENCES);
    let said = sentences[n_before..].join(". ");
    if n_before == 0 {
        said
    } else {
        format!(
            "{} before. {said}",
            units::count(n_before as u64, "step", "steps")
        )
    }
}

/// `Bash finished, exit 1, 3.2 seconds`
fn ended(call: &ToolCallBlock) -> String {
    let verb = match call.status {
        ToolStatus::Failed => "failed",
        ToolStatus::Denied => "was denied",
        ToolStatus::Interrupted | ToolStatus::NoResult => "was stopped",
        ToolStatus::Succeeded | ToolStatus::Preparing | ToolStatus::Running => "finished",
    };
    let outcome = units::first_line(&call.headline().outcome, 60);
    let took =
        call.duration_ms
            .and_then(units::told_duration)
            .map(|took| match took.strip_suffix(" s") {
                Some(seconds) => format!("{seconds} seconds"),
                None => took,
            });
    let parts: Vec<String> = [format!("{} {verb}", call.tool_name)]
        .into_iter()
        .chain((!outcome.is_empty()).then_some(outcome))
        .chain(took)
        .collect();
    parts.join(", ")
}
