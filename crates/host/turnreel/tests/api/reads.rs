//! Reading a session: pages that are kept, parts of bodies, answers packed, what is found, what it comes to.

use std::io::Read;
use std::path::Path;

use crate::support::{self, Server, chunks, damage, make_token, soon};
use serde_json::{Value, json};

/// Status, headers in small letters, body, of a GET with these headers.
fn get(server: &Server, method: &str, path: &str, more: &str) -> (u16, String, Vec<u8>) {
    use std::io::Write;
    let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{more}Connection: close\r\n\r\n",
        server.address(),
        server.token
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let at = answer.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(answer[..at].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_lowercase(), answer[at + 4..].to_vec())
}

fn header(head: &str, name: &str) -> Option<String> {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    let (_, value) = lines.find(|(of, _)| *of == name)?;
    Some(value.to_owned())
}

fn unpacked(head: &str, body: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    match header(head, "content-encoding").as_deref() {
        Some("gzip") => {
            flate2::read::GzDecoder::new(body)
                .read_to_end(&mut plain)
                .unwrap();
        }
        Some("br") => {
            brotli::Decompressor::new(body, 4096)
                .read_to_end(&mut plain)
                .unwrap();
        }
        _ => plain.extend_from_slice(body),
    }
    plain
}

#[test]
fn answers_are_packed_as_the_client_takes_them() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 200));
    let path = "/api/v1/sessions/s1/events";
    let (_, head, plain) = get(&server, "GET", path, "");
    assert_eq!(header(&head, "content-encoding"), None);
    for (accepted, encoding) in [
        ("gzip", "gzip"),
        ("gzip, br", "br"),
        ("br;q=0, gzip", "gzip"),
    ] {
        let more = format!("Accept-Encoding: {accepted}\r\n");
        let (status, head, body) = get(&server, "GET", path, &more);
        assert_eq!(status, 200);
        assert_eq!(header(&head, "content-encoding").as_deref(), Some(encoding));
        assert!(head.contains("vary: accept-encoding"), "{head}");
        assert!(body.len() * 3 < plain.len(), "{}", body.len());
        assert_eq!(unpacked(&head, &body), plain);
        let length = header(&head, "content-length").unwrap();
        assert_eq!(length, body.len().to_string());
    }
    let more = "Accept-Encoding: br\r\n";
    let (_, head, body) = get(&server, "GET", "/api/v1/sessions", more);
    assert_eq!(header(&head, "content-encoding"), None, "it is too small");
    assert!(serde_json::from_slice::<Value>(&body).is_ok());
    let (status, head, body) = get(&server, "HEAD", path, more);
    assert_eq!((status, body.len()), (200, 0));
    let length = header(&head, "content-length").unwrap();
    assert_eq!(length, plain.len().to_string());
}

#[test]
fn a_closed_page_is_kept_for_good_and_an_open_one_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let (_, stored) = server.post("s1", &chunks(1, 20));
    let epoch = stored["epoch"].as_str().unwrap();
    let path = |after: &str| format!("/api/v1/sessions/s1/events?after={after}&limit=10");
    let closed = path(&format!("v1.{epoch}.0"));
    let cache = |path: &str| {
        let (status, head, _) = get(&server, "GET", path, "");
        assert_eq!(status, 200, "{path}");
        let cache = header(&head, "cache-control").unwrap();
        (cache, header(&head, "etag").unwrap())
    };
    // What is allowed is said at the end alone: what is kept may be shown to others.
    assert!(server.get(&closed).1["may"].is_null());
    let open = path(&format!("v1.{epoch}.10"));
    assert_eq!(server.get(&open).1["may"], json!(["answer", "admin"]));
    let reads = make_token(&server, &["--scope", "read"]);
    assert_eq!(server.ask("GET", &open, &reads, "").1["may"], json!([]));
    let (kept, closed_tag) = cache(&closed);
    assert_eq!(kept, "private, max-age=31536000, immutable");
    // By this token in this browser, and for the page that asked.
    let (_, head, _) = get(&server, "GET", &closed, "");
    for name in ["authorization", "origin", "accept-encoding"] {
        assert!(head.contains(&format!("vary: {name}")), "{name}: {head}");
    }
    // Without the epoch the same address may come to mean another log.
    assert_eq!(cache(&path("0")).0, "private, no-cache");
    let open = path(&format!("v1.{epoch}.10"));
    let (kept, open_tag) = cache(&open);
    assert_eq!(kept, "private, no-cache");
    let known = |path: &str, tag: &str| {
        let more = format!("If-None-Match: \"x\", W/{tag}\r\n");
        let (status, head, body) = get(&server, "GET", path, &more);
        assert!(status == 200 || body.is_empty());
        assert!(header(&head, "etag").is_some());
        status
    };
    let exact = |tag: &str| tag.to_owned();
    assert_eq!(known(&closed, "\"other\""), 200);
    // Tags keep their capitals, which this test's heads do not.
    let (_, tags) = (exact(&closed_tag), exact(&open_tag));
    assert!(!tags.is_empty());
    let tag_of = |path: &str| {
        let url = format!("{}{path}", server.url);
        let answer = support::agent()
            .get(url)
            .header("Authorization", format!("Bearer {}", server.token))
            .call()
            .unwrap();
        answer.headers()["etag"].to_str().unwrap().to_owned()
    };
    let (closed_tag, open_tag) = (tag_of(&closed), tag_of(&open));
    assert_eq!(known(&closed, &closed_tag), 304);
    assert_eq!(known(&open, &open_tag), 304);
    server.post("s1", &chunks(21, 22));
    assert_eq!(known(&closed, &closed_tag), 304);
    assert_eq!(known(&open, &open_tag), 200);
}

#[test]
fn a_part_of_a_body_can_be_had() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let diff = format!("--- a\n+++ b\n@@ -1 +1 @@\n-old\n+{}\n", "n".repeat(3000));
    let edit = json!([{"id": "f1", "timestamp": 1, "type": "file_edit", "payload": {
        "filePath": "a.txt", "changeType": "modified", "linesAdded": 1, "linesRemoved": 1,
        "diffPreview": diff, "fullDiffSize": diff.len(), "fullAvailable": true}}]);
    let (status, answer) = server.post("s1", &edit);
    assert_eq!(status, 200, "{answer}");
    for path in [
        "/api/v1/sessions/s1/events/f1/full",
        "/api/v1/sessions/s1/file-diffs/f1",
        "/api/v1/sandbox/s1/file-diffs/f1",
    ] {
        let (status, head, whole) = get(&server, "GET", path, "");
        assert_eq!(status, 200, "{path}");
        assert_eq!(header(&head, "accept-ranges").as_deref(), Some("bytes"));
        let tag = header(&head, "etag").unwrap();
        let len = whole.len();
        let part = |range: &str| get(&server, "GET", path, &format!("Range: {range}\r\n"));
        let (status, head, body) = part("bytes=10-19");
        assert_eq!((status, body.as_slice()), (206, &whole[10..20]));
        let range = format!("bytes 10-19/{len}");
        assert_eq!(header(&head, "content-range"), Some(range));
        assert_eq!(part("bytes=-5").2, whole[len - 5..]);
        let (status, head, _) = part("bytes=9999999-");
        assert_eq!(status, 416);
        let range = format!("bytes */{len}");
        assert_eq!(header(&head, "content-range"), Some(range));
        // Of another version the client has no use for a middle.
        let more = "Range: bytes=10-19\r\nIf-Range: \"another\"\r\n";
        assert_eq!(get(&server, "GET", path, more).2, whole);
        let more = format!("Range: bytes=10-19\r\nIf-Range: {tag}\r\nAccept-Encoding: br\r\n");
        let (status, head, body) = get(&server, "GET", path, &more);
        assert_eq!((status, body.as_slice()), (206, &whole[10..20]));
        assert_eq!(header(&head, "content-encoding"), None);
        let more = format!("If-None-Match: {tag}\r\n");
        assert_eq!(get(&server, "GET", path, &more).0, 304);
        let (status, head, body) = get(&server, "HEAD", path, "");
        assert_eq!((status, body.len()), (200, 0));
        assert_eq!(header(&head, "content-length"), Some(len.to_string()));
        let (_, head, body) = get(&server, "GET", path, "Accept-Encoding: gzip\r\n");
        assert_eq!(header(&head, "etag"), Some(format!("w/{tag}")));
        assert_eq!(unpacked(&head, &body), whole);
    }
}

#[test]
fn a_path_that_is_no_text_is_refused_as_all_else_is() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    for path in ["/%ff%fe", "/a/%c3%28.js", "/api/v1/sessions/%ff/events"] {
        let (status, head, body) = get(&server, "GET", path, "");
        assert_eq!(status, 400, "{path}");
        let json = Some("application/json");
        assert_eq!(header(&head, "content-type").as_deref(), json, "{path}");
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["error"]["code"], "bad_path", "{path}");
    }
}

#[test]
fn the_list_is_paged_and_filtered() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    for n in 0..6 {
        let mut events = vec![
            json!({"id": "u", "timestamp": 1, "type": "user_message", "turnId": "t", "payload": {"text": format!("Fix the {} test", ["FAST", "slow"][n % 2])}}),
        ];
        if n >= 3 {
            events.push(json!({"id": "b", "timestamp": 2, "type": "turn_end", "turnId": "t", "payload": {}}));
        }
        assert_eq!(server.post(&format!("s{n}"), &json!(events)).0, 200);
    }
    let ids = |query: &str| {
        let (status, list) = server.get(&format!("/api/v1/sessions?{query}"));
        assert_eq!(status, 200);
        let rows = list["sessions"].as_array().unwrap();
        let ids: Vec<_> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
        (ids.join(" "), list["next"].clone())
    };
    assert_eq!(ids("q=fast"), ("s0 s2 s4".to_owned(), Value::Null));
    assert_eq!(ids("status=busy"), ("s0 s1 s2".to_owned(), Value::Null));
    assert_eq!(ids("status=busy&q=SLOW").0, "s1");
    // Pages are pages of what fits.
    assert_eq!(ids("q=fast&limit=2"), ("s0 s2".to_owned(), json!("s2")));
    assert_eq!(
        ids("q=fast&limit=2&after=s2"),
        ("s4".to_owned(), Value::Null)
    );
    assert_eq!(ids("q=nothing").0, "");
    // One that is misspelt is none of no session.
    let (status, answer) = server.get("/api/v1/sessions?status=zz");
    assert_eq!(
        (status, &answer["error"]["message"]),
        (
            400,
            &json!("status: expected one of busy, idle, retrying, ended")
        )
    );
    // What is not there is named: a session, or a route.
    let said = |path: &str| {
        let (status, answer) = server.get(path);
        assert_eq!(status, 404, "{path}");
        answer["error"]["message"].as_str().unwrap().to_owned()
    };
    let no_session = "there is no such session";
    assert_eq!(said("/api/v1/sessions/none/events"), no_session);
    assert_eq!(said("/api/v1/sessions/none/summary"), no_session);
    assert!(said("/api/v1/session/s1/events").starts_with("there is no such route"));
    let other = make_token(&server, &["--scope", "read", "--session", "s3"]);
    let (_, answer) = server.ask("GET", "/api/v1/sessions/s1/events", &other, "");
    assert_eq!(answer["error"]["message"], no_session);
    let only = make_token(&server, &["--scope", "read", "--session", "s3"]);
    let (_, list) = server.ask("GET", "/api/v1/sessions?q=slow", &only, "");
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1, "{list}");
}

#[test]
fn a_session_whose_log_was_removed_is_listed_no_longer_until_it_is_sent_to_again() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    for session in ["s1", "s2", "s3"] {
        assert_eq!(server.post(session, &chunks(1, 2)).0, 200);
    }
    let ids = || {
        let (_, list) = server.get("/api/v1/sessions");
        let rows = list["sessions"].as_array().unwrap().clone();
        let ids: Vec<_> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
        let by_page = ids.join(" ");
        let mut socket = server.socket();
        socket.open(1, "*", None);
        let rows = socket.next()["changed"].clone();
        let rows = rows.as_array().unwrap();
        let ids: Vec<_> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
        // Between the two the folder may have been looked at.
        [by_page, ids.join(" ")]
    };
    assert_eq!(ids(), ["s1 s2 s3"; 2]);
    take_away(dir.path(), "s1", None);
    take_away(dir.path(), "s3", None);
    soon("both are gone from the list", || ids() == ["s2"; 2]);
    assert_eq!(server.post("s3", &chunks(3, 3)).0, 200);
    soon("one is back", || ids() == ["s2 s3"; 2]);
}

/// Removes the session's files, or moves them to another folder.
fn take_away(dir: &Path, session: &str, to: Option<&Path>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with(&format!("{session}-")) {
            continue;
        }
        match to {
            None => std::fs::remove_file(path).unwrap(),
            Some(to) => std::fs::rename(path, to.join(name)).unwrap(),
        }
    }
}

#[test]
fn who_follows_hears_that_a_log_was_removed_and_that_it_is_back() {
    let dir = tempfile::tempdir().unwrap();
    let attic = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    for session in ["s1", "s2"] {
        assert_eq!(server.post(session, &chunks(1, 3)).0, 200);
    }
    let mut list = server.socket();
    list.open(1, "*", None);
    assert_eq!(list.next()["changed"].as_array().unwrap().len(), 2);
    let mut reader = server.socket();
    reader.open(1, "s1", None);
    let mut other = server.socket();
    other.open(1, "s2", None);
    let mut worker = server.socket();
    worker.send(&json!({"op": "open", "sub": 4, "session": "s1", "caps": ["format=agent"]}));
    assert_eq!(worker.next()["op"], "hello");
    let mut stream = server.stream("/api/v1/sessions/s1/sse?after=head", None);
    assert_eq!(stream.next().unwrap().name, "hello");

    take_away(dir.path(), "s1", Some(attic.path()));
    let told = list.next();
    assert_eq!(
        (&told["op"], &told["changed"], &told["gone"]),
        (&json!("sessions"), &json!([]), &json!(["s1"]))
    );
    for (socket, sub) in [(&mut reader, 1), (&mut worker, 4)] {
        let told = socket.next();
        let [code, told_sub] = ["code", "sub"].map(|name| &told[name]);
        assert_eq!(
            (code, told_sub),
            (&json!("no_session"), &json!(sub)),
            "{told}"
        );
    }
    let err = stream.next_news().unwrap();
    assert_eq!(
        (err.name.as_str(), &err.data["code"]),
        ("err", &json!("no_session"))
    );
    // Whoever asks for it is told the same as of one that never was, and makes no new log of it.
    for path in ["events", "summary", "search?q=x", "sse"] {
        assert_eq!(
            server.get(&format!("/api/v1/sessions/s1/{path}")).0,
            404,
            "{path}"
        );
    }
    let mut late = server.socket();
    late.send(&json!({"op": "open", "sub": 1, "session": "s1"}));
    assert_eq!(late.next()["code"], "no_session");

    // The same files again: nothing was lost of it.
    take_away(attic.path(), "s1", Some(dir.path()));
    assert_eq!(list.next()["changed"][0]["id"], "s1");
    assert_eq!(server.all("s1", 1000).len(), 3);

    take_away(dir.path(), "s1", None);
    assert_eq!(list.next()["gone"], json!(["s1"]));
    // Numbers are not given twice, though what had them is gone.
    let (_, answer) = server.post("s1", &chunks(4, 4));
    assert_eq!(answer["first"], 4);
    assert_eq!(list.next()["changed"][0]["id"], "s1");
    server.post("s2", &chunks(4, 4));
    assert_eq!(other.events(4, 4).len(), 1, "others go on");

    take_away(dir.path(), "s1", None);
    soon("it is gone again", || {
        server.get("/api/v1/sessions/s1/summary").0 == 404
    });
    server.stop();
    let names = std::fs::read_dir(dir.path()).unwrap();
    let names = names.map(|it| it.unwrap().file_name().into_string().unwrap());
    let left: Vec<_> = names.filter(|name| name.starts_with("s1-")).collect();
    assert_eq!(left, [] as [&str; 0], "stopping brings nothing back");
}

#[test]
fn a_text_is_found_and_the_search_goes_on_from_its_cursor() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 900));
    let mut after = "0".to_owned();
    let mut seqs = Vec::new();
    loop {
        let path = format!("/api/v1/sessions/s1/search?q=WORD%201&after={after}&limit=20");
        let (status, found) = server.get(&path);
        assert_eq!(status, 200, "{found}");
        let matches = found["matches"].as_array().unwrap();
        assert!(matches.len() <= 20);
        seqs.extend(matches.iter().map(|it| it["seq"].as_u64().unwrap()));
        match found["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    let expected: Vec<u64> = (1..=900)
        .filter(|n| n.to_string().starts_with('1'))
        .collect();
    assert_eq!(seqs, expected);
    let first = &server.get("/api/v1/sessions/s1/search?q=word%20500").1["matches"][0];
    assert_eq!(
        (&first["id"], &first["type"]),
        (&json!("e500"), &json!("assistant_chunk"))
    );
    assert!(first["snippet"].as_str().unwrap().contains("word 500"));
    // What lies between two pieces.
    let (_, found) = server.get("/api/v1/sessions/s1/search?q=7%20word%208");
    assert_eq!(found["matches"][0]["seq"], 8, "{found}");
    let (_, resumed) = server.get("/api/v1/sessions/s1/search?q=7%20word%208&after=7&limit=1");
    assert_eq!(resumed["matches"][0]["seq"], 8, "{resumed}");
    let status = |query: &str| server.get(&format!("/api/v1/sessions/s1/search?{query}")).0;
    let seqs_of = |query: &str| -> Vec<u64> {
        let (status, found) = server.get(&format!("/api/v1/sessions/s1/search?{query}"));
        assert_eq!(status, 200, "{found}");
        let matches = found["matches"].as_array().unwrap();
        matches
            .iter()
            .map(|it| it["seq"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(seqs_of("q=word%20500&match=exact"), [500]);
    assert_eq!(seqs_of("q=WORD%20500&match=exact"), [] as [u64; 0]);
    assert_eq!(seqs_of("q=word%205%5B01%5D0%5Cb&match=pattern"), [500, 510]);
    assert_eq!(status("q=%5B&match=pattern"), 400);
    assert_eq!(status("q=x&match=so"), 400);
    assert_eq!(status("q="), 400);
    assert_eq!(status(&format!("q={}", "x".repeat(201))), 400);
    assert_eq!(status("q=x&after=no"), 400);
    assert_eq!(status("q=x&after=901"), 410);
    assert_eq!(server.get("/api/v1/sessions/nowhere/search?q=x").0, 404);
}

#[test]
fn a_body_beside_the_log_is_looked_through_and_one_that_is_gone_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let lines = "a line of the output\n".repeat(20_000);
    let result = |id: &str, word: &str| json!({"id": id, "timestamp": 1, "type": "tool_result", "payload": {"toolCallId": id, "result": format!("{lines}{word}\n{lines}")}});
    let long = [result("one", "a Quokka"), result("two", "a wombat")];
    server.post("s1", &json!(long));
    let search = |query: &str| {
        let (status, found) = server.get(&format!("/api/v1/sessions/s1/search?{query}"));
        assert_eq!(status, 200, "{found}");
        let matches = found["matches"].as_array().unwrap();
        let ids: Vec<Value> = matches.iter().map(|it| it["id"].clone()).collect();
        (Value::from(ids), found["unread"].clone())
    };
    for query in [
        "q=quokka",
        "q=Quokka&match=exact",
        "q=%5BQq%5Duo%2B%5Bk%5D%7B2%7D&match=pattern",
    ] {
        assert_eq!(search(query), (json!(["one"]), json!([])), "{query}");
    }
    assert_eq!(search("q=quokka&match=exact"), (json!([]), json!([])));
    let blobs = dir.path().join("blobs");
    std::fs::rename(&blobs, dir.path().join("away")).unwrap();
    assert_eq!(search("q=quokka"), (json!([]), json!(["one", "two"])));
    // What is shown of it is found all the same.
    assert_eq!(search("q=a%20line"), (json!(["one", "two"]), json!([])));
}

#[test]
fn a_summary_is_of_the_last_event_and_health_names_what_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    server.post("s1", &json!([{"id": "u", "timestamp": 1, "type": "user_message", "turnId": "t", "payload": {"text": "Hello"}}]));
    let summary = |server: &Server| server.get("/api/v1/sessions/s1/summary").1;
    let first = summary(&server);
    assert_eq!(
        (&first["title"], &first["head"]),
        (&json!("Hello"), &json!(1))
    );
    assert_eq!(summary(&server), first);
    server.post("s1", &chunks(1, 9));
    assert_eq!(summary(&server)["head"], 10);
    let health = |server: &Server| server.get("/api/v1/sessions/s1/health").1;
    let well = health(&server);
    assert_eq!((&well["events"], &well["gaps"]), (&json!(10), &json!([])));
    assert_eq!(well["degraded"], false);
    server.kill();
    damage(dir.path(), &[3, 4, 7]);
    server = Server::start(dir.path());
    let ill = health(&server);
    let gap = |from: u64, to: u64| json!({"from": from, "to": to, "why": "disk"});
    assert_eq!(ill["gaps"], json!([gap(3, 4), gap(7, 7)]));
    assert_eq!(
        (&ill["damagedLines"], &ill["events"]),
        (&json!(3), &json!(7))
    );
    assert_eq!(ill["epoch"], well["epoch"]);
}
