//! What ends while the reader follows, said politely: one sentence each, a few seconds apart, and the answer once it is
//! whole. The streaming text itself is silent. What waits for the reader, and errors, are said at once, wherever the
//! reader is.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use chat_event::gist::gist;
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

/// Of an answer so much is said at a turn's end, and of a paragraph where all of them are.
const ANSWER_CHARS: usize = 300;
const PARAGRAPH_CHARS: usize = 2_000;

/// How much is said, by the words of the attribute `announce`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Announced {
    /// Nothing.
    Off,
    /// What ended, and how an answer begins.
    #[default]
    Summary,
    /// Each step, and all of an answer.
    Full,
}

impl Announced {
    /// What is said of it; what is not known says nothing.
    pub(crate) fn of(word: Option<&str>) -> Announced {
        match word {
            Some("off" | "false") => Announced::Off,
            Some("full") => Announced::Full,
            _ => Announced::Summary,
        }
    }
}

/// Speaks through a live region.
pub(crate) struct Announcer {
    announced: Cell<Announced>,
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
            announced: Cell::default(),
            region,
            alert,
            running: RefCell::default(),
            waiting: RefCell::default(),
            busy: Cell::new(false),
        })
    }

    /// Says so much from now on.
    pub(crate) fn set(&self, announced: Announced) {
        self.announced.set(announced);
        if announced == Announced::Off {
            self.waiting.borrow_mut().clear();
            self.say_nothing();
        }
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
        self.say_nothing();
    }

    fn say_nothing(&self) {
        for region in [&self.region, &self.alert] {
            region.set_text_content(None);
        }
    }

    /// Hears of a new row wherever the reader is, scrolled away or at an earlier moment: where it waits for them the agent
    /// stands still, and so it may where something went wrong.
    pub(crate) fn alert(&self, block: &Block) {
        if self.announced.get() == Announced::Off {
            return;
        }
        if let Some(sentence) = needs_you(block).or_else(|| went_wrong(block)) {
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
            BlockBody::Text(_) if self.announced.get() != Announced::Full => None,
            BlockBody::Text(text) if text.streaming => {
                self.running.borrow_mut().insert(id);
                None
            }
            BlockBody::Text(_) => {
                let came = self.running.borrow_mut().remove(&id) || is_new;
                let is_said = speaks && came && feed.block(block).depth == 0;
                is_said.then(|| words_of(&feed.text(block)))
            }
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
            BlockBody::TurnEnd(_) if is_new => Some(match self.announced.get() {
                Announced::Full => "Turn finished".to_owned(),
                Announced::Off | Announced::Summary => finished(feed, block),
            }),
            _ => None,
        }
    }

    fn say(self: &Rc<Self>, sentence: String) {
        if self.announced.get() == Announced::Off {
            return;
        }
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
                let most = match this.announced.get() {
                    Announced::Full => sentences.len(),
                    Announced::Off | Announced::Summary => MOST_SENTENCES,
                };
                this.region
                    .set_text_content(Some(&together(&sentences, most)));
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

/// The words of a paragraph, a list or a piece of code.
fn words_of(text: &str) -> String {
    let mut words = String::new();
    for line in text.lines() {
        let room = PARAGRAPH_CHARS.saturating_sub(words.len());
        if room == 0 {
            break;
        }
        let line = gist(line, room);
        if !words.is_empty() && !line.is_empty() {
            words.push(' ');
        }
        words.push_str(&line);
    }
    words
}

/// What went wrong, of an error.
fn went_wrong(block: &Block) -> Option<String> {
    match &block.body {
        BlockBody::Error { message, .. } => {
            Some(format!("Error: {}", units::first_line(message, 120)))
        }
        _ => None,
    }
}

/// That a turn ended, and how its answer begins.
fn finished(feed: &Feed, end: BlockId) -> String {
    let turn = feed.block(end).turn;
    let before = std::iter::successors(feed.prev(end), |&id| feed.prev(id));
    let mut answer = before.take_while(|&id| {
        let block = feed.block(id);
        block.turn == turn && block.depth == 0 && matches!(block.body, BlockBody::Text(_))
    });
    let first = answer.next().map(|last| answer.last().unwrap_or(last));
    let words = first.map(|first| gist(&feed.text(first), ANSWER_CHARS));
    match words.filter(|words| !words.is_empty()) {
        Some(words) => format!("Turn finished. {words}"),
        None => "Turn finished".to_owned(),
    }
}

/// The newest sentences, and how many there were before them.
fn together(sentences: &[String], most: usize) -> String {
    let n_before = sentences.len().saturating_sub(most);
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
