//! All who say how a session stands, side by side, held against one another with each event.

use std::sync::Arc;

use chat_event::ChatEvent;
use chat_feed::panel::statistics;
use chat_feed::projections::trace::{ToolTrace, Verbosity};
use chat_feed::projections::{SessionOutcome, SessionSummarizer};
use chat_feed::{BlockBody, ChatRenderer, TurnState};
use chat_store::{Options, Session, SessionId, Store, Summary, SyncPolicy};

/// When a file is read that says nothing of when its events came.
const LONG_AFTER_MS: i64 = 4_102_444_800_000;

/// All who say how one session stands.
pub(super) struct Everywhere {
    pub(super) list: Arc<Session>,
    pub(super) feed: ChatRenderer,
    summary: SessionSummarizer,
    trace: ToolTrace,
    said: String,
    _store: (Store, tempfile::TempDir),
}

impl Everywhere {
    pub(super) fn of(session_id: &str) -> Everywhere {
        let id = SessionId::parse(session_id).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            sync: SyncPolicy::Never,
            ..Options::default()
        };
        let store = Store::open(dir.path(), options).unwrap();
        Everywhere {
            list: store.session_or_new(&id).unwrap(),
            feed: ChatRenderer::new(),
            summary: SessionSummarizer::new(),
            trace: ToolTrace::new(Verbosity::Normal),
            said: String::new(),
            _store: (store, dir),
        }
    }

    /// Takes the next event, and holds them against one another.
    pub(super) fn take(&mut self, event: &ChatEvent, what: &dyn std::fmt::Display) {
        self.feed.render_event(event);
        self.summary.push(event);
        self.trace.push(event, &mut Vec::new());
        let recv_ms = event.recv.unwrap_or(LONG_AFTER_MS);
        self.list
            .append(vec![event.clone()], false, recv_ms)
            .unwrap();
        let row = self.list.summary();
        let (status, outcome) = (row.status.as_str(), row.outcome.as_deref());
        let kind = event.payload.event_type();
        let at = format!(
            "{what}: after a {kind} {:?}: {status} {outcome:?}",
            event.id
        );

        let session = self.feed.feed().session();
        let head = session.outcome.map(word);
        assert_eq!(session.status.as_deref().unwrap_or("idle"), status, "{at}");
        assert_eq!(head, outcome, "{at}");
        assert_eq!(session.ended.is_some(), status == "ended", "{at}");
        self.hold_what_is_open(&row, &at);
        let works = matches!(status, "busy" | "retrying");
        if let Some(newest) = self.feed.newest_turn() {
            let state = newest.state;
            assert_eq!(state, session.outcome.unwrap_or(TurnState::Running), "{at}");
        }
        // What is shown of all that runs costs as much as the session is long: that it says the same between changes follows.
        let said = format!("{status} {outcome:?}");
        if said == self.said {
            return;
        }
        self.said = said;
        if let Some(newest) = self.feed.newest_turn().filter(|turn| turn.number > 0) {
            let panel = statistics(self.feed.feed());
            let of_newest = panel.turns.iter().find(|turn| turn.number == newest.number);
            let runs = works && newest.state == TurnState::Running;
            assert_eq!(of_newest.unwrap().runs, runs, "{at}");
        }
        let summary = match self.summary.summary().outcome {
            Some(SessionOutcome::Running) | None => None,
            Some(SessionOutcome::Completed) => Some("completed"),
            Some(SessionOutcome::Interrupted) => Some("interrupted"),
            Some(SessionOutcome::Failed) => Some("failed"),
        };
        assert_eq!(summary, outcome, "{at}");
        let running = self.trace.running();
        if works {
            assert!(!running.is_empty(), "{at}");
        }
        if status == "ended" {
            assert_eq!(running, [], "{at}");
        }
    }
}

impl Everywhere {
    /// What waits and what runs now, and since when: in proportion to what is open.
    fn hold_what_is_open(&self, row: &Summary, at: &str) {
        let feed = self.feed.feed();
        let first = self.feed.asks_that_wait().min();
        assert_eq!(row.asks, self.feed.waiting_asks(), "asks, {at}");
        let since_ms = first.map(|first| feed.block(first).at_ms);
        let told = row.ask.as_ref().map(|ask| ask.since_ms);
        assert_eq!(told, since_ms, "the first ask, {at}");
        let calls = self.feed.calls_that_run();
        let calls = calls.filter_map(|id| match &feed.block(id).body {
            // One that is still being written, or of which only a sub-agent was heard, does nothing yet.
            BlockBody::ToolCall(call) if feed.contains(id) && call.args_event.is_some() => {
                Some((id, (&*call.tool_name, call.runs_since_ms())))
            }
            _ => None,
        });
        let newest = calls.max_by_key(|(id, _)| *id).map(|(_, call)| call);
        let told = row.doing.as_ref();
        let told = told.map(|doing| (&*doing.tool, doing.since_ms));
        assert_eq!(told, newest, "what runs, {at}");
    }
}

fn word(state: TurnState) -> &'static str {
    match state {
        TurnState::Running => "running",
        TurnState::Completed => "completed",
        TurnState::Interrupted => "interrupted",
        TurnState::Failed => "failed",
    }
}
