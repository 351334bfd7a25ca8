use chat_event::payload::TurnEnd;
use chat_event::{ChatEvent, Payload};
use chat_store::{Options, PageRequest, SessionId, Store, SyncPolicy};

use super::*;

fn publish(live: &Arc<Live>, list: &List, n_events: u64) {
    let head = live.position().1;
    let events = (head + 1..=head + n_events)
        .map(|n| {
            let payload: Payload = TurnEnd::default().into();
            ChatEvent::new(format!("e{n}"), 1, "s1", payload)
        })
        .collect();
    let appended = live.session.append(events, false, 1).unwrap();
    let stored = appended.stored.into_iter().map(Told::new).collect();
    live.publish(&appended.epoch, stored, appended.summary, list);
}

#[test]
fn a_frame_is_encoded_once_for_all_who_are_sent_it() {
    let dir = tempfile::tempdir().unwrap();
    let sync = SyncPolicy::Never;
    let store = Store::open(
        dir.path(),
        Options {
            sync,
            ..Options::default()
        },
    )
    .unwrap();
    let session = store.session_or_new(&SessionId::parse("s1").unwrap());
    let list = List::default();
    let live = Arc::new(Live::new(session.unwrap(), &list, &Rings::new(1 << 20)));
    let following = live.follow();
    let (epoch, ..) = live.position();
    let frame = |seq| match live.next(&epoch, seq) {
        Next::Events(frame) => frame,
        other => panic!("{other:?}"),
    };
    for batch in 0..3 {
        publish(&live, &list, 5);
        let first = frame(batch * 5);
        let text = first.for_sub(1);
        for _ in 0..1000 {
            let other = frame(batch * 5);
            assert!(Arc::ptr_eq(&first, &other));
            // The bytes are the same ones, not others that are equal.
            assert_eq!(text.as_ptr(), other.for_sub(1).as_ptr());
        }
        assert_ne!(first.for_sub(2), text);
    }
    // One that is behind gets all of it in a frame of its own.
    assert_eq!(frame(4).to, 15);
    drop(following);
    assert!(!live.reaches(4), "nobody follows, and nothing is kept");
}

#[test]
fn all_rings_together_have_one_bound_and_the_quietest_go_first() {
    const MOST: usize = 1 << 20;
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        sync: SyncPolicy::Never,
        ..Options::default()
    };
    let store = Store::open(dir.path(), options).unwrap();
    let list = List::default();
    let rings = Rings::new(MOST);
    let sessions: Vec<_> = (0..50)
        .map(|n| {
            let session = store.session_or_new(&SessionId::parse(&format!("s{n}")).unwrap());
            let live = Arc::new(Live::new(session.unwrap(), &list, &rings));
            let following = live.follow();
            (live, following)
        })
        .collect();
    let first = |live: &Arc<Live>| live.next(&live.position().0, 0);
    let mut n_shared = 0;
    for (at, (live, _)) in sessions.iter().enumerate() {
        publish(live, &list, 100);
        // Frames count, too.
        assert!(matches!(first(live), Next::Events(_)));
        let (held, most, _) = rings.figures();
        assert!(held <= most, "{held} of {most} after {at}");
        n_shared += usize::from(at > 0 && live.ring().events > 0);
        // One that is never quiet keeps its own.
        publish(&sessions[0].0, &list, 1);
        assert!(matches!(first(&sessions[0].0), Next::Events(_)), "{at}");
    }
    assert_eq!(n_shared, 49, "who is told something has it in memory");
    let kept: Vec<bool> = sessions
        .iter()
        .map(|(live, _)| live.ring().events > 0)
        .collect();
    let n_gone = kept[1..].iter().position(|kept| *kept).unwrap();
    assert!(
        n_gone > 10 && kept[1 + n_gone..].iter().all(|kept| *kept),
        "{kept:?}"
    );
    assert_eq!(rings.figures().2, n_gone as u64);
    // Who is behind reads the log; who is not, notices nothing.
    let (gone, _) = &sessions[1];
    let Next::Lag { head: 100 } = first(gone) else {
        panic!("its ring went");
    };
    assert!(matches!(gone.next(&gone.position().0, 100), Next::Nothing));
    let request = PageRequest {
        after: 0,
        limit: 1000,
        max_bytes: 1 << 20,
    };
    assert_eq!(gone.session.page(request).unwrap().lines.len(), 100);
    publish(gone, &list, 1);
    let epoch = gone.position().0;
    assert!(matches!(gone.next(&epoch, 100), Next::Events(frame) if frame.to == 101));
    drop(sessions);
    assert_eq!(rings.figures().0, 0, "nobody follows, and nothing is held");
}
