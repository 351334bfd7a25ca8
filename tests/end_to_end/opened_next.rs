//! What one session left behind does not touch what is opened next, and what waits goes on waiting.

use std::path::Path;

use serde_json::{Value, json};

use crate::SHORT;
use crate::gone::remove;
use crate::made_logs::{Writer, every_kind, log_of};
use crate::made_session::{LONG, beginning, event, open};
use crate::server::Server;
use crate::sessions::{CATCH_UP_LIMIT, LIVE, lone_element, with_server};
use crate::stage::on_stage;

/// Requests for the part of this name fail as long as the page is cut off from it.
fn cut_off_from(part: &str) -> String {
    format!(
        "window.isCut = true;
         const whole = window.fetch;
         window.fetch = (address, options) => window.isCut && String(address).includes('{part}')
             ? Promise.reject(new TypeError('cut off by the test')) : whole(address, options);"
    )
}

/// Copies a session's files.
fn copy(from: &Path, to: &Path, session: &str) {
    for entry in std::fs::read_dir(from).expect("the folder can be read") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name");
        if path.is_dir() {
            copy(&path, &to.join(name), session);
        } else if name.to_string_lossy().starts_with(session) {
            std::fs::copy(&path, to.join(name)).expect("a file can be copied");
        }
    }
}

#[test]
fn rows_that_lack_a_part_get_it_in_the_next_session_too() {
    let log = |name: &'static str| (name, every_kind("lacking").take());
    let files = vec![log("/one.jsonl"), log("/two.jsonl")];
    on_stage("lacking_next", crate::FEED, files, async |stage| {
        let tab = &stage.tab;
        tab.expect_problems("cut off by the test");
        tab.before_scripts(&cut_off_from("bodies-")).await;
        stage.enter().await;
        let opens = |log: &str| format!("__test.feed().setAttribute('src', '{log}')");
        tab.run(&opens("/one.jsonl")).await;
        let lacks = "!!__test.feed().shadowRoot.querySelector('.note--lacks')";
        tab.wait_for("the page to say what it lacks", LONG, lacks)
            .await;
        tab.run(&opens("/two.jsonl")).await;
        let shown = "__test.feed().state === 'ready' && __test.all('.not-here').length > 0";
        tab.wait_for("the next session", SHORT, shown).await;
        tab.run("await __test.frames(3)").await;
        assert!(tab.eval::<bool>(lacks).await, "it is still lacking");
        tab.run(
            "window.isCut = false;
             __test.feed().shadowRoot.querySelector('.note--lacks button').click();",
        )
        .await;
        let drawn = format!("!{lacks} && __test.all('.not-here').length === 0");
        tab.wait_for("the rows to be whole", SHORT, &drawn).await;
    });
}

#[test]
fn an_answer_can_be_given_after_the_log_began_anew() {
    with_server("anew", 180, async |visit, program| {
        let ask = json!({"requestId": "p1", "toolName": "Bash", "args": {"command": "ls"}});
        let ask = json!([event("p", "permission_request", &ask)]);
        let mut server = Server::start(&program).await;
        let mut other = Server::start(&program).await;
        for server in [&server, &other] {
            server.send("anew", &beginning()).await;
            server.send("anew", &ask).await;
        }
        other.kill().await;
        let tab = visit.tab("page").await;
        tab.expect_problems("ERR_CONNECTION|WebSocket");
        open(&tab, &server.page_of("anew"), 4).await;
        let offered = "__test.all('.asked--open .button').length > 1";
        tab.wait_for("the means to answer", SHORT, offered).await;
        tab.run("window.wasCleared = false; new MutationObserver(() => wasCleared ||= __test.rows().length === 0).observe(__test.feed().shadowRoot, { childList: true, subtree: true });").await;
        server.kill().await;
        remove(server.data(), "anew");
        // It is there before the server is: at no time is it gone for who comes back.
        copy(other.data(), server.data(), "anew");
        server.restart().await;
        let again = format!("wasCleared && {LIVE} && __test.feed().eventCount === 4");
        tab.wait_for("the log that began anew", CATCH_UP_LIMIT, &again)
            .await;
        tab.wait_for("the means to answer again", SHORT, offered)
            .await;
    });
}

#[test]
fn a_session_is_followed_only_where_that_is_wanted() {
    with_server("stands", 120, async |visit, program| {
        let (server, tab) = lone_element(&visit, &program).await;
        let log: Vec<Value> = log_of("long", 20)
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        server.send("long", &log.into()).await;
        for (follow, follows) in [("off", false), ("on", true)] {
            tab.run(&format!(
                "document.querySelector('agent-feed')?.remove();
                 const feed = document.createElement('agent-feed');
                 feed.style.height = '400px';
                 feed.token = {};
                 feed.setAttribute('follow', '{follow}');
                 feed.setAttribute('session', 'long');
                 document.body.append(feed);",
                json!(server.token)
            ))
            .await;
            let live = "__test.feed().state === 'live'";
            tab.wait_for("the session", CATCH_UP_LIMIT, live).await;
            tab.run("await __test.rest()").await;
            let at_end: bool = tab
                .eval("(() => { const it = __test.feed().scroller; return it.scrollTop + it.clientHeight > it.scrollHeight - 4; })()")
                .await;
            assert_eq!(at_end, follows, "follow={follow}");
        }
    });
}

#[test]
fn a_link_into_a_session_that_is_gone_says_nothing_of_another() {
    with_server("stale", 120, async |visit, program| {
        let server = Server::start(&program).await;
        server.send("here", &beginning()).await;
        let tab = visit.tab("page").await;
        tab.expect_problems("404");
        tab.look(false, (1440, 900)).await;
        tab.goto(&format!("{}&e=nothing", server.page_of("gone")))
            .await;
        let is = |state: &str| format!("__test.feed()?.getAttribute('state') === '{state}'");
        tab.wait_for("it to be missing", CATCH_UP_LIMIT, &is("error"))
            .await;
        crate::sessions::open_from_list(&tab, "here").await;
        tab.wait_for("the other", CATCH_UP_LIMIT, &is("live")).await;
        tab.run("await __test.rest()").await;
        let said: String = tab.eval("__test.text(__test.feed())").await;
        assert!(!said.contains("The event that the link leads to"), "{said}");
    });
}

#[test]
fn what_comes_after_a_stream_that_broke_off_is_added_to_it() {
    let mut writer = Writer::new("broken");
    writer.turn(1);
    let first = writer.take();
    writer.turn(2);
    let rest = writer.take();
    let n_events = first.lines().count() + rest.lines().count();
    on_stage("broken_on", crate::FEED, Vec::new(), async |stage| {
        let tab = &stage.tab;
        tab.run(&format!(
            "__test.feed().events = (async function* () {{ yield {}; throw new Error('the cable is out'); }})()",
            json!(first)
        ))
        .await;
        tab.wait_for("it to break off", SHORT, "__test.feed().state === 'error'")
            .await;
        tab.run(&format!("__test.feed().append({})", json!(rest)))
            .await;
        let all =
            format!("__test.feed().eventCount === {n_events} && __test.feed().state === 'live'");
        tab.wait_for("all of it", SHORT, &all).await;
        let said: String = tab.eval("__test.text(__test.feed())").await;
        assert!(said.contains("he cable is out"), "{said}");
    });
}

#[test]
fn a_log_that_is_refused_is_said_to_be_where_it_would_stand() {
    with_server("refused", 60, async |visit, program| {
        let server = Server::start(&program).await;
        server.send("here", &beginning()).await;
        let tab = visit.tab("page").await;
        tab.expect_problems("401");
        tab.look(false, (1440, 900)).await;
        let entrance = format!("{}/#token={}", server.url, server.token);
        tab.goto(&entrance).await;
        let listed = "!!document.querySelector('.session[data-session-id=here]')";
        tab.wait_for("the list", CATCH_UP_LIMIT, listed).await;
        // The page is there, and a log of this origin asks for another token.
        tab.run(
            "const whole = window.fetch;
             window.fetch = (address, options) => String(address).endsWith('/refused.jsonl')
                 ? Promise.resolve(new Response('', { status: 401 })) : whole(address, options);
             history.pushState(null, '', '/?src=/refused.jsonl'); dispatchEvent(new PopStateEvent('popstate'));",
        )
        .await;
        let said = "__test.text(__test.feed()).includes('ould not load the session')";
        tab.wait_for("what is wrong", SHORT, said).await;
        let keeps: bool = tab
            .eval("Object.values(sessionStorage).some((kept) => kept.length > 30) && !__test.visible('input[type=password]')")
            .await;
        assert!(keeps, "the server's token is none of its matter");
    });
}

#[test]
fn of_a_log_and_a_session_the_one_that_was_named_last_is_shown() {
    with_server("named_last", 120, async |visit, program| {
        let (server, tab) = lone_element(&visit, &program).await;
        let text = |at: u64| {
            json!({
                "id": format!("e{at}"), "timestamp": 1_703_001_234_000_u64 + at, "turnId": "t1", "responseId": "r1",
                "type": "assistant_chunk", "payload": {"text": format!("word{at} ")},
            })
        };
        server.send("live", &(0..5).map(text).collect()).await;
        // So short that no worker asks for it again.
        let log = json!(log_of("named", 120));
        tab.run(&format!(
            "window.n_asked = 0; const whole = window.fetch;
             window.fetch = (address, options) => {{
                 if (!String(address).endsWith('/named.jsonl')) return whole(address, options);
                 window.n_asked += 1;
                 return Promise.resolve(new Response({log}));
             }};
             const feed = __test.feed(); feed.token = '{}'; feed.src = '/named.jsonl';",
            server.token
        ))
        .await;
        let of_log = "__test.feed().state === 'ready' && __test.feed().eventCount >= 120";
        let of_session = "/^(live|ended)$/.test(__test.feed().state) && __test.feed().eventCount < 50 && __test.feed().eventCount > 0";
        tab.wait_for("the log", SHORT, of_log).await;
        // Where the server is does not concern it.
        tab.run(
            "await __test.rest(); __test.feed().scroller.scrollTop = 900; await __test.rest();",
        )
        .await;
        let stands = "[window.n_asked, __test.feed().scroller.scrollTop]";
        let before: Value = tab.eval(stands).await;
        tab.run(&format!(
            "__test.feed().endpoint = '{}'; await __test.sleep(200); await __test.rest();",
            server.url
        ))
        .await;
        assert_eq!(tab.eval::<Value>(stands).await, before);
        tab.run("__test.feed().session = 'live'").await;
        tab.wait_for("the session", SHORT, of_session).await;
        // It is that one also where the element comes back.
        tab.run("const feed = __test.feed(); feed.remove(); await __test.frames(3); document.body.append(feed)")
            .await;
        tab.wait_for("the session again", SHORT, of_session).await;
        assert_eq!(tab.eval::<u32>("window.n_asked").await, 1);
        // The one that is not shown may go; without the other it is shown.
        tab.run("__test.feed().src = null; __test.feed().src = '/named.jsonl'")
            .await;
        tab.wait_for("the log again", SHORT, of_log).await;
        tab.run("__test.feed().session = null; await __test.sleep(200);")
            .await;
        assert_eq!(tab.eval::<u32>("window.n_asked").await, 2);
        tab.run("__test.feed().session = 'live'").await;
        tab.wait_for("the session once more", SHORT, of_session)
            .await;
        tab.run("__test.feed().session = null").await;
        tab.wait_for("what is left", SHORT, of_log).await;
    });
}

#[test]
fn the_strip_of_the_next_session_is_its_own() {
    // As many events, as long, and other prompts.
    let log = |name: &'static str, prompt_at: u64| {
        let mut writer = Writer::new("strip");
        for nth in 0..20 {
            let place = json!({"turnId": "t1", "responseId": format!("r{nth}")});
            let text = json!({"text": "Find it", "part": 0});
            let kind = match nth == prompt_at {
                true => "user_message",
                false => "assistant_done",
            };
            writer.event(kind, &place, &text);
        }
        (name, writer.take())
    };
    let files = vec![log("/one.jsonl", 3), log("/two.jsonl", 15)];
    on_stage("strip_next", crate::FEED, files, async |stage| {
        let tab = &stage.tab;
        let marker = "parseFloat(__test.one('.strip__marker--prompt')?.getAttribute('x'))";
        for (log, is_there) in [("/one.jsonl", "< 40"), ("/two.jsonl", "> 60")] {
            stage.show(log).await;
            let place = format!("{marker} {is_there}");
            tab.wait_for(log, SHORT, &place).await;
        }
        // So are the marks of what is found.
        let ticks = "!!__test.one('.ticks__path').getAttribute('d')";
        tab.run("await __test.feed().search('find')").await;
        tab.wait_for("marks", SHORT, ticks).await;
        tab.run("__test.one('.ticks__path').removeAttribute('d')")
            .await;
        stage.show("/one.jsonl").await;
        tab.wait_for("marks in the next", SHORT, ticks).await;
    });
}

#[test]
fn what_is_shown_upon_word_of_a_session_has_nothing_of_that_one() {
    let files = vec![("/log", log_of("next", 60))];
    on_stage("upon_word", crate::FEED, files, async |stage| {
        let tab = &stage.tab;
        tab.expect_problems("404");
        tab.run(
            "const feed = __test.feed(), log = new File([await (await fetch('/log')).text()], 'next.jsonl');
             feed.addEventListener('af-state', ({ detail }) => { if (detail.state === window.awaited) { window.awaited = ''; feed.load(log); } });
             feed.addEventListener('af-error', () => told.push('error'));
             feed.addEventListener('af-ready', () => told.push(feed.state));",
        )
        .await;
        for (awaited, src) in [("error", "/none"), ("ready", "/log")] {
            tab.run(&format!(
                "window.told = []; window.awaited = '{awaited}'; __test.feed().src = '{src}'"
            ))
            .await;
            let shown = "window.awaited === '' && told.includes('ready') && __test.feed().state === 'ready'";
            tab.wait_for("the next", SHORT, shown).await;
            stage.rest().await;
            let is: Value = tab.eval("[told, !!__test.visible('.note')]").await;
            assert_eq!(is, json!([["ready"], false]), "upon {awaited}");
        }
    });
}
