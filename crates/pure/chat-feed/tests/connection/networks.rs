//! Networks that go, come back, or let no socket through.

use chat_event::frame::{Head, ServerFrame};
use chat_feed::connection::{Input, Status};

use super::{Network, Socket, World, shown};

#[test]
fn without_a_network_a_server_on_this_machine_is_found_again() {
    let mut world = World::new();
    world.head = 3;
    world.settle();
    world.input(Input::Online(false));
    world.network = Network::Dead;
    world.cut();
    let pass = |world: &mut World| {
        for _ in 0..2_000 {
            world.publish(10);
            world.deliver();
            world.pass(50.0);
        }
    };
    pass(&mut world);
    assert!(matches!(world.told.last(), Some(Status::Offline)));
    world.head = 5;
    world.network = Network::Good;
    pass(&mut world);
    let wanted: Vec<String> = (1..=5).map(|seq| shown(world.epoch, seq)).collect();
    assert_eq!(world.here, wanted);
}

#[test]
fn without_sockets_pages_are_read_and_a_socket_is_taken_when_it_can_be_had() {
    let mut world = World::new();
    world.network = Network::NoSockets;
    for _ in 0..400 {
        world.pass(100.0);
    }
    assert_eq!(world.told.last(), Some(&Status::Polling));
    world.head = 7;
    for _ in 0..30 {
        world.pass(100.0);
    }
    assert_eq!(world.here.len(), 7);
    world.settle();
}

#[test]
fn without_sockets_answers_are_offered_as_pages_say() {
    let mut world = World::new();
    world.network = Network::NoSockets;
    world.grants = vec!["answer".to_owned()];
    for _ in 0..400 {
        world.pass(100.0);
    }
    assert_eq!(world.told.last(), Some(&Status::Polling));
    assert_eq!(world.may_answer, [true]);
}

#[test]
fn a_network_that_is_back_has_the_socket_asked_at_once() {
    let mut world = World::new();
    world.settle();
    let now_ms = world.now_ms;
    let silent_ms = world.follower.due_ms(now_ms);
    world.input(Input::Online(false));
    world.input(Input::Online(true));
    let due_ms = world.follower.due_ms(now_ms);
    assert!(due_ms < silent_ms, "{due_ms:?} {silent_ms:?}");
}

#[test]
fn a_page_that_was_asked_for_over_a_network_that_went_is_asked_for_again() {
    let mut world = World::new();
    world.page = None;
    world.input(Input::Online(false));
    assert!(world.page.is_none());
    world.input(Input::Online(true));
    assert!(world.page.is_some());
    world.page = None;
    world.input(Input::Online(true));
    assert!(world.page.is_none(), "the network was there");
    world.input(Input::Online(false));
    world.head = 30;
    world.settle();
}

/// Where nothing else comes that would tell that it was lost.
#[test]
fn so_is_one_that_is_asked_for_without_a_socket_or_a_session() {
    for network in [Network::NoSockets, Network::NoSession] {
        let mut world = World::new();
        world.network = network;
        for _ in 0..400 {
            world.pass(100.0);
        }
        for _ in 0..4_000 {
            if world.page.is_some() {
                break;
            }
            world.pass(10.0);
        }
        assert!(
            world.page.take().is_some(),
            "it is asked for from time to time"
        );
        world.input(Input::Online(false));
        world.pass(60_000.0);
        assert!(world.page.is_none());
        world.input(Input::Online(true));
        assert!(world.page.is_some());
        world.settle();
    }
}

#[test]
fn a_silent_socket_is_given_up_and_a_woken_page_asks_at_once() {
    let mut world = World::new();
    world.settle();
    let Socket::Following { sub, .. } = world.socket else {
        panic!("{:?}", world.socket)
    };
    world.input(Input::Frame(ServerFrame::Hb(Head { sub, head: 0 })));
    world.pass(34_000.0);
    assert!(matches!(world.socket, Socket::Following { .. }));
    world.pass(1_500.0);
    assert!(matches!(world.socket, Socket::None));
    world.settle();
    world.input(Input::Hidden(true));
    world.input(Input::Hidden(false));
    world.pass(3_100.0);
    assert!(matches!(world.socket, Socket::None), "no pong for 3 s");
}

/// A socket that fell behind is subscribed to anew, and may be silent from then on.
#[test]
fn a_ping_that_nothing_answers_is_not_waited_for_again_and_again() {
    let mut world = World::new();
    world.pass(700.0);
    world.pass(40.0);
    let Socket::Following { sub, .. } = world.socket else {
        panic!("{:?}", world.socket);
    };
    world
        .frames
        .push_back(ServerFrame::Lag(Head { sub, head: 0 }));
    world.socket = Socket::Open;
    world.deliver();
    world.deliver();
    world.input(Input::Hidden(false));
    world.pass(40.0);
    assert!(matches!(world.socket, Socket::Following { .. }));
    world.pass(3_300.0);
    world.head = 3;
    world.settle();
}
