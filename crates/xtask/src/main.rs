//! `cargo xtask`: what is done with this repository, as commands. `start` and `test` are the two that matter.
//!
//! Hardly anything but the standard library is used, so that a fresh clone has this program in seconds. What the product does lies
//! elsewhere: `turnreel` is the server, the root package is the page; here they are only built, started and tested.

mod args;
mod error;
mod report;
mod workspace;

mod apt;
mod browser;
mod command;
mod fingerprint;
mod servers;
mod tools;

mod bench;
mod bundle;
mod calls;
mod dist;
mod flags;
mod highlighter;
mod npm;
mod packed;
mod page_hook;
mod parts;
mod player;
mod reader;
mod start;
mod test;

use std::process::ExitCode;

use args::Action;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = args::parse(&arguments).and_then(perform);
    match outcome {
        Ok(exit_code) => exit_code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn perform(action: Action) -> Result<ExitCode, error::Error> {
    match action {
        Action::Help(text) => {
            print!("{text}");
            Ok(ExitCode::SUCCESS)
        }
        Action::Start(options) => start::run(&options),
        Action::Dist => dist::run(),
        Action::Calls { logs } => calls::run(logs.as_deref()),
        Action::Bench(options) => bench::run(&options),
        Action::PageHook => page_hook::run(),
        Action::Test(options) => test::run(&options),
        Action::Tools => tools::print_all(),
    }
}
