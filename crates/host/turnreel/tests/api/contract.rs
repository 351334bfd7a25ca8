//! What tools of others say of the server. `schemathesis` asks each route for what its description allows and for what it
//! does not; a WebSocket library in Python, `websockets`, speaks with it as no client of ours does. They need Python and the
//! network: only with `TURNREEL_FULL=1`.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Server, chunks, token_command};

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

/// Whether the value is what the schema says of types, fields and choices.
fn fits(schema: &Value, value: &Value, all: &Value) -> bool {
    if let Some(name) = schema["$ref"].as_str() {
        return fits(&all[name.rsplit('/').next().unwrap()], value, all);
    }
    let is_type = |word: &str| match word {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => value.is_null(),
    };
    let types = match &schema["type"] {
        Value::String(word) => is_type(word),
        Value::Array(words) => words.iter().any(|word| is_type(word.as_str().unwrap())),
        _ => true,
    };
    let choices = schema["enum"].as_array();
    let required = schema["required"].as_array().into_iter().flatten();
    let fields = schema["properties"].as_object().into_iter().flatten();
    let mut items = value.as_array().into_iter().flatten();
    types
        && choices.is_none_or(|choices| choices.contains(value))
        && required
            .into_iter()
            .all(|name| value.get(name.as_str().unwrap()).is_some())
        && fields
            .into_iter()
            .all(|(name, schema)| value.get(name).is_none_or(|value| fits(schema, value, all)))
        && items.all(|item| fits(&schema["items"], item, all))
}

/// The description is a promise to programs that are made of it: each status that is told apart is one that it names, with
/// the type and the body that it says.
#[test]
fn what_is_answered_is_what_the_description_names() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 5));
    let edit = json!([{"id": "f1", "timestamp": 1, "type": "file_edit", "payload": {
        "filePath": "a", "changeType": "modified", "diffPreview": "x", "fullDiffAvailable": true,
        "fullDiffSize": 1, "fullDiff": "x"}}]);
    assert_eq!(server.post("s1", &edit).0, 200);
    let description = server.get("/api/v1/openapi.json").1;
    let schemas = &description["components"]["schemas"];
    let json_body = "Content-Type: application/json\r\n";
    let events = "/api/v1/sessions/{session}/events";
    let full = "/api/v1/sessions/{session}/events/{event}/full";
    let diff = "/api/v1/sessions/{session}/file-diffs/{event}";
    let shares = "/api/v1/sessions/{session}/shares";
    let socket = "/api/v1/ws";
    let outside = "Range: bytes=999999-\r\n";
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let old = format!("{upgrade}Sec-WebSocket-Version: 8\r\n");
    let cases: &[(&str, &str, &str, &str, &str, u16)] = &[
        ("get", events, "?limit=2", "", "", 200),
        (
            "get",
            events,
            "?after=v1.AAAAAAAAAAAAAAAAAAAAAA.1",
            "",
            "",
            410,
        ),
        ("get", events, "?after=99", "", "", 410),
        ("get", events, "?after=x", "", "", 400),
        ("post", events, "", json_body, "[]", 200),
        ("post", events, "", json_body, "{", 400),
        ("post", events, "", "", "[]", 415),
        ("get", full, "", "Range: bytes=0-1\r\n", "", 206),
        ("get", full, "", outside, "", 416),
        ("get", full, "", "If-None-Match: *\r\n", "", 304),
        ("get", diff, "", "", "", 200),
        ("get", diff, "", outside, "", 416),
        (
            "get",
            "/api/v1/sessions/{session}/summary",
            "",
            "If-None-Match: *\r\n",
            "",
            304,
        ),
        (
            "get",
            "/api/v1/sessions/{session}/search",
            "?q=e&after=99",
            "",
            "",
            410,
        ),
        ("get", socket, "", &old, "", 426),
        ("get", "/api/v1/sessions", "?limit=1", "", "", 200),
        ("get", "/readyz", "", "", "", 200),
        ("get", "/healthz", "", "", "", 200),
        (
            "post",
            shares,
            "",
            json_body,
            "{\"expiresInSeconds\": 0}",
            400,
        ),
        ("post", shares, "", json_body, "{}", 201),
        ("delete", shares, "", "", "", 200),
        ("delete", shares, "?id=nothing", "", "", 404),
        ("get", "/api/v1/tools", "", "", "", 404),
    ];
    let check = |case: &(&str, &str, &str, &str, &str, u16), token: Option<&str>| {
        let (method, path, query, more, body, expected) = *case;
        let event = if path == diff { "f1" } else { "e1" };
        let asked = path.replace("{session}", "s1").replace("{event}", event) + query;
        let length = match method {
            "get" => String::new(),
            _ => format!("Content-Length: {}\r\n", body.len()),
        };
        let more = format!("{more}{length}");
        let (status, head, text) =
            server.exchange(&method.to_uppercase(), &asked, token, &more, body);
        let what = format!("{method} {asked}: {status}\n{head}\n{text}");
        assert_eq!(status, expected, "{what}");
        let responses = &description["paths"][path][method]["responses"];
        let named = match responses.get(status.to_string()) {
            Some(named) => named,
            // Those that any route may be refused by.
            None => {
                assert!([400, 404, 405, 415, 421].contains(&status), "{what}");
                &responses["default"]
            }
        };
        let media = head
            .lines()
            .find_map(|line| line.strip_prefix("content-type: "));
        let media = media.map(|media| media.split(';').next().unwrap());
        let Some(content) = named["content"].as_object() else {
            assert_eq!(text, "", "{what}");
            return;
        };
        let media = media.unwrap_or_else(|| panic!("no type: {what}"));
        let schema = content.get(media).unwrap_or_else(|| panic!("{what}"));
        if media == "application/json" && status != 206 {
            let value: Value = serde_json::from_str(&text).expect(&what);
            assert!(fits(&schema["schema"], &value, schemas), "{what}");
        }
    };
    for case in cases {
        check(case, Some(&server.token));
    }
    check(&("get", events, "", "", "", 401), None);
    // Tokens that cannot be read, and what is asked with one that may be among them.
    std::fs::write(dir.path().join("tokens.json"), "[").unwrap();
    check(&("get", events, "", "", "", 503), Some("some-other-token"));
    check(&("get", "/readyz", "", "", "", 503), None);
    check(
        &("post", shares, "", json_body, "{}", 503),
        Some(&server.token),
    );
    std::fs::remove_file(dir.path().join("tokens.json")).unwrap();
    check(&("get", "/readyz", "", "", "", 200), None);
    let made = token_command(dir.path(), "create", &["--scope", "ingest"]);
    let made = String::from_utf8(made.stdout).unwrap();
    check(&("get", events, "", "", "", 403), Some(made.trim()));
}

#[test]
fn a_method_that_a_path_has_not_is_told_with_those_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    for (method, path, allowed) in [
        ("DELETE", "/api/v1/sessions", "GET, HEAD, OPTIONS"),
        ("PUT", "/api/v1/sessions/s1/shares", "POST, DELETE, OPTIONS"),
        ("GET", "/api/v1/sessions/s1/shares", "POST, DELETE, OPTIONS"),
        (
            "TRACE",
            "/api/v1/sessions/s1/events",
            "GET, POST, HEAD, OPTIONS",
        ),
        ("PUT", "/healthz", "GET, HEAD"),
        ("PUT", "/api/v1/unknown", "GET, HEAD"),
    ] {
        let token = Some(server.token.as_str());
        let (status, head, text) =
            server.exchange(method, path, token, "Content-Length: 0\r\n", "");
        assert_eq!(status, 405, "{method} {path}");
        let expected = format!("allow: {allowed}");
        assert!(
            head.lines().any(|line| line == expected),
            "{method} {path}: {head}"
        );
        assert!(text.contains("bad_method"), "{text}");
    }
}
