//! `cargo xtask bench --server`: how fast the server is, beside what it is to reach.
//!
//! What is measured, and how, is for `crates/host/turnreel/tests/figures`, which runs in release with the real program; here
//! its figures are gathered into a table (`server.md`) and for programs (`server.json`).

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::report::number;
use crate::error::Error;
use crate::{command, report as progress, workspace};

/// The parts, and what each is about. Each leaves a file of its name.
const PARTS: [(&str, &str); 3] = [
    ("relay", "One busy session and its readers"),
    ("list", "A folder of 10,000 sessions"),
    ("log", "A log of 1 GiB"),
];

/// # Errors
/// When this is no Linux, or building or measuring fails.
pub(super) fn run(root: &Path) -> Result<ExitCode, Error> {
    if !cfg!(target_os = "linux") {
        return Err(Error::Missing {
            what: "Linux, whose /proc says what the server costs".to_owned(),
            remedy: "Measure the server on Linux".to_owned(),
        });
    }
    let folder = workspace::target_dir(root).join("bench");
    std::fs::create_dir_all(&folder)
        .map_err(|source| Error::file("make a folder", &folder, source))?;
    progress::say(
        "Building the server in release, and measuring it; nothing else should run on this machine",
    );
    let mut measure = command::cargo();
    measure
        .args([
            "test",
            "--release",
            "--package",
            "turnreel",
            "--test",
            "all",
        ])
        .args([
            "--",
            "figures",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env("TURNREEL_FIGURES", &folder)
        .current_dir(root);
    command::run(&mut measure)?;
    let parts: Vec<Value> = PARTS
        .iter()
        .map(|(name, _)| read_part(&folder, name))
        .collect::<Result<_, _>>()?;
    let about = about(root);
    let all = json!({"about": about, "parts": parts});
    let text = text(&about, &parts);
    for (name, content) in [
        ("server.json", format!("{all:#}\n")),
        ("server.md", text.clone()),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, content)
            .map_err(|source| Error::file("write the report", &path, source))?;
    }
    println!("{text}");
    progress::say(&format!("All figures are in {}", folder.display()));
    Ok(ExitCode::SUCCESS)
}

/// Takes what a part left.
fn read_part(folder: &Path, name: &str) -> Result<Value, Error> {
    let path = folder.join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path)
        .map_err(|source| Error::file("read the figures", &path, source))?;
    // They stand in `server.json` from now on.
    let _ = std::fs::remove_file(&path);
    serde_json::from_str(&text).map_err(|why| Error::Failed {
        what: format!("read the figures: {}", path.display()),
        why: why.to_string(),
    })
}

/// What was measured, and on what.
fn about(root: &Path) -> Value {
    let said = |program: &str, arguments: &[&str]| {
        let mut command = command::new(program);
        let text = command::output(command.args(arguments).current_dir(root));
        text.unwrap_or_default().trim().to_owned()
    };
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("an unknown processor", |(_, model)| model);
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    json!({
        "started": said("date", &["-u", "+%Y-%m-%d"]),
        "Turnreel": said("git", &["describe", "--always", "--dirty"]),
        "Rust": said("rustc", &["--version"]),
        "Linux": said("uname", &["-r"]),
        "machine": format!("{n_cores} cores of {model}"),
    })
}

fn text(about: &Value, parts: &[Value]) -> String {
    let said = |name: &str| about[name].as_str().unwrap_or_default();
    let mut text = format!(
        "# The server\n\nMeasured on {} by `cargo xtask bench --server`: the program as it is released, on 127.0.0.1, with made-up \
         sessions that are the same each time. A figure is the median of what was found.\n\n",
        said("started")
    );
    for name in ["Turnreel", "Rust", "Linux", "machine"] {
        let _ = writeln!(text, "- {name}: {}", said(name));
    }
    for ((_, title), part) in PARTS.iter().zip(parts) {
        let load = |when: &str| part[when].as_f64().unwrap_or_default();
        let _ = write!(
            text,
            "\n## {title}\n\nThe machine's load was {:.1} before and {:.1} after it.\n\n\
             | what | figure | of | from–to | target | |\n|---|---:|---:|---:|---:|---|\n",
            load("load_before"),
            load("load_after")
        );
        for figure in part["figures"].as_array().into_iter().flatten() {
            let _ = writeln!(text, "{}", row(figure));
        }
    }
    text
}

/// One figure beside its target.
fn row(figure: &Value) -> String {
    let said = |name: &str| figure[name].as_str().unwrap_or_default();
    let found: Vec<f64> = figure["found"]
        .as_array()
        .map(|found| found.iter().filter_map(Value::as_f64).collect())
        .unwrap_or_default();
    let value = figure["value"].as_f64().unwrap_or(f64::NAN);
    let least = found.iter().copied().fold(f64::INFINITY, f64::min);
    let most = found.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let span = if found.len() > 1 {
        format!("{}–{}", number(least), number(most))
    } else {
        String::new()
    };
    let (target, verdict) = match (figure["at_most"].as_f64(), figure["at_least"].as_f64()) {
        (Some(target), _) => (format!("≤ {}", number(target)), value <= target),
        (_, Some(target)) => (format!("≥ {}", number(target)), value >= target),
        (None, None) => (String::new(), true),
    };
    let verdict = match (target.is_empty(), verdict) {
        (true, _) => "",
        (_, true) => "met",
        (_, false) => "missed",
    };
    format!(
        "| {} | {} {} | {} | {span} | {target} | {verdict} |",
        said("what"),
        number(value),
        said("unit"),
        found.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_stands_beside_its_target_and_says_whether_it_is_met() {
        let figure = |value: f64, target: Value| {
            let mut figure =
                json!({"what": "w", "unit": "ms", "value": value, "found": [1.0, value, 120.0]});
            let both = figure.as_object_mut().zip(target.as_object());
            if let Some((figure, target)) = both {
                figure.extend(target.clone());
            }
            row(&figure)
        };
        let at_most = json!({"at_most": 100.0});
        assert_eq!(
            figure(99.5, at_most.clone()),
            "| w | 99.5 ms | 3 | 1–120 | ≤ 100 | met |"
        );
        assert!(figure(101.0, at_most).ends_with("| missed |"));
        assert!(figure(101.0, json!({"at_least": 100.0})).ends_with("| ≥ 100 | met |"));
        assert!(figure(99.0, json!({"at_least": 100.0})).ends_with("| missed |"));
        assert!(figure(99.0, json!({})).ends_with("|  |  |"));
    }
}
