//! What the name of a spool says: its first session, the process that wrote it, and the dialect of its source.

use std::path::Path;

use chat_normalize::Dialect;

/// The name of the `nth` spool of a process, from one, that begins with the session.
pub(super) fn name_of(
    session_id: &str,
    process: u32,
    nth: u32,
    dialect: Option<Dialect>,
) -> String {
    let safe = safe_name(session_id);
    let again = match nth {
        1 => String::new(),
        n => format!("-{n}"),
    };
    let word = dialect.map_or_else(String::new, |dialect| format!(".{}", dialect.word()));
    format!("{safe}-{process}{again}{word}.jsonl")
}

/// The dialect of the source whose events are in a spool.
pub(crate) fn dialect_of(path: &Path) -> Option<Dialect> {
    let stem = path.file_stem()?.to_str()?;
    Dialect::from_word(stem.rsplit_once('.')?.1)
}

/// The sessions that a spool may begin with, as `safe_name` has them: where an id ends like a process's number, there are
/// two. None where no pipe named it.
pub fn sessions_named(path: &Path) -> Vec<String> {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    // No id has a point in a name.
    let stem = stem.and_then(|stem| stem.split('.').next());
    let once = stem.and_then(without_number);
    let twice = once.and_then(without_number);
    once.into_iter().chain(twice).map(str::to_owned).collect()
}

/// The sessions of which nothing later may be told before a spool that waits for this one, as `safe_name` has them: where its
/// name may mean two, the one that it waits for.
pub fn sessions_behind(path: &Path, waits_for: &str) -> Vec<String> {
    let mut named = sessions_named(path);
    if named.iter().any(|session| session == waits_for) {
        named.clear();
    }
    named.push(waits_for.to_owned());
    named
}

/// Whether other sources may tell of the sessions of a spool, and it waits for them: where a provider's lines were read.
pub fn is_beside_others(path: &Path) -> bool {
    is_of_a_provider(dialect_of(path))
}

/// Whether lines of this dialect are a provider's.
pub(crate) fn is_of_a_provider(dialect: Option<Dialect>) -> bool {
    dialect.is_some_and(|dialect| dialect != Dialect::ChatEvents)
}

fn without_number(name: &str) -> Option<&str> {
    let (before, number) = name.rsplit_once('-')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(before)
}

/// An id that fits the wire fits a file name; anything else stays out of it.
pub(crate) fn safe_name(session_id: &str) -> String {
    session_id
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .take(64)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spools_session_is_among_those_that_its_name_may_mean() {
        for (session_id, nth, expected) in [
            ("s1", 1, &["s1"][..]),
            ("s1", 2, &["s1-7", "s1"]),
            ("s1-5", 1, &["s1-5", "s1"]),
            ("s1.é/2", 1, &["s12"]),
        ] {
            for dialect in [None, Dialect::from_word("claude-stream")] {
                let name = name_of(session_id, 7, nth, dialect);
                assert_eq!(sessions_named(Path::new(&name)), expected, "{name}");
                assert_eq!(dialect_of(Path::new(&name)), dialect);
            }
        }
        assert!(sessions_named(Path::new("mine.jsonl")).is_empty());
    }

    #[test]
    fn a_spool_that_waits_holds_up_the_session_that_it_waits_for() {
        for (name, waits_for, expected) in [
            ("task-1-9.jsonl", "task-1", &["task-1"][..]),
            ("task-1-9.jsonl", "task", &["task"]),
            // It may have more of the one that it began with.
            ("s1-9.jsonl", "s2", &["s1", "s2"]),
        ] {
            let behind = sessions_behind(Path::new(name), waits_for);
            assert_eq!(behind, expected, "{name} {waits_for}");
        }
    }
}
