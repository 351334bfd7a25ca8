//! `cargo xtask test`: everything there is, in the order in which a mistake is found soonest.
//!
//! A step is a command and its name. The first that fails ends the run, with the command to repeat it.
//!
//! What is run is chosen in `arguments`, and finds what `environment` gives it.
//!
//! Steps are timed and summed up in `steps`.

mod again;
mod arguments;
mod counts;
mod environment;
mod programs;
mod steps;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::args::TestOptions;
use crate::error::Error;
use crate::tools::WASM_TARGET;
use crate::{browser, command, dist, npm, report, servers, tools, workspace};
use again::Failed;
use arguments::{choose_inputs, packages_in, root_test_arguments, rule_arguments, tests_in};
use counts::Counts;
use environment::Environment;
use steps::{Done, not_passed};

/// The page's package, which is the root of the workspace.
const PAGE: &str = "agent-feed";

/// The tests of the root package that hold the project's rules. They need no build of the page, so they run early.
const RULES: &str = "rules";

/// Tests of the root package with this prefix drive a whole browser, and run last.
const END_TO_END: &str = "end_to_end";

/// The step of those, which wait for browsers half of the time: on two cores three at once take 7 minutes in place of 9.
const BY_BROWSER: &str = "end to end";

/// How many tests of a program run at once.
const THREADS: &str = "RUST_TEST_THREADS";

/// Tests with this name run inside the browser.
const IN_BROWSER: &str = "web";

/// # Errors
/// When the workspace cannot be read. A failing step is no error here: it is reported and ends the run.
pub(crate) fn run(options: &TestOptions) -> Result<ExitCode, Error> {
    let mut run = Run {
        root: workspace::root()?,
        options,
        done: Vec::new(),
        counts: Counts::default(),
        late: Vec::new(),
    };
    let outcome = run.all_steps();
    if let Err(error) = &outcome {
        // A step can fail before any test of it does: a build, a lint, a missing tool.
        run.counts.failed = run.counts.failed.max(1);
        eprintln!("\nerror: {error}");
    }
    run.print_summary();
    Ok(if outcome.is_ok() && run.counts.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

struct Run<'a> {
    root: PathBuf,
    options: &'a TestOptions,
    done: Vec<Done>,
    counts: Counts,
    /// Tests that failed among others and passed alone.
    late: Vec<String>,
}

/// Where property tests begin to choose their inputs; without it each run begins elsewhere.
const SEED: &str = "PROPTEST_RNG_SEED";

impl Run<'_> {
    fn all_steps(&mut self) -> Result<(), Error> {
        let root = self.root.clone();
        let (tools, browser) = self.timed("tools", |_| {
            tools::ensure_component(&root, "rustfmt", "fmt")?;
            tools::ensure_component(&root, "clippy", "clippy")?;
            Ok((tools::ensure(&root)?, browser::ensure()?))
        })?;
        if self.options.filters.is_empty() {
            self.checks()?;
        } else {
            self.cargo_test("rules of the project", &rule_arguments(), None)?;
        }
        let compiled = self.test_programs()?;
        let is_full = self.options.full;
        let program = self.timed("page, server and tests", |_| {
            // The page is linked by one core for minutes: the others make the tests meanwhile.
            std::thread::scope(|scope| {
                let page = scope.spawn(|| dist::build_page(&root, &tools));
                let others = compiled
                    .iter()
                    .try_for_each(|arguments| compile(&root, arguments));
                // What panicked there has said so.
                page.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
                others
            })?;
            match is_full {
                true => dist::build_server(&root),
                // It was made with its tests, and reads the page from its folder: one of release takes five minutes more.
                false => dist::tests_server(&root),
            }
        })?;
        let axe = npm::ensure(&root, "axe", "axe-core", "the rules of accessibility")?;
        if let Err(why) = &axe {
            report::say(&format!(
                "The page is not held to the rules of accessibility: {why}"
            ));
        }
        let servers = servers::ensure()?;
        let environment = Environment {
            root: &root,
            servers: &servers,
            axe: axe.ok(),
            tools: &tools,
            browser: &browser,
            program: &program,
        };
        self.tests(&environment, &compiled)
    }

    /// What needs no running program.
    fn checks(&mut self) -> Result<(), Error> {
        self.command("format", &["fmt", "--all", "--check"])?;
        self.cargo_test("rules of the project", &rule_arguments(), None)?;
        let deny: &[&str] = &["--", "-D", "warnings"];
        let host = ["clippy", "--workspace", "--all-targets"];
        self.command("clippy, host", &[&host[..], deny].concat())?;
        let page = [
            "clippy",
            "--package",
            PAGE,
            "--all-targets",
            "--target",
            WASM_TARGET,
        ];
        self.command("clippy, page in wasm32", &[&page[..], deny].concat())?;
        let reader = [
            "clippy",
            "--package",
            PAGE,
            "--no-default-features",
            "--target",
            WASM_TARGET,
        ];
        self.command("clippy, reader in wasm32", &[&reader[..], deny].concat())?;
        // Alone, so that no feature another package asks for hides what these lack. Their tests are the host's.
        let pure_packages = packages_in(&self.root.join("crates/pure"))?;
        let mut pure = vec!["clippy", "--target", WASM_TARGET];
        pure.extend(
            pure_packages
                .iter()
                .flat_map(|package| ["--package", package]),
        );
        pure.extend(deny);
        // A loop over a hash map has no order that could be relied upon; methods are named in crates/pure/.clippy.toml.
        pure.extend(["-D", "clippy::iter_over_hash_type"]);
        self.command("pure packages in wasm32", &pure)
    }

    /// What cargo is told for the tests on this machine, in their order: of the packages, of the page, and those that drive
    /// a browser.
    fn test_programs(&self) -> Result<[Vec<String>; 3], Error> {
        let workspace = ["test", "--no-fail-fast", "--workspace", "--exclude", PAGE];
        let (end_to_end, others): (Vec<String>, Vec<String>) = tests_in(&self.root)?
            .into_iter()
            .filter(|name| name != IN_BROWSER && name != RULES)
            .partition(|name| name.starts_with(END_TO_END));
        Ok([
            workspace.map(str::to_owned).to_vec(),
            self.page_arguments(&others),
            root_test_arguments(&end_to_end),
        ])
    }

    fn tests(
        &mut self,
        environment: &Environment<'_>,
        [packages, page, end_to_end]: &[Vec<String>; 3],
    ) -> Result<(), Error> {
        self.on_host(&[packages, page], environment)?;
        let docs = ["test", "--doc", "--workspace", "--exclude", PAGE].map(str::to_owned);
        self.cargo_test("packages, examples in docs", &docs, Some(environment))?;
        // wasm-bindgen's test runner takes one filter at most.
        let filters = &self.options.filters;
        let runs: Vec<&[String]> = if filters.is_empty() {
            vec![&[]]
        } else {
            filters.chunks(1).collect()
        };
        for package in self.packages_with_browser_tests()? {
            let name = format!("{package}, in the browser");
            let arguments = [
                "test",
                "--package",
                &package,
                "--target",
                WASM_TARGET,
                "--test",
                IN_BROWSER,
            ];
            for filters in &runs {
                self.filtered(
                    &name,
                    &arguments.map(str::to_owned),
                    filters,
                    Some(environment),
                )?;
            }
        }
        self.cargo_test(BY_BROWSER, end_to_end, Some(environment))
    }

    /// The tests that need no browser, but for those in docs.
    fn on_host(
        &mut self,
        arguments: &[&Vec<String>],
        environment: &Environment<'_>,
    ) -> Result<(), Error> {
        let name = "packages and page, host";
        let (root, filters) = (self.root.clone(), self.options.filters.clone());
        let is_full = self.options.full;
        let settings = environment.settings()?;
        let late = self.timed(name, |counts| {
            let mut found = Vec::new();
            for arguments in arguments {
                found.extend(programs::compiled(&root, arguments)?);
            }
            let set = |command: &mut Command| {
                command.envs(settings.iter().cloned());
                choose_inputs(command, is_full);
            };
            let mut ended = programs::run(found, &filters, &set, counts);
            if !is_full {
                ended.run_again(&set, counts);
            }
            let failed = ended.lines();
            if failed.is_empty() {
                return Ok(ended.late);
            }
            Err(Error::Failed {
                what: format!("pass the step \"{name}\""),
                why: format!(
                    "{} failed\nTo repeat: {}",
                    counts.failed,
                    failed.join("\n           ")
                ),
            })
        })?;
        self.late.extend(late);
        Ok(())
    }

    fn page_arguments(&self, tests: &[String]) -> Vec<String> {
        let mut arguments = root_test_arguments(tests);
        arguments.push("--bins".to_owned());
        if self.root.join("src/lib.rs").is_file() {
            arguments.push("--lib".to_owned());
        }
        arguments
    }

    fn packages_with_browser_tests(&self) -> Result<Vec<String>, Error> {
        let file = format!("tests/{IN_BROWSER}.rs");
        let pure_dir = self.root.join("crates/pure");
        let mut packages = packages_in(&pure_dir)?;
        packages.retain(|package| pure_dir.join(package).join(&file).is_file());
        if self.root.join(&file).is_file() {
            packages.push(PAGE.to_owned());
        }
        Ok(packages)
    }

    fn command(&mut self, name: &str, arguments: &[&str]) -> Result<(), Error> {
        let mut cargo = command::cargo();
        cargo.args(arguments).current_dir(&self.root);
        self.timed(name, |_| {
            command::run(&mut cargo).map_err(|_| not_passed(name, "see above", &cargo))
        })
    }

    /// Runs tests and counts them; with an environment, they also find the browser and the server.
    fn cargo_test(
        &mut self,
        name: &str,
        arguments: &[String],
        environment: Option<&Environment<'_>>,
    ) -> Result<(), Error> {
        self.filtered(name, arguments, &self.options.filters, environment)
    }

    fn filtered(
        &mut self,
        name: &str,
        arguments: &[String],
        filters: &[String],
        environment: Option<&Environment<'_>>,
    ) -> Result<(), Error> {
        let is_full = self.options.full;
        let settings = environment.map(Environment::settings).transpose()?;
        let root = self.root.clone();
        let told = |names: &[String]| {
            let mut cargo = command::cargo();
            cargo.args(arguments).current_dir(&root);
            if !names.is_empty() {
                cargo.arg("--").args(names);
            }
            choose_inputs(&mut cargo, is_full);
            cargo.envs(settings.iter().flatten().cloned());
            if name == BY_BROWSER && std::env::var_os(THREADS).is_none() {
                let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
                cargo.env(THREADS, (n_cores + 1).to_string());
            }
            cargo
        };
        let mut cargo = told(filters);
        let late = self.timed(name, |counts| {
            let mut failed = Failed::default();
            let status = command::run_reading(&mut cargo, |line| {
                counts.add_line(line);
                failed.add_line(line);
            })?;
            if status.success() {
                return Ok(Vec::new());
            }
            if let Some(names) = failed.alone(counts).filter(|_| !is_full) {
                report::say("What failed among others is run once more, alone");
                if command::run(&mut told(&names)).is_ok() {
                    return Ok(failed.passed(counts));
                }
            }
            let why = match counts.failed {
                0 => "see above".to_owned(),
                n_failed => format!("{n_failed} failed"),
            };
            Err(not_passed(name, &why, &cargo))
        })?;
        self.late.extend(late);
        Ok(())
    }
}

/// Compiles tests, and runs none.
fn compile(root: &Path, arguments: &[String]) -> Result<(), Error> {
    let mut cargo = command::cargo();
    cargo.args(arguments).arg("--no-run").current_dir(root);
    command::run(&mut cargo).map_err(|_| not_passed("compile the tests", "see above", &cargo))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_by_their_folders() {
        let root = workspace::root().expect("tests run inside the workspace");
        let packages = packages_in(&root.join("crates")).expect("the folder can be read");
        assert_eq!(
            packages,
            ["xtask"],
            "the other packages lie one folder deeper"
        );
    }
}
