//! `cargo xtask bench`: our page beside other pages that show the same sessions, measured in one run. The server's figures
//! are for `server`.
//!
//! The harness, the sessions and the other pages are not part of this repository; they are copied into the target
//! folder and run there. What they find is read here: medians, the ratios that are asked for, and a report of them.

mod chromium;
mod gates;
mod passed;
mod report;
mod results;
mod server;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use crate::args::BenchOptions;
use crate::error::Error;
use crate::{browser, command, dist, report as progress, tools, workspace};

/// Our page's name in the harness.
const OURS: &str = "ours";
/// The page written by hand in plain JavaScript: what is near the limit.
const BY_HAND: &str = "c-vanilla";
/// Pages built with React and a list library.
const REACT: [&str; 2] = ["a-virtuoso", "a-tanstack"];
/// A page with nothing in it: what starting costs by itself.
const BLANK: &str = "blank";
/// A page that holds a whole session, as exporters write them.
const IN_ONE_FILE: &str = "b-static";
/// The largest session a page in one file is made of: beyond it browsers hardly open it.
const IN_ONE_FILE_SIZE: &str = "10000";

/// # Errors
/// When the harness is not there, or a tool or a build fails.
pub(crate) fn run(options: &BenchOptions) -> Result<ExitCode, Error> {
    let root = workspace::root()?;
    if options.server {
        return server::run(&root);
    }
    let source = harness_source(&root)?;
    let node = workspace::on_path("node").ok_or_else(|| Error::Missing {
        what: "Node.js, which runs the harness".to_owned(),
        remedy: "Install node and npm (Debian: apt-get install nodejs npm)".to_owned(),
    })?;
    let chrome = browser::ensure()?.chrome;
    dist::build_page(&root, &tools::ensure(&root)?)?;

    let folder = workspace::target_dir(&root).join("bench");
    let harness = folder.join("harness");
    copy_tree(&source, &harness)?;
    prepare(&node, &harness)?;
    stage_page(&root, &harness.join(OURS))?;

    let launcher = chromium::launcher(&chrome, &folder)?;
    let run = Run {
        node,
        chrome,
        launcher,
        harness,
        results: folder.join("results.json"),
        data: folder.join("data"),
    };
    run.measure(options)?;
    let results = results::read(&run.results)?;
    let gates = gates::judged(&results);
    let about = report::About {
        load: results.load,
        started: results.started.clone(),
        reps: options.reps,
        quick: options.quick,
        versions: versions(&root, &run),
    };
    report::write(&folder, &about, &results, &gates)?;
    println!("{}", report::table(&gates));
    let n_met = gates.iter().filter(|gate| gate.met()).count();
    progress::say(&format!(
        "{n_met} of {} gates are met; all figures are in {}",
        gates.len(),
        folder.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Where the harness and the other pages lie.
fn harness_source(root: &Path) -> Result<PathBuf, Error> {
    let folder = std::env::var_os("TURNREEL_BENCH")
        .map_or_else(|| root.join("../shared/bench"), PathBuf::from);
    if folder.join("bench.mjs").is_file() {
        return Ok(folder);
    }
    Err(Error::Missing {
        what: format!("the harness, bench.mjs, in {}", folder.display()),
        remedy: "Name its folder by the variable TURNREEL_BENCH".to_owned(),
    })
}

/// Fetches what the harness and the pages need, and builds the pages.
fn prepare(node: &Path, harness: &Path) -> Result<(), Error> {
    if !harness.join("node_modules").is_dir() {
        progress::say("Fetching what the harness needs, with npm");
        let mut install = command::new("npm");
        install
            .args(["install", "--no-audit", "--no-fund"])
            .current_dir(harness);
        command::run_quietly(&mut install, &harness.join("npm.log"))?;
    }
    command::run(command::new(node).arg("build.mjs").current_dir(harness))
}

/// Our page as one that embeds the element.
fn stage_page(root: &Path, folder: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(Error::file("remove a folder", folder, source));
        }
        _ => {}
    }
    copy_tree(&root.join("dist"), folder)?;
    let entry = folder.join("index.html");
    fs::copy(root.join("crates/xtask/bench/index.html"), &entry)
        .map_err(|source| Error::file("copy a page to", &entry, source))?;
    Ok(())
}

/// One run of the harness.
struct Run {
    node: PathBuf,
    chrome: PathBuf,
    /// What the harness starts.
    launcher: PathBuf,
    harness: PathBuf,
    results: PathBuf,
    data: PathBuf,
}

impl Run {
    fn measure(&self, options: &BenchOptions) -> Result<(), Error> {
        let (sizes, rates) = if options.quick {
            ("1000,100000,s30000", "200x6,1000x6,2000x6,5000x6,20000x4")
        } else {
            (
                "1000,100000,s30000,1000000",
                "200x8,1000x8,2000x8,5000x8,20000x5",
            )
        };
        let mut pages: Vec<(&str, String)> = REACT
            .into_iter()
            .chain([BY_HAND])
            .map(|name| (name, format!("dist/{name}")))
            .collect();
        pages.push((OURS, OURS.to_owned()));
        pages.push((BLANK, "peers/blank".to_owned()));
        let mut sizes: Vec<&str> = sizes.split(',').collect();
        let mut skipped = vec![format!("{BLANK}:replay"), format!("{BLANK}:live")];
        if options.all {
            self.write_in_one_file()?;
            pages.push((IN_ONE_FILE, format!("dist/{IN_ONE_FILE}-{{size}}")));
            let others = sizes.iter().filter(|size| **size != "1000");
            skipped.extend(others.map(|size| format!("{IN_ONE_FILE}:replay:{size}")));
            skipped.extend(["live", "cold"].map(|scenario| format!("{IN_ONE_FILE}:{scenario}")));
            sizes.push(IN_ONE_FILE_SIZE);
        }
        let mut bench = command::new(&self.node);
        bench.arg("bench.mjs").current_dir(&self.harness);
        for (name, folder) in pages {
            bench.arg("--page").arg(format!("{name}={folder}"));
        }
        bench
            .args(["--sizes", &sizes.join(",")])
            .args(["--scroll-size", "100000", "--rates", rates])
            .args(["--reps", &options.reps.to_string()])
            .args(["--skip", &skipped.join(",")])
            .arg("--data")
            .arg(&self.data)
            .arg("--out")
            .arg(&self.results)
            .env("CHROMIUM", &self.launcher);
        progress::say("Measuring; nothing else should run on this machine");
        command::run(&mut bench)
    }

    fn write_in_one_file(&self) -> Result<(), Error> {
        fs::create_dir_all(&self.data)
            .map_err(|source| Error::file("make a folder", &self.data, source))?;
        for size in ["1000", IN_ONE_FILE_SIZE] {
            let log = self.data.join(format!("session-{size}.jsonl"));
            let mut generate = command::new(&self.node);
            generate
                .args(["generate_session.mjs", "--events", size, "--seed", "1"])
                .current_dir(&self.harness);
            let text = command::output(&mut generate)?;
            fs::write(&log, text).map_err(|source| Error::file("write a log", &log, source))?;
            let page = format!("dist/{IN_ONE_FILE}-{size}/index.html");
            let mut write = command::new(&self.node);
            write
                .arg("peers/b/static.mjs")
                .arg(&log)
                .arg(page)
                .current_dir(&self.harness);
            command::run(&mut write)?;
        }
        Ok(())
    }
}

/// What was measured, and with what.
fn versions(root: &Path, run: &Run) -> Vec<(&'static str, String)> {
    let first_line = |program: &Path, argument: &str| {
        let text = command::output(command::new(program).arg(argument)).unwrap_or_default();
        text.lines().next().unwrap_or_default().trim().to_owned()
    };
    let commit = command::output(
        command::new("git")
            .args(["describe", "--always", "--dirty"])
            .current_dir(root),
    );
    vec![
        ("Turnreel", commit.unwrap_or_default().trim().to_owned()),
        ("Chromium", first_line(&run.chrome, "--version")),
        ("Node.js", first_line(&run.node, "--version")),
        ("Rust", first_line(Path::new("rustc"), "--version")),
    ]
}

/// Copies files and folders, but for what the other side fetched or built.
fn copy_tree(from: &Path, to: &Path) -> Result<(), Error> {
    let unreadable = |source| Error::file("read a folder", from, source);
    fs::create_dir_all(to).map_err(|source| Error::file("make a folder", to, source))?;
    for entry in fs::read_dir(from).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name();
        if ["node_modules", "dist", "data"]
            .iter()
            .any(|it| name == *it)
        {
            continue;
        }
        let target = to.join(&name);
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)
                .map_err(|source| Error::file("copy a file to", &target, source))?;
        }
    }
    Ok(())
}
