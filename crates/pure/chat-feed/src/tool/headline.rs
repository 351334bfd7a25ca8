//! The one line that is shown of a call: what is done, and to what.

use chat_event::Json;
use chat_event::shell::script_of;

use super::given::{COMMANDS, PATHS, beginning, first_text, text_of};
use super::line::{LINE_CHARS, first_line, one_line};
use super::{ToolKind, ToolStatus};
use crate::block::ToolCallBlock;
use crate::units;

/// The one line that is shown of a call: verb, object … outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headline {
    /// What is done: `Read`, `$`, `Searched` …
    pub verb: String,
    /// To what: a path, a command, a pattern.
    pub object: String,
    /// How it ended: `exit 1`, `14 lines` … Empty while it runs.
    pub outcome: String,
}

const SEARCHED: [&str; 4] = ["pattern", "query", "regex", "glob"];
const PLACES: [&str; 2] = ["path", "glob"];
const FETCHED: [&str; 2] = ["url", "query"];
/// The tools that ask for leave to go on with a plan: where that is not given they fail.
const LEAVES_PLANNING: [&str; 2] = ["ExitPlanMode", "exit_plan_mode"];
/// The tools that write a whole file.
const WRITING: [&str; 5] = [
    "write",
    "write_file",
    "write_to_file",
    "create",
    "create_file",
];
const LINES: [&str; 2] = ["offset", "limit"];

impl ToolCallBlock {
    /// The one line that is shown of this call.
    pub fn headline(&self) -> Headline {
        let (verb, object) = self.what();
        let is_done = self.status == ToolStatus::Succeeded;
        let says_all = is_done && (verb.starts_with("Plan ") || self.proposes_plan());
        let outcome = match says_all {
            // What it gave are words for the model.
            true if LEAVES_PLANNING.contains(&&*self.tool_name) => "approved".to_owned(),
            true => String::new(),
            false => one_line(&self.outcome()),
        };
        Headline {
            verb,
            object,
            outcome,
        }
    }

    /// Verb and object of the headline: what is done, without what came of it, for which the result is read.
    pub fn what(&self) -> (String, String) {
        let (verb, object) = self.verb_and_object(Quotes::Around);
        (verb, one_line(&object))
    }

    /// What stands between the two: nothing before the arguments of a server's tool, `server.tool(arg, …)`.
    pub fn between(&self) -> &'static str {
        match self.kind == ToolKind::Other && server_tool(&self.tool_name).is_some() {
            true => "",
            false => " ",
        }
    }

    /// Verb and object as one line.
    pub fn in_words(&self) -> String {
        let (verb, object) = self.what();
        [&*verb, self.between(), &object]
            .concat()
            .trim_end()
            .to_owned()
    }

    /// An object of the headline as it is seen from the session's folder: of a path, and of where a search looks, the part
    /// below that. That all of the folder is searched is not said.
    pub fn seen_from(&self, cwd: Option<&str>, object: &str) -> String {
        let search = || {
            let place = one_line(&self.told(&PLACES)?);
            let what = object.strip_suffix(&*place)?.strip_suffix(" in ")?;
            let folder = place.trim_end_matches('/');
            Some(match folder == "." || Some(folder) == cwd {
                true => what.to_owned(),
                false => format!("{what} in {}", units::below(&place, cwd)),
            })
        };
        match self.kind {
            ToolKind::Search => search(),
            ToolKind::Read | ToolKind::Edit => Some(units::below(object, cwd).to_owned()),
            _ => None,
        }
        .unwrap_or_else(|| object.to_owned())
    }

    /// What the call works on: the headline's object in a terminal's spelling, with patterns as they were given.
    pub fn target(&self) -> String {
        self.verb_and_object(Quotes::None).1
    }

    /// Names of the arguments that the headline says whole, so that an opened call need not say them again.
    ///
    /// What it cuts off, or says in other words, is not among them. Tools of other kinds have names of their own for what
    /// they are given: there each is news.
    pub fn told_by_headline(&self) -> Vec<&'static str> {
        let (_, object) = self.what();
        if object.chars().count() > LINE_CHARS {
            return Vec::new();
        }
        let named = match self.kind {
            ToolKind::Read | ToolKind::Edit => vec![self.first_of(&PATHS)],
            ToolKind::Search => vec![self.first_of(&SEARCHED), self.first_of(&PLACES)],
            ToolKind::Fetch => vec![self.first_of(&FETCHED)],
            ToolKind::Execute
            | ToolKind::Agent
            | ToolKind::Think
            | ToolKind::Plan
            | ToolKind::Other => Vec::new(),
        };
        let mut told: Vec<&'static str> = Vec::new();
        let mut rest = object.as_str();
        // In the order in which they stand there, so that none is told by another.
        for name in named.into_iter().flatten() {
            let value = self.args.get(name);
            let value = value.as_ref().and_then(Json::as_str);
            let value = value.filter(|value| is_said_as_it_is(value));
            if let Some(value) = value
                && let Some((_, behind)) = rest.split_once(&*value)
            {
                told.push(name);
                rest = behind;
            }
        }
        if self.kind == ToolKind::Read && !told.is_empty() {
            let is_number = |name: &&&str| {
                let value = self.args.get(name);
                value.and_then(|value| value.parse::<u64>()).is_some()
            };
            told.extend(LINES.iter().filter(is_number).copied());
        }
        told
    }

    /// What is said of an edit that was done, and of one that was not. Whether a file that is made was there before is not
    /// known: it is written either way.
    fn edit_verbs(&self) -> [&'static str; 2] {
        let name = self.tool_name.to_ascii_lowercase();
        // Of tools that do several things, the command says what: alone, or behind the tool's name.
        let command = text_of(&self.args, "command").unwrap_or_default();
        let makes = |word: &str| word == "create";
        match WRITING.contains(&&*name) || command.split_whitespace().take(2).any(makes) {
            true => ["Wrote", "Write"],
            false => ["Edited", "Edit"],
        }
    }

    /// The first of these arguments that is a text.
    fn first_of(&self, names: &[&'static str]) -> Option<&'static str> {
        let mut names = names.iter();
        names
            .find(|name| text_of(&self.args, name).is_some())
            .copied()
    }

    fn verb_and_object(&self, quotes: Quotes) -> (String, String) {
        let name = self.tool_name.to_string();
        let told = |keys: &[&str]| self.told(keys);
        let path = || self.path();
        // What is not done yet is not told as if it were.
        let tense = |[done, doing]: [&str; 2]| match self.status {
            ToolStatus::Succeeded => done.to_owned(),
            ToolStatus::Preparing
            | ToolStatus::Running
            | ToolStatus::Failed
            | ToolStatus::Denied
            | ToolStatus::Interrupted
            | ToolStatus::NoResult => doing.to_owned(),
        };
        let known = match self.kind {
            ToolKind::Execute => {
                told(&COMMANDS).map(|command| ("$".to_owned(), script_of(&command).into_owned()))
            }
            ToolKind::Read => path().map(|path| ("Read".to_owned(), with_lines(path, &self.args))),
            ToolKind::Edit => path().map(|path| (tense(self.edit_verbs()), path)),
            ToolKind::Search => told(&SEARCHED).map(|pattern| {
                (
                    tense(["Searched", "Search"]),
                    searched(&pattern, told(&PLACES), quotes),
                )
            }),
            ToolKind::Fetch if self.first_of(&FETCHED) == Some("query") => {
                told(&["query"]).map(|query| {
                    (
                        tense(["Searched", "Search"]),
                        searched(&query, None, quotes),
                    )
                })
            }
            ToolKind::Fetch => told(&FETCHED).map(|what| (tense(["Fetched", "Fetch"]), what)),
            ToolKind::Agent => {
                let kind = self.agent();
                told(&["description", "title", "prompt", "message"])
                    .map(|what| (kind.unwrap_or_else(|| name.clone()), what))
            }
            ToolKind::Other if quotes == Quotes::Around => {
                server_tool(&name).map(|name| (name, format!("({})", first_arg(&self.args))))
            }
            ToolKind::Plan if quotes == Quotes::Around => {
                let counted = self.plan().map(|(n_entries, n_done, now)| {
                    let now = now.map_or_else(String::new, |now| format!("— now: {now}"));
                    (format!("Plan {n_done}/{n_entries}"), now)
                });
                let proposed = || {
                    let plan = text_of(&self.args, "plan")?;
                    let line = first_line(&plan).trim_start_matches(['#', ' ']);
                    // Many call it a plan themselves.
                    let line = line.strip_prefix("Plan: ").unwrap_or(line);
                    let Some(step) = step_of(line) else {
                        return Some(("Plan".to_owned(), line.to_owned()));
                    };
                    // A first step is no name for all of them.
                    let is_whole = self.proposed_plan().is_some_and(|(_, is_whole)| is_whole);
                    let n_steps = plan.lines().filter(|line| step_of(line).is_some()).count();
                    let what = match is_whole {
                        true => format!("— {}", units::count(n_steps as u64, "step", "steps")),
                        false => step.to_owned(),
                    };
                    Some(("Plan".to_owned(), what))
                };
                counted.or_else(proposed)
            }
            ToolKind::Plan | ToolKind::Think | ToolKind::Other => None,
        };
        match known {
            Some(known) => known,
            None if self.title.is_some() => (name, self.title.clone().unwrap_or_default()),
            None if name.is_empty() => ("Tool call".to_owned(), self.tool_call_id.to_string()),
            None => {
                let args = first_text(&self.args).unwrap_or_default();
                (name, args)
            }
        }
    }
}

/// Whether a page shows a text in a line as it is: there spaces fall together, and control characters become spaces.
fn is_said_as_it_is(text: &str) -> bool {
    let is_plain = !text.contains("  ") && !text.chars().any(char::is_control);
    is_plain && !text.is_empty() && text.trim() == text
}

/// What an item of a list says, numbered or not.
fn step_of(line: &str) -> Option<&str> {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let item = match digits.len() < line.len() {
        true => digits.strip_prefix(['.', ')']),
        false => line.strip_prefix(['-', '*', '+']),
    };
    item?.strip_prefix(' ').map(str::trim)
}

/// The path with the lines that were asked for.
fn with_lines(path: String, args: &Json) -> String {
    let number = |key: &str| args.get(key).and_then(|value| value.parse::<u64>());
    let [offset, limit] = LINES.map(number);
    match (offset, limit) {
        (Some(first), Some(n_lines)) => {
            let last = first.saturating_add(n_lines).saturating_sub(1);
            format!("{path} {first}–{last}")
        }
        (Some(first), None) => format!("{path} {first}–"),
        (None, Some(n_lines)) => format!("{path} 1–{n_lines}"),
        (None, None) => path,
    }
}

/// Whether a pattern stands in quotes: in a sentence it does, behind a tool's name it does not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    Around,
    None,
}

fn searched(pattern: &str, place: Option<String>, quotes: Quotes) -> String {
    let quoted = match quotes {
        Quotes::Around => format!("\"{pattern}\""),
        Quotes::None => pattern.to_owned(),
    };
    match place.filter(|place| place != pattern) {
        Some(place) => format!("{quoted} in {place}"),
        None => quoted,
    }
}

/// `server.tool`, of a tool that a server offers by the Model Context Protocol; agents name them `mcp__server__tool`.
fn server_tool(name: &str) -> Option<String> {
    let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
    (!server.is_empty() && !tool.is_empty()).then(|| format!("{server}.{tool}"))
}

/// The first argument, and that there are more.
fn first_arg(args: &Json) -> String {
    let members = args.parse::<serde_json::Map<String, serde_json::Value>>();
    let mut values = members.iter().flat_map(|members| members.values());
    let Some(first) = values.next() else {
        return String::new();
    };
    let first = Json::from(first);
    let first = beginning(&first).unwrap_or_else(|| first.as_text().to_string());
    match values.next() {
        Some(_) => format!("{first}, …"),
        None => first,
    }
}
