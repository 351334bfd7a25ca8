use super::heads::LINE_BYTES;
use super::*;

/// However the bytes are cut.
fn odd(text: &str) -> bool {
    let mut whole = Heads::default();
    whole.see(text.as_bytes());
    for at in 0..text.len() {
        let mut cut = Heads::default();
        cut.see(&text.as_bytes()[..at]);
        cut.see(&text.as_bytes()[at..]);
        assert_eq!(cut.odd, whole.odd, "cut at {at}: {text:?}");
    }
    whole.odd
}

#[test]
fn line_ends_without_cr_and_two_lengths_are_seen_in_heads_only() {
    assert!(!odd("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert!(odd("GET / HTTP/1.1\nHost: a\r\n\r\n"));
    assert!(odd("GET / HTTP/1.1\r\nHost: a\r\n\n"));
    let both = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\nContent-LENGTH: 5\r\n\r\n";
    assert!(odd(both));
    let room = " ".repeat(100);
    assert!(odd(&format!(
        "POST / HTTP/1.1\r\nContent-Length:{room}5\r\nTransfer-Encoding: chunked\r\n\r\n"
    )));
    let body = "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\n{\n\n}";
    assert!(!odd(body));
    assert!(!odd(&format!("{body}{body}GET / HTTP/1.1\r\n\r\n")));
    assert!(odd(&format!("{body}GET / HTTP/1.1\n")));
    // Who asks for another protocol may not get it, and goes on with requests.
    let socket = "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n";
    assert!(odd(&format!("{socket}GET / HTTP/1.1\n\r\n")));
}

#[test]
fn heads_behind_bodies_in_chunks_are_seen_and_nothing_within_them() {
    let chunked = |body: &str, next: &str| {
        odd(&format!(
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{body}{next}"
        ))
    };
    let next = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    for body in [
        "2\r\n\n\n\r\n0\r\n\r\n",
        "0\r\n\r\n",
        "1;a=b\r\n\n\r\n000A \r\n0\r\n\r\n\n\n\n\n\n\r\n0\r\nExpires: 1\r\n\r\n",
    ] {
        assert!(!chunked(body, next), "{body:?}");
        assert!(chunked(body, "GET / HTTP/1.1\nHost: a\r\n\r\n"), "{body:?}");
        let both = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n";
        assert!(chunked(body, both), "{body:?}");
    }
    let zeros = "0".repeat(LINE_BYTES + 6);
    for body in [
        format!("{zeros}5\r\nGET /\r\n0\r\n\r\n"),
        "2\n\n\n\r\n0\r\n\r\n".to_owned(),
        "2\r\n\n\nx\r\n0\r\n\r\n".to_owned(),
        "2x\r\n\n\n\r\n0\r\n\r\n".to_owned(),
        "0\r\na: b\n\r\n".to_owned(),
    ] {
        assert!(chunked(&body, next), "{body:?}");
    }
    let mut heads = Heads::default();
    heads.see(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n");
    assert!(heads.is_within_body() && !heads.is_within());
    heads.see(b"\r\n");
    assert!(!heads.is_within_body() && !heads.is_within());
}

#[test]
fn who_is_idle_is_not_within_a_head() {
    let mut heads = Heads::default();
    assert!(!heads.is_within());
    heads.see(b"GET / HTTP/1.1\r\nHo");
    assert!(heads.is_within());
    heads.see(b"st: a\r\n\r\n");
    assert!(!heads.is_within());
    heads.see(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{");
    assert!(!heads.is_within());
    assert!(heads.is_within_body());
    heads.see(b"}G");
    assert!(!heads.is_within_body());
    assert!(heads.is_within());
}
