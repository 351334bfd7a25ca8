//! What cargo knows of this workspace and its dependencies, for the tests that hold the project's rules.
#![allow(
    clippy::expect_used,
    reason = "a test that cannot read its subject fails"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

pub(crate) const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// A package of the workspace or a dependency.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    /// Folder below the workspace's; `None` for what comes from elsewhere.
    pub(crate) folder: Option<String>,
    /// Names of packages its manifest names by path, for use, tests and build alike.
    pub(crate) path_dependencies: BTreeSet<String>,
    /// Ids of the packages it is built with on the target asked for, tests left out.
    built_with: Vec<String>,
}

/// Packages by their ids, as they are built for one target.
pub(crate) struct Metadata {
    pub(crate) packages: BTreeMap<String, Package>,
}

/// Folder of the workspace, whose root package these tests belong to.
pub(crate) fn workspace_root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The target of the compiler, where host packages run.
pub(crate) fn host_target() -> String {
    let text = stdout_of(Command::new("rustc").arg("-vV"));
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc names its host").to_owned()
}

impl Metadata {
    pub(crate) fn of_target(target: &str) -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command
            .args([
                "metadata",
                "--format-version",
                "1",
                "--locked",
                "--filter-platform",
                target,
            ])
            .current_dir(workspace_root());
        let text = stdout_of(&mut command);
        let metadata: Value = serde_json::from_str(&text).expect("cargo metadata prints JSON");
        let built_with: BTreeMap<&str, Vec<String>> = list(&metadata["resolve"]["nodes"])
            .map(|node| (text_of(&node["id"]), built_with(node)))
            .collect();
        let packages = list(&metadata["packages"]).map(|package| {
            let id = text_of(&package["id"]);
            (
                id.to_owned(),
                Package::from_json(package, built_with.get(id).cloned().unwrap_or_default()),
            )
        });
        Self {
            packages: packages.collect(),
        }
    }

    /// The packages that lie in this workspace.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&String, &Package)> {
        self.packages
            .iter()
            .filter(|(_, package)| package.folder.is_some())
    }

    /// For each package that is reached from this one at any depth, the one it was first reached from.
    pub(crate) fn reached_from(&self, id: &str) -> BTreeMap<String, String> {
        let mut reached = BTreeMap::new();
        let mut to_visit = vec![id.to_owned()];
        while let Some(from) = to_visit.pop() {
            for to in &self.packages[&from].built_with {
                if !reached.contains_key(to) {
                    reached.insert(to.clone(), from.clone());
                    to_visit.push(to.clone());
                }
            }
        }
        reached
    }
}

impl Package {
    fn from_json(package: &Value, built_with: Vec<String>) -> Self {
        let manifest_path = PathBuf::from(text_of(&package["manifest_path"]));
        let folder = manifest_path.parent().expect("a manifest lies in a folder");
        let is_local = package["source"].is_null();
        let below_root = folder
            .strip_prefix(workspace_root())
            .ok()
            .filter(|_| is_local);
        Self {
            name: text_of(&package["name"]).to_owned(),
            version: text_of(&package["version"]).to_owned(),
            license: package["license"].as_str().map(str::to_owned),
            folder: below_root.map(|folder| folder.to_string_lossy().replace('\\', "/")),
            path_dependencies: list(&package["dependencies"])
                .filter(|dependency| dependency["path"].is_string())
                .map(|dependency| text_of(&dependency["name"]).to_owned())
                .collect(),
            built_with,
        }
    }
}

/// Dependencies of a node of the resolved graph, without those that only tests see.
fn built_with(node: &Value) -> Vec<String> {
    list(&node["deps"])
        .filter(|dep| list(&dep["dep_kinds"]).any(|kind| kind["kind"] != "dev"))
        .map(|dep| text_of(&dep["pkg"]).to_owned())
        .collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value
        .as_array()
        .expect("cargo metadata has a list here")
        .iter()
}

fn text_of(value: &Value) -> &str {
    value.as_str().expect("cargo metadata has a text here")
}

fn stdout_of(command: &mut Command) -> String {
    let output = command
        .output()
        .expect("the program of this toolchain runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {stderr}");
    String::from_utf8(output.stdout).expect("cargo and rustc print UTF-8")
}
