//! `<agent-feed>` in a page of another origin, from one script.

use serde_json::{Value, json};

use crate::made_logs::log_of;
use crate::stage::{HOLD_LIT, LOAD_LIMIT, on_stage};
use crate::{FEED, SHORT};

#[test]
fn one_script_shows_sessions_in_a_page_of_another_origin() {
    let body = "<p>before</p><agent-feed id=\"one\" fold=\"none\" src=\"/one.jsonl\"></agent-feed><agent-feed id=\"two\" fold=\"none\" src=\"/two.jsonl\"></agent-feed>";
    let files = vec![
        ("/one.jsonl", log_of("one", 200)),
        ("/two.jsonl", log_of("two", 400)),
    ];
    on_stage("embed", body, files, async |stage| {
        stage
            .tab
            .wait_for(
                "both logs to be read",
                LOAD_LIMIT,
                "__test.feeds().every((feed) => feed.getAttribute('state') === 'ready')",
            )
            .await;
        let counts: Vec<u64> = stage
            .tab
            .eval("__test.feeds().map((feed) => feed.eventCount)")
            .await;
        assert!(counts[0] >= 200 && counts[1] >= 400, "{counts:?}");
        stage
            .tab
            .wait_for(
                "both to show what their rows hold",
                LOAD_LIMIT,
                "__test.feeds().every((feed) => __test.text(feed).includes('cargo test part_'))",
            )
            .await;
        // Nothing of the element reaches the page around it.
        let around: String = stage.tab.eval("document.body.innerText").await;
        assert!(around.contains("before"), "{around}");
        let sheets: usize = stage.tab.eval("document.adoptedStyleSheets.length").await;
        assert_eq!(sheets, 0);
        stage
            .tab
            .run("for (const feed of __test.feeds()) feed.remove(); await __test.frames(2);")
            .await;
        let left: usize = stage.tab.eval("__test.feeds().length").await;
        assert_eq!(left, 0);
        stage.assert_no_request_out();
        assert!(
            stage.tab.network_errors().is_empty(),
            "{:?}",
            stage.tab.network_errors()
        );
    });
}

/// How the element's texts look, from the outermost to some within.
const LOOKS: &str = "__test.rest().then(() => ['.frame', '.top', '.prompt__text', '.line', '.prose', '.icon-button'].map((name) => {
    const element = __test.one(name);
    if (!element) return [name];
    const style = getComputedStyle(element);
    const said = ['fontSize', 'fontFamily', 'fontStyle', 'fontWeight', 'fontVariant', 'lineHeight', 'letterSpacing', 'wordSpacing', 'textAlign', 'textTransform', 'textIndent', 'textShadow', 'whiteSpace', 'wordBreak', 'boxSizing', 'color', 'listStyleType', 'cursor', 'direction', 'colorScheme'];
    return [name, ...said.map((key) => `${key}: ${style[key]}`)];
}))";

/// What a page may say of all that is in it.
const LOUD: &str = "* { font-size: 30px; font-family: serif; font-style: italic; line-height: 3; box-sizing: content-box; color: red; }
body { text-align: center; letter-spacing: 4px; word-spacing: 20px; text-transform: uppercase; text-indent: 40px; text-shadow: 1px 1px red; font-variant: small-caps; white-space: pre; word-break: break-all; list-style: square; cursor: crosshair; }";

#[test]
fn nothing_that_a_page_says_of_its_texts_reaches_those_of_the_element() {
    let files = vec![("/log", log_of("loud", 60))];
    on_stage(
        "isolated",
        "<agent-feed fold=\"none\"></agent-feed>",
        files,
        async |stage| {
            stage.show("/log").await;
            let quiet: Value = stage.tab.eval(LOOKS).await;
            assert_eq!(quiet.as_array().map(Vec::len), Some(6), "{quiet}");
            let style = json!(LOUD);
            stage
            .tab
            .run(&format!("const sheet = new CSSStyleSheet(); sheet.replaceSync({style}); document.adoptedStyleSheets.push(sheet); await __test.frames(2)"))
            .await;
            let loud: Value = stage.tab.eval(LOOKS).await;
            assert_eq!(loud, quiet);
            // What a page says of the element as a whole holds.
            stage
            .tab
            .run("document.documentElement.dir = 'rtl'; __test.feed().style.visibility = 'hidden'; await __test.frames(2)")
            .await;
            let told: Value = stage
            .tab
            .eval("(() => { const style = getComputedStyle(__test.one('.frame')); return [style.direction, style.visibility]; })()")
            .await;
            assert_eq!(told, json!(["rtl", "hidden"]));
        },
    );
}

#[test]
fn a_link_to_an_event_is_followed_in_the_page_that_has_one_feed() {
    let files = vec![("/log", log_of("linked", 400))];
    let feed = "<agent-feed src=\"/log\"></agent-feed>";
    on_stage("embed_link", feed, files, async |stage| {
        let page = |path: &str, body: &str| stage.site.put_page(path, &stage.server.url, body);
        page("/linked", feed);
        page("/two", &format!("{feed}{feed}"));
        let read = "__test.feeds().every((feed) => feed.state === 'ready')";
        stage.tab.wait_for("the log", LOAD_LIMIT, read).await;
        let link: String = stage.tab.eval("__test.feed().copyLink('e9')").await;
        // Not every event has a row of its own.
        let other: String = stage
            .tab
            .eval("(async () => { for (let n = 20; ; n += 1) try { await __test.feed().copyLink(`e${n}`); return `e${n}`; } catch {} })()")
            .await;
        let fragment = link.split_once('#').expect("a fragment").1.to_owned();
        stage.tab.before_scripts(HOLD_LIT).await;
        stage
            .tab
            .goto(&format!("{}/linked#{fragment}", stage.site.url))
            .await;
        let lit = "!!__test.one('[data-lit]')";
        stage.tab.wait_for("its row", LOAD_LIMIT, lit).await;
        stage.tab.run("__test.letGo()").await;
        stage
            .tab
            .wait_for("it to go out", SHORT, "!__test.one('[data-lit]')")
            .await;
        // Another link in the same page.
        stage
            .tab
            .run(&format!("{HOLD_LIT} location.hash = 'e={other}'"))
            .await;
        stage.tab.wait_for("the other row", SHORT, lit).await;
        // Of two nobody knows which is meant.
        stage
            .tab
            .goto(&format!("{}/two#{fragment}", stage.site.url))
            .await;
        stage.tab.wait_for("both logs", LOAD_LIMIT, read).await;
        let n_lit: usize = stage
            .tab
            .eval("__test.feeds().filter((feed) => feed.shadowRoot.querySelector('[data-lit]')).length")
            .await;
        assert_eq!(n_lit, 0);
    });
}

#[test]
fn a_feed_that_a_page_gives_no_height_shows_a_screen_of_rows() {
    let files = vec![("/log", log_of("bare", 2_000))];
    let body =
        "<article><p>before</p><agent-feed fold=\"none\"></agent-feed><p>behind</p></article>";
    on_stage("embed_bare", body, files, async |stage| {
        stage
            .tab
            .run("__test.feed().style.cssText = 'height: auto; flex: none'")
            .await;
        let shown =
            "[__test.feed().getBoundingClientRect().height, __test.all('[data-row]').length]";
        // What stands around rows is not there before there are some.
        stage.tab.run("await __test.frames(6)").await;
        let (empty_px, _): (f64, usize) = stage.tab.eval(shown).await;
        stage.show("/log").await;
        stage.rest().await;
        let (height_px, n_rows): (f64, usize) = stage.tab.eval(shown).await;
        let window_px: f64 = stage.tab.eval("innerHeight").await;
        assert!(
            height_px > 300.0 && height_px < window_px + 200.0,
            "{height_px} px"
        );
        assert!(n_rows > 5 && n_rows < 100, "{n_rows} rows are mounted");
        // What stands below it is moved by its bars alone.
        assert!(
            (height_px - empty_px).abs() < 160.0,
            "{empty_px}, then {height_px} px"
        );
    });
}

#[test]
fn a_feed_with_a_greatest_height_is_seen_to_its_end() {
    let files = vec![("/log", log_of("low", 200))];
    on_stage("embed_low", FEED, files, async |stage| {
        stage.show("/log").await;
        for style in [
            "height: auto; max-height: 400px",
            "display: block; height: 400px",
        ] {
            stage
                .tab
                .run(&format!(
                    "__test.feed().style.cssText = '{style}'; await __test.rest()"
                ))
                .await;
            let bottoms: Vec<f64> = stage
                .tab
                .eval("[__test.feed(), __test.one('.frame'), __test.one('.transport')].map((it) => it.getBoundingClientRect().bottom)")
                .await;
            let height: f64 = stage
                .tab
                .eval("__test.feed().getBoundingClientRect().height")
                .await;
            assert!((height - 400.0).abs() < 1.0, "{style}: {height} px");
            let ends = bottoms.iter().all(|it| (it - bottoms[0]).abs() < 1.0);
            assert!(ends, "{style}: {bottoms:?}");
        }
    });
}

#[test]
fn a_feed_that_a_page_gives_no_width_has_one() {
    let body = "<dialog open><agent-feed></agent-feed></dialog>
        <div id=\"loose\"><agent-feed></agent-feed></div>
        <div id=\"narrow\"><agent-feed></agent-feed></div>
        <div id=\"beside\"><p>beside</p><agent-feed></agent-feed></div>";
    on_stage("embed_width", body, Vec::new(), async |stage| {
        stage
            .tab
            .run(
                "const style = (name, css) => { __test.one(name).style.cssText = css; };
                 style('#loose', 'position: absolute');
                 style('#narrow', 'inline-size: 300px');
                 style('#beside', 'display: flex; inline-size: 500px');
                 style('#beside p', 'flex: 0 0 200px');
                 style('#beside agent-feed', 'flex: 1');",
            )
            .await;
        let widths: Vec<f64> = stage
            .tab
            .eval("__test.feeds().map((feed) => feed.offsetWidth)")
            .await;
        assert_eq!(widths, [640.0, 640.0, 300.0, 300.0]);
    });
}

#[test]
fn a_feed_tells_its_styles_how_wide_it_is_whenever_that_changes() {
    let files = vec![("/log", log_of("wide", 40))];
    on_stage("embed_edges", FEED, files, async |stage| {
        stage.show("/log").await;
        let seen = |width: u32| {
            format!(
                "(async () => {{
                    __test.feed().style.cssText = 'width: {width}px; height: 500px';
                    await __test.rest();
                    const frame = __test.one('.frame');
                    const below = (frame.dataset.below || '').split(' ').filter(Boolean).map(Number);
                    return [
                        frame.style.getPropertyValue('--af-width'),
                        below.includes(768),
                        below.every((edge) => edge > {width}),
                        getComputedStyle(__test.one('.chat-log')).paddingInlineStart,
                    ].join(' ');
                }})()"
            )
        };
        for (width, told) in [
            (900, "900.000px false true 32px"),
            (768, "768.000px false true 32px"),
            (767, "767.000px true true 16px"),
            (300, "300.000px true true 16px"),
            (900, "900.000px false true 32px"),
        ] {
            let is: String = stage.tab.eval(&seen(width)).await;
            assert_eq!(is, told, "{width} px");
        }
        // What stands below a container is styled again while it is laid out: see `width`.
        let containers: usize = stage
            .tab
            .eval(
                "[__test.feed(), ...__test.feed().shadowRoot.querySelectorAll('*')]
                    .filter((it) => getComputedStyle(it).containerType !== 'normal').length",
            )
            .await;
        assert_eq!(containers, 0);
    });
}

#[test]
fn rows_of_a_wide_feed_end_where_its_bar_does() {
    let files = vec![("/log", log_of("wider", 40))];
    on_stage("embed_wider", FEED, files, async |stage| {
        stage.show("/log").await;
        for width in [1200, 1440, 1600] {
            let gap = format!(
                "(async () => {{
                    __test.feed().style.cssText = 'width: {width}px; height: 500px';
                    await __test.rest();
                    const end = (it) => it.getBoundingClientRect().right;
                    return end(__test.feed()) - end(__test.one('.row'));
                }})()"
            );
            let gap: f64 = stage.tab.eval(&gap).await;
            assert!((gap - 32.0).abs() <= 1.0, "{width} px: {gap}");
        }
    });
}

#[test]
fn half_of_a_low_feed_is_rows() {
    let files = vec![("/log", log_of("low", 400))];
    on_stage("embed_low", FEED, files, async |stage| {
        // From the first on that is seen of them, whatever of the program has come by then.
        stage
            .tab
            .run("const feed = __test.feed(); feed.style.cssText = 'width: 900px; height: 260px'; feed.setAttribute('src', '/log');
                  await new Promise((done) => feed.addEventListener('af-ready', done, { once: true })); await __test.drawn();
                  window.first = [feed.scroller.clientHeight, performance.getEntriesByName('agent-feed: whole').length];")
            .await;
        let first: [f64; 2] = stage.tab.eval("window.first").await;
        assert!(
            first[0] >= 130.0,
            "{first:?}: at first its rows have half of it"
        );
        stage.show("/log").await;
        let then: f64 = stage.tab.eval("__test.feed().scroller.clientHeight").await;
        assert!((then - first[0]).abs() <= 1.0, "{first:?}, then {then} px");
        let size = |width: u32, height: u32| {
            format!(
                "const feed = __test.feed(); feed.style.cssText = 'width: {width}px; height: {height}px'; await __test.rest();"
            )
        };
        for (width, height) in [
            (300, 200),
            (300, 240),
            (360, 225),
            (800, 300),
            (480, 400),
            (360, 500),
        ] {
            stage.tab.run(&size(width, height)).await;
            let half = format!("__test.feed().scroller.clientHeight >= {height} / 2");
            stage
                .tab
                .wait_for(&format!("half of {width}×{height}"), SHORT, &half)
                .await;
        }
        // Without a height of the page's it has one that has room for all.
        stage
            .tab
            .run("__test.feed().style.cssText = 'height: auto'; await __test.rest();")
            .await;
        let all = "__test.visible('.strip') && !__test.one('.frame').dataset.low";
        stage.tab.wait_for("the strip again", SHORT, all).await;
    });
}

#[test]
fn a_page_may_have_the_feed_be_as_bright_as_itself() {
    on_stage("embed_scheme", FEED, Vec::new(), async |stage| {
        let ground = "getComputedStyle(__test.feed()).backgroundColor";
        let as_page = |scheme: &str| {
            format!(
                "const sheet = new CSSStyleSheet(); sheet.replaceSync(':root {{ color-scheme: {scheme} }} agent-feed {{ color-scheme: inherit }}'); document.adoptedStyleSheets = [sheet]; await __test.frames(2);"
            )
        };
        stage.tab.run(&as_page("dark")).await;
        let dark: String = stage.tab.eval(ground).await;
        stage.tab.run(&as_page("light")).await;
        let light: String = stage.tab.eval(ground).await;
        assert_ne!(dark, light);
    });
}
