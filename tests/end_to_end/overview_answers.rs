//! Answers given in the overview: where a row shows all that is asked, to what it shows, and by who may.

use serde_json::{Value, json};

use crate::SHORT;
use crate::answers::resolved;
use crate::browser::Tab;
use crate::overview::{begun, events};
use crate::server::Server;
use crate::sessions::{CATCH_UP_LIMIT, with_server};

/// What can be pressed for each session that waits.
const SEEN: &str = "Object.fromEntries([...document.querySelectorAll('.answers')].map((answers) => [answers.dataset.answers, [...answers.querySelectorAll('button')].filter((button) => button.checkVisibility({ visibilityProperty: true })).map((button) => button.textContent)]))";

/// A session that asks this.
pub(crate) async fn ask(server: &Server, session: &str, kind: &'static str, payload: Value) {
    let mut told = begun(session);
    told.push((kind, payload));
    server.send(session, &events(session, 0, &told)).await;
}

/// A permission that is asked for to run this.
pub(crate) fn command(request: &str, command: &str) -> Value {
    json!({"requestId": request, "toolName": "Bash", "args": {"command": command}})
}

async fn shows(tab: &Tab, session: &str, wanted: &[&str]) {
    let wanted = json!(wanted);
    let seen = format!("JSON.stringify({SEEN}['{session}'] ?? []) === JSON.stringify({wanted})");
    let what = format!("{session} to offer {wanted}");
    tab.wait_for(&what, SHORT, &seen).await;
}

/// The button of a session with this word.
fn button(session: &str, word: &str) -> String {
    format!(
        "[...document.querySelectorAll('.answers[data-answers=\"{session}\"] button')].find((button) => button.textContent === '{word}')"
    )
}

#[test]
fn what_a_row_shows_whole_is_answered_there() {
    with_server("in-rows", 120, async |visit, program| {
        let server = Server::start(&program).await;
        ask(
            &server,
            "allow",
            "permission_request",
            command("r1", "rm -rf target"),
        )
        .await;
        let question = json!({"text": "Keep TLS 1.0?", "options": [{"label": "Keep"}, {"label": "Drop", "description": "Two clients still use it"}]});
        let questions = json!({"requestId": "r2", "questions": [question]});
        ask(&server, "choose", "question_request", questions).await;
        let long = command("r3", &"x".repeat(200));
        ask(&server, "long", "permission_request", long).await;
        let mut more = command("r4", "ls");
        more["reason"] = json!("outside the sandbox");
        ask(&server, "more", "permission_request", more).await;
        let mut elsewhere = command("r5", "ls");
        elsewhere["answerable"] = json!(false);
        ask(&server, "elsewhere", "permission_request", elsewhere).await;
        let unseen = command("r7", "echo a\u{202e}b");
        ask(&server, "unseen", "permission_request", unseen).await;

        let tab = visit.tab("overview").await;
        tab.look(false, (1440, 900)).await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        let listed = "document.querySelectorAll('.session[data-needs-you]').length === 6";
        tab.wait_for("the sessions", CATCH_UP_LIMIT, listed).await;
        shows(&tab, "allow", &["Allow once", "Deny"]).await;
        shows(&tab, "choose", &["Keep", "Drop", "Answer…"]).await;
        shows(&tab, "long", &["Answer…"]).await;
        shows(&tab, "more", &["Answer…"]).await;
        shows(&tab, "elsewhere", &[]).await;
        // Nothing of what is allowed here is hidden.
        let code: String = tab
            .eval("document.querySelector('.session[data-session-id=unseen] .session__code').textContent")
            .await;
        assert_eq!(code, "echo aU+202Eb");
        // Each lies in its own row, below its line.
        let astray: Vec<String> = tab.eval("[...document.querySelectorAll('.answers')].filter((answers) => { const row = document.querySelector(`.session[data-session-id=${answers.dataset.answers}]`).closest('.sessions__item').getBoundingClientRect(), line = document.querySelector(`.session[data-session-id=${answers.dataset.answers}] .session__now`).getBoundingClientRect(), box = answers.getBoundingClientRect(); return box.top < line.bottom || box.bottom > row.bottom; }).map((answers) => answers.dataset.answers)").await;
        assert!(astray.is_empty(), "{astray:?}");

        // By the pointer; the keys then go on from the row.
        tab.run("await new Promise((done) => setTimeout(done, 600))")
            .await;
        tab.click(&button("allow", "Allow once")).await;
        let answered = "!document.querySelector('.answers[data-answers=allow]')";
        tab.wait_for("the answer to be taken", SHORT, answered)
            .await;
        let once = json!({"requestId": "r1", "decision": "allow", "scope": "once", "by": "user"});
        assert_eq!(resolved(&server, "allow").await, [once]);
        tab.wait_for(
            "the row to have the keys",
            SHORT,
            "document.activeElement.id === 'sessions-rows' && document.querySelector('.session[data-at]')?.dataset.sessionId === 'allow'",
        )
        .await;
        assert!(
            tab.eval::<bool>("!document.querySelector('[data-open]')")
                .await,
            "nothing was opened"
        );

        // By keys.
        tab.run(&format!("{}.focus()", button("choose", "Drop")))
            .await;
        tab.press("Enter").await;
        let answered = "!document.querySelector('.answers[data-answers=choose]')";
        tab.wait_for("the answer to be taken", SHORT, answered)
            .await;
        let drop = json!({"requestId": "r2", "answers": [["Drop"]], "outcome": "answered"});
        assert_eq!(resolved(&server, "choose").await, [drop]);

        // In a narrow window the line is cut, and nobody allows the half of it.
        let cut = command("r6", &format!("rm -rf target && {}", "y".repeat(60)));
        ask(&server, "cut", "permission_request", cut).await;
        shows(&tab, "cut", &["Allow once", "Deny"]).await;
        tab.look(false, (760, 900)).await;
        shows(&tab, "cut", &["Answer…"]).await;
        tab.click(&button("cut", "Answer…")).await;
        let opened = "new URLSearchParams(location.hash.slice(1)).get('session') === 'cut'";
        tab.wait_for("the session", SHORT, opened).await;
    });
}

#[test]
fn an_answer_goes_to_what_its_button_stood_for() {
    with_server("read-first", 120, async |visit, program| {
        let server = Server::start(&program).await;
        ask(&server, "s", "permission_request", command("r1", "ls")).await;
        let tab = visit.tab("overview").await;
        tab.look(false, (1440, 900)).await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        shows(&tab, "s", &["Allow once", "Deny"]).await;
        tab.run("await new Promise((done) => setTimeout(done, 600)); window.old = document.querySelector('.answers button');").await;
        // Another request comes in the place of the first: what is pressed at that moment was not read.
        let next = json!([
            (
                "permission_resolved",
                json!({"requestId": "r1", "decision": "deny", "by": "user"})
            ),
            ("permission_request", command("r2", "rm -rf /")),
        ]);
        let next: Vec<(String, Value)> = serde_json::from_value(next).expect("pairs");
        let next: Vec<(&str, Value)> = next
            .iter()
            .map(|(kind, it)| (&**kind, it.clone()))
            .collect();
        tab.run("window.pressed = new Promise((done) => { const look = () => { const button = document.querySelector('.answers button'); if (button && button !== window.old && button.checkVisibility({ visibilityProperty: true })) { button.click(); done(true); } else requestAnimationFrame(look); }; look(); });").await;
        server.send("s", &events("s", 3, &next)).await;
        tab.run("await window.pressed; await __test.frames(10);")
            .await;
        let told = resolved(&server, "s").await;
        assert_eq!(told.len(), 1, "{told:?}");
        tab.run("await new Promise((done) => setTimeout(done, 600))")
            .await;
        tab.click(&button("s", "Deny")).await;
        tab.wait_for(
            "the answer to be taken",
            SHORT,
            "!document.querySelector('.answers')",
        )
        .await;
        assert_eq!(resolved(&server, "s").await.len(), 2);

        // Who may only read is offered none.
        ask(&server, "t", "permission_request", command("r1", "ls")).await;
        let reader = server.make_token("read").await;
        let tab = visit.tab("reader").await;
        tab.look(false, (1440, 900)).await;
        tab.goto(&format!("{}/#token={reader}", server.url)).await;
        let listed = "!!document.querySelector('.session[data-needs-you]')";
        tab.wait_for("the session", CATCH_UP_LIMIT, listed).await;
        assert!(
            tab.eval::<bool>("!document.querySelector('.answers')")
                .await
        );
    });
}
