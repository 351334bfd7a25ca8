//! `to_markdown`, case by case.

use chat_event::ChatEvent;
use chat_feed::projections::to_markdown;
use serde_json::{Value, json};

use super::{log, within};

#[track_caller]
fn check(events: &[ChatEvent], expected: &str) {
    let markdown = to_markdown(events);
    assert_eq!(markdown, expected, "{markdown}");
}

/// What is made of an answer.
#[track_caller]
fn check_answer(text: &str, expected: &str) {
    let events = log(&[("assistant_done", "t1", "r1", json!({"text": text}))]);
    check(
        &events,
        &format!("# Session\n\n## Turn 1\n\n**Assistant**\n\n{expected}\n\n"),
    );
}

#[test]
fn a_session_to_be_read() {
    let mut events = log(&[
        (
            "session_start",
            "-",
            "-",
            json!({"agent": "A 1", "model": "m", "cwd": "/w", "gitBranch": "main"}),
        ),
        ("turn_start", "t1", "-", json!({"trigger": "user"})),
        (
            "user_message",
            "t1",
            "-",
            json!({"text": "Fix *it* \\*now"}),
        ),
        ("thinking_done", "t1", "r1", json!({"text": "hm"})),
        ("assistant_done", "t1", "r1", json!({"text": "I look."})),
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "c1", "toolName": "Task", "args": {}}),
        ),
        (
            "tool_result",
            "t1",
            "r1",
            json!({"toolCallId": "c1", "result": "one file"}),
        ),
        (
            "tool_call",
            "t1",
            "r2",
            json!({"toolCallId": "c2", "toolName": "Edit", "args": {"path": "a"}}),
        ),
        (
            "tool_result",
            "t1",
            "r2",
            json!({"toolCallId": "c2", "result": "", "durationMs": 1234}),
        ),
        (
            "file_edit",
            "t1",
            "r2",
            json!({"toolCallId": "c2", "filePath": "a", "changeType": "modified", "linesAdded": 1, "linesRemoved": 1, "diffPreview": "@@ -1 +1 @@\n-a\n+b\n", "fullDiffSize": 900}),
        ),
        ("assistant_done", "t1", "r3", json!({"text": "Done."})),
        ("turn_end", "t1", "-", json!({"durationMs": 61000})),
        (
            "turn_start",
            "t2",
            "-",
            json!({"trigger": "callback", "task": {"index": 2, "total": 3, "label": "Build"}}),
        ),
        (
            "agent_callback",
            "t2",
            "-",
            json!({"messageId": "m", "fromAgentId": "b", "result": "built"}),
        ),
        ("interrupt", "t2", "-", json!({"reason": "user_cancel"})),
    ]);
    let inside = log(&[
        ("user_message", "t1", "-", json!({"text": "count"})),
        ("assistant_done", "t1", "r9", json!({"text": "one"})),
    ]);
    events.splice(6..6, within("c1", inside));
    check(
        &events,
        r#"# Fix it \*now

- Agent: `A 1`
- Model: `m`
- Folder: `/w`
- Branch: `main`
- Started: 1970-01-01 00:00:01 UTC

## Turn 1

**User**

> Fix *it* \*now

**Assistant**

*Thinking*

> hm

I look.

**Call** `Task` (1.0 s)

> **Prompt**
>
> > count
>
> **Assistant**
>
> one

```text
one file
```

**Call** `Edit` (1.2 s)

**File** `a` modified +1 −1

```diff
@@ -1 +1 @@
-a
+b
```

*The first 18 of 900 bytes of the diff.*

Done.

*Turn completed, 1 min 1 s*

## Turn 2 (callback): Build

**Callback from** `b`

> built

**Interrupted** `user_cancel`

"#,
    );
}

#[test]
fn fences_are_longer_than_what_they_hold() {
    let events = log(&[
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "c1", "toolName": "Bash", "args": {"command": "cat x"}}),
        ),
        (
            "tool_result",
            "t1",
            "r1",
            json!({"toolCallId": "c1", "result": "````\n# no heading\n```\u{1b}[31mred\u{1b}[0m\r\n"}),
        ),
    ]);
    check(
        &events,
        "# Session\n\n- Started: 1970-01-01 00:00:01 UTC\n\n## Turn 1\n\n**Assistant**\n\n**Call** `Bash` (1.0 s)\n\n```sh\ncat x\n```\n\n\
         `````text\n````\n# no heading\n```red\n`````\n\n",
    );
}

#[test]
fn a_call_took_what_its_source_says_else_what_its_events_say() {
    let took = |told: Value, end_ms: i64| {
        let mut events = log(&[
            (
                "tool_call",
                "t1",
                "r1",
                json!({"toolCallId": "c1", "toolName": "Bash", "args": {}}),
            ),
            (
                "tool_result",
                "t1",
                "r1",
                json!({"toolCallId": "c1", "result": "", "durationMs": told}),
            ),
        ]);
        (events[0].timestamp, events[1].timestamp) = (Some(5_000), Some(end_ms));
        let text = to_markdown(&events);
        let line = text.lines().find(|line| line.starts_with("**Call**"));
        line.unwrap().to_owned()
    };
    assert_eq!(took(json!(850), 9_000), "**Call** `Bash` (850 ms)");
    assert_eq!(took(json!(null), 9_000), "**Call** `Bash` (4.0 s)");
    // Neither a clock that ran back nor one that stands still tells anything.
    for untold in [1_000, 5_000] {
        assert_eq!(took(json!(null), untold), "**Call** `Bash`");
    }
}

#[test]
fn a_secret_answer_is_not_told() {
    let asked = json!({"requestId": "q", "questions": [
        {"id": "a", "text": "Where?", "options": []},
        {"id": "b", "text": "Which password?", "options": [], "secret": true},
    ]});
    let resolved = |answers: Value| {
        let resolved = json!({"requestId": "q", "outcome": "answered", "answers": answers});
        let events = log(&[
            ("question_request", "t1", "-", asked.clone()),
            ("question_resolved", "t1", "-", resolved),
        ]);
        let text = to_markdown(&events);
        let at = text.find("**Question** answered").unwrap();
        text[at..].replace('\n', " ").trim_end().to_owned()
    };
    assert_eq!(
        resolved(json!([["staging"], ["hunter2"]])),
        "**Question** answered  > Where?: staging  > Which password?: not shown"
    );
    assert_eq!(
        resolved(json!({"x": "hunter2"})),
        "**Question** answered  > not shown"
    );
}

#[test]
fn a_turn_took_what_its_source_says_else_what_its_events_say() {
    let took = |told: Value, end_ms: i64| {
        let mut events = log(&[
            ("turn_start", "t1", "-", json!({"trigger": "user"})),
            ("assistant_done", "t1", "r1", json!({"text": "Done."})),
            ("turn_end", "t1", "-", json!({"durationMs": told})),
        ]);
        (events[0].timestamp, events[2].timestamp) = (Some(5_000), Some(end_ms));
        let text = to_markdown(&events);
        let line = text.lines().find(|line| line.starts_with("*Turn"));
        line.unwrap().to_owned()
    };
    assert_eq!(took(json!(850), 9_000), "*Turn completed, 850 ms*");
    assert_eq!(took(json!(null), 9_000), "*Turn completed, 4.0 s*");
    assert_eq!(took(json!(null), 5_000), "*Turn completed*");
}

#[test]
fn answers_stay_as_they_are_where_they_reach_no_further() {
    check_answer("a `Vec<T>` b\n\n- x\n- y", "a `Vec<T>` b\n\n- x\n- y");
    check_answer(
        "```rust\nlet a: Vec<u8>;\n# no\n```",
        "```rust\nlet a: Vec<u8>;\n# no\n```",
    );
    check_answer("```html\n<b>", "```html\n<b>\n```");
    check_answer("# Big\nTitle\n===\nx", "### Big\nTitle\n\\===\nx");
    check_answer("<details>\n`a` <b>", "&lt;details>\n`a` &lt;b>");
    check_answer("![x](http://h/i) `![x]`", "&#33;[x](http://h/i) `![x]`");
    check_answer("a\n[b]: http://h", "a\n\\[b]: http://h");
    // Only a whole parser could say where this code ends.
    check_answer(
        "- list:\n  ```\n  open",
        "````markdown\n- list:\n  ```\n  open\n````",
    );
}

#[test]
fn headings_and_definitions_reach_no_further_from_within_lists_and_quotes() {
    for (text, expected) in [
        ("- [README]: https://h", "- \\[README]: https://h"),
        ("> [x]: http://h", "> \\[x]: http://h"),
        (">[x]: http://h", ">\\[x]: http://h"),
        ("1. > * [x]: http://h", "1. > * \\[x]: http://h"),
        ("- a\n\n  [x]: http://h", "- a\n\n  \\[x]: http://h"),
        ("[a\nb]: http://h", "\\[a\nb]: http://h"),
        ("> [a\n> b]: http://h", "> \\[a\n> b]: http://h"),
        ("[a\\]: b\n]: http://h", "\\[a\\]: b\n]: http://h"),
        ("- # Title", "- ### Title"),
        ("> # Title", "> ### Title"),
        (">\t# Title", ">\t### Title"),
        ("- \t# Title", "- \t### Title"),
        ("12) - > ##### Title", "12) - > ###### Title"),
        ("- Title\n  ===", "- Title\n  \\==="),
        ("> Title\n> ---", "> Title\n> \\---"),
        ("Title\n-", "Title\n\\-"),
    ] {
        check_answer(text, expected);
    }
    for text in [
        "- [ ] do [a](http://h)\n- [x] done: [b]",
        "> [!NOTE]\n> text",
        "- a\n\n- - -\n\n2024) #1 and -# 2",
        "> a\n>\n> ---",
        "text\n\n    # code",
        "- a\n\ntext\n\n    # code\n    [a]: b",
        "-      # code",
    ] {
        check_answer(text, text);
    }
    // It may be code, or within the list.
    for text in [
        "- a\n\n      # b",
        "1. a\n\n    [b]: http://h",
        "- a\n      ===",
    ] {
        check_answer(text, &format!("```markdown\n{text}\n```"));
    }
}

#[test]
fn only_blanks_make_an_empty_line() {
    use pulldown_cmark::{Event, HeadingLevel, Parser, Tag};
    for white in ['\u{a0}', '\u{3000}', '\u{2003}', '\u{202f}', '\u{2028}'] {
        let text = format!("Approved\n{white}\n===\n\n- a\n{white}\n  ---\n\nb\n{white}");
        let events = log(&[("assistant_done", "t1", "r1", json!({"text": text}))]);
        let markdown = to_markdown(&events);
        let headings = Parser::new(&markdown).filter_map(|event| match event {
            Event::Start(Tag::Heading { level, .. }) => Some(level),
            _ => None,
        });
        let headings: Vec<_> = headings.collect();
        assert_eq!(
            headings,
            [HeadingLevel::H1, HeadingLevel::H2],
            "{markdown:?}"
        );
        assert!(markdown.contains(&format!("b\n{white}\n")), "{markdown:?}");
    }
}

#[test]
fn code_that_may_have_begun_before_hides_no_tag() {
    // The first backtick is open until the second line's, so what stands between the next two is no code.
    check_answer("a ` b\nc ` <i> ` d", "a ` b\nc ` &lt;i> ` d");
    check_answer("| ` | <i> ` |", "| ` | &lt;i> ` |");
    check_answer("\\` <i> `", "\\` &lt;i> `");
}

#[test]
fn long_results_are_cut_on_a_line_and_say_so() {
    let result = "0123456789\n".repeat(2_000);
    let events = log(&[
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "c1", "toolName": "Read", "args": {}}),
        ),
        (
            "tool_result",
            "t1",
            "r1",
            json!({"toolCallId": "c1", "result": result}),
        ),
    ]);
    let markdown = to_markdown(&events);
    assert!(
        markdown.ends_with("0123456789\n```\n\n*The first 16379 of 22000 bytes.*\n\n"),
        "{}",
        &markdown[16_000..]
    );
}

#[test]
fn lines_that_no_rule_knows_are_shown() {
    let events = log(&[
        ("hologram", "-", "-", json!({"x": 1})),
        ("raw", "-", "-", json!({"format": "f: odd", "value": [1]})),
        (
            "tool_result",
            "-",
            "-",
            json!({"toolCallId": "gone", "result": "late"}),
        ),
    ]);
    check(
        &events,
        "# Session\n\n- Started: 1970-01-01 00:00:01 UTC\n\n**Line that no rule knows** `hologram`\n\n```json\n{\"x\":1}\n```\n\n\
         **Line that no rule knows** `f: odd`\n\n```json\n[1]\n```\n\n\
         ## Turn 1\n\n**Of a call that is not in the log:** `gone`\n\n```text\nlate\n```\n\n",
    );
}
