//! What the server says of its routes against what it does: `schemathesis`, a tool of its own, asks each route for what its
//! description allows and for what it does not. Needs Python and the network: only with `TURNREEL_FULL=1`.

mod support;

use std::process::{Command, Stdio};

use support::{Server, chunks};

#[test]
fn each_route_answers_as_it_is_described() {
    if std::env::var_os("TURNREEL_FULL").is_none_or(|value| value != "1") {
        eprintln!("skipped: asks the Python package index (set TURNREEL_FULL=1)");
        return;
    }
    let tools = tempfile::tempdir().unwrap();
    let run = |program: &str, args: &[&str]| {
        let status = Command::new(program)
            .args(args)
            // It keeps what it found where it runs.
            .current_dir(tools.path())
            .stdin(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{program} {args:?}");
    };
    let venv = tools.path().join("venv");
    run("python3", &["-m", "venv", venv.to_str().unwrap()]);
    let program = |name: &str| venv.join("bin").join(name).to_string_lossy().into_owned();
    run(&program("pip"), &["install", "-q", "schemathesis>=4,<5"]);
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    server.post("s1", &chunks(1, 5));
    let token = format!("Authorization: Bearer {}", server.token);
    let description = format!("{}/api/v1/openapi.json", server.url);
    let args = [
        "run",
        &description,
        "-H",
        &token,
        // They answer for as long as the reader stays.
        "--exclude-path-regex",
        "/(ws|sse|opencode/event)$",
        "--checks",
        "not_a_server_error,response_schema_conformance",
        "--phases",
        "coverage,fuzzing",
        "-n",
        "30",
        "--request-timeout",
        "20",
    ];
    run(&program("schemathesis"), &args);
}
