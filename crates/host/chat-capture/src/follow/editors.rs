//! Where Cline, Roo Code and Kilo Code keep their tasks: with each editor that they are installed in, and in folders of their
//! own where they run without one.
//!
//! An extension's files are in `User/globalStorage/ID` of its editor's data folder. Roo Code and Kilo Code keep them elsewhere
//! where the editor's settings say so (`roo-cline.customStoragePath`). After the programs' sources (Cline 4.1,
//! Roo Code 3.52, Kilo Code of early 2026; VS Code's and code-server's own).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::agent::{Agent, Place};
use super::file::Followed;

/// What editors call their data folders.
const EDITORS: [&str; 6] = [
    "Code",
    "Code - Insiders",
    "Code - OSS",
    "VSCodium",
    "Cursor",
    "Windsurf",
];

/// Where they keep it on a machine that they are used on from elsewhere, below the home folder.
const SERVERS: [&str; 6] = [
    ".vscode-server/data",
    ".vscode-server-insiders/data",
    ".vscode-remote/data",
    ".vscodium-server/data",
    ".cursor-server/data",
    ".windsurf-server/data",
];

/// Where Flatpak puts it, below the home folder.
const FLATPAKS: [&str; 2] = [
    ".var/app/com.visualstudio.code/config/Code",
    ".var/app/com.vscodium.codium/config/VSCodium",
];

/// An editor's settings, in its data folder, as its user has them and as a machine has them that is used from elsewhere.
const SETTINGS: [&str; 2] = ["User/settings.json", "Machine/settings.json"];

/// The longest settings that are read.
const MOST_BYTES: u64 = 1024 * 1024;

/// The places of their tasks, by the environment and by what editors are told.
pub(super) fn task_places(env: &dyn Fn(&str) -> Option<OsString>) -> Vec<Place> {
    let folder = |name: &str| {
        let path = env(name).map(PathBuf::from);
        path.filter(|path| !path.as_os_str().is_empty())
    };
    let Some(home) = folder("HOME").or_else(|| folder("USERPROFILE")) else {
        return Vec::new();
    };
    let settings = match std::env::consts::OS {
        "macos" => home.join("Library/Application Support"),
        "windows" => folder("APPDATA").unwrap_or_else(|| home.join("AppData/Roaming")),
        _ => folder("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
    };
    let data = folder("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share"));
    let mut editors: Vec<PathBuf> = EDITORS.iter().map(|name| settings.join(name)).collect();
    editors.extend(FLATPAKS.iter().chain(&SERVERS).map(|it| home.join(it)));
    editors.push(data.join("code-server"));
    let own = folder("CLINE_DATA_DIR").unwrap_or_else(|| {
        let cline = folder("CLINE_DIR").unwrap_or_else(|| home.join(".cline"));
        cline.join("data")
    });
    let sessions = folder("CLINE_SESSION_DATA_DIR").unwrap_or_else(|| own.join("sessions"));
    let cline = [sessions, own.join("tasks")];
    let roo = [home.join(".vscode-mock/global-storage/tasks")];
    let kilo = [home.join(".kilocode/cli/global/tasks")];
    let told: Vec<String> = editors.iter().flat_map(|it| settings_of(it)).collect();
    let mut places = Vec::new();
    for (agent, extension, own, setting) in [
        (Agent::Cline, "saoudrizwan.claude-dev", &cline[..], None),
        (
            Agent::Roo,
            "rooveterinaryinc.roo-cline",
            &roo[..],
            Some("\"roo-cline.customStoragePath\""),
        ),
        (
            Agent::Kilo,
            "kilocode.kilo-code",
            &kilo[..],
            Some("\"kilo-code.customStoragePath\""),
        ),
    ] {
        let tasks = |editor: &PathBuf| tasks_of(editor, extension);
        let mut folders: Vec<PathBuf> = editors.iter().map(tasks).collect();
        folders.extend_from_slice(own);
        for folder in setting
            .into_iter()
            .flat_map(|it| told.iter().filter_map(|text| set_in(text, it)))
        {
            let folder = folder.join("tasks");
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        places.extend(
            folders
                .into_iter()
                .map(|folder| Place::of_files(agent, folder)),
        );
    }
    places
}

/// The settings that an editor has.
fn settings_of(editor: &Path) -> impl Iterator<Item = String> {
    let texts = SETTINGS.map(|name| {
        let mut bytes = Vec::new();
        // Many keep their settings elsewhere, and a link to them here.
        let path = editor.join(name).canonicalize().ok()?;
        let mut file = Followed::open(&path).ok()?;
        file.read(0, MOST_BYTES, &mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    });
    texts.into_iter().flatten()
}

/// The folder that a setting names, where it names one from the root on; the last counts. Settings are JSON with comments,
/// and may name a setting elsewhere, as in a list of those that are not synchronized.
fn set_in(settings: &str, name: &str) -> Option<PathBuf> {
    let (mut seen, mut in_comment, mut value) = (0, false, None);
    for (at, _) in settings.match_indices(name) {
        // What was looked through is not again: all may be on one line.
        let before = &settings[seen..at];
        let line = before.rsplit_once('\n').map(|(_, line)| line);
        if line.is_some() || seen == 0 {
            in_comment = line.unwrap_or(before).trim_start().starts_with("//");
        }
        seen = at + name.len();
        let set = settings[seen..].trim_start().strip_prefix(':');
        value = set.filter(|_| !in_comment).or(value);
    }
    let mut value = serde_json::Deserializer::from_str(value?).into_iter::<String>();
    let folder = PathBuf::from(value.next()?.ok()?);
    folder.is_absolute().then_some(folder)
}

fn tasks_of(editor: &Path, extension: &str) -> PathBuf {
    let storage = editor.join("User/globalStorage");
    storage.join(extension).join("tasks")
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]
mod tests {
    use super::*;

    fn folders(of: Agent, set: &[(&str, &str)]) -> Vec<String> {
        let env = |name: &str| {
            let found = set.iter().find(|(it, _)| *it == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let places = task_places(&env).into_iter();
        let here = places.filter(|place| place.agent == of);
        here.map(|place| place.folder.to_string_lossy().into_owned())
            .collect()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn each_editor_has_a_folder_for_each_extension() {
        let kilo = folders(Agent::Kilo, &[("HOME", "/h")]);
        for folder in [
            "/h/.config/Code/User/globalStorage/kilocode.kilo-code/tasks",
            "/h/.config/Code - Insiders/User/globalStorage/kilocode.kilo-code/tasks",
            "/h/.vscode-server/data/User/globalStorage/kilocode.kilo-code/tasks",
            "/h/.local/share/code-server/User/globalStorage/kilocode.kilo-code/tasks",
            "/h/.kilocode/cli/global/tasks",
        ] {
            assert!(kilo.contains(&folder.to_owned()), "{folder} of {kilo:#?}");
        }
        let moved = [
            ("HOME", "/h"),
            ("XDG_CONFIG_HOME", "/c"),
            ("XDG_DATA_HOME", "/d"),
        ];
        let roo = folders(Agent::Roo, &moved);
        for folder in [
            "/c/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
            "/d/code-server/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
        ] {
            assert!(roo.contains(&folder.to_owned()), "{folder} of {roo:#?}");
        }
        assert!(folders(Agent::Cline, &[]).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_the_editor_is_told_is_looked_at_too() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().to_str().unwrap();
        let user = dir.path().join(".vscode-server/data/Machine");
        std::fs::create_dir_all(&user).unwrap();
        for (settings, folder) in [
            (r#"{"roo-cline.customStoragePath": "/t"}"#, Some("/t/tasks")),
            (
                "{\n// Where:\n\"roo-cline.customStoragePath\" :\n \"/t/ü\",\n}",
                Some("/t/ü/tasks"),
            ),
            ("{\n  // \"roo-cline.customStoragePath\": \"/t\"\n}", None),
            (
                r#"{"roo-cline.customStoragePath":"/t","ignored":["roo-cline.customStoragePath"]}"#,
                Some("/t/tasks"),
            ),
            (r#"{"roo-cline.customStoragePath": ""}"#, None),
            (r#"{"roo-cline.customStoragePath": "t"}"#, None),
            (r#"{"roo-cline.customStoragePath": "/t"#, None),
            (r#"{"roo-cline.customStoragePath"#, None),
        ] {
            std::fs::write(user.join("settings.json"), settings).unwrap();
            let roo = folders(Agent::Roo, &[("HOME", home)]);
            let own = roo.iter().position(|it| it.contains(".vscode-mock"));
            let told = roo.get(own.unwrap() + 1).map(String::as_str);
            assert_eq!(told, folder, "{settings}");
            assert_eq!(
                folders(Agent::Kilo, &[("HOME", home)]).len(),
                own.unwrap() + 1
            );
        }
        let elsewhere = dir.path().join("dotfiles.json");
        std::fs::write(&elsewhere, r#"{"roo-cline.customStoragePath": "/l"}"#).unwrap();
        std::fs::remove_file(user.join("settings.json")).unwrap();
        std::os::unix::fs::symlink(&elsewhere, user.join("settings.json")).unwrap();
        let roo = folders(Agent::Roo, &[("HOME", home)]);
        assert_eq!(roo.last().map(String::as_str), Some("/l/tasks"));
        // Hostile: more of it than could be gone through again and again.
        let many = r#""roo-cline.customStoragePath":"/m","#.repeat(25_000);
        std::fs::write(&elsewhere, format!("{{{many}}}")).unwrap();
        let roo = folders(Agent::Roo, &[("HOME", home)]);
        assert_eq!(roo.last().map(String::as_str), Some("/m/tasks"));
    }

    #[test]
    fn what_cline_is_told_of_its_own_folder_counts() {
        let own = |set: &[(&str, &str)]| {
            let all = folders(Agent::Cline, set);
            all[all.len() - 2..].to_vec()
        };
        assert_eq!(
            own(&[("HOME", "/h")]),
            ["/h/.cline/data/sessions", "/h/.cline/data/tasks"]
        );
        assert_eq!(
            own(&[("HOME", "/h"), ("CLINE_DIR", "/c")]),
            ["/c/data/sessions", "/c/data/tasks"]
        );
        let both = [
            ("HOME", "/h"),
            ("CLINE_DATA_DIR", "/d"),
            ("CLINE_SESSION_DATA_DIR", "/s"),
        ];
        assert_eq!(own(&both), ["/s", "/d/tasks"]);
    }
}
