//! What the tasks say of themselves.

pub(super) const HELP: &str = "\
Turnreel's tasks

Usage: cargo xtask <command> [options]

Commands:
  start   Build everything that is needed and start the program on this machine
  test    Run every check and test, browser tests included
  dist    Build the page and the server, and start nothing
  bench   Measure the page beside other pages, in one run; with --server, the server
  calls   Note anew what is run before the first rows; the page is cut by it
  tools   Say which tools are installed, and where
  help    Show this text; `cargo xtask <command> --help` shows more

`page-hook` is called by Trunk while it builds the page.
";

pub(super) const HELP_START: &str = "\
Build the page and the server in release, start the server on 127.0.0.1 and open the page, with the sessions that agents
keep on this machine

Usage: cargo xtask start [--port N] [--data DIR] [--no-open]

Options:
  --port N     Listen on this port; 0 takes any free one [default: 7473]
  --data DIR   Keep sessions in this folder [default: where `turnreel` keeps them, see `turnreel config`]
  --no-open    Print the address and open no browser

The first call installs what is missing: the wasm32-unknown-unknown target (rustup), trunk and wasm-bindgen-cli
(cargo install, into $XDG_CACHE_HOME/turnreel/tools, else ~/.cache/turnreel/tools). Later calls find them there.
";

pub(super) const HELP_TEST: &str = "\
Run every check and test, in order, and stop at the first that fails

Usage: cargo xtask test [--full] [FILTER...]

Arguments:
  FILTER       Run only tests whose name contains one of these; the checks before them are left out

Options:
  --full       Run the long tests, too (sets TURNREEL_FULL=1), and those by browser against the server in release

Up to three tests that fail in a step are run once more, alone; those that pass then are named at the end, and fail nothing.
With --full none is run again.

The last line is `N passed, N failed`.
";

pub(super) const HELP_DIST: &str = "\
Build the page (into dist/) and the server that carries it, both in release

Usage: cargo xtask dist
";

pub(super) const HELP_BENCH: &str = "\
Measure the page beside other pages that show the same sessions, all in one run of one browser

Usage: cargo xtask bench [--quick] [--all] [--reps N]
       cargo xtask bench --server

Options:
  --server    Measure the server instead, alone: a busy session's relay, the list, the first page, a lost index
  --quick     One repetition, without the log of a million events
  --all       Also pages that hold a whole session in one file, as exporters write them
  --reps N    Repetitions, of which medians are taken [default: 3]

The pages beside ours, the sessions and the harness lie in the folder that TURNREEL_BENCH names, else in
../shared/bench; Node.js, npm and Chromium run them. Written to target/bench: report.md (what was measured, as ratios),
figures.json (every figure, and `gates`), ratios.svg. Only ratios within one run mean anything, and only those of a
machine that does nothing else.

The server is measured with sessions that are made up in the temporary folder (1.2 GiB, removed after it); nothing else is
needed but Linux, which counts what it costs. Written to target/bench: server.md and server.json.
";

pub(super) const HELP_CALLS: &str = "\
Note anew what of the page is run before its first rows, and build the page by it

Usage: cargo xtask calls [--logs DIR]

Options:
  --logs DIR   Show the logs of ChatEvents in this folder, too (*.jsonl); the more, the fewer sessions need more at first

What is not run then is left out of what the page fetches first. A page that notes what is run of it is built, shows the
recorded sessions of tests/sessions in Chromium, and those of the folder that TURNREEL_SHARED names, else ../shared. What
comes of it is added to crates/xtask/parts/calls.txt: what a machine runs first depends on how busy it is. Remove the file
to begin anew. To be called when a test says that too much is fetched first; what was changed since stays in the first part
until then. With hundreds of sessions it takes some ten minutes.
";

pub(super) const HELP_TOOLS: &str = "\
Say which tools are installed, in which version, and where

Usage: cargo xtask tools
";

pub(super) const HELP_PAGE_HOOK: &str = "\
Prepare the staged page for a Content-Security-Policy without inline scripts; called by Trunk after each build

Usage: cargo xtask page-hook   (with TRUNK_STAGING_DIR set, as Trunk does)
";
