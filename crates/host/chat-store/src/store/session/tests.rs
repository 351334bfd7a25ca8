use std::ops::ControlFlow;

use chat_event::payload::AssistantDone;

use super::*;
use crate::{ItemResult, Options, Store};

fn done(n: u64) -> ChatEvent {
    let payload = AssistantDone::default();
    ChatEvent::new(format!("e{n}"), 1, "s1", payload)
}

fn numbers(session: &Session) -> Vec<u64> {
    let mut numbers = Vec::new();
    let mut visit = |seq, _: &str| {
        numbers.push(seq);
        ControlFlow::Continue(())
    };
    session.walk(0, &mut visit).unwrap();
    numbers
}

#[test]
fn a_log_that_a_panic_left_half_changed_is_read_anew_and_others_are_untouched() {
    for sync in [
        SyncPolicy::Always,
        SyncPolicy::EverySecond,
        SyncPolicy::Never,
    ] {
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            sync,
            ..Options::default()
        };
        let store = Store::open(dir.path(), options).unwrap();
        let [session, other] = ["s1", "s2"].map(|id| {
            store
                .session_or_new(&SessionId::parse(id).unwrap())
                .unwrap()
        });
        session
            .append((1..=5).map(done).collect(), false, 1)
            .unwrap();
        other.append((1..=5).map(done).collect(), false, 1).unwrap();
        let before = session.position();
        // A batch is written, and what is known of the log is changed by half when its task fails.
        let failing = || {
            session.with(&session.store().unwrap(), |log| -> Result<(), Error> {
                log.fail_half_way(done(6))
            })
        };
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(failing));
        assert!(failed.is_err());
        // Whoever looks first finds what the log has.
        assert_eq!(session.position(), (before.0.clone(), 6));
        assert_eq!(session.summary().events, 6);
        assert_eq!(numbers(&session), [1, 2, 3, 4, 5, 6]);
        // What was written is stored once, also where it is sent again; and it goes on.
        let again = session
            .append((6..=8).map(done).collect(), false, 1)
            .unwrap();
        assert_eq!(again.results[0], ItemResult::Duplicate { seq: 6 });
        assert_eq!(again.epoch, before.0);
        assert_eq!(numbers(&session), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(session.damaged_lines(), 0);
        assert!(session.condition().degraded.is_none());
        assert_eq!(numbers(&other), [1, 2, 3, 4, 5]);
        drop((session, other, store));
        let store = Store::open(dir.path(), options).unwrap();
        let session = store.session(&SessionId::parse("s1").unwrap()).unwrap();
        assert_eq!(numbers(&session), [1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
