//! Durations, counts and sizes as words, as the page shows them.

pub use chat_event::numbers::{count, grouped};

/// A duration: `0.4 s`, `12 s`, `1m 40s`, `2h 05m`
pub fn duration(duration_ms: u64) -> String {
    match duration_ms {
        // Tenths are told apart up to ten seconds, as a reader would.
        0..=9_949 => format!(
            "{}.{} s",
            (duration_ms + 50) / 1_000,
            (duration_ms + 50) / 100 % 10
        ),
        9_950..=59_499 => format!("{} s", (duration_ms + 500) / 1_000),
        _ => minutes(duration_ms),
    }
}

/// A duration of a minute or more: `1m 40s`, `2h 05m`, `3 days`
pub(crate) fn minutes(duration_ms: u64) -> String {
    let seconds = duration_ms.saturating_add(500) / 1_000;
    let (minutes, hours) = (seconds / 60 % 60, seconds / 3_600);
    if hours >= 48 {
        // Of days nobody wants the hours.
        format!("{} days", hours / 24)
    } else if hours > 0 {
        format!("{hours}h {minutes:02}m")
    } else {
        format!("{minutes}m {:02}s", seconds % 60)
    }
}

/// Time that goes on passing, in whole units: tenths that change once a second say nothing, and of days nobody wants
/// the hours. `None` below a second.
pub fn passed(passed_ms: u64) -> Option<String> {
    const DAY_MS: u64 = 86_400_000;
    match (passed_ms / 1_000, passed_ms / DAY_MS) {
        (0, _) => None,
        (seconds @ 1..10, _) => Some(format!("{seconds} s")),
        (seconds, 0 | 1) => Some(duration(seconds * 1_000)),
        (_, days) => Some(format!("{days} days")),
    }
}

/// A duration as a clock that runs shows it: `3:05`, `1:03:05`, `2d 1:03:05`
pub fn on_a_clock(duration_ms: u64) -> String {
    let seconds = duration_ms / 1_000;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours / 24, hours % 24) {
        (0, 0) => format!("{minutes}:{seconds:02}"),
        (0, hours) => format!("{hours}:{minutes:02}:{seconds:02}"),
        (days, hours) => format!("{days}d {hours}:{minutes:02}:{seconds:02}"),
    }
}

/// A duration where it says anything: below a twentieth of a second there is none.
pub fn told_duration(duration_ms: u64) -> Option<String> {
    (duration_ms >= 50).then(|| duration(duration_ms))
}

/// A path as it is seen from a folder: the part below it, else the whole path.
pub fn below<'a>(path: &'a str, folder: Option<&str>) -> &'a str {
    folder
        .filter(|folder| folder.len() > 1)
        .and_then(|folder| path.strip_prefix(folder))
        .and_then(|rest| rest.strip_prefix(['/', '\\']))
        .filter(|rest| !rest.is_empty())
        .unwrap_or(path)
}

/// So many folders of a path are told apart; none that is read has more.
const MOST_FOLDERS: usize = 16;

/// A path in parts: its folders with what stands behind each, and its last name. Of very many folders the first are one.
///
/// ```
/// use chat_feed::units::folders_and_name;
/// assert_eq!(folders_and_name("/src/app/"), (vec!["/", "src/"], "app/"));
/// ```
pub fn folders_and_name(path: &str) -> (Vec<&str>, &str) {
    let ends = path
        .trim_end_matches(['/', '\\'])
        .match_indices(['/', '\\'])
        .map(|(at, _)| at + 1);
    let ends: Vec<usize> = ends.collect();
    let ends = &ends[ends.len().saturating_sub(MOST_FOLDERS)..];
    let mut from = 0;
    let folder = |end: &usize| &path[std::mem::replace(&mut from, *end)..*end];
    let folders = ends.iter().map(folder).collect();
    (folders, &path[from..])
}

/// A size in bytes: `212 KB`, `1.5 MB`, `2.0 GB`
pub fn bytes(n_bytes: u64) -> String {
    match n_bytes {
        0..=999 => format!("{n_bytes} B"),
        1_000..=999_499 => format!("{} KB", (n_bytes + 500) / 1_000),
        999_500..=999_949_999 => tenths(n_bytes, 1_000_000, " MB"),
        _ => tenths(n_bytes, 1_000_000_000, " GB"),
    }
}

/// A count of tokens: `912`, `31k`, `1.2M`
pub fn tokens(n_tokens: u64) -> String {
    match n_tokens {
        0..=999 => n_tokens.to_string(),
        1_000..=999_499 => format!("{}k", (n_tokens + 500) / 1_000),
        _ => tenths(n_tokens, 1_000_000, "M"),
    }
}

/// Rounded to tenths of what `unit` stands for.
fn tenths(n: u64, of: u64, unit: &str) -> String {
    let tenths = n.saturating_add(of / 20) / (of / 10);
    format!("{}.{}{unit}", tenths / 10, tenths % 10)
}

/// A model without the name of its family's maker and the day it was made: `opus-4-5` of `claude-opus-4-5-20251101`. The
/// session's first row has all of it.
pub fn model(name: &str) -> &str {
    let name = name.strip_prefix("claude-").unwrap_or(name);
    match name.rsplit_once('-') {
        Some((name, day)) if is_day(day) && !name.is_empty() => name,
        _ => name,
    }
}

/// Such as `20251101`.
fn is_day(text: &str) -> bool {
    text.len() == 8 && text.starts_with("20") && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Dollars: `$0.22`
pub fn dollars(usd: f64) -> String {
    if usd > 0.0 && usd < 0.01 {
        return "<$0.01".to_owned();
    }
    // In whole cents: what prints numbers of any size and precision would be a large part of the page's first rows.
    #[allow(clippy::cast_possible_truncation)]
    let cents = (usd * 100.0).round() as i64;
    let sign = if cents < 0 { "-" } else { "" };
    let cents = cents.unsigned_abs();
    format!("${sign}{}.{:02}", cents / 100, cents % 100)
}

/// Longer words are broken where there is no room for them.
const KEPT_CHARS: usize = 40;

/// A command in pieces, and which of them are to stay whole where it is broken into lines: browsers break words behind a
/// hyphen, and `--` at the end of one line with `release` in the next is another command to who reads it.
///
/// ```
/// use chat_feed::units::kept_words;
/// assert_eq!(kept_words("a --b c"), [("a ", false), ("--b", true), (" c", false)]);
/// ```
pub fn kept_words(command: &str) -> Vec<(&str, bool)> {
    let mut pieces = Vec::new();
    let (mut plain_from, mut at) = (0, 0);
    for word in command.split_inclusive(char::is_whitespace) {
        let kept = word.trim_end();
        if kept.contains('-') && kept.chars().count() <= KEPT_CHARS {
            if plain_from < at {
                pieces.push((&command[plain_from..at], false));
            }
            pieces.push((kept, true));
            plain_from = at + kept.len();
        }
        at += word.len();
    }
    if plain_from < command.len() {
        pieces.push((&command[plain_from..], false));
    }
    pieces
}

/// The first line of a text, cut to so many characters.
pub fn first_line(text: &str, most_chars: usize) -> String {
    let line = text
        .trim_start()
        .lines()
        .next()
        .unwrap_or_default()
        .trim_end();
    match line.char_indices().nth(most_chars) {
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{bytes, duration, folders_and_name, model, on_a_clock, tokens};

    /// A number and what its unit stands for.
    fn number(told: &str) -> f64 {
        let end = told
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(told.len());
        let times = match told[end..].trim() {
            "" | "B" => 1.0,
            "k" | "KB" => 1e3,
            "M" | "MB" => 1e6,
            "GB" => 1e9,
            unit => panic!("{unit}"),
        };
        told[..end].parse::<f64>().unwrap() * times
    }

    #[test]
    fn more_is_never_told_as_less() {
        for tells in [bytes, tokens] {
            for around in [1_000, 1_000_000, 1_000_000_000] {
                let mut most = 0.0;
                for n in around - 60_000_u64.min(around)..around + 60_000 {
                    let told = number(&tells(n));
                    assert!(told >= most, "{n} is told as {}", tells(n));
                    most = told;
                }
            }
        }
        assert_eq!(
            [tokens(999_499), tokens(999_500), tokens(1_260_000)],
            ["999k", "1.0M", "1.3M"]
        );
        assert_eq!(
            [bytes(999_500), bytes(999_949_999), bytes(999_950_000)],
            ["1.0 MB", "999.9 MB", "1.0 GB"]
        );
    }

    #[test]
    fn of_days_nobody_wants_the_hours() {
        assert_eq!(duration(47 * 3_600_000), "47h 00m");
        assert_eq!(duration(2_767 * 3_600_000), "115 days");
    }

    #[test]
    fn the_parts_of_a_path_are_all_of_it() {
        for (path, n_folders) in [
            ("", 0),
            ("/", 0),
            ("a.rs", 0),
            (r"C:\a\b.rs", 2),
            ("é/ü", 1),
        ] {
            let (folders, name) = folders_and_name(path);
            assert_eq!([folders.concat().as_str(), name].concat(), path);
            assert_eq!(folders.len(), n_folders, "{path}");
        }
        let deep = "a/".repeat(1_000) + "b";
        let (folders, name) = folders_and_name(&deep);
        assert_eq!((folders.len(), name), (super::MOST_FOLDERS, "b"));
        assert_eq!(folders.concat() + "b", deep);
    }

    #[test]
    fn a_clock_that_runs_tells_seconds_however_long() {
        let told = [59_999, 3_785_000, 86_399_999, 86_400_000, 176_585_000].map(on_a_clock);
        let days = ["1d 0:00:00", "2d 1:03:05"];
        assert_eq!(told, ["0:59", "1:03:05", "23:59:59", days[0], days[1]]);
    }

    #[test]
    fn a_model_is_called_by_what_tells_it_from_others() {
        for (name, short) in [
            ("claude-opus-4-5-20251101", "opus-4-5"),
            ("claude-opus-4-5", "opus-4-5"),
            ("gpt-5.5", "gpt-5.5"),
            ("gpt-4o-2024-08-06", "gpt-4o-2024-08-06"),
            ("-20251101", "-20251101"),
            ("", ""),
        ] {
            assert_eq!(model(name), short);
        }
    }
}
