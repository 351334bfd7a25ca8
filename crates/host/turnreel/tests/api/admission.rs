//! Who is let in and under which names: the recorded cases of admission, one by one.

use serde_json::Value;

use super::access::{Head, UPGRADE};
use super::bounds::{gzip_of_zeros, slowly};
use crate::support::{self, Server, chunks, make_token};

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
