//! Who may ask: tokens, hosts, origins, and limits, on every route.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::support::inside::Inside;
use crate::support::{self, Server, chunks, make_token};
use serde_json::Value;

/// A request's head, part by part.
pub(super) struct Head<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) host: Option<&'a str>,
    pub(super) origin: Option<&'a str>,
    pub(super) token: Option<&'a str>,
    pub(super) more: &'a str,
    pub(super) body: &'a str,
}

impl Head<'_> {
    pub(super) fn send(&self, server: &Server) -> (u16, String) {
        let port = server.port().to_string();
        let other_port = if server.port() == 65535 { "1" } else { "65535" };
        let fill = |text: &str| text.replace("PORT2", other_port).replace("PORT", &port);
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        for (name, value) in [("Host", self.host), ("Origin", self.origin)] {
            if let Some(value) = value {
                text.push_str(&format!("{name}: {}\r\n", fill(value)));
            }
        }
        if let Some(token) = self.token {
            text.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        text.push_str(self.more);
        text.push_str(&format!("Connection: close\r\n\r\n{}", self.body));
        server.raw(&text)
    }
}

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: turnreel.v1\r\n";

pub(super) fn plain<'a>(method: &'a str, path: &'a str, token: Option<&'a str>) -> Head<'a> {
    Head {
        method,
        path,
        host: Some("127.0.0.1:PORT"),
        origin: None,
        token,
        more: "",
        body: "",
    }
}

/// What each route asks for and answers to one who may: the table that a new route must be written into. Method, route,
/// scope, address, status.
const ROUTES: &[(&str, &str, &str, &str, u16)] = &[
    ("GET", "/", "public", "/", 200),
    ("GET", "/{*path}", "public", "/no-such-file.js", 404),
    ("GET", "/healthz", "public", "/healthz", 200),
    ("GET", "/readyz", "public", "/readyz", 200),
    (
        "GET",
        "/api/v1/openapi.json",
        "public",
        "/api/v1/openapi.json",
        200,
    ),
    ("GET", "/metrics", "admin", "/metrics", 200),
    ("GET", "/api/v1/sessions", "read", "/api/v1/sessions", 200),
    // It works.
    (
        "DELETE",
        "/api/v1/sessions/{session}",
        "admin",
        "/api/v1/sessions/s1",
        409,
    ),
    (
        "GET",
        "/api/v1/sessions/{session}/events",
        "read",
        "/api/v1/sessions/s1/events",
        200,
    ),
    (
        "POST",
        "/api/v1/sessions/{session}/events",
        "ingest",
        "/api/v1/sessions/s1/events",
        200,
    ),
    (
        "GET",
        "/api/v1/sessions/{session}/events/{event}/full",
        "read",
        "/api/v1/sessions/s1/events/e1/full",
        200,
    ),
    (
        "GET",
        "/api/v1/sessions/{session}/file-diffs/{event}",
        "read",
        "/api/v1/sessions/s1/file-diffs/e1",
        404,
    ),
    (
        "GET",
        "/api/v1/sandbox/{sandbox}/file-diffs/{event}",
        "read",
        "/api/v1/sandbox/s1/file-diffs/e1",
        404,
    ),
    (
        "GET",
        "/api/v1/sandboxes/{sandbox}/file-diffs/{event}",
        "read",
        "/api/v1/sandboxes/s1/file-diffs/e1",
        404,
    ),
    (
        "GET",
        "/api/v1/sessions/{session}/summary",
        "read",
        "/api/v1/sessions/s1/summary",
        200,
    ),
    (
        "GET",
        "/api/v1/sessions/{session}/search",
        "read",
        "/api/v1/sessions/s1/search?q=x",
        200,
    ),
    (
        "GET",
        "/api/v1/sessions/{session}/health",
        "read",
        "/api/v1/sessions/s1/health",
        200,
    ),
    // Where the server has no database. With one: `tests/tiers/warm.rs`.
    (
        "GET",
        "/api/v1/sessions/{session}/tools",
        "read",
        "/api/v1/sessions/s1/tools",
        404,
    ),
    ("GET", "/api/v1/tools", "read", "/api/v1/tools", 404),
    (
        "GET",
        "/api/v1/file-changes",
        "read",
        "/api/v1/file-changes",
        404,
    ),
    ("DELETE", "/api/v1/blobs", "admin", "/api/v1/blobs", 200),
    (
        "GET",
        "/api/v1/blobs/{sha256}",
        "read",
        "/api/v1/blobs/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        404,
    ),
    (
        "HEAD",
        "/api/v1/blobs/{sha256}",
        "ingest",
        "/api/v1/blobs/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        404,
    ),
    (
        "PUT",
        "/api/v1/blobs/{sha256}",
        "ingest",
        "/api/v1/blobs/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        204,
    ),
    // What is sent is no answer, no wish and no report: that it is looked at is what counts here.
    (
        "GET",
        "/api/v1/sessions/{session}/permissions/{request}",
        "read",
        "/api/v1/sessions/s1/permissions/p1",
        404,
    ),
    (
        "POST",
        "/api/v1/sessions/{session}/permissions/{request}",
        "answer",
        "/api/v1/sessions/s1/permissions/p1",
        400,
    ),
    (
        "GET",
        "/api/v1/sessions/{session}/questions/{request}",
        "read",
        "/api/v1/sessions/s1/questions/q1",
        404,
    ),
    (
        "POST",
        "/api/v1/sessions/{session}/questions/{request}",
        "answer",
        "/api/v1/sessions/s1/questions/q1",
        400,
    ),
    (
        "POST",
        "/api/v1/sessions/{session}/shares",
        "admin",
        "/api/v1/sessions/s1/shares",
        400,
    ),
    (
        "DELETE",
        "/api/v1/sessions/{session}/shares",
        "admin",
        "/api/v1/sessions/s1/shares",
        200,
    ),
    (
        "POST",
        "/api/v1/sandbox/task/{task}/progress",
        "ingest",
        "/api/v1/sandbox/task/s1/progress",
        422,
    ),
    (
        "POST",
        "/api/v1/sandbox/task/{task}/tool-events",
        "ingest",
        "/api/v1/sandbox/task/s1/tool-events",
        422,
    ),
    (
        "POST",
        "/api/v1/sandbox/task/{task}/message-chunks",
        "ingest",
        "/api/v1/sandbox/task/s1/message-chunks",
        422,
    ),
    (
        "GET",
        "/api/v1/sessions/{session}/sse",
        "read",
        "/api/v1/sessions/s1/sse",
        200,
    ),
    (
        "GET",
        "/api/v1/sessions/{session}/opencode/event",
        "read",
        "/api/v1/sessions/s1/opencode/event",
        200,
    ),
    ("GET", "/api/v1/ws", "read", "/api/v1/ws", 101),
    (
        "GET",
        "/api/v1/fleet/sessions",
        "admin",
        "/api/v1/fleet/sessions",
        200,
    ),
    (
        "GET",
        "/api/v1/fleet/sessions/{session}/log",
        "admin",
        "/api/v1/fleet/sessions/s1/log",
        200,
    ),
];

const SCOPES: [&str; 4] = ["ingest", "read", "answer", "admin"];

#[test]
fn every_route_asks_for_token_scope_session_origin_and_host() {
    let table: Vec<_> = ROUTES
        .iter()
        .map(|(method, path, scope, ..)| (*method, *path, *scope))
        .collect();
    assert_eq!(table, turnreel::route_table(), "a route has no row here");
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 1));
    let wrong = server.token.chars().rev().collect::<String>();
    let tokens = SCOPES.map(|scope| (scope, make_token(&server, &["--scope", scope])));
    let of_other = make_token(
        &server,
        &["--scope", "ingest,read,answer,admin", "--session", "s2"],
    );
    let over = make_token(
        &server,
        &["--scope", "ingest,read,answer,admin", "--expires", "1s"],
    );
    std::thread::sleep(std::time::Duration::from_millis(1300));
    for &(method, route, scope, path, expected) in ROUTES {
        let more = match (method, path) {
            ("GET", "/api/v1/ws") => UPGRADE,
            ("POST", _) => "Content-Type: application/json\r\nContent-Length: 2\r\n",
            ("PUT", _) => "Content-Length: 0\r\n",
            _ => "",
        };
        let body = if method == "POST" { "[]" } else { "" };
        let head = |host, origin, token| Head {
            method,
            path,
            host,
            origin,
            token,
            more,
            body,
        };
        let own = Some("127.0.0.1:PORT");
        let page = Some("http://127.0.0.1:PORT");
        let token = Some(server.token.as_str());
        let answers = |head: Head<'_>| head.send(&server).0;
        let name = format!("{method} {route}");
        let foreign_host = head(Some("evil.example:PORT"), None, token);
        // Who looks whether the server is well may know no more than an address.
        let is_health = ["/healthz", "/readyz"].contains(&path);
        let refused = if is_health { expected } else { 421 };
        assert_eq!(answers(foreign_host), refused, "{name}");
        if scope == "public" {
            assert_eq!(answers(head(own, None, None)), expected, "{name}");
            continue;
        }
        assert_eq!(answers(head(own, None, None)), 401, "{name}");
        assert_eq!(answers(head(own, None, Some(&wrong))), 401, "{name}");
        assert_eq!(answers(head(own, None, Some(""))), 401, "{name}");
        assert_eq!(answers(head(own, None, Some(&over))), 401, "{name}");
        assert_eq!(answers(head(own, page, None)), 401, "{name}");
        for (other, token) in &tokens {
            let allowed = if *other == scope { expected } else { 403 };
            let head = head(own, None, Some(token));
            assert_eq!(answers(head), allowed, "{name} for {other}");
        }
        // To a token of another session this one is like one that never was, word for word.
        if route.contains("{session}") || route.contains("{task}") {
            let (status, _, gone) = server.exchange(method, path, Some(&of_other), more, body);
            assert_eq!(status, 404, "{name}");
            let nowhere = path.replace("/s1", "/never");
            let (status, _, never) = server.exchange(method, &nowhere, Some(&of_other), more, body);
            assert_eq!((status, never), (404, gone), "{name}");
        }
        let evil = Some("http://evil.example");
        assert_eq!(answers(head(own, evil, token)), 403, "{name}");
        assert_eq!(answers(head(own, Some("null"), token)), 403, "{name}");
        assert_eq!(answers(head(own, page, token)), expected, "{name}");
    }
    let (status, headers) = plain("GET", "/api/v1/nothing", None).send(&server);
    assert_eq!(status, 401, "{headers}");
    assert_eq!(
        plain("GET", "/api/v1/nothing", Some(&server.token))
            .send(&server)
            .0,
        404
    );
}

#[test]
fn the_page_and_health_need_no_token_and_carry_their_headers() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    assert_eq!(plain("GET", "/healthz", None).send(&server).0, 200);
    let (status, headers) = plain("GET", "/", None).send(&server);
    assert_eq!(status, 200);
    for expected in [
        "content-security-policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; media-src 'self' blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types agent-feed\r\n",
        "x-content-type-options: nosniff\r\n",
        "referrer-policy: no-referrer\r\n",
        "cross-origin-opener-policy: same-origin\r\n",
        "cache-control: no-cache\r\n",
    ] {
        assert!(
            headers.contains(expected),
            "{expected} is not in\n{headers}"
        );
    }
    assert_eq!(plain("GET", "/no-such-file.js", None).send(&server).0, 404);
    assert_eq!(plain("GET", "/../Cargo.toml", None).send(&server).0, 404);
    let (_, headers) = plain("GET", "/api/v1/sessions", Some(&server.token)).send(&server);
    assert!(headers.contains("cache-control: no-store"), "{headers}");
    assert!(
        !headers.contains("access-control-allow-origin"),
        "{headers}"
    );
}

#[test]
fn only_listed_pages_may_embed() {
    let dir = tempfile::tempdir().unwrap();
    let more = ["--no-examples", "--embed-origin", "https://app.example"];
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &more);
    let token = Some(server.token.as_str());
    let from = |origin, method, token| {
        let mut head = plain(method, "/api/v1/sessions", token);
        head.origin = Some(origin);
        head.send(&server)
    };
    let (status, headers) = from("https://app.example", "GET", token);
    assert_eq!(status, 200);
    assert!(
        headers.contains("access-control-allow-origin: https://app.example\r\n"),
        "{headers}"
    );
    assert_eq!(from("https://app.example", "GET", None).0, 401);
    assert_eq!(from("https://app.example", "OPTIONS", None).0, 204);
    assert_eq!(
        from("https://app.example.evil.example", "OPTIONS", None).0,
        403
    );
    assert_eq!(from("http://app.example", "GET", token).0, 403);
}

#[test]
fn the_cases_of_admission_are_answered_as_they_say() {
    let Some(path) = support::shared("corpora/own/http-admission.jsonl") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let more = ["--no-examples", "--gzip-bodies"];
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &more);
    server.post("s1", &chunks(1, 1));
    let of_other = make_token(&server, &["--scope", "read", "--session", "s2"]);
    let over = make_token(&server, &["--scope", "read", "--expires", "1s"]);
    std::thread::sleep(std::time::Duration::from_millis(1000));
    let mut n_held = 0;
    let mut wrong = Vec::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let what = case["what"].as_str().unwrap();
        let token = case["token"].as_str();
        let expected = case["expect"].as_u64().unwrap() as u16;
        let token = match token {
            Some("none") => None,
            Some("valid") | None => Some(server.token.as_str()),
            Some("expired") => Some(over.as_str()),
            Some("other-session") => Some(of_other.as_str()),
            Some(_) => Some("wrong-wrong-wrong-wrong-wrong-wrong-wrong-1"),
        };
        match answer_to(&server, &case, what, token) {
            Some(status) if status == expected => n_held += 1,
            status => wrong.push(format!("{status:?} for {line}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(n_held, 107);
}

fn head_of<'a>(
    host: Option<&'a str>,
    origin: Option<&'a str>,
    token: Option<&'a str>,
    method: &'a str,
    path: &'a str,
    more: &'a str,
    body: &'a str,
) -> Head<'a> {
    Head {
        method,
        path,
        host,
        origin,
        token,
        more,
        body,
    }
}

fn answer_to(server: &Server, case: &Value, what: &str, token: Option<&str>) -> Option<u16> {
    let host = case
        .get("host")
        .map_or(Some("127.0.0.1:PORT"), Value::as_str);
    let origin = case["origin"].as_str();
    let events = "/api/v1/sessions/s1/events";
    let json = "Content-Type: application/json\r\n";
    let post = |more: String, body| {
        let head = head_of(host, origin, token, "POST", events, &more, body);
        Some(head.send(server).0)
    };
    let ask = |method, path, more: &str| {
        let head = head_of(host, origin, token, method, path, more, "");
        Some(head.send(server).0)
    };
    match what {
        // It is the host that counts, and health is told under any.
        "GET /healthz" => ask("GET", "/api/v1/openapi.json", ""),
        // A socket is for many sessions; one for a single session says so, and learns here that it is not there.
        "WS upgrade" => ask("GET", "/api/v1/ws?session=s1", UPGRADE),
        "POST ingest (CSRF simple-request check)" => {
            let content_type = case["content_type"]
                .as_str()
                .map(|it| format!("Content-Type: {it}\r\n"));
            post(
                format!("{}Content-Length: 2\r\n", content_type.unwrap_or_default()),
                "[]",
            )
        }
        "OPTIONS preflight from evil origin" => {
            let more = "Access-Control-Request-Method: POST\r\n";
            let evil = Some("http://evil.example");
            let head = head_of(host, evil, token, "OPTIONS", events, more, "");
            Some(head.send(server).0)
        }
        "GET with Sec-Fetch-Site: cross-site, no Origin" => {
            ask("GET", events, "Sec-Fetch-Site: cross-site\r\n")
        }
        "POST with Content-Length 2 and 3 duplicated" => post(
            format!("{json}Content-Length: 2\r\nContent-Length: 3\r\n"),
            "[]",
        ),
        "POST body 100 MiB" => post(format!("{json}Content-Length: 104857600\r\n"), "["),
        "POST gzip bomb 1 MiB -> 1 GiB" => {
            let bomb = gzip_of_zeros(64);
            let head = format!(
                "POST {events} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Encoding: gzip\r\n{json}Content-Length: {}\r\nConnection: close\r\n\r\n",
                server.address(),
                server.token,
                bomb.len()
            );
            Some(server.raw_bytes(&[head.as_bytes(), &bomb].concat()).0)
        }
        "POST zstd/br when not offered" => post(
            format!("{json}Content-Encoding: br\r\nContent-Length: 2\r\n"),
            "[]",
        ),
        "header 64 KiB" => {
            let long = format!("X-Long: {}\r\n", "x".repeat(64 * 1024));
            ask("GET", "/healthz", &long)
        }
        "1000 headers" => {
            let many: String = (0..1000).map(|n| format!("X-{n}: 1\r\n")).collect();
            ask("GET", "/healthz", &many)
        }
        "URI 64 KiB" => {
            let path = format!("/{}", "x".repeat(64 * 1024));
            ask("GET", &path, "")
        }
        "POST chunked + Content-Length" => post(
            format!("{json}Content-Length: 12\r\nTransfer-Encoding: chunked\r\n"),
            "2\r\n[]\r\n0\r\n\r\n",
        ),
        "bare LF line ends" => {
            let host = server.address();
            Some(
                server
                    .raw(&format!("GET /healthz HTTP/1.1\nHost: {host}\n\n"))
                    .0,
            )
        }
        "slowloris: 1 byte / 10 s header" => {
            slowly(&["GET /healthz HTTP/1.1\r\nHost: ADDRESS\r\nX-A", "b"], 408)
        }
        "slow body: 1 byte / 10 s" => slowly(
            &[
                "POST /api/v1/sessions/s1/events HTTP/1.1\r\nHost: ADDRESS\r\nAuthorization: Bearer secret\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n",
                "[",
            ],
            408,
        ),
        "TRACE" => ask("TRACE", "/", ""),
        "PUT unknown" => ask("PUT", "/api/v1/unknown", ""),
        "HTTP/0.9 line" => Some(server.raw("GET /\r\n\r\n").0),
        "space before colon" => ask("GET", "/healthz", "X-Odd : 1\r\n"),
        "upgrade with Sec-WebSocket-Version: 8" => {
            let more = UPGRADE.replace("Version: 13", "Version: 8");
            ask("GET", "/api/v1/ws", &more)
        }
        "upgrade with short key" => {
            let more = UPGRADE.replace("dGhlIHNhbXBsZSBub25jZQ==", "dGhl");
            ask("GET", "/api/v1/ws", &more)
        }
        "upgrade via POST" => ask("POST", "/api/v1/ws", UPGRADE),
        _ => None,
    }
}

/// So many MiB of zeros, packed.
fn gzip_of_zeros(n_mib: usize) -> Vec<u8> {
    let mut packing = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![0; 1024 * 1024];
    for _ in 0..n_mib {
        packing.write_all(&zeros).unwrap();
    }
    packing.finish().unwrap()
}

#[test]
fn packed_bodies_are_taken_where_that_is_asked_for_and_within_bounds() {
    let (off_dir, on_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let off = Server::start(off_dir.path());
    let on = Server::start_on(
        on_dir.path(),
        "127.0.0.1:0",
        &["--no-examples", "--gzip-bodies"],
    );
    let post = |server: &Server, packed: &[u8]| {
        let head = format!(
            "POST /api/v1/sessions/s1/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Encoding: gzip\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            server.address(),
            server.token,
            packed.len()
        );
        server.raw_bytes(&[head.as_bytes(), packed].concat()).0
    };
    let mut packing = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packing
        .write_all(chunks(1, 50).to_string().as_bytes())
        .unwrap();
    let packed = packing.finish().unwrap();
    assert_eq!(post(&off, &packed), 415);
    assert_eq!(post(&on, &packed), 200);
    assert_eq!(on.all("s1", 100).len(), 50);
    assert_eq!(post(&on, &packed[..packed.len() - 9]), 400);
    // Within the limit, and beyond all proportion.
    assert_eq!(post(&on, &gzip_of_zeros(4)), 413);
    // What is packed otherwise is told what is taken there.
    for (server, said) in [
        (&on, "packed by gzip are taken"),
        (&off, "with `--gzip-bodies`"),
    ] {
        let more =
            "Content-Type: application/json\r\nContent-Encoding: br\r\nContent-Length: 2\r\n";
        let path = "/api/v1/sessions/s1/events";
        let (status, _, body) = server.exchange("POST", path, Some(&server.token), more, "[]");
        assert_eq!(status, 415);
        assert!(body.contains(said), "{body}");
    }
}

/// The status for who sends these parts with pauses and then nothing, where it is this one. A machine that stops for a moment
/// makes anybody slow or idle, and so it is tried again.
fn slowly(parts: &[&str], expected: u16) -> Option<u16> {
    let mut answers = (0..10).map(|_| answer_to_slow(parts));
    answers.find(|status| *status == expected)
}

/// In this process, with shorter limits, so that nobody waits for half a minute.
fn answer_to_slow(parts: &[&str]) -> u16 {
    let server = Inside::start(turnreel::Settings {
        body_timeout_ms: 400,
        head_timeout_ms: 400,
        ..turnreel::Settings::default()
    });
    let address = server.address;
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(support::PATIENCE)).unwrap();
    for part in parts {
        let part = part.replace("ADDRESS", &address.to_string());
        // Who is let go meanwhile cannot write any more.
        let _ = stream.write_all(part.as_bytes());
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let mut answer = Vec::new();
    if let Err(why) = stream.read_to_end(&mut answer) {
        assert_eq!(why.kind(), std::io::ErrorKind::ConnectionReset, "{why}");
    }
    server.stop();
    let answer = String::from_utf8(answer).unwrap();
    answer
        .split(' ')
        .nth(1)
        .map_or(0, |status| status.parse().unwrap())
}

#[test]
fn who_is_slow_is_told_so_and_who_is_idle_is_let_go() {
    assert_eq!(slowly(&["GET"], 408), Some(408));
    assert_eq!(slowly(&[""], 0), Some(0));
    let whole = "GET /healthz HTTP/1.1\r\nHost: ADDRESS\r\n\r\n";
    assert_eq!(slowly(&[whole], 200), Some(200));
}

#[test]
fn a_body_over_the_limit_and_one_that_is_no_json_are_refused_with_a_word() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let path = "/api/v1/sessions/s1/events";
    let (status, answer) = server.post_text(path, "[{\"id\":\"a\",\n  nope}]");
    assert_eq!(status, 400);
    assert_eq!(answer["error"]["code"], "bad_json");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("line 2 column 3"), "{message}");
    let many: Vec<u8> = vec![1; 1001];
    let (status, answer) = server.post_text(path, &serde_json::to_string(&many).unwrap());
    assert_eq!(
        (status, &answer["error"]["code"]),
        (413, &Value::from("too_large"))
    );
    let deep = format!("[{}{}]", "[".repeat(70), "]".repeat(70));
    let (status, answer) = server.post_text(path, &deep);
    assert_eq!(status, 400);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("nested deeper than 64"), "{message}");
    for session in ["..", "a%2Fb", "-rf", "CON.txt", "a%00b"] {
        let (status, _) = server.post_text(&format!("/api/v1/sessions/{session}/events"), "[]");
        assert!(
            status == 400 || status == 404 || status == 405,
            "{session}: {status}"
        );
    }
    assert_eq!(
        server.get("/api/v1/sessions").1["sessions"],
        Value::Array(Vec::new())
    );
}

#[test]
fn an_address_that_cannot_be_read_is_refused_in_the_words_of_all_refusals() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    for (path, code) in [
        ("/api/v1/sessions?limit=-1", "bad_query"),
        ("/api/v1/sessions/s1/events?max_bytes=x", "bad_query"),
        ("/api/v1/sessions/%ff/events", "bad_path"),
    ] {
        let (status, answer) = server.get(path);
        assert_eq!(
            (status, &answer["error"]["code"]),
            (400, &code.into()),
            "{path}: {answer}"
        );
    }
    let (_, answer) = server.get("/api/v1/sessions?limit=-1");
    assert_eq!(
        answer["error"]["message"],
        "limit: invalid digit found in string"
    );
}
