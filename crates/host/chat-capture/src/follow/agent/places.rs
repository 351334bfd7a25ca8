//! Where agents keep their sessions: their own settings count, else their home folders.
//!
//! Seen: Claude Code 1.0 to 2.1.330, Codex 0.77 to 0.169, Gemini CLI 0.61, Pi; `formats.md` 2, 4.3, 5.5 and 10.2; Qwen Code
//! 0.24, with its source since 0.5. Kilo Code 7.7.9, Grok Build 0.2.111, Kimi Code 2.1, Mistral Vibe 3.0.2, Copilot CLI 1.0.102,
//! OpenHands 1.16. Droid's folder is after public readers of it, of 2025 and 2026, Goose's
//! after its source. Those of Cline and its kin are in `editors`.

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
    /// What they lie in.
    pub holds: Holds,
}

/// What sessions lie in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Files.
    Files,
    /// Databases that are called as the agent calls them.
    Databases,
    /// The one database of this name, which somebody told the agent.
    Database(OsString),
}

impl Place {
    /// A folder of files.
    pub fn of_files(agent: Agent, folder: PathBuf) -> Place {
        Place {
            agent,
            folder,
            holds: Holds::Files,
        }
    }

    /// A folder of databases.
    pub fn of_databases(agent: Agent, folder: PathBuf) -> Place {
        Place {
            holds: Holds::Databases,
            ..Place::of_files(agent, folder)
        }
    }

    /// OpenCode's folder, or Kilo Code's, where `named` is what its setting says of the database: a path, or a name in that
    /// folder.
    fn of_opencode(agent: Agent, folder: PathBuf, named: Option<PathBuf>) -> Place {
        let path = named.map(|named| folder.join(named));
        let told = path.as_deref().and_then(|path| {
            let name = path.file_name()?.to_owned();
            // It keeps nothing then.
            let is_kept = name != ":memory:";
            Some((path.parent()?.to_owned(), name)).filter(|_| is_kept)
        });
        match told {
            Some((folder, name)) => Place {
                agent,
                folder,
                holds: Holds::Database(name),
            },
            None => Place::of_databases(agent, folder),
        }
    }
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
    // It may begin with `~`. One that is relative is so to wherever Pi works, of which nothing is known here.
    let pi =
        folder("PI_CODING_AGENT_SESSION_DIR").and_then(|named| match named.strip_prefix("~") {
            Ok(rest) => home.as_ref().map(|home| home.join(rest)),
            Err(_) => Some(named),
        });
    let pi = pi.filter(|folder| folder.is_absolute());
    let files = |agent: Agent, folder: Option<PathBuf>| Some(Place::of_files(agent, folder?));
    let databases =
        |agent: Agent, folder: Option<PathBuf>| Some(Place::of_databases(agent, folder?));
    let of_opencode = |agent: Agent, name: &str, setting: &str| {
        let folder_of_it = data.as_ref()?.join(name);
        Some(Place::of_opencode(agent, folder_of_it, folder(setting)))
    };
    let below = |setting: &str, otherwise: &str, name: &str| {
        let root = folder(setting).or_else(|| at_home(otherwise));
        root.map(|root| root.join(name))
    };
    let home_in = |setting: &str, name: &str| {
        let home = folder(setting).or_else(|| home.clone());
        home.map(|home| home.join(name))
    };
    let openhands = folder("OPENHANDS_CONVERSATIONS_DIR")
        .or_else(|| below("OPENHANDS_PERSISTENCE_DIR", ".openhands", "conversations"));
    let all = [
        files(
            Agent::Claude,
            below("CLAUDE_CONFIG_DIR", ".claude", "projects"),
        ),
        files(Agent::Codex, below("CODEX_HOME", ".codex", "sessions")),
        of_opencode(Agent::OpenCode, "opencode", "OPENCODE_DB"),
        files(Agent::Gemini, home_in("GEMINI_CLI_HOME", ".gemini/tmp")),
        files(
            Agent::Pi,
            pi.or_else(|| below("PI_CODING_AGENT_DIR", ".pi/agent", "sessions")),
        ),
        files(Agent::Qwen, qwen.as_ref().map(|qwen| qwen.join("projects"))),
        // Where it kept them at first.
        files(Agent::Qwen, qwen.as_ref().map(|qwen| qwen.join("tmp"))),
        files(
            Agent::Droid,
            home_in("FACTORY_HOME_OVERRIDE", ".factory/sessions"),
        ),
        files(Agent::Grok, below("GROK_HOME", ".grok", "sessions")),
        files(
            Agent::Kimi,
            below("KIMI_CODE_HOME", ".kimi-code", "sessions"),
        ),
        // A folder for each, which is looked at as a database.
        databases(
            Agent::Vibe,
            below("VIBE_HOME", ".vibe", "logs/session/unified"),
        ),
        files(
            Agent::Copilot,
            below("COPILOT_HOME", ".copilot", "session-state"),
        ),
        // A folder for each, too.
        databases(Agent::OpenHands, openhands),
        // Its list of projects, in whose folders its databases are.
        databases(Agent::Crush, crush),
        databases(Agent::Goose, goose.map(|goose| goose.join("sessions"))),
    ];
    // Those of one agent stand together.
    let tasks = task_places(env).into_iter();
    let (of_kilo, tasks): (Vec<_>, Vec<_>) = tasks.partition(|place| place.agent == Agent::Kilo);
    let kilo = of_opencode(Agent::Kilo, "kilo", "KILO_DB");
    let all = all.into_iter().flatten();
    all.chain(tasks).chain(kilo).chain(of_kilo).collect()
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
        places.retain(|place| !place.agent.keeps_lists() || place.holds != Holds::Files);
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
                "/h/.grok/sessions",
                "/h/.kimi-code/sessions",
                "/h/.vibe/logs/session/unified",
                "/h/.copilot/session-state",
                "/h/.openhands/conversations",
                "/d/crush",
                "/d/goose/sessions",
                "/d/kilo"
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
            moved(&["XDG_DATA_HOME"]),
            [
                "/XDG_DATA_HOME/opencode",
                "/XDG_DATA_HOME/crush",
                "/XDG_DATA_HOME/goose/sessions",
                "/XDG_DATA_HOME/kilo"
            ]
        );
        assert_eq!(
            moved(&["GROK_HOME", "KIMI_CODE_HOME"]),
            ["/GROK_HOME/sessions", "/KIMI_CODE_HOME/sessions"]
        );
        assert_eq!(moved(&["COPILOT_HOME"]), ["/COPILOT_HOME/session-state"]);
        assert_eq!(
            moved(&["OPENHANDS_PERSISTENCE_DIR"]),
            ["/OPENHANDS_PERSISTENCE_DIR/conversations"]
        );
        assert_eq!(
            moved(&["OPENHANDS_PERSISTENCE_DIR", "OPENHANDS_CONVERSATIONS_DIR"]),
            ["/OPENHANDS_CONVERSATIONS_DIR"]
        );
        assert_eq!(moved(&["VIBE_HOME"]), ["/VIBE_HOME/logs/session/unified"]);
        assert_eq!(
            moved(&["PI_CODING_AGENT_DIR"]),
            ["/PI_CODING_AGENT_DIR/sessions"]
        );
        assert_eq!(
            moved(&["PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"]),
            ["/PI_CODING_AGENT_SESSION_DIR"]
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

    #[test]
    fn where_pi_is_told_to_keep_its_sessions_may_be_named_from_the_home_folder() {
        let told = |named: &str| {
            let env = |name: &str| match name {
                "HOME" => Some("/h".into()),
                "PI_CODING_AGENT_SESSION_DIR" => Some(named.into()),
                _ => None,
            };
            let place = places(&env).into_iter().find(|it| it.agent == Agent::Pi);
            place.unwrap().folder.display().to_string()
        };
        for (named, folder) in [
            ("/s", "/s"),
            ("~/s", "/h/s"),
            ("s", "/h/.pi/agent/sessions"),
            ("", "/h/.pi/agent/sessions"),
        ] {
            assert_eq!(told(named), folder, "{named}");
        }
    }

    #[test]
    fn a_database_that_opencode_or_kilo_is_told_is_the_one_that_counts() {
        let told = |agent: Agent, named: &str| {
            let env = |name: &str| match name {
                "HOME" => Some("/h".into()),
                "OPENCODE_DB" | "KILO_DB" => Some(named.into()),
                _ => None,
            };
            let of_it = |place: &Place| place.agent == agent && place.holds != Holds::Files;
            let mut here = places(&env).into_iter().filter(of_it);
            let place = here.next().unwrap();
            assert_eq!(here.next(), None, "{named}");
            let name = match place.holds {
                Holds::Database(name) => name.into_string().unwrap(),
                _ => "by its own name".to_owned(),
            };
            format!("{name} in {}", place.folder.display())
        };
        let own = "by its own name in /h/.local/share/opencode";
        for (named, place) in [
            ("", own),
            (":memory:", own),
            ("work.db", "work.db in /h/.local/share/opencode"),
            ("/d/all.db", "all.db in /d"),
            // No file has such a name.
            ("/", own),
        ] {
            assert_eq!(told(Agent::OpenCode, named), place);
        }
        assert_eq!(
            told(Agent::Kilo, "a/k.db"),
            "k.db in /h/.local/share/kilo/a"
        );
    }
}
