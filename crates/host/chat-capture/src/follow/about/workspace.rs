//! What a session is called in Copilot CLI's note of it: `name: …` in `workspace.yaml`, which it writes anew with the first
//! prompt and with `/rename`.
//!
//! The file is a flat list of `key: value`. A name stands there as it is, in `'…'` where YAML needs that, or over several
//! lines behind `|-`, as the beginning of a prompt does that has several. Seen: 1.0.102.

/// The longest that is told.
const MOST_CHARS: usize = 1000;

/// The name in a note.
pub(super) fn name_in(note: &[u8]) -> Option<String> {
    let note = String::from_utf8_lossy(note);
    let mut lines = note.lines();
    let said = lines.find_map(|line| line.strip_prefix("name:"))?.trim();
    let name = match said.as_bytes().first()? {
        b'\'' => {
            let quoted = said.strip_prefix('\'')?.strip_suffix('\'')?;
            quoted.replace("''", "'")
        }
        b'"' => serde_json::from_str(said).ok()?,
        b'|' | b'>' => {
            let within = lines.map_while(|line| match line.trim() {
                "" => Some(""),
                text => line.starts_with(' ').then_some(text),
            });
            within.collect::<Vec<_>>().join("\n").trim_end().to_owned()
        }
        _ => said.to_owned(),
    };
    let is_none = name.is_empty() || name == "null" || name == "~";
    (!is_none).then(|| name.chars().take(MOST_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_the_program_writes_it() {
        for (note, name) in [
            ("id: 1\nname: First\nuser_named: false\n", Some("First")),
            (
                "name: 'Fix: the \"bug\" # now'\n",
                Some("Fix: the \"bug\" # now"),
            ),
            ("name: 'it''s'\n", Some("it's")),
            ("name: \"a\\tb\"\n", Some("a\tb")),
            (
                "name: |-\n  One\n\n  two\nuser_named: false\n",
                Some("One\n\ntwo"),
            ),
            ("name: |-\n", None),
            ("name:\n", None),
            ("name: null\n", None),
            ("name: '\n", None),
            ("name: \"\n", None),
            ("summary:\n  name: no\n", None),
            ("", None),
        ] {
            assert_eq!(name_in(note.as_bytes()).as_deref(), name, "{note}");
        }
    }
}
