//! What is shown of a long text: its two ends, and all of it once the reader asks. A text that is here and the reference
//! that stands for it are shown alike, because both are shown by their [`Excerpt`].
//!
//! Where bodies come from is for the page, what was asked for and how far it has come for `loads`.

use std::collections::BTreeSet;

use chat_event::{Body, BodyRef, Excerpt, Json, bodies};

use crate::units;

/// Lines shown of the beginning and the end of a long text.
pub const HEAD_LINES: usize = 12;
/// See [`HEAD_LINES`].
pub const TAIL_LINES: usize = 8;

/// No result, output or change of more bytes opens by itself.
pub(crate) const OPEN_BYTES: usize = 64 * 1024;

/// As much of one text is fetched, and put into the page, at once: more takes a browser seconds to lay out.
pub const WHOLE_BYTES: usize = 512 * 1024;

/// So much of a long string is shown among other JSON.
const AMONG_OTHERS_BYTES: usize = 1_000;

/// A text before anybody asked for the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ends {
    /// It is short, and shown whole.
    All(String),
    /// Its first and its last lines. There are none of the last where an older reference does not tell them.
    Both {
        /// The first lines.
        head: String,
        /// The last lines.
        tail: String,
    },
}

/// What is shown of a text before anybody asked for the whole; `clean` makes it fit to be shown.
pub fn ends(excerpt: &Excerpt<'_>, clean: impl Fn(&str) -> String) -> Ends {
    let Some(whole) = excerpt.whole() else {
        let preview = clean(&excerpt.preview);
        let mut first: Vec<&str> = preview.lines().collect();
        // The last line is cut somewhere, unless it is all there is.
        if first.len() > 1 && !excerpt.preview.ends_with('\n') {
            first.pop();
        }
        first.truncate(HEAD_LINES);
        let tail = clean(&excerpt.tail);
        let last: Vec<&str> = tail.lines().collect();
        return Ends::Both {
            head: first.join("\n"),
            tail: last[last.len().saturating_sub(TAIL_LINES)..].join("\n"),
        };
    };
    let text = clean(&whole);
    let lines: Vec<&str> = text.lines().collect();
    // A button in the place of one line saves nothing.
    if lines.len() < HEAD_LINES + TAIL_LINES + 2 {
        return Ends::All(lines.join("\n"));
    }
    Ends::Both {
        head: lines[..HEAD_LINES].join("\n"),
        tail: lines[lines.len() - TAIL_LINES..].join("\n"),
    }
}

/// Lines of a text that are printed; paper has nothing to press.
pub const PAPER_LINES: usize = 40;

/// What of a text is printed, and how much more there is of it, where there is.
pub fn on_paper(excerpt: &Excerpt<'_>, clean: impl Fn(&str) -> String) -> (String, Option<String>) {
    let whole = excerpt.whole();
    let text = clean(whole.as_deref().unwrap_or(&excerpt.preview));
    let mut lines: Vec<&str> = text.lines().collect();
    let n_lines = match whole.is_some() {
        true => Some(lines.len() as u64),
        false => excerpt.lines,
    };
    // The last line is cut somewhere, unless it is all there is.
    if whole.is_none() && lines.len() > 1 && !excerpt.preview.ends_with('\n') {
        lines.pop();
    }
    // A word in the place of one line saves nothing.
    if whole.is_none() || lines.len() > PAPER_LINES + 1 {
        lines.truncate(PAPER_LINES);
    }
    let shown = lines.join("\n");
    let more = match n_lines.map(|n_lines| n_lines.saturating_sub(lines.len() as u64)) {
        Some(0) if whole.is_some() => None,
        None | Some(0) => {
            let n_bytes = excerpt.bytes.saturating_sub(shown.len() as u64);
            Some(format!("{} more", units::bytes(n_bytes)))
        }
        Some(n_more) => Some(more_lines(n_more)),
    };
    (shown, more)
}

/// "2,960 more lines"
pub fn more_lines(n_lines: u64) -> String {
    units::count(n_lines, "more line", "more lines")
}

/// The words of the button that shows the whole, or as much of it as is shown there, and its size where that says
/// something.
pub fn ask_label(excerpt: &Excerpt<'_>, most_bytes: u64) -> (String, Option<String>) {
    let size = units::bytes(excerpt.bytes);
    if excerpt.bytes > most_bytes {
        let first = units::bytes(most_bytes);
        return (format!("Show the first {first} of {size}"), None);
    }
    match excerpt.lines.filter(|&lines| lines > 1) {
        Some(lines) => {
            let lines = units::count(lines, "line", "lines");
            let size = (excerpt.bytes >= 10_000).then_some(size);
            (format!("Show all {lines}"), size)
        }
        None => (format!("Load full ({size})"), None),
    }
}

/// JSON with its long strings cut: the same text whether they are here or elsewhere. `None` where it has none.
pub fn shortened(json: &Json) -> Option<Json> {
    bodies::retell(json, &mut |body| {
        let excerpt = body.excerpt();
        if excerpt.bytes <= chat_event::PREVIEW_BYTES as u64 {
            return Some(excerpt.preview.clone().into_string());
        }
        let beginning = &excerpt.preview[..excerpt.preview.floor_char_boundary(AMONG_OTHERS_BYTES)];
        let left = units::bytes(excerpt.bytes.saturating_sub(beginning.len() as u64));
        Some(format!("{beginning} … ({left} more)"))
    })
}

/// The bodies that a value refers to.
pub fn references(json: &Json) -> Vec<BodyRef> {
    let mut found: Vec<BodyRef> = Vec::new();
    let mut known = BTreeSet::new();
    bodies::retell(json, &mut |body| {
        if let Body::Ref { body } = body
            && known.insert(body.sha256.clone())
        {
            found.push(body);
        }
        None
    });
    found
}

/// How much a value is where its bodies are where they were.
pub fn whole_bytes(json: &Json) -> u64 {
    // A reference may say any length.
    let mut n_bytes = 0_u64;
    let rest = bodies::retell(json, &mut |body| {
        n_bytes = n_bytes.saturating_add(body.byte_len());
        Some(String::new())
    });
    n_bytes.saturating_add(rest.as_ref().unwrap_or(json).text_len() as u64)
}

/// Whether [`whole_bytes`] are more than that.
pub fn is_over(json: &Json, most_bytes: u64) -> bool {
    // No string is longer than it is written: most values are known not to be over without reading them.
    let is_short = json.text_len() as u64 <= most_bytes && !bodies::may_refer(json);
    !is_short && whole_bytes(json) > most_bytes
}

/// Any JSON as indented text.
pub fn indented(json: &Json) -> String {
    match json.as_str() {
        Some(text) => text.into_owned(),
        // Numbers that no type holds would be lost on the way through a tree, so small JSON stays as it came.
        None if json.text_len() < 100 => json.as_text().into_string(),
        None => serde_json::to_string_pretty(&json.to_value()).unwrap_or_default(),
    }
}

/// A result that is text, or a list of content parts that are all text: their texts.
pub fn texts(result: &Json) -> Option<Vec<Body>> {
    if let Some(body) = result.to_body() {
        return Some(vec![body]);
    }
    let parts = result
        .parse::<Vec<Json>>()
        .filter(|parts| !parts.is_empty())?;
    let text = |part: &Json| {
        let kind = part.get("type")?;
        (kind.as_text() == "\"text\"").then(|| part.get("text")?.to_body())?
    };
    let texts: Option<Vec<Body>> = parts.iter().map(text).collect();
    let texts = texts?;
    // Short texts are one text; a long one is shown by itself, as it may be elsewhere.
    let short = |body: &Body| body.byte_len() <= chat_event::PREVIEW_BYTES as u64;
    if texts.iter().all(short) {
        let texts: Vec<_> = texts.iter().map(Body::preview).collect();
        let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
        return Some(vec![texts.join("\n").into()]);
    }
    Some(texts)
}

/// Whether a text stands within what is shown of a result.
pub fn shows(result: &Json, needle: &str) -> bool {
    match result.to_body() {
        Some(body) => {
            let excerpt = body.excerpt();
            match excerpt.whole() {
                Some(whole) => whole.contains(needle),
                None => excerpt.preview.contains(needle) || excerpt.tail.contains(needle),
            }
        }
        None => {
            let short = shortened(result);
            short.as_ref().unwrap_or(result).as_text().contains(needle)
        }
    }
}

/// Whether a result is these words and nothing more, but for a pair of tags around them.
pub fn says_only(result: &Json, words: &str) -> bool {
    let Some(body) = result.to_body() else {
        return false;
    };
    let whole = body.excerpt().whole();
    whole.is_some_and(|whole| untagged(&whole) == untagged(words))
}

/// A text without the tags around it: `<error>No such file.</error>`.
pub fn untagged(text: &str) -> &str {
    let text = text.trim();
    let within = || {
        let (name, rest) = text.strip_prefix('<')?.split_once('>')?;
        let is_name = |char: char| char.is_ascii_alphanumeric() || "_-".contains(char);
        let is_tag = !name.is_empty() && name.chars().all(is_name);
        let rest = rest.strip_suffix('>')?.strip_suffix(name)?;
        rest.strip_suffix("</").filter(|_| is_tag)
    };
    within().map_or(text, str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(n: usize) -> String {
        (1..=n).map(|at| format!("line {at} of many\n")).collect()
    }

    fn shown(text: &str) -> Ends {
        ends(&Excerpt::of(text), str::to_owned)
    }

    #[test]
    fn paper_has_the_beginning_and_says_how_much_more_there_is() {
        let printed = |n| on_paper(&Excerpt::of(&lines(n)), str::to_owned);
        let (text, more) = printed(3_000);
        assert_eq!(text.lines().count(), PAPER_LINES);
        assert_eq!(more.as_deref(), Some("2,960 more lines"));
        let (text, more) = printed(PAPER_LINES + 1);
        assert_eq!((text.lines().count(), more), (PAPER_LINES + 1, None));
    }

    #[test]
    fn a_long_text_shows_its_two_ends_in_whole_lines() {
        for n in [22, 100, 10_000] {
            let text = lines(n);
            let all: Vec<&str> = text.lines().collect();
            let head = all[..HEAD_LINES].join("\n");
            let tail = all[n - TAIL_LINES..].join("\n");
            assert_eq!(shown(&text), Ends::Both { head, tail }, "{n} lines");
        }
        assert_eq!(
            shown(&lines(21)),
            Ends::All(lines(21).trim_end().to_owned())
        );
        // A few lines that are long: only those that are whole, and the end.
        let text = format!("{}\n{}\nlast\n", "a".repeat(3000), "b".repeat(9000));
        let Ends::Both { head, tail } = shown(&text) else {
            panic!("it is long")
        };
        assert_eq!(head, "a".repeat(3000));
        assert_eq!(tail, "last");
    }

    #[test]
    fn the_button_says_how_much_it_shows() {
        let label = |text: &str| ask_label(&Excerpt::of(text), WHOLE_BYTES as u64);
        assert_eq!(label(&lines(12_481)).0, "Show all 12,481 lines");
        assert_eq!(label(&lines(30)), ("Show all 30 lines".to_owned(), None));
        assert_eq!(label(&"x".repeat(60_000)).0, "Load full (60 KB)");
        assert_eq!(
            label(&"x\n".repeat(1_000_000)).0,
            "Show the first 524 KB of 2.0 MB"
        );
    }

    #[test]
    fn a_result_that_is_the_error_in_tags_says_no_more_than_it() {
        let says = |result: &str, words: &str| says_only(&Json::string(result), words);
        assert!(says(
            "<tool_use_error>Read it\nfirst.</tool_use_error>\n",
            "Read it\nfirst."
        ));
        assert!(says("No such file", "No such file"));
        assert!(!says("<a>One</a> <b>Two</b>", "One"));
        assert!(!says("<error>No such file</error>\nmore", "No such file"));
        assert_eq!(untagged(" <a-b>\nx\n</a-b>"), "x");
        assert_eq!(untagged("<a href=x>y</a>"), "<a href=x>y</a>");
        assert_eq!(untagged("<>x</>"), "<>x</>");
    }

    #[test]
    fn json_is_shown_alike_with_its_strings_and_with_references() {
        let long = "é".repeat(3000);
        let sent = Json::from(serde_json::json!({"a": 1, "edits": [{"new": long}], "s": "short"}));
        let told = Json::from(
            serde_json::json!({"a": 1, "edits": [{"new": {"$body": BodyRef::to(&long, "00".to_owned())}}], "s": "short"}),
        );
        assert_eq!(shortened(&sent), shortened(&told));
        assert!(shortened(&sent).unwrap().text_len() < 1200);
        assert_eq!(whole_bytes(&sent), whole_bytes(&told));
        for most_bytes in [10, whole_bytes(&sent) - 1, whole_bytes(&sent), 10_000] {
            let over = whole_bytes(&sent) > most_bytes;
            let both = [&sent, &told].map(|json| is_over(json, most_bytes));
            assert_eq!(both, [over, over], "{most_bytes}");
        }
        assert_eq!(references(&told).len(), 1);
        let endless = |name: &str| BodyRef {
            bytes: u64::MAX,
            ..BodyRef::to(&long, name.to_owned())
        };
        let endless = Json::from(serde_json::json!([
            {"$body": endless("00")},
            {"$body": endless("01")},
            {"$body": endless("00")}
        ]));
        assert_eq!(whole_bytes(&endless), u64::MAX);
        assert!(is_over(&endless, 10_000));
        assert_eq!(references(&endless).len(), 2);
        assert_eq!(shortened(&Json::string("short")), None);
    }
}
