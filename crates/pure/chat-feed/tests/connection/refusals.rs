//! What a server refuses, has not, or has no time for.

use chat_event::frame::{Problem, ServerFrame};
use chat_feed::connection::{Failure, Input, Loss, PageError, Status};

use super::{Network, Socket, World, no_page};

#[test]
fn what_cannot_be_opened_now_is_opened_when_the_server_says() {
    let mut world = World::new();
    while !matches!(world.socket, Socket::Following { .. }) {
        world.pass(20.0);
    }
    let Socket::Following { sub, .. } = world.socket else {
        return;
    };
    world.frames.clear();
    world.input(Input::Frame(ServerFrame::Err(Problem {
        sub: Some(sub),
        code: "overloaded".to_owned(),
        msg: "too much is being fetched".to_owned(),
        fatal: false,
        retry_after_ms: Some(5_000),
    })));
    let told = world.told.last();
    let waits = matches!(
        told,
        Some(Status::Reconnecting {
            seconds: 5..,
            why: Loss::Busy,
            ..
        })
    );
    assert!(waits, "{told:?}");
    world.settle();
}

#[test]
fn each_refusal_has_its_own_word_and_is_final() {
    for (code, failure) in [
        (400, Failure::BadName),
        (401, Failure::Unauthorized),
        (403, Failure::Forbidden),
        (426, Failure::Version),
    ] {
        let mut world = World::new();
        world.input(no_page(code));
        assert_eq!(world.stopped, Some(failure));
        assert_eq!(world.follower.due_ms(0.0), None);
    }
}

#[test]
fn a_session_that_has_not_begun_is_shown_when_it_begins() {
    let mut world = World::new();
    world.network = Network::NoSession;
    for _ in 0..600 {
        world.pass(100.0);
        assert!(world.follower.due_ms(world.now_ms).is_some() || world.page.is_some());
    }
    assert_eq!(world.stopped, Some(Failure::NoSession));
    world.head = 7;
    world.settle();
}

#[test]
fn a_session_that_is_gone_is_shown_when_it_is_back_and_its_answers_are_offered() {
    let mut world = World::new();
    world.grants = vec!["answer".to_owned()];
    world.head = 7;
    world.settle();
    world.network = Network::NoSession;
    world.cut();
    for _ in 0..100 {
        world.pass(100.0);
    }
    assert_eq!(world.stopped, Some(Failure::Gone));
    assert!(!world.here.is_empty(), "what was read stays");
    world.epoch += 1;
    world.head = 3;
    world.settle();
    assert_eq!(world.may_answer, [true, true]);
}

#[test]
fn what_is_not_there_is_asked_for_ever_less_often_and_at_once_by_who_comes_back() {
    let mut world = World::new();
    world.network = Network::NoSession;
    let mut asked_ms = Vec::new();
    for _ in 0..6_000 {
        let asked = world.page.is_some();
        world.pass(100.0);
        if world.page.is_some() && !asked {
            asked_ms.push(world.now_ms);
        }
    }
    let pauses: Vec<f64> = asked_ms.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(pauses.is_sorted(), "{pauses:?}");
    assert!(
        pauses[0] < 4_000.0 && pauses[pauses.len() - 1] > 29_000.0,
        "{pauses:?}"
    );
    world.input(Input::Hidden(true));
    world.pass(100.0);
    world.page = None;
    world.input(Input::Hidden(false));
    assert!(world.page.is_some());
    // The token is taken back meanwhile.
    world.stopped = None;
    world.input(no_page(401));
    assert_eq!(world.stopped, Some(Failure::Unauthorized));
    assert_eq!(world.follower.due_ms(world.now_ms), None);
}

#[test]
fn a_busy_server_is_waited_for_as_long_as_it_asks() {
    let mut world = World::new();
    world.input(Input::Page(Err(PageError::Status {
        code: 429,
        retry_after_ms: Some(5_000),
    })));
    let waits = matches!(
        world.told.last(),
        Some(Status::Reconnecting {
            seconds: 5..,
            why: Loss::Busy,
            ..
        })
    );
    assert!(waits, "{:?}", world.told);
    world.page = None;
    world.pass(4_900.0);
    assert!(world.page.is_none());
    world.pass(700.0);
    assert!(world.page.is_some());
}
