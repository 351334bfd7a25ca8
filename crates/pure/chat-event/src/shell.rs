//! Commands as agents report them. Many hand each script to a shell and report that, in quotes within quotes; what a
//! reader wants to see is the script.

use std::borrow::Cow;

/// The script that a command hands to a shell; the command itself, where it is anything else. A script that is cut off
/// within its quotes is taken as far as it goes.
///
/// ```
/// use chat_event::shell::script_of;
/// assert_eq!(script_of("/bin/bash -lc 'cargo test'"), "cargo test");
/// assert_eq!(script_of(r#"bash -c "echo \"a\"""#), "echo \"a\"");
/// assert_eq!(script_of("bash build.sh -c x"), "bash build.sh -c x");
/// ```
pub fn script_of(command: &str) -> Cow<'_, str> {
    handed_over(command).unwrap_or(Cow::Borrowed(command))
}

/// The same of a list of words.
///
/// ```
/// use chat_event::shell::script_of_words;
/// assert_eq!(script_of_words(&["bash", "-lc", "ls -l"]), Some("ls -l"));
/// assert_eq!(script_of_words(&["ls", "-l"]), None);
/// ```
pub fn script_of_words<'w>(words: &[&'w str]) -> Option<&'w str> {
    match words {
        [shell, flag, script] if is_shell(shell) && takes_script(flag) && !script.is_empty() => {
            Some(script)
        }
        _ => None,
    }
}

fn handed_over(command: &str) -> Option<Cow<'_, str>> {
    let (shell, rest) = command.trim().split_once(' ')?;
    let (flag, script) = rest.trim_start().split_once(' ')?;
    (is_shell(shell) && takes_script(flag)).then_some(())?;
    only_word(script.trim_start())
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    matches!(
        name,
        "sh" | "bash" | "zsh" | "dash" | "ash" | "ksh" | "fish"
    )
}

/// `-c`, by itself or behind what only says how the shell starts.
fn takes_script(flag: &str) -> bool {
    let flags = flag
        .strip_prefix('-')
        .and_then(|flag| flag.strip_suffix('c'));
    flags.is_some_and(|flags| flags.bytes().all(|flag| matches!(flag, b'l' | b'i' | b'e')))
}

/// The word that a text is for a shell; `None` where it is more than one, or none.
fn only_word(text: &str) -> Option<Cow<'_, str>> {
    // What most are: one pair of quotes around all of it.
    let inner = text
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''));
    if let Some(inner) = inner.filter(|inner| !inner.is_empty() && !inner.contains('\'')) {
        return Some(Cow::Borrowed(inner));
    }
    let mut word = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\'' => {
                let quoted = chars.by_ref().take_while(|char| *char != '\'');
                word.extend(quoted);
            }
            '"' => push_quoted(&mut word, &mut chars)?,
            '\\' => word.extend(chars.next().filter(|char| *char != '\n')),
            // A second word, or something that the shell around does with the first.
            _ if char.is_whitespace() || "|&;<>()`$".contains(char) => return None,
            _ => word.push(char),
        }
    }
    (!word.is_empty()).then_some(Cow::Owned(word))
}

/// Takes what stands in double quotes, up to the closing one; `None` where the shell around puts something in there.
fn push_quoted(word: &mut String, chars: &mut std::str::Chars<'_>) -> Option<()> {
    while let Some(char) = chars.next() {
        match char {
            '"' => return Some(()),
            '$' | '`' => return None,
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some(escaped @ ('\\' | '"' | '$' | '`')) => word.push(escaped),
                Some(other) => word.extend(['\\', other]),
            },
            _ => word.push(char),
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As programs quote a word: in single quotes, with those of its own outside of them.
    fn in_single_quotes(script: &str) -> String {
        format!("'{}'", script.replace('\'', r"'\''"))
    }

    /// As others do: in double quotes, with what has a meaning there escaped.
    fn in_double_quotes(script: &str) -> String {
        let mut quoted = String::from('"');
        for char in script.chars() {
            if "\\\"$`".contains(char) {
                quoted.push('\\');
            }
            quoted.push(char);
        }
        quoted.push('"');
        quoted
    }

    fn script() -> impl Strategy<Value = String> {
        let parts = prop::sample::select(vec![
            "ls", " ", "'", "\"", "\\", "$x", "`", "\n", "|", "é", "\\n", "&&", "-c",
        ]);
        prop::collection::vec(parts, 1..12).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn what_was_quoted_is_what_is_read(script in script(), shell in prop::sample::select(vec!["bash", "/bin/bash", "/usr/bin/zsh", "sh"]), flag in prop::sample::select(vec!["-c", "-lc", "-ic"])) {
            for quoted in [in_single_quotes(&script), in_double_quotes(&script)] {
                let command = format!("{shell} {flag} {quoted}");
                prop_assert_eq!(script_of(&command), script.as_str());
            }
            prop_assert_eq!(script_of_words(&[shell, flag, &script]), Some(script.as_str()));
        }

        #[test]
        fn a_script_that_is_cut_off_is_its_beginning(script in script(), share in 0.0..1.0_f64) {
            let quoted = in_single_quotes(&script);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let n_chars = 2 + (quoted.chars().count() as f64 * share) as usize;
            let cut: String = quoted.chars().take(n_chars).collect();
            let whole = format!("bash -lc {cut}");
            let read = script_of(&whole);
            prop_assert!(script.starts_with(&*read) || *read == *whole, "{:?} of {:?}", read, script);
        }

        #[test]
        fn no_command_is_too_much_for_it(command in "(bash|sh|x)? ?(-l?c)? ?.{0,40}") {
            script_of(&command);
        }
    }

    #[test]
    fn other_commands_stay_as_they_are() {
        for command in [
            "",
            "ls -l",
            "bash",
            "bash -c",
            "bash -lc ''",
            "bash -x -c 'ls'",
            "bash -c 'ls' && rm x",
            "bash -c 'echo $1' name word",
            "bash -c ls > out",
            "bash -c $script",
            "bash -c \"$(curl -fsSL https://example.org/install.sh)\"",
            "bash -c \"echo `date`\"",
            "rush -c 'ls'",
            "/bin/bash script.sh",
        ] {
            assert_eq!(script_of(command), command);
        }
        assert_eq!(script_of("bash -lc ls"), "ls");
        assert_eq!(script_of(r"sh -c ls\ -l"), "ls -l");
    }
}
