//! The script that wasm-bindgen writes and the module it belongs to, made smaller together: what one calls in the other
//! bears names of a few letters, and the script has neither comments nor indents.
//!
//! The long names end in hashes, which no packing makes smaller, and stand in both.

use std::collections::BTreeMap;

use super::sections::{self, Name};

/// How names begin that only the two of them know.
const OWN_NAMES: [&str; 4] = ["__wbg_", "__wbindgen_", "__externref_", "wasm_bindgen__"];

/// The script and the module with short names; why not, where they are not what wasm-bindgen writes.
pub(super) fn shortened(script: &str, wasm: &[u8]) -> Result<(String, Vec<u8>), &'static str> {
    let from = sections::import_modules(wasm).ok_or("the first part is no wasm")?;
    let from = from.into_iter().find(|module| module.ends_with("_bg.js"));
    let from = from.ok_or("the first part imports nothing of its script")?;
    if !script.contains(&format!("\"{from}\"")) {
        return Err("the script does not give the module what it imports");
    }
    let words = words_of(script);
    let mut short: BTreeMap<String, String> = BTreeMap::new();
    let mut fresh = (0..).map(|n| format!("_{}", base36(n)));
    let wasm = sections::renamed(wasm, &mut |name| match name {
        Name::Module(module) => (module == from).then(|| "_".to_owned()),
        Name::Import(module, name) if module == from => short_of(name, &mut short, &mut fresh),
        Name::Export(name) if OWN_NAMES.iter().any(|it| name.starts_with(it)) => {
            short_of(name, &mut short, &mut fresh)
        }
        Name::Import(..) | Name::Export(_) => None,
    });
    let wasm = wasm.ok_or("the first part is no wasm")?;
    if short.values().any(|name| words.contains(&name.as_str())) {
        return Err("the script uses a short name itself");
    }
    let script = script.replace(&format!("\"{from}\""), "\"_\"");
    let mut written = String::with_capacity(script.len());
    let mut word = String::new();
    for char in without_comments(&script).chars().chain(['\n']) {
        if is_of_word(char) {
            word.push(char);
            continue;
        }
        written.push_str(short.get(&word).unwrap_or(&word));
        word.clear();
        written.push(char);
    }
    Ok((written, wasm))
}

/// The script telling the page where the module notes what is run of it.
pub(super) fn with_notes(script: &str) -> Result<String, &'static str> {
    let begun = "wasm = instance.exports;";
    if !script.contains(begun) {
        return Err("the script does not keep what the module exports");
    }
    let told = format!(
        "{begun}\nglobalThis[Symbol.for(\"turnreel.notes\")] = wasm.{};",
        super::rest::NOTES
    );
    Ok(script.replace(begun, &told))
}

fn short_of(
    name: &str,
    short: &mut BTreeMap<String, String>,
    fresh: &mut impl Iterator<Item = String>,
) -> Option<String> {
    if let Some(known) = short.get(name) {
        return Some(known.clone());
    }
    let given = fresh.next()?;
    short.insert(name.to_owned(), given.clone());
    Some(given)
}

fn is_of_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_' || char == '$'
}

fn words_of(script: &str) -> Vec<&str> {
    script.split(|char| !is_of_word(char)).collect()
}

fn base36(mut number: usize) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(b"0123456789abcdefghijklmnopqrstuvwxyz"[number % 36]);
        number /= 36;
        if number == 0 {
            digits.reverse();
            return String::from_utf8_lossy(&digits).into_owned();
        }
    }
}

/// The lines of a script without those of comments, and without their indents. A script with a text that goes over
/// several lines stays as it is.
pub(super) fn without_comments(script: &str) -> String {
    if script
        .lines()
        .any(|line| line.matches('`').count() % 2 == 1)
    {
        return script.to_owned();
    }
    let mut kept = String::with_capacity(script.len());
    let mut in_comment = false;
    for line in script.lines().map(str::trim) {
        in_comment |= line.starts_with("/*");
        if !in_comment && !line.is_empty() && !line.starts_with("//") {
            kept.push_str(line);
            kept.push('\n');
        }
        if in_comment {
            in_comment = !line.ends_with("*/");
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Imports `__wbg_a_01` and, from elsewhere, `b`; exports `__wbindgen_c` and `d`.
    fn module() -> Vec<u8> {
        let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
        let imports = [
            vec![2],
            text("./x_bg.js"),
            text("__wbg_a_01"),
            vec![0, 0],
            text("./y.js"),
            text("b"),
            vec![0, 0],
        ]
        .concat();
        let exports = [
            vec![2],
            text("__wbindgen_c"),
            vec![0, 0],
            text("d"),
            vec![0, 1],
        ]
        .concat();
        let section = |id: u8, content: Vec<u8>| [vec![id, content.len() as u8], content].concat();
        let parts = [
            b"\0asm\x01\0\0\0".to_vec(),
            section(1, vec![1, 0x60, 0, 0]),
            section(2, imports),
            section(7, exports),
        ];
        parts.concat()
    }

    #[test]
    fn what_only_the_two_know_is_short_in_both() {
        let script = "/**\n * What `it` is.\n */\n    // A word.\n    const to = { \"./x_bg.js\": { __wbg_a_01: () => wasm.__wbindgen_c(`${1}`) } };\n\n    wasm.d(\"__wbg_a_012\");\n";
        let (short, wasm) = shortened(script, &module()).expect("they belong together");
        assert_eq!(
            short,
            "const to = { \"_\": { _0: () => wasm._1(`${1}`) } };\nwasm.d(\"__wbg_a_012\");\n\n"
        );
        let has = |text: &str| wasm.windows(text.len()).any(|it| it == text.as_bytes());
        assert!(has("\x01_\x02_0") && has("./y.js\x01b") && has("\x02_1") && has("\x01d"));
        assert!(!has("__wb"), "no long name is left");
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        assert!(shortened("", &module()).is_err());
        assert!(shortened("\"./x_bg.js\"; _0", &module()).is_err());
        assert!(shortened("\"./x_bg.js\"", b"\0asm").is_err());
    }

    #[test]
    fn a_text_over_several_lines_stays() {
        let script = "const text = `\n    // not a comment\n`;\n";
        assert_eq!(without_comments(script), script);
    }
}
