//! What holds of every log, however strange.

use std::collections::HashSet;

use chat_event::ChatEvent;
use chat_feed::projections::*;
use proptest::prelude::*;
use serde_json::json;

use crate::support::{chunks_of, done, log};

/// Whether an API would take the messages.
pub(crate) fn check_messages(messages: &[OpenAiMessage]) -> Result<(), String> {
    let mut waiting: std::collections::VecDeque<&str> = Default::default();
    for (nth, message) in messages.iter().enumerate() {
        if let OpenAiMessage::Tool { tool_call_id, .. } = message {
            match waiting.pop_front() {
                Some(id) if id == tool_call_id => continue,
                other => return Err(format!("{nth}: result of {tool_call_id}, not of {other:?}")),
            }
        }
        if !waiting.is_empty() {
            return Err(format!("{nth}: no results of {waiting:?}"));
        }
        let OpenAiMessage::Assistant {
            content,
            tool_calls,
        } = message
        else {
            continue;
        };
        if content.as_ref().is_none_or(String::is_empty) && tool_calls.is_empty() {
            return Err(format!("{nth}: says nothing"));
        }
        let mut ids = HashSet::new();
        for call in tool_calls {
            let name = &call.function.name;
            let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || name.len() > 64 || !name.chars().all(allowed) {
                return Err(format!("{nth}: called {name:?}"));
            }
            let arguments = serde_json::from_str::<serde_json::Value>(&call.function.arguments);
            if !arguments.is_ok_and(|arguments| arguments.is_object()) {
                return Err(format!("{nth}: arguments {:?}", call.function.arguments));
            }
            if call.id.is_empty() || call.id.chars().count() > 40 || !ids.insert(&call.id) {
                return Err(format!("{nth}: id {:?}", call.id));
            }
            waiting.push_back(&call.id);
        }
    }
    match waiting.is_empty() {
        true => Ok(()),
        false => Err(format!("at the end: no results of {waiting:?}")),
    }
}

/// Whether every fence of a transcript is closed and no tag stands outside of one.
pub(crate) fn check_fences(markdown: &str) -> Result<(), String> {
    let mut open: Option<(String, usize)> = None;
    for (nth, line) in markdown.lines().enumerate() {
        let padded = format!("{line} ");
        let bare = padded.trim_start_matches("> ").trim_end();
        let quotes = (padded.len() - padded.trim_start_matches("> ").len()) / 2;
        if let Some((fence, depth)) = &open {
            // The closing fence may stand up to three spaces in.
            let end = bare.trim_start_matches(' ');
            let closes = bare.len() - end.len() <= 3
                && end.starts_with(fence.as_str())
                && end.chars().all(|c| fence.starts_with(c));
            if closes && quotes == *depth {
                open = None;
            } else if quotes < *depth {
                return Err(format!("{nth}: out of its fence: {line:?}"));
            }
            continue;
        }
        let mark = bare
            .chars()
            .next()
            .filter(|c| "`~".contains(*c))
            .unwrap_or(' ');
        let rest = bare.trim_start_matches(mark);
        let fence = &bare[..bare.len() - rest.len()];
        if mark != ' ' && fence.len() >= 3 && !(mark == '`' && rest.contains('`')) {
            open = Some((fence.to_owned(), quotes));
        } else if !bare.contains('`')
            && let Some((_, tag)) = bare.split_once('<')
            && tag.starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c))
            && !bare.contains("\\<")
        {
            return Err(format!("{nth}: a tag: {line:?}"));
        }
    }
    match open {
        None => Ok(()),
        Some(open) => Err(format!("not closed: {open:?}")),
    }
}

/// All that is made of a log, event by event, with so much kept open.
fn projected(
    events: &[ChatEvent],
    window_bytes: usize,
) -> (Vec<OpenAiMessage>, String, String, SessionSummary) {
    let mut messages = Vec::new();
    let (mut prompt, mut markdown) = (String::new(), String::new());
    let mut to_messages = OpenAiMessages::with_window(window_bytes);
    let mut to_prompt = ClaudePrompt::with_window(window_bytes);
    let mut to_markdown = Markdown::with_window(window_bytes);
    let mut to_summary = SessionSummarizer::with_window(window_bytes);
    for event in events {
        to_messages.push(event, &mut messages);
        to_prompt.push(event, &mut prompt);
        to_markdown.push(event, &mut markdown);
        to_summary.push(event);
    }
    to_messages.finish(&mut messages);
    to_prompt.finish(&mut prompt);
    to_markdown.finish(&mut markdown);
    (messages, prompt, markdown, to_summary.summary())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_events_in_any_order_give_messages_an_api_takes(
        events in log(80).prop_shuffle(),
        window_bytes in prop_oneof![Just(0usize), 0usize..8_000, Just(usize::MAX)],
    ) {
        let (messages, _, markdown, _) = projected(&events, window_bytes);
        prop_assert_eq!(check_messages(&messages), Ok(()));
        prop_assert_eq!(check_fences(&markdown), Ok(()));
    }

    #[test]
    fn event_by_event_is_the_same_as_at_once(events in log(80), again in 0usize..80) {
        // An event that comes twice changes nothing.
        let mut twice = events.clone();
        if let Some(event) = events.get(again) {
            twice.push(event.clone());
        }
        let (messages, prompt, markdown, summary) = projected(&twice, 32 << 20);
        prop_assert_eq!(messages, to_openai_messages(&events));
        prop_assert_eq!(prompt, to_claude_prompt(&events));
        prop_assert_eq!(markdown, to_markdown(&events));
        prop_assert_eq!(summary, to_session_summary(&events));
    }

    #[test]
    fn what_is_handed_on_is_not_changed_by_what_comes(events in log(80), window_bytes in 0usize..8_000) {
        let mut markdown = String::new();
        let mut projection = Markdown::with_window(window_bytes);
        for event in &events {
            let before = markdown.clone();
            projection.push(event, &mut markdown);
            prop_assert!(markdown.starts_with(&before));
        }
    }

    #[test]
    fn chunks_however_cut_give_what_their_done_gives(
        text in "(ab|x y|\n|```|<b>|é|~~~){0,8}",
        cuts in proptest::collection::vec(0usize..40, 0..6),
    ) {
        let whole = [done(&text, 0)];
        let mut chunks = chunks_of(&text, cuts);
        let alone = projected(&chunks, usize::MAX);
        chunks.push(done(&text, 0));
        let closed = projected(&chunks, usize::MAX);
        let whole = projected(&whole, usize::MAX);
        prop_assert_eq!(&whole.0, &alone.0);
        prop_assert_eq!((&whole.0, &whole.1, &whole.2), (&closed.0, &closed.1, &closed.2));
    }

    #[test]
    fn no_text_of_a_session_gets_out_of_its_place(events in hostile_log()) {
        let markdown = to_markdown(&events);
        prop_assert_eq!(check_fences(&markdown), Ok(()), "{}", markdown);
        // The heading of the turn behind it is one.
        prop_assert!(markdown.contains("\n\n## Turn 2\n\n"), "{}", markdown);
    }
}

/// Pieces of Markdown that reach beyond where they stand.
pub(crate) fn hostile_text() -> impl Strategy<Value = String> {
    let pieces: &[&str] = &[
        "```",
        "````",
        "~~~",
        "\n",
        "\n",
        "\n\n",
        "`",
        "a",
        " ",
        "- ",
        "> ",
        "1. ",
        "    ",
        "\t",
        "<!--",
        "<div>",
        "<script>",
        "</details>",
        "| ",
        "---",
        "===",
        "# ",
        "## Turn 9",
        "![x](http://h/i)",
        "\\",
        "\u{1b}[2J",
        "\u{1b}]0;t\u{7}",
        "\r",
        "\u{202e}",
        "*",
        "[a]: /b",
    ];
    proptest::collection::vec(proptest::sample::select(pieces), 0..14)
        .prop_map(|pieces| pieces.concat())
}

/// A turn full of such texts, and a turn behind it.
pub(crate) fn hostile_log() -> impl Strategy<Value = Vec<ChatEvent>> {
    proptest::collection::vec(hostile_text(), 16).prop_map(|texts| {
        let t = |nth: usize| texts[nth].as_str();
        let mut events = super::log(&[
            ("session_start", "-", "-", json!({"agent": t(0), "title": t(1), "cwd": t(2)})),
            ("user_message", "t1", "-", json!({"text": t(3), "attachments": [{"name": t(4), "mediaType": t(5)}]})),
            ("thinking_done", "t1", "r1", json!({"text": t(6)})),
            ("assistant_done", "t1", "r1", json!({"text": t(7)})),
            ("tool_call", "t1", "r1", json!({"toolCallId": "c1", "toolName": t(8), "title": t(9), "args": {"a": t(10)}})),
            ("tool_result", "t1", "r1", json!({"toolCallId": "c1", "result": t(11), "error": {"message": t(12)}})),
            ("file_edit", "t1", "r1", json!({"toolCallId": "c1", "filePath": t(13), "changeType": t(14), "diffPreview": t(15)})),
            ("plan", "t1", "-", json!({"entries": [{"content": t(4), "status": t(5)}]})),
            ("error", "t1", "-", json!({"code": t(8), "message": t(9)})),
            ("notice", "t1", "-", json!({"level": t(1), "text": t(6)})),
            ("turn_end", "t1", "-", json!({"outcome": t(2)})),
            ("turn_start", "t2", "-", json!({"trigger": "user"})),
            ("user_message", "t2", "-", json!({"text": "end"})),
        ]);
        let inside = super::log(&[
            ("user_message", "t1", "-", json!({"text": t(11)})),
            ("assistant_done", "t1", "r2", json!({"text": t(12)})),
        ]);
        events.splice(5..5, super::within("c1", inside));
        events
    })
}

#[test]
fn nothing_recurs_however_deep_sub_agents_lie() {
    let mut events = Vec::new();
    for nth in 0..5_000 {
        let id = format!("c{nth}");
        let mut event = super::log(&[(
            "tool_call",
            "t1",
            "-",
            json!({"toolCallId": id, "toolName": "Task", "args": {}}),
        )])
        .remove(0);
        event.id = format!("d{nth}");
        event.parent_tool_call_id = (nth > 0).then(|| format!("c{}", nth - 1));
        events.push(event);
    }
    // Parents known before and after their children.
    for _ in 0..2 {
        events.reverse();
        let (messages, _, markdown, summary) = projected(&events, usize::MAX);
        assert_eq!(check_messages(&messages), Ok(()));
        assert_eq!(summary.tool_calls.total, 5_000);
        assert_eq!(markdown.matches("**Call** ").count(), 5_000);
    }
}

/// A session with turns that may go on at once: when each begins, how long it goes on, and how long it says it took.
fn turns_at_once(turns: &[(u16, u16, Option<u16>)]) -> Vec<ChatEvent> {
    let mut moments: Vec<(i64, ChatEvent)> = Vec::new();
    for (nth, (from, lasts, told)) in turns.iter().enumerate() {
        let id = format!("t{nth}");
        let begins = ("turn_start", &*id, "-", json!({"trigger": "user"}));
        let ends = ("turn_end", &*id, "-", json!({"durationMs": told}));
        let to = i64::from(*from) + i64::from(*lasts);
        let [begins, ends] = [begins, ends].map(|line| super::log(&[line]).remove(0));
        moments.extend([(i64::from(*from), begins), (to, ends)]);
    }
    moments.sort_by_key(|(at_ms, _)| *at_ms);
    let numbered = (1..).zip(moments).map(|(nth, (at_ms, event))| ChatEvent {
        id: format!("e{nth}"),
        seq: Some(nth),
        timestamp: Some(at_ms),
        ..event
    });
    numbered.collect()
}

proptest! {
    #[test]
    fn no_session_is_busy_for_longer_than_it_lasts(events in log(80)) {
        let summary = to_session_summary(&events);
        let most_ms = summary.duration_ms.unwrap_or(u64::MAX);
        prop_assert!(summary.busy_ms <= most_ms, "{} of {}", summary.busy_ms, most_ms);
    }

    #[test]
    fn turns_that_go_on_at_once_are_counted_once(
        turns in proptest::collection::vec((0u16..300, 0u16..100), 1..8),
        told in proptest::collection::vec(proptest::option::of(0u16..100), 8),
    ) {
        let untold: Vec<_> = turns.iter().map(|(from, lasts)| (*from, *lasts, None)).collect();
        let summary = to_session_summary(&turns_at_once(&untold));
        let busy = |ms: &u16| turns.iter().any(|(from, lasts)| (*from..from + lasts).contains(ms));
        let n_busy = (0..400).filter(busy).count() as u64;
        prop_assert_eq!(summary.busy_ms, n_busy);

        let told = turns.iter().zip(told).map(|((from, lasts), told)| (*from, *lasts, told));
        let summary = to_session_summary(&turns_at_once(&told.collect::<Vec<_>>()));
        let most_ms = summary.duration_ms.unwrap_or(u64::MAX);
        prop_assert!(summary.busy_ms <= most_ms, "{} of {}", summary.busy_ms, most_ms);
    }
}
