//! What a request to the model quotes: the results of the calls before it, and where the program runs.
//!
//! `[read_file for 'a.ts'] Result:` and the result, once for each call in their order; behind them reminders and
//! `<environment_details>`. Roo Code keeps no request in its messages since 2025.

use std::collections::VecDeque;

use crate::emit::cut;

/// What begins behind the results.
const BEHIND: &[&str] = &[
    "\n<environment_details>",
    "\n# task_progress ",
    "\n# TODO LIST",
    "\n# Todo List (",
];

/// How the folder is told, by program and version.
const FOLDER: &[&str] = &[
    "# Current Working Directory (",
    "# Current Workspace Directory (",
];

/// What stands behind the name of a call whose result follows.
const SAYS: &str = "] Result:";

/// Between the name of a call and that: a command may be of several lines.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// How many results are looked at for that of a call: they stand in the order of their calls.
const MAX_AHEAD: usize = 256;

/// The results in a request, as far as they were not taken from it.
#[derive(Debug)]
pub(super) struct Quoted<'a> {
    left: VecDeque<Quote<'a>>,
}

/// A result, as it is quoted.
#[derive(Debug)]
struct Quote<'a> {
    /// What the model calls the tool.
    name: &'a str,
    /// What the call was about: a file, a command.
    about: &'a str,
    text: &'a str,
}

impl<'a> Quoted<'a> {
    pub(super) fn new(request: &'a str) -> Self {
        // The last one is the program's; what was read may tell of others.
        let end = request.rfind(BEHIND[0]).unwrap_or(request.len());
        let text = &request[..end];
        let mut left = VecDeque::new();
        let mut heads = heads(text).into_iter().peekable();
        while let Some(head) = heads.next() {
            let end = heads.peek().map_or(text.len(), |next| next.begins);
            let body = &text[head.ends..end];
            let behind = BEHIND[1..].iter().filter_map(|mark| body.find(mark)).min();
            left.push_back(Quote {
                name: head.name,
                about: head.about,
                text: body[..behind.unwrap_or(body.len())].trim_matches(['\n', '\r', ' ']),
            });
        }
        Quoted { left }
    }

    /// The result of the next call that the model calls one of `names`, of `about`; `None` where none is quoted.
    pub(super) fn take(&mut self, names: &[&str], about: Option<&str>) -> Option<&'a str> {
        let is_called = |result: &Quote<'_>| names.contains(&result.name);
        let is_of = |result: &Quote<'_>| {
            is_called(result) && about.is_none_or(|about| result.about.ends_with(about))
        };
        let next = || self.left.iter().take(MAX_AHEAD);
        // The model may have named the file in another way.
        let at = next()
            .position(is_of)
            .or_else(|| next().position(is_called))?;
        // They stand in the order of their calls.
        self.left.drain(..at);
        self.left.pop_front().map(|result| result.text)
    }
}

struct Head<'a> {
    name: &'a str,
    about: &'a str,
    begins: usize,
    /// Behind what says that the result follows.
    ends: usize,
}

/// Where results are quoted: the first line before each `] Result:` that begins with the name of a tool.
fn heads(text: &str) -> Vec<Head<'_>> {
    let mut heads = Vec::new();
    let mut from = 0;
    for (says, _) in text.match_indices(SAYS) {
        let head = begin(text, from.max(says.saturating_sub(MAX_HEAD_BYTES)), says);
        from = says + SAYS.len();
        heads.extend(head.map(|(begins, name)| {
            let about = text[begins + 1 + name.len()..says].trim_start();
            let about = about
                .strip_prefix("for ")
                .unwrap_or(about)
                .trim_matches('\'');
            Head {
                name,
                about,
                begins,
                ends: from,
            }
        }));
    }
    heads
}

/// The first line from `from` on and before `to` that begins with a tool's name in a bracket.
fn begin(text: &str, from: usize, to: usize) -> Option<(usize, &str)> {
    let bytes = text.as_bytes();
    (from..to).find_map(|at| {
        let begins_line = at == 0 || bytes.get(at - 1) == Some(&b'\n');
        if bytes.get(at) != Some(&b'[') || !begins_line {
            return None;
        }
        let rest = &text[at + 1..to];
        let n = rest
            .bytes()
            .take_while(|b| b.is_ascii_lowercase() || *b == b'_');
        let name = &rest[..n.count()];
        let ends = rest.len() == name.len() || rest[name.len()..].starts_with(" for ");
        (ends && !name.is_empty()).then_some((at, name))
    })
}

/// The folder in which the program runs, where a request tells it.
pub(super) fn folder(request: &str) -> Option<&str> {
    let details = &request[request.rfind(BEHIND[0]).unwrap_or(0)..];
    FOLDER.iter().find_map(|mark| {
        let rest = &details[details.find(mark)? + mark.len()..];
        let folder = rest.split_once(") Files")?.0;
        (!folder.is_empty() && !folder.contains('\n')).then_some(folder)
    })
}

/// What a result says of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Done,
    Failed,
    /// A person said no.
    Denied,
}

pub(super) fn verdict(result: &str) -> Verdict {
    let begins = |words: &[&str]| words.iter().any(|word| result.starts_with(word));
    if begins(&["The user denied this operation", r#"{"status":"denied""#]) {
        Verdict::Denied
    } else if begins(&[
        "The tool execution failed",
        "The tool execution was skipped",
        "Error",
        "[ERROR]",
        r#"{"status":"error""#,
    ]) {
        Verdict::Failed
    } else {
        Verdict::Done
    }
}

/// What a command printed, by its result, and its exit code, where it is told: `Exit code: 3` or `(exit code 0)` in the
/// words before the output.
pub(super) fn of_command(result: &str) -> (&str, Option<i64>) {
    const OUTPUT: [&str; 2] = ["Output:\n", "output so far:\n"];
    let found = OUTPUT.iter().find_map(|mark| {
        let at = result.find(mark)?;
        Some((&result[..at], &result[at + mark.len()..]))
    });
    let (before, output) = found.unwrap_or((result, ""));
    let before = cut(before, MAX_HEAD_BYTES).to_ascii_lowercase();
    let code = before.rfind("exit code").and_then(|at| {
        let rest = before[at + "exit code".len()..].trim_start_matches([':', ' ']);
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '-');
        rest[..digits.unwrap_or(rest.len())].parse().ok()
    });
    (if found.is_some() { output } else { result }, code)
}
