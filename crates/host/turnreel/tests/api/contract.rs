//! What tools of others say of the server. `schemathesis` asks each route for what its description allows and for what it
//! does not; a WebSocket library in Python, `websockets`, speaks with it as no client of ours does. They need Python and the
//! network: only with `TURNREEL_FULL=1`.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Server, chunks};

/// Tools from the Python package index, in a folder of their own.
struct Tools(tempfile::TempDir);

impl Tools {
    /// `None`, with a word, where they are not asked for.
    fn install(packages: &[&str]) -> Option<Tools> {
        if std::env::var_os("TURNREEL_FULL").is_none_or(|value| value != "1") {
            eprintln!("skipped: asks the Python package index (set TURNREEL_FULL=1)");
            return None;
        }
        let tools = Tools(tempfile::tempdir().unwrap());
        let venv = tools.0.path().join("venv");
        tools.run(
            Path::new("python3"),
            &["-m", "venv", &venv.to_string_lossy()],
        );
        tools.run_own("pip", &[&["install", "-q"], packages].concat());
        Some(tools)
    }

    fn run_own(&self, program: &str, args: &[&str]) {
        self.run(&self.0.path().join("venv/bin").join(program), args);
    }

    fn run(&self, program: &Path, args: &[&str]) {
        let status = Command::new(program)
            .args(args)
            // They keep what they find where they run.
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{} {args:?}", program.display());
    }
}

/// All but the two that hold what is taken and refused against the schemas alone: what a body must be says no schema where its
/// hash stands in the address, where the workers' reports have older names for their fields, and where an event of an unknown
/// type is kept as it is.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,unsupported_method,ignored_auth";

#[test]
fn each_route_answers_as_it_is_described() {
    let Some(tools) = Tools::install(&["schemathesis>=4,<5"]) else {
        return;
    };
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
        CHECKS,
        "--phases",
        "coverage,fuzzing,stateful",
        "-n",
        "100",
        "--request-timeout",
        "40",
    ];
    tools.run_own("schemathesis", &args);
}

#[test]
fn a_client_of_others_is_spoken_with_and_closed_as_the_rfc_says() {
    let Some(tools) = Tools::install(&["websockets>=13"]) else {
        return;
    };
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    server.post("s1", &chunks(1, 1));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/other_client.py");
    let args = [&*script.to_string_lossy(), &server.url, &server.token];
    tools.run_own("python", &args);
}
