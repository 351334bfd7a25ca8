use super::*;

#[test]
fn what_waits_is_told_with_who_sends_it() {
    let url = "http://127.0.0.1:1";
    for (unlocked, other, told) in [
        (
            false,
            None,
            "s.jsonl and are sent by the next pipe, or taken in by the server, once it runs",
        ),
        (
            false,
            Some(url),
            "s.jsonl and are sent by the next pipe with --endpoint http://127.0.0.1:1",
        ),
        (
            true,
            None,
            "no other pipe takes them: `turnreel pipe < \"s.jsonl\"` sends them",
        ),
        (
            true,
            Some(url),
            "no other pipe takes them: `turnreel pipe --endpoint http://127.0.0.1:1 < \"s.jsonl\"` sends them",
        ),
    ] {
        let said = waiting(Path::new("s.jsonl"), unlocked, other);
        assert!(said.ends_with(told), "{said}");
    }
}
