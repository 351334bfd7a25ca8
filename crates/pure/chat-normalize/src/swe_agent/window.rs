//! The file that is open, and the lines of it that were shown: commands with a window name lines, and neither the file nor
//! what stood in them.

use std::collections::BTreeMap;

use chat_event::payload::FileEdit;
use serde_json::Value;

use super::tools::{lines_of, replaced};
use crate::edit::piece_edit;
use crate::words::one_line;

/// The commands that say which lines are shown behind them.
const SHOWING: [&str; 7] = [
    "open",
    "create",
    "goto",
    "scroll_up",
    "scroll_down",
    "edit",
    "insert",
];

/// How the answer to an edit begins that was not made: it would have broken the file.
const REFUSED: &str = "Your proposed edit has introduced new syntax error(s).";

/// How the answer to an edit begins that replaced a text.
const REPLACED: &str = "Replaced ";

/// The last line of what `edit 3:5` puts in.
const END_OF_EDIT: &str = "end_of_edit";

/// More places of one replacement are not shown.
const MAX_PLACES: usize = 100;

/// The open file.
#[derive(Debug, Default)]
pub(super) struct Window {
    path: Option<String>,
    /// The lines that were shown last, by their numbers.
    lines: BTreeMap<u32, String>,
    /// Whether the file has no more than one line, and nothing in it.
    is_empty: bool,
}

/// What came of an edit.
pub(super) enum Edited {
    /// It was made; of which call it is does not stand there yet.
    Made(Box<FileEdit>),
    /// It was not, and why.
    Refused(String),
}

impl Window {
    pub(super) fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// A command was run: what it says that it shows is open; else what it asked for.
    pub(super) fn after(&mut self, action: &str, output: &str) {
        let mut words = action.split_whitespace();
        let Some(command) = words.next().filter(|word| SHOWING.contains(word)) else {
            return;
        };
        let opens = matches!(command, "open" | "create");
        let asked = words.next().filter(|_| opens);
        if opens && asked.is_none() || output.starts_with(REFUSED) {
            return;
        }
        let shown = output
            .split_once("[File: ")
            .and_then(|(_, rest)| rest.split_once(" ("))
            .filter(|(path, _)| !path.contains('\n'));
        if let Some((path, rest)) = shown {
            self.path = Some(path.to_owned());
            self.lines = numbered(rest);
            self.is_empty = rest.starts_with("1 lines total")
                && self.lines.values().all(|line| line.is_empty());
        } else if let Some(asked) = asked.filter(|_| output.trim().is_empty()) {
            self.path = Some(asked.trim_matches('"').to_owned());
            self.lines.clear();
            self.is_empty = false;
        }
    }

    /// What an edit of the open file came to, as far as the log has what was replaced.
    pub(super) fn edited(&self, action: &str, args: &Value, output: &str) -> Option<Edited> {
        if action.split_whitespace().next() != Some("edit") {
            return None;
        }
        if output.starts_with(REFUSED) {
            return Some(Edited::Refused(refusal(output)));
        }
        let path = self.path()?;
        let edit = match (lines_of(action), replaced(args)) {
            (Some((from, to)), _) if output.starts_with("[File: ") => {
                let old = self.between(from, to)?;
                piece_edit("", path, &[(&old, put_in(action)?)])
            }
            (None, Some((old, new))) => {
                let n_places = output.strip_prefix(REPLACED)?.split(' ').next()?;
                let n_places: usize = n_places.parse().ok()?;
                piece_edit("", path, &vec![(old, new); n_places.min(MAX_PLACES)])
            }
            _ => return None,
        };
        Some(Edited::Made(Box::new(edit)))
    }

    /// The text of these lines, where all of them were shown.
    fn between(&self, from: u32, to: u32) -> Option<String> {
        if from == 0 || from > to {
            return None;
        }
        if self.is_empty {
            return Some(String::new());
        }
        let lines: Vec<&str> = self
            .lines
            .range(from..=to)
            .map(|(_, line)| &**line)
            .collect();
        let n_lines = usize::try_from(to - from).ok()?.checked_add(1)?;
        (lines.len() == n_lines).then(|| lines.join("\n") + "\n")
    }
}

/// What stands between the first line of an edit and its end.
fn put_in(action: &str) -> Option<&str> {
    let (_, rest) = action.split_once('\n')?;
    let rest = rest.trim_end();
    let text = rest.strip_suffix(END_OF_EDIT)?;
    (text.is_empty() || text.ends_with('\n')).then_some(text)
}

/// The lines behind the one that names the file: `7:text`.
fn numbered(shown: &str) -> BTreeMap<u32, String> {
    let lines = shown.lines().skip(1);
    let lines = lines.skip_while(|line| line.starts_with('('));
    let line = |line: &str| {
        let (number, text) = line.split_once(':')?;
        Some((number.parse().ok()?, text.to_owned()))
    };
    lines.map_while(line).collect()
}

/// Why an edit was not made: the first thing that is wrong with it, else what the program says.
fn refusal(output: &str) -> String {
    let errors = output
        .split_once("ERRORS:")
        .map_or("", |(_, errors)| errors);
    let mut errors = errors.lines().map(str::trim);
    let first = errors.find_map(|line| line.strip_prefix("- "));
    one_line(first.unwrap_or_else(|| output.lines().next().unwrap_or_default()))
}
