//! Sessions whose files are removed from the data folder: gone from every list, also where nobody could be told, and shown again
//! when they are back.

use std::path::Path;

use crate::SHORT;
use crate::made_logs::Writer;
use crate::server::Server;
use crate::sessions::{CATCH_UP_LIMIT, lone_element, pipe_all, with_server};

/// Removes the files of a session, wherever they lie.
pub(crate) fn remove(folder: &Path, session: &str) {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    for entry in entries {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        if path.is_dir() {
            remove(&path, session);
        } else if name.starts_with(session) {
            std::fs::remove_file(&path).expect("a file can be removed");
        }
    }
}

fn log(session: &str, n_turns: u64) -> String {
    let mut writer = Writer::new(session);
    for number in 1..=n_turns {
        writer.turn(number);
    }
    writer.take()
}

const LISTED: &str =
    "[...document.querySelectorAll('.session')].map((row) => row.dataset.sessionId).sort().join()";

#[test]
fn what_went_while_the_list_was_cut_off_is_gone_when_it_is_back() {
    with_server("went", 90, async |visit, program| {
        let mut server = Server::start(&program).await;
        for session in ["goes", "stays"] {
            pipe_all(&server, &log(session, 1)).await;
        }
        let tab = visit.tab("list").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        let both = format!("{LISTED} === 'goes,stays'");
        tab.wait_for("both sessions", CATCH_UP_LIMIT, &both).await;
        server.kill().await;
        let away = "/does not answer|No network/.test(document.querySelector('.sessions__note')?.textContent ?? '')";
        tab.wait_for("the list to be cut off", SHORT, away).await;
        remove(server.data(), "goes");
        server.restart().await;
        let one = format!("{LISTED} === 'stays'");
        tab.wait_for("one of them to be gone", CATCH_UP_LIMIT, &one)
            .await;
        tab.expect_problems("ERR_CONNECTION");
        tab.expect_problems("WebSocket");
    });
}

/// A page whose sockets are all refused, as some networks do it.
const NO_SOCKETS: &str = "window.WebSocket = new Proxy(WebSocket, {
    construct: (made, [address, protocols]) => new made(address.replace('/ws', '/no-ws'), protocols),
});";

#[test]
fn without_sockets_the_list_is_asked_for() {
    with_server("polled", 120, async |visit, program| {
        let server = Server::start(&program).await;
        for session in ["goes", "stays"] {
            pipe_all(&server, &log(session, 1)).await;
        }
        let tab = visit.tab("list").await;
        tab.expect_problems("WebSocket");
        tab.before_scripts(NO_SOCKETS).await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        let both = format!("{LISTED} === 'goes,stays'");
        tab.wait_for("both sessions", CATCH_UP_LIMIT, &both).await;
        let note = "document.querySelector('.sessions__note')";
        tab.wait_for(
            "no word of a server that is away",
            SHORT,
            &format!("!{note}"),
        )
        .await;
        remove(server.data(), "goes");
        pipe_all(&server, &log("comes", 1)).await;
        let changed = format!("{LISTED} === 'comes,stays'");
        tab.wait_for("what changed", CATCH_UP_LIMIT, &changed).await;
    });
}

#[test]
fn an_open_session_that_was_removed_is_shown_when_it_is_back() {
    with_server("back", 120, async |visit, program| {
        let server = Server::start(&program).await;
        for session in ["s", "other"] {
            pipe_all(&server, &log(session, 1)).await;
        }
        let tab = visit.tab("page").await;
        tab.look(false, (1440, 900)).await;
        tab.goto(&server.page_of("s")).await;
        let is = |state: &str| format!("__test.feed()?.getAttribute('state') === '{state}'");
        tab.wait_for("the session", CATCH_UP_LIMIT, &is("live"))
            .await;
        remove(server.data(), "s");
        tab.wait_for("it to be gone", CATCH_UP_LIMIT, &is("error"))
            .await;
        let listed = format!("{LISTED} === 'other'");
        tab.wait_for("its row to go", CATCH_UP_LIMIT, &listed).await;
        // The agent goes on.
        pipe_all(&server, &log("s", 2)).await;
        tab.wait_for("it to be back", CATCH_UP_LIMIT, &is("live"))
            .await;
        let rows =
            "__test.feed().eventCount > 0 && !__test.text(__test.feed()).includes('removed')";
        tab.wait_for("its rows and no error", SHORT, rows).await;
        tab.expect_problems("404");
    });
}

#[test]
fn an_element_shows_its_session_once_that_begins_and_again_when_it_is_back() {
    with_server("begins", 120, async |visit, program| {
        let (server, tab) = lone_element(&visit, &program).await;
        tab.run(&format!(
            "const feed = __test.feed();
             feed.token = '{}';
             feed.setAttribute('endpoint', location.origin);
             feed.setAttribute('session', 's');",
            server.token
        ))
        .await;
        let is = |state: &str| format!("__test.feed().getAttribute('state') === '{state}'");
        let says = |what: &str| format!("__test.text(__test.feed()).includes('{what}')");
        tab.wait_for("word that there is none", CATCH_UP_LIMIT, &is("error"))
            .await;
        tab.wait_for("what may come of it", SHORT, &says("Should it begin"))
            .await;
        pipe_all(&server, &log("s", 1)).await;
        tab.wait_for("the session", CATCH_UP_LIMIT, &is("live"))
            .await;
        let rows = "__test.feed().eventCount > 0 && !!__test.one('.prompt__text')";
        tab.wait_for("its rows", SHORT, rows).await;
        let told: bool = tab.eval(&says("there is no session")).await;
        assert!(!told, "what was wrong is said no more");
        remove(server.data(), "s");
        tab.wait_for("it to be gone", CATCH_UP_LIMIT, &is("error"))
            .await;
        let kept: bool = tab.eval(rows).await;
        assert!(kept, "what was read stays");
        pipe_all(&server, &log("s", 2)).await;
        tab.wait_for("it to be back", CATCH_UP_LIMIT, &is("live"))
            .await;
        tab.expect_problems("404");
    });
}
