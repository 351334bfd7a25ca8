//! Under which names a server answers, and by which it is reached.

use std::io::{Read, Write};

use super::access::plain;
use crate::support::{Server, chunks};

/// What one connection is answered to these requests, each sent when the one before is answered: the statuses.
fn answers_in_turn(server: &Server, requests: &[&str]) -> Vec<u16> {
    let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
    let mut answers = Vec::new();
    for request in requests {
        let request = request.replace("ADDRESS", &server.address());
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = vec![0; 64 * 1024];
        let n = stream.read(&mut answer).unwrap();
        let status = String::from_utf8_lossy(&answer[..n]);
        let status = status.split(' ').nth(1).and_then(|it| it.parse().ok());
        answers.push(status.unwrap_or(0));
    }
    answers
}

#[test]
fn a_head_is_looked_at_whatever_came_before_it_on_its_connection() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let good = "GET /healthz HTTP/1.1\r\nHost: ADDRESS\r\n\r\n";
    let bare = "GET /healthz HTTP/1.1\nHost: ADDRESS\n\n";
    let both = "GET /healthz HTTP/1.1\r\nHost: ADDRESS\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    let chunked = format!(
        "POST /api/v1/sessions/s1/events HTTP/1.1\r\nHost: ADDRESS\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n1\r\n]\r\n0\r\n\r\n",
        server.token
    );
    let upgrade =
        "GET /healthz HTTP/1.1\r\nHost: ADDRESS\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n";
    for first in [good, &chunked, upgrade] {
        assert_eq!(
            answers_in_turn(&server, &[first, good]),
            [200, 200],
            "{first}"
        );
        for odd in [bare, both] {
            assert_eq!(
                answers_in_turn(&server, &[first, odd]),
                [200, 400],
                "{first}{odd}"
            );
        }
    }
}

#[test]
fn a_target_that_names_a_host_names_this_server() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let answer_to = |target: &str| plain("GET", target, Some(&server.token)).send(&server).0;
    let own = server.address();
    for path in ["/", "/api/v1/sessions"] {
        assert_eq!(answer_to(&format!("http://{own}{path}")), 200, "{path}");
        for evil in [
            "evil.example",
            "evil.example:80",
            "x@127.0.0.1",
            "127.0.0.1:1",
        ] {
            let target = format!("http://{evil}{path}");
            assert_eq!(answer_to(&target), 421, "{target}");
        }
    }
}

#[test]
fn a_name_is_answered_to_however_its_port_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let more = [
        "--no-examples",
        "--host",
        "feed.example,tls.example:443,odd.example:8443,[2001:db8::7]",
    ];
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &more);
    let answer = |host: &str, origin: Option<&str>| {
        let mut head = plain("GET", "/api/v1/sessions", Some(&server.token));
        (head.host, head.origin) = (Some(host), origin);
        head.send(&server).0
    };
    for host in [
        "feed.example",
        "feed.example:80",
        "feed.example:443",
        "feed.example:PORT",
        "Feed.Example.",
        "feed.example.:PORT",
        "tls.example",
        "tls.example:443",
        "odd.example:8443",
        "[2001:db8::7]",
        "[2001:db8::7]:PORT",
    ] {
        assert_eq!(answer(host, None), 200, "{host}");
        let origin = format!("https://{host}");
        assert_eq!(answer(host, Some(&origin)), 200, "{origin}");
    }
    for host in [
        "feed.example:PORT2",
        "feed.example..",
        "tls.example:80",
        "tls.example:PORT",
        "odd.example",
        "odd.example:PORT",
        "sub.feed.example",
        "feed.example.evil.example",
        "2001:db8::7",
    ] {
        assert_eq!(answer(host, None), 421, "{host}");
        let origin = format!("https://{host}");
        assert_eq!(answer("feed.example", Some(&origin)), 403, "{origin}");
    }
    let mut head = plain("GET", "/api/v1/sessions", Some(&server.token));
    head.host = Some("10.0.0.9:PORT");
    let named = format!("10.0.0.9:{}", server.port());
    let (status, _, body) = server.exchange(
        "GET",
        &format!("http://{named}/api/v1/sessions"),
        Some(&server.token),
        "",
        "",
    );
    assert_eq!((status, head.send(&server).0), (421, 421));
    assert!(body.contains(&named) && body.contains("--host"), "{body}");
}

#[test]
fn the_public_name_is_answered_to_also_where_a_proxy_leaves_its_port_out() {
    let dir = tempfile::tempdir().unwrap();
    let more = ["--no-examples", "--public-url", "https://X.example:8443/a"];
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &more);
    let answer = |host: &str, origin: Option<&str>| {
        let mut head = plain("GET", "/api/v1/sessions", Some(&server.token));
        (head.host, head.origin) = (Some(host), origin);
        head.send(&server).0
    };
    let page = Some("https://x.example:8443");
    for host in ["x.example", "x.example:8443"] {
        assert_eq!(
            (answer(host, None), answer(host, page)),
            (200, 200),
            "{host}"
        );
    }
    // A page at another port of it is another's.
    assert_eq!(answer("x.example", Some("https://x.example")), 403);
    assert_eq!(answer("x.example:PORT", None), 421);
}

#[test]
fn a_share_link_leads_where_the_one_who_made_it_came() {
    let dir = tempfile::tempdir().unwrap();
    let link = |server: &Server, host: &str, origin: Option<&str>| {
        let more = "Content-Type: application/json\r\nContent-Length: 2\r\n";
        let path = "/api/v1/sessions/s1/shares";
        let mut text = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\n");
        if let Some(origin) = origin {
            text.push_str(&format!("Origin: {origin}\r\n"));
        }
        text.push_str(&format!(
            "Authorization: Bearer {}\r\n{more}Connection: close\r\n\r\n{{}}",
            server.token
        ));
        let answer = server.raw_answer(&text);
        let at = answer.find("\"url\":\"").expect(&answer) + 7;
        answer[at..].split("/#").next().unwrap().to_owned()
    };
    let more = ["--no-examples", "--host", "feed.example"];
    let mut server = Server::start_on(dir.path(), "127.0.0.1:0", &more);
    server.post("s1", &chunks(1, 1));
    let own = server.address();
    assert_eq!(link(&server, &own, None), format!("http://{own}"));
    assert_eq!(link(&server, "feed.example", None), "http://feed.example");
    // The page behind a proxy, which leaves the name or not.
    let page = Some("https://feed.example");
    assert_eq!(link(&server, "feed.example", page), "https://feed.example");
    assert_eq!(link(&server, &own, page), "https://feed.example");
    server.stop();
    let more = ["--no-examples", "--public-url", "https://x.example/feed/"];
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &more);
    let own = server.address();
    for (host, origin) in [(&*own, None), ("x.example", Some("https://x.example"))] {
        assert_eq!(link(&server, host, origin), "https://x.example/feed");
    }
}
