//! A home and its copy, side by side.

use std::ops::ControlFlow;
use std::sync::Arc;

use chat_store::{Copied, Gap, PageRequest, Session};

/// What the home is called.
pub(crate) const HOME: &str = "home-1";

/// A page that has all.
pub(crate) const ALL: PageRequest = PageRequest {
    after: 0,
    limit: usize::MAX,
    max_bytes: usize::MAX,
};

/// What a server tells of its log: so many events behind `after`.
pub(crate) fn copied(home: &Session, after: u64, limit: usize) -> Copied {
    copied_of(HOME, home, after, limit)
}

/// The same of the server of that name.
pub(crate) fn copied_of(name: &str, home: &Session, after: u64, limit: usize) -> Copied {
    let request = PageRequest {
        after,
        limit,
        ..ALL
    };
    let page = home.page(request).unwrap();
    Copied {
        home: name.to_owned(),
        epochs: home.epochs(),
        lines: page.lines,
        gaps: page.gaps,
    }
}

/// Copies what the copy lacks, in parts of so many events.
pub(crate) fn copy_all(home: &Session, copy: &Arc<Session>, limit: usize) {
    while copy.position() != home.position() {
        let (_, head) = copy.position();
        copy.append_copied(copied(home, head, limit)).unwrap();
        assert!(copy.position().1 > head || copy.position() == home.position());
    }
}

/// Whether the copy has what its home has lost, whose numbers are not given again. All else of the home's it must have.
pub(crate) fn has_more(home: &Session, copy: &Session) -> bool {
    let [there, here] = [home, copy].map(|session| session.page(ALL).unwrap().lines);
    assert!(there.iter().all(|line| here.contains(line)));
    here.len() > there.len()
}

/// Holds that whoever reads one of the two cannot tell it from the other.
pub(crate) fn same(home: &Session, copy: &Session) {
    let [one, other] = [home, copy].map(|session| session.page(ALL).unwrap());
    assert_eq!(one.lines, other.lines);
    assert_eq!((one.epoch, one.numbers), (other.epoch, other.numbers));
    assert_eq!((one.next, one.head), (other.next, other.head));
    assert_eq!((one.oldest, one.gaps), (other.oldest, other.gaps));
    assert_eq!(home.position(), copy.position());
    assert_eq!(home.oldest(), copy.oldest());
    assert_eq!(gaps(home), gaps(copy));
    assert_eq!(home.summary(), copy.summary());
    for line in &one.lines {
        let event = chat_event::ChatEvent::from_json(line).unwrap();
        let [one, other] = [home, copy].map(|it| it.event_whole(&event.id).unwrap());
        assert!(one.is_some());
        assert_eq!(one, other);
    }
}

/// Where events are missing, and whether it is in more places than are told.
pub(crate) fn gaps(session: &Session) -> (Vec<Gap>, bool) {
    session.gaps(99, &|| ControlFlow::Continue(())).unwrap()
}
