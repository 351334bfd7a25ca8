//! The tools the page is built with: the wasm32 target, Trunk, wasm-bindgen and what cuts a module into parts, each in
//! one exact version. What npm brings is `highlighter`'s.
//!
//! They are kept by version in the user's cache folder, so that every clone finds them and no two versions meet. The
//! browser that tests run in is `browser`'s.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::error::Error;
use crate::{browser, command, highlighter, report, workspace};

/// The page is laid out for this one; newer ones are tried by hand first.
const TRUNK_VERSION: &str = "0.22.1";
/// It reads what `wasm_split_helpers` of the lock file leaves in the module.
const WASM_SPLIT_VERSION: &str = "0.2.4";
pub(crate) const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// A program that cargo can build.
struct Tool {
    package: &'static str,
    version: String,
    /// Every program of the package that is used here.
    programs: &'static [&'static str],
    /// What the first of them is asked to see that it runs.
    asked: Asked,
    /// Arguments of `cargo install` beyond package and version.
    install_args: &'static [&'static str],
    install_env: &'static [(&'static str, &'static str)],
    /// On two idle cores.
    expected_minutes: u32,
}

/// What a program is asked to see that it runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// Its version, which must be the wanted one.
    Version,
    /// Its help: it does not tell its version, so only a folder named after the version is believed.
    Help,
}

/// The tools' own release profiles aim at speed of the tool; ours aim at having it soon.
fn trunk() -> Tool {
    Tool {
        package: "trunk",
        version: TRUNK_VERSION.to_owned(),
        programs: &["trunk"],
        asked: Asked::Version,
        // Trunk asks for a newer rustc than it needs, and one TLS library is mandatory though nothing is fetched.
        install_args: &[
            "--locked",
            "--ignore-rust-version",
            "--no-default-features",
            "--features",
            "rustls",
        ],
        install_env: &[
            ("CARGO_PROFILE_RELEASE_LTO", "off"),
            ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
            ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
            ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
        ],
        expected_minutes: 7,
    }
}

fn wasm_bindgen(version: String) -> Tool {
    Tool {
        package: "wasm-bindgen-cli",
        version,
        programs: &["wasm-bindgen", "wasm-bindgen-test-runner"],
        asked: Asked::Version,
        // Its own lock file names versions that were withdrawn, hence no --locked.
        install_args: &[],
        install_env: &[("CARGO_PROFILE_RELEASE_LTO", "off")],
        expected_minutes: 4,
    }
}

fn wasm_split() -> Tool {
    Tool {
        package: "wasm_split_cli_support",
        version: WASM_SPLIT_VERSION.to_owned(),
        programs: &["wasm-split-cli"],
        asked: Asked::Help,
        install_args: &["--locked", "--features", "build-binary"],
        install_env: &[],
        expected_minutes: 2,
    }
}

/// Where the tools are, once they are there.
pub(crate) struct Tools {
    pub(crate) bin_dirs: Vec<PathBuf>,
}

/// Installs what is missing.
///
/// # Errors
/// When something is missing that cannot be installed from here, or an installation fails.
pub(crate) fn ensure(root: &Path) -> Result<Tools, Error> {
    ensure_target(root)?;
    let tools_dir = tools_dir()?;
    let tools = wanted(root)?;
    let missing: Vec<&Tool> = tools
        .iter()
        .filter(|tool| tool.find(&tools_dir).is_none())
        .collect();
    if !missing.is_empty() {
        let names: Vec<String> = missing.iter().map(|tool| tool.full_name()).collect();
        let minutes: u32 = missing.iter().map(|tool| tool.expected_minutes).sum();
        report::say(&format!(
            "To be built once, about {minutes} minutes on two cores: {}",
            names.join(", ")
        ));
        report::say(&format!("They are kept in {}", tools_dir.display()));
    }
    let bin_dirs = tools
        .iter()
        .map(|tool| tool.ensure(&tools_dir))
        .collect::<Result<_, _>>()?;
    Ok(Tools { bin_dirs })
}

/// `cargo xtask tools`.
///
/// # Errors
/// When the workspace cannot be found.
pub(crate) fn print_all() -> Result<ExitCode, Error> {
    let root = workspace::root()?;
    let tools_dir = tools_dir()?;
    let print = |name: &str, place: Option<String>| {
        println!(
            "{name:<26} {}",
            place.unwrap_or_else(|| "not installed".to_owned())
        );
    };
    print(
        WASM_TARGET,
        target_lib_dir(&root)?.map(|folder| folder.display().to_string()),
    );
    for tool in wanted(&root)? {
        print(
            &tool.full_name(),
            tool.find(&tools_dir)
                .map(|folder| folder.display().to_string()),
        );
    }
    print(
        "npm (colours in code)",
        workspace::on_path("npm").map(|file| file.display().to_string()),
    );
    print(
        "grammars (from npm)",
        highlighter::find(&root).map(|folder| folder.display().to_string()),
    );
    print(
        "chromium",
        browser::find_chrome().map(|file| browser::described(&file)),
    );
    print(
        "chromedriver",
        browser::find_driver().map(|file| browser::described(&file)),
    );
    Ok(ExitCode::SUCCESS)
}

/// Makes sure of a component of the toolchain, for example `clippy`; `program` is what it brings.
///
/// # Errors
/// When it is missing and there is no rustup to add it.
pub(crate) fn ensure_component(
    root: &Path,
    component: &str,
    subcommand: &str,
) -> Result<(), Error> {
    if command::output(
        command::cargo()
            .args([subcommand, "--version"])
            .current_dir(root),
    )
    .is_ok()
    {
        return Ok(());
    }
    rustup_adds(root, "component", component)
}

fn ensure_target(root: &Path) -> Result<(), Error> {
    if target_lib_dir(root)?.is_some() {
        return Ok(());
    }
    rustup_adds(root, "target", WASM_TARGET)
}

fn rustup_adds(root: &Path, kind: &str, name: &str) -> Result<(), Error> {
    let Some(rustup) = workspace::on_path("rustup") else {
        return Err(Error::Missing {
            what: format!("the {kind} {name} of this Rust toolchain, nor rustup to add it"),
            remedy: format!(
                "Install rustup (https://rustup.rs), which adds what rust-toolchain.toml names, \
                 or install the {kind} {name} with the package manager that Rust came from"
            ),
        });
    };
    report::say(&format!("Adding the {kind} {name} with rustup"));
    command::run(
        command::new(rustup)
            .args([kind, "add", name])
            .current_dir(root),
    )
}

/// Folder of the wasm32 target's standard library, if it is there.
fn target_lib_dir(root: &Path) -> Result<Option<PathBuf>, Error> {
    let sysroot = command::output(
        command::new("rustc")
            .args(["--print", "sysroot"])
            .current_dir(root),
    )?;
    let folder = Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(WASM_TARGET);
    Ok(folder.join("lib").is_dir().then_some(folder))
}

fn tools_dir() -> Result<PathBuf, Error> {
    Ok(workspace::cache_dir()?.join("tools"))
}

fn wanted(root: &Path) -> Result<Vec<Tool>, Error> {
    // Until the page depends on wasm-bindgen there is no version to match.
    let wasm_bindgen_version = workspace::locked_version(root, "wasm-bindgen")?;
    Ok([trunk(), wasm_split()]
        .into_iter()
        .chain(wasm_bindgen_version.map(wasm_bindgen))
        .collect())
}

impl Tool {
    fn full_name(&self) -> String {
        format!("{}-{}", self.package, self.version)
    }

    /// Folder with all programs of the tool in the wanted version: in the cache, else on PATH.
    fn find(&self, tools_dir: &Path) -> Option<PathBuf> {
        let kept = tools_dir.join(self.full_name()).join("bin");
        let on_path = || {
            workspace::on_path(self.programs[0])?
                .parent()
                .map(Path::to_owned)
        };
        Some(kept)
            .filter(|folder| self.is_whole_in(folder))
            .or_else(|| {
                let tells_version = self.asked == Asked::Version;
                on_path().filter(|it| tells_version && self.is_whole_in(it))
            })
    }

    fn is_whole_in(&self, bin_dir: &Path) -> bool {
        let file =
            |program: &str| bin_dir.join(format!("{program}{}", std::env::consts::EXE_SUFFIX));
        if !self.programs.iter().all(|program| file(program).is_file()) {
            return false;
        }
        let mut program = command::new(file(self.programs[0]));
        match self.asked {
            Asked::Version => command::output(program.arg("--version"))
                .is_ok_and(|text| text.split_whitespace().any(|word| word == self.version)),
            Asked::Help => command::output(program.arg("--help")).is_ok(),
        }
    }

    /// Returns the folder of the programs, after building them if need be.
    fn ensure(&self, tools_dir: &Path) -> Result<PathBuf, Error> {
        if let Some(bin_dir) = self.find(tools_dir) {
            return Ok(bin_dir);
        }
        std::fs::create_dir_all(tools_dir)
            .map_err(|source| Error::file("make a folder", tools_dir, source))?;
        // Two clones may come here at once; the lock falls with its holder, even when that is killed.
        let _lock = locked(
            &tools_dir.join(format!(".{}.lock", self.full_name())),
            &self.full_name(),
        )?;
        if let Some(bin_dir) = self.find(tools_dir) {
            return Ok(bin_dir);
        }
        self.install(tools_dir)
    }

    /// Builds in a folder beside the final one and renames it when it is whole, so that what has the final name works.
    fn install(&self, tools_dir: &Path) -> Result<PathBuf, Error> {
        let final_dir = tools_dir.join(self.full_name());
        let new_dir = tools_dir.join(format!(".{}.new", self.full_name()));
        let build_dir = tools_dir.join(format!(".{}.build", self.full_name()));
        let log_path = tools_dir.join(format!("{}.log", self.full_name()));
        report::say(&format!(
            "Building {} (about {} minutes)",
            self.full_name(),
            self.expected_minutes
        ));
        remove_dir(&new_dir)?;
        let mut install = command::cargo();
        install
            .args(["install", self.package, "--version", &self.version])
            .args(self.install_args)
            .arg("--root")
            .arg(&new_dir)
            .envs(self.install_env.iter().copied())
            // What was built stays for the next try when this one is broken off.
            .env("CARGO_TARGET_DIR", &build_dir)
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .current_dir(tools_dir);
        command::run_quietly(&mut install, &log_path)?;
        if !self.is_whole_in(&new_dir.join("bin")) {
            return Err(Error::Failed {
                what: format!("install {}", self.full_name()),
                why: format!(
                    "what cargo built does not run, or is not version {}: {}",
                    self.version,
                    new_dir.display()
                ),
            });
        }
        remove_dir(&final_dir)?;
        std::fs::rename(&new_dir, &final_dir)
            .map_err(|source| Error::file("rename a folder", &new_dir, source))?;
        remove_dir(&build_dir)?;
        report::say(&format!(
            "Installed {} in {}",
            self.full_name(),
            final_dir.display()
        ));
        Ok(final_dir.join("bin"))
    }
}

fn remove_dir(folder: &Path) -> Result<(), Error> {
    match std::fs::remove_dir_all(folder) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::file("remove a folder", folder, source))
        }
        _ => Ok(()),
    }
}

/// Takes a lock file, waiting for its holder; dropping the file lets go.
fn locked(path: &Path, name: &str) -> Result<File, Error> {
    let failed = |source| Error::file("lock a file", path, source);
    let file = File::create(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => {
            report::say(&format!("Waiting: another call is installing {name}"))
        }
        Err(TryLockError::Error(source)) => return Err(failed(source)),
    }
    file.lock().map_err(failed)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_install_is_not_taken_for_a_whole_one() {
        let folder = std::env::temp_dir().join(format!("xtask-tools-{}", std::process::id()));
        let bin_dir = folder.join("trunk-0.0.0/bin");
        std::fs::create_dir_all(&bin_dir).expect("the temporary folder can be written");
        let tool = Tool {
            version: "0.0.0".to_owned(),
            ..trunk()
        };
        assert_eq!(tool.find(&folder), None, "an empty folder");
        std::fs::write(bin_dir.join("trunk"), "").expect("the temporary folder can be written");
        assert_eq!(tool.find(&folder), None, "a file that does not run");
        std::fs::remove_dir_all(&folder).expect("the temporary folder can be removed");
    }

    #[test]
    fn the_second_to_lock_waits_for_the_first() {
        let path = std::env::temp_dir().join(format!("xtask-lock-{}", std::process::id()));
        let first = locked(&path, "a test").expect("a free lock is taken");
        let second = File::create(&path).expect("the temporary folder can be written");
        assert!(matches!(second.try_lock(), Err(TryLockError::WouldBlock)));
        drop(first);
        assert!(second.try_lock().is_ok());
        std::fs::remove_file(&path).expect("the temporary folder can be written");
    }
}
