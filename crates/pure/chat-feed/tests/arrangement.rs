//! Which rows are shown, told by example; and the laws: the changes build the list, however the events come.
//! One file: all of it is asked of the same few made sessions by the same few words.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::{ChatEvent, Payload};
use chat_feed::arrangement::{Arrangement, CompanyKind, Mode, Row, RowChange, Thinking, Verbosity};
use chat_feed::viewport::{HeightIndex, RowId};
use chat_feed::{BlockBody, ChatRenderer, Feed, FeedPatch};
use proptest::prelude::*;
use serde_json::{Value, json};

mod folding;
mod groups;
mod laws;
mod modes;
mod stands_for;

/// A feed, its arrangement, and the list that the changes build.
struct Shown {
    renderer: ChatRenderer,
    arrangement: Arrangement,
    list: Vec<RowId>,
    /// What each row of the list showed when it was last drawn.
    drawn: BTreeMap<u32, String>,
    heights: HeightIndex,
    log: Vec<ChatEvent>,
    /// Whether events say when they were.
    timed: bool,
}

impl Shown {
    fn new(mode: Mode) -> Shown {
        Shown {
            renderer: ChatRenderer::new(),
            arrangement: Arrangement::new(mode),
            list: Vec::new(),
            drawn: BTreeMap::new(),
            heights: HeightIndex::new(),
            log: Vec::new(),
            timed: true,
        }
    }

    fn apply(&mut self, events: &[ChatEvent]) {
        let mut patches: Vec<FeedPatch> = Vec::new();
        for event in events {
            self.renderer.apply(event, &mut patches);
        }
        let mut changes = Vec::new();
        self.arrangement
            .apply(self.renderer.feed(), &patches, &mut changes);
        // Text that grew is no news of the arrangement: the page takes it from the patch.
        for patch in &patches {
            if let FeedPatch::AppendText { block, .. } = patch {
                let row = self.arrangement.id_of(Row::Block(*block));
                changes.extend(row.map(RowChange::Changed));
            }
        }
        self.take(&changes);
    }

    /// What a row shows, in words that change where it does.
    fn draw(&self, id: RowId) -> String {
        let feed = self.feed();
        let (turn, said) = match self.arrangement.row(id) {
            Row::Block(block) => {
                let said = format!("{:?} {}", feed.block(block).body, feed.text(block));
                (feed.block(block).turn, said)
            }
            Row::Company(head) => {
                let said = format!("{:?}", self.arrangement.company(feed, head));
                (feed.block(head).turn, said)
            }
            Row::Work(turn) => (turn, format!("{:?}", self.arrangement.work(turn))),
        };
        format!("{said} {}", feed.turn(turn).is_undone())
    }

    fn take(&mut self, changes: &[RowChange]) {
        let mut anew = BTreeSet::new();
        for change in changes {
            match *change {
                RowChange::Inserted(id, after) => {
                    let at = after.map_or(0, |after| self.position(after) + 1);
                    assert!(!self.list.contains(&id), "{id:?} is there already");
                    self.list.insert(at, id);
                    assert!(self.heights.insert_after(after, id, 20.0));
                    anew.insert(id.0);
                }
                RowChange::Removed(id) => {
                    let at = self.position(id);
                    self.list.remove(at);
                    self.heights.remove(id);
                    self.drawn.remove(&id.0);
                }
                // It may be gone by the end of the frame, and is not looked at before.
                RowChange::Changed(id) => {
                    anew.insert(id.0);
                }
                RowChange::Cleared => {
                    self.list.clear();
                    self.drawn.clear();
                    self.heights.clear();
                }
            }
        }
        let shown: Vec<Row> = self.arrangement.shown(self.feed()).collect();
        let list: Vec<Row> = self
            .list
            .iter()
            .map(|&id| self.arrangement.row(id))
            .collect();
        assert_eq!(list, shown);
        assert_eq!(self.heights.len(), list.len());
        self.heights.check().unwrap();
        for id in self.list.clone() {
            let now = self.draw(id);
            if anew.contains(&id.0) {
                self.drawn.insert(id.0, now);
            } else {
                assert_eq!(self.drawn.get(&id.0), Some(&now), "{id:?} shows what was");
            }
        }
    }

    fn position(&self, id: RowId) -> usize {
        let at = self.list.iter().position(|&row| row == id);
        at.unwrap_or_else(|| panic!("{id:?} is not in the list"))
    }

    fn feed(&self) -> &Feed {
        self.renderer.feed()
    }

    fn event(&mut self, event_type: &str, turn: &str, parent: Option<&str>, payload: Value) {
        let nth = self.log.len() + 1;
        let mut event = ChatEvent::new(
            format!("e{nth}"),
            1_000 * i64::try_from(nth).unwrap(),
            "s",
            Payload::from_json(event_type, payload.into()),
        );
        event.timestamp = event.timestamp.filter(|_| self.timed);
        event.turn_id = Some(turn.to_owned());
        event.parent_tool_call_id = parent.map(str::to_owned);
        self.apply(std::slice::from_ref(&event));
        self.log.push(event);
    }

    fn call(&mut self, id: &str, tool: &str, parent: Option<&str>) {
        let payload = json!({"toolCallId": id, "toolName": tool, "args": {"file_path": id}});
        self.event("tool_call", "t1", parent, payload);
    }

    fn result(&mut self, id: &str, failed: bool) {
        let error = failed.then(|| json!({"message": "no"}));
        let payload = json!({"toolCallId": id, "result": "done", "error": error});
        self.event("tool_result", "t1", None, payload);
    }

    fn step(&mut self, id: &str, tool: &str) {
        self.call(id, tool, None);
        self.result(id, false);
    }

    /// A step that another source tells late.
    fn step_at(&mut self, at_ms: i64, id: &str, tool: &str) {
        let call = json!({"toolCallId": id, "toolName": tool, "args": {}});
        let result = json!({"toolCallId": id, "result": "done"});
        for (event_type, payload) in [("tool_call", call), ("tool_result", result)] {
            let payload = Payload::from_json(event_type, payload.into());
            let id = format!("e{}", self.log.len() + 1);
            let mut event = ChatEvent::new(id, at_ms, "s", payload);
            event.turn_id = Some("t1".to_owned());
            self.apply(std::slice::from_ref(&event));
            self.log.push(event);
        }
    }

    fn edit(&mut self, call: &str, path: &str) {
        let payload = json!({"toolCallId": call, "filePath": path, "changeType": "modified", "linesAdded": 2, "linesRemoved": 1, "diffPreview": "+a", "fullDiffAvailable": false, "fullDiffSize": 0});
        self.event("file_edit", "t1", None, payload);
    }

    fn prompt(&mut self) {
        self.event("turn_start", "t1", None, json!({"trigger": "user"}));
        self.event("user_message", "t1", None, json!({"text": "please"}));
    }

    fn answer(&mut self) {
        self.event("assistant_done", "t1", None, json!({"text": "Done."}));
        self.event("turn_end", "t1", None, json!({"outcome": "completed"}));
    }

    fn set_open(&mut self, row: Row, open: bool) {
        let mut changes = Vec::new();
        self.arrangement
            .set_open(self.renderer.feed(), row, open, &mut changes);
        self.take(&changes);
    }

    /// The rows as words.
    fn words(&self) -> Vec<String> {
        let feed = self.feed();
        let word = |row| match row {
            Row::Work(turn) => {
                let work = self.arrangement.work(turn).unwrap();
                format!("work of {} steps", work.steps)
            }
            Row::Company(head) => {
                let company = self.arrangement.company(feed, head).unwrap();
                match company.kind {
                    CompanyKind::Explored { files, searches } => {
                        format!("explored {files} + {searches}")
                    }
                    CompanyKind::Edited {
                        file_path,
                        lines_added,
                        ..
                    } => format!("{file_path}: {} edits, +{lines_added}", company.members),
                    CompanyKind::Failed { tool_name, why } => {
                        format!("{} × {tool_name}: {why}", company.members)
                    }
                    CompanyKind::Parallel => format!("{} in parallel", company.members),
                }
            }
            Row::Block(id) => match &feed.block(id).body {
                BlockBody::ToolCall(call) => format!("{} {}", call.tool_name, call.tool_call_id),
                BlockBody::FileEdit(edit) => format!("changed {}", edit.edit.file_path),
                BlockBody::Prompt(_) => "prompt".to_owned(),
                BlockBody::Text(_) => "text".to_owned(),
                BlockBody::Thinking(_) => "thinking".to_owned(),
                BlockBody::TurnEnd(_) => "end".to_owned(),
                BlockBody::Permission(_) => "permission".to_owned(),
                other => format!("{other:?}"),
            },
        };
        self.arrangement.shown(feed).map(word).collect()
    }
}
