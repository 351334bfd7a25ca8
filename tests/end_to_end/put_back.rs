//! What a page does with an element beside showing one session in it: takes it out and puts it back, waits for it, opens another
//! log where one could not be read.

use serde_json::json;

use crate::SHORT;
use crate::browser::{Tab, Visit};
use crate::made_logs::Writer;
use crate::server::Server;
use crate::sessions::with_server;

/// A log with an end.
fn ended(session: &str) -> String {
    let mut writer = Writer::new(session);
    writer.turn(1);
    writer.event("session_end", &json!({}), &json!({}));
    writer.take()
}

/// A page that knows the element.
async fn page(visit: &Visit, server: &Server) -> Tab {
    let tab = visit.tab("page").await;
    tab.goto(&format!("{}/#token={}", server.url, server.token))
        .await;
    tab.wait_for("the page", SHORT, "!!customElements.get('agent-feed')")
        .await;
    tab
}

#[test]
fn an_element_that_is_put_back_has_its_styles_once() {
    with_server("put-back", 60, async |visit, program| {
        let server = Server::start(&program).await;
        let tab = page(&visit, &server).await;
        let log = json!(ended("s"));
        tab.run(&format!("window.mine = document.createElement('agent-feed'); document.body.append(mine); mine.append({log}); await mine.ready; await __test.rest();"))
            .await;
        let n_sheets = "mine.shadowRoot.adoptedStyleSheets.length";
        let before: usize = tab.eval(n_sheets).await;
        assert!(before > 0);
        tab.run("for (let time = 0; time < 3; time += 1) { mine.remove(); await __test.frames(2); document.body.append(mine); await __test.frames(4); }")
            .await;
        tab.run("await __test.rest()").await;
        assert_eq!(tab.eval::<usize>(n_sheets).await, before);
    });
}

#[test]
fn a_page_that_waits_for_a_log_with_an_end_goes_on() {
    with_server("ready", 60, async |visit, program| {
        let server = Server::start(&program).await;
        let tab = page(&visit, &server).await;
        let log = json!(ended("s"));
        tab.run(&format!("window.mine = document.createElement('agent-feed'); document.body.append(mine); mine.append({log}); mine.ready.then(() => window.is_ready = true);"))
            .await;
        tab.wait_for("it to be ready", SHORT, "window.is_ready === true")
            .await;
        assert_eq!(tab.eval::<String>("mine.state").await, "ended");
    });
}

#[test]
fn a_log_that_is_opened_for_one_that_failed_stands_without_its_error() {
    with_server("instead", 60, async |visit, program| {
        let server = Server::start(&program).await;
        let tab = page(&visit, &server).await;
        let log = json!(ended("s"));
        tab.run(&format!("window.mine = document.createElement('agent-feed'); mine.addEventListener('af-error', () => mine.load([new File([{log}], 's.events.jsonl')])); mine.setAttribute('src', '/nothing.jsonl'); document.body.append(mine);"))
            .await;
        let shown = "mine.eventCount > 0 && mine.state === 'ready'";
        tab.wait_for("the other log", SHORT, shown).await;
        tab.run("await __test.frames(4)").await;
        let said: String = tab.eval("__test.text(mine)").await;
        assert!(!said.contains("ould not load"), "{said}");
        tab.expect_problems("404");
    });
}

#[test]
fn an_element_that_goes_while_a_method_waits_takes_no_other_with_it() {
    with_server("goes", 60, async |visit, program| {
        let server = Server::start(&program).await;
        let tab = page(&visit, &server).await;
        let log = json!(ended("s"));
        // Before the next frame, and before what the method needs is here.
        tab.run(&format!("window.told = []; for (const ask of ['search', 'filter', 'expandAll', 'focusFeed']) {{ const feed = document.createElement('agent-feed'); document.body.append(feed); feed.append({log}); feed[ask]('x').then(() => told.push('done'), (why) => told.push(why)); feed.remove(); }}"))
            .await;
        tab.wait_for("each to be answered", SHORT, "told.length === 4")
            .await;
        tab.run(&format!("window.mine = document.createElement('agent-feed'); document.body.append(mine); mine.append({log}); await mine.ready; await __test.rest(mine);"))
            .await;
        assert!(tab.eval::<usize>("mine.rowCount").await > 3);
    });
}
