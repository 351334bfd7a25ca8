//! The events of a session of OpenHands, whose files are read one by one, as the lines of one file.

use std::collections::{BTreeMap, VecDeque};

use super::Want;
use super::held::Held;
use crate::folder::paths::clean_of;
use crate::folder::talks::{caller_of, talk_of};
use crate::openhands::{OpenHandsState, OpenHandsWeave};

/// The longest event, and the longest state.
const MOST_BYTES: usize = chat_event::jsonl::MAX_LINE_BYTES;

/// The files, as far as they are read.
#[derive(Debug)]
pub(super) struct Woven {
    weave: OpenHandsWeave,
    /// The files of each conversation that were not read, by its number.
    files: Vec<VecDeque<String>>,
    state: OpenHandsState,
    /// What is read now; the conversation whose event it is, none where it is the state.
    file: Option<(Option<usize>, Held)>,
    is_told: bool,
    has_status: bool,
}

impl Woven {
    /// That of event files, as [`SessionParts::events`](crate::SessionParts::events) has them, and of the state's file.
    pub(super) fn new(events: Vec<String>, note: Option<String>) -> Self {
        let mut talks: BTreeMap<String, BTreeMap<(u64, String), String>> = BTreeMap::new();
        for path in events {
            let clean = clean_of(&path);
            if let Some((talk, number)) = talk_of(&clean) {
                let files = talks.entry(talk.to_owned()).or_default();
                files.insert((number, clean), path);
            }
        }
        let mut weave = OpenHandsWeave::new();
        let mut files = Vec::new();
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        // A conversation's folder stands before those below it.
        for (talk, paths) in talks {
            let number = match files.is_empty() {
                true => Some(0),
                false => {
                    let caller = caller_of(&talk).and_then(|caller| numbers.get(caller));
                    let name = talk.rsplit('/').next().unwrap_or(&talk);
                    weave.add(name, caller.copied().unwrap_or(0))
                }
            };
            let Some(number) = number else { break };
            numbers.insert(talk, number);
            files.push(paths.into_values().collect());
        }
        let file = note.map(|note| (None, Held::new(note, MOST_BYTES)));
        let mut woven = Woven {
            weave,
            files,
            state: OpenHandsState::default(),
            file,
            is_told: false,
            has_status: false,
        };
        woven.open();
        woven
    }

    /// Whether all is read and told.
    pub(super) fn is_done(&self) -> bool {
        self.file.is_none()
    }

    pub(super) fn wants(&self) -> Option<Want<'_>> {
        self.file.as_ref().map(|(_, file)| file.wants())
    }

    /// Takes the next bytes of what is wanted, none where it is at its end; the lines that can be told then.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        let Some((_, file)) = &mut self.file else {
            return String::new();
        };
        if !file.push(bytes) {
            return String::new();
        }
        if let Some((number, file)) = self.file.take() {
            match number {
                Some(number) => {
                    let text = String::from_utf8_lossy(file.bytes());
                    self.weave.give(number, &text);
                }
                None => {
                    self.state.take(file.bytes());
                }
            }
        }
        self.lines()
    }

    /// What is wanted cannot be read; the lines that can be told then.
    pub(super) fn skip(&mut self) -> String {
        self.file = None;
        self.lines()
    }

    /// Tells what can be told, and opens the file that is needed next.
    fn lines(&mut self) -> String {
        self.open();
        let mut lines = String::new();
        while self.file.is_none() {
            if !self.is_told {
                self.is_told = true;
                lines += &self.state.about(self.weave.time(), false);
                lines.push('\n');
            }
            let Some(line) = self.weave.next(true) else {
                self.end(&mut lines);
                break;
            };
            self.has_status |= OpenHandsState::is_told_in(&line);
            lines += &line;
            lines.push('\n');
            self.open();
        }
        lines
    }

    fn open(&mut self) {
        if self.file.is_some() {
            return;
        }
        while let Some(number) = self.weave.wants() {
            match self.files.get_mut(number).and_then(VecDeque::pop_front) {
                Some(path) => {
                    self.file = Some((Some(number), Held::new(path, MOST_BYTES)));
                    return;
                }
                None => self.weave.has_no_more(number),
            }
        }
    }

    /// What the state says of the end, where no event does.
    fn end(&mut self, lines: &mut String) {
        *lines += &self.state.about(self.weave.time(), true);
        lines.push('\n');
        let status = self.state.status().filter(|_| !self.has_status);
        if let Some(status) = status.filter(|status| *status != "idle") {
            *lines += &OpenHandsState::stands(status, self.weave.time());
            lines.push('\n');
        }
    }
}
