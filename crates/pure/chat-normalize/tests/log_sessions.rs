//! Sessions that share a log: each is found with its own lines, however the log is cut.

use chat_normalize::{LogSession, LogSessions};

fn found(log: &str, piece_bytes: usize) -> Vec<LogSession> {
    let mut sessions = LogSessions::default();
    for piece in log.as_bytes().chunks(piece_bytes) {
        sessions.push(piece);
    }
    sessions.finish()
}

/// The lines of each session, by its id.
fn lines_of(log: &str, piece_bytes: usize) -> Vec<(String, String)> {
    let sessions = found(log, piece_bytes).into_iter();
    let lines = sessions.map(|session| {
        let spans = session.spans.iter();
        let text = spans.map(|span| {
            let [from, to] = [span.start, span.end].map(|at| usize::try_from(at).unwrap_or(0));
            &log[from..to]
        });
        (session.session_id, text.collect::<String>())
    });
    lines.collect()
}

fn line(session: &str, text: &str) -> String {
    format!(
        "{{\"id\":\"e\",\"timestamp\":1,\"sessionId\":\"{session}\",\"type\":\"user_message\",\"payload\":{{\"text\":\"{text}\"}}}}\n"
    )
}

#[test]
fn each_session_has_its_own_lines_in_their_order() {
    let one = [line("one", "a"), line("one", "\\\"sessionId\\\":\\\"x\\\"")].concat();
    let other = [line("other", "c"), "no event\n".to_owned()].concat();
    let last = line("one", "d");
    let log = [one.as_str(), &other, last.trim_end()].concat();
    for piece_bytes in [1, 7, 1000] {
        let expected = [
            ("one".to_owned(), one.clone() + last.trim_end()),
            ("other".to_owned(), other.clone()),
        ];
        assert_eq!(lines_of(&log, piece_bytes), expected);
    }
    let counts: Vec<u64> = found(&log, 10)
        .iter()
        .map(|session| session.n_lines)
        .collect();
    assert_eq!(counts, [3, 2]);
}

#[test]
fn what_an_event_bears_names_no_session() {
    let raw = "{\"id\":\"e\",\"type\":\"raw\",\"payload\":{\"value\":{\"sessionId\":\"x\"}},\"sessionId\":\"one\"}\n";
    let log = [line("one", "a"), raw.to_owned(), "\n".to_owned()].concat();
    assert_eq!(lines_of(&log, 50), [("one".to_owned(), log.clone())]);
    assert_eq!(found("", 1), []);
    assert_eq!(found("no event at all\n", 3), []);
    // Written with spaces, and with something in front.
    let log = "note\n{\"sessionId\" : \"one\", \"payload\": {}}\n";
    assert_eq!(lines_of(log, 5), [("one".to_owned(), log.to_owned())]);
}

#[test]
fn sessions_that_alternate_all_the_time_are_left_as_they_are() {
    let log: String = (0..30_000)
        .map(|n| line(if n % 2 == 0 { "one" } else { "other" }, "x"))
        .collect();
    assert_eq!(found(&log, 100_000), []);
}

#[test]
fn a_log_of_too_many_sessions_is_given_up_and_not_searched_to_its_end() {
    let line = |n: usize| format!("{{\"sessionId\":\"{n:06}\"}}\n");
    let first: String = (0..10_001).map(line).collect();
    let last: String = (0..1_000_000).map(|n| line(9_000 + n % 1_000)).collect();
    let log = first + &last;
    let began = std::time::Instant::now();
    for piece_bytes in [100_000, log.len()] {
        assert_eq!(found(&log, piece_bytes), []);
    }
    // Far above what is measured, far below what a quadratic way needs.
    assert!(began.elapsed().as_secs() < 8, "{:?}", began.elapsed());
}
