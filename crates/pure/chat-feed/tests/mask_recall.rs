//! How much of what the rules of gitleaks find is masked: of each rule, secrets are made by its own pattern and put where
//! they stand in sessions. The rules lie beside this checkout; where they do not, the test says so and holds nothing.

use std::path::PathBuf;

use chat_event::ChatEvent;
use chat_feed::mask::{Masker, Scan};
use proptest::strategy::{Strategy, ValueTree};
use proptest::string::string_regex;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;

use crate::support::mask_live;
use crate::support::mask_plan;
use mask_live::stored_live;
use mask_plan::plan_of;

/// Secrets of each rule.
const N_SECRETS: usize = 6;

/// So many places the first of them is cut at, in two pieces and in three.
const N_CUTS: usize = 24;

/// Rules whose secrets nothing tells from other texts, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    (
        "curl-auth-header",
        "its pattern goes over lines; see `names_tell_secrets`",
    ),
    (
        "curl-auth-user",
        "its pattern goes over lines; see `names_tell_secrets`",
    ),
];

/// A rule, as far as it is needed here.
#[derive(Default)]
struct Rule {
    id: String,
    regex: String,
    entropy: f64,
    keywords: Vec<String>,
}

fn rules() -> Vec<Rule> {
    let shared = std::env::var_os("TURNREEL_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../../shared"),
        PathBuf::from,
    );
    let path = shared.join("corpora/gitleaks-rules/config/gitleaks.toml");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: no rules at {}", path.display());
        return Vec::new();
    };
    let mut rules: Vec<Rule> = Vec::new();
    // Tables of a rule's exceptions have fields of the same names.
    let mut is_rule = false;
    // A list of words may go over several lines.
    let text = text
        .replace("[\n", "[")
        .replace(",\n]", "]")
        .replace("\",\n", "\",");
    for line in text.lines() {
        if line.starts_with('[') {
            is_rule = line == "[[rules]]";
            if is_rule {
                rules.push(Rule::default());
            }
        }
        let (Some(rule), Some((name, value))) = (rules.last_mut(), line.split_once(" = ")) else {
            continue;
        };
        let quoted = value.trim_matches(['\'', '"']).to_owned();
        match name {
            _ if !is_rule => {}
            "id" => rule.id = quoted,
            "regex" => rule.regex = quoted,
            "entropy" => rule.entropy = value.parse().expect("a number"),
            "keywords" => {
                let words = value.trim_matches(['[', ']']).split(',');
                let words = words.map(|word| word.trim().trim_matches('"').to_owned());
                rule.keywords = words.filter(|word| !word.is_empty()).collect();
            }
            _ => {}
        }
    }
    // What has no pattern looks at file names.
    rules.retain(|rule| !rule.regex.is_empty());
    rules
}

impl Rule {
    /// Where a secret stands that tells itself. Rules ask for one of their words to be somewhere near.
    fn plain_contexts(&self, secret: &str) -> Vec<String> {
        let lower = secret.to_ascii_lowercase();
        let has_word = self
            .keywords
            .iter()
            .any(|word| lower.contains(word.as_str()));
        match self.keywords.first().filter(|_| !has_word) {
            Some(word) => vec![
                format!("{word}_token = {secret} "),
                format!("{word}: \"{secret}\"\n"),
            ],
            None => vec![
                format!("it says {secret} here"),
                format!("x = \"{secret}\"\n"),
            ],
        }
    }

    /// The part of a text that the rule calls the secret.
    fn own(&self, text: &str, made: &str) -> String {
        let found = regex_lite::Regex::new(&self.regex).ok();
        let groups = found.as_ref().and_then(|regex| regex.captures(text));
        let group = groups.and_then(|groups| {
            let some = groups.iter().skip(1).flatten();
            let longest = some.max_by_key(|group| group.as_str().len());
            longest.map(|group| group.as_str().to_owned())
        });
        let own = group.unwrap_or_else(|| made.to_owned());
        // Of a line of YAML, the value.
        if self.id == "kubernetes-secret-yaml" {
            let value = own.split_whitespace().last().unwrap_or_default();
            return value.trim_matches(['"', '\'']).to_owned();
        }
        own
    }
}

/// What stands around the secret of most rules: a name before it, and what may come behind it.
const NAMED: &str = r#"[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}"#;
const BEHIND: &str = r#"(?:[\x60'"\s;]|\\[nr]|$)"#;

impl Rule {
    /// The pattern of the secret alone, where a name before it tells it; and that name.
    fn named(&self) -> Option<(String, &str)> {
        let regex = self.regex.replace(r#"{0,3})(?:=|"#, r#"{0,3}(?:=|"#);
        let (before, secret) = regex.split_once(NAMED)?;
        let name = self
            .keywords
            .iter()
            .find(|word| {
                before
                    .to_ascii_lowercase()
                    .contains(&word.to_ascii_lowercase())
            })
            .or(self.keywords.first())?;
        Some((made_of(secret), name))
    }
}

/// A pattern that strings can be made of: without what only says where it ends, and of characters that a keyboard has.
fn made_of(pattern: &str) -> String {
    let mut pattern = pattern.to_owned();
    let changes = [
        (BEHIND, ""),
        (r#"(?:[\x60'"\s;]|\\[nr]|$|\b)"#, ""),
        (r"(?:[\/|\#|\?|:]|$)", "/"),
        (r"(?i)", ""),
        (r#"(?:^|[\\'"\x60\s>=:(,)])"#, ""),
        (r#"(?:$|[\\'"\x60\s<),])"#, ""),
        (r"(?:[^\w-]|\z)", ""),
        (r"(?:[^a-zA-Z0-9+/]|\z)", ""),
        (r"(?:\B|\s|\z)", ""),
        (r"\b", ""),
        // The address is meant, and backslashes are for tests of escapes.
        ("hooks.slack.com", r"hooks\.slack\.com"),
        (r"\/\\_", "_"),
        (r"\r\n]", "]"),
        (r"[\s\S-]{64,}?", "([A-Za-z0-9+/]{64}\n){2}"),
        (r"(?s:.){0,200}?", "\n"),
        (r"(?s:.){0,100}?", ""),
        (r".{8,}", "[#-;?-~]{8,20}"),
        (r"[\S]", "[#-&(-~]"),
        (r"[\w.=-]", "[a-zA-Z0-9_.=-]"),
        (r"[\w.-]", "[a-zA-Z0-9_.-]"),
        (r"[\w=\-]", "[a-zA-Z0-9_=-]"),
        (r"[\w-]", "[a-zA-Z0-9_-]"),
        (r"\w{", "[a-zA-Z0-9_]{"),
        (r"\w", "a-zA-Z0-9_"),
        (r"\s+", "\n  "),
        (r"\s*", " "),
        (r"\d", "[0-9]"),
    ];
    for (this, that) in changes {
        pattern = pattern.replace(this, that);
    }
    pattern
}

fn entropy(text: &str) -> f64 {
    let mut counts = std::collections::BTreeMap::new();
    for char in text.chars() {
        *counts.entry(char).or_insert(0.0) += 1.0;
    }
    let n_chars: f64 = counts.values().sum();
    counts
        .values()
        .map(|count: &f64| -(count / n_chars) * (count / n_chars).log2())
        .sum()
}

/// Secrets of a pattern, the same in every run; `None` where none can be made of it.
fn secrets(pattern: &str, least: f64) -> Option<Vec<String>> {
    let strategy = string_regex(pattern).ok()?;
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut found = Vec::new();
    for _ in 0..2_000 {
        let secret = strategy.new_tree(&mut runner).ok()?.current();
        // Both are letters of other scripts that count as these when capitals do not matter.
        let secret = secret.replace('ſ', "s").replace('\u{212a}', "k");
        if entropy(&secret) >= least && secret.len() >= 4 {
            found.push(secret);
            if found.len() == N_SECRETS {
                return Some(found);
            }
        }
    }
    None
}

/// What is written of a session that says this in pieces, put together again.
fn written(pieces: &[&str]) -> String {
    let event = |(nth, piece): (usize, &&str)| {
        let line = json!({"id": format!("e{nth}"), "timestamp": 1, "sessionId": "s", "type": "assistant_chunk", "turnId": "t", "responseId": "r", "payload": {"text": piece, "index": nth}});
        ChatEvent::from_json(&line.to_string()).expect("an event")
    };
    let events: Vec<ChatEvent> = pieces.iter().enumerate().map(event).collect();
    let mut masker = Masker::new(plan_of(&events));
    let text_of = |event: &ChatEvent| {
        let line = masker.line(event);
        let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        line["payload"]["text"].as_str().expect("a text").to_owned()
    };
    events.iter().map(text_of).collect()
}

/// Whether nothing of the secret is left in what is written of a session that says this, in one piece and cut anywhere.
fn is_masked(text: &str, secret: &str, n_cuts: usize) -> bool {
    let whole = written(&[text]);
    let ends: Vec<usize> = (1..text.len())
        .filter(|&at| text.is_char_boundary(at))
        .collect();
    let step = ends.len().div_ceil(n_cuts.max(1)).max(1);
    let mut cuts = ends.iter().step_by(step).filter(|_| n_cuts > 0);
    let hides = |pieces: &[&str]| {
        !written(pieces).contains(secret) && !stored_live(pieces).contains(secret)
    };
    !whole.contains(secret)
        && cuts.all(|&at| {
            let (first, rest) = text.split_at(at);
            let middle = rest.floor_char_boundary(rest.len() / 2);
            let (second, third) = rest.split_at(middle);
            hides(&[first, rest]) && hides(&[first, second, third])
        })
}

/// Where a named secret stands.
fn contexts(name: &str, secret: &str) -> Vec<String> {
    let upper = name.to_ascii_uppercase();
    // A pattern may ask for the quotes that stand here anyway.
    let secret = secret.trim_matches('"');
    vec![
        format!("export {upper}_API_KEY={secret}\n"),
        format!("{name}_token: \"{secret}\""),
        format!("{{\"{name}Secret\": \"{secret}\", \"other\": 1}}"),
        format!("const {name}_key = '{secret}';"),
        format!("{name}.client.secret={secret}\r\nnext=1"),
        format!("run --{name}-key={secret} now"),
    ]
}

#[test]
fn secrets_of_all_rules_are_masked() {
    let rules = rules();
    let (mut n_secrets, mut n_rules, mut missed) = (0, 0, Vec::new());
    for rule in &rules {
        let named = rule.named();
        let pattern = named
            .as_ref()
            .map_or_else(|| made_of(&rule.regex), |(secret, _)| secret.clone());
        if LEFT_OUT.iter().any(|(id, _)| *id == rule.id) {
            continue;
        }
        let Some(secrets) = secrets(&pattern, rule.entropy) else {
            missed.push(format!("{}: nothing can be made of {pattern}", rule.id));
            continue;
        };
        n_rules += 1;
        let mut misses = Vec::new();
        for (nth, secret) in secrets.iter().enumerate() {
            n_secrets += 1;
            let texts = match &named {
                Some((_, name)) => contexts(name, secret),
                None => rule.plain_contexts(secret),
            };
            let text = &texts[nth % texts.len()];
            let own = rule.own(text, secret);
            // Nothing, and a place for something, are no secrets.
            let is_secret = own.len() >= 4 && !own.contains("}}");
            if is_secret && !is_masked(text, &own, if nth == 0 { N_CUTS } else { 0 }) {
                misses.push(text.clone());
            }
        }
        if !misses.is_empty() {
            missed.push(format!(
                "{}: {} of {}, so {:?}",
                rule.id,
                misses.len(),
                secrets.len(),
                misses[0].chars().take(200).collect::<String>()
            ));
        }
    }
    println!("{n_secrets} secrets of {n_rules} rules of {}", rules.len());
    assert!(
        missed.is_empty(),
        "{} rules miss:\n{}",
        missed.len(),
        missed.join("\n")
    );
}

/// What is no secret: this project's own sources, other than those that are about secrets, and ids and checksums.
fn no_secrets() -> Vec<String> {
    let mut folders = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")];
    let mut texts = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if path.is_dir() {
                // Recorded sessions have secrets that were planted.
                if !matches!(&*name, "mask" | "target" | "tests") {
                    folders.push(path);
                }
            } else if name.ends_with(".rs") || name.ends_with(".toml") {
                texts.extend(std::fs::read_to_string(&path));
            }
        }
    }
    let mut ids = String::new();
    let mut state = 1_u64;
    for nth in 0..20_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let id = format!("{state:016x}{:016x}", state.rotate_left(23));
        let line = match nth % 4 {
            0 => format!("commit {id}{}\n", &id[..8]),
            1 => format!(
                "{}-{}-{}-{}-{}\n",
                &id[..8],
                &id[8..12],
                &id[12..16],
                &id[16..20],
                &id[20..]
            ),
            2 => format!("sha256 {id}{id}  file-{nth}.txt\n"),
            _ => format!("index {}..{} 100644\n", &id[..7], &id[7..14]),
        };
        ids.push_str(&line);
    }
    texts.push(ids);
    texts
}

#[test]
fn what_is_no_secret_is_seldom_taken_for_one() {
    let texts = no_secrets();
    let n_bytes: usize = texts.iter().map(String::len).sum();
    let event = |(nth, text): (usize, &String)| {
        let line = json!({"id": format!("e{nth}"), "timestamp": 1, "sessionId": "s", "type": "tool_result", "turnId": "t", "payload": {"toolCallId": "c", "result": text}});
        ChatEvent::from_json(&line.to_string()).expect("an event")
    };
    let events: Vec<ChatEvent> = texts.iter().enumerate().map(event).collect();
    // What the rules take for one; where it stands again is masked as well.
    let mut scan = Scan::new();
    events.iter().for_each(|event| scan.push(event));
    let plan = scan.finish();
    let found: Vec<String> = plan
        .found()
        .iter()
        .filter(|found| !matches!(found.kind, "e-mail address" | "user name" | "ip address"))
        .map(|found| {
            format!(
                "{}: {:?}",
                found.kind,
                found
                    .places
                    .iter()
                    .map(|place| &place.shown)
                    .collect::<Vec<_>>()
            )
        })
        .collect();
    let n_found: u64 = plan
        .found()
        .iter()
        .filter(|found| !matches!(found.kind, "e-mail address" | "user name" | "ip address"))
        .map(|found| found.n_places)
        .sum();
    let most = n_bytes as u64 / 1_000_000 + 1;
    println!("{n_found} false hits in {n_bytes} bytes");
    assert!(
        n_bytes > 1_000_000 && n_found <= most,
        "{n_found} in {n_bytes} bytes: {found:#?}"
    );
}
