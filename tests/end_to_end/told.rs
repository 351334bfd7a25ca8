//! What a page is told of the session that is shown, and of going to its moments, as of a media element.

use serde_json::{Value, json};

use crate::made_logs::{Writer, log_of};
use crate::made_session::{beginning, open};
use crate::server::Server;
use crate::sessions::with_server;
use crate::stage::on_stage;
use crate::{FEED, SHORT};

#[test]
fn a_page_is_told_whose_session_is_shown_and_that_one_has_no_title() {
    let start = |session: &str, payload: &Value| {
        let mut writer = Writer::new(session);
        writer.event("session_start", &json!({}), payload).take()
    };
    let files = vec![
        (
            "/named",
            start("one", &json!({"agent": "Made 1.0", "title": "Named"})),
        ),
        ("/unnamed", start("two", &json!({"agent": "Made 2.0"}))),
    ];
    on_stage("told_session", FEED, files, async |stage| {
        let tab = &stage.tab;
        tab.run("window.told = []; __test.feed().addEventListener('af-session', ({ detail }) => told.push(detail))")
            .await;
        let none = json!({"title": "", "agent": "", "sessionId": ""});
        let named = json!({"title": "Named", "agent": "Made 1.0", "sessionId": "one"});
        let unnamed = json!({"title": "", "agent": "Made 2.0", "sessionId": "two"});
        stage.show("/named").await;
        stage.show("/unnamed").await;
        let told: Value = tab.eval("told.splice(0)").await;
        assert_eq!(told, json!([named, none, unnamed]));
        tab.run("__test.feed().clear()").await;
        let told: Value = tab.eval("told.splice(0)").await;
        assert_eq!(told, json!([none]), "nothing is shown");
        // What has come since is told, and nothing twice.
        let title = json!({"id": "t", "timestamp": 1_703_001_239_000_u64, "sessionId": "three", "type": "session_start", "payload": {"title": "Later"}});
        tab.run(&format!("const feed = __test.feed(), event = {title}; feed.append({{ ...event, id: 's', payload: {{}} }}); feed.append(event); feed.append({{ ...event, id: 'u' }})"))
            .await;
        let told: Value = tab
            .eval("told.map(({ title, sessionId }) => [title, sessionId])")
            .await;
        assert_eq!(told, json!([["", "three"], ["Later", "three"]]));
    });
}

#[test]
fn every_seek_is_told_and_to_play_gives_a_promise() {
    let files = vec![("/log", log_of("sought", 60))];
    on_stage("told_seeks", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log").await;
        tab.run("await __test.feed().focusFeed(); window.told = []; for (const name of ['seeked', 'play', 'ended']) __test.feed().addEventListener(name, () => told.push(name))")
            .await;
        for (does, n_seeks) in [
            ("feed.seek(1)", 1),
            ("feed.seek(feed.duration)", 1),
            // Where it is already, as media elements have it.
            ("feed.currentTime = feed.duration", 1),
            ("feed.step(-1)", 1),
            ("feed.returnToLive()", 1),
            ("feed.returnToLive()", 0),
            (
                "feed.playbackRate = 1; feed.seek(0); window.begun = feed.play()",
                1,
            ),
            ("feed.seek(2)", 1),
            ("feed.pause()", 0),
        ] {
            let told: Vec<String> = tab
                .eval(&format!("(async () => {{ const feed = __test.feed(); told.length = 0; {does}; await __test.frames(3); return told; }})()"))
                .await;
            let n_told = told.iter().filter(|it| *it == "seeked").count();
            assert_eq!(n_told, n_seeks, "{does}: {told:?}");
        }
        let begun = "window.begun instanceof Promise && window.begun.then(() => true)";
        assert!(tab.eval::<bool>(begun).await);
        // Nobody sought what is played to its end.
        tab.run("told.length = 0; const feed = __test.feed(); feed.playbackRate = 1000; await feed.play()")
            .await;
        tab.wait_for("the end", SHORT, "told.includes('ended')")
            .await;
        let told: Value = tab.eval("told").await;
        assert_eq!(told, json!(["play", "ended"]));
    });
}

#[test]
fn a_token_that_is_set_anew_opens_what_is_asked_from_then_on() {
    with_server("told_token", 120, async |visit, program| {
        let server = Server::start(&program).await;
        server.send("token", &beginning()).await;
        let tab = visit.tab("page").await;
        open(&tab, &server.page_of("token"), 3).await;
        tab.run(
            "window.sent = []; const real = window.fetch;
             window.fetch = (to, how) => { sent.push(new Headers(how?.headers ?? to.headers).get('authorization')); return real.call(window, to, how); };
             __test.feed().token = 'another'; await __test.feed().exportAs('jsonl').catch(() => {});",
        )
        .await;
        let sent: Vec<String> = tab.eval("sent.filter((it) => it)").await;
        assert_eq!(sent, ["Bearer another"]);
    });
}
