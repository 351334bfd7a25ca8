//! Where agents keep their sessions: their own settings count, else their home folders.
//!
//! Seen: Claude Code 1.0 to 2.1.330, Codex 0.77 to 0.169, Gemini CLI 0.61, Pi; `formats.md` 2, 4.3, 5.5 and 10.2; Qwen Code
//! 0.24, with its source since 0.5. Droid's folder is after public readers of it, of 2025 and 2026, Goose's after its source.
//! Those of Cline and its kin are in `editors`.

use std::ffi::OsString;
use std::path::PathBuf;

use super::super::editors::task_places;
use super::Agent;

/// A folder in which an agent keeps its sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whose it is.
    pub agent: Agent,
    /// Where it is, whether it is there or not.
    pub folder: PathBuf,
}

/// The folders of all agents, by the environment.
///
/// ```
/// use chat_capture::{Agent, places};
/// let env = |name: &str| (name == "HOME").then(|| "/home/me".into());
/// let places = places(&env);
/// assert_eq!(places[0].agent, Agent::Claude);
/// assert_eq!(places[0].folder.to_str(), Some("/home/me/.claude/projects"));
/// ```
pub fn places(env: &dyn Fn(&str) -> Option<OsString>) -> Vec<Place> {
    let folder = |name: &str| {
        let path = env(name).map(PathBuf::from);
        path.filter(|path| !path.as_os_str().is_empty())
    };
    let home = folder("HOME").or_else(|| folder("USERPROFILE"));
    let at_home = |path: &str| home.as_ref().map(|home| home.join(path));
    // OpenCode keeps to XDG on every system.
    let data = folder("XDG_DATA_HOME").or_else(|| at_home(".local/share"));
    let qwen = folder("QWEN_RUNTIME_DIR")
        .or_else(|| folder("QWEN_HOME"))
        .or_else(|| at_home(".qwen"));
    // It is Block's on Windows alone; a root that is not absolute counts for nothing.
    let goose_at_home = || match cfg!(windows) {
        true => folder("APPDATA").map(|data| data.join("Block/goose/data")),
        false => data.as_ref().map(|data| data.join("goose")),
    };
    let goose = folder("GOOSE_PATH_ROOT").filter(|root| root.is_absolute());
    let goose = goose.map_or_else(goose_at_home, |root| Some(root.join("data")));
    let local = || folder("LOCALAPPDATA").filter(|_| cfg!(windows));
    let crush = folder("XDG_DATA_HOME")
        .or_else(local)
        .or_else(|| at_home(".local/share"));
    let crush = folder("CRUSH_GLOBAL_DATA").or_else(|| crush.map(|data| data.join("crush")));
    let all = [
        (
            Agent::Claude,
            folder("CLAUDE_CONFIG_DIR")
                .or_else(|| at_home(".claude"))
                .map(|claude| claude.join("projects")),
        ),
        (
            Agent::Codex,
            folder("CODEX_HOME")
                .or_else(|| at_home(".codex"))
                .map(|codex| codex.join("sessions")),
        ),
        (
            Agent::OpenCode,
            data.as_ref().map(|data| data.join("opencode")),
        ),
        (
            Agent::Gemini,
            folder("GEMINI_CLI_HOME")
                .or_else(|| home.clone())
                .map(|home| home.join(".gemini/tmp")),
        ),
        (
            Agent::Pi,
            folder("PI_CODING_AGENT_DIR")
                .or_else(|| at_home(".pi/agent"))
                .map(|pi| pi.join("sessions")),
        ),
        (Agent::Qwen, qwen.as_ref().map(|qwen| qwen.join("projects"))),
        // Where it kept them at first.
        (Agent::Qwen, qwen.as_ref().map(|qwen| qwen.join("tmp"))),
        (
            Agent::Droid,
            folder("FACTORY_HOME_OVERRIDE")
                .or_else(|| home.clone())
                .map(|home| home.join(".factory/sessions")),
        ),
        // Its list of projects, in whose folders its databases are.
        (Agent::Crush, crush),
        (Agent::Goose, goose.map(|goose| goose.join("sessions"))),
    ];
    let there = all.into_iter();
    let tasks = task_places(env);
    there
        .filter_map(|(agent, folder)| {
            Some(Place {
                agent,
                folder: folder?,
            })
        })
        .chain(tasks)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_is_told_of_its_folder_counts() {
        let env = |name: &str| match name {
            "HOME" => Some("/h".into()),
            "CLAUDE_CONFIG_DIR" => Some("/c".into()),
            "CODEX_HOME" => Some("".into()),
            "XDG_DATA_HOME" => Some("/d".into()),
            _ => None,
        };
        let mut places = places(&env);
        places.retain(|place| !place.agent.keeps_lists());
        let folders: Vec<_> = places.iter().filter_map(|it| it.folder.to_str()).collect();
        assert_eq!(
            folders,
            [
                "/c/projects",
                "/h/.codex/sessions",
                "/d/opencode",
                "/h/.gemini/tmp",
                "/h/.pi/agent/sessions",
                "/h/.qwen/projects",
                "/h/.qwen/tmp",
                "/h/.factory/sessions",
                "/d/crush",
                "/d/goose/sessions"
            ]
        );
        // These name the home folder, in which the agent's own is.
        let moved = |set: &'static [&'static str]| {
            let env = |name: &str| set.contains(&name).then(|| format!("/{name}").into());
            let mut moved = super::places(&env);
            moved.retain(|it| {
                set.iter()
                    .any(|name| it.folder.starts_with(format!("/{name}")))
            });
            let folders = moved.iter().filter_map(|it| it.folder.to_str());
            folders.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(
            moved(&["GEMINI_CLI_HOME", "QWEN_HOME", "FACTORY_HOME_OVERRIDE"]),
            [
                "/GEMINI_CLI_HOME/.gemini/tmp",
                "/QWEN_HOME/projects",
                "/QWEN_HOME/tmp",
                "/FACTORY_HOME_OVERRIDE/.factory/sessions"
            ]
        );
        assert_eq!(
            moved(&["GOOSE_PATH_ROOT"]),
            ["/GOOSE_PATH_ROOT/data/sessions"]
        );
        assert_eq!(
            moved(&["QWEN_HOME", "QWEN_RUNTIME_DIR"]),
            ["/QWEN_RUNTIME_DIR/projects", "/QWEN_RUNTIME_DIR/tmp"]
        );
    }
}
