//! Settings: options before the environment, the environment before the file, the file before what is built in.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::support::{self, PROGRAM, command};
use serde_json::json;

fn config(data: &Path, env: &[(&str, &str)], args: &[&str]) -> Output {
    Command::new(PROGRAM)
        .arg("config")
        .args(args)
        .env("TURNREEL_DATA", data)
        .envs(env.iter().copied())
        .output()
        .unwrap()
}

fn told(data: &Path, env: &[(&str, &str)], args: &[&str]) -> String {
    let output = config(data, env, args);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn options_come_before_the_environment_and_that_before_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = "rate = 1\nburst = 2\nsandbox_rate = 3\nhost = [\"a.example\", \"b.example\"]\ngzip-bodies = true\nsync = \"always\"\n";
    std::fs::write(dir.path().join("turnreel.toml"), file).unwrap();
    let env = [("TURNREEL_BURST", "20"), ("TURNREEL_SANDBOX_RATE", "30")];
    let text = told(dir.path(), &env, &["--sandbox-rate", "300"]);
    for line in [
        "rate = 1  # file",
        "burst = 20  # environment",
        "sandbox-rate = 300  # option",
        "sandbox-chunk-rate = 3000  # default",
        "host = [\"a.example\", \"b.example\"]  # file",
        "connections-per-address = 1024  # default",
        "embed-origin = []  # default",
        "gzip-bodies = true  # file",
        "sync = \"always\"  # file",
        "log-format = \"text\"  # default",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}\n{text}");
    }
    // A list that is given is the list.
    let text = told(dir.path(), &[], &["--host", "c.example"]);
    assert!(text.contains("host = [\"c.example\"]  # option"), "{text}");
    let env = [("TURNREEL_HOST", "d.example,e.example")];
    let text = told(dir.path(), &env, &[]);
    let expected = "host = [\"d.example\", \"e.example\"]  # environment";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_value_that_cannot_be_is_told_by_where_it_is_from() {
    let dir = tempfile::tempdir().unwrap();
    let env = [("TURNREEL_RATE", "abc")];
    let said = |args: &[&str]| {
        let output = config(dir.path(), &env, args);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let of_variable = said(&[]);
    assert!(of_variable.contains("TURNREEL_RATE"), "{of_variable}");
    assert!(!of_variable.contains("'--rate"), "{of_variable}");
    let of_option = said(&["--rate", "def"]);
    assert!(of_option.contains("'def' for '--rate"), "{of_option}");
}

#[test]
fn what_is_told_is_a_file_that_says_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["--rate", "7", "--host", "a.example", "--log", "debug"];
    let text = told(dir.path(), &[], &args);
    let other = tempfile::tempdir().unwrap();
    let path = other.path().join("copied.toml");
    std::fs::write(&path, &text).unwrap();
    let again = told(dir.path(), &[], &["--config", path.to_str().unwrap()]);
    let settings = |text: &str| -> Vec<String> {
        let bare = |line: &str| line.split("  # ").next().unwrap().to_owned();
        let settings = text.lines().filter(|line| !line.starts_with('#'));
        settings.map(bare).collect()
    };
    assert_eq!(settings(&again), settings(&text));
    assert!(again.contains("rate = 7  # file"), "{again}");
}

#[test]
fn this_machine_has_a_name() {
    let dir = tempfile::tempdir().unwrap();
    let text = told(dir.path(), &[], &["--listen", "localhost:7480"]);
    // As it is given, so that a file says the same.
    let expected = "listen = \"localhost:7480\"  # option";
    assert!(text.contains(expected), "{text}");
    let output = config(dir.path(), &[], &["--listen", "7480"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("such as 127.0.0.1:7473"), "{said}");
}

#[test]
fn its_help_offers_nothing_that_is_for_one_start() {
    let dir = tempfile::tempdir().unwrap();
    let help = told(dir.path(), &[], &["--help"]);
    assert!(
        help.contains("--listen") && !help.contains("--ready-json"),
        "{help}"
    );
}

#[test]
fn a_file_that_says_what_is_no_option_stops_the_start() {
    let dir = tempfile::tempdir().unwrap();
    for (file, why) in [
        ("rates = 1\n", "`rates` is no option"),
        ("rate = \"many\"\n", "invalid value 'many'"),
        ("rate = [1]\n", "`rate`: expected a text or a whole number"),
        ("gzip-bodies = 2\n", "`gzip-bodies`: expected true or false"),
        ("mask = \"maybe\"\n", "`mask`: expected true or false"),
        (
            "hots = \"a.example\"\n",
            "`hots` is no option of `turnreel serve`; a similar one is `host`",
        ),
        (
            "[serve]\nrate = 1\n",
            "`[serve]` is no option: all of them stand at the top",
        ),
        (
            "ready-json = true\n",
            "`ready-json` is for the command line alone",
        ),
        (
            "config = \"/elsewhere\"\n",
            "`config` is for the command line alone",
        ),
        // It lies in the folder that it would name.
        (
            "data = \"/elsewhere\"\n",
            "`data` cannot stand in the data folder itself",
        ),
        // What another command asks who types it.
        ("yes = true\n", "`yes` is for the command line alone"),
        ("force = true\n", "`force` is for the command line alone"),
        ("all = true\n", "`all` is for the command line alone"),
        ("rate = \n", "could not read"),
    ] {
        std::fs::write(dir.path().join("turnreel.toml"), file).unwrap();
        let output = config(dir.path(), &[], &[]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{file}: {said}");
        assert!(said.contains(why), "{file}: {said}");
        assert!(said.contains("turnreel.toml"), "{file}: {said}");
        assert!(!said.contains("Usage"), "{file}: {said}");
    }
    let output = config(dir.path(), &[], &["--config", "/nowhere/at/all.toml"]);
    assert_eq!(output.status.code(), Some(2));
}

/// A word that is neither yes nor no is not taken for one of them.
#[test]
fn a_switch_of_the_environment_that_says_neither_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for name in [
        "TURNREEL_MASK",
        "TURNREEL_NO_EXAMPLES",
        "TURNREEL_GZIP_BODIES",
    ] {
        let output = config(dir.path(), &[(name, "maybe")], &[]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("'maybe'") && said.contains(name), "{said}");
    }
}

#[test]
fn a_switch_may_stand_in_the_environment_as_people_write_them() {
    for (value, is_on) in [
        ("1", true),
        ("true", true),
        ("yes", true),
        ("0", false),
        ("false", false),
        ("", false),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let output = config(dir.path(), &[("TURNREEL_NO_EXAMPLES", value)], &[]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{value}: {output:?}");
        let expected = format!("no-examples = {is_on}");
        assert!(said.contains(&expected), "{value}: {said}");
        // The file takes the same words.
        let in_file = format!("no-examples = \"{value}\"\n");
        std::fs::write(dir.path().join("turnreel.toml"), in_file).unwrap();
        if !value.is_empty() {
            let text = told(dir.path(), &[], &[]);
            assert!(text.contains(&format!("{expected}  # file")), "{text}");
        }
    }
}

/// Composed files name variables that nobody filled in.
#[test]
fn a_variable_that_is_empty_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let help = told(dir.path(), &[], &["--help"]);
    let named = help.split("[env: ").skip(1);
    let names: Vec<&str> = named
        .map(|rest| rest.split(['=', ']']).next().unwrap())
        .collect();
    assert!(
        names.len() > 20 && names.contains(&"TURNREEL_S3"),
        "{names:?}"
    );
    let run = |args: &[&str], names: &[&str], stdin: &str| {
        let child = Command::new(PROGRAM)
            .args(args)
            // What is in no named folder is here.
            .env("HOME", dir.path())
            .env("XDG_DATA_HOME", dir.path())
            .env("TURNREEL_DATA", dir.path())
            .envs(names.iter().map(|name| (name, "")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = command::finish(child, stdin.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{names:?}: {output:?}");
        command::text(&output.stdout)
    };
    for name in &names {
        run(&["config"], &[name], "");
    }
    let names = [&names[..], &["TURNREEL_ENDPOINT", "TURNREEL_TOKEN"]].concat();
    let said = run(&["config"], &names, "");
    assert!(!said.contains("# environment"), "{said}");
    assert_eq!(run(&["token", "list"], &names, ""), "");
    let event =
        json!({"id": "a", "timestamp": 1, "sessionId": "s1", "type": "turn_end", "payload": {}});
    let event = format!("{event}\n");
    assert_eq!(run(&["pipe", "--wait", "0"], &names, &event), event);
}

#[test]
fn the_server_goes_by_the_file() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("turnreel.toml"),
        "burst = 3\nno-examples = true\n",
    )
    .unwrap();
    let more = ["--rate", "1"];
    let server = support::Server::start_on(dir.path(), "127.0.0.1:0", &more);
    assert_eq!(server.post("s1", &support::chunks(1, 3)).0, 200);
    assert_eq!(server.post("s1", &support::chunks(4, 6)).0, 429);
    let (_, list) = server.get("/api/v1/sessions");
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
}

#[test]
fn names_and_addresses_that_cannot_be_are_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    for (option, value) in [
        ("--host", "feed.example:65536"),
        ("--host", "feed.example:0"),
        ("--host", "feed.example:"),
        ("--host", "2001:db8::7"),
        ("--host", "[feed.example]"),
        ("--host", "https://feed.example"),
        ("--host", "."),
        ("--public-url", "feed.example"),
        ("--public-url", "ftp://feed.example"),
        ("--public-url", "https://feed.example?x"),
        ("--public-url", "https:///path"),
        ("--public-url", "https://feed.example:65536/"),
    ] {
        let output = config(dir.path(), &[], &[option, value]);
        assert_eq!(output.status.code(), Some(2), "{option} {value}");
    }
    let text = told(dir.path(), &[], &["--public-url", "HTTPS://x.example/a"]);
    let expected = "public-url = \"HTTPS://x.example/a\"  # option";
    assert!(text.contains(expected), "{text}");
}
