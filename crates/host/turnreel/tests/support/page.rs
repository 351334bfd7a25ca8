//! The page without a screen: its follower and its renderer, over real sockets.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use chat_event::frame::ServerFrame;
use chat_feed::connection::{Command, Follower, Input, Page, PageError, Status};
use chat_feed::{ChatRenderer, feed_lines};
use tungstenite::{Error, Message, WebSocket};

use super::Server;
use super::socket::{connect, upgrade};

/// The page's clock runs so much faster: it waits 35 s for a silent server.
const HASTE: f64 = 10.0;

/// An answer that does not go on for so long is none.
const ANSWER_TIME: Duration = Duration::from_secs(1);

/// Nor is a socket that does not come about for so long: a line that stalls before it is there ends with this.
const CONNECT_TIME: Duration = Duration::from_secs(20);

pub(crate) struct HeadlessPage {
    /// What the server is called, and where it is asked.
    host: String,
    address: String,
    token: String,
    session: String,
    follower: Follower,
    renderer: ChatRenderer,
    socket: Option<WebSocket<TcpStream>>,
    inputs: Vec<Input>,
    began: Instant,
    /// The numbers of all events that were shown, in that order.
    pub(crate) shown: Vec<u64>,
    /// How often it began anew.
    pub(crate) n_clears: u64,
    /// How often a server said `hello`.
    pub(crate) n_hellos: u64,
    pub(crate) status: Option<Status>,
}

impl HeadlessPage {
    /// A page that shows the session, over `address`.
    pub(crate) fn new(server: &Server, address: &str, session: &str) -> Self {
        HeadlessPage {
            host: server.address(),
            address: address.to_owned(),
            token: server.token.clone(),
            session: session.to_owned(),
            follower: Follower::new(session),
            renderer: ChatRenderer::new(),
            socket: None,
            inputs: vec![Input::Start],
            began: Instant::now(),
            shown: Vec::new(),
            n_clears: 0,
            n_hellos: 0,
            status: None,
        }
    }

    /// The feed as text.
    pub(crate) fn feed(&self) -> Vec<String> {
        feed_lines(self.renderer.feed()).collect()
    }

    /// Goes on until `done`, which must come.
    pub(crate) fn go_on(&mut self, what: &str, mut done: impl FnMut(&HeadlessPage) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !done(self) {
            assert!(
                Instant::now() < deadline,
                "not in time: {what}: {:?}",
                self.status
            );
            self.step();
        }
    }

    /// The connection is lost.
    pub(crate) fn lose(&mut self) {
        self.socket = None;
        self.inputs.push(Input::Closed);
    }

    fn step(&mut self) {
        if self.inputs.is_empty() {
            let input = self.listen();
            self.inputs.push(input);
        }
        let input = self.inputs.remove(0);
        let now_ms = self.began.elapsed().as_secs_f64() * 1000.0 * HASTE;
        let mut commands = Vec::new();
        // Tries follow each other at once.
        self.follower.step(now_ms, 0.0, input, &mut commands);
        for command in commands {
            self.carry_out(command);
        }
    }

    fn carry_out(&mut self, command: Command) {
        match command {
            Command::Page { after, epoch } => {
                let cursor = epoch.map_or(after.to_string(), |epoch| format!("v1.{epoch}.{after}"));
                let page = self.page(&cursor).unwrap_or(Err(PageError::NoAnswer));
                self.inputs.push(Input::Page(page));
            }
            Command::Connect => {
                let request = upgrade(&self.host, &self.token);
                self.socket = connect(request, &self.address, CONNECT_TIME);
                let connected = self.socket.is_some();
                if let Some(socket) = &self.socket {
                    let pause = Some(Duration::from_millis(5));
                    socket.get_ref().set_read_timeout(pause).unwrap();
                }
                self.inputs.push(if connected {
                    Input::Connected
                } else {
                    Input::Closed
                });
            }
            Command::Disconnect => self.socket = None,
            Command::Send(frame) => {
                let sent = self
                    .socket
                    .as_mut()
                    .map(|socket| socket.send(Message::text(frame.to_text())));
                if sent.is_some_and(|sent| sent.is_err()) {
                    self.lose();
                }
            }
            Command::Clear => {
                self.renderer = ChatRenderer::new();
                self.shown.clear();
                self.n_clears += 1;
            }
            Command::Hand(events) => {
                for event in events {
                    self.shown
                        .push(event.seq.expect("what is shown has a number"));
                    self.renderer.apply(&event, &mut Vec::new());
                }
            }
            // Nobody reads or answers here.
            Command::CaughtUp | Command::MayAnswer(_) => {}
            Command::Tell(status) => self.status = Some(status),
            Command::Stop(why) => panic!("it gave up: {why:?}"),
        }
    }

    /// What the socket brings; time, where it brings nothing.
    fn listen(&mut self) -> Input {
        let Some(socket) = &mut self.socket else {
            std::thread::sleep(Duration::from_millis(2));
            return Input::Time;
        };
        match socket.read() {
            Ok(Message::Text(text)) => match ServerFrame::read(&text) {
                Ok(Some(frame)) => {
                    self.n_hellos += u64::from(matches!(frame, ServerFrame::Hello(_)));
                    Input::Frame(frame)
                }
                Ok(None) => Input::Time,
                Err(_) => Input::Unreadable,
            },
            Ok(Message::Close(_)) => {
                self.socket = None;
                Input::Closed
            }
            Ok(_) => Input::Time,
            Err(Error::Io(why))
                if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
            {
                Input::Time
            }
            Err(_) => {
                self.socket = None;
                Input::Closed
            }
        }
    }

    /// A page of the log, as a browser gets it: an answer that breaks off is none.
    fn page(&self, cursor: &str) -> Option<Result<Page, PageError>> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream.set_read_timeout(Some(ANSWER_TIME)).unwrap();
        let request = format!(
            "GET /api/v1/sessions/{}/events?after={cursor} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
            self.session, self.host, self.token
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let at = answer.windows(4).position(|it| it == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&answer[..at])
            .ok()?
            .to_ascii_lowercase();
        let (_, rest) = head.split_once("content-length: ")?;
        let length: usize = rest.lines().next()?.trim().parse().ok()?;
        let body = &answer[at + 4..];
        if body.len() != length {
            return None;
        }
        let code = head.split(' ').nth(1)?.parse().ok()?;
        if code != 200 {
            let retry_after_ms = None;
            return Some(Err(PageError::Status {
                code,
                retry_after_ms,
            }));
        }
        Some(Ok(Page::read(body).unwrap()))
    }
}
