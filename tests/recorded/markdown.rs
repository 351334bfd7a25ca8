//! Markdown of strangers, as it is shown: the specification of GitHub's own and its tests, texts that were made to break
//! out, texts that were made to cost, and addresses. All of it lies beside this checkout; where it is not there, each test
//! says so and holds nothing.

use std::time::Duration;

use chat_feed::link::{Caution, Target};
use chat_feed::prose::{self, Element, Node, Nodes};
use chat_feed::{TextKind, marks};
use serde_json::Value;

use super::shared;
use super::work::work_of;

/// A file of the corpora.
fn read(path: &str) -> Option<String> {
    let path = shared::shared(&format!("corpora/{path}"))?;
    Some(std::fs::read_to_string(path).unwrap())
}

/// The lines of a JSONL file of cases.
fn cases(path: &str) -> Vec<Value> {
    let text = read(path).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn addresses_are_judged_as_listed() {
    let cases = cases("own/url-policy.jsonl");
    for case in &cases {
        let address = case["url"].as_str().unwrap();
        let target = Target::of(address);
        let told = match &target {
            Target::Path => "path",
            Target::Text => "text",
            Target::Link(link) => match link.caution {
                Some(Caution::User) => "warn-userinfo",
                Some(Caution::Letters) => "warn-idn",
                Some(Caution::Invisible) => "warn-bidi",
                Some(Caution::Local) => "link-local",
                None => "link",
            },
        };
        let expected = match case["expect"].as_str().unwrap() {
            "text-too-long" => "text",
            "link-encoded" => {
                let Target::Link(link) = &target else {
                    panic!("{address}: {target:?}");
                };
                assert!(!link.href.contains(['"', '\'', '<', '>']), "{link:?}");
                "link"
            }
            expected => expected,
        };
        assert_eq!(told, expected, "{address:?}: {target:?}");
        if let Target::Link(link) = &target {
            assert!(!link.host.is_empty());
            let Target::Link(again) = Target::of(&link.href) else {
                panic!("{link:?} is none to itself");
            };
            assert_eq!((&again.href, &again.host), (&link.href, &link.host));
        }
    }
    assert!(cases.is_empty() || cases.len() == 78);
}

/// Holds the nodes of a text to what may be shown at all.
fn hold(nodes: &Nodes, source: &str) {
    let mut depth = 0_usize;
    let mut deepest = 0;
    for node in nodes.iter() {
        match node {
            Node::Open(Element::Link(_), href) => {
                let fits = ["http://", "https://", "mailto:"]
                    .iter()
                    .any(|scheme| href.starts_with(scheme));
                assert!(fits, "{href:?} of {source:?}");
                assert!(href.bytes().all(|byte| byte.is_ascii_graphic()), "{href:?}");
                depth += 1;
            }
            Node::Open(..) => depth += 1,
            Node::Close => depth -= 1,
            Node::Text(text) => {
                assert_eq!(
                    written(marks::stretches_of_sentences(text)),
                    text,
                    "{source:?}"
                );
            }
            Node::Break | Node::Rule | Node::Checkbox(_) => {}
        }
        deepest = deepest.max(depth);
    }
    assert_eq!(depth, 0, "{source:?}");
    assert!(deepest <= 30, "{deepest} deep: {source:?}");
}

/// Each as a message that is whole, as one that streams, and within other blocks.
fn hold_everywhere(source: &str) {
    for text in [
        source.to_owned(),
        format!("- {source}"),
        format!("> {source}"),
        format!("|a|\n|-|\n|{source}|"),
        format!("```\n{source}"),
    ] {
        hold(&prose::nodes_of_text(&text), &text);
    }
    hold(&prose::nodes(&TextKind::Paragraph, source, true), source);
}

fn letters(text: &str) -> String {
    text.chars().filter(|char| char.is_alphanumeric()).collect()
}

#[test]
fn what_was_made_to_break_out_is_text() {
    let mut n_texts = 0;
    let own = cases("own/xss-feed.jsonl");
    let purify: Vec<Value> = read("dompurify/expect.json")
        .map_or_else(Vec::new, |text| serde_json::from_str(&text).unwrap());
    let naughty: Vec<String> =
        read("blns/blns.json").map_or_else(Vec::new, |text| serde_json::from_str(&text).unwrap());
    let payloads = own
        .iter()
        .chain(&purify)
        .filter_map(|case| case["payload"].as_str())
        .map(str::to_owned);
    for payload in payloads.chain(naughty) {
        hold_everywhere(&payload);
        n_texts += 1;
    }
    assert!(
        own.is_empty() || n_texts >= 160 + 223 + 485,
        "{n_texts} texts"
    );
}

#[test]
fn raw_html_is_shown_as_it_was_written() {
    for case in cases("own/xss-feed.jsonl") {
        let Some(payload) = case["payload"].as_str() else {
            continue;
        };
        // A line that begins with a tag is markup to nobody.
        if !payload.starts_with('<')
            || payload.contains(['\n', '\\', '&', '\0'])
            || payload.contains("](")
        {
            continue;
        }
        let shown = prose::nodes_of_text(payload).text();
        assert_eq!(letters(&shown), letters(&marked(payload)), "{payload:?}");
    }
}

fn marked(text: &str) -> String {
    written(marks::stretches(text))
}

fn written<'t>(stretches: impl Iterator<Item = marks::Stretch<'t>>) -> String {
    stretches
        .map(|stretch| match stretch {
            marks::Stretch::Plain(plain) => plain.to_owned(),
            marks::Stretch::Hidden(char) => marks::name(char),
        })
        .collect()
}

#[test]
fn every_example_of_the_specification_is_shown_and_keeps_its_words() {
    let mut n_examples = 0;
    for file in [
        "spec.txt",
        "extensions.txt",
        "extensions-table-prefer-style-attributes.txt",
        "regression.txt",
        "smart_punct.txt",
    ] {
        let Some(text) = read(&format!("cmark-gfm/test/{file}")) else {
            continue;
        };
        let fence = "`".repeat(32);
        for example in text.split(&format!("{fence} example")).skip(1) {
            let body = example.split_once('\n').unwrap().1;
            let source = body.split("\n.\n").next().unwrap().replace('→', "\t");
            let nodes = prose::nodes_of_text(&source);
            hold(&nodes, &source);
            hold(&prose::nodes(&TextKind::Paragraph, &source, true), &source);
            // What is no address, entity, number, language, label or mark is a word that is shown.
            if !source.contains(['&', '<', '[', '`', '~', '.', ')', '\\', '\0', '|'])
                && !source.contains("\t")
            {
                let shown = letters(&nodes.text());
                assert_eq!(shown, letters(&source), "{source:?}: {nodes}");
            }
            n_examples += 1;
        }
    }
    for file in [
        "bench/samples/block-bq-nested.md",
        "test/afl_test_cases/test.md",
    ] {
        if let Some(text) = read(&format!("cmark-gfm/{file}")) {
            hold(&prose::nodes_of_text(&text), file);
        }
    }
    assert!(n_examples == 0 || n_examples > 600, "{n_examples} examples");
}

#[test]
fn every_dangerous_character_of_the_samples_is_marked() {
    for case in cases("trojan-source/samples.jsonl") {
        let text = case["text"].as_str().unwrap();
        let code = format!("```\n{text}\n```");
        let nodes = prose::nodes_of_text(&code);
        hold(&nodes, text);
        let n_marks = nodes
            .iter()
            .filter(|node| matches!(node, Node::Open(Element::Mark, _)))
            .count();
        let n_controls = text.chars().filter(|&char| matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}'..='\u{200f}')).count();
        assert!(
            n_marks >= n_controls,
            "{}: {n_marks} of {n_controls}",
            case["path"]
        );
    }
    let Some(table) = read("unicode/dangerous-codepoints.tsv") else {
        return;
    };
    let mut n_marked = 0;
    for line in table.lines().skip(1) {
        let (code, properties) = line.split_once('\t').unwrap();
        let Some(char) = u32::from_str_radix(code, 16).ok().and_then(char::from_u32) else {
            continue;
        };
        let hides = [
            "Bidi_Control",
            "Default_Ignorable_Code_Point",
            "gc=Cc",
            "gc=Zl",
            "gc=Zp",
            "Noncharacter_Code_Point",
        ];
        let is_layout = matches!(char, '\t' | '\n');
        if hides.iter().any(|hidden| properties.contains(hidden)) && !is_layout {
            assert!(marks::is_hidden(char), "U+{code}: {properties}");
            n_marked += 1;
        }
    }
    assert!(n_marked > 4_000, "{n_marked} are marked");
}

/// Texts whose markup costs much, each 64 KiB long.
fn bombs() -> Vec<(&'static str, String)> {
    const LEN: usize = 64 * 1024;
    let fill = |unit: &str| unit.repeat(LEN / unit.len());
    vec![
        ("brackets", fill("[")),
        ("footnotes", fill("[^")),
        ("footnotes in lines", fill("[^\n")),
        ("quotes", fill("> ")),
        ("quotes in lines", fill(&format!("{}x\n", "> ".repeat(50)))),
        ("references", fill("[a]: b\n")),
        ("reference labels", fill("[a][b]")),
        ("links", fill("[a](")),
        ("images", fill("![[]()")),
        ("emphasis", fill("*a _")),
        ("strong", fill("**a *b ")),
        (
            "backticks",
            (1..360).map(|n| format!("e{}", "`".repeat(n))).collect(),
        ),
        (
            "nested lists",
            (0..360)
                .map(|n| format!("{}- a\n", "  ".repeat(n)))
                .collect(),
        ),
        (
            "tables",
            format!("{}\n{}\n{}", "|a".repeat(60), "|-".repeat(60), fill("|\n")),
        ),
        (
            "wide tables",
            format!(
                "{}\n{}\n{}",
                "|a".repeat(4000),
                "|-".repeat(4000),
                fill("|\n")
            ),
        ),
        ("tags", fill("<a ")),
        ("comments", fill("<!--")),
        ("entities", fill("&amp")),
        ("addresses", fill("http://a.b/(")),
        ("parentheses", format!("http://a.b/{}", fill(")"))),
        ("hidden", fill("\u{202e}")),
        ("tildes", fill("~~a ")),
        ("dashes", fill("-\n")),
        ("hashes", fill("# \n")),
        ("fences", fill("```\n")),
    ]
}

#[test]
fn no_text_costs_more_than_its_length() {
    let sum_len = 64 * 1024;
    for (name, text) in bombs() {
        for prefix in ["", "- ", "> "] {
            let text = format!("{prefix}{text}");
            // As much of it as is looked at in one piece.
            let piece = &text[..text.floor_char_boundary(8000)];
            let (took, (nodes, settled, open)) = work_of(|| {
                let nodes = prose::nodes_of_text(&text);
                let settled = prose::nodes_of_text(piece);
                (
                    nodes,
                    settled,
                    prose::nodes(&TextKind::Paragraph, piece, true),
                )
            });
            hold(&settled, name);
            hold(&nodes, name);
            hold(&open, name);
            assert!(
                nodes.len() <= 3 * (sum_len + text.len()),
                "{name}: {} nodes",
                nodes.len()
            );
            // Not a time to be kept but a sign of costs that grow with the square.
            assert!(took < Duration::from_secs(10), "{name}: {took:?}");
            println!("{name} {prefix:?}: {took:?}, {} nodes", nodes.len());
        }
    }
}
