//! Folders and files that are dropped on the page: thousands are listed without holding it, what is no session is left
//! out, and what cannot be read is said.

use crate::SHORT;
use crate::browser::Tab;
use crate::server::Server;
use crate::sessions::with_server;
use crate::stage::LOAD_LIMIT;

/// So many are asked for at once.
const AT_ONCE: u64 = 8;

/// Makes folders as a browser gives them, and drops them; `window.asked` counts what is asked of them.
const FOLDERS: &str = "
    window.asked = { files: 0, open: 0, most: 0, passed: 0 };
    window.folder = (path, entries, refuses) => ({
        isFile: false, isDirectory: true, name: path.split('/').at(-1), fullPath: path,
        createReader() {
            if (path.endsWith('node_modules')) window.asked.passed += 1;
            let at = 0;
            return { readEntries: (done, failed) => setTimeout(() => refuses ? failed(new DOMException('no', 'NotReadableError')) : done(entries.slice(at, at += 100))) };
        },
    });
    window.file = (path, ...texts) => ({
        isFile: true, isDirectory: false, name: path.split('/').at(-1), fullPath: path,
        file(done) {
            const asked = window.asked;
            asked.files += 1;
            asked.most = Math.max(asked.most, asked.open += 1);
            const text = texts.length > 1 ? texts.shift() : texts[0];
            setTimeout(() => { asked.open -= 1; done(new File([text], path.split('/').at(-1), { lastModified: 1700000000000 + (window.clock = (window.clock ?? 0) + 1) })); });
        },
    });
    window.drop = (...entries) => {
        const event = new DragEvent('drop', { bubbles: true, cancelable: true });
        const items = entries.map((entry) => ({ webkitGetAsEntry: () => entry }));
        Object.defineProperty(event, 'dataTransfer', { value: { items, files: null, types: ['Files'] } });
        document.body.dispatchEvent(event);
    };
    window.log = (session, ...texts) => texts.map((text, n) => JSON.stringify({ id: `e${n}`, timestamp: 1700000000000 + n, sessionId: session, turnId: 't1', type: 'assistant_done', payload: { text, messageId: `m${n}` } })).join('\\n');
    window.prompt_of = (n) => JSON.stringify({ type: 'user', uuid: `u${n}`, sessionId: `s${n}`, timestamp: '2026-02-03T10:00:00.000Z', message: { role: 'user', content: `Task ${n}` } }) + '\\n';
";

async fn open(tab: &Tab, server: &Server) {
    tab.goto(&format!("{}/#token={}", server.url, server.token))
        .await;
    let filled = "!!document.querySelector('.drop')";
    tab.wait_for("the page", LOAD_LIMIT, filled).await;
    tab.run(FOLDERS).await;
}

fn lists(n_sessions: u64) -> String {
    format!(
        "document.querySelector('[role=option]')?.getAttribute('aria-setsize') === '{n_sessions}'"
    )
}

#[test]
fn a_folder_of_thousands_of_sessions_is_listed_once_and_what_is_none_is_left_out() {
    with_server("dropped", 120, async |visit, program| {
        let server = Server::start(&program).await;
        let tab = visit.tab("dropped").await;
        open(&tab, &server).await;
        tab.run(
            "const projects = Array.from({ length: 10 }, (_, p) => folder(`/all/p${p}`, Array.from({ length: 100 }, (_, n) => file(`/all/p${p}/s${p * 100 + n}.jsonl`, prompt_of(p * 100 + n)))));
             const beside = [file('/all/.DS_Store', ''), file('/all/notes.md', '# Notes'), file('/all/package.json', '{\"name\": \"x\"}'), folder('/all/node_modules', []), folder('/all/locked', [], true)];
             window.all = folder('/all', [...projects, ...beside]); drop(all);",
        )
        .await;
        // What is called as a session could be is listed until it was looked at.
        tab.wait_for("all sessions, and nothing else", LOAD_LIMIT, &lists(1000))
            .await;
        let asked: Vec<u64> = tab.eval("[asked.files, asked.most, asked.passed]").await;
        assert!((1001..=1003).contains(&asked[0]), "{asked:?}");
        assert!((2..=AT_ONCE).contains(&asked[1]), "{asked:?}");
        assert_eq!(asked[2], 0, "what programs keep is not looked into");
        let said: String = tab
            .eval("document.querySelector('[role=alert]').textContent")
            .await;
        assert!(said.contains("cannot be read: 1 file or folder"), "{said}");
        tab.wait_for("a session of it", SHORT, "__test.text().includes('Task ')")
            .await;
        // Again it is the same.
        tab.run("drop(all)").await;
        tab.wait_for("to be asked again", LOAD_LIMIT, "asked.files > 2000")
            .await;
        tab.wait_for("the same sessions", LOAD_LIMIT, &lists(1000))
            .await;
        // Words find what is not on the screen.
        tab.run("const field = document.getElementById('sessions-filter'); field.value = '\"task 234\"'; field.dispatchEvent(new Event('input'))")
            .await;
        tab.wait_for("the one", LOAD_LIMIT, &lists(1)).await;
    });
}

#[test]
fn files_are_read_as_they_are_now_and_all_that_they_hold_is_shown() {
    with_server("dropped_now", 90, async |visit, program| {
        let server = Server::start(&program).await;
        let tab = visit.tab("dropped_now").await;
        open(&tab, &server).await;
        let shows = |words: &str| format!("__test.text().includes('{words}')");
        // It goes on while the page is open.
        tab.run("drop(file('/grows.jsonl', log('s1', 'Before'), log('s1', 'Before', 'Since')))")
            .await;
        tab.wait_for("what came since", LOAD_LIMIT, &shows("Since"))
            .await;
        // A list of events.
        tab.run("drop(file('/list.json', JSON.stringify(log('s3', 'One', 'Other').split('\\n').map(JSON.parse), null, 2)))")
            .await;
        tab.wait_for("the list", LOAD_LIMIT, &shows("Other")).await;
        assert!(tab.eval::<bool>("__test.feed().eventCount === 2").await);
        // Nobody reads an id that a program made.
        tab.run("drop(file('/916e9278-b573-4a9f-a9df-23458e5f3261.jsonl', log('916e9278-b573-4a9f-a9df-23458e5f3261', 'Untitled')))")
            .await;
        tab.wait_for(
            "its name",
            LOAD_LIMIT,
            "document.querySelector('.session[data-open] .session__title')?.textContent.startsWith('Session of ')",
        )
        .await;
        // A picture changes nothing, and is refused by what it is.
        tab.run("drop(file('/shot.png', '\\u0089PNG'))").await;
        tab.wait_for(
            "a word of it",
            LOAD_LIMIT,
            "document.querySelector('[role=alert]')?.textContent.includes('shot.png')",
        )
        .await;
        assert!(tab.eval::<bool>(&shows("Untitled")).await);
    });
}

/// Titles in the list, and what is said beside them.
const LISTED: &str =
    "[...document.querySelectorAll('[role=option]')].map((row) => row.textContent)";

#[test]
fn sessions_that_share_a_file_are_listed_and_opened_each_by_itself() {
    with_server("dropped_two", 90, async |visit, program| {
        let server = Server::start(&program).await;
        let tab = visit.tab("dropped_two").await;
        open(&tab, &server).await;
        tab.run(
            "window.begun = (session, agent, folder, text) => JSON.stringify({ id: 'b', timestamp: 1700000000000, sessionId: session, type: 'session_start', payload: { agent, cwd: folder, title: `Title of ${session}` } }) + '\\n' + log(session, text) + '\\n';
             drop(file('/two.jsonl', begun('s1', 'Alpha 1.0', '/w/apples', 'Of the first') + begun('s2', 'Beta 2.0', '/w/pears', 'Of the second') + log('s1', 'Of the first', 'Again the first').split('\\n')[1]))",
        )
        .await;
        tab.wait_for("both", LOAD_LIMIT, &lists(2)).await;
        let shows = |words: &str| format!("__test.text().includes('{words}')");
        tab.wait_for("the first", LOAD_LIMIT, &shows("Again the first"))
            .await;
        assert!(!tab.eval::<bool>(&shows("Of the second")).await);
        assert_eq!(tab.eval::<u64>("__test.feed().eventCount").await, 3);
        let told = |words: &str| {
            format!("{LISTED}.some((row) => {words}.every((word) => row.includes(word)))")
        };
        for words in [
            "['Title of s1', 'Alpha', 'apples', '3 events']",
            "['Title of s2', 'Beta', 'pears', '2 events']",
        ] {
            tab.wait_for("a row of its own", LOAD_LIMIT, &told(words))
                .await;
        }
        // What they are of can be chosen.
        let offered: Vec<String> = tab
            .eval("[...document.querySelectorAll('.facet option')].map((option) => option.value)")
            .await;
        for value in ["Alpha", "Beta", "apples", "pears"] {
            assert!(
                offered.iter().any(|offered| offered == value),
                "{offered:?}"
            );
        }
        // What is chosen is written as a whole name, and shown as chosen.
        tab.run("const menu = [...document.querySelectorAll('.facet')].find((menu) => [...menu.options].some((option) => option.value === 'pears')); menu.value = 'pears'; menu.dispatchEvent(new Event('change', {bubbles: true}));")
            .await;
        let chosen = format!(
            "document.getElementById('sessions-filter').value === 'project:\"pears\"' && [...document.querySelectorAll('.facet')].some((menu) => menu.value === 'pears') && {LISTED}.length === 1"
        );
        tab.wait_for("the one that is chosen", SHORT, &chosen).await;
        tab.run("const field = document.getElementById('sessions-filter'); field.value = ''; field.dispatchEvent(new Event('input', {bubbles: true}));")
            .await;
        tab.wait_for("both again", SHORT, &format!("{LISTED}.length === 2"))
            .await;
        tab.click("[...document.querySelectorAll('[role=option]')].find((row) => row.textContent.includes('Title of s2'))")
            .await;
        tab.wait_for("the second", LOAD_LIMIT, &shows("Of the second"))
            .await;
        assert!(!tab.eval::<bool>(&shows("Of the first")).await);
    });
}

#[test]
fn an_exported_page_that_is_dropped_is_the_session_that_it_holds() {
    with_server("dropped_page", 90, async |visit, program| {
        let server = Server::start(&program).await;
        let tab = visit.tab("dropped_page").await;
        open(&tab, &server).await;
        tab.run("drop(file('/one.jsonl', log('s1', 'Written down', 'And more')))")
            .await;
        let shown = "__test.feed().eventCount === 2 && __test.text().includes('And more')";
        tab.wait_for("the log", LOAD_LIMIT, shown).await;
        let rows = "__test.feed().serializeRows({ maskTimes: false })";
        let before: String = tab.eval(rows).await;
        tab.run("window.page = await __test.feed().exportAs('html', { mask: false }); drop(file('/other.jsonl', log('s2', 'Something else')))")
            .await;
        tab.wait_for(
            "another",
            LOAD_LIMIT,
            "__test.text().includes('Something else')",
        )
        .await;
        tab.run("drop(file('/page.html', page))").await;
        tab.wait_for("the page's session", LOAD_LIMIT, shown).await;
        assert_eq!(tab.eval::<String>(rows).await, before);
        // One of others is told to be one, and changes nothing.
        tab.run("drop(file('/foreign.html', '<!DOCTYPE html>\\n<p>Words'))")
            .await;
        tab.wait_for(
            "a word of it",
            LOAD_LIMIT,
            "document.querySelector('[role=alert]')?.textContent.includes('a web page without a session')",
        )
        .await;
        assert!(tab.eval::<bool>(shown).await);
    });
}

#[test]
fn a_dropped_session_says_how_it_ended_once_it_was_read() {
    with_server("dropped_ends", 90, async |visit, program| {
        let server = Server::start(&program).await;
        let tab = visit.tab("dropped_ends").await;
        open(&tab, &server).await;
        // The newest is opened.
        tab.run(
            "window.ended = (session, outcome) => log(session, 'Said') + '\\n' + JSON.stringify({ id: 'e9', timestamp: 1700000000009, sessionId: session, turnId: 't1', type: 'turn_end', payload: { outcome } });
             const names = ['completed', 'interrupted', 'failed', 'open'];
             drop(folder('/mine', names.map((name) => file(`/mine/${name}.jsonl`, name === 'open' ? log(name, 'Said') : ended(name, name)))));",
        )
        .await;
        tab.wait_for("all of them", LOAD_LIMIT, &lists(4)).await;
        let row = |name: &str| {
            format!(
                "[...document.querySelectorAll('.session')].find((row) => row.title.endsWith('{name}'))"
            )
        };
        let glyph = |name: &str, sign: &str| {
            format!("!!{}?.querySelector(':scope > .glyph--{sign}')", row(name))
        };
        for name in ["completed", "interrupted"] {
            assert!(tab.eval::<bool>(&glyph(name, "file")).await, "{name}");
        }
        for (name, sign) in [
            ("failed", "failed"),
            ("interrupted", "cancelled"),
            ("completed", "done"),
        ] {
            tab.run(&format!("{}.click()", row(name))).await;
            tab.wait_for(name, LOAD_LIMIT, &glyph(name, sign)).await;
        }
        // What was opened stays known.
        assert!(tab.eval::<bool>(&glyph("failed", "failed")).await);
    });
}
