//! Turns that the user went back behind: they say so in words, are muted and one line until they are opened, and stand as
//! they were at a moment before that.

use serde_json::json;

use crate::SHORT;
use crate::made_logs::Writer;
use crate::server::Server;
use crate::sessions::{pipe_all, settle, with_server};

#[test]
fn what_the_user_went_back_behind_says_so_and_is_one_line_that_opens() {
    with_server("undone", 90, async |visit, program| {
        let server = Server::start(&program).await;
        let mut writer = Writer::new("undone");
        writer.turn(1).turn(2);
        let before = writer.n_events();
        let left = json!({"level": "info", "source": "branch", "text": "the user went back", "leftTurnIds": ["t2"]});
        writer.event("notice", &json!({}), &left);
        writer.turn(3);
        writer.event("session_end", &json!({}), &json!({"reason": "done"}));
        let n_events = usize::try_from(writer.n_events()).expect("a small number");
        pipe_all(&server, &writer.take()).await;
        let tab = visit.tab("page").await;
        tab.look(false, (1440, 2400)).await;
        tab.goto(&server.page_of("undone")).await;
        settle(&tab, "the session", n_events).await;
        let told: Vec<String> = tab
            .eval("__test.all('.row[data-undone]').map((row) => row.getAttribute('aria-label'))")
            .await;
        let [prompt, line] = told.as_slice() else {
            panic!("its prompt and its line: {told:?}");
        };
        assert!(
            prompt.starts_with("Prompt: Prompt 2") && prompt.ends_with(", undone"),
            "{told:?}"
        );
        assert_eq!(line, "Work of the turn, undone");
        let marks: Vec<String> = tab
            .eval("__test.all('.prompt').map((prompt) => prompt.querySelector('.undone-mark')?.textContent ?? '')")
            .await;
        assert_eq!(marks, ["", "Undone", ""]);
        let said: String = tab
            .eval("__test.text(__test.one('.row.work[data-undone]'))")
            .await;
        assert!(said.contains("Undone turn · 3 steps"), "{said}");
        // Muted, and as readable as what is said beside others.
        let colours: Vec<String> = tab
            .eval("__test.all('.prompt__text').map((text) => getComputedStyle(text).color)")
            .await;
        assert!(
            colours[0] == colours[2] && colours[0] != colours[1],
            "{colours:?}"
        );

        tab.click("__test.one('.row.work[data-undone] > .line')")
            .await;
        let opened = "__test.all('.row.assistant-text[data-undone]').length > 0";
        tab.wait_for("its answer", SHORT, opened).await;
        let all: bool = tab
            .eval("__test.all('.turn[data-turn-id=t2] .row').every((row) => row.hasAttribute('data-undone') && row.getAttribute('aria-label').endsWith(', undone'))")
            .await;
        assert!(all, "all of its rows are marked");

        // Nobody had gone back by then.
        let behind = n_events + 1 - usize::try_from(before).expect("a small number");
        tab.run(&format!("__test.feed().step(-{behind})")).await;
        let stands = "__test.all('.row').length > 0 && __test.all('[data-undone]').length === 0";
        tab.wait_for("the turn as it was", SHORT, stands).await;
    });
}

#[test]
fn no_plan_of_it_holds_and_what_is_undone_can_be_looked_for() {
    with_server("undone_plan", 90, async |visit, program| {
        let server = Server::start(&program).await;
        let mut writer = Writer::new("undone_plan");
        let plan = |word: &str| json!({"entries": [{"content": word, "status": "pending"}]});
        let of = |turn: &str| json!({"turnId": turn});
        for (turn, says, plans) in [("t1", "Ask one", "Mend `one`"), ("t2", "Ask two", "two")] {
            writer.event("user_message", &of(turn), &json!({"text": says}));
            writer.event("plan", &of(turn), &plan(plans));
            writer.event("turn_end", &of(turn), &json!({"outcome": "completed"}));
        }
        let before = writer.n_events();
        let left = json!({"level": "info", "source": "branch", "text": "the user went back", "leftTurnIds": ["t2"]});
        writer.event("notice", &json!({}), &left);
        writer.event("session_end", &json!({}), &json!({"reason": "done"}));
        let n_events = usize::try_from(writer.n_events()).expect("a small number");
        pipe_all(&server, &writer.take()).await;
        let tab = visit.tab("page").await;
        tab.look(false, (1440, 1200)).await;
        tab.goto(&server.page_of("undone_plan")).await;
        settle(&tab, "the session", n_events).await;
        tab.run("__test.one('.panel-toggle').click()").await;
        let tabs = "__test.all('[role=tab]').length > 0";
        tab.wait_for("the panel", SHORT, tabs).await;
        tab.run(
            "__test.all('[role=tab]').find((tab) => tab.textContent.startsWith('Plan')).click()",
        )
        .await;
        let plan = "__test.one('.panel__plan')?.innerText.trim()";
        tab.wait_for(
            "the plan that holds",
            SHORT,
            &format!("{plan}.endsWith('Mend one')"),
        )
        .await;
        let code: String = tab
            .eval("__test.one('.panel__plan code').textContent")
            .await;
        assert_eq!(code, "one");

        let search = "__test.feed().search('is:undone')";
        let n_found: usize = tab.eval(search).await;
        assert!(n_found > 1, "its prompt and its plan: {n_found}");

        // Before that it was the plan.
        let behind = n_events + 1 - usize::try_from(before).expect("a small number");
        tab.run(&format!("__test.feed().step(-{behind})")).await;
        tab.wait_for(
            "the plan as it was",
            SHORT,
            &format!("{plan}.endsWith('two')"),
        )
        .await;
        let n_found: usize = tab.eval(search).await;
        assert_eq!(n_found, 0, "nothing was undone by then");
    });
}
