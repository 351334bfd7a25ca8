//! What reads bytes for a machine: plain text goes to it at once, sequences byte by byte through a parser.

use anstyle_parse::{Params, Parser, Perform};

use super::{Machine, Saved};
use crate::terminal::links::Links;
use crate::terminal::row::{Column, Row};
use crate::terminal::style::{Part, Stream, Style};

/// A machine and what reads for it: one parser a stream, so that a sequence that one of them cuts does not swallow what
/// the other writes.
#[derive(Clone, Debug)]
pub(in crate::terminal) struct Reader {
    pub(in crate::terminal) machine: Machine,
    parsers: [(Parser, State); 2],
}

/// Where a parser stands, as far as it matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Between sequences.
    #[default]
    Ground,
    /// Just behind an escape character.
    Escape,
    /// Within a control sequence: the parser does not say when one ends that it ignores.
    Control,
    /// Within an operating system command.
    Command,
    /// Within another string, which a device or an application is to read.
    Text,
    /// Within any other sequence.
    Other,
}

/// Where one can begin to read in the middle: at the start of a line that nothing before can change.
#[derive(Clone, Copy, Debug)]
pub(in crate::terminal) struct FreshLine {
    pub(in crate::terminal) line: usize,
    style: Style,
    saved: Option<Saved>,
}

impl Reader {
    pub(in crate::terminal) fn new() -> Reader {
        Reader {
            machine: Machine::new(),
            parsers: Default::default(),
        }
    }

    /// A reader that goes on from such a line.
    pub(in crate::terminal) fn at(fresh: FreshLine, links: Links) -> Reader {
        let machine = Machine {
            n_settled: fresh.line,
            style: fresh.style,
            saved: fresh.saved,
            reached: fresh.line,
            links,
            ..Machine::new()
        };
        Reader {
            machine,
            parsers: Default::default(),
        }
    }

    /// Whether all sequences that began have ended.
    pub(in crate::terminal) fn between_sequences(&self) -> bool {
        self.parsers
            .iter()
            .all(|(_, state)| *state == State::Ground)
    }

    /// The line the cursor is at the start of, where it is the newest and empty.
    pub(in crate::terminal) fn fresh_line(&self) -> Option<FreshLine> {
        let machine = &self.machine;
        let fresh = self.between_sequences()
            && machine.row + 1 == machine.rows.len()
            && machine.rows.back().is_some_and(Row::is_new)
            && machine.column == Column::End
            && !machine.in_corner
            && !machine.cleared;
        fresh.then_some(FreshLine {
            line: machine.n_settled + machine.row,
            style: machine.style,
            saved: machine.saved,
        })
    }

    /// Takes bytes of one stream; returns how many: an unfinished character at the end is left for later.
    pub(in crate::terminal) fn read(&mut self, bytes: &[u8], stream: Stream) -> usize {
        let (parser, state) = &mut self.parsers[match stream {
            Stream::Stdout => 0,
            Stream::Stderr => 1,
        }];
        self.machine.style = self
            .machine
            .style
            .with(Part::Stderr, stream == Stream::Stderr);
        let mut at = 0;
        while at < bytes.len() {
            if *state == State::Ground {
                let rest = &bytes[at..];
                let n_plain = rest
                    .iter()
                    .position(|byte| *byte < b' ')
                    .unwrap_or(rest.len());
                let (taken, whole) = self
                    .machine
                    .print_bytes(&rest[..n_plain], n_plain == rest.len());
                at += taken;
                if !whole {
                    return at;
                }
                let Some(&control) = bytes.get(at) else { break };
                at += 1;
                match control {
                    0x1b => *state = step(parser, &mut self.machine, *state, control),
                    _ => self.machine.execute(control),
                }
                continue;
            }
            let byte = bytes[at];
            at += 1;
            *state = step(parser, &mut self.machine, *state, byte);
        }
        at
    }

    /// Shows the start of a character whose rest never came, because another stream did.
    pub(in crate::terminal) fn read_as_unreadable(&mut self, stream: Stream) {
        self.machine.style = self
            .machine
            .style
            .with(Part::Stderr, stream == Stream::Stderr);
        self.machine.print(char::REPLACEMENT_CHARACTER);
    }
}

/// Gives one byte of a sequence to the parser, and says where it stands then. The machine notes what the parser does.
fn step(parser: &mut Parser, machine: &mut Machine, state: State, byte: u8) -> State {
    // No command is longer than a line; one that was never ended must not swallow all that follows.
    if matches!(state, State::Command | State::Text) && byte == b'\n' {
        *parser = Parser::default();
        machine.execute(byte);
        return State::Ground;
    }
    // As a part of a character this is no end of a string, which it would be alone.
    if byte == 0x9c && state != State::Command {
        return state;
    }
    let mut ended = Ended {
        machine,
        ended: false,
    };
    parser.advance(&mut ended, byte);
    match (byte, state) {
        _ if ended.ended => State::Ground,
        (0x18 | 0x1a, _) => State::Ground,
        (0x1b, _) => State::Escape,
        (b'[', State::Escape) => State::Control,
        (b']', State::Escape) => State::Command,
        (b'P' | b'X' | b'^' | b'_', State::Escape) => State::Text,
        (0..0x20 | 0x7f.., State::Escape) => State::Escape,
        (_, State::Escape) => State::Other,
        (0x40..0x7f, State::Control) => State::Ground,
        (_, state) => state,
    }
}

/// Hands on what the parser finds, and notes that a sequence is over.
struct Ended<'m> {
    machine: &'m mut Machine,
    ended: bool,
}

impl Perform for Ended<'_> {
    fn execute(&mut self, byte: u8) {
        self.machine.execute(byte);
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: u8) {
        self.ended = true;
        if !ignore {
            self.machine.control(params, intermediates, action);
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _ignore: bool, byte: u8) {
        self.ended = true;
        if intermediates.is_empty() {
            self.machine.escape(byte);
        }
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], bell_terminated: bool) {
        self.ended = bell_terminated;
        if params.first() == Some(&b"8".as_slice()) {
            self.machine.style.link = self.machine.links.take(params);
        }
    }
}
