//! Pictures that were sent along: shown from their data alone, live and from a file alike, and enlarged by a key.

use serde_json::json;

use crate::SHORT;
use crate::compare::difference;
use crate::made_logs::{PICTURE, Writer};
use crate::server::Server;
use crate::sessions::{pipe_all, settle, with_server};

#[test]
fn a_picture_is_shown_the_same_live_and_dropped_and_what_only_claims_to_be_one_is_not() {
    with_server("pictures", 120, async |visit, program| {
        let server = Server::start(&program).await;
        let mut writer = Writer::new("pictures");
        let place = json!({"turnId": "t1"});
        writer.event("turn_start", &place, &json!({"trigger": "user"}));
        // What is behind the end of a picture changes nothing, and makes this one travel by reference.
        let long = format!("{}{}", PICTURE.trim_end_matches('='), "A".repeat(40_000));
        let script =
            "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIG9ubG9hZD0iYWxlcnQoMSkiLz4=";
        let attachments = json!([
            {"name": "small.png", "mediaType": "image/png", "data": PICTURE},
            {"name": "long.png", "mediaType": "image/png", "data": long},
            {"name": "script.svg", "mediaType": "image/svg+xml", "data": script},
            {"name": "elsewhere.png", "mediaType": "image/png", "ref": "https://example.com/x.png"},
            {"name": "broken.png", "mediaType": "image/png", "data": format!("{}\" onerror=alert(1)", &PICTURE[..60])},
        ]);
        writer.event(
            "user_message",
            &place,
            &json!({"text": "Look", "attachments": attachments}),
        );
        writer.event("turn_end", &place, &json!({"outcome": "completed"}));
        let n_events = usize::try_from(writer.n_events()).expect("a small number");
        let log = writer.take();
        pipe_all(&server, &log).await;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("pictures.events.jsonl");
        std::fs::write(&file, &log).expect("the log is written");

        let tab = visit.tab("page").await;
        let mut shown: Vec<String> = Vec::new();
        for dropped in [false, true] {
            tab.goto("about:blank").await;
            if dropped {
                tab.goto(&format!("{}/#token={}", server.url, server.token))
                    .await;
                tab.wait_for("the place to drop a file", SHORT, "__test.one('.drop')")
                    .await;
                tab.drop_files(&[&file]).await;
            } else {
                tab.goto(&server.page_of("pictures")).await;
            }
            settle(&tab, "the session", n_events).await;
            tab.wait_for("both pictures", SHORT, "__test.all('.picture__image').filter((image) => image.complete && image.naturalWidth === 8).length === 2").await;
            let names: Vec<String> = tab
                .eval("__test.all('.attachment__name').map((name) => name.textContent)")
                .await;
            assert_eq!(
                names,
                [
                    "small.png",
                    "long.png",
                    "script.svg",
                    "elsewhere.png",
                    "broken.png"
                ]
            );
            shown.push(
                tab.eval("__test.feed().serializeRows({ maskTimes: true })")
                    .await,
            );
        }
        assert_eq!(difference("live and dropped", &shown[0], &shown[1]), None);

        tab.run("__test.one('.picture').focus()").await;
        tab.press("Enter").await;
        tab.wait_for(
            "the picture to be large",
            SHORT,
            "__test.one('.attachment--large .picture')?.getAttribute('aria-expanded') === 'true'",
        )
        .await;
        tab.run("__test.one('.attachment--large .picture').click()")
            .await;
        tab.wait_for("it to be small", SHORT, "!__test.one('.attachment--large')")
            .await;
        let elsewhere = tab
            .requests()
            .iter()
            .any(|sent| sent.url.contains("example.com"));
        assert!(!elsewhere, "nothing is asked of anybody else");
    });
}
