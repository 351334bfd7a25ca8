//! Who may ask: tokens, hosts, origins, and limits, on every route.

use crate::support::{Server, chunks, make_token};

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

pub(super) const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
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
