//! Every state of the page in a wide and a narrow window, light and dark: nothing sticks out of it, and no page scrolls
//! sideways.
//!
//! With `TURNREEL_LOOKS` naming a folder, a picture of each is written there, to be looked at.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::accessible::{State, states};
use crate::browser::{Tab, Visit};
use crate::made_logs::{Writer, every_kind};
use crate::overview::{begun, events};
use crate::overview_answers::{ask, command};
use crate::server::{Pipe, Server};
use crate::sessions::{CATCH_UP_LIMIT, LIVE, pipe_all, with_server};
use crate::stage::on_stage;
use crate::stories::Story;
use crate::{FEED, SHORT};

const WIDE: (i64, i64) = (1440, 900);
const NARROW: (i64, i64) = (390, 844);
const MIDDLE: (i64, i64) = (760, 900);
/// As the README shows it.
const README: (i64, i64) = (1440, 680);
/// A feed in somebody's page.
const EMBEDDED: (i64, i64) = (480, 600);

/// What sticks out of the window to the side, and does not lie in something that scrolls or cuts it off.
const STICKS_OUT: &str = r"(() => {
    const wide = document.documentElement.clientWidth;
    const found = [];
    if (document.scrollingElement.scrollWidth > wide) found.push(`the page is ${document.scrollingElement.scrollWidth} px wide`);
    const around = (element) => element.assignedSlot ?? element.parentElement ?? element.getRootNode().host;
    const cut = (element) => {
        for (let it = around(element); it; it = around(it)) {
            const style = getComputedStyle(it);
            if (style.overflowX !== 'visible' || style.clipPath !== 'none') return true;
            if (style.position === 'fixed') return false;
        }
        return false;
    };
    for (const element of __test.all('*')) {
        if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
        const box = element.getBoundingClientRect();
        if (box.width === 0 || (box.right <= wide + 1 && box.left >= -1)) continue;
        if (!cut(element)) found.push(`${element.tagName}.${element.className} from ${box.left} to ${box.right} of ${wide}`);
    }
    return found.slice(0, 5);
})()";

/// What was seen, and what stuck out.
struct Looks {
    pictures: Option<PathBuf>,
    n_seen: usize,
    stuck_out: Vec<String>,
}

impl Looks {
    fn new() -> Looks {
        let pictures = std::env::var_os("TURNREEL_LOOKS").map(PathBuf::from);
        if let Some(folder) = &pictures {
            std::fs::create_dir_all(folder).expect("a folder for pictures");
        }
        Looks {
            pictures,
            n_seen: 0,
            stuck_out: Vec::new(),
        }
    }

    /// Looks at a state in these windows, light and dark.
    async fn at(&mut self, tab: &Tab, state: &str, sizes: &[(i64, i64)]) {
        for &size in sizes {
            for dark in [false, true] {
                tab.look(dark, size).await;
                tab.run("await __test.frames(3); for (const it of document.getAnimations()) it.finish();").await;
                if let Some(folder) = &self.pictures {
                    tab.run("if (__test.feed()?.rowCount) await __test.rest()")
                        .await;
                    let scheme = if dark { "dark" } else { "light" };
                    let name = format!("{}-{}-{scheme}.png", state.replace(' ', "-"), size.0);
                    std::fs::write(folder.join(name), tab.pixels().await).expect("a picture");
                }
                let found: Vec<String> = tab.eval(STICKS_OUT).await;
                let (width, _) = size;
                self.stuck_out.extend(
                    found
                        .iter()
                        .map(|what| format!("{state}, {width} px: {what}")),
                );
                self.n_seen += 1;
            }
        }
        tab.look(false, WIDE).await;
    }

    fn end(self, at_least: usize) {
        assert!(self.stuck_out.is_empty(), "{}", self.stuck_out.join("\n"));
        assert!(self.n_seen >= at_least, "{} pictures", self.n_seen);
    }
}

/// Opens a session and waits until all of it is there.
async fn open(tab: &Tab, server: &Server, session: &str) {
    tab.goto("about:blank").await;
    tab.goto(&server.page_of(session)).await;
    let here = format!("{LIVE} && __test.rows().length > 2");
    tab.wait_for("the session", SHORT, &here).await;
    tab.run("await __test.rest()").await;
}

/// Recorded sessions with what was asked for, as they came by the pipe; their ids.
async fn record(server: &Server, stories: &[(&'static str, &str)]) -> Vec<String> {
    let mut sessions = Vec::new();
    for (name, prompt) in stories {
        let story = Story::read(name);
        let (_, session) = story.events();
        let mut pipe = Pipe::start(server, &["--prompt", prompt]);
        pipe.feed(&story.bytes).await;
        pipe.finish().await;
        sessions.push(session);
    }
    sessions
}

#[test]
fn no_state_sticks_out_of_a_wide_or_a_narrow_window() {
    with_server("looks", 300, async |visit, program| {
        let mut looks = Looks::new();
        let both = [WIDE, NARROW];
        let server = Server::start(&program).await;
        let tab = visit.tab("page").await;
        tab.look(false, WIDE).await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        tab.wait_for("the empty list", SHORT, "!!__test.one('.drop')")
            .await;
        looks.at(&tab, "nothing yet", &both).await;

        let stories = [
            ("multiedit", "Say that it is big, in one edit"),
            ("subagent", "Let a helper count the files"),
            ("parallel", "Look at everything at once, then make it big"),
        ];
        let recorded = record(&server, &stories).await;
        let log = every_kind("every").take();
        let events = as_of_today(&log, Duration::from_secs(95));
        let log: String = events.iter().map(|event| format!("{event}\n")).collect();
        pipe_all(&server, &log).await;
        open(&tab, &server, "every").await;
        for State(what, steps, seen) in states() {
            // A menu closes when the window changes: each window has its own.
            let windows: &[&[(i64, i64)]] = match what {
                "chapters" | "exports" => &[&[WIDE], &[NARROW]],
                _ => &[&both],
            };
            for sizes in windows {
                tab.look(false, sizes[0]).await;
                tab.run("await __test.frames(2)").await;
                tab.run(&steps).await;
                tab.wait_for(what, SHORT, seen).await;
                // What is typed has states of its own below.
                if !matches!(what, "found" | "keys") {
                    looks.at(&tab, what, sizes).await;
                }
            }
        }
        tab.press("/").await;
        tab.type_text("begin").await;
        let found = "/\\d found|of \\d/.test(__test.text(__test.one('.find__status')))";
        tab.wait_for("hits", SHORT, found).await;
        tab.press("Enter").await;
        tab.wait_for(
            "the first hit",
            SHORT,
            "CSS.highlights.get('af-find-current')?.size > 0",
        )
        .await;
        looks.at(&tab, "find", &both).await;
        tab.press("Escape").await;
        tab.run("__test.feed().scroller.focus()").await;
        tab.press("?").await;
        tab.wait_for("the keys", SHORT, "!!__test.one('dialog[open]')")
            .await;
        looks.at(&tab, "keys", &both).await;
        tab.press("Escape").await;

        for (name, session) in ["edits", "subagent", "parallel"].iter().zip(&recorded) {
            open(&tab, &server, session).await;
            looks.at(&tab, &format!("{name} at the end"), &both).await;
            tab.run("const feed = __test.feed(); feed.setAttribute('fold', 'none'); feed.scroller.dispatchEvent(new WheelEvent('wheel')); await __test.frames(2); feed.scroller.scrollTop = 0; await __test.rest()").await;
            looks.at(&tab, &format!("{name} unfolded"), &both).await;
        }
        tab.run("__test.feed().scroller.focus()").await;
        tab.press("Space").await;
        tab.wait_for("the player", SHORT, "!!__test.visible('.strip')")
            .await;
        tab.run("__test.feed().pause(); __test.feed().seek(__test.feed().duration / 2)")
            .await;
        looks.at(&tab, "a moment of the past", &both).await;
        tab.run("__test.feed().returnToLive()").await;
        widened(&tab, &server, &mut looks).await;
        failures(&visit, &server, &mut looks).await;
        readme(&tab, &program, &mut looks).await;
        overview(&tab, &program, &mut looks).await;
        looks.end(96);
    });
}

/// A diff with more of its file, a picture in a result, sound, and a sub-agent's line.
async fn widened(tab: &Tab, server: &Server, looks: &mut Looks) {
    open(tab, server, "every").await;
    let row = "__test.all('.file-edit').find((row) => row.textContent.includes('step_30'))";
    tab.run("const feed = __test.feed(); feed.setAttribute('fold', 'none'); feed.scroller.dispatchEvent(new WheelEvent('wheel')); feed.goTo('e31'); await __test.rest()").await;
    tab.wait_for(
        "the diff",
        SHORT,
        &format!("!!{row}?.querySelector('[data-widen]') && !__test.one('[data-lit]')"),
    )
    .await;
    tab.run(&format!(
        "{row}.querySelector('[data-widen]').click(); __test.all('.tool-call').find((row) => row.textContent.includes('plot.png'))?.querySelector('[aria-expanded=false]')?.click(); await __test.rest()"
    ))
    .await;
    looks.at(tab, "widened", &[WIDE, NARROW]).await;
}

/// The events of a log, the last of which came so long ago.
fn as_of_today(log: &str, ago: Duration) -> Vec<Value> {
    let mut events: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect();
    let ended_ms = events.last().and_then(|last| last["timestamp"].as_u64());
    let then = SystemTime::UNIX_EPOCH.elapsed().expect("a clock") - ago;
    let then_ms = u64::try_from(then.as_millis()).expect("a time");
    let later_ms = then_ms - ended_ms.expect("it says when it was");
    for event in &mut events {
        event["timestamp"] = json!(event["timestamp"].as_u64().unwrap_or(0) + later_ms);
    }
    events
}

/// The example that comes with the server, as a session that has just ended, with a title of its own; its id.
async fn send_example(server: &Server, title: &str) -> &'static str {
    let example = include_str!("../../crates/host/turnreel/examples/upload-retry.jsonl");
    let mut events = as_of_today(example, Duration::ZERO);
    let session = "upload-retry";
    for event in &mut events {
        event["sessionId"] = json!(session);
        if event["type"] == "session_start" {
            event["payload"]["title"] = json!(title);
        }
    }
    server.send(session, &Value::Array(events)).await;
    session
}

/// What the README shows: a recorded session among others, played to where it answers, with what it changed beside it.
async fn readme(tab: &Tab, program: &Path, looks: &mut Looks) {
    let server = Server::start(program).await;
    let stories = [
        ("compact", "Keep what matters of this talk"),
        ("todos", "Plan the work for the next release"),
        ("notebook", "Add a cell that prints the total"),
        ("gemini-stream", "Sum up the notes"),
        ("multi-turn", "Begin with the first of them"),
        ("subagent", "Let a helper count the files"),
        ("question", "Ask which colour it is to have"),
        ("read-edit", "Read it and mend the typo"),
        ("bash", "Show what the terminal makes of it"),
        ("plan-mode", "Plan the change, then make it"),
    ];
    record(&server, &stories).await;
    let session = send_example(&server, "Uploads give up too early").await;
    open(tab, &server, session).await;
    // Where the first answer is being written.
    tab.run("__test.one('.panel-toggle').click(); await __test.rest(); await __test.feed().seek(48); await __test.rest(); __test.one('.tree__open').click(); await __test.rest()").await;
    looks.at(tab, "readme", &[README]).await;
}

/// The list where nothing is open: sessions that wait for somebody, that go on, and that are over.
async fn overview(tab: &Tab, program: &Path, looks: &mut Looks) {
    let server = Server::start(program).await;
    let stories = [
        ("todos", "Plan the work for the next release"),
        ("subagent", "Let a helper count the files"),
        ("parallel", "Look at everything at once, then make it big"),
    ];
    record(&server, &stories).await;
    let clear = command("r1", "cargo clean --package tidepool");
    ask(&server, "clear", "permission_request", clear).await;
    let choices =
        json!([{"label": "Keep"}, {"label": "Drop", "description": "Two clients still use it"}]);
    let question = json!({"text": "Keep TLS 1.0?", "options": choices});
    let questions = json!({"requestId": "r2", "questions": [question]});
    ask(&server, "harden", "question_request", questions).await;
    let long = command("r3", &"cargo test --package tidepool ".repeat(9));
    ask(&server, "tests", "permission_request", long).await;
    let goes_on = events("goes-on", 0, &begun("Measure the first rows"));
    server.send("goes-on", &goes_on).await;
    tab.goto("about:blank").await;
    tab.look(false, WIDE).await;
    tab.goto(&format!("{}/#token={}", server.url, server.token))
        .await;
    let listed = "document.querySelectorAll('.session').length === 7 && document.querySelectorAll('.answers').length === 3";
    tab.wait_for("the sessions", CATCH_UP_LIMIT, listed).await;
    looks.at(tab, "overview", &[WIDE, MIDDLE, NARROW]).await;
}

/// What there is to see where there is no session.
async fn failures(visit: &Arc<Visit>, server: &Server, looks: &mut Looks) {
    let both = [WIDE, NARROW];
    let tab = visit.tab("nowhere").await;
    tab.expect_problems("404");
    tab.goto(&server.page_of("nowhere")).await;
    let note = "!!__test.visible('.note')";
    tab.wait_for("that it is not there", SHORT, note).await;
    looks.at(&tab, "no such session", &both).await;

    let stranger = visit.tab("stranger").await;
    stranger.expect_problems("401");
    stranger
        .goto(&format!("{}/#session=every", server.url))
        .await;
    let asks = "!!__test.visible('input[type=password]')";
    stranger
        .wait_for("the page to ask for a token", SHORT, asks)
        .await;
    looks.at(&stranger, "no token", &both).await;

    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("holiday.txt");
    std::fs::write(&file, "Dear diary,\nthe sea was blue.\n").expect("a file");
    tab.goto("about:blank").await;
    tab.goto(&format!("{}/#token={}", server.url, server.token))
        .await;
    tab.wait_for("a place to drop it", SHORT, "__test.one('.drop')")
        .await;
    tab.drop_files(&[&file]).await;
    tab.wait_for("that it is no session", SHORT, note).await;
    looks.at(&tab, "no session file", &both).await;
}

#[test]
fn an_embedded_feed_fits_a_small_box() {
    let mut log = every_kind("every");
    let files = vec![("/log", log.take())];
    on_stage("embedded", FEED, files, async |stage| {
        let mut looks = Looks::new();
        stage.tab.look(false, EMBEDDED).await;
        stage.tab.run("__test.feed().removeAttribute('fold'); __test.feed().removeAttribute('group'); document.body.style.margin = 0; __test.feed().style.height = '600px'").await;
        stage.show("/log").await;
        looks.at(&stage.tab, "embedded", &[EMBEDDED]).await;
        stage.tab.run("__test.feed().scroller.dispatchEvent(new WheelEvent('wheel')); __test.feed().scroller.scrollTop = 0; await __test.rest(); __test.one('.panel-toggle').click()").await;
        looks
            .at(&stage.tab, "embedded with its panel", &[EMBEDDED])
            .await;
        looks.end(4);
    });
}

/// A feed with what a page may put into it.
const WITH_SLOTS: &str = "<agent-feed>
    <pre id=\"stand-in\">$ cargo test\n12 passed</pre>
    <h2 slot=\"header\">Nightly run</h2>
    <button slot=\"toolbar-start\">Back</button>
    <button slot=\"toolbar-end\">Rerun</button>
    <form slot=\"composer\"><input aria-label=\"Message\"><button>Send</button></form>
    <p slot=\"footer\">Kept for a week</p>
</agent-feed>";

#[test]
fn what_a_page_puts_into_a_feed_fits_it() {
    let mut log = every_kind("every");
    let files = vec![("/log", log.take())];
    on_stage("looks_slots", WITH_SLOTS, files, async |stage| {
        let mut looks = Looks::new();
        stage
            .tab
            .run("document.body.style.margin = 0; __test.feed().style.height = '100vh';
                for (const it of __test.feed().children) if (/header|composer|footer/.test(it.slot)) Object.assign(it.style, { margin: 0, padding: '8px 16px' });
                __test.feed().querySelector('form').style.display = 'flex'; __test.feed().querySelector('input').style.flex = '1'")
            .await;
        let sizes = [(1100, 700), NARROW];
        looks.at(&stage.tab, "stand in", &sizes).await;
        stage.show("/log").await;
        looks.at(&stage.tab, "slots", &sizes).await;
        stage.tab.run("__test.feed().clear()").await;
        looks.at(&stage.tab, "no events", &sizes).await;
        looks.end(12);
    });
}

/// Rows of groups, and where their icons begin beside those of other calls.
const MEMBERS: &str = r"(() => {
    const begins = (row) => row.querySelector(':scope > .line > .icon')?.getBoundingClientRect().left;
    const calls = __test.all('.tool-call:not(.member)').map(begins).filter((left) => left !== undefined);
    const members = __test.all('.row.member').map(begins).filter((left) => left !== undefined);
    return [calls.length, members.length, members.filter((left) => left !== calls[0]).length];
})()";

/// Two files that are read one after the other, and a command.
fn grouped() -> String {
    let mut writer = Writer::new("grouped");
    let place = json!({"turnId": "t1", "responseId": "r1"});
    writer.event("turn_start", &place, &json!({"trigger": "user"}));
    writer.event("user_message", &place, &json!({"text": "Look at both"}));
    for (id, name, args) in [
        ("a", "Read", json!({"file_path": "a.rs"})),
        ("b", "Read", json!({"file_path": "b.rs"})),
        ("c", "Bash", json!({"command": "ls"})),
    ] {
        let call = json!({"toolCallId": id, "toolName": name, "args": args});
        writer.event("tool_call", &place, &call);
        let result = json!({"toolCallId": id, "result": "one"});
        writer.event("tool_result", &place, &result);
    }
    writer.event("turn_end", &place, &json!({"outcome": "completed"}));
    writer.take()
}

#[test]
fn a_narrow_page_keeps_its_rows_and_its_player_in_line() {
    let files = vec![("/log", grouped())];
    on_stage("in line", FEED, files, async |stage| {
        stage.tab.look(false, (320, 700)).await;
        stage.tab.run("__test.feed().removeAttribute('group'); document.body.style.margin = 0; __test.feed().style.height = '700px'").await;
        stage.show("/log").await;
        let player = "!!__test.visible('.transport__toggle')";
        stage.tab.wait_for("the player", SHORT, player).await;
        let row = "__test.one('.transport__row').getBoundingClientRect().height";
        let height: f64 = stage.tab.eval(row).await;
        assert!(height < 44.0, "the player has a second row: {height} px");
        let open = "__test.one('.company > [aria-expanded=false]').click(); await __test.rest()";
        stage.tab.run(open).await;
        let (n_calls, n_members, n_astray): (usize, usize, usize) = stage.tab.eval(MEMBERS).await;
        assert_eq!((n_calls, n_members, n_astray), (1, 2, 0));
    });
}

#[test]
fn the_focus_comes_back_from_the_keys_to_the_row_it_was_in() {
    let files = vec![("/log", grouped())];
    on_stage("back from the keys", FEED, files, async |stage| {
        stage.show("/log").await;
        stage.tab.run("__test.one('.user-message').focus()").await;
        stage.tab.press("Tab").await;
        let within = "__test.feed().shadowRoot.activeElement?.closest('.row-actions')";
        let acts = format!("!!{within}");
        stage
            .tab
            .wait_for("a button of the row", SHORT, &acts)
            .await;
        stage.tab.press("?").await;
        let close = "__test.one('dialog[open] button')";
        let opened = format!("!!{close}");
        stage.tab.wait_for("the keys", SHORT, &opened).await;
        stage.tab.run(&format!("{close}.click()")).await;
        let back = "__test.feed().shadowRoot.activeElement?.matches('.user-message')";
        stage.tab.wait_for("the row", SHORT, back).await;
    });
}
