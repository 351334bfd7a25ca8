//! Who said a user's line: the person, or the program in the person's name.
//!
//! Claude Code puts its own words into `user` lines, wrapped in tags: such words are the whole of a text, or stand before
//! or behind a person's, on lines of their own. Anywhere else a tag is quoted, and a person's words are kept to the
//! letter. The tags are those of 1.0 to 2.1.330.

mod elements;

use chat_event::gist;
use serde_json::Value;

use crate::value::text_of;
use elements::{Element, take_apart};

/// What the text of a user's line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// A person's words.
    Words(String),
    /// `[Request interrupted by user …]`
    Interrupt,
    /// A command such as `/compact`, as a person would type it.
    Command(String),
    /// What such a command printed, often nothing: it is done.
    Done(String),
    /// What a `!` line printed.
    Output(String),
    /// A `!` line, as a person would type it.
    Shell(String),
    /// A background task ended.
    TaskNotification(String),
    /// Words of the program for the model.
    Injected(String),
}

impl Said {
    /// Whether a person typed it.
    pub(crate) fn is_typed(&self) -> bool {
        matches!(self, Said::Words(_) | Said::Command(_) | Said::Shell(_))
    }
}

/// Tags around what a command is, or what it printed: the whole of a text.
const OF_COMMANDS: [&str; 8] = [
    "command-name",
    "command-args",
    "command-message",
    "local-command-stdout",
    "local-command-stderr",
    "bash-stdout",
    "bash-stderr",
    "bash-input",
];

/// The tag around what is told of a background task; words for the model can stand behind it.
const TASK: &str = "task-notification";

/// Tags around what the program tells the model in a person's message.
const INJECTED: [&str; 13] = [
    "system-reminder",
    "local-command-caveat",
    "ide_opened_file",
    "ide_selection",
    "ide_diagnostics",
    "user-prompt-submit-hook",
    "session-start-hook",
    "user-memory-input",
    "post-tool-use-hook",
    "teammate-message",
    "agent-message",
    "cross-session-message",
    "channel-message",
];

/// Who writes a line in the person's name, by its `origin`.
const OTHERS: [&str; 9] = [
    "task-notification",
    "peer",
    "teammate",
    "channel",
    "coordinator",
    "observer",
    "observer-activity",
    "auto-continuation",
    "cron",
];

/// Whether the program, or another agent, says what stands in a user's line.
pub(crate) fn is_by_others(line: &Value) -> bool {
    let kind = line
        .get("origin")
        .and_then(|origin| text_of(origin, "kind"));
    kind.is_some_and(|kind| OTHERS.contains(&kind))
}

/// What tells the events of a text's pieces apart: part of their ids, so that it stays as it is.
pub(crate) fn piece_tag(at: usize) -> String {
    match at {
        0 => "said".to_owned(),
        at => format!("said{at}"),
    }
}

/// Takes a user's text apart, in the order of its pieces; a person's words come last, a command first.
pub(crate) fn pieces(text: &str) -> Vec<Said> {
    pieces_of(&[text])
}

/// As `pieces`, of several texts in one line: what the program adds is often one of its own.
pub(crate) fn pieces_of(texts: &[&str]) -> Vec<Said> {
    if let [text] = texts {
        let trimmed = text.trim();
        if trimmed.starts_with("[Request interrupted by user") && trimmed.ends_with(']') {
            return vec![Said::Interrupt];
        }
    }
    let mut said = Vec::new();
    let mut words = Vec::new();
    let mut command: Option<(String, String)> = None;
    for text in texts {
        let (elements, rest) = take_apart(text);
        for Element {
            name, inner, from, ..
        } in elements
        {
            match name {
                "command-name" => command = Some((inner.trim().to_owned(), String::new())),
                "command-args" => match &mut command {
                    Some((_, args)) => inner.trim().clone_into(args),
                    None => said.push(Said::Injected(inner.to_owned())),
                },
                // It says the command's name again.
                "command-message" => {}
                "local-command-stdout" | "local-command-stderr" => {
                    said.push(Said::Done(inner.to_owned()));
                }
                "bash-stdout" | "bash-stderr" => said.push(Said::Output(inner.to_owned())),
                "bash-input" => said.push(Said::Shell(format!("!{inner}"))),
                TASK => said.push(Said::TaskNotification(inner.trim().to_owned())),
                _ => said.push(Said::Injected(match from {
                    Some(from) => format!("{from}: {}", inner.trim()),
                    None => inner.trim().to_owned(),
                })),
            }
        }
        words.push(rest);
    }
    if let Some((name, args)) = command {
        let slash = if name.starts_with('/') { "" } else { "/" };
        let line = if args.is_empty() {
            format!("{slash}{name}")
        } else {
            format!("{slash}{name} {args}")
        };
        said.insert(0, Said::Command(line));
    }
    // Words without any tag are kept to the letter.
    if said.is_empty() {
        return vec![Said::Words(texts.join("\n"))];
    }
    let words = words.join("\n");
    if !words.trim().is_empty() {
        said.push(Said::Words(words.trim().to_owned()));
    }
    said
}

/// Whether a command is the program's own business: no model answers to it, and no work is done.
pub(crate) fn is_local(command: &str) -> bool {
    let is_work = command.starts_with("/compact");
    command.starts_with('/') && !is_work && gist::title(command).is_none()
}

/// Whether a person's words may stand beside the element.
fn is_beside_words(name: &str) -> bool {
    name == TASK || INJECTED.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_without_tags_are_kept_to_the_letter() {
        for words in [
            "Fix <b>it</b>",
            " a ",
            "",
            "<system-reminder> open",
            "1 < 2",
        ] {
            assert_eq!(pieces(words), [Said::Words(words.to_owned())]);
        }
    }

    #[test]
    fn what_the_program_says_is_told_apart_from_what_a_person_says() {
        assert_eq!(
            pieces("[Request interrupted by user for tool use]"),
            [Said::Interrupt]
        );
        let command = "<command-name>/model</command-name>\n<command-message>model</command-message>\n<command-args>opus</command-args>";
        assert_eq!(pieces(command), [Said::Command("/model opus".to_owned())]);
        let mixed = "<ide_selection>a</ide_selection>\nLook\n\nhere\n<system-reminder>be kind</system-reminder>\n";
        assert_eq!(
            pieces(mixed),
            [
                Said::Injected("a".to_owned()),
                Said::Injected("be kind".to_owned()),
                Said::Words("Look\n\nhere".to_owned())
            ]
        );
        assert_eq!(
            pieces("<local-command-stdout></local-command-stdout>"),
            [Said::Done(String::new())]
        );
        assert_eq!(
            pieces("<bash-input> ls</bash-input>"),
            [Said::Shell("! ls".to_owned())]
        );
        assert_eq!(
            pieces("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"),
            [Said::Output("a".to_owned()), Said::Output(String::new())]
        );
    }

    #[test]
    fn a_tag_that_a_person_quotes_is_a_persons_word() {
        for words in [
            "What does <command-name>/x</command-name> mean?",
            "Why is there a <system-reminder>be kind</system-reminder>",
            "<system-reminder>be kind</system-reminder> is what I see",
            "<system-reminder>a</system-reminder><system-reminder>b</system-reminder>: why?",
            "I see\n<system-reminder>\nbe kind\n</system-reminder>\nin the log",
            "I see\n```\n<system-reminder>be kind</system-reminder>\n```",
            "```\n<bash-stdout>a</bash-stdout>\n```\nis wrong",
            "<command-name>/x</command-name>\nis what it writes",
            "it writes\n<local-command-stdout>a</local-command-stdout>",
            "- <ide_selection>a</ide_selection>",
        ] {
            assert_eq!(pieces(words), [Said::Words(words.to_owned())]);
        }
    }

    #[test]
    fn each_text_of_a_line_is_one_persons_or_the_programs() {
        let reminder = "<system-reminder>be kind</system-reminder>";
        assert_eq!(
            pieces_of(&["Look", reminder, "at </system-reminder>"]),
            [
                Said::Injected("be kind".to_owned()),
                Said::Words("Look\n\nat </system-reminder>".to_owned())
            ]
        );
        assert_eq!(
            pieces_of(&["<command-name>/x</command-name>", "with <b>care</b>"]),
            [
                Said::Command("/x".to_owned()),
                Said::Words("with <b>care</b>".to_owned())
            ]
        );
        assert_eq!(pieces_of(&["a ", "b"]), [Said::Words("a \nb".to_owned())]);
    }

    #[test]
    fn elements_beside_words_stand_on_lines_of_their_own_one_behind_the_other() {
        let one = "<system-reminder>one</system-reminder>";
        let two = "<ide_diagnostics>two <system-reminder></ide_diagnostics>";
        let said = [
            Said::Injected("one".to_owned()),
            Said::Injected("two <system-reminder>".to_owned()),
            Said::Words("Go".to_owned()),
        ];
        for text in [
            format!("{one}\n{two}\nGo"),
            format!(" {one}{two} \r\n\nGo"),
            format!("Go\n{one}\n{two}\n"),
            format!("{one}\nGo\n\n  {two}"),
        ] {
            assert_eq!(pieces(&text), said, "{text}");
        }
        let notified = "<task-notification>\nk1\n</task-notification>\nRead the output";
        assert_eq!(
            pieces(notified),
            [
                Said::TaskNotification("k1".to_owned()),
                Said::Words("Read the output".to_owned())
            ]
        );
    }
}
