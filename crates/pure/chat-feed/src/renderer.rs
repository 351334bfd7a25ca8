//! ChatRenderer: reduces events to the feed, one at a time, and says what changed.
//!
//! Live and replay use the same door, [`ChatRenderer::apply`]. It takes any sequence of events whatever and never fails:
//! an event it cannot place is shown where it came. Order is the order of calls; what puts late events in their place is
//! the [`crate::inbox`].
//!
//! Rows are put in, changed and taken out in `rows`.

mod asked_for;
mod asks;
mod began;
mod calls;
mod check;
mod edited;
mod hues;
mod named;
mod open;
mod place;
mod replica;
mod rows;
mod rows_of_ids;
mod says;
pub(crate) mod seen;
mod set_back;
mod settled;
mod taken_back;
mod texts;
mod turns;
mod two_sources;
mod used;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chat_event::compaction::Folded;
use chat_event::{ChatEvent, Outcome, Payload, Standing, Took};

use crate::block::{BlockBody, BlockId, EventIdx, ResponseIdx, TextIdx, TurnIdx};
use crate::feed::{Feed, NO_ROW, UsageCounted};
use crate::history::History;
use crate::patch::FeedPatch;
use crate::piece::Piece;
use crate::projections::summary::usage::NewestUsage;
use crate::retries::Retries;
use crate::session::Turn;
use crate::set_backs::SetBacks;
use asked_for::AskedFor;
use asks::Ask;
pub(crate) use began::MODEL_NOTICE;
use edited::Edited;
use hues::Hues;
use open::Open;
pub use replica::{Heard, Teller};
use rows_of_ids::RowsOfIds;
use seen::{Keyed, hash_of_id};
pub(crate) use seen::{Seen, hash};
use texts::ResponseWork;
use turns::TurnWork;
use two_sources::OpenSides;

/// The one reducer of sessions.
///
/// ```
/// use chat_event::ChatEvent;
/// use chat_feed::ChatRenderer;
/// let event = ChatEvent::from_json(
///     r#"{"id":"e1","timestamp":1,"sessionId":"s","type":"assistant_chunk","payload":{"text":"Hi"}}"#,
/// ).unwrap();
/// let mut renderer = ChatRenderer::new();
/// let patches = renderer.render_event(&event);
/// assert!(!patches.is_empty());
/// assert!(renderer.render_event(&event).is_empty(), "an event seen twice changes nothing");
/// ```
#[derive(Clone, Debug, Default)]
pub struct ChatRenderer {
    feed: Feed,
    seen: Seen,
    /// Position of the event that is being applied.
    event: EventIdx,
    /// Its time.
    now_ms: Option<i64>,
    /// Its id, and a hash of that.
    event_id: String,
    id_hash: u64,
    /// What it changed so far.
    patches: Vec<FeedPatch>,
    /// Turns that it brought the first row of, and whose end came before.
    feet_due: Vec<TurnIdx>,
    turn_ids: HashMap<Box<str>, TurnIdx, Keyed>,
    /// The turn that was named last, and the response: most events name those that the event before named.
    named_turn: Option<(Box<str>, TurnIdx)>,
    named_response: Option<(Box<str>, Option<BlockId>, ResponseIdx)>,
    current_turn: Option<TurnIdx>,
    n_numbered_turns: u32,
    turn_works: Vec<TurnWork>,
    /// Turns that have rows, that have a prompt, and that are not closed.
    filled_turns: BTreeSet<TurnIdx>,
    prompted_turns: BTreeSet<TurnIdx>,
    open_turns: BTreeSet<TurnIdx>,
    response_ids: HashMap<(Box<str>, Option<BlockId>), ResponseIdx, Keyed>,
    unnamed_responses: HashMap<(TurnIdx, Option<BlockId>), ResponseIdx>,
    response_works: Vec<ResponseWork>,
    /// The numbers of parts that are not the first of their response, by their texts, ascending.
    later_parts: Vec<(TextIdx, u32)>,
    /// What was done to put chunks in their places that came late: bytes that were read again, and rows made anew.
    late_work: u64,
    calls: HashMap<Box<str>, BlockId, Keyed>,
    /// What each turn did to a file, by its path; two may be open.
    edited_in: HashMap<Box<str>, BTreeMap<TurnIdx, Edited>, Keyed>,
    asks: HashMap<(Ask, Box<str>), BlockId>,
    /// What is asked for each call, by its id, whether the call is known or not.
    asked_for: HashMap<Box<str>, AskedFor, Keyed>,
    open_sides: OpenSides,
    /// What goes on behind calls that left it to the background, by the call.
    background: BTreeMap<BlockId, Open>,
    /// Calls of which it was told how they ended there: that stands.
    ended_behind: BTreeSet<BlockId>,
    /// Open requests of no turn that are answered here: who asked waits for the answer, whatever turn ends meanwhile.
    free_asks: BTreeSet<BlockId>,
    agent_hues: Hues,
    /// The row of the session's beginning, the newest where it began again after its end.
    begun: Option<BlockId>,
    /// Whether the session ended since that was made.
    has_ended: bool,
    /// How it stands, and what of it is past.
    standing: Standing,
    /// The newest turn, by the times at which turns began.
    newest_turn: Option<TurnIdx>,
    /// Whether its folder is a guess.
    is_cwd_guessed: bool,
    /// The row an event came to, by the hash of its id: for sources that take back what they sent.
    rows_of_ids: RowsOfIds,
    /// The same of what is counted and makes no row.
    newest_usage: NewestUsage<UsageCounted>,
    /// A provider that is asked again, with the row that says so.
    retries: Option<(BlockId, Retries)>,
    /// Which turns the user went back behind, by their ids.
    set_backs: SetBacks<Box<str>, BlockId>,
    /// Nothing more is taken.
    closed: bool,
}

impl ChatRenderer {
    /// A renderer of an empty session.
    pub fn new() -> Self {
        Self::default()
    }

    /// A renderer of an empty session that keeps what was shown before, for [`crate::playback`].
    pub fn with_history() -> Self {
        let mut renderer = Self::default();
        renderer.feed.history = Some(Box::new(History::default()));
        renderer
    }

    /// What is shown.
    pub fn feed(&self) -> &Feed {
        &self.feed
    }

    /// The turn that the session is at: the last one, by the times they began at. What stands outside of turns is one, too, where
    /// the session is there.
    pub fn newest_turn(&self) -> Option<&Turn> {
        self.newest_turn.map(|turn| self.feed.turn(turn))
    }

    /// How the newest turn ended, where that was told; that the log is at its own end tells nothing of it.
    pub fn outcome(&self) -> Option<Outcome> {
        self.standing.outcome()
    }

    /// How many events were taken, those seen twice left out.
    pub fn event_count(&self) -> u32 {
        self.event
    }

    /// The row that an event came to, by the event's id; of several the last.
    pub fn block_of_id(&self, event_id: &str) -> Option<BlockId> {
        let block = self.rows_of_ids.get(hash_of_id(event_id));
        block.filter(|&block| self.feed.contains(block))
    }

    /// Takes one event; what changed is added to `patches`.
    ///
    /// One that others were folded into counts as all of them, each at its time.
    pub fn apply(&mut self, event: &ChatEvent, patches: &mut Vec<FeedPatch>) {
        debug_assert!(!self.closed, "an event came after the end");
        match Folded::of(event) {
            Some(folded) => self.apply_folded(event, &folded, patches),
            None => {
                let id_hash = hash_of_id(&event.id);
                if self.seen.hash_is_new(event, id_hash) {
                    self.apply_new(event, (&event.id, id_hash), patches);
                }
            }
        }
    }

    fn apply_folded(
        &mut self,
        survivor: &ChatEvent,
        folded: &Folded<'_>,
        patches: &mut Vec<FeedPatch>,
    ) {
        // What stands before it in the log came with it, or before.
        if self.seen.is_seen(survivor) {
            return;
        }
        let survivor_id = (survivor.id.as_str(), hash_of_id(&survivor.id));
        for event in folded.events() {
            let id_hash = hash_of_id(&event.id);
            if event.id.is_empty() {
                // Of those without a name nothing is known beside their place before the survivor; a link to it leads there.
                self.apply_new(&event, survivor_id, patches);
            } else if self.seen.hash_is_new(&event, id_hash) {
                self.apply_new(&event, (&event.id, id_hash), patches);
            }
        }
    }

    fn apply_new(
        &mut self,
        event: &ChatEvent,
        (id, id_hash): (&str, u64),
        patches: &mut Vec<FeedPatch>,
    ) {
        self.event_id.clear();
        self.event_id.push_str(id);
        self.id_hash = id_hash;
        self.now_ms = self.time_of(event);
        self.feed.rows_of_events.push(NO_ROW);
        if let Some(history) = &mut self.feed.history {
            history.begin(self.event, self.now_ms.filter(|_| !event.is_control()));
        }
        self.note_time(event);
        let took = self.standing.take(event);
        self.perform(event, took);
        self.note_standing(event, took);
        for turn in std::mem::take(&mut self.feet_due) {
            self.foot_comes(turn);
        }
        self.feed.note_history(&self.patches);
        self.event += 1;
        patches.append(&mut self.patches);
    }

    /// Takes one event and returns what changed.
    pub fn render_event(&mut self, event: &ChatEvent) -> Vec<FeedPatch> {
        let mut patches = Vec::new();
        self.apply(event, &mut patches);
        patches
    }

    /// Begins again with the events of a log.
    pub fn replay_events<'e>(
        &mut self,
        events: impl IntoIterator<Item = &'e ChatEvent>,
    ) -> Vec<FeedPatch> {
        *self = match self.feed.history {
            Some(_) => Self::with_history(),
            None => Self::new(),
        };
        let mut patches = vec![FeedPatch::Clear];
        for event in events {
            self.apply(event, &mut patches);
        }
        patches
    }

    /// Takes an event that came live: the same as [`Self::render_event`], under the name its callers look for.
    pub fn handle_new_event(&mut self, event: &ChatEvent) -> Vec<FeedPatch> {
        self.render_event(event)
    }

    /// The log is at its end and nothing more will come: whatever still runs is shown as stopped.
    pub fn end_of_log(&mut self, patches: &mut Vec<FeedPatch>) {
        if self.closed {
            return;
        }
        if let Some(history) = &mut self.feed.history {
            history.begin(self.event, None);
        }
        self.close_all_turns();
        if let (None, Some(turn)) = (self.feed.session.outcome, self.newest_turn) {
            self.feed.session.outcome = Some(self.feed.turn(turn).state);
            self.session_changed();
        }
        self.feed.note_history(&self.patches);
        patches.append(&mut self.patches);
    }

    /// Gives up what is needed only to take more events: none come.
    ///
    /// A million events' ids take 20 MB.
    pub fn close(&mut self) {
        *self = ChatRenderer {
            feed: std::mem::take(&mut self.feed),
            event: self.event,
            now_ms: self.now_ms,
            rows_of_ids: std::mem::take(&mut self.rows_of_ids),
            standing: std::mem::take(&mut self.standing),
            newest_turn: self.newest_turn,
            closed: true,
            ..ChatRenderer::default()
        };
        self.rows_of_ids.settle();
    }

    /// Does what the event says.
    ///
    /// What is done for a type of event is not inlined: a browser compiles functions whole, as they are first called and again as
    /// they turn out to be called often. As one function of 52 KB the second time took 0.2 s, beside the 0.6 s that 100,000 events take.
    fn perform(&mut self, event: &ChatEvent, took: Took) {
        if let Payload::AssistantChunk(_)
        | Payload::AssistantDone(_)
        | Payload::ThinkingChunk(_)
        | Payload::ThinkingDone(_)
        | Payload::ToolCall(_) = &event.payload
        {
            self.work_begins(event, took);
        }
        let mut retried = None;
        if self.retries.is_some() && Retries::end_with(&event.payload) {
            retried = self.retries_end();
        }
        match &event.payload {
            Payload::TurnStart(start) => self.turn_start(event, start),
            Payload::TurnEnd(end) => self.turn_end(event, end),
            Payload::UserMessage(message) => self.user_message(event, message),
            Payload::UserAudio(audio) => self.user_audio(event, audio),
            Payload::AssistantChunk(chunk) => {
                let piece = Piece::chunk(&chunk.text, chunk.part, chunk.index);
                self.text(event, piece, false);
            }
            Payload::AssistantDone(done) => {
                self.text(event, Piece::done(&done.text, done.part), false);
            }
            Payload::ThinkingChunk(chunk) => {
                let piece = Piece::chunk(&chunk.text, chunk.part, chunk.index);
                self.text(event, piece, true);
            }
            Payload::ThinkingDone(done) => {
                let mut piece = Piece::done(&done.text, done.part);
                piece.redacted = done.redacted.unwrap_or_default();
                self.text(event, piece, true);
            }
            Payload::ToolCall(call) => self.tool_call(event, call, took.is_past),
            Payload::ToolInputChunk(chunk) => self.tool_input_chunk(event, chunk),
            Payload::ToolOutputChunk(chunk) => self.tool_output_chunk(event, chunk),
            Payload::ToolResult(result) => self.tool_result(event, result),
            Payload::FileEdit(edit) => self.file_edit(event, edit),
            Payload::AgentMessage(message) => self.agent_message(event, message),
            Payload::AgentCallback(callback) => self.agent_callback(event, callback),
            Payload::PermissionRequest(request) => self.permission_request(event, request),
            Payload::PermissionResolved(resolved) => self.permission_resolved(event, resolved),
            Payload::QuestionRequest(request) => self.question_request(event, request),
            Payload::QuestionResolved(resolved) => self.question_resolved(event, resolved),
            Payload::Interrupt(interrupt) => self.interrupt(event, interrupt),
            Payload::ErrorEvent(error) => self.error(event, error, retried),
            Payload::Plan(plan) => self.plan(event, plan),
            Payload::Progress(progress) => self.progress(event, progress),
            Payload::AudioChunk(chunk) => self.audio_chunk(event, chunk),
            Payload::AudioDone(done) => {
                self.audio(event, 0, Some(done.duration_ms));
            }
            Payload::SessionStart(start) => self.session_start(event, start, took),
            Payload::SessionEnd(end) => self.session_end(event, end, took),
            Payload::SessionStatus(status) => self.session_status(event, status),
            Payload::Usage(usage) => self.usage(event, usage),
            Payload::Retract(retract) => self.retract(retract),
            Payload::LogGap(gap) => self.log_gap(event, gap),
            Payload::AgentSwitch(switch) => self.row(event, BlockBody::AgentSwitch(switch.clone())),
            Payload::Compaction(told) => {
                // What is in the window now is told by what comes next. A sub-agent's is another one.
                if event.parent_tool_call_id.is_none() {
                    self.feed.context.used = None;
                }
                self.row(event, BlockBody::Compaction(told.clone()));
            }
            Payload::Notice(notice) => self.notice(event, notice),
            Payload::Raw(raw) => self.raw(event, raw.format.clone(), &raw.value),
            Payload::Unknown { event_type, value } => {
                self.raw(event, format!("unknown event {event_type}"), value);
            }
            Payload::Malformed {
                event_type,
                value,
                reason,
            } => self.raw(event, format!("malformed {event_type}: {reason}"), value),
            Payload::LogStart(start) => self.log_start(start),
            // What a log says about itself is not part of the session.
            Payload::LogEpoch(_) | Payload::LogEnd(_) => {}
        }
    }
}
