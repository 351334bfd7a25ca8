//! Which rows are shown, told by example; and the laws: the changes build the list, however the events come.
//! One file: all of it is asked of the same few made sessions by the same few words.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::{ChatEvent, Payload};
use chat_feed::arrangement::{Arrangement, CompanyKind, Mode, Row, RowChange, Verbosity};
use chat_feed::viewport::{HeightIndex, RowId};
use chat_feed::{BlockBody, ChatRenderer, Feed, FeedPatch};
use proptest::prelude::*;
use serde_json::{Value, json};

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
                    CompanyKind::Explored { reads, searches } => {
                        format!("explored {reads} + {searches}")
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
                BlockBody::TurnEnd(_) => "end".to_owned(),
                BlockBody::Permission(_) => "permission".to_owned(),
                other => format!("{other:?}"),
            },
        };
        self.arrangement.shown(feed).map(word).collect()
    }
}

#[test]
fn reads_and_searches_in_a_row_are_one_group_whose_running_member_is_seen() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.step("a", "Read");
    assert_eq!(shown.words(), ["prompt", "Read a"]);
    shown.step("b", "Grep");
    shown.call("c", "Read", None);
    assert_eq!(shown.words(), ["prompt", "explored 2 + 1", "Read c"]);
    shown.result("c", true);
    assert_eq!(shown.words(), ["prompt", "explored 2 + 1", "Read c"]);
    shown.step("d", "Bash");
    shown.step("e", "Read");
    let closed = ["prompt", "explored 2 + 1", "Read c", "Bash d", "Read e"];
    assert_eq!(shown.words(), closed);
    let head = match shown.arrangement.row(shown.list[1]) {
        row @ Row::Company(_) => row,
        other => panic!("{other:?}"),
    };
    shown.set_open(head, true);
    let opened = [
        "prompt",
        "explored 2 + 1",
        "Read a",
        "Grep b",
        "Read c",
        "Bash d",
        "Read e",
    ];
    assert_eq!(shown.words(), opened);
}

#[test]
fn a_new_member_neither_renames_nor_moves_the_header() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.step("a", "Read");
    shown.step("b", "Read");
    let header = shown.list[1];
    for nth in 0..20 {
        shown.step(&format!("r{nth}"), "Read");
        assert_eq!(shown.list[1], header);
        assert_eq!(shown.list.len(), 2);
    }
}

#[test]
fn a_changed_file_stands_for_its_call_and_changes_of_one_file_are_one_group() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("a", "Edit", None);
    assert_eq!(shown.words(), ["prompt", "Edit a"]);
    shown.result("a", false);
    shown.edit("a", "x.rs");
    assert_eq!(shown.words(), ["prompt", "changed x.rs"]);
    shown.step("b", "Edit");
    shown.edit("b", "x.rs");
    let grouped = [
        "prompt",
        "x.rs: 2 edits, +4",
        "changed x.rs",
        "changed x.rs",
    ];
    assert_eq!(shown.words(), grouped);
    shown.step("c", "Edit");
    shown.edit("c", "y.rs");
    assert_eq!(shown.words().last().unwrap(), "changed y.rs");
}

#[test]
fn edits_that_fail_of_the_same_are_one_row_that_counts_until_it_is_opened() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    for (nth, id) in ["a", "b", "c"].into_iter().enumerate() {
        shown.call(id, "Edit", None);
        assert_eq!(shown.words().last().unwrap(), &format!("Edit {id}"));
        shown.result(id, true);
        assert_eq!(shown.words().len(), 2, "{nth}: {:?}", shown.words());
    }
    assert_eq!(shown.words(), ["prompt", "3 × Edit: no"]);
    let head = shown.arrangement.row(shown.list[1]);
    shown.set_open(head, true);
    let opened = ["prompt", "3 × Edit: no", "Edit a", "Edit b", "Edit c"];
    assert_eq!(shown.words(), opened);
    // Another tool's failure is another.
    shown.call("d", "Write", None);
    shown.result("d", true);
    assert_eq!(shown.words().last().unwrap(), "Write d");
}

#[test]
fn calls_that_ran_at_the_same_time_are_marked_and_none_is_hidden() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("a", "Bash", None);
    shown.call("b", "Bash", None);
    shown.result("b", false);
    shown.result("a", false);
    shown.step("c", "Bash");
    let words = ["prompt", "2 in parallel", "Bash a", "Bash b", "Bash c"];
    assert_eq!(shown.words(), words);
}

#[test]
fn a_settled_turn_folds_its_work_and_opens_again() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.event(
        "assistant_done",
        "t1",
        None,
        json!({"text": "First I look."}),
    );
    shown.step("a", "Read");
    shown.step("b", "Read");
    shown.step("c", "Bash");
    shown.answer();
    assert_eq!(shown.words(), ["prompt", "work of 3 steps", "text", "end"]);
    let work = shown.arrangement.row(shown.list[1]);
    shown.set_open(work, true);
    let opened = [
        "prompt",
        "work of 3 steps",
        "text",
        "explored 2 + 0",
        "Bash c",
        "text",
        "end",
    ];
    assert_eq!(shown.words(), opened);
    shown.set_open(work, false);
    assert_eq!(shown.words(), ["prompt", "work of 3 steps", "text", "end"]);
}

#[test]
fn a_turn_that_does_not_say_when_it_ended_folds_as_well() {
    let mut shown = Shown::new(Mode::default());
    shown.timed = false;
    shown.prompt();
    shown.step("a", "Read");
    shown.step("b", "Bash");
    shown.answer();
    // Of its end there is nothing to tell.
    assert_eq!(shown.words(), ["prompt", "work of 2 steps", "text"]);
}

#[test]
fn hooks_and_notes_behind_an_answer_do_not_fold_it_away() {
    let hook = |shown: &mut Shown| {
        shown.event("progress", "t1", None, json!({"message": "hook Stop"}));
        let note = json!({"level": "info", "text": "hook Stop wrote"});
        shown.event("notice", "t1", None, note);
    };
    let end = |shown: &mut Shown| {
        let outcome = json!({"outcome": "completed"});
        shown.event("turn_end", "t1", None, outcome);
    };
    let says = |shown: &mut Shown, text: &str| {
        shown.event("assistant_done", "t1", None, json!({ "text": text }));
    };
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.step("a", "Read");
    shown.step("b", "Bash");
    says(&mut shown, "Done.");
    hook(&mut shown);
    end(&mut shown);
    assert_eq!(shown.words(), ["prompt", "work of 2 steps", "text", "end"]);
    let work = shown.arrangement.row(shown.list[1]);
    shown.set_open(work, true);
    assert_eq!(shown.words().len(), 8, "{:?}", shown.words());

    // Without work before the answer there is no line that could stand for them.
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    says(&mut shown, "Done.");
    hook(&mut shown);
    end(&mut shown);
    let words = shown.words();
    assert_eq!((&*words[1], words.len()), ("text", 5), "{words:?}");

    // A hook that sent the agent on: what it said before is no answer any more.
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.step("a", "Bash");
    says(&mut shown, "Done.");
    hook(&mut shown);
    says(&mut shown, "Now it is done.");
    hook(&mut shown);
    end(&mut shown);
    assert_eq!(shown.words(), ["prompt", "work of 1 steps", "text", "end"]);
}

/// As where a pipe tells the answer, and the agent's file a moment later of calls that the pipe is not told of.
#[test]
fn work_of_before_that_is_told_behind_an_answer_does_not_fold_it_away() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.step("a", "Bash");
    shown.step("b", "Bash");
    shown.answer();
    let answered_ms = shown.log[shown.log.len() - 2].timestamp.unwrap();
    shown.step_at(answered_ms - 1, "c", "Bash");
    assert_eq!(shown.words(), ["prompt", "work of 3 steps", "text", "end"]);
    let work = shown.arrangement.row(shown.list[1]);
    shown.set_open(work, true);
    assert!(
        shown.words().contains(&"Bash c".to_owned()),
        "{:?}",
        shown.words()
    );

    // What it did behind its last words is work, and so are those.
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.step("a", "Bash");
    shown.answer();
    let answered_ms = shown.log[shown.log.len() - 2].timestamp.unwrap();
    shown.step_at(answered_ms + 1, "b", "Bash");
    assert_eq!(shown.words(), ["prompt", "work of 2 steps", "end"]);
}

#[test]
fn a_plan_and_a_question_stand_for_the_calls_that_made_them() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    let todos = json!([{"content": "Read", "status": "completed"}, {"content": "Edit", "status": "in_progress"}]);
    let args = json!({"toolCallId": "a", "toolName": "TodoWrite", "args": {"todos": todos}});
    shown.event("tool_call", "t1", None, args);
    shown.result("a", false);
    let words = shown.words();
    assert_eq!(words, ["prompt", "TodoWrite a"], "there is no plan yet");
    let call = shown.feed().rows().last().unwrap();
    let BlockBody::ToolCall(call) = &call.body else {
        panic!("{call:?}");
    };
    let line = call.headline();
    let line = (&*line.verb, &*line.object, &*line.outcome);
    assert_eq!(line, ("Plan 1/2", "— now: Edit", ""));
    shown.event("plan", "t1", None, json!({"entries": todos}));
    assert_eq!(shown.words().len(), 2, "{:?}", shown.words());
    assert!(shown.words()[1].starts_with("Plan("), "{:?}", shown.words());

    shown.call("b", "AskUserQuestion", None);
    let asked = json!({"requestId": "q", "toolCallId": "b", "questions": [{"text": "Which?"}]});
    shown.event("question_request", "t1", None, asked);
    let words = shown.words();
    assert_eq!(words.len(), 3, "{words:?}");
    assert!(words[2].starts_with("Question("), "{words:?}");
    let answered = json!({"requestId": "q", "answers": ["A"], "outcome": "answered"});
    shown.event("question_resolved", "t1", None, answered);
    shown.result("b", false);
    assert_eq!(shown.words().len(), 3, "{:?}", shown.words());
}

#[test]
fn a_call_gives_way_to_a_question_of_its_own_turn_only() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("a", "AskUserQuestion", None);
    let asked = json!({"requestId": "q", "toolCallId": "a", "questions": [{"text": "Which?"}]});
    shown.event("question_request", "t2", None, asked);
    let words = shown.words();
    assert_eq!(words[..2], ["prompt", "AskUserQuestion a"]);
    assert!(words[2].starts_with("Question("), "{words:?}");
    // What comes between them changes nothing.
    shown.edit("c", "a.rs");
    assert_eq!(shown.words()[1], "AskUserQuestion a");
}

#[test]
fn a_call_that_changed_a_file_stands_again_where_its_question_asks_for_another() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("a", "AskUserQuestion", None);
    let asked =
        |id: &str| json!({"requestId": "q", "toolCallId": id, "questions": [{"text": "Which?"}]});
    shown.event("question_request", "t1", None, asked("a"));
    shown.result("a", false);
    shown.edit("a", "a.rs");
    let words = shown.words();
    assert_eq!(
        words[1], "changed a.rs",
        "the question stands for its call: {words:?}"
    );
    let answered = json!({"requestId": "q", "answers": ["A"], "outcome": "answered"});
    shown.event("question_resolved", "t1", None, answered);
    shown.event("question_request", "t1", None, asked("b"));
    let words = shown.words();
    assert_eq!(words[1..3], ["AskUserQuestion a", "changed a.rs"]);
}

#[test]
fn a_call_that_came_with_its_question_is_in_nobodys_company() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("a", "Bash", None);
    shown.call("b", "AskUserQuestion", None);
    assert_eq!(shown.words()[1], "2 in parallel");
    let asked = json!({"requestId": "q", "toolCallId": "b", "questions": [{"text": "Which?"}]});
    shown.event("question_request", "t1", None, asked);
    let words = shown.words();
    assert_eq!(words.len(), 3, "{words:?}");
    let mut at_once = Shown::new(Mode::default());
    at_once.apply(&shown.log);
    assert_eq!(at_once.words(), words);
}

#[test]
fn a_plan_that_is_proposed_is_open_with_its_first_line() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    let plan = "# Make it small\n\n1. Read\n2. Edit";
    let args = json!({"toolCallId": "a", "toolName": "ExitPlanMode", "kind": "plan", "args": {"plan": plan}});
    shown.event("tool_call", "t1", None, args);
    shown.result("a", false);
    let id = shown.feed().rows().last().unwrap().id;
    let BlockBody::ToolCall(call) = &shown.feed().block(id).body else {
        panic!("no call");
    };
    assert_eq!(call.what(), ("Plan".to_owned(), "Make it small".to_owned()));
    assert!(shown.arrangement.is_open(shown.feed(), Row::Block(id)));
}

#[test]
fn what_failed_in_the_end_or_waits_is_never_folded_away() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.step("a", "Bash");
    shown.step("b", "Bash");
    shown.event(
        "error",
        "t1",
        None,
        json!({"code": "x", "message": "broken"}),
    );
    shown.event("turn_end", "t1", None, json!({"outcome": "failed"}));
    let words = shown.words();
    assert_eq!(words.len(), 4, "{words:?}");
    assert!(words[2].contains("broken"), "{words:?}");
}

#[test]
fn a_sub_agent_is_closed_but_its_question_is_seen() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("task", "Task", None);
    shown.call("inner", "Bash", Some("task"));
    assert_eq!(shown.words(), ["prompt", "Task task"]);
    let ask = json!({"requestId": "p1", "toolName": "Bash", "options": []});
    shown.event("permission_request", "t1", Some("task"), ask);
    assert_eq!(shown.words(), ["prompt", "Task task", "permission"]);
    let task = shown.arrangement.row(shown.list[1]);
    shown.set_open(task, true);
    let opened = ["prompt", "Task task", "Bash inner", "permission"];
    assert_eq!(shown.words(), opened);
}

#[test]
fn an_answered_request_goes_into_the_call_that_is_done() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("a", "Bash", None);
    shown.call("b", "Edit", None);
    for (id, decision) in [("a", "deny"), ("b", "allow")] {
        let ask = json!({"requestId": id, "toolCallId": id, "toolName": "x", "options": []});
        shown.event("permission_request", "t1", None, ask);
        let answer = json!({"requestId": id, "decision": decision, "by": "user"});
        shown.event("permission_resolved", "t1", None, answer);
    }
    // Who answered sees that it was heard while the call goes on.
    let answered = ["prompt", "Bash a", "Edit b", "permission", "permission"];
    assert_eq!(shown.words(), answered);
    let request = shown.feed().rows().last().unwrap().id;
    shown.result("a", true);
    shown.result("b", false);
    assert_eq!(shown.words(), ["prompt", "Bash a", "Edit b"]);
    shown.edit("b", "x.rs");
    assert_eq!(shown.words(), ["prompt", "Bash a", "changed x.rs"]);

    // A link to it leads to what stands for its call.
    let mut changes = Vec::new();
    let Shown {
        renderer,
        arrangement,
        ..
    } = &mut shown;
    let Some(Row::Block(row)) = arrangement.reveal(renderer.feed(), request, &mut changes) else {
        panic!("it is revealed");
    };
    let body = &renderer.feed().block(row).body;
    assert!(matches!(body, BlockBody::FileEdit(_)), "{body:?}");
    let verbose = Mode {
        verbosity: Verbosity::Verbose,
        ..Mode::default()
    };
    arrangement.set_mode(renderer.feed(), verbose, &mut changes);
    shown.take(&changes);
    assert_eq!(shown.words().len(), 6, "{:?}", shown.words());
}

#[test]
fn every_answered_request_goes_into_the_call_that_it_was_for() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("a", "Bash", None);
    // The last one stands elsewhere, and stays there.
    for (id, turn) in [("p1", "t1"), ("p2", "t1"), ("p3", "t2")] {
        let ask = json!({"requestId": id, "toolCallId": "a", "toolName": "Bash", "options": []});
        shown.event("permission_request", turn, None, ask);
        let answer = json!({"requestId": id, "decision": "allow", "by": "user"});
        shown.event("permission_resolved", turn, None, answer);
    }
    assert_eq!(shown.words().len(), 5, "{:?}", shown.words());
    shown.result("a", false);
    assert_eq!(shown.words(), ["prompt", "Bash a", "permission"]);
    let mut at_once = Shown::new(Mode::default());
    at_once.apply(&shown.log);
    assert_eq!(at_once.words(), shown.words());
}

#[test]
fn a_request_that_was_answered_before_its_call_came_goes_into_it_as_well() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    let ask = json!({"requestId": "p", "toolCallId": "a", "toolName": "Bash", "options": []});
    shown.event("permission_request", "t1", None, ask);
    let answer = json!({"requestId": "p", "decision": "allow", "by": "user"});
    shown.event("permission_resolved", "t1", None, answer);
    shown.call("a", "Bash", None);
    assert_eq!(shown.words(), ["prompt", "permission", "Bash a"]);
    shown.result("a", false);
    assert_eq!(shown.words(), ["prompt", "Bash a"]);
}

#[test]
fn nothing_in_a_company_waits_when_its_calls_are_done() {
    let ends = [
        json!({"toolCallId": "a", "result": "done"}),
        json!({"outcome": "completed"}),
        json!({"code": "x", "message": "broken"}),
    ];
    for (kind, end) in ["tool_result", "turn_end", "error"].into_iter().zip(ends) {
        let mut shown = Shown::new(Mode {
            fold: false,
            ..Mode::default()
        });
        shown.prompt();
        shown.call("a", "Bash", None);
        shown.call("b", "Bash", None);
        let ask = json!({"requestId": "p", "toolCallId": "a", "toolName": "Bash", "options": []});
        shown.event("permission_request", "t1", None, ask);
        let waiting = |shown: &Shown| {
            let Row::Company(head) = shown.arrangement.row(shown.list[1]) else {
                panic!("no company");
            };
            let company = shown.arrangement.company(shown.feed(), head).unwrap();
            company.waiting
        };
        assert_eq!(waiting(&shown), 1);
        shown.event(kind, "t1", None, end);
        assert_eq!(waiting(&shown), 0, "{kind}");
    }
}

#[test]
fn a_company_runs_since_its_first_call_was_let_run() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("a", "Bash", None);
    shown.call("b", "Bash", None);
    let since = |shown: &Shown| {
        let Row::Company(head) = shown.arrangement.row(shown.list[1]) else {
            panic!("no company");
        };
        let company = shown.arrangement.company(shown.feed(), head).unwrap();
        company.running_since_ms
    };
    assert_eq!(since(&shown), Some(3_000));
    let ask = |id: &str| json!({"requestId": id, "toolCallId": id, "toolName": "Bash"});
    let answer = |id: &str| json!({"requestId": id, "decision": "allow"});
    shown.event("permission_request", "t1", None, ask("a"));
    assert_eq!(since(&shown), Some(4_000));
    shown.event("permission_request", "t1", None, ask("b"));
    assert_eq!(since(&shown), None);
    // The second is let run first.
    shown.event("permission_resolved", "t1", None, answer("b"));
    shown.event("permission_resolved", "t1", None, answer("a"));
    assert_eq!(since(&shown), Some(7_000));
}

#[test]
fn what_goes_on_in_the_background_stands_beside_the_folded_work() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.step("a", "Bash");
    shown.step("b", "Read");
    shown.event("assistant_done", "t1", None, json!({"text": "I hand on."}));
    shown.call("task", "Task", None);
    let gives =
        |background: bool| json!({"toolCallId": "task", "result": "", "background": background});
    shown.event("tool_result", "t1", None, gives(true));
    shown.call("c", "Bash", Some("task"));
    shown.answer();
    shown.call("d", "Bash", Some("task"));
    let runs = ["prompt", "work of 2 steps", "Task task", "text", "end"];
    assert_eq!(shown.words(), runs);
    let task = shown.arrangement.row(shown.list[2]);
    shown.set_open(task, true);
    let opened = [
        &runs[..3],
        &["2 in parallel", "Bash c", "Bash d"],
        &runs[3..],
    ]
    .concat();
    assert_eq!(shown.words(), opened);
    shown.set_open(task, false);
    shown.event("tool_result", "t1", None, gives(false));
    assert_eq!(shown.words(), ["prompt", "work of 5 steps", "text", "end"]);
    let mut at_once = Shown::new(Mode::default());
    at_once.apply(&shown.log);
    assert_eq!(at_once.words(), shown.words());
}

/// Nothing waits for leave to do what is done, whether anybody told of the answer or not.
#[test]
fn a_request_says_nothing_beside_the_call_that_has_its_result() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("a", "mcp__db__query", None);
    let ask = json!({"requestId": "p", "toolCallId": "a", "toolName": "mcp__db__query"});
    shown.event("permission_request", "t1", None, ask);
    assert_eq!(shown.words()[1..], ["mcp__db__query a", "permission"]);
    shown.result("a", true);
    assert_eq!(shown.words()[1..], ["mcp__db__query a"]);
    let deny = json!({"requestId": "p", "decision": "deny"});
    shown.event("permission_resolved", "t1", None, deny);
    assert_eq!(shown.words()[1..], ["mcp__db__query a"]);
}

#[test]
fn quiet_shows_prompts_and_answers_and_verbose_everything() {
    let quiet = Mode {
        verbosity: Verbosity::Quiet,
        ..Mode::default()
    };
    let mut shown = Shown::new(quiet);
    shown.prompt();
    shown.step("a", "Read");
    shown.step("b", "Edit");
    shown.edit("b", "x.rs");
    assert_eq!(shown.words(), ["prompt"]);
    shown.answer();
    // What is not shown has a line, which shows it.
    let folded = ["prompt", "work of 2 steps", "text", "end"];
    assert_eq!(shown.words(), folded);
    let work = shown.arrangement.row(shown.list[1]);
    shown.set_open(work, true);
    let opened = [
        "prompt",
        "work of 2 steps",
        "Read a",
        "changed x.rs",
        "text",
        "end",
    ];
    assert_eq!(shown.words(), opened);
    shown.set_open(work, false);
    assert_eq!(shown.words(), folded);
    let mut changes = Vec::new();
    let verbose = Mode {
        verbosity: Verbosity::Verbose,
        ..Mode::default()
    };
    let Shown {
        renderer,
        arrangement,
        ..
    } = &mut shown;
    arrangement.set_mode(renderer.feed(), verbose, &mut changes);
    shown.take(&changes);
    let all = ["prompt", "Read a", "Edit b", "changed x.rs", "text", "end"];
    assert_eq!(shown.words(), all);
}

#[test]
fn what_opens_by_itself_in_another_mode_is_drawn_again_where_it_stays() {
    let mut shown = Shown::new(Mode {
        fold: false,
        ..Mode::default()
    });
    shown.prompt();
    shown.step("a", "Read");
    shown.answer();
    assert_eq!(shown.words(), ["prompt", "Read a", "text", "end"]);
    let mut changes = Vec::new();
    let verbose = Mode {
        verbosity: Verbosity::Verbose,
        fold: false,
        ..Mode::default()
    };
    let Shown {
        renderer,
        arrangement,
        list,
        ..
    } = &mut shown;
    arrangement.set_mode(renderer.feed(), verbose, &mut changes);
    assert_eq!(changes, [RowChange::Changed(list[1])]);
}

#[test]
fn names_from_before_everything_went_are_of_no_row() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.answer();
    let last = *shown.list.last().unwrap();
    assert!(shown.arrangement.is_shown(last));
    let mut changes = Vec::new();
    let empty = ChatRenderer::default();
    let Shown { arrangement, .. } = &mut shown;
    arrangement.apply(empty.feed(), &[FeedPatch::Clear], &mut changes);
    assert!(!arrangement.is_shown(last));
}

#[test]
fn a_hidden_row_can_be_revealed_from_any_depth() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.call("task", "Task", None);
    shown.call("a", "Read", Some("task"));
    shown.call("b", "Read", Some("task"));
    for id in ["a", "b", "task"] {
        shown.result(id, false);
    }
    shown.step("z", "Bash");
    shown.answer();
    assert_eq!(shown.words(), ["prompt", "work of 4 steps", "text", "end"]);
    let hidden = shown
        .feed()
        .rows()
        .find(
            |block| matches!(&block.body, BlockBody::ToolCall(call) if &*call.tool_call_id == "b"),
        )
        .unwrap()
        .id;
    let mut changes = Vec::new();
    let Shown {
        renderer,
        arrangement,
        ..
    } = &mut shown;
    let row = arrangement.reveal(renderer.feed(), hidden, &mut changes);
    assert_eq!(row, Some(Row::Block(hidden)));
    shown.take(&changes);
    assert!(shown.words().contains(&"Read b".to_owned()));
}

fn mode() -> impl Strategy<Value = Mode> {
    let verbosity = prop_oneof![
        1 => Just(Verbosity::Quiet),
        4 => Just(Verbosity::Normal),
        1 => Just(Verbosity::Verbose),
    ];
    (verbosity, any::<bool>(), any::<bool>()).prop_map(|(verbosity, fold, group)| Mode {
        verbosity,
        fold,
        group,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    #[test]
    fn batching_does_not_matter_for_what_is_shown(
        events in crate::support::log(60),
        cuts in proptest::collection::vec(0usize..60, 0..12),
        mode in mode(),
    ) {
        let mut one_by_one = Shown::new(mode);
        for event in &events {
            one_by_one.apply(std::slice::from_ref(event));
        }
        let mut in_batches = Shown::new(mode);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(events.len())).collect();
        cuts.extend([0, events.len()]);
        cuts.sort_unstable();
        for cut in cuts.windows(2) {
            in_batches.apply(&events[cut[0]..cut[1]]);
        }
        let mut at_once = Shown::new(mode);
        at_once.apply(&events);
        let rows = |shown: &Shown| shown.arrangement.shown(shown.feed()).collect::<Vec<_>>();
        prop_assert_eq!(rows(&one_by_one), rows(&at_once));
        prop_assert_eq!(rows(&in_batches), rows(&at_once));
    }

    #[test]
    fn what_the_reader_opens_and_every_mode_keep_the_list_true(
        events in crate::support::log(40),
        opened in proptest::collection::vec((0usize..40, 0usize..20, any::<bool>()), 0..12),
        modes in proptest::collection::vec((0usize..40, mode()), 0..4),
    ) {
        let mut shown = Shown::new(Mode::default());
        for (nth, event) in events.iter().enumerate() {
            shown.apply(std::slice::from_ref(event));
            for (_, row, open) in opened.iter().filter(|(at, ..)| *at == nth) {
                if let Some(&id) = shown.list.get(*row) {
                    let row = shown.arrangement.row(id);
                    shown.set_open(row, *open);
                }
            }
            for (_, mode) in modes.iter().filter(|(at, _)| *at == nth) {
                let mut changes = Vec::new();
                let Shown { renderer, arrangement, .. } = &mut shown;
                arrangement.set_mode(renderer.feed(), *mode, &mut changes);
                shown.take(&changes);
            }
        }
        // Every block can be brought into view, or its nearest shown row is there.
        let ids: Vec<_> = shown.feed().rows().map(|block| block.id).collect();
        for id in ids {
            let mut changes = Vec::new();
            let Shown { renderer, arrangement, .. } = &mut shown;
            arrangement.reveal(renderer.feed(), id, &mut changes);
            shown.take(&changes);
        }
    }
}

proptest! {
    // The square of a log's length each.
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn after_every_event_the_rows_are_those_of_the_log_so_far(events in crate::support::log(60)) {
        let rows = |shown: &Shown| shown.arrangement.shown(shown.feed()).collect::<Vec<_>>();
        let mut followed = Shown::new(Mode::default());
        for (nth, event) in events.iter().enumerate() {
            followed.apply(std::slice::from_ref(event));
            let mut opened_now = Shown::new(Mode::default());
            opened_now.apply(&events[..=nth]);
            prop_assert_eq!(rows(&followed), rows(&opened_now), "after event {}", nth);
        }
    }
}
