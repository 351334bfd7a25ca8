//! The page in twenty states, light and dark, against the rules of axe-core: none may be broken, however small its impact.

use serde_json::json;

use crate::SHORT;
use crate::browser::Tab;
use crate::made_logs::every_kind;
use crate::server::Server;
use crate::sessions::{LIVE, pipe_all, with_server};

/// All broken rules, with the first element that breaks each.
const AXE: &str = "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
    violations.map(({ id, impact, nodes }) => `${id} (${impact}), ${nodes.length} times, first ${nodes[0].html.slice(0, 200)}: ${nodes[0].failureSummary}`))";

const FEED: &str = "__test.feed()";

/// A state: its name, what leads to it from the one before, and what is seen then.
pub(crate) struct State(
    pub(crate) &'static str,
    pub(crate) String,
    pub(crate) &'static str,
);

pub(crate) fn states() -> Vec<State> {
    let click = |element: &str| format!("__test.one({element}).click()");
    let tab = |name: &str| {
        format!(
            "__test.all('.panel__name').find((tab) => tab.textContent.includes('{name}')).click()"
        )
    };
    let set = |name: &str, value: &str| format!("{FEED}.setAttribute('{name}', '{value}')");
    vec![
        State("live", String::new(), "!!__test.one('.asked--open')"),
        State(
            "from the top",
            format!(
                "{FEED}.scroller.dispatchEvent(new WheelEvent('wheel')); {FEED}.scroller.scrollTop = 0"
            ),
            "!!__test.one('.session-start')",
        ),
        State(
            "everything opened",
            set("verbosity", "verbose"),
            "!!__test.one('.thinking [aria-expanded=true]')",
        ),
        State(
            "quiet",
            set("verbosity", "quiet"),
            "!__test.one('.thinking')",
        ),
        State(
            "files",
            format!(
                "{}; {}",
                set("verbosity", "normal"),
                click("'.panel-toggle'")
            ),
            "!!__test.one('.tree__row')",
        ),
        State("figures", tab("Stats"), "!!__test.one('.figures__bar')"),
        State(
            "timeline",
            tab("Timeline"),
            "!!__test.one('.timeline__bar')",
        ),
        State(
            "raw",
            tab("Raw"),
            "__test.text(__test.one('.panel')).includes('No row selected')",
        ),
        State(
            "found",
            format!("{}; {FEED}.scroller.focus()", click("'.panel-toggle'")),
            "!__test.visible('.panel')",
        ),
        State(
            "looking back",
            format!("{}; {FEED}.viewAsOf(20)", click("'#rewind'")),
            "!!__test.one('.strip')",
        ),
        State(
            "chapters",
            click("'#chapters-opener'"),
            "__test.one('#chapters-menu').matches(':popover-open')",
        ),
        State(
            "exports",
            format!(
                "__test.one('#chapters-menu').hidePopover(); __test.visible('#more-opener')?.click(); {}",
                click("'#export-opener'")
            ),
            "__test.one('#export-menu').matches(':popover-open')",
        ),
        State(
            "review",
            click("'[data-form=jsonl]'"),
            "__test.visible('.export .button--primary')",
        ),
        State(
            "live again",
            format!(
                "{}; {}",
                click("'.export__buttons .button'"),
                click("'#rewind'")
            ),
            "!__test.one('dialog.export') && !__test.one('.strip')",
        ),
        State("keys", format!("{FEED}.scroller.focus()"), "true"),
    ]
}

/// Where the rules are; `None`, said on stdout, where they were not fetched.
fn rules() -> Option<String> {
    let Some(path) = std::env::var_os("TURNREEL_AXE") else {
        println!(
            "skipped: axe-core is not here (cargo xtask test fetches it, or set TURNREEL_AXE)"
        );
        return None;
    };
    Some(std::fs::read_to_string(path).expect("the rules can be read"))
}

async fn check(tab: &Tab, rules: &str, what: &str, broken: &mut Vec<String>) {
    for dark in [false, true] {
        tab.look(dark, (1280, 800)).await;
        tab.run("await __test.frames(2); for (const it of document.getAnimations()) it.finish();")
            .await;
        tab.run(&format!("if (!window.axe) {{ {rules} }}")).await;
        let found: Vec<String> = tab.eval(AXE).await;
        let scheme = if dark { "dark" } else { "light" };
        broken.extend(found.iter().map(|rule| format!("{what}, {scheme}: {rule}")));
    }
}

#[test]
fn no_rule_of_accessibility_is_broken_in_any_state() {
    let Some(rules) = rules() else { return };
    with_server("accessible", 300, async |visit, program| {
        let mut broken = Vec::new();
        let server = Server::start(&program).await;
        let tab = visit.tab("page").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        tab.wait_for("the empty list", SHORT, "!!__test.one('.drop')")
            .await;
        check(&tab, &rules, "nothing yet", &mut broken).await;

        let mut log = every_kind("every");
        // The rows of its first turn are muted.
        let left = json!({"level": "info", "source": "branch", "text": "the user went back", "leftTurnIds": ["t1"]});
        log.event("notice", &json!({}), &left);
        let n_events = log.n_events();
        pipe_all(&server, &log.take()).await;
        tab.goto("about:blank").await;
        tab.goto(&server.page_of("every")).await;
        let here = format!("{LIVE} && __test.feed().eventCount >= {n_events}");
        tab.wait_for("the session", SHORT, &here).await;
        for State(what, steps, seen) in states() {
            tab.run(&steps).await;
            match what {
                "found" => {
                    tab.press("/").await;
                    tab.wait_for(
                        "the field to have the focus",
                        SHORT,
                        "__test.feed().shadowRoot.activeElement?.tagName === 'INPUT'",
                    )
                    .await;
                    tab.type_text("begin").await;
                    tab.wait_for(
                        "hits",
                        SHORT,
                        "/\\d found|of \\d/.test(__test.text(__test.one('.find__status')))",
                    )
                    .await;
                }
                "keys" => {
                    tab.press("Escape").await;
                    tab.run(&steps).await;
                    tab.press("?").await;
                    tab.wait_for("the keys", SHORT, "!!__test.one('dialog[open]')")
                        .await;
                }
                _ => {}
            }
            tab.wait_for(what, SHORT, seen).await;
            check(&tab, &rules, what, &mut broken).await;
        }

        tab.goto("about:blank").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        let answers = "!!document.querySelector('.answers[data-fits]')";
        tab.wait_for("the overview", SHORT, answers).await;
        check(&tab, &rules, "overview", &mut broken).await;
        let choose = "document.querySelector('.session__check').click()";
        tab.run(choose).await;
        let chosen = "!!document.querySelector('.session[data-chosen]')";
        tab.wait_for("one to be chosen", SHORT, chosen).await;
        check(&tab, &rules, "chosen", &mut broken).await;
        tab.run(choose).await;
        tab.run("document.querySelector('.sessions__all').focus()")
            .await;
        tab.press("Delete").await;
        let asked = "!!__test.visible('dialog.removal')";
        tab.wait_for("what is asked before a removal", SHORT, asked)
            .await;
        check(&tab, &rules, "removal", &mut broken).await;

        let stranger = visit.tab("stranger").await;
        stranger
            .goto(&format!("{}/#session=every", server.url))
            .await;
        stranger.expect_problems("401");
        stranger
            .wait_for(
                "the page to ask for a token",
                SHORT,
                "!!__test.visible('input[type=password]')",
            )
            .await;
        check(&stranger, &rules, "no token", &mut broken).await;
        assert!(broken.is_empty(), "{}", broken.join("\n\n"));
    });
}
