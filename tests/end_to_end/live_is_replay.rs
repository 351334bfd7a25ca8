//! Recorded sessions through `turnreel pipe`, the server, the socket and the page, with the server killed and the socket
//! cut on the way: live, dropped on the page and loaded again they look the same to the byte.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::SHORT;
use crate::browser::Visit;
use crate::compare::difference;
use crate::proxy::Proxy;
use crate::server::{self, Pipe, Server, page_of};
use crate::sessions::{
    CATCH_UP_LIMIT, LIVE, assert_nothing_uploaded, open_from_list, settle, wait_until, with_server,
};
use crate::stories::Story;

const STORIES: [&str; 6] = [
    "read-edit",
    "bash",
    "parallel",
    "subagent",
    "multi-turn",
    "sigkill",
];
/// Each story takes this long, whatever it took when it was recorded.
const STORY_LENGTH: Duration = Duration::from_secs(6);
/// How long the server is away after each kill.
const DOWN_TIME: Duration = Duration::from_millis(500);

#[test]
fn a_session_dropped_live_and_reloaded_is_shown_the_same_to_the_byte() {
    with_server("stories", 240, async |visit, program| {
        // Another number cuts at other moments; each is printed.
        let seed = std::env::var("TURNREEL_SEED")
            .ok()
            .and_then(|seed| seed.parse().ok())
            .unwrap_or(1_u64);
        let stories = STORIES
            .iter()
            .enumerate()
            .map(|(at, name)| tell(&visit, &program, name, seed + at as u64));
        let failures: Vec<String> = futures::future::join_all(stories)
            .await
            .into_iter()
            .flatten()
            .collect();
        assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    });
}

/// Tells one story three ways; returned is how they differ.
async fn tell(visit: &Visit, program: &Path, name: &'static str, seed: u64) -> Vec<String> {
    let story = Story::read(name);
    let (n_events, session) = story.events();
    let mut server = Server::start(program).await;
    let proxy = Proxy::start(server.port).await;
    let tab = visit.tab(name).await;
    tab.goto(&format!("{}/#token={}", proxy.url, server.token))
        .await;
    tab.wait_for(
        "the list of sessions",
        SHORT,
        "__test.one('.sessions__list')",
    )
    .await;

    // Live: the page, the agent, a killer of the server and a cutter of connections, all at once.
    println!("{name}: {n_events} events, connections cut by seed {seed}");
    let mut pipe = Pipe::start(&server, &[]);
    let cutting = proxy.cut_at_random(seed, (700, 2500));
    let data = server.data().to_owned();
    let watching = async {
        open_from_list(&tab, &session).await;
        // Whatever the dice say: once while it is certainly followed. The server may be killed just then.
        let began = Instant::now();
        while proxy.n_cut() == 0 && began.elapsed() < CATCH_UP_LIMIT {
            tab.wait_for("the session to be live", CATCH_UP_LIMIT, LIVE)
                .await;
            proxy.cut_all();
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let killing = async {
        for part in [1, 2] {
            let idx = n_events * part / 3;
            wait_until(&format!("{name}: event {idx} in the log"), SHORT, || {
                server::n_logged(&data, &session) >= idx
            })
            .await;
            server.kill().await;
            tokio::time::sleep(DOWN_TIME).await;
            server.restart().await;
        }
    };
    let began = Instant::now();
    let ((), (), ()) = futures::join!(story.play(&mut pipe, STORY_LENGTH), watching, killing);
    assert!(
        began.elapsed() >= Duration::from_secs(5),
        "{name}: told in {:?}",
        began.elapsed()
    );
    let end = pipe.finish().await;
    cutting.abort();
    let mut failures = Vec::new();
    if end.code != Some(0) {
        failures.push(format!(
            "{name}: the pipe ended with {:?}: {}",
            end.code, end.stderr
        ));
    }
    if end.stdout != story.bytes {
        failures.push(format!(
            "{name}: the pipe gave {} bytes for {}",
            end.stdout.len(),
            story.bytes.len()
        ));
    }
    let n_logged = server::n_logged(server.data(), &session);
    if n_logged != n_events {
        failures.push(format!(
            "{name}: {n_logged} events are in the log, {n_events} were sent: {}",
            end.stderr
        ));
    }
    settle(&tab, &format!("{name}, live"), n_logged).await;
    let live: String = tab
        .eval("__test.feed().serializeRows({ maskTimes: false })")
        .await;
    println!(
        "{name}: {} connections cut, {} sockets made, live after {:?}",
        proxy.n_cut(),
        tab.n_sockets_made(),
        began.elapsed()
    );

    // The same address again, in a page that knows nothing.
    tab.goto("about:blank").await;
    tab.goto(&page_of(&proxy.url, &server.token, &session))
        .await;
    settle(&tab, &format!("{name}, loaded again"), n_logged).await;
    let again: String = tab
        .eval("__test.feed().serializeRows({ maskTimes: false })")
        .await;
    let again_masked: String = tab
        .eval("__test.feed().serializeRows({ maskTimes: true })")
        .await;

    // The file itself, dropped on the page.
    tab.goto("about:blank").await;
    tab.goto(&format!("{}/#token={}", server.url, server.token))
        .await;
    tab.wait_for("the place to drop a file", SHORT, "__test.one('.drop')")
        .await;
    tab.drop_files(&[&story.path]).await;
    settle(&tab, &format!("{name}, dropped"), n_events).await;
    let dropped_masked: String = tab
        .eval("__test.feed().serializeRows({ maskTimes: true })")
        .await;
    assert_nothing_uploaded(&tab);

    if proxy.n_cut() == 0 {
        failures.push(format!("{name}: no connection was cut"));
    }
    if !live.contains("class") || live.lines().count() < 10 {
        failures.push(format!("{name}: hardly anything was shown:\n{live}"));
    }
    println!("{name}: {} lines of rows compared", live.lines().count());
    failures.extend(difference(
        &format!("{name}: live and loaded again"),
        &live,
        &again,
    ));
    failures.extend(difference(
        &format!("{name}: dropped and loaded again, times masked"),
        &dropped_masked,
        &again_masked,
    ));
    failures
}
