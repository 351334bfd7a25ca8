//! The test programs that need no browser, two at a time: some compute, others mostly wait for servers and timers.

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::THREADS;
use super::again::Failed;
use super::counts::Counts;
use crate::error::Error;
use crate::{command, report};

/// Below this folder lie the packages whose tests mostly wait.
const WAITING: &str = "crates/host";

/// The one of those that takes minutes, and begins first: else the others are done, and it goes on alone. Most of its tests
/// wait for timers, so that more of them run at once than there are cores.
const LONGEST: (&str, &str) = ("turnreel", "all");
/// How many of its tests run at once, for each core.
const AT_ONCE: usize = 2;

/// One test program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// Its package's folder, where it runs.
    folder: PathBuf,
    package: String,
    /// What cargo calls it: a test's name, or that of the library or the program whose own tests these are.
    target: String,
    kind: String,
    executable: PathBuf,
}

impl Program {
    /// From a line that cargo says; `None` where it tells of something else.
    fn from_message(line: &str) -> Option<Program> {
        let message: Value = serde_json::from_str(line).ok()?;
        let executable = PathBuf::from(message["executable"].as_str()?);
        if message["profile"]["test"] != true {
            return None;
        }
        let manifest = Path::new(message["manifest_path"].as_str()?);
        let folder = manifest.parent()?.to_owned();
        // `path+file:///…/page#agent-feed@0.1.0`, or without a name where the folder has it.
        let (_, id) = message["package_id"].as_str()?.rsplit_once('#')?;
        let package = match id.split_once('@') {
            Some((name, _)) => name.to_owned(),
            None => folder.file_name()?.to_string_lossy().into_owned(),
        };
        Some(Program {
            package,
            folder,
            target: message["target"]["name"].as_str()?.to_owned(),
            kind: message["target"]["kind"][0].as_str()?.to_owned(),
            executable,
        })
    }

    fn is_longest(&self) -> bool {
        (self.package.as_str(), self.target.as_str()) == LONGEST
    }

    /// What cargo is told to run it alone.
    fn arguments(&self) -> String {
        let target = match self.kind.as_str() {
            "test" => format!("--test {}", self.target),
            "bin" => format!("--bin {}", self.target),
            _ => "--lib".to_owned(),
        };
        format!("cargo test --package {} {target}", self.package)
    }
}

/// The programs that cargo compiles by these arguments. They are compiled where they are not yet.
///
/// # Errors
/// When they cannot be.
pub(super) fn compiled(root: &Path, arguments: &[String]) -> Result<Vec<Program>, Error> {
    let mut cargo = command::cargo();
    cargo
        .args(arguments)
        .args(["--no-run", "--message-format", "json-render-diagnostics"])
        .current_dir(root);
    let said = command::output(&mut cargo)?;
    Ok(said.lines().filter_map(Program::from_message).collect())
}

/// What came of test programs.
#[derive(Default)]
pub(super) struct Ended {
    /// Programs of which tests failed, and which.
    failed: Vec<(Program, Failed)>,
    /// Tests that failed among others and passed alone.
    pub(super) late: Vec<String>,
}

impl Ended {
    /// How each that failed is repeated.
    pub(super) fn lines(&self) -> Vec<String> {
        let programs = self.failed.iter();
        programs.map(|(program, _)| program.arguments()).collect()
    }

    /// Runs what failed once more, alone, where it is little.
    pub(super) fn run_again(
        &mut self,
        environment: &(dyn Fn(&mut Command) + Sync),
        counts: &mut Counts,
    ) {
        let mut failed = Failed::default();
        self.failed.iter().for_each(|(_, of)| failed.add(of));
        if failed.alone(counts).is_none() {
            return;
        }
        report::say("What failed among others is run once more, alone");
        self.failed.retain(|(program, failed)| {
            let (said, succeeded) = ended(program, &failed.arguments(), environment);
            report::say(&format!("{} {}", program.package, program.target));
            print!("{said}");
            if succeeded {
                self.late.extend(failed.passed(counts));
            }
            !succeeded
        });
    }
}

/// Runs them and counts; what a program says is printed when it has ended, as a whole.
pub(super) fn run(
    programs: Vec<Program>,
    filters: &[String],
    environment: &(dyn Fn(&mut Command) + Sync),
    counts: &mut Counts,
) -> Ended {
    let (mut waiting, computing): (Vec<_>, Vec<_>) = programs
        .into_iter()
        .partition(|program| program.folder.to_string_lossy().contains(WAITING));
    waiting.sort_by_key(|program| !program.is_longest());
    let left: VecDeque<Program> = waiting.into_iter().chain(computing).collect();
    let left = Mutex::new(left);
    let done = Mutex::new((counts, Ended::default()));
    std::thread::scope(|scope| {
        let (left, done) = (&left, &done);
        // One begins with those that wait, one with those that compute.
        for begins_waiting in [true, false] {
            scope.spawn(move || {
                loop {
                    let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
                    let next = match begins_waiting {
                        true => left.pop_front(),
                        false => left.pop_back(),
                    };
                    drop(left);
                    let Some(program) = next else { return };
                    let (said, succeeded) = ended(&program, filters, environment);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    report::say(&format!("{} {}", program.package, program.target));
                    print!("{said}");
                    let mut failed = Failed::default();
                    for line in said.lines() {
                        done.0.add_line(line);
                        failed.add_line(line);
                    }
                    if !succeeded {
                        done.1.failed.push((program, failed));
                    }
                }
            });
        }
    });
    let (_, ended) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    ended
}

/// What a program said, and whether all was well.
fn ended(
    program: &Program,
    filters: &[String],
    environment: &(dyn Fn(&mut Command) + Sync),
) -> (String, bool) {
    let mut command = command::new(&program.executable);
    command
        .args(filters)
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .stdin(Stdio::null());
    environment(&mut command);
    if program.is_longest() && std::env::var_os(THREADS).is_none() {
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        command.env(THREADS, (n_cores * AT_ONCE).to_string());
    }
    match output_of(&mut command, &program.executable) {
        Ok((mut said, errors, succeeded)) => {
            if !succeeded {
                // It is long, and only of use then.
                said.push_str(&errors);
            }
            (said, succeeded)
        }
        Err(why) => (format!("could not be started: {why}\n"), false),
    }
}

/// What a command says on its two outputs, and whether all was well. It goes to files and not through pipes: what a test that
/// failed leaves running would hold a pipe open for ever.
fn output_of(command: &mut Command, beside: &Path) -> std::io::Result<(String, String, bool)> {
    let paths = ["stdout", "stderr"].map(|name| beside.with_extension(name));
    command.stdout(File::create(&paths[0])?);
    command.stderr(File::create(&paths[1])?);
    let status = command.status()?;
    let [said, errors] = paths.map(|path| {
        let text = std::fs::read(&path).unwrap_or_default();
        let _ = std::fs::remove_file(&path);
        String::from_utf8_lossy(&text).into_owned()
    });
    Ok((said, errors, status.success()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_running_holds_nobody() {
        let dir = std::env::temp_dir().join(format!("turnreel-xtask-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder for what is said");
        let mut command = Command::new("sh");
        command.args(["-c", "echo said; echo wrong >&2; sleep 60 & exit 3"]);
        let began = std::time::Instant::now();
        let (said, errors, succeeded) =
            output_of(&mut command, &dir.join("program")).expect("a shell runs");
        assert_eq!((&*said, &*errors, succeeded), ("said\n", "wrong\n", false));
        assert!(began.elapsed() < std::time::Duration::from_secs(50));
        std::fs::remove_dir_all(&dir).expect("nobody else has it");
    }

    #[test]
    fn cargo_tells_of_test_programs_among_other_things() {
        let artifact = |test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"path+file:///w/crates/host/turnreel#0.1.0","manifest_path":"/w/crates/host/turnreel/Cargo.toml","target":{{"kind":["test"],"name":"all"}},"profile":{{"test":{test}}},"executable":{executable}}}"#
            )
        };
        let program = Program::from_message(&artifact(true, r#""/t/all-1""#)).expect("a test");
        assert_eq!(program.folder, Path::new("/w/crates/host/turnreel"));
        assert_eq!(
            program.arguments(),
            "cargo test --package turnreel --test all"
        );
        assert!(program.is_longest());
        let page =
            artifact(true, r#""/t/recorded-1""#).replace("turnreel#0.1.0", "page#agent-feed@0.1.0");
        let page = Program::from_message(&page).expect("a test");
        assert_eq!(page.package, "agent-feed");
        for other in [
            artifact(false, r#""/t/turnreel""#),
            artifact(true, "null"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
            "not JSON".to_owned(),
        ] {
            assert_eq!(Program::from_message(&other), None, "{other}");
        }
    }
}
