//! What commands printed, as only a browser shows it: colours that can be read, lines that a progress bar wrote over
//! itself, links, a long output through a window; no byte of control in the page, and in any pieces the same.

use serde_json::json;

use crate::made_logs::Writer;
use crate::stage::{Stage, on_stage};
use crate::{FEED, SHORT};

/// Colours, a bar that runs over itself, a link, a title and a cleared line that no one should see.
const PRINTED: &str = concat!(
    "\u{1b}]0;a title\u{7}\u{1b}[32mgreen\u{1b}[0m and \u{1b}[1;38;2;255;0;0mown red\u{1b}[0m\n",
    "  1 %\r 50 %\r100 %\u{1b}[K\n",
    "\u{1b}]8;;https://docs.rs/serde\u{1b}\\the docs\u{1b}]8;;\u{1b}\\ and \u{1b}]8;;javascript:alert(1)\u{1b}\\no link\u{1b}]8;;\u{1b}\\\n",
    "half a cluster: e\u{301}, \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}, \u{6f22}\u{5b57}\u{7}\n",
    "\u{8}\u{9b}31mend\u{1b}[?25l\u{1b}]52;c;Y29weQ==\u{7}\n",
);

/// The lines of the one open terminal.
const LINES: &str = "__test.all('.terminal__line').map((line) => line.textContent)";

/// Tells of a command and what it printed in pieces; `end` with its result.
async fn tell(stage: &Stage, call: &str, pieces: &[&str], end: bool) {
    let mut writer = Writer::new(call);
    let place = json!({"turnId": "t1", "responseId": "r1"});
    let args = json!({"toolCallId": call, "toolName": "Bash", "kind": "execute", "args": {"command": "make"}});
    writer.event("tool_call", &place, &args);
    for piece in pieces {
        let chunk = json!({"toolCallId": call, "chunk": piece});
        writer.event("tool_output_chunk", &place, &chunk);
    }
    if end {
        let result = json!({"toolCallId": call, "result": pieces.concat(), "exitCode": 2, "error": {"message": "exit code 2"}});
        writer.event("tool_result", &place, &result);
    }
    stage.tab.run("__test.feed().clear()").await;
    stage.append(&writer.take()).await;
    stage.rest().await;
}

#[test]
fn what_was_printed_is_seen_as_a_terminal_shows_it() {
    on_stage("terminal", FEED, vec![], async |stage| {
        tell(&stage, "all", &[PRINTED], true).await;
        let lines: Vec<String> = stage.tab.eval(LINES).await;
        assert_eq!(lines[0], "green and own red");
        assert_eq!(lines[1], "100 %", "a bar leaves its last state");
        assert_eq!(lines[2], "the docs and no link");
        let controls = lines
            .iter()
            .flat_map(|line| line.chars())
            .filter(|char| char.is_control())
            .count();
        assert_eq!(controls, 0, "{lines:?}");
        // A colour of the command's own is that one, and bold is bold.
        let own: (String, String) = stage
            .tab
            .eval("(() => { const run = __test.all('.terminal__line span').find((it) => it.textContent === 'own red'); return [run.className, getComputedStyle(run).fontWeight]; })()")
            .await;
        assert_eq!(own, ("ansi-bold ansi-own".to_owned(), "600".to_owned()));
        let links: Vec<String> = stage
            .tab
            .eval("__test.all('.terminal__link').map((link) => link.href)")
            .await;
        assert_eq!(
            links,
            ["https://docs.rs/serde"],
            "links lead to the web only"
        );
        let exit: String = stage.tab.eval("__test.one('.chip').textContent").await;
        assert!(exit.contains("exit 2"), "{exit}");
        let n_errors: usize = stage
            .tab
            .eval("__test.all('[aria-label=Error]').length")
            .await;
        assert_eq!(n_errors, 0, "an error that is the exit code alone");
        let n_feet: usize = stage.tab.eval("__test.all('.terminal__foot').length").await;
        assert_eq!(
            n_feet, 0,
            "what the row's line says in sight is not said again"
        );
        // Every colour can be read on the ground it stands on, in both themes.
        for dark in [false, true] {
            stage.tab.look(dark, (1100, 700)).await;
            let worst: f64 = stage
                .tab
                .eval(
                    "(() => {
                        const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
                        const rgb = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
                        const light = ([r, g, b]) => [r, g, b].map((it) => it / 255).map((it) => it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4)
                            .reduce((sum, it, at) => sum + it * [0.2126, 0.7152, 0.0722][at], 0);
                        const ground = (element) => { for (let it = element; it; it = it.parentElement ?? it.getRootNode().host) {
                            const found = rgb(getComputedStyle(it).backgroundColor); if (found[3] === 255) return found; } return [255, 255, 255]; };
                        return Math.min(...__test.all('.terminal__line span').map((run) => {
                            const [a, b] = [light(rgb(getComputedStyle(run).color)), light(ground(run))].sort((a, b) => b - a);
                            return (a + 0.05) / (b + 0.05);
                        }));
                    })()",
                )
                .await;
            assert!(worst >= 4.5, "dark {dark}: contrast {worst:.2}");
        }
    });
}

#[test]
fn a_link_whose_text_names_its_host_elsewhere_than_at_its_begin_says_where_it_leads() {
    on_stage("terminal_hosts", FEED, vec![], async |stage| {
        let link =
            |to: &str, text: &str| format!("\u{1b}]8;;{to}\u{1b}\\{text}\u{1b}]8;;\u{1b}\\\n");
        let printed = [
            link("https://docs.rs/serde", "docs.rs/serde"),
            link("https://docs.rs/serde", "https://docs.rs"),
            link("https://docs.rs/serde", "the docs"),
            link("https://a.example/", "https://bank.example/?a.example"),
            link("https://a.example/", "https://a.example.bank.example/"),
        ];
        tell(&stage, "hosts", &[&printed.concat()], true).await;
        let hosts: Vec<Option<String>> = stage
            .tab
            .eval("__test.all('.terminal__link').map((link) => link.dataset.host ?? null)")
            .await;
        let hosts: Vec<_> = hosts.iter().map(Option::as_deref).collect();
        let elsewhere = Some("a.example");
        assert_eq!(hosts, [None, None, Some("docs.rs"), elsewhere, elsewhere]);
    });
}

#[test]
fn in_any_pieces_it_shows_the_same() {
    on_stage("terminal_pieces", FEED, vec![], async |stage| {
        tell(&stage, "whole", &[PRINTED], false).await;
        let whole: Vec<String> = stage.tab.eval(LINES).await;
        assert!(whole.len() >= 5, "{whole:?}");
        for size in [1, 3, 7, 20] {
            let chars: Vec<char> = PRINTED.chars().collect();
            let pieces: Vec<String> = chars.chunks(size).map(String::from_iter).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            tell(&stage, "pieces", &pieces, false).await;
            let lines: Vec<String> = stage.tab.eval(LINES).await;
            assert_eq!(lines, whole, "in pieces of {size}");
        }
    });
}

#[test]
fn a_long_output_is_two_ends_and_on_request_a_window_over_all() {
    on_stage("terminal_long", FEED, vec![], async |stage| {
        let printed: String = (1..=50_000).map(|line| format!("{line}\n")).collect();
        tell(&stage, "long", &[&printed], true).await;
        // So much is not opened by itself.
        stage
            .tab
            .run("__test.one('.tool-call [aria-expanded=false]')?.click()")
            .await;
        let more = "__test.all('.more').find((button) => button.textContent.includes('Show all 50,000 lines'))";
        stage
            .tab
            .wait_for("both ends", SHORT, &format!("!!{more}"))
            .await;
        let ends: String = stage.tab.eval("__test.one('.tool-call').textContent").await;
        assert!(ends.contains("49999") && !ends.contains("25000"), "{ends}");
        stage.tab.run(&format!("{more}.focus()")).await;
        stage.tab.press("Enter").await;
        // The button is gone: keys go on in what came in its place.
        stage
            .tab
            .wait_for(
                "all of it, with the focus",
                SHORT,
                "__test.feed().shadowRoot.activeElement?.matches('.terminal__window')",
            )
            .await;
        let foot: String = stage
            .tab
            .eval("__test.one('.terminal__foot').textContent")
            .await;
        assert!(foot.contains("exit 2"), "{foot}");
        for (share, near) in [(0.0, 1), (0.5, 25_000), (1.0, 50_000)] {
            stage
                .tab
                .run(&format!("const window_ = __test.one('.terminal__window'); window_.scrollTop = (window_.scrollHeight - window_.clientHeight) * {share}"))
                .await;
            let seen = format!(
                "(() => {{ const box = __test.one('.terminal__window').getBoundingClientRect();
                    return __test.all('.terminal__line').filter((line) => {{ const at = line.getBoundingClientRect(); return at.bottom > box.top && at.top < box.bottom; }})
                        .some((line) => Math.abs(Number(line.textContent) - {near}) < 30); }})()"
            );
            stage
                .tab
                .wait_for(&format!("line {near}"), SHORT, &seen)
                .await;
            let n_lines: usize = stage.tab.eval("__test.all('.terminal__line').length").await;
            assert!(n_lines < 200, "{n_lines} lines are in the page");
        }
    });
}

#[test]
fn a_screen_is_as_large_as_all_of_its_output_says() {
    on_stage("terminal_tall", FEED, vec![], async |stage| {
        // More than is read in one frame, and only then the lower half.
        let frame = "\u{1b}[24;1Hlast\u{1b}[Hfirst\r\n";
        let printed =
            "\u{1b}[1;24r".to_owned() + &frame.repeat(1_200_000 / frame.len()) + "\u{1b}[60;1Hlow";
        tell(&stage, "tall", &[&printed], true).await;
        stage
            .tab
            .run("__test.one('.tool-call [aria-expanded=false]')?.click()")
            .await;
        let more = "__test.all('.more').find((button) => button.textContent.includes('Show all'))";
        stage
            .tab
            .wait_for("the button", SHORT, &format!("!!{more}"))
            .await;
        stage.tab.run(&format!("{more}.click()")).await;
        let all = format!(
            "(() => {{ const lines = {LINES}; return lines.length === 60 && lines[0] === 'first' && lines[59] === 'low'; }})()"
        );
        stage.tab.wait_for("all of the screen", SHORT, &all).await;
    });
}

/// What failed stands at the end of a long output, and is red there.
#[test]
fn how_an_output_is_shown_stays_when_its_command_ends_and_all_of_it_is_copied() {
    on_stage("terminal_copied", FEED, vec![], async |stage| {
        let tab = &stage.tab;
        let long = format!("{{\"all\": \"{}\"}}", "x".repeat(4_500));
        let printed = format!("first\n\n{long}\n");
        tab.run("__test.feed().setAttribute('verbosity', 'verbose')")
            .await;
        tell(&stage, "copied", &[&printed], false).await;
        let wrap = "__test.all('.terminal__toggle').find((it) => it.textContent === 'Wrap')";
        tab.run(&format!("{wrap}.click(); await __test.rest()"))
            .await;
        let mut writer = Writer::new("copied");
        let result = json!({"toolCallId": "copied", "result": printed, "exitCode": 0});
        writer.event(
            "tool_result",
            &json!({"turnId": "t1", "responseId": "r1"}),
            &result,
        );
        let ended = writer.take().replace("\"id\":\"e", "\"id\":\"after");
        stage.append(&ended).await;
        stage.rest().await;
        let pressed: String = tab.eval(&format!("{wrap}.ariaPressed")).await;
        assert_eq!(pressed, "true", "it is still wrapped");
        tab.run("window.copied = ''; navigator.clipboard.writeText = async (text) => { copied = text; }; __test.one('[aria-label=\"Copy output\"]').click()")
            .await;
        tab.wait_for("a text", SHORT, "copied !== ''").await;
        let copied: String = tab.eval("copied").await;
        assert_eq!(copied.trim_end(), printed.trim_end());
        // Browsers leave out of what is selected a line that has nothing in it.
        let held: bool = tab
            .eval("__test.all('.terminal__line').filter((line) => !line.textContent).every((line) => line.querySelector('br'))")
            .await;
        assert!(held, "a line without a text would be left out");
    });
}

#[test]
fn both_ends_of_a_long_result_have_its_colours() {
    let printed: String = (1..=400)
        .map(|line| format!("\u{1b}[31mline {line}\u{1b}[0m of the tests\n"))
        .collect();
    let mut writer = Writer::new("ends");
    let place = json!({"turnId": "t1", "responseId": "r1"});
    let call = json!({"toolCallId": "c1", "toolName": "Bash", "kind": "execute", "args": {"command": "cargo test"}});
    writer.event("tool_call", &place, &call);
    let result = json!({"toolCallId": "c1", "result": printed, "exitCode": 0});
    writer.event("tool_result", &place, &result);
    let files = vec![("/ends", writer.take())];
    on_stage("terminal_ends", FEED, files, async |stage| {
        stage.show("/ends").await;
        stage
            .tab
            .run("__test.one('.tool-call [aria-expanded=false]')?.click()")
            .await;
        let more = "__test.all('.more').find((button) => button.textContent.includes('Show all'))";
        let both = format!("!!{more} && __test.all('.ends .terminal__lines').length === 2");
        stage.tab.wait_for("both ends", SHORT, &both).await;
        let lines: Vec<String> = stage.tab.eval(LINES).await;
        let (first, last) = (&lines[0], &lines[lines.len() - 1]);
        assert_eq!(
            (first.as_str(), last.as_str()),
            ("line 1 of the tests", "line 400 of the tests")
        );
        // Another colour than the words behind it.
        let coloured = "__test.all('.terminal__line').every((line) => { const [run] = line.querySelectorAll('span'); return run && getComputedStyle(run).color !== getComputedStyle(line).color; })";
        assert!(stage.tab.eval::<bool>(coloured).await, "{lines:?}");
    });
}
