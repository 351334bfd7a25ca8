//! Sources that tell while they go on, beside a log that has what others told.

use std::collections::BTreeSet;

use chat_event::{ChatEvent, Payload};
use chat_normalize::Merge;

use super::runs::runs;
use super::said::{differences, most, told};
use super::{Random, event, log_of};

/// One source that is told while others are, into the log of all.
pub(super) struct Live<'a> {
    pub(super) kind: &'a str,
    pub(super) own: &'a [ChatEvent],
    /// How many of them were told.
    pub(super) n_told: usize,
    pub(super) merge: Merge,
    /// How much of the log is known.
    pub(super) n_known: usize,
    pub(super) masks: bool,
}

/// A stage beside a log of which some texts may be masked.
pub(super) fn beside_log(masks: bool) -> Merge {
    match masks {
        true => Merge::beside_log().compared_by(masked),
        false => Merge::beside_log(),
    }
}

fn masked(text: &str) -> String {
    text.replace(" the ", " [masked: word] ")
}

/// The event as a server stores it that masks.
pub(super) fn masked_event(event: &ChatEvent) -> ChatEvent {
    ChatEvent::from_json(&masked(&event.to_line())).unwrap()
}

impl Live<'_> {
    /// Tells its next `n` events, as far as they are new.
    pub(super) fn tell(&mut self, n: usize, log: &mut Vec<ChatEvent>) {
        let mut new = Vec::new();
        for event in &log[self.n_known..] {
            self.merge.take(Merge::LOG, event.clone(), &mut new);
        }
        let next = self.own.iter().skip(self.n_told).take(n);
        for event in next {
            self.merge.take(Merge::OWN, event.clone(), &mut new);
        }
        self.n_told += n;
        self.n_known = log.len();
        log.append(&mut new);
    }

    /// Forgets all but what it told and what the log has, as after a lost answer.
    pub(super) fn begin_anew(&mut self, log: &mut Vec<ChatEvent>) {
        self.merge = beside_log(self.masks);
        self.n_known = log.len();
        let mut new = Vec::new();
        for event in &*log {
            self.merge.take(Merge::LOG, event.clone(), &mut new);
        }
        for ours in self.own.iter().take(self.n_told) {
            self.merge.take(Merge::OWN, ours.clone(), &mut new);
        }
        log.append(&mut new);
    }

    pub(super) fn end(&mut self, others_go_on: bool, log: &mut Vec<ChatEvent>) {
        let mut new = Vec::new();
        if !others_go_on {
            self.merge.end(Merge::LOG, &mut new);
            self.merge.finish(&mut new);
        }
        log.append(&mut new);
    }
}

#[test]
fn what_several_sources_tell_one_log_while_they_go_on_stands_once() {
    let mut wrong = Vec::new();
    for run in runs() {
        if run.name.ends_with("/compact") || run.name.ends_with("/controls") {
            continue;
        }
        let sources = run.events();
        let wanted = most(&sources);
        for seed in 0..12 {
            let log = log_of(&run, &mut Random(seed), seed % 2 == 1, false);
            let ids: BTreeSet<&str> = log.iter().map(|event| event.id.as_str()).collect();
            if ids.len() != log.len() {
                wrong.push(format!("{} seed {seed}: an id stands twice", run.name));
            }
            for difference in differences(&told(&log), &wanted) {
                wrong.push(format!("{} seed {seed}: {difference}", run.name));
            }
        }
    }
    let n = wrong.len();
    wrong.truncate(60);
    assert!(wrong.is_empty(), "{n} differences:\n{}", wrong.join("\n"));
}

/// A source tells its secrets in clear; the log has them not, or not all.
#[test]
fn what_stands_masked_in_the_log_is_not_told_again() {
    let (mut wrong, mut n_masked) = (Vec::new(), 0);
    let runs = runs();
    if runs.is_empty() {
        // There are no recordings here, as was said.
        return;
    }
    for run in runs {
        if run.name.ends_with("/compact") || run.name.ends_with("/controls") {
            continue;
        }
        let sources = run.events();
        let all_masked =
            |events: &[ChatEvent]| -> Vec<ChatEvent> { events.iter().map(masked_event).collect() };
        let masked_sources: Vec<_> = sources.iter().map(|events| all_masked(events)).collect();
        let wanted = most(&masked_sources);
        for seed in 0..6 {
            let log = log_of(&run, &mut Random(seed), seed % 2 == 1, true);
            let is_masked = |event: &&ChatEvent| event.to_line().contains("[masked: word]");
            n_masked += log.iter().filter(is_masked).count();
            for difference in differences(&told(&all_masked(&log)), &wanted) {
                wrong.push(format!("{} seed {seed}: {difference}", run.name));
            }
        }
    }
    let n = wrong.len();
    wrong.truncate(60);
    assert!(wrong.is_empty(), "{n} differences:\n{}", wrong.join("\n"));
    assert!(n_masked > 100, "{n_masked}");
}

/// Who tells what another told before says that the session is over once more, if it said anything at all.
#[test]
fn a_log_that_went_on_behind_its_end_has_one_more() {
    let end = |id: &str| ChatEvent {
        turn_id: None,
        ..event(id, "", "session_end", r#"{"reason":"x"}"#)
    };
    let said =
        |id: &str, text: &str| event(id, "t", "user_message", &format!(r#"{{"text":"{text}"}}"#));
    for (text, ids) in [("one", &[][..]), ("other", &["o1", "o2"])] {
        let mut new = Vec::new();
        let mut merge = Merge::beside_log();
        merge.take(Merge::LOG, said("l1", "one"), &mut new);
        merge.take(Merge::LOG, end("l2"), &mut new);
        merge.take(Merge::OWN, said("o1", text), &mut new);
        merge.take(Merge::OWN, end("o2"), &mut new);
        merge.end(Merge::LOG, &mut new);
        merge.finish(&mut new);
        let found: Vec<&str> = new.iter().map(|event| event.id.as_str()).collect();
        assert_eq!(found, ids);
    }
}

/// A file says nothing of the end of its turn: that it rests is known to who is left alone with it.
#[test]
fn a_session_rests_once_nobody_is_left_who_knows_better() {
    let start = |id: &str| event(id, "t1", "turn_start", r#"{"trigger":"user"}"#);
    let idle = |id: &str| {
        event(
            id,
            "t1",
            "session_status",
            r#"{"status":"idle","guessed":true}"#,
        )
    };
    let ids = |new: &[ChatEvent]| new.iter().map(|event| event.id.clone()).collect::<Vec<_>>();
    for ends_first in [true, false] {
        let mut new = Vec::new();
        let mut merge = Merge::beside_log();
        merge.take(Merge::LOG, start("l1"), &mut new);
        merge.take(Merge::OWN, start("o1"), &mut new);
        if ends_first {
            merge.end(Merge::LOG, &mut new);
        }
        merge.take(Merge::OWN, idle("o2"), &mut new);
        let told: &[&str] = if ends_first { &["o2"] } else { &[] };
        assert_eq!(ids(&new), told);
        merge.end(Merge::LOG, &mut new);
        assert_eq!(ids(&new), ["o2"]);
    }
    // It went on meanwhile.
    let busy = event("o3", "t1", "session_status", r#"{"status":"busy"}"#);
    let mut new = Vec::new();
    let mut merge = Merge::beside_log();
    merge.take(Merge::LOG, start("l1"), &mut new);
    merge.take(
        Merge::LOG,
        ChatEvent {
            id: "l2".to_owned(),
            ..busy.clone()
        },
        &mut new,
    );
    merge.take(Merge::OWN, start("o1"), &mut new);
    merge.take(Merge::OWN, idle("o2"), &mut new);
    merge.take(Merge::OWN, busy, &mut new);
    merge.end(Merge::LOG, &mut new);
    assert!(new.is_empty(), "{new:?}");
}

/// As a file tells last what was used, and the pipe beside it has told the end by then.
#[test]
fn figures_that_come_behind_a_sessions_end_want_no_second_one() {
    let end = |id: &str| ChatEvent {
        turn_id: None,
        ..event(id, "", "session_end", r#"{"reason":"x"}"#)
    };
    let usage = r#"{"scope":"session","cumulative":true,"inputTokens":1,"outputTokens":1}"#;
    for is_in_log in [false, true] {
        let mut new = Vec::new();
        let mut merge = Merge::beside_log();
        merge.take(Merge::LOG, end("l1"), &mut new);
        if is_in_log {
            merge.take(Merge::LOG, event("o1", "t", "usage", usage), &mut new);
        }
        merge.take(Merge::OWN, event("o1", "t", "usage", usage), &mut new);
        merge.take(Merge::OWN, end("o2"), &mut new);
        merge.end(Merge::LOG, &mut new);
        merge.finish(&mut new);
        let found: Vec<&str> = new.iter().map(|event| event.id.as_str()).collect();
        assert_eq!(found, if is_in_log { &[][..] } else { &["o1"] });
    }
}

/// As a file's last line says once more in which mode it was: that is no run that another end could be of.
#[test]
fn facts_of_before_that_come_behind_a_sessions_end_want_no_second_one() {
    let told = |at_ms: i64, id: &str, kind: &str, payload: &str| ChatEvent {
        turn_id: None,
        timestamp: Some(at_ms),
        ..event(id, "", kind, payload)
    };
    for (at_ms, ids) in [(90, &["o1"][..]), (110, &["o1", "o2"])] {
        let mut new = Vec::new();
        let mut merge = Merge::beside_log();
        let end = r#"{"reason":"x"}"#;
        merge.take(Merge::LOG, told(100, "l1", "session_end", end), &mut new);
        let facts = r#"{"provider":"claude-code","mode":"normal"}"#;
        merge.take(
            Merge::OWN,
            told(at_ms, "o1", "session_start", facts),
            &mut new,
        );
        merge.take(Merge::OWN, told(at_ms, "o2", "session_end", end), &mut new);
        merge.end(Merge::LOG, &mut new);
        merge.finish(&mut new);
        let found: Vec<&str> = new.iter().map(|event| event.id.as_str()).collect();
        assert_eq!(found, ids, "at {at_ms}");
    }
}

/// An agent went on by itself when something in the background was over; then the session is taken up again, and the pipe is
/// first to tell what was asked.
#[test]
fn what_a_user_asks_is_none_of_what_was_over_and_nobody_asked_for() {
    let at = |at_ms: i64, id: &str, turn: &str, kind: &str, payload: &str| ChatEvent {
        timestamp: Some(at_ms),
        ..event(id, turn, kind, payload)
    };
    let user = r#"{"trigger":"user"}"#;
    let log = [
        at(0, "l1", "t1", "turn_start", user),
        at(0, "l2", "t1", "user_message", r#"{"text":"one"}"#),
        at(50, "l3", "t1", "turn_end", "{}"),
        at(60, "l4", "t2", "turn_start", r#"{"trigger":"system"}"#),
        at(100, "l5", "t2", "turn_end", "{}"),
    ];
    let own = |began_ms: i64| {
        let chunk = r#"{"toolCallId":"c","toolName":"Bash","chunk":"{","offset":0}"#;
        [
            at(began_ms, "o1", "turn-1", "turn_start", user),
            at(
                began_ms,
                "o2",
                "turn-1",
                "user_message",
                r#"{"text":"two"}"#,
            ),
            at(began_ms, "o3", "turn-1", "tool_input_chunk", chunk),
        ]
    };
    // Who does not know the user's words took the turn for one that nobody asked for: it is the same one then.
    for (began_ms, turn) in [(5_000, "turn-1"), (60, "t2")] {
        let mut new = Vec::new();
        let mut merge = Merge::beside_log();
        for event in log.clone() {
            merge.take(Merge::LOG, event, &mut new);
        }
        for event in own(began_ms) {
            merge.take(Merge::OWN, event, &mut new);
        }
        let said = new.iter().find(|event| event.id == "o2").unwrap();
        assert_eq!(said.turn_id.as_deref(), Some(turn), "{began_ms}: {new:?}");
    }
}

/// As a stream says that a file was read, and the agent's own file what stood in it.
#[test]
fn a_result_without_what_its_call_gave_gives_way_to_one_with_it() {
    let result = |id: &str, gave: &str| {
        let payload = format!(r#"{{"toolCallId":"c","result":{gave}}}"#);
        event(id, "t", "tool_result", &payload)
    };
    let (bare, full) = (result("b", "null"), result("f", r#""text""#));
    for (first, then, ids) in [(&bare, &full, &["b", "f"][..]), (&full, &bare, &["f"])] {
        let mut new = Vec::new();
        let mut merge = Merge::new(2);
        merge.take(0, first.clone(), &mut new);
        merge.take(1, then.clone(), &mut new);
        merge.finish(&mut new);
        let found: Vec<&str> = new.iter().map(|event| event.id.as_str()).collect();
        assert_eq!(found, ids);
    }
}

/// Of one sum, one source says how large the context is and the other not.
#[test]
fn a_sum_is_told_once_and_what_is_known_of_the_context_beside_it() {
    let sum = |tokens: u64, more: &str| {
        format!(
            r#"{{"scope":"session","cumulative":true,"inputTokens":{tokens},"outputTokens":1,"costUsd":0.5{more}}}"#
        )
    };
    let size = r#","contextSize":200000,"model":"m""#;
    for first_knows in [true, false] {
        let (first, second) = if first_knows { (size, "") } else { ("", size) };
        let mut new = Vec::new();
        let mut merge = Merge::beside_log();
        for (n, tokens) in [10, 30].into_iter().enumerate() {
            let usage = sum(tokens, first);
            merge.take(
                Merge::LOG,
                event(&format!("l{n}"), "t", "usage", &usage),
                &mut new,
            );
        }
        for (n, tokens) in [10, 30].into_iter().enumerate() {
            let usage = sum(tokens, second);
            merge.take(
                Merge::OWN,
                event(&format!("o{n}"), "t", "usage", &usage),
                &mut new,
            );
        }
        let told: Vec<_> = new
            .iter()
            .map(|event| match &event.payload {
                Payload::Usage(usage) => (usage.input_tokens, usage.cost_usd, usage.context_size),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = if first_knows {
            vec![]
        } else {
            vec![(0, None, Some(200_000))]
        };
        assert_eq!(told, expected);
    }
}
