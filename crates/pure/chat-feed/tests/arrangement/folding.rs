//! The work of a turn that is over.

use super::*;

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
fn what_is_read_is_not_folded_away_when_its_turn_ends() {
    let mut shown = Shown::new(Mode::default());
    shown.prompt();
    shown.step("a", "Bash");
    shown.step("b", "Bash");
    let turn = shown.feed().block(chat_feed::BlockId(0)).turn;
    shown.arrangement.set_read(Some((turn, turn)));
    shown.answer();
    let open = [
        "prompt",
        "work of 2 steps",
        "Bash a",
        "Bash b",
        "text",
        "end",
    ];
    assert_eq!(shown.words(), open);
    // What the reader closes stays closed, and what ended before is as it was.
    let work = shown.arrangement.row(shown.list[1]);
    shown.set_open(work, false);
    let closed = ["prompt", "work of 2 steps", "text", "end"];
    assert_eq!(shown.words(), closed);
    shown.event(
        "notice",
        "t1",
        None,
        json!({"level": "info", "text": "late"}),
    );
    assert_eq!(shown.words()[..4], closed);
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
fn an_end_that_has_more_to_say_folds_with_its_undone_turn() {
    let mut shown = Shown::new(Mode::default());
    shown.event("turn_end", "t1", None, json!({}));
    // Of an end alone nothing is made: the turn had a call, which its source took back.
    let result = json!({"toolCallId": "a", "result": "done"});
    shown.event("tool_result", "t1", None, result);
    let taken_back = shown.log.last().map(|event| event.id.clone());
    shown.event("retract", "t1", None, json!({"eventIds": [taken_back]}));
    let back = json!({"level": "info", "text": "back", "source": "branch", "leftTurnIds": ["t1"]});
    shown.event("notice", "t2", None, back);
    let before = shown.words();
    let usage = json!({"scope": "turn", "inputTokens": 3, "outputTokens": 1});
    shown.event("usage", "t1", None, usage);
    let mut at_once = Shown::new(Mode::default());
    at_once.apply(&shown.log);
    assert_ne!(shown.words(), before, "what was used is told");
    assert_eq!(shown.words(), at_once.words());
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
