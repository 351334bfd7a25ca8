//! Bytes to events: what an agent's output means, at the time at which it came.

use std::time::{Duration, Instant};

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Dialect, SessionReader};

use super::Outcome;
use super::held::{Held, TRY_EVERY};
use crate::queue::Popped;
use crate::unread::UnreadLines;

/// After this long without input, a session whose format does not say when a turn ends is taken to be idle.
const QUIET: Duration = Duration::from_secs(10);

/// A first event older than this was not made just now.
const RECENT_MS: i64 = 60_000;

/// Changes events before they are kept, as secrets are masked.
pub trait Rewrite: Send {
    /// What is kept of the next event, and of others that are told by now.
    fn push(&mut self, event: ChatEvent) -> Vec<ChatEvent>;

    /// What waits for more, where nothing came for a while.
    fn pause(&mut self) -> Vec<ChatEvent>;

    /// What waits for more, where there is none.
    fn finish(&mut self) -> Vec<ChatEvent>;
}

/// Who reads the bytes, and what becomes of what they say.
pub(super) struct Reading {
    pub(super) reader: SessionReader,
    /// Whether somebody waits for the answers to what the agent asks.
    pub(super) takes_answers: bool,
    pub(super) rewrite: Option<Box<dyn Rewrite>>,
}

/// Keeps events that a source of a dialect tells.
pub(super) type Keep<'a> = dyn FnMut(Option<Dialect>, &[ChatEvent]) -> Result<(), String> + 'a;

/// What is done at the end of the input where events could not be kept.
pub(super) struct AtEnd<'a> {
    /// So long it is waited for room.
    pub(super) wait: Duration,
    pub(super) rest: &'a dyn Fn(Duration),
    /// Whether it is not to be waited any longer.
    pub(super) is_stopped: &'a dyn Fn() -> bool,
}

/// Bytes to events, events to where they are kept. Events have the time of the clock on the wall; what is waited for goes
/// by `now`, which nobody sets.
pub(super) fn read(
    reading: Reading,
    next: &mut dyn FnMut(Duration) -> std::io::Result<Popped>,
    now_ms: &dyn Fn() -> i64,
    now: &dyn Fn() -> Instant,
    keep: &mut Keep<'_>,
    at_end: &AtEnd<'_>,
) -> Outcome {
    let Reading {
        mut reader,
        takes_answers,
        mut rewrite,
    } = reading;
    let mut outcome = Outcome::default();
    let mut held = Held::default();
    let mut came = false;
    let mut timed = false;
    let mut unread = UnreadLines::default();
    let mut events: Vec<ChatEvent> = Vec::new();
    loop {
        let mut is_quiet = false;
        let result = match next(QUIET) {
            Ok(Popped::Nothing) => {
                is_quiet = true;
                reader.quiet(now_ms(), &mut events);
                Some(Ok(()))
            }
            Ok(Popped::Closed) => None,
            Ok(Popped::Piece { bytes, arrival_ms }) => {
                came = true;
                held.note_input(bytes.len());
                if outcome.not_a_session.is_some() {
                    continue;
                }
                let pushed = reader.push(&bytes, arrival_ms, &mut events);
                if !timed {
                    timed = time_the_first(&mut events, arrival_ms);
                }
                Some(pushed)
            }
            Err(why) => {
                outcome
                    .notes
                    .push(format!("could not read what was set aside: {why}"));
                None
            }
        };
        let is_over = result.is_none();
        let result = match result {
            Some(result) => result,
            None if outcome.not_a_session.is_some() => Ok(()),
            None if !came => {
                outcome.not_a_session = Some("the input ended before anything came".to_owned());
                Ok(())
            }
            None => reader.finish(now_ms(), &mut events),
        };
        if let Err(why) = result {
            outcome.not_a_session = Some(why.to_string());
        }
        outcome.events += events.len() as u64;
        unread.note(&events, None);
        // Who writes ChatEvents says by itself what can be answered.
        if !takes_answers && reader.dialect() != Some(Dialect::ChatEvents) {
            events.iter_mut().for_each(is_answered_elsewhere);
        }
        if let Some(rewrite) = &mut rewrite {
            let new = std::mem::take(&mut events).into_iter();
            events = new.flat_map(|event| rewrite.push(event)).collect();
            if is_over {
                events.extend(rewrite.finish());
            } else if is_quiet {
                events.extend(rewrite.pause());
            }
        }
        let mut keep = |events: &[ChatEvent]| keep(reader.dialect(), events);
        held.keep(&mut events, now(), false, &mut keep);
        if is_over {
            // Others may make room, as they may while it goes on.
            let begun = now();
            while held.waits() {
                let is_last = now().duration_since(begun) >= at_end.wait || (at_end.is_stopped)();
                if !is_last {
                    (at_end.rest)(TRY_EVERY);
                }
                held.keep(&mut events, now(), is_last, &mut keep);
            }
            break;
        }
    }
    outcome
        .notes
        .extend(unread.sentence(reader.report().unreadable));
    outcome.notes.extend(reader.misread());
    outcome.lost = held.n_lost() as u64;
    outcome.notes.extend(held.said());
    outcome
}

/// The first lines of a file may have no time, as the names of Claude Code's sessions: they bear that of their arrival
/// then, and the session would go on from now to long ago. They get the time of the first that has one. Whether one had.
fn time_the_first(events: &mut [ChatEvent], arrival_ms: i64) -> bool {
    let own = |event: &ChatEvent| event.timestamp.filter(|&at_ms| at_ms != arrival_ms);
    let Some((at, first_ms)) = events
        .iter()
        .enumerate()
        .find_map(|(at, event)| Some((at, own(event)?)))
    else {
        return false;
    };
    // What is new has its arrival for its time, near enough.
    if first_ms < arrival_ms - RECENT_MS {
        for event in &mut events[..at] {
            event.timestamp = Some(first_ms);
        }
    }
    true
}

/// Answers go against the stream: what asks here would wait for ever for one that is given anywhere else.
fn is_answered_elsewhere(event: &mut ChatEvent) {
    match &mut event.payload {
        Payload::PermissionRequest(it) => it.answerable = Some(false),
        Payload::QuestionRequest(it) => it.answerable = Some(false),
        _ => {}
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]
mod tests {
    use std::cell::Cell;

    use chat_normalize::Context;

    use super::*;

    const STEP: &str = r#"{"type":"step_start","timestamp":1000,"sessionID":"ses_1","part":{"id":"prt_1","messageID":"msg_1","sessionID":"ses_1","type":"step-start"}}
{"type":"text","timestamp":1001,"sessionID":"ses_1","part":{"id":"prt_2","messageID":"msg_1","sessionID":"ses_1","type":"text","text":"Done.","time":{"start":1000,"end":1001}}}
"#;

    const AT_ONCE: AtEnd<'_> = AtEnd {
        wait: Duration::ZERO,
        rest: &|_| (),
        is_stopped: &|| false,
    };

    fn told_by(reader: SessionReader) -> Reading {
        Reading {
            reader,
            takes_answers: false,
            rewrite: None,
        }
    }

    /// What is said of busy and idle, and when, for pieces of input and quiet periods (`None`).
    fn said(dialect: Dialect, input: &[Option<&str>]) -> Vec<(i64, String, bool)> {
        let clock = Cell::new(5_000);
        let mut input = input.iter();
        let mut next = |timeout: Duration| {
            Ok(match input.next() {
                Some(Some(text)) => Popped::Piece {
                    bytes: text.as_bytes().to_vec(),
                    arrival_ms: clock.get(),
                },
                Some(None) => {
                    clock.set(clock.get() + i64::try_from(timeout.as_millis()).unwrap());
                    Popped::Nothing
                }
                None => Popped::Closed,
            })
        };
        let mut said = Vec::new();
        let mut keep = |_: Option<Dialect>, events: &[ChatEvent]| {
            for event in events {
                if let Payload::SessionStatus(status) = &event.payload {
                    let guessed = status.guessed == Some(true);
                    let at = event.timestamp.unwrap_or(0);
                    said.push((at, status.status.clone(), guessed));
                }
            }
            Ok(())
        };
        let reader = SessionReader::with_dialect(Context::default(), dialect);
        read(
            told_by(reader),
            &mut next,
            &|| clock.get(),
            &Instant::now,
            &mut keep,
            &AT_ONCE,
        );
        said
    }

    /// The end of the step, and why it ended.
    fn finished(reason: &str, at_ms: i64) -> String {
        format!(
            r#"{{"type":"step_finish","timestamp":{at_ms},"sessionID":"ses_1","part":{{"id":"prt_9","messageID":"msg_1","sessionID":"ses_1","type":"step-finish","reason":"{reason}","cost":0,"tokens":{{"input":1,"output":1}}}}}}"#
        ) + "\n"
    }

    #[test]
    fn a_quiet_period_tells_the_end_of_a_turn_where_nothing_else_does() {
        let step = format!("{STEP}{}", finished("stop", 1_002));
        let more = STEP.replace("prt_2", "prt_3").replace("1001", "30000");
        let more = format!(
            "{more}{}",
            finished("stop", 30_001).replace("prt_9", "prt_8")
        );
        let input = [Some(step.as_str()), None, None, None, Some(&more)];
        assert_eq!(
            said(Dialect::OpenCodeRun, &input),
            [
                (1000, "busy".to_owned(), false),
                (15_000, "idle".to_owned(), true),
                (30_000, "busy".to_owned(), false),
                (30_001, "idle".to_owned(), false),
            ]
        );
    }

    #[test]
    fn a_step_that_has_begun_or_ended_with_calls_goes_on() {
        let calls = format!("{STEP}{}", finished("tool-calls", 1_002));
        for input in [STEP, &calls] {
            let said = said(Dialect::OpenCodeRun, &[Some(input), None, None]);
            let said: Vec<&str> = said.iter().map(|(_, status, _)| status.as_str()).collect();
            assert_eq!(said, ["busy", "idle"], "only at its end");
        }
    }

    #[test]
    fn what_cannot_be_kept_is_held_until_it_can() {
        for (room_at, wait) in [(1, 0), (2, 0), (4, 0), (9, 0), (9, 60), (90, 60)] {
            let clock = Cell::new(0);
            let now = Cell::new(Instant::now());
            let lines = (1..5).map(|n| {
                format!(r#"{{"id":"e{n}","timestamp":1,"sessionId":"s","type":"turn_end","payload":{{}}}}"#)
                    + "\n"
            });
            let mut lines = lines.collect::<Vec<_>>().into_iter();
            let mut next = |_: Duration| {
                now.set(now.get() + TRY_EVERY);
                // Somebody sets the clock on the wall back.
                clock.set(clock.get() - 3_600_000);
                Ok(match lines.next() {
                    Some(line) => Popped::Piece {
                        bytes: line.into_bytes(),
                        arrival_ms: clock.get(),
                    },
                    None => Popped::Closed,
                })
            };
            let mut n_tries = 0;
            let mut kept = Vec::new();
            let mut keep = |_: Option<Dialect>, events: &[ChatEvent]| {
                n_tries += 1;
                if n_tries < room_at {
                    return Err("no space left".to_owned());
                }
                kept.extend(events.iter().map(|event| event.id.clone()));
                Ok(())
            };
            let reader = SessionReader::with_dialect(Context::default(), Dialect::ChatEvents);
            let outcome = read(
                told_by(reader),
                &mut next,
                &|| clock.get(),
                &|| now.get(),
                &mut keep,
                &AtEnd {
                    wait: Duration::from_secs(wait),
                    rest: &|pause| now.set(now.get() + pause),
                    is_stopped: &|| false,
                },
            );
            let lost = (room_at > 4 && wait == 0) || room_at == 90;
            assert_eq!(outcome.lost, if lost { 4 } else { 0 });
            let (ids, notes): (&[&str], &[&str]) = match lost {
                true => (&[], &["4 events are not in the session: no space left"]),
                false => (&["e1", "e2", "e3", "e4"], &[]),
            };
            assert_eq!(
                (&kept[..], &outcome.notes[..]),
                (ids_of(ids).as_slice(), ids_of(notes).as_slice())
            );
        }
    }

    fn ids_of(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn first_lines_without_a_time_get_that_of_the_first_that_has_one() {
        let named = r#"{"type":"summary","summary":"A name","leafUuid":"u1"}"#;
        let asked = r#"{"type":"user","uuid":"u1","sessionId":"s","timestamp":"2025-09-03T00:52:31.217Z","message":{"role":"user","content":"Hello"}}"#;
        let mut pieces = vec![format!("{named}\n{asked}\n").into_bytes()].into_iter();
        let mut next = |_: Duration| {
            Ok(match pieces.next() {
                Some(bytes) => Popped::Piece {
                    bytes,
                    arrival_ms: 1_795_697_824_523,
                },
                None => Popped::Closed,
            })
        };
        let mut times = Vec::new();
        let mut keep = |_: Option<Dialect>, events: &[ChatEvent]| {
            times.extend(events.iter().map(|event| event.timestamp));
            Ok(())
        };
        let reader = SessionReader::new(Context::default());
        read(
            told_by(reader),
            &mut next,
            &|| 1_795_697_824_523,
            &Instant::now,
            &mut keep,
            &AT_ONCE,
        );
        assert!(times.len() > 3, "{times:?}");
        assert!(
            times.iter().all(|at| *at == Some(1_756_860_751_217)),
            "{times:?}"
        );
    }

    #[test]
    fn a_format_that_says_when_a_turn_ends_is_waited_for() {
        let begun =
            "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n{\"type\":\"turn.started\"}\n";
        let said = said(Dialect::CodexExec, &[Some(begun), None, None]);
        let said: Vec<&str> = said.iter().map(|(_, status, _)| status.as_str()).collect();
        assert_eq!(said, ["busy", "idle"]);
    }
}
