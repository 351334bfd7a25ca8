//! What a follower promises, against a server and a network that do what they like: all is here, once and in order.
//! All of it is asked of the same made server and network; what a server refuses is in `refusals`, what a network does in
//! `networks`.

mod networks;
mod refusals;

use std::collections::VecDeque;

use chat_event::ChatEvent;
use chat_event::frame::{ClientFrame, Ev, Gap, Head, Hello, Open, Reset, Resume, ServerFrame};
use chat_event::payload::{Notice, SessionEnd, SessionStart, Usage};
use chat_feed::connection::{Command, Failure, Follower, Input, Page, PageError, Status};
use proptest::prelude::*;

fn event(epoch: usize, seq: u64) -> ChatEvent {
    let notice = Notice {
        text: format!("{epoch}.{seq}"),
        ..Notice::default()
    };
    let mut event = ChatEvent::new(format!("e{epoch}.{seq}"), 0, "s", notice);
    event.seq = Some(seq);
    event
}

/// Whether the log has lost the event of that number.
fn is_lost(seq: u64) -> bool {
    seq % 13 == 6
}

/// What a follower is to have of that number: the event, or a mark where it was.
fn shown(epoch: usize, seq: u64) -> String {
    match is_lost(seq) {
        true => format!("gap-{seq}"),
        false => event(epoch, seq).id,
    }
}

/// A server, a network and a follower, on one clock.
struct World {
    now_ms: f64,
    follower: Follower,
    epoch: usize,
    head: u64,
    /// What the server does with a request for a page that is under way.
    page: Option<(f64, u64, Option<String>)>,
    socket: Socket,
    frames: VecDeque<ServerFrame>,
    /// What was handed on since the last time all was forgotten.
    here: Vec<String>,
    told: Vec<Status>,
    stopped: Option<Failure>,
    n_caught_up: u32,
    network: Network,
    /// What the server says the token may do.
    grants: Vec<String>,
    may_answer: Vec<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Network {
    Good,
    NoSockets,
    Busy,
    Dead,
    /// The server answers, and has no such session.
    NoSession,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Socket {
    None,
    Asked(f64),
    Open,
    /// Open, with a subscription that was sent everything up to here.
    Following {
        sub: u64,
        sent: u64,
    },
}

impl World {
    fn new() -> Self {
        let mut world = World {
            now_ms: 0.0,
            follower: Follower::new("s"),
            epoch: 0,
            head: 0,
            page: None,
            socket: Socket::None,
            frames: VecDeque::new(),
            here: Vec::new(),
            told: Vec::new(),
            stopped: None,
            n_caught_up: 0,
            network: Network::Good,
            grants: Vec::new(),
            may_answer: Vec::new(),
        };
        world.input(Input::Start);
        world
    }

    fn epoch_name(&self) -> String {
        format!("epoch{}", self.epoch)
    }

    fn input(&mut self, input: Input) {
        let mut commands = Vec::new();
        let random = (self.now_ms * 0.618).fract();
        self.follower
            .step(self.now_ms, random, input, &mut commands);
        for command in commands {
            self.perform(command);
        }
    }

    fn perform(&mut self, command: Command) {
        match command {
            Command::Page { after, epoch } => self.page = Some((self.now_ms + 20.0, after, epoch)),
            Command::Connect => self.socket = Socket::Asked(self.now_ms + 20.0),
            Command::Disconnect => {
                self.socket = Socket::None;
                self.frames.clear();
            }
            Command::Send(ClientFrame::Open(open)) => self.opened(&open),
            Command::Send(_) => {}
            Command::Clear => {
                self.here.clear();
                self.told.clear();
                self.n_caught_up = 0;
                self.stopped = None;
            }
            Command::Hand(events) => self.here.extend(events.into_iter().map(|event| event.id)),
            Command::CaughtUp => {
                self.n_caught_up += 1;
                assert_eq!(self.n_caught_up, 1, "caught up is told once");
            }
            Command::Tell(status) => {
                assert_ne!(self.told.last(), Some(&status), "nothing is told twice");
                self.told.push(status);
            }
            Command::MayAnswer(may_answer) => self.may_answer.push(may_answer),
            Command::Stop(failure) => {
                assert_eq!(self.stopped, None, "why nothing comes is said once");
                self.stopped = Some(failure);
            }
        }
    }

    fn opened(&mut self, open: &Open) {
        let same = open
            .epoch
            .as_deref()
            .is_none_or(|epoch| epoch == self.epoch_name());
        let after = open.after.unwrap_or(0);
        let resume = match () {
            () if !same || after > self.head => Resume::Reset,
            () if self.head - after > 40 => Resume::Behind,
            () => Resume::Ok,
        };
        let sent = if resume == Resume::Ok {
            after
        } else {
            self.head
        };
        self.frames.push_back(ServerFrame::Hello(Hello {
            sub: open.sub,
            proto: 1,
            epoch: self.epoch_name(),
            head: self.head,
            resume,
            may: self.grants.clone(),
            ..Hello::default()
        }));
        self.socket = Socket::Following {
            sub: open.sub,
            sent,
        };
    }

    /// The server sends what it has, up to `most` events.
    fn publish(&mut self, most: u64) {
        let Socket::Following { sub, sent } = self.socket else {
            return;
        };
        let to = self.head.min(sent + most);
        if to <= sent {
            return;
        }
        let numbers: Vec<u64> = (sent + 1..=to).collect();
        for some in numbers.chunk_by(|&before, &seq| is_lost(before) == is_lost(seq)) {
            let (from, to) = (some[0], some[some.len() - 1]);
            self.frames.push_back(match is_lost(from) {
                true => ServerFrame::Gap(Gap {
                    sub,
                    from,
                    to,
                    why: "disk".to_owned(),
                }),
                false => ServerFrame::Ev(Ev {
                    sub,
                    from,
                    to,
                    events: some.iter().map(|&seq| event(self.epoch, seq)).collect(),
                }),
            });
        }
        self.socket = Socket::Following { sub, sent: to };
    }

    /// Time passes, and what is under way arrives.
    fn pass(&mut self, ms: f64) {
        self.now_ms += ms;
        if let Some((due_ms, after, epoch)) = self.page.clone()
            && self.now_ms >= due_ms
        {
            self.page = None;
            let answer = self.page_for(after, epoch.as_deref());
            self.input(Input::Page(answer));
        }
        match (self.socket, self.network) {
            (Socket::Asked(due_ms), Network::Good | Network::Busy) if self.now_ms >= due_ms => {
                self.socket = Socket::Open;
                self.input(Input::Connected);
            }
            (Socket::Asked(due_ms), _) if self.now_ms >= due_ms => {
                self.socket = Socket::None;
                self.input(Input::Closed);
            }
            _ => {}
        }
        let is_due = |world: &World| {
            let due_ms = world.follower.due_ms(world.now_ms);
            due_ms.is_some_and(|due_ms| due_ms <= world.now_ms)
        };
        let mut n_woken = 0;
        while is_due(self) {
            self.input(Input::Time);
            n_woken += 1;
            assert!(n_woken < 4, "it would be woken again and again");
        }
    }

    fn page_for(&self, after: u64, epoch: Option<&str>) -> Result<Page, PageError> {
        let status = |code| PageError::Status {
            code,
            retry_after_ms: Some(700),
        };
        match self.network {
            Network::Dead => return Err(PageError::NoAnswer),
            Network::Busy => return Err(status(503)),
            Network::NoSession => return Err(status(404)),
            Network::Good | Network::NoSockets => {}
        }
        if epoch.is_some_and(|epoch| epoch != self.epoch_name()) || after > self.head {
            return Err(status(410));
        }
        let to = self.head.min(after + 25);
        Ok(Page {
            epoch: self.epoch_name(),
            head: self.head,
            next: Some(to),
            events: (after + 1..=to)
                .filter(|&seq| !is_lost(seq))
                .map(|seq| event(self.epoch, seq))
                .collect(),
            gaps: (after + 1..=to)
                .filter(|&seq| is_lost(seq))
                .map(|seq| (seq, seq, "disk".to_owned()))
                .collect(),
            may: (to == self.head).then(|| self.grants.clone()),
        })
    }

    fn deliver(&mut self) {
        if let Some(frame) = self.frames.pop_front() {
            self.input(Input::Frame(frame));
        }
    }

    fn cut(&mut self) {
        self.frames.clear();
        if self.socket != Socket::None {
            self.socket = Socket::None;
            self.input(Input::Closed);
        }
    }

    /// Everything works from here on: it must come to rest with everything here.
    fn settle(&mut self) {
        self.network = Network::Good;
        self.input(Input::Online(true));
        for _ in 0..4_000 {
            self.publish(10);
            self.deliver();
            self.pass(50.0);
            let beat = (self.now_ms % 15_000.0) < 50.0;
            if let (true, Socket::Following { sub, .. }) = (beat, self.socket) {
                let head = self.head;
                self.frames.push_back(ServerFrame::Hb(Head { sub, head }));
            }
        }
        let wanted: Vec<String> = (1..=self.head).map(|seq| shown(self.epoch, seq)).collect();
        assert_eq!(self.here, wanted);
        assert!(
            matches!(self.told.last(), Some(Status::Live)),
            "{:?}",
            self.told.last()
        );
        assert_eq!(self.stopped, None);
    }
}

fn no_page(code: u16) -> Input {
    Input::Page(Err(PageError::Status {
        code,
        retry_after_ms: None,
    }))
}

proptest! {
    /// Whatever the network does, in the end all is here, once, in order, and followed live.
    #[test]
    fn all_arrives_once_and_in_order(doings in proptest::collection::vec((0u8..16, 1u64..60), 0..120)) {
        let mut world = World::new();
        for (what, how_much) in doings {
            match what {
                0 | 1 => world.head += how_much,
                2 | 3 => world.publish(how_much),
                4..=6 => (0..how_much % 6).for_each(|_| world.deliver()),
                7 => world.cut(),
                8 => {
                    // The server sends no more, and says so.
                    if let Socket::Following { sub, .. } = world.socket {
                        let head = world.head;
                        world.frames.push_back(ServerFrame::Lag(Head { sub, head }));
                        world.socket = Socket::Open;
                    }
                }
                9 => {
                    // A frame is lost on the way, as behind a proxy that drops it.
                    world.frames.pop_front();
                }
                10 => {
                    world.network = [Network::Good, Network::NoSockets, Network::Busy, Network::Dead, Network::NoSession]
                        [how_much as usize % 5];
                }
                11 if how_much % 4 == 0 => {
                    world.epoch += 1;
                    world.head = how_much;
                    world.cut();
                }
                12 => world.input(Input::Hidden(how_much % 2 == 0)),
                13 => world.input(Input::Online(how_much % 2 == 0)),
                _ => world.pass(how_much as f64 * how_much as f64 * 4.0),
            }
            prop_assert!(world.stopped.is_none_or(Failure::may_pass), "{:?}", world.stopped);
        }
        world.input(Input::Hidden(false));
        world.settle();
    }
}

#[test]
fn whether_answers_are_taken_is_told_when_it_changes() {
    let mut world = World::new();
    world.head = 3;
    world.settle();
    assert!(world.may_answer.is_empty(), "a token that only reads");
    for (grants, told) in [
        (vec!["a newer word", "answer"], vec![true]),
        (vec!["answer"], vec![true]),
        (vec![], vec![true, false]),
    ] {
        world.grants = grants.into_iter().map(str::to_owned).collect();
        world.cut();
        while !matches!(world.socket, Socket::Following { .. }) {
            world.pass(100.0);
        }
        while !world.frames.is_empty() {
            world.deliver();
        }
        assert_eq!(world.may_answer, told);
    }
}

#[test]
fn a_reader_need_not_wait_for_the_next_try() {
    let mut world = World::new();
    world.head = 3;
    world.settle();
    world.network = Network::Dead;
    world.cut();
    for _ in 0..600 {
        world.pass(100.0);
    }
    let Some(&Status::Reconnecting { attempt, .. }) = world.told.last() else {
        panic!("{:?}", world.told);
    };
    assert!(attempt > 3, "{attempt} tries in a minute");
    world.network = Network::Good;
    world.input(Input::Retry);
    assert!(world.page.is_some(), "it is asked at once");
    world.settle();
}

#[test]
fn fifty_resumes_without_news_change_nothing() {
    let mut world = World::new();
    world.head = 30;
    world.settle();
    let here = world.here.clone();
    for _ in 0..50 {
        world.cut();
        while !matches!(world.socket, Socket::Following { .. }) {
            world.pass(100.0);
        }
        while !world.frames.is_empty() {
            world.deliver();
        }
        assert_eq!(world.here, here);
        assert_eq!(world.follower.last_seq(), 30);
    }
}

#[test]
fn a_day_of_pages_makes_no_wait_longer() {
    let mut follower = Follower::new("s");
    let mut commands = Vec::new();
    let mut now_ms = 0.0;
    let mut step = |follower: &mut Follower, after_ms: f64, input| {
        now_ms += after_ms;
        commands.clear();
        follower.step(now_ms, 0.5, input, &mut commands);
        commands.clone()
    };
    step(&mut follower, 0.0, Input::Start);
    let page = || {
        Input::Page(Ok(Page {
            epoch: "e".to_owned(),
            ..Page::default()
        }))
    };
    let mut attempts = Vec::new();
    for _ in 0..40 {
        step(&mut follower, 10.0, page());
        // Sockets that are tried are refused, until it is done without.
        for _ in 0..40 {
            let asked = step(&mut follower, 1_000.0, Input::Time);
            if asked.contains(&Command::Connect) {
                step(&mut follower, 10.0, Input::Closed);
            }
            if asked
                .iter()
                .any(|command| matches!(command, Command::Page { .. }))
            {
                step(&mut follower, 10.0, page());
            }
        }
        // One page in a while is lost.
        while !step(&mut follower, 500.0, Input::Time)
            .iter()
            .any(|command| matches!(command, Command::Page { .. }))
        {}
        let told = step(&mut follower, 10.0, no_page(502));
        attempts.extend(told.iter().filter_map(|command| match command {
            Command::Tell(Status::Reconnecting { attempt, .. }) => Some(*attempt),
            _ => None,
        }));
        step(&mut follower, 40_000.0, Input::Time);
    }
    assert!(
        attempts[4..].iter().all(|&attempt| attempt == 1),
        "{attempts:?}"
    );
}

#[test]
fn a_beginning_that_is_refused_is_not_asked_for_again_and_again() {
    for code in [409, 410] {
        let mut world = World::new();
        world.input(no_page(code));
        assert_eq!(world.stopped, Some(Failure::NoSession), "{code}");
        assert!(
            world
                .follower
                .due_ms(0.0)
                .is_some_and(|due_ms| due_ms >= 1_000.0)
        );
    }
}

/// Two servers behind one address, which know nothing of each other.
#[test]
fn who_is_told_to_begin_anew_again_and_again_waits_in_between() {
    let mut world = World::new();
    world.head = 3;
    world.settle();
    let (until_ms, mut n_anew) = (world.now_ms + 5_000.0, 0);
    while world.now_ms < until_ms {
        if let Socket::Following { sub, .. } = world.socket {
            world.socket = Socket::None;
            n_anew += 1;
            let (epoch, why) = ("other".to_owned(), "restored".to_owned());
            world.input(Input::Frame(ServerFrame::Reset(Reset { sub, epoch, why })));
        }
        world.pass(10.0);
    }
    assert!((2..20).contains(&n_anew), "{n_anew} times in 5 s");
    world.settle();
}

#[test]
fn a_cache_that_gives_the_same_page_whatever_is_asked_for_is_not_asked_without_end() {
    let mut world = World::new();
    world.head = 100;
    let first = world.page_for(0, None);
    world.pass(1.0);
    world.input(Input::Page(first.clone()));
    world.page = None;
    world.input(Input::Page(first));
    assert!(world.page.is_none());
    let told = world.told.last();
    assert!(
        matches!(told, Some(Status::Reconnecting { .. })),
        "{told:?}"
    );
    world.settle();
}

#[test]
fn a_session_that_ended_is_said_to_have_ended_until_it_goes_on() {
    let mut world = World::new();
    world.settle();
    let Socket::Following { sub, sent } = world.socket else {
        panic!("{:?}", world.socket)
    };
    let mut end = ChatEvent::new("end", 0, "s", SessionEnd::default());
    end.seq = Some(sent + 1);
    world.input(Input::Frame(ServerFrame::Ev(Ev {
        sub,
        from: sent + 1,
        to: sent + 1,
        events: vec![end],
    })));
    assert_eq!(world.told.last(), Some(&Status::Ended));
    // What it spent may be told behind that, and is no going on.
    let mut spent = ChatEvent::new("spent", 0, "s", Usage::default());
    spent.seq = Some(sent + 2);
    world.input(Input::Frame(ServerFrame::Ev(Ev {
        sub,
        from: sent + 2,
        to: sent + 2,
        events: vec![spent],
    })));
    assert_eq!(world.told.last(), Some(&Status::Ended));
    let mut start = ChatEvent::new("start", 0, "s", SessionStart::default());
    start.seq = Some(sent + 3);
    world.input(Input::Frame(ServerFrame::Ev(Ev {
        sub,
        from: sent + 3,
        to: sent + 3,
        events: vec![start],
    })));
    assert_eq!(world.told.last(), Some(&Status::Live));
}

#[test]
fn what_a_page_has_behind_a_hole_is_kept_however_much_of_the_socket_waits() {
    let mut world = World::new();
    world.head = 3;
    world.settle();
    let Socket::Following { sub, .. } = world.socket else {
        panic!("it is followed");
    };
    world.head = 3_000;
    let head = world.head;
    world.input(Input::Frame(ServerFrame::Lag(Head { sub, head })));
    world.input(Input::Frame(ServerFrame::Ev(Ev {
        sub,
        from: 1_001,
        to: head,
        events: (1_001..=head)
            .filter(|&seq| !is_lost(seq))
            .map(|seq| event(world.epoch, seq))
            .collect(),
    })));
    while world.here.len() < 20 {
        world.pass(100.0);
    }
    let wanted: Vec<String> = (1..=28).map(|seq| shown(world.epoch, seq)).collect();
    assert_eq!(world.here[..28], wanted);
    world.settle();
}
