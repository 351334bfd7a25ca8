//! Who said a user's line: the person, or the program in the person's name.
//!
//! Claude Code puts its own words into `user` lines, wrapped in tags. The tags are those of 1.0 to 2.1.330.

use chat_event::gist;

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

/// Tags around what the program tells the model in a person's message.
const INJECTED: [&str; 10] = [
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
];

/// What tells the events of a text's pieces apart: part of their ids, so that it stays as it is.
pub(crate) fn piece_tag(at: usize) -> String {
    match at {
        0 => "said".to_owned(),
        at => format!("said{at}"),
    }
}

/// Takes a user's text apart, in the order of its pieces; words in between are a person's.
pub(crate) fn pieces(text: &str) -> Vec<Said> {
    let trimmed = text.trim();
    if trimmed.starts_with("[Request interrupted by user") && trimmed.ends_with(']') {
        return vec![Said::Interrupt];
    }
    let mut said = Vec::new();
    let mut words = String::new();
    let mut command: Option<(String, String)> = None;
    let mut rest = text;
    // An element that is not closed once is not closed later either; looking again would take time without end.
    let mut unclosed = Vec::new();
    while let Some((before, name, inner, after)) = next_tag(rest, &mut unclosed) {
        words.push_str(before);
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
            "task-notification" => said.push(Said::TaskNotification(inner.trim().to_owned())),
            _ => said.push(Said::Injected(inner.trim().to_owned())),
        }
        rest = after;
    }
    words.push_str(rest);
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
        return vec![Said::Words(text.to_owned())];
    }
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

/// The first known element of `text`: what stands before it, its name, what it holds, what stands behind it.
fn next_tag<'a>(
    text: &'a str,
    unclosed: &mut Vec<&'static str>,
) -> Option<(&'a str, &'static str, &'a str, &'a str)> {
    const OTHERS: [&str; 9] = [
        "command-name",
        "command-args",
        "command-message",
        "local-command-stdout",
        "local-command-stderr",
        "bash-stdout",
        "bash-stderr",
        "bash-input",
        "task-notification",
    ];
    let mut from = 0;
    while let Some(at) = text[from..].find('<').map(|at| at + from) {
        let tail = &text[at + 1..];
        for name in OTHERS.into_iter().chain(INJECTED) {
            let Some(inner) = tail
                .strip_prefix(name)
                .and_then(|tail| tail.strip_prefix('>'))
            else {
                continue;
            };
            if unclosed.contains(&name) {
                continue;
            }
            let close = format!("</{name}>");
            match inner.find(&close) {
                Some(end) => {
                    return Some((
                        &text[..at],
                        name,
                        &inner[..end],
                        &inner[end + close.len()..],
                    ));
                }
                None => unclosed.push(name),
            }
        }
        from = at + 1;
    }
    None
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
        let mixed = "Look\n<system-reminder>be kind</system-reminder>\nhere";
        assert_eq!(
            pieces(mixed),
            [
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
}
