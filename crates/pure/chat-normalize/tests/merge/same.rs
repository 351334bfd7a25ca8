//! What is the same in two sources, and what only looks like it.

use std::collections::BTreeSet;

use chat_event::{ChatEvent, Payload, SetBack};
use chat_normalize::Merge;

use super::runs::runs;
use super::said::told;
use super::{Random, event, merge};
use crate::support::taken_back;

#[test]
fn what_a_source_only_guesses_waits_for_one_that_knows() {
    let result = |id: &str, error: &str| {
        event(
            id,
            "t",
            "tool_result",
            &format!(r#"{{"toolCallId":"c","result":"","error":{error}}}"#),
        )
    };
    let guess = result("g", r#"{"code":"no_result","message":""}"#);
    let sure = result("r", r#"{"code":"denied","message":"no"}"#);
    let ids = |events: &[ChatEvent]| {
        events
            .iter()
            .map(|event| event.id.clone())
            .collect::<Vec<_>>()
    };
    let mut out = Vec::new();
    let mut stage = Merge::new(2);
    stage.take(0, guess.clone(), &mut out);
    stage.end(0, &mut out);
    assert!(out.is_empty());
    stage.take(1, sure.clone(), &mut out);
    stage.finish(&mut out);
    assert_eq!(ids(&out), ["r"]);
    // No one knows better.
    let mut out = Vec::new();
    let mut stage = Merge::new(2);
    stage.take(0, guess, &mut out);
    stage.finish(&mut out);
    assert_eq!(ids(&out), ["g"]);
}

#[test]
fn a_title_that_was_before_is_told_again_where_it_is_back_and_by_one_source_alone() {
    let titled = |id: &str, title: &str| {
        let payload = format!(r#"{{"provider":"p","title":"{title}"}}"#);
        event(id, "t", "session_start", &payload)
    };
    let source = |of: &str| {
        let titles = ["A", "B", "A"].into_iter().enumerate();
        let told = titles.map(|(nth, title)| titled(&format!("{of}{nth}"), title));
        told.collect::<Vec<_>>()
    };
    for next in [|_: &[usize]| 0, |open: &[usize]| open.len() - 1] {
        let merged = merge(&[source("x"), source("y")], next);
        let told = merged.iter().filter_map(|event| match &event.payload {
            Payload::SessionStart(start) => start.title.clone(),
            _ => None,
        });
        assert_eq!(told.collect::<Vec<_>>(), ["A", "B", "A"]);
    }
}

/// As the pipe of a program and its file tell of an agent in the background, where the pipe's output has no word for that.
#[test]
fn how_it_ended_in_the_background_is_told_whoever_called_its_beginning_the_result() {
    let result = |id: &str, said: &str, more: &str| {
        let payload = format!(r#"{{"toolCallId":"c","result":{said}{more}}}"#);
        event(id, "t", "tool_result", &payload)
    };
    let plain = || result("plain", r#""Agent started""#, "");
    let began = || {
        let more = r#","background":true"#;
        result("began", r#""It works in the background.""#, more)
    };
    let ended = result("ended", r#""Found 2""#, r#","background":false"#);
    let bare = result("ended", "null", r#","background":false"#);
    let lost = {
        let more = r#","background":false,"error":{"code":"no_result","message":""}"#;
        result("ended", "null", more)
    };
    for ended in [ended, bare, lost] {
        // The file's beginning is source 1's first event, the pipe's only one comes before it, between or behind.
        for at in 0..3 {
            let sources = [vec![plain()], vec![began(), ended.clone()]];
            let mut nth = 0;
            let merged = merge(&sources, |open| {
                let is_pipes = nth == at || open.len() == 1 && open[0] == 0;
                nth += 1;
                open.iter()
                    .position(|of| (*of == 0) == is_pipes)
                    .unwrap_or(0)
            });
            let ids: Vec<&str> = merged.iter().map(|event| event.id.as_str()).collect();
            let wanted = match at {
                0 => vec!["plain", "began", "ended"],
                _ => vec!["began", "ended"],
            };
            assert_eq!(ids, wanted, "{at}");
        }
        // The same beside a log, where each of the two was there first.
        for [log, own] in [
            [vec![plain()], vec![began(), ended.clone()]],
            [vec![began(), plain()], vec![began(), ended.clone()]],
            [vec![began(), ended.clone()], vec![plain()]],
        ] {
            let mut stage = Merge::beside_log();
            let mut new = Vec::new();
            for (source, events) in [(Merge::LOG, &log), (Merge::OWN, &own)] {
                for event in events {
                    stage.take(source, event.clone(), &mut new);
                }
            }
            stage.finish(&mut new);
            let all = log.iter().chain(&new).filter(|event| event.id == "ended");
            assert_eq!(all.count(), 1, "{new:?}");
        }
    }
    // Who tells both says plainly how it ended.
    let own = [vec![began(), plain()], vec![began()]];
    assert_eq!(merge(&own, |_| 0).len(), 2);
}

#[test]
fn how_a_call_ended_is_told_once_whatever_each_source_calls_it() {
    let result = |id: &str, more: &str| {
        let payload = format!(r#"{{"toolCallId":"c","result":"{id}"{more}}}"#);
        event(id, "t", "tool_result", &payload)
    };
    let plain = || result("plain", "");
    let failed = || result("failed", r#","error":{"message":"no"}"#);
    let began = |id: &str| result(id, r#","background":true"#);
    let ended = |id: &str| result(id, r#","background":false"#);
    for (first, second, wanted) in [
        // One of the two marks the failure.
        (vec![plain()], vec![failed()], vec!["plain"]),
        (vec![failed()], vec![plain()], vec!["failed"]),
        // The first one was not read from its beginning.
        (
            vec![ended("e1")],
            vec![began("b2"), ended("e2")],
            vec!["e1", "b2"],
        ),
        (vec![ended("e1")], vec![plain()], vec!["e1"]),
        (vec![plain()], vec![ended("e2")], vec!["plain", "e2"]),
        // The first one has no word for an end.
        (
            vec![began("b1"), plain()],
            vec![began("b2"), ended("e2")],
            vec!["b1", "plain"],
        ),
        (
            vec![began("b1"), failed()],
            vec![began("b2"), ended("e2")],
            vec!["b1", "failed"],
        ),
        // What failed did not begin to go on.
        (
            vec![began("b1")],
            vec![failed(), ended("e2")],
            vec!["b1", "failed"],
        ),
    ] {
        let merged = merge(&[first, second], |_| 0);
        let ids: Vec<&str> = merged.iter().map(|event| event.id.as_str()).collect();
        assert_eq!(ids, wanted);
    }
}

#[test]
fn a_compaction_gives_way_to_one_that_tells_its_figures() {
    let bare = |id: &str| {
        event(
            id,
            "t",
            "compaction",
            r#"{"trigger":"manual","summary":"short"}"#,
        )
    };
    let full = |id: &str| {
        event(
            id,
            "t",
            "compaction",
            r#"{"trigger":"manual","tokensBefore":9}"#,
        )
    };
    let sources = [vec![bare("a1"), bare("a2")], vec![full("b1"), full("b2")]];
    for first in 0..2 {
        let merged = merge(&sources, |open| if open.len() > 1 { first } else { 0 });
        assert_eq!(told(&merged)["compaction"], 2);
        let stand = merged.iter().filter_map(|event| match &event.payload {
            Payload::Compaction(told) => Some((event.id.as_str(), told.tokens_before)),
            _ => None,
        });
        let stand: Vec<_> = stand.filter(|(_, before)| before.is_some()).collect();
        assert_eq!(stand, [("b1", Some(9)), ("b2", Some(9))]);
    }
    // One source may know the figures of some only.
    let alone = merge(&[vec![full("b1"), bare("a2"), full("b3")]], |_| 0);
    assert_eq!(alone.len(), 3);
    // What stood in the log, and what replaced it there, is not told again.
    let mut out = Vec::new();
    let mut stage = Merge::beside_log();
    stage.take(Merge::LOG, bare("a1"), &mut out);
    stage.take(Merge::OWN, full("b1"), &mut out);
    let kinds = |out: &[ChatEvent]| -> Vec<String> {
        out.iter()
            .map(|event| event.event_type().to_owned())
            .collect()
    };
    assert_eq!(kinds(&out), ["retract", "compaction"]);
    for event in std::mem::take(&mut out) {
        stage.take(Merge::LOG, event, &mut out);
    }
    assert!(out.is_empty());
    stage.take(Merge::OWN, full("b2"), &mut out);
    assert_eq!(kinds(&out), ["compaction"]);
}

/// The ids of the turns that the session's user went back behind.
fn left(events: &[ChatEvent]) -> Vec<String> {
    let told = events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) => SetBack::of(notice),
        _ => None,
    });
    told.flat_map(|told| told.left).collect()
}

#[test]
fn turns_that_were_left_are_named_as_all_sources_name_them() {
    let said = |id: &str, turn: &str, text: &str| {
        let text = format!(r#"{{"text":"{text}"}}"#);
        event(id, turn, "user_message", &text)
    };
    let back = |id: &str, turn: &str| {
        let payload = format!(r#"{{"level":"info","text":"back","leftTurnIds":["{turn}"]}}"#);
        let mut notice = event(id, turn, "notice", &payload);
        notice.turn_id = None;
        notice
    };
    let begins = |id: &str, turn: &str| event(id, turn, "turn_start", r#"{"trigger":"user"}"#);
    let first = vec![
        begins("a1", "x1"),
        said("a2", "x1", "One"),
        begins("a3", "x2"),
        said("a4", "x2", "Two"),
    ];
    let mut second = vec![begins("b1", "y1"), said("b2", "y1", "One")];
    second.extend([begins("b3", "y2"), said("b4", "y2", "Two")]);
    second.push(back("b5", "y2"));
    // What waits to be told apart is told before it is left: the words come late, or never.
    let mut untold = second.clone();
    untold.remove(3);
    for (second, is_told) in [(second, true), (untold, false)] {
        let sources = [first.clone(), second];
        for order in 0..2 {
            let merged = merge(&sources, |open| order.min(open.len() - 1));
            let of_two = |event: &&ChatEvent| match &event.payload {
                Payload::UserMessage(said) => said.text.preview() == "Two",
                _ => !is_told && event.id == "b3",
            };
            let turns = merged.iter().filter(of_two);
            let turns: Vec<_> = turns.filter_map(|event| event.turn_id.clone()).collect();
            let left = left(&merged);
            assert_eq!(left.len(), 1);
            assert!(turns.contains(&left[0]), "{order}: {left:?}, {turns:?}");
        }
    }
    // What stands in the log is what it is called.
    let mut out = Vec::new();
    let mut stage = Merge::beside_log();
    for event in &first {
        stage.take(Merge::LOG, event.clone(), &mut out);
    }
    for event in [
        said("b2", "y1", "One"),
        said("b4", "y2", "Two"),
        back("b5", "y2"),
    ] {
        stage.take(Merge::OWN, event, &mut out);
    }
    assert_eq!(left(&out), ["x2"]);
}

#[test]
fn a_try_that_two_sources_word_in_their_ways_is_one() {
    let status = |id: &str, at_ms: i64, message: Option<&str>| {
        let status = if message.is_some() {
            "retrying"
        } else {
            "busy"
        };
        let payload = serde_json::json!({"status": status, "message": message});
        let mut event = event(id, "t", "session_status", &payload.to_string());
        event.timestamp = Some(at_ms);
        event
    };
    let sources = [
        vec![
            status("a0", 0, None),
            status("a1", 10, Some("attempt 1 of 2: rate_limit 429")),
            status("a2", 20, Some("attempt 2 of 2: rate_limit 429")),
            status("a3", 30, None),
        ],
        vec![
            status("b0", 0, None),
            status("b1", 11, Some("attempt 1 of 2: 429 Slow down")),
            status("b2", 21, Some("attempt 2 of 2: 429 Slow down")),
        ],
    ];
    for first in 0..2 {
        let merged = merge(&sources, |open| if open.len() > 1 { first } else { 0 });
        let n = merged.iter().filter(|event| match &event.payload {
            Payload::SessionStatus(status) => status.status == "retrying",
            _ => false,
        });
        assert_eq!(n.count(), 2, "{first}: {merged:?}");
    }
    // A program that failed twice tries anew.
    let again = [
        status("a4", 40, Some("attempt 1 of 2: rate_limit 429")),
        status("a5", 50, None),
    ];
    let alone = merge(&[[&sources[0][..], &again].concat()], |_| 0);
    assert_eq!(alone.len(), 6);
}

#[test]
fn the_same_words_twice_are_two_and_twice_by_two_sources_are_two() {
    let said = |id: &str| event(id, "t", "user_message", r#"{"text":"go on"}"#);
    let sources = [vec![said("a1"), said("a2")], vec![said("b1"), said("b2")]];
    for first in 0..2 {
        let merged = merge(&sources, |open| if open.len() > 1 { first } else { 0 });
        assert_eq!(merged.len(), 2);
    }
}

#[test]
fn calls_that_do_the_same_are_each_others_in_their_order() {
    let calls = |ids: &[&str]| -> Vec<ChatEvent> {
        let calls = ids.iter().map(|id| {
            let payload =
                format!(r#"{{"toolCallId":"{id}","toolName":"wait","args":{{}},"kind":"other"}}"#);
            event(&format!("{id}:call"), "t", "tool_call", &payload)
        });
        calls.collect()
    };
    // A source that numbers its calls, one that names them, one that has both kinds of names, and one that is behind.
    let sources = [
        calls(&["1.aaaaaaaa", "2.aaaaaaaa", "3.aaaaaaaa"]),
        calls(&["a", "b"]),
        calls(&["b", "c"]),
        calls(&["2.aaaaaaaa", "9.aaaaaaaa"]),
    ];
    let told = |order: [usize; 4]| {
        let mut stage = Merge::new(4);
        let mut out = Vec::new();
        for source in order {
            for event in &sources[source] {
                stage.take(source, event.clone(), &mut out);
            }
            stage.end(source, &mut out);
        }
        stage.finish(&mut out);
        let ids = out.iter().filter_map(|event| match &event.payload {
            Payload::ToolCall(call) => Some(call.tool_call_id.clone()),
            _ => None,
        });
        ids.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        told([0, 1, 2, 3]),
        "1.aaaaaaaa 2.aaaaaaaa 3.aaaaaaaa 9.aaaaaaaa"
    );
    assert_eq!(told([1, 2, 3, 0]), "a b c");
    assert_eq!(
        told([3, 2, 1, 0]),
        "2.aaaaaaaa 9.aaaaaaaa 1.aaaaaaaa 3.aaaaaaaa"
    );
}

#[test]
fn who_told_a_text_corrects_it_and_no_other() {
    let text = |id: &str, text: &str| {
        let payload = format!("{{\"text\":\"{text}\",\"part\":0}}");
        let mut event = event(id, "t", "assistant_done", &payload);
        event.response_id = Some("r".to_owned());
        event
    };
    let source = [text("a", "first"), text("a:n2", "first, corrected")];
    let mut merge = Merge::new(3);
    let mut out = Vec::new();
    merge.take(0, source[0].clone(), &mut out);
    merge.take(1, text("b", "worded otherwise"), &mut out);
    merge.take(0, source[1].clone(), &mut out);
    // The same file, read once more.
    for event in source {
        merge.take(2, event, &mut out);
    }
    merge.finish(&mut out);
    let ids: Vec<&str> = out.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids, ["a", "a:n2"]);
}

#[test]
fn a_file_that_one_call_edits_twice_is_edited_twice() {
    let edit = |id: &str, lines: &str| {
        let payload = format!(
            r#"{{"toolCallId":"c","filePath":"a.rs","changeType":"modified","linesAdded":1,"linesRemoved":0,"diffPreview":"{lines}"}}"#
        );
        event(id, "t", "file_edit", &payload)
    };
    let sources = [
        vec![edit("a1", "+one"), edit("a2", "+two")],
        vec![edit("b1", "+one"), edit("b2", "+two")],
        vec![edit("c1", "+one+two")],
    ];
    // Who tells it as one edit tells all of it.
    for (first, n) in [(0, 2), (1, 2), (2, 1)] {
        let merged = merge(&sources, |open| {
            open.iter().position(|it| *it == first).unwrap_or(0)
        });
        assert_eq!(merged.len(), n, "{first} first");
    }
    // One that tells where the lines stand is told in place of them, and as often as it tells so.
    let diff = |id: &str| {
        let mut event = edit(id, "@@ -1 +1 @@");
        if let Payload::FileEdit(edit) = &mut event.payload {
            edit.full_diff_available = true;
        }
        event
    };
    let better = vec![diff("d1"), diff("d2")];
    let merged = merge(&[sources[0].clone(), better.clone()], |_| 0);
    let kept = told(&merged);
    assert_eq!(kept.get("edit c a.rs"), Some(&2), "{kept:?}");
    // A hook told only the file, and the source itself the first.
    let mut stage = Merge::beside_log();
    let mut out = Vec::new();
    let file = event(
        "f",
        "t",
        "file_edit",
        r#"{"toolCallId":"c","filePath":"a.rs","changeType":"modified"}"#,
    );
    for event in [file, better[0].clone()] {
        stage.take(Merge::LOG, event, &mut out);
    }
    for event in better {
        stage.take(Merge::OWN, event, &mut out);
    }
    stage.finish(&mut out);
    let ids: Vec<&str> = out.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids, ["d2"]);
    // The log was written up to the first of them.
    let mut stage = Merge::beside_log();
    let mut out = Vec::new();
    stage.take(Merge::LOG, edit("l1", "+one"), &mut out);
    for event in &sources[0] {
        stage.take(Merge::OWN, event.clone(), &mut out);
    }
    stage.finish(&mut out);
    let ids: Vec<&str> = out.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids, ["a2"]);
}

#[test]
fn an_id_that_two_sources_use_for_two_things_is_made_two() {
    let one = event("l1", "t", "notice", r#"{"level":"info","text":"one"}"#);
    let other = event("l1", "t", "notice", r#"{"level":"info","text":"other"}"#);
    let merged = merge(&[vec![one], vec![other]], |_| 0);
    assert_eq!(merged.len(), 2);
    assert_ne!(merged[0].id, merged[1].id);
}

#[test]
fn what_a_source_takes_back_is_its_own_and_no_others_of_that_id() {
    let text = |text: &str| {
        let payload = format!(r#"{{"text":"{text}"}}"#);
        event("l1", "t", "assistant_done", &payload)
    };
    let retract = event("l2", "t", "retract", r#"{"eventIds":["l1"]}"#);
    for (sources, left) in [
        (
            [vec![text("one")], vec![text("other"), retract.clone()]],
            "one",
        ),
        (
            [vec![text("one"), retract.clone()], vec![text("other")]],
            "other",
        ),
    ] {
        // The first source is read before the other one.
        let merged = merge(&sources, |_| 0);
        let taken_back: BTreeSet<&str> = taken_back(&merged).collect();
        let texts: Vec<&str> = merged
            .iter()
            .filter(|event| !taken_back.contains(event.id.as_str()))
            .filter_map(|event| match &event.payload {
                Payload::AssistantDone(done) => Some(&*done.text),
                _ => None,
            })
            .collect();
        assert_eq!(texts, [left]);
    }
}

#[test]
fn an_id_that_stands_everywhere_is_numbered_in_time() {
    const N_EVENTS: usize = 20_000;
    let began = std::time::Instant::now();
    // Beside a log, each words have numbers of their own.
    for (mut stage, words) in [(Merge::new(1), N_EVENTS), (Merge::beside_log(), 2)] {
        let mut out = Vec::new();
        for n in 0..N_EVENTS {
            let text = n.min(words - 1);
            let payload = format!(r#"{{"level":"info","text":"{text}"}}"#);
            stage.take(Merge::OWN, event("l1", "t", "notice", &payload), &mut out);
        }
        stage.finish(&mut out);
        let ids: BTreeSet<&str> = out.iter().map(|event| event.id.as_str()).collect();
        assert_eq!((out.len(), ids.len()), (N_EVENTS, N_EVENTS));
    }
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

/// Events in any order, from sources that say anything: nothing fails, and ids stand once.
#[test]
fn shuffled_events_do_no_harm() {
    let mut all: Vec<ChatEvent> = Vec::new();
    for run in runs().into_iter().step_by(5) {
        for (_, events) in run.sources {
            all.extend(events);
        }
    }
    let mut random = Random(1);
    for at in (1..all.len()).rev() {
        all.swap(at, random.below(at + 1));
    }
    let mut stage = Merge::new(0);
    let mut merged = Vec::new();
    for event in all {
        stage.take(random.below(40), event, &mut merged);
        if random.below(50) == 0 {
            stage.end(random.below(40), &mut merged);
        }
    }
    stage.finish(&mut merged);
    let ids: BTreeSet<&str> = merged.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids.len(), merged.len());
}
