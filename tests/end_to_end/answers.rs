//! What an agent asks is found and answered from the page: by keys, by choice and by word, again where it failed, and only by
//! who may.

use serde_json::{Value, json};

use crate::SHORT;
use crate::browser::Tab;
use crate::compare::difference;
use crate::made_session::{beginning, event, open, rows_of};
use crate::server::{Server, page_of};
use crate::sessions::with_server;

/// Asks in the session `given` to be allowed these calls, and opens it.
async fn ask(server: &Server, tab: &Tab, calls: &[(&str, Value)]) {
    for (tool, args) in calls {
        let mut payload = json!({"requestId": format!("ask-{tool}"), "toolName": tool, "args": args, "options": []});
        if *tool == "ExitPlanMode" {
            payload["kind"] = json!("plan");
        }
        let event = event(&format!("e-{tool}"), "permission_request", &payload);
        server.send("given", &json!([event])).await;
    }
    open(tab, &server.page_of("given"), 2 + calls.len()).await;
}

/// A hook asks before anything else tells of the call: what is to be done stands in the request alone.
#[test]
fn who_answers_sees_what_is_to_be_done() {
    with_server("given", 120, async |visit, program| {
        let server = Server::start(&program).await;
        server.send("given", &beginning()).await;
        let asked = [
            (
                "Edit",
                json!({"file_path": "/w/lib.rs", "old_string": "fn a() {}", "new_string": "fn b() {}"}),
            ),
            (
                "mcp__db__query",
                json!({"sql": "drop table users", "db": "prod", "plan": "none"}),
            ),
            (
                "ExitPlanMode",
                json!({"plan": "# Steps\n\n1. Move it\n2. <img src=x onerror=alert(1)>"}),
            ),
            (
                "Bash",
                json!({"command": "ls", "description": "Look around"}),
            ),
        ];
        let tab = visit.tab("page").await;
        ask(&server, &tab, &asked).await;
        tab.run("await __test.rest()").await;
        let cards: Vec<String> = tab
            .eval("__test.all('.asked--open').map((card) => card.innerText.replace(/\\s+/g, ' '))")
            .await;
        let says = |at: usize, words: &[&str]| {
            for word in words {
                assert!(cards[at].contains(word), "{word}: {}", cards[at]);
            }
        };
        says(
            0,
            &[
                "Allow Edit?",
                "lib.rs",
                "old_string fn a() {}",
                "new_string fn b() {}",
            ],
        );
        says(
            1,
            &[
                "Allow mcp__db__query?",
                "sql drop table users",
                "db prod",
                "plan none",
            ],
        );
        says(
            2,
            &[
                "Go on with this plan?",
                "Steps",
                "Move it",
                "<img src=x onerror=alert(1)>",
            ],
        );
        says(3, &["Allow Bash?", "ls", "Look around"]);
        for argument in ["command ls", "description"] {
            assert!(
                !cards[3].contains(argument),
                "it stands above: {}",
                cards[3]
            );
        }
        let heading: bool = tab
            .eval("__test.all('.ask__given')[2].querySelector('h1, h2, h3, h4, h5, h6, [role=heading]') !== null")
            .await;
        assert!(heading, "a plan is Markdown");
    });
}

#[test]
fn who_answers_sees_what_would_be_written_and_the_script_that_would_run() {
    with_server("given_diff", 120, async |visit, program| {
        let server = Server::start(&program).await;
        server.send("given", &beginning()).await;
        let diff =
            "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,3 +1,3 @@\n alpha\n-beta\n+delta\n gamma\n";
        let asked = [
            (
                "apply_patch",
                json!({"paths": ["/w/notes.txt"], "diff": diff}),
            ),
            (
                "shell",
                json!({"command": "/bin/bash -lc 'rm -f notes.txt'"}),
            ),
        ];
        let tab = visit.tab("page").await;
        ask(&server, &tab, &asked).await;
        tab.wait_for(
            "what would be written, as a diff",
            SHORT,
            "!!__test.one('.ask__given .diff .diff__line--added')",
        )
        .await;
        let cards: Vec<String> = tab
            .eval("__test.all('.asked--open').map((card) => card.innerText.replace(/\\s+/g, ' '))")
            .await;
        assert!(cards[0].contains("delta"), "{}", cards[0]);
        assert!(!cards[0].contains("paths"), "{}", cards[0]);
        assert!(cards[1].contains("rm -f notes.txt"), "{}", cards[1]);
        assert!(!cards[1].contains("bash"), "{}", cards[1]);
    });
}

#[test]
fn what_an_agent_asks_is_found_and_answered_with_the_keyboard_alone() {
    with_server("keyboard", 180, async |visit, program| {
        let server = Server::start(&program).await;
        server.send("ask", &beginning()).await;
        server.send("ask", &json!([permission("old")])).await;
        let text: Vec<Value> = (0..60)
            .map(|n| {
                event(
                    &format!("m{n}"),
                    "assistant_done",
                    &json!({"text": format!("Step {n}"), "messageId": format!("m{n}")}),
                )
            })
            .collect();
        server.send("ask", &Value::from(text)).await;
        let tab = visit.tab("page").await;
        open(&tab, &server.page_of("ask"), 64).await;
        tab.wait_for(
            "the list to say who waits, and for what",
            SHORT,
            "__test.one('.session[data-needs-you]')?.textContent.includes('Allow Bash: rm -rf old?')",
        )
        .await;
        tab.run("await __test.rest()").await;
        let in_feed = "!!__test.feed().shadowRoot.activeElement?.closest('.scroller')";
        for _ in 0..30 {
            if tab.eval::<bool>(in_feed).await {
                break;
            }
            tab.press("Tab").await;
        }
        assert!(tab.eval::<bool>(in_feed).await, "Tab leads into the feed");
        tab.press("p").await;
        let focused = "__test.feed().shadowRoot.activeElement";
        tab.wait_for(
            "the request to have the focus",
            SHORT,
            &format!("{focused}?.classList.contains('asked--open')"),
        )
        .await;
        for _ in 0..6 {
            tab.press("Tab").await;
            if tab
                .eval::<bool>(&format!("{focused}.textContent === 'Allow once'"))
                .await
            {
                break;
            }
        }
        let buttons: Vec<String> = tab
            .eval("__test.all('.asked--open .button').map((button) => button.textContent)")
            .await;
        assert_eq!(
            buttons,
            [
                "Allow once",
                "Always allow – “Deny for now”",
                "Deny",
                "Deny"
            ],
            "each says what it sends; an option that is not understood is not offered"
        );
        tab.press("Enter").await;
        tab.wait_for(
            "the card to become one line",
            SHORT,
            "__test.one('.asked:not(.asked--open)')?.textContent.includes('Allowed once rm -rf old')",
        )
        .await;
        let stays: bool = tab
            .eval(&format!("!!{focused}?.classList.contains('asked')"))
            .await;
        assert!(stays, "the row keeps the focus that its button had");
        assert_eq!(
            resolved(&server, "ask").await,
            [json!({"requestId": "old", "decision": "allow", "scope": "once", "by": "user"})]
        );
        tab.wait_for(
            "the list to say that nobody waits",
            SHORT,
            "!__test.one('.session[data-needs-you]')",
        )
        .await;
        tab.press("G").await;
        tab.wait_for(
            "the end",
            SHORT,
            "__test.text(__test.feed()).includes('Step 59') && __test.one('.pill').hidden",
        )
        .await;
    });
}

fn permission(id: &str) -> Value {
    event(
        id,
        "permission_request",
        &json!({"requestId": id, "toolName": "Bash", "args": {"command": format!("rm -rf {id}")}, "reason": "It is old.",
            "options": [{"id": "1", "label": "Allow once", "kind": "allow_once"}, {"id": "2", "label": "Deny for now", "kind": "allow_always"},
                {"id": "3", "label": "Deny", "kind": "reject_once"}, {"id": "4", "label": "Odd", "kind": "odd"}]}),
    )
}

async fn events_of(server: &Server, session: &str) -> Vec<Value> {
    let path = format!("/api/v1/sessions/{session}/events");
    let (_, body) = server.get(&path).await;
    let page: Value = serde_json::from_slice(&body).expect("a page is JSON");
    page["events"].as_array().expect("events").clone()
}

pub(crate) async fn resolved(server: &Server, session: &str) -> Vec<Value> {
    let events = events_of(server, session).await;
    let answers = events.into_iter().filter(|event| {
        event["type"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("_resolved"))
    });
    answers.map(|mut event| event["payload"].take()).collect()
}

#[test]
fn questions_are_answered_by_choice_and_by_word_and_rejected() {
    with_server("questions", 180, async |visit, program| {
        let server = Server::start(&program).await;
        let questions = json!([
            {"id": "a", "header": "TLS", "text": "Which clients?", "options": [{"label": "None"}, {"label": "Old ones", "description": "two"}]},
            {"id": "b", "text": "Which files?", "multi": true, "options": [{"label": "a.rs"}, {"label": "b.rs"}]},
            {"id": "c", "text": "The key?", "secret": true, "options": []},
        ]);
        let asked = |id: &str| {
            event(
                id,
                "question_request",
                &json!({"requestId": id, "questions": questions}),
            )
        };
        server.send("q", &beginning()).await;
        server.send("q", &json!([asked("q1")])).await;
        let tab = visit.tab("page").await;
        open(&tab, &server.page_of("q"), 4).await;
        tab.wait_for(
            "the means to answer",
            SHORT,
            "__test.all('.ask__here .button').length === 2",
        )
        .await;
        let press = async |label: &str| {
            tab.run(&format!("__test.all('.asked--open .button').find((button) => button.textContent === '{label}').click()")).await;
        };
        press("Answer").await;
        tab.wait_for(
            "a word that something is missing",
            SHORT,
            "__test.text(__test.one('.ask__failed')).includes('has no answer yet')",
        )
        .await;
        tab.run("const [one, two, other] = __test.all('.ask__here input'); two.click();")
            .await;
        press("Answer").await;
        tab.wait_for(
            "the focus at the first question that has no answer",
            SHORT,
            "__test.feed().shadowRoot.activeElement === __test.all('.ask__here input[type=checkbox]')[0]",
        )
        .await;
        tab.run("const boxes = __test.all('.ask__here input[type=checkbox]'); boxes[0].click(); boxes[1].click();").await;
        tab.run("__test.all('.ask__here input.field')[1].focus()")
            .await;
        tab.type_text("c.rs").await;
        tab.wait_for(
            "what is written to be chosen",
            SHORT,
            "__test.all('.ask__here input[type=checkbox]')[2].checked",
        )
        .await;
        tab.run("__test.one('.ask__here input[type=password]').focus()")
            .await;
        tab.type_text("hunter2").await;
        press("Answer").await;
        tab.wait_for(
            "one line",
            SHORT,
            "__test.one('.asked:not(.asked--open)')?.textContent.includes('Answered')",
        )
        .await;
        assert_eq!(
            resolved(&server, "q").await,
            [
                json!({"requestId": "q1", "answers": [["Old ones"], ["a.rs", "b.rs", "c.rs"], ["hunter2"]], "outcome": "answered"})
            ]
        );
        tab.run("__test.one('.asked [aria-expanded]').click(); await __test.frames(3)")
            .await;
        let shown: bool = tab
            .eval("__test.text(__test.feed()).includes('hunter2')")
            .await;
        assert!(!shown, "what is secret is not shown");
        server.send("q", &json!([asked("q2")])).await;
        tab.wait_for(
            "the next",
            SHORT,
            "__test.all('.asked--open .button').length === 2",
        )
        .await;
        press("Decline").await;
        tab.wait_for("one more line", SHORT, "__test.all('.asked:not(.asked--open)').some((row) => row.textContent.includes('Declined'))").await;
    });
}

#[test]
fn an_answer_that_fails_can_be_given_again_and_one_that_was_late_is_told_the_first() {
    with_server("failing", 180, async |visit, program| {
        let server = Server::start(&program).await;
        server.send("f", &beginning()).await;
        server
            .send("f", &json!([permission("p1"), permission("p2")]))
            .await;
        let tab = visit.tab("page").await;
        open(&tab, &server.page_of("f"), 5).await;
        tab.wait_for(
            "the means to answer",
            SHORT,
            "__test.all('.asked--open .button--primary').length === 2",
        )
        .await;
        // What the server would say when its disk is full, and when somebody else was faster.
        tab.run(
            "const real = window.fetch; window.__answers = [[507, { error: { message: 'the disk is full' } }],
                [409, { outcome: { requestId: 'p1', decision: 'deny', by: 'hook' }, error: { message: 'x' } }]];
            window.fetch = (address, init) => {
                const next = init?.method === 'POST' ? window.__answers.shift() : undefined;
                return next ? Promise.resolve(new Response(JSON.stringify(next[1]), { status: next[0] })) : real(address, init);
            };",
        )
        .await;
        let press = "__test.one('.asked--open .button--primary').click()";
        tab.run(press).await;
        tab.wait_for(
            "the reason",
            SHORT,
            "__test.text(__test.one('[role=alert].ask__failed')).includes('the disk is full')",
        )
        .await;
        tab.run(press).await;
        tab.wait_for("the first answer", SHORT, "__test.text(__test.one('.asked--open')).includes('Already answered: Denied by a hook')").await;
        // The page around the element may take an answer over.
        tab.run("document.addEventListener('af-permission', (event) => { window.__taken = event.detail; event.preventDefault(); }, { once: true });").await;
        tab.run(press).await;
        tab.wait_for(
            "the page to have it",
            SHORT,
            "window.__taken?.requestId === 'p1' && window.__taken.decision === 'allow'",
        )
        .await;
        assert!(resolved(&server, "f").await.is_empty(), "nothing was sent");
        tab.run(press).await;
        tab.wait_for(
            "one line",
            SHORT,
            "__test.all('.asked:not(.asked--open)').length === 1",
        )
        .await;
        // Denied with words.
        tab.run(
            "__test.one('.asked--open summary').click(); __test.one('.asked--open .field').focus()",
        )
        .await;
        tab.type_text("Use trash instead").await;
        tab.press("Enter").await;
        tab.wait_for(
            "two lines",
            SHORT,
            "__test.all('.asked:not(.asked--open)').length === 2",
        )
        .await;
        let last = resolved(&server, "f").await.pop();
        assert_eq!(
            last,
            Some(
                json!({"requestId": "p2", "decision": "deny", "by": "user", "message": "Use trash instead"})
            )
        );
    });
}

/// No answer reaches an agent in a pipe, whoever gives it.
#[test]
fn what_is_answered_where_the_agent_runs_offers_nothing_here() {
    with_server("elsewhere", 180, async |visit, program| {
        let server = Server::start(&program).await;
        server.send("r", &beginning()).await;
        let mut permission = permission("p1");
        permission["payload"]["answerable"] = json!(false);
        let question = event(
            "q1",
            "question_request",
            &json!({"requestId": "q1", "answerable": false, "questions": [{"id": "a", "text": "Which?", "options": [{"label": "One"}]}]}),
        );
        server.send("r", &json!([permission, question])).await;
        let tab = visit.tab("owner").await;
        open(&tab, &server.page_of("r"), 5).await;
        let told = "__test.all('.asked--open').filter((it) => __test.text(it).toLowerCase().includes('answered where the agent runs')).length === 2 && !__test.one('.asked--open :is(button, input)')";
        tab.wait_for("both to say where", SHORT, told).await;
        let waits = "!!__test.visible('.session[data-session-id=\"r\"][data-needs-you]')";
        tab.wait_for("the list to say that it waits", SHORT, waits)
            .await;
    });
}

#[test]
fn answers_are_offered_only_to_who_may_give_them() {
    with_server("readers", 180, async |visit, program| {
        let server = Server::start(&program).await;
        server.send("r", &beginning()).await;
        server.send("r", &json!([permission("p1")])).await;
        let reader = server.make_token("read").await;
        let tab = visit.tab("reader").await;
        open(&tab, &page_of(&server.url, &reader, "r"), 4).await;
        tab.run("await __test.rest()").await;
        let words =
            "__test.text(__test.one('.asked--open')).includes('answered where the agent runs')";
        assert!(tab.eval::<bool>(words).await, "it says where");
        let n_buttons = "__test.all('.asked--open button').length";
        assert_eq!(tab.eval::<usize>(n_buttons).await, 0);

        let owner = visit.tab("owner").await;
        open(&owner, &server.page_of("r"), 4).await;
        owner
            .wait_for(
                "the means to answer",
                SHORT,
                "__test.all('.asked--open .button').length > 1",
            )
            .await;
        owner
            .run("__test.feed().setAttribute('readonly', '')")
            .await;
        owner
            .wait_for(
                "them to go",
                SHORT,
                &format!("{n_buttons} === 0 && {words}"),
            )
            .await;
        // What the session shows is the same for both.
        owner.run("__test.feed().removeAttribute('readonly')").await;
        owner
            .wait_for("them to come back", SHORT, &format!("{n_buttons} > 1"))
            .await;
        let differs = difference(
            "reader and owner",
            &rows_of(&tab).await,
            &rows_of(&owner).await,
        );
        assert_eq!(differs, None);

        // The token is known when this tab loads the page again, and to no other.
        open(&owner, &format!("{}/?again#session=r", server.url), 4).await;
        let stranger = visit.tab("stranger").await;
        stranger.goto(&format!("{}/#session=r", server.url)).await;
        stranger
            .wait_for(
                "the page to ask for a token",
                SHORT,
                "!!__test.visible('input[type=password]')",
            )
            .await;
        stranger.expect_problems("401");
    });
}
