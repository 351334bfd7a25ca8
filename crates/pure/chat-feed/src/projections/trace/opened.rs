//! What a verbose trace opens: arguments, results, texts, and diffs in a box.

use chat_diff::LineKind as DiffKind;
use chat_event::Json;
use chat_event::payload::FileEdit;
use serde_json::Value;

use super::clean::{clean, lines, one_line};
use super::line::LineKind;
use crate::units;

/// The rule of a diff's box.
const RULE: &str = "─────────────────────────────────────────────";

/// Lines with what they are about.
pub(super) type Opened = Vec<(LineKind, String)>;

/// Lines of a text behind a bar.
pub(super) fn text(text: &str, kind: LineKind) -> Opened {
    lines(text)
        .map(|line| (kind, format!("  │ {line}")))
        .collect()
}

/// The arguments of a call, one line a field; those that its line says whole are left out.
pub(super) fn args(args: &Json, target: &str) -> Opened {
    if args.is_null() {
        return Vec::new();
    }
    let Value::Object(members) = args.to_value() else {
        return text(&args.display_text(), LineKind::Opened);
    };
    let mut opened = Vec::new();
    for (key, value) in &members {
        let said = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        if said == target {
            continue;
        }
        let key = one_line(key);
        if said.contains('\n') {
            opened.push((LineKind::Opened, format!("  │ {key}:")));
            let said = lines(&said);
            opened.extend(said.map(|line| (LineKind::Opened, format!("  │   {line}"))));
        } else {
            opened.push((LineKind::Opened, format!("  │ {key}: {}", clean(&said))));
        }
    }
    opened
}

/// What a call gave.
pub(super) fn result(result: &Json) -> Opened {
    if let Some(reference) = result.body_ref() {
        let mut opened = text(&reference.preview, LineKind::Opened);
        if reference.truncated {
            let note = format!("  │ … ({} bytes in all)", reference.bytes);
            opened.push((LineKind::Opened, note));
        }
        return opened;
    }
    if result.is_null() {
        return Vec::new();
    }
    if let Some(said) = result.as_str() {
        return text(&said, LineKind::Opened);
    }
    let value = result.to_value();
    match text_parts(&value) {
        Some(said) => text(&said, LineKind::Opened),
        None => {
            let pretty = serde_json::to_string_pretty(&value);
            let pretty = pretty.unwrap_or_else(|_| result.as_text().into_string());
            text(&pretty, LineKind::Opened)
        }
    }
}

/// A list of content parts that are all text, as one.
fn text_parts(value: &Value) -> Option<String> {
    let parts = value.as_array().filter(|parts| !parts.is_empty())?;
    let text_of = |part: &Value| {
        let is_text = part.get("type").and_then(Value::as_str) == Some("text");
        let text = part.get("text").and_then(Value::as_str);
        text.filter(|_| is_text).map(str::to_owned)
    };
    let texts: Option<Vec<String>> = parts.iter().map(text_of).collect();
    texts.map(|texts| texts.join("\n"))
}

/// What a file is called and what became of it: `src/lib.rs (modified, +2 −0)`.
pub(super) fn file(edit: &FileEdit, cwd: Option<&str>) -> String {
    let path = one_line(units::below(&edit.file_path, cwd));
    let path = match &edit.old_path {
        Some(old) => format!("{} → {path}", one_line(units::below(old, cwd))),
        None => path,
    };
    let mut facts = vec![one_line(&edit.change_type)];
    if edit.binary == Some(true) {
        facts.push("binary".to_owned());
    }
    if edit.lines_added + edit.lines_removed > 0 {
        facts.push(format!("+{} −{}", edit.lines_added, edit.lines_removed));
    }
    format!("{path} ({})", facts.join(", "))
}

/// A diff in its box, hunks with a rule between them; nothing where there is none.
pub(super) fn diff(edit: &FileEdit) -> Opened {
    let (source, whole) = match &edit.full_diff {
        Some(body) => (
            body.preview(),
            body.reference().is_none_or(|body| !body.truncated),
        ),
        None => {
            let n_bytes = edit.diff_preview.len() as u64;
            (edit.diff_preview.read(), edit.full_diff_size <= n_bytes)
        }
    };
    let patch = chat_diff::parse(&source);
    let mut opened: Opened = Vec::new();
    for hunk in patch.files.iter().flat_map(|file| &file.hunks) {
        let frame = match (opened.is_empty(), hunk.placed) {
            (true, _) => format!("┌{RULE}"),
            (false, true) => format!("├─ line {} {RULE}", hunk.new_start),
            (false, false) => format!("├{RULE}"),
        };
        opened.push((LineKind::File, frame));
        for line in &hunk.lines {
            let kind = match line.kind {
                DiffKind::Context => LineKind::Opened,
                DiffKind::Added => LineKind::Added,
                DiffKind::Removed => LineKind::Removed,
            };
            let said = source.get(line.range.clone()).unwrap_or("");
            let said = clean(said.trim_end_matches('\r'));
            opened.push((kind, format!("│ {} {said}", line.kind.sign())));
        }
    }
    if opened.is_empty() {
        return opened;
    }
    if !whole {
        let note = format!("│ … ({} bytes in all)", edit.full_diff_size);
        opened.push((LineKind::File, note));
    }
    opened.push((LineKind::File, format!("└{RULE}")));
    opened
}
