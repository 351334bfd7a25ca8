//! What others say of the projections: the npm packages `openai` (its types, by the TypeScript compiler) and
//! `commonmark` (what a transcript is once it is read). Needs node, npm and the network: only with `TURNREEL_FULL=1`.

use std::path::{Path, PathBuf};
use std::process::Command;

use chat_feed::projections::{to_markdown, to_openai_messages};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::laws::hostile_log;
use super::recorded::recorded;

/// A folder with these packages; `None`, said on stderr, where it is not asked for or cannot be had.
fn folder_with(packages: &[&str]) -> Option<PathBuf> {
    if std::env::var_os("TURNREEL_FULL").is_none_or(|value| value != "1") {
        eprintln!("skipped: asks the npm registry (set TURNREEL_FULL=1)");
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("npm-{}", packages[0]));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("package.json"),
        r#"{"private":true,"type":"module"}"#,
    )
    .unwrap();
    let installed = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--silent"])
        .args(packages)
        .current_dir(&folder)
        .status();
    if installed.is_ok_and(|status| status.success()) {
        return Some(folder);
    }
    eprintln!("skipped: npm could not install {packages:?}");
    None
}

#[track_caller]
fn run(folder: &Path, program: &str, arguments: &[&str]) {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said: String = String::from_utf8_lossy(&said).chars().take(4_000).collect();
    assert!(output.status.success(), "{program}: {said}");
}

#[test]
fn messages_are_of_the_types_of_the_openai_package() {
    let Some(folder) = folder_with(&["openai", "typescript"]) else {
        return;
    };
    let sources = folder.join("sources");
    std::fs::create_dir_all(&sources).unwrap();
    let check = |name: &str, messages: &str| {
        let text = format!(
            "import type {{ ChatCompletionMessageParam }} from 'openai/resources/chat/completions';\n\
             export const messages: ChatCompletionMessageParam[] = {messages};\n"
        );
        std::fs::write(sources.join(format!("{name}.ts")), text).unwrap();
    };
    for (name, events) in recorded() {
        check(
            &name,
            &serde_json::to_string(&to_openai_messages(&events)).unwrap(),
        );
    }
    let config = r#"{"compilerOptions":{"strict":true,"noEmit":true,"skipLibCheck":true,"module":"nodenext","target":"es2022","types":[]},"include":["sources"]}"#;
    std::fs::write(folder.join("tsconfig.json"), config).unwrap();
    run(
        &folder,
        "node",
        &["node_modules/typescript/bin/tsc", "--project", "."],
    );
    // The compiler looked: it refuses what is no message.
    check("wrong", r#"[{"role":"tool","content":"of no call"}]"#);
    let refused = Command::new("node")
        .args(["node_modules/typescript/bin/tsc", "--project", "."])
        .current_dir(&folder)
        .output()
        .unwrap();
    std::fs::remove_file(sources.join("wrong.ts")).unwrap();
    assert!(String::from_utf8_lossy(&refused.stdout).contains("wrong.ts"));
}

#[test]
fn a_reader_of_markdown_finds_the_turns_and_no_tags() {
    let Some(folder) = folder_with(&["commonmark"]) else {
        return;
    };
    let mut runner = TestRunner::deterministic();
    let mut texts: Vec<(String, bool)> = Vec::new();
    for _ in 0..1_000 {
        let events = hostile_log().new_tree(&mut runner).unwrap().current();
        texts.push((to_markdown(&events), true));
    }
    texts.extend(
        recorded()
            .iter()
            .map(|(_, events)| (to_markdown(events), false)),
    );
    std::fs::write(
        folder.join("texts.json"),
        serde_json::to_string(&texts).unwrap(),
    )
    .unwrap();
    std::fs::write(folder.join("read.js"), READER).unwrap();
    run(&folder, "node", &["read.js"]);
}

/// Finds in each text: no HTML, no image, and headings of level 1 and 2 that are the transcript's own.
const READER: &str = r#"
import { Parser } from "commonmark";
import { readFileSync } from "node:fs";
const parser = new Parser();
for (const [text, hostile] of JSON.parse(readFileSync("texts.json", "utf8"))) {
  const headings = [];
  const walker = parser.parse(text).walker();
  for (let event; (event = walker.next()); ) {
    const { node, entering } = event;
    if (!entering) continue;
    const fail = (why) => { throw new Error(why + "\n" + text); };
    if (node.type === "html_block" || node.type === "html_inline") fail("tag " + node.literal);
    if (node.type === "image") fail("image " + node.destination);
    if (node.type === "heading" && node.level <= 2 && node.parent.type === "document") {
      headings.push(node.level + (node.firstChild?.literal ?? ""));
    }
  }
  const own = headings.slice(1);
  if (!headings[0].startsWith("1")) throw new Error("no title\n" + text);
  own.forEach((heading, nth) => {
    if (!heading.startsWith("2Turn " + (nth + 1))) throw new Error("heading " + heading + "\n" + text);
  });
  if (hostile && own.length !== 2) throw new Error("turns " + own + "\n" + text);
}
"#;
