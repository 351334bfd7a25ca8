//! What a screen reader is told: every row has a name, every button says what it does, and what ends or waits is spoken.

use serde_json::{Value, json};

use crate::made_logs::{every_kind, log_of};
use crate::made_session::{beginning, event, open};
use crate::server::Server;
use crate::sessions::{pipe_all, with_server};
use crate::stage::on_stage;
use crate::{FEED, SHORT};

/// Gathers all that live regions say from now on.
const LISTEN: &str = "window.__heard = [];
    for (const region of __test.all('[role=log], [role=alert], [role=status], [aria-live]')) {
        new MutationObserver(() => region.textContent && __heard.push(region.textContent))
            .observe(region, { childList: true, characterData: true, subtree: true });
    }";

/// A command that runs.
fn call() -> Value {
    let call = json!({"toolCallId": "c", "toolName": "Bash", "args": {"command": "make"}});
    event("c", "tool_call", &call)
}

/// What became of it.
fn result() -> Value {
    event(
        "d",
        "tool_result",
        &json!({"toolCallId": "c", "result": "done"}),
    )
}

#[test]
fn rows_and_buttons_have_names_and_the_feed_is_one() {
    with_server("named", 120, async |visit, program| {
        let server = Server::start(&program).await;
        let mut log = every_kind("named");
        let n_events = usize::try_from(log.n_events()).expect("a small number");
        pipe_all(&server, &log.take()).await;
        let tab = visit.tab("page").await;
        open(&tab, &server.page_of("named"), n_events).await;
        tab.run("__test.feed().setAttribute('verbosity', 'verbose'); await __test.rest();")
            .await;
        for _ in 0..6 {
            let told = tab.told().await;
            let with = |role: &'static str| told.iter().filter(move |(is, _)| is == role);
            assert_eq!(with("feed").count(), 1);
            assert!(with("article").count() > 3);
            for (role, name) in &told {
                let must = [
                    "article", "button", "textbox", "checkbox", "radio", "tab", "link", "feed",
                ];
                assert!(
                    !must.contains(&role.as_str()) || !name.trim().is_empty(),
                    "a {role} has no name: {told:?}"
                );
            }
            tab.run("const s = __test.feed().scroller; s.dispatchEvent(new WheelEvent('wheel')); s.scrollTop -= 600; await __test.rest();")
                .await;
        }
    });
}

#[test]
fn parts_of_an_answer_are_told_apart_and_prompts_say_what_they_ask() {
    with_server("told apart", 120, async |visit, program| {
        let server = Server::start(&program).await;
        server.send("apart", &beginning()).await;
        let text = "First it was *built*.\n\nThen it ran.\n\n```sh\nmake\n```\n";
        let done = event("d", "assistant_done", &json!({"text": text, "part": 1}));
        let end = event("e", "turn_end", &json!({"outcome": "completed"}));
        server.send("apart", &json!([done, end])).await;
        let tab = visit.tab("page").await;
        open(&tab, &server.page_of("apart"), 5).await;
        tab.wait_for(
            "the answer",
            SHORT,
            "__test.all('.assistant-text').length === 3",
        )
        .await;
        let names: Vec<String> = tab
            .eval("__test.all('.assistant-text').map((row) => row.ariaLabel)")
            .await;
        let expected = ["Answer, First it was built.", "Then it ran.", "code, make"];
        assert_eq!(names, expected);
        let head: String = tab.eval("__test.one('.prompt__who').ariaLabel").await;
        assert_eq!(head, "You: Clean up, please");
    });
}

#[test]
fn a_call_that_ran_before_the_page_came_is_spoken_of_when_it_ends() {
    with_server("ran before", 120, async |visit, program| {
        let server = Server::start(&program).await;
        server.send("ran", &beginning()).await;
        server.send("ran", &json!([call()])).await;
        let tab = visit.tab("page").await;
        open(&tab, &server.page_of("ran"), 4).await;
        tab.run(LISTEN).await;
        server.send("ran", &json!([result()])).await;
        let said = "__heard.some((said) => said.includes('Bash finished'))";
        tab.wait_for("its end to be spoken of", SHORT, said).await;
    });
}

#[test]
fn a_request_is_spoken_of_and_counted_while_the_reader_looks_back() {
    with_server("heard back", 120, async |visit, program| {
        let server = Server::start(&program).await;
        server.send("back", &beginning()).await;
        let tab = visit.tab("page").await;
        open(&tab, &server.page_of("back"), 3).await;
        tab.run("await __test.rest(); __test.feed().viewAsOf(1); await __test.rest()")
            .await;
        let n_rows: usize = tab.eval("__test.feed().rowCount").await;
        tab.run(LISTEN).await;
        let ask = |id: &str, tool: &str| {
            let asked = json!({"requestId": id, "toolName": tool, "args": {"command": "rm"}});
            json!([event(id, "permission_request", &asked)])
        };
        server.send("back", &ask("p", "Bash")).await;
        let said = "__heard.some((said) => said.includes('Bash waits for permission'))";
        tab.wait_for("the request", SHORT, said).await;
        assert_eq!(tab.eval::<u32>("__test.feed().badge").await, 0);
        // Where nobody looks at the page at all it is counted, too.
        tab.run("Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => 'hidden' }); document.dispatchEvent(new Event('visibilitychange'))")
            .await;
        // Whether work would be shown depends on the mode: it is not counted.
        let call = json!({"toolCallId": "w", "toolName": "Bash", "args": {"command": "make"}});
        server
            .send("back", &json!([event("w", "tool_call", &call)]))
            .await;
        server.send("back", &ask("q", "Write")).await;
        let counted = "__test.feed().badge === 1 && document.title.startsWith('(1)') && __heard.some((said) => said.includes('Write waits for permission'))";
        tab.wait_for("the count in the title", SHORT, counted).await;
        let n_shown: usize = tab.eval("__test.feed().rowCount").await;
        assert_eq!(n_shown, n_rows, "the moment is the same");
        // A script may go back to the newest meanwhile: what is shown by that has come before.
        tab.run("__test.feed().returnToLive()").await;
        let newest = format!("__test.feed().rowCount > {n_rows}");
        tab.wait_for("the newest", SHORT, &newest).await;
        tab.run("await __test.sleep(300)").await;
        assert_eq!(tab.eval::<u32>("__test.feed().badge").await, 1);
    });
}

#[test]
fn what_was_over_before_the_reader_came_back_is_no_news() {
    with_server("heard return", 120, async |visit, program| {
        let server = Server::start(&program).await;
        server.send("return", &beginning()).await;
        server.send("return", &json!([call(), result()])).await;
        let tab = visit.tab("page").await;
        open(&tab, &server.page_of("return"), 5).await;
        tab.run("await __test.rest(); __test.feed().viewAsOf(3); await __test.rest()")
            .await;
        tab.run(LISTEN).await;
        tab.run("__test.feed().returnToLive(); await __test.rest()")
            .await;
        let error = event(
            "x",
            "error",
            &json!({"code": "lost", "message": "out of reach"}),
        );
        server.send("return", &json!([error])).await;
        let said = "__heard.some((said) => said.includes('out of reach'))";
        tab.wait_for("the error to be spoken of", SHORT, said).await;
        let heard: Vec<String> = tab.eval("__heard").await;
        assert!(!heard.iter().any(|said| said.contains("Bash")), "{heard:?}");
    });
}

#[test]
fn a_question_that_cannot_be_read_is_spoken_of() {
    let files = vec![("/log", log_of("asked", 20))];
    on_stage("heard_question", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log").await;
        tab.run("await __test.feed().search('x')").await;
        tab.run(LISTEN).await;
        tab.run("await __test.feed().search('/(/').catch(() => {})")
            .await;
        let said = "__heard.includes(__test.one('.find__problem')?.textContent)";
        tab.wait_for("why", SHORT, said).await;
        let invalid = "__test.one('.find__field').ariaInvalid";
        let described = "__test.one('.find__field').getAttribute('aria-describedby').split(' ').some((id) => __test.one(`#${id}`).textContent)";
        assert_eq!(tab.eval::<String>(invalid).await, "true");
        assert!(tab.eval::<bool>(described).await);
        tab.run("await __test.feed().search('x')").await;
        let valid = format!("{invalid} !== 'true' && !__test.one('.find__problem').textContent");
        tab.wait_for("it to be mended", SHORT, &valid).await;
    });
}

#[test]
fn what_ends_or_waits_is_spoken_and_what_streams_is_not() {
    with_server("heard", 120, async |visit, program| {
        let server = Server::start(&program).await;
        server.send("heard", &beginning()).await;
        let tab = visit.tab("page").await;
        open(&tab, &server.page_of("heard"), 3).await;
        tab.run("await __test.rest()").await;
        tab.run(LISTEN).await;
        let streamed: Vec<_> = (0..20)
            .map(|n| {
                event(
                    &format!("s{n}"),
                    "assistant_chunk",
                    &json!({"text": format!("word{n} ")}),
                )
            })
            .collect();
        server.send("heard", &streamed.into()).await;
        let result = event(
            "d",
            "tool_result",
            &json!({"toolCallId": "c", "result": "done", "exitCode": 2, "error": {"message": "exit code 2"}}),
        );
        server.send("heard", &json!([call(), result])).await;
        let says = |words: &str| format!("__heard.some((said) => said.includes('{words}'))");
        tab.wait_for("the failed call to be spoken of", SHORT, &says("failed"))
            .await;
        let ask = event(
            "p",
            "permission_request",
            &json!({"requestId": "p", "toolName": "Bash", "args": {"command": "rm"}}),
        );
        server.send("heard", &json!([ask])).await;
        tab.wait_for(
            "the request to be spoken of",
            SHORT,
            &says("Bash waits for permission"),
        )
        .await;
        let end = event("e", "turn_end", &json!({"outcome": "completed"}));
        server.send("heard", &json!([end])).await;
        tab.wait_for("the end to be spoken of", SHORT, &says("Turn finished"))
            .await;
        let heard: Vec<String> = tab.eval("__heard").await;
        assert!(
            !heard.iter().any(|said| said.contains("word3")),
            "streaming text is silent: {heard:?}"
        );

        // What is only shown again is no news.
        tab.run("__heard.length = 0; for (const verbosity of ['quiet', 'verbose']) { __test.feed().setAttribute('verbosity', verbosity); await __test.rest(); }")
            .await;
        let error = event(
            "x",
            "error",
            &json!({"code": "lost", "message": "out of reach"}),
        );
        server.send("heard", &json!([error])).await;
        tab.wait_for("the error to be spoken of", SHORT, &says("out of reach"))
            .await;
        let heard: Vec<String> = tab.eval("__heard").await;
        let again = |said: &String| said.contains("Bash failed") || said.contains("Turn finished");
        assert!(!heard.iter().any(again), "{heard:?}");
    });
}

/// What is given in one piece replaces what was there within one frame.
#[test]
fn a_request_of_the_next_session_is_spoken_of_and_nothing_of_the_one_before_stays() {
    on_stage("heard_next", FEED, vec![], async |stage| {
        let tab = &stage.tab;
        let ask = |session: &str, n_before: u32, tool: &str| {
            let chunk = |n: u32| {
                event(
                    &format!("{session}{n}"),
                    "user_message",
                    &json!({"text": format!("{n}")}),
                )
            };
            let asked = json!({"requestId": "p", "toolName": tool, "args": {"command": "rm"}});
            let mut events: Vec<Value> = (0..n_before).map(chunk).collect();
            events.push(event(&format!("{session}p"), "permission_request", &asked));
            for event in &mut events {
                event["sessionId"] = json!(session);
            }
            json!(events)
        };
        let alert = "__test.one('[role=alert]').textContent";
        tab.run(&format!(
            "__test.feed().events = {}",
            ask("first", 9, "Bash")
        ))
        .await;
        let said = |tool: &str| format!("{alert} === '{tool} waits for permission'");
        tab.wait_for("the first", SHORT, &said("Bash")).await;
        // It has fewer events than were drawn of the first.
        tab.run(&format!(
            "__test.feed().events = {}",
            ask("second", 1, "Write")
        ))
        .await;
        tab.wait_for("the second", SHORT, &said("Write")).await;
        tab.run("__test.feed().clear(); await __test.rest()").await;
        let left: String = tab
            .eval("__test.all('[role=alert], [role=log]').map((it) => it.textContent).join('')")
            .await;
        assert_eq!(left, "");
    });
}
