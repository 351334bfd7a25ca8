//! What a run found, for people (`report.md`, `ratios.svg`) and for programs (`figures.json`).

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::gates::Gate;
use super::passed;
use super::results::Results;
use crate::error::Error;

/// How a run came about.
pub(super) struct About {
    /// ISO 8601, UTC.
    pub(super) started: String,
    /// The machine's load while it ran.
    pub(super) load: f64,
    /// Repetitions.
    pub(super) reps: u32,
    /// Whether the largest session was left out.
    pub(super) quick: bool,
    /// Programs and their versions.
    pub(super) versions: Vec<(&'static str, String)>,
}

/// # Errors
/// When a file cannot be written.
pub(super) fn write(
    folder: &Path,
    about: &About,
    results: &Results,
    gates: &[Gate],
) -> Result<(), Error> {
    let figures = figures(about, results, gates);
    let figures = serde_json::to_string_pretty(&figures).map_err(|why| Error::Failed {
        what: "write the figures".to_owned(),
        why: why.to_string(),
    })?;
    let files = [
        ("figures.json", figures + "\n"),
        ("ratios.svg", plot(gates)),
        ("report.md", text(about, results, gates)),
    ];
    for (name, content) in files {
        let path = folder.join(name);
        std::fs::write(&path, content)
            .map_err(|source| Error::file("write the report", &path, source))?;
    }
    Ok(())
}

fn figures(about: &About, results: &Results, gates: &[Gate]) -> Value {
    let gates: Vec<Value> = gates
        .iter()
        .map(|gate| {
            json!({
                "name": gate.name, "means": gate.means, "ratio": gate.ratio, "gate": gate.gate,
                "moonshot": gate.moonshot, "at_least": gate.at_least, "met": gate.met(),
            })
        })
        .collect();
    let versions: serde_json::Map<String, Value> = about
        .versions
        .iter()
        .map(|(name, version)| ((*name).to_owned(), json!(version)))
        .collect();
    json!({
        "started": about.started, "load": about.load, "reps": about.reps, "quick": about.quick, "versions": versions,
        "gates": gates, "passed": passed::figures(&passed::passed(results)), "figures": results.all(),
    })
}

fn text(about: &About, results: &Results, gates: &[Gate]) -> String {
    let mut text = "# Turnreel beside others\n\n".to_owned();
    let day = about.started.get(..10).unwrap_or("some day");
    let _ = writeln!(
        text,
        "Measured on {day}, {} repetitions, medians of them, at a load of {:.1}. All pages ran in turn in one run \
         of `cargo xtask bench{}`; only their ratios mean anything.\n",
        about.reps,
        about.load,
        if about.quick { " --quick" } else { "" },
    );
    for (name, version) in &about.versions {
        let _ = writeln!(text, "- {name}: {version}");
    }
    let _ = writeln!(text, "\n![Ratios beside their gates](ratios.svg)\n");
    text.push_str(&table(gates));
    text.push_str(&passed::table(&passed::passed(results)));
    text
}

/// The gates as a table in Markdown.
pub(super) fn table(gates: &[Gate]) -> String {
    let mut table =
        "| | what | reached | gate | moonshot | |\n|---|---|---:|---:|---:|---|\n".to_owned();
    for gate in gates {
        let sign = if gate.at_least { "≥" } else { "≤" };
        let moonshot = gate
            .moonshot
            .map_or_else(String::new, |it| format!("{sign} {}", number(it)));
        let verdict = match (gate.met(), gate.reaches(gate.moonshot)) {
            (true, true) => "moonshot",
            (true, false) => "met",
            (false, _) if gate.ratio.is_none() => "not measured",
            (false, _) => "missed",
        };
        let _ = writeln!(
            table,
            "| {} | {} | {} | {sign} {} | {moonshot} | {verdict} |",
            gate.name,
            gate.means,
            gate.ratio.map_or_else(|| "–".to_owned(), number),
            number(gate.gate),
        );
    }
    table
}

/// Three digits that count.
pub(super) fn number(value: f64) -> String {
    let n_decimals = match value.abs() {
        it if it >= 100.0 || it == it.trunc() => 0,
        it if it >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.n_decimals$}")
}

const ROW_PX: f64 = 22.0;
const NAMES_PX: f64 = 260.0;
const BARS_PX: f64 = 420.0;
/// The longest bar, in gates; what is longer is cut, and says so.
const LONGEST: f64 = 4.0;

/// A bar a gate: how far it is from what is needed, 1 being the gate itself.
fn plot(gates: &[Gate]) -> String {
    let shown: Vec<(&Gate, f64)> = gates
        .iter()
        .filter_map(|gate| Some((gate, share(gate)?)))
        .collect();
    let (width, height) = (
        NAMES_PX + BARS_PX + 80.0,
        ROW_PX * (shown.len() as f64 + 2.0),
    );
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <title>What was reached, as a share of each gate; shorter is better</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let gate_x = NAMES_PX + BARS_PX / LONGEST;
    let _ = writeln!(
        svg,
        "<text x=\"{gate_x}\" y=\"15\" text-anchor=\"middle\" fill=\"#555\">gate</text>\n\
         <line x1=\"{gate_x}\" x2=\"{gate_x}\" y1=\"20\" y2=\"{height}\" stroke=\"#555\" stroke-dasharray=\"3 3\"/>"
    );
    for (at, (gate, share)) in shown.iter().enumerate() {
        let y = ROW_PX * (at as f64 + 1.0);
        let long = share.min(LONGEST) * BARS_PX / LONGEST;
        // Told apart without colours, too: by the line that the bar does or does not pass.
        let colour = if gate.met() { "#2f7d4f" } else { "#b4501e" };
        let ratio = gate.ratio.map_or_else(String::new, number);
        let cut = if *share > LONGEST { " …" } else { "" };
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\
             <rect x=\"{NAMES_PX}\" y=\"{}\" width=\"{long:.1}\" height=\"14\" fill=\"{colour}\"/>\
             <text x=\"{:.1}\" y=\"{}\" fill=\"#333\">{ratio}{cut}</text>",
            NAMES_PX - 8.0,
            y + 15.0,
            gate.name,
            y + 4.0,
            NAMES_PX + long + 6.0,
            y + 15.0,
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// What was reached as a share of the gate: 1 is just met, less is better.
fn share(gate: &Gate) -> Option<f64> {
    let ratio = gate.ratio?.max(0.0);
    if gate.at_least {
        return Some(gate.gate / ratio.max(f64::EPSILON));
    }
    if gate.gate > 0.0 {
        return Some(ratio / gate.gate);
    }
    // Nothing at all is what is needed.
    Some(if ratio > 0.0 { LONGEST } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(ratio: Option<f64>, at_least: bool) -> Gate {
        Gate {
            name: "a gate",
            means: "something",
            ratio,
            gate: 0.5,
            moonshot: Some(if at_least { 0.9 } else { 0.1 }),
            at_least,
        }
    }

    #[test]
    fn a_table_says_what_was_met() {
        let gates = [
            gate(Some(0.4), false),
            gate(Some(0.05), false),
            gate(Some(0.6), false),
            gate(Some(0.6), true),
            gate(None, false),
        ];
        let table = table(&gates);
        let verdicts: Vec<&str> = table
            .lines()
            .skip(2)
            .filter_map(|line| line.trim_end_matches(" |").rsplit("| ").next())
            .collect();
        assert_eq!(
            verdicts,
            ["met", "moonshot", "missed", "met", "not measured"]
        );
        assert!(table.contains("| 0.40 | ≤ 0.50 | ≤ 0.10 |"), "{table}");
    }

    #[test]
    fn a_bar_ends_at_the_gate_when_it_is_just_met() {
        assert_eq!(share(&gate(Some(0.5), false)), Some(1.0));
        assert_eq!(share(&gate(Some(0.5), true)), Some(1.0));
        assert_eq!(share(&gate(Some(1.0), false)), Some(2.0));
        assert_eq!(share(&gate(None, false)), None);
        let svg = plot(&[gate(Some(90.0), false)]);
        assert!(svg.contains("90 …"), "what is cut says so: {svg}");
    }

    #[test]
    fn numbers_have_the_digits_that_count() {
        assert_eq!(number(0.347), "0.35");
        assert_eq!(number(12.34), "12.3");
        assert_eq!(number(806.4), "806");
        assert_eq!(number(0.0), "0");
    }
}
