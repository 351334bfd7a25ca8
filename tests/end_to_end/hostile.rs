//! Hostile content in every place where content is shown, in anybody's page under a policy with Trusted Types: nothing of it
//! becomes markup, a request or a script.

use serde_json::{Value, json};

use crate::anchor::scroll_to_share;
use crate::made_logs::{Writer, log_of};
use crate::shared::shared;
use crate::stage::{Stage, on_stage};
use crate::{FEED, SHORT};

/// Texts that would run, load or break out wherever they were taken for markup, an address or a terminal's.
const HOSTILE: [&str; 12] = [
    "<script>window.__pwned=1</script>",
    "<img src=x onerror=\"window.__pwned=1\">",
    "<svg onload=window.__pwned=1><a href=\"javascript:window.__pwned=1\">x</a></svg>",
    "\"><iframe srcdoc=\"<script>parent.__pwned=1</script>\"></iframe>",
    "' onmouseover='window.__pwned=1' style='background:url(//x.invalid/__pwned)'",
    "[click](javascript:window.__pwned=1) ![x](https://x.invalid/__pwned.png)",
    "</textarea></style></script><form action=//x.invalid/__pwned><input name=cookie>",
    "<math><mtext><table><mglyph><style><img src=x onerror=window.__pwned=1>",
    "\u{1b}]8;;javascript:window.__pwned=1\u{7}link\u{1b}]8;;\u{7}\u{1b}[2J\u{1b}[31mred",
    "<link rel=stylesheet href=//x.invalid/__pwned.css><meta http-equiv=refresh content=0;//x.invalid>",
    "{{constructor.constructor('window.__pwned=1')()}} ${window.__pwned=1}",
    "\u{202e}txt.__pwned\u{202c} <base href=//x.invalid/> <object data=//x.invalid/__pwned>",
];

/// Elements that content must never become.
const FORBIDDEN: &str = "script,iframe,object,embed,base,meta,link,form,style,img,video,audio,source,frame,frameset,applet,math,template,slot,marquee,input,textarea,select,dialog";

#[test]
fn hostile_content_is_text_and_nothing_else() {
    // All of them take a minute.
    let step = if std::env::var_os("TURNREEL_FULL").is_some() {
        1
    } else {
        4
    };
    let log = hostile_log(&hostile_payloads(step));
    on_stage(
        "hostile",
        FEED,
        vec![("/hostile.jsonl", log), ("/calm.jsonl", log_of("calm", 20))],
        async |stage| {
            // A policy would stop what the page let through: without one nothing does.
            for policy in [true, false] {
                if !policy {
                    stage.site.drop_policy();
                    stage.enter().await;
                }
                walk_through(&stage).await;
            }
        },
    );
}

/// A command that reads otherwise than it runs.
const UNSEEN: &str = "rm -rf build\u{202e} }\u{2066}if admin\u{2069} \u{2066}\u{200b} # begin";

#[test]
fn what_cannot_be_seen_is_marked_in_results_output_and_what_is_to_be_allowed() {
    let has_unseen = |text: &String| {
        let is_unseen =
            |char| matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}');
        text.contains(is_unseen)
    };
    let mut samples = vec![UNSEEN.to_owned()];
    if let Some(path) = shared("corpora/trojan-source/samples.jsonl") {
        let lines = std::fs::read_to_string(path).expect("the samples");
        let texts = lines.lines().map(|line| {
            let line: Value = serde_json::from_str(line).expect("a line of the corpus");
            line["text"].as_str().expect("a text").to_owned()
        });
        // Those of other languages say no more.
        samples.extend(texts.filter(has_unseen).step_by(9).take(5));
    }
    on_stage("unseen", FEED, vec![], async |stage| {
        for text in &samples {
            let read = json!({"file_path": format!("a{UNSEEN}")});
            let mut writer = Writer::new("unseen");
            called(&mut writer, "read", "Read", &read, text);
            called(
                &mut writer,
                "bash",
                "Bash",
                &json!({"command": "make"}),
                text,
            );
            let ask = json!({"requestId": "p", "toolName": "Bash", "args": {"command": text}});
            writer.event("permission_request", &json!({"turnId": "t"}), &ask);
            open_all(&stage, &writer.take()).await;
            let marked = r"[
                '[data-tool-call-id=read] .line', '[data-tool-call-id=read] .well',
                '[data-tool-call-id=bash] .well', '.ask .ask__object',
            ].every((selector) => {
                const place = __test.one(selector);
                return place?.querySelector('.hidden-mark') && !/[\u202a-\u202e\u2066-\u2069\u200b]/.test(place.textContent);
            })";
            let what = format!("marks in {text:?}");
            stage.tab.wait_for(&what, SHORT, marked).await;
        }
    });
}

#[test]
fn a_sentence_has_no_more_marks_of_its_own_than_a_text_in_however_many_pieces() {
    on_stage("unseen_pieces", FEED, vec![], async |stage| {
        let piece = format!("x`{}", "a\u{202e}".repeat(20));
        let mut writer = Writer::new("unseen pieces");
        let entries = json!([{"content": piece.repeat(400), "status": "pending"}]);
        writer.event(
            "plan",
            &json!({"turnId": "t"}),
            &json!({"entries": entries}),
        );
        open_all(&stage, &writer.take()).await;
        let n_told =
            "__test.one('.plan .plan__item')?.textContent.split('U+202E').length - 1 === 8000";
        stage.tab.wait_for("the entry", SHORT, n_told).await;
        let n_marks = "__test.all('.plan .plan__item .hidden-mark').length";
        let n_marks: usize = stage.tab.eval(n_marks).await;
        assert!((1..=1_000).contains(&n_marks), "{n_marks}");
    });
}

#[test]
fn what_cannot_be_seen_is_marked_in_names_that_are_not_the_page_s_own() {
    on_stage("unseen_names", FEED, vec![], async |stage| {
        let name = format!("mcp__server__look{UNSEEN}");
        let mut writer = Writer::new("unseen names");
        writer.event("session_start", &json!({}), &json!({"title": UNSEEN}));
        called(&mut writer, "own", &name, &json!({"of": "x"}), "done");
        let place = json!({"turnId": "t", "responseId": "r"});
        let runs = json!({"toolCallId": "runs", "toolName": name, "args": {"of": "x"}});
        writer.event("tool_call", &place, &runs);
        let failed = json!({"code": format!("code{UNSEEN}"), "message": "It failed"});
        writer.event("error", &place, &failed);
        open_all(&stage, &writer.take()).await;
        let marked = "['[data-tool-call-id=own] .verb', '[data-tool-call-id=runs] .verb', '.bar__title', '.line__outcome']
            .every((selector) => __test.all(selector).some((place) => place.querySelector('.hidden-mark')))
            && !/[\\u202a-\\u202e\\u2066-\\u2069]/.test(__test.all('.row, .bar__title').map((it) => it.textContent).join())";
        stage.tab.wait_for("marks in names", SHORT, marked).await;
        // Ordinary text of any script is as it was written.
        let written = "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} അവന്\u{200d} 葛\u{e0100} שלום\u{200f}!";
        let mut writer = Writer::new("scripts");
        called(
            &mut writer,
            "own",
            "Read",
            &json!({"file_path": "a"}),
            written,
        );
        open_all(&stage, &writer.take()).await;
        let shown = format!(
            "__test.one('[data-tool-call-id=own] .well')?.textContent === {}",
            json!(written)
        );
        stage.tab.wait_for("what was written", SHORT, &shown).await;
    });
}

#[test]
fn no_line_of_a_result_is_lost_to_a_return_or_to_a_sequence_that_does_not_end() {
    on_stage("returns", FEED, vec![], async |stage| {
        let mut writer = Writer::new("returns");
        let result = "l1\rl2\u{1b}(B\u{1b}]0;\rl3\u{7}";
        called(
            &mut writer,
            "read",
            "Read",
            &json!({"file_path": "a"}),
            result,
        );
        open_all(&stage, &writer.take()).await;
        let lines = r"__test.one('.tool-result .well')?.textContent === 'l1\nl20;\nl3'";
        stage.tab.wait_for("all lines", SHORT, lines).await;
    });
}

/// A call and what it gave.
fn called(writer: &mut Writer, id: &str, name: &str, args: &Value, result: &str) {
    let place = json!({"turnId": "t", "responseId": "r"});
    let call = json!({"toolCallId": id, "toolName": name, "args": args});
    writer.event("tool_call", &place, &call);
    let result = json!({"toolCallId": id, "result": result});
    writer.event("tool_result", &place, &result);
}

/// Shows a log in place of any other, with all of its rows opened.
async fn open_all(stage: &Stage, log: &str) {
    stage.tab.run("__test.feed().clear()").await;
    stage.append(log).await;
    stage.rest().await;
    stage
        .tab
        .run("for (const line of __test.all('.row [aria-expanded=false]')) line.click()")
        .await;
}

/// Opens the hostile log and every card in it, and looks at all that comes into the page on the way.
async fn walk_through(stage: &Stage) {
    // What is the page's own is there before: it comes with the first rows of any log.
    stage.show("/calm.jsonl").await;
    let controls = "!!__test.feed().shadowRoot.querySelector('.controls')";
    stage.tab.wait_for("the controls", SHORT, controls).await;
    stage
        .tab
        .run(&format!(
            "window.__found = [];
            for (const name of ['alert', 'confirm', 'prompt', 'open']) window[name] = () => {{ __found.push(name + ' was called'); }};
            const look = (node) => {{
                if (node.nodeType !== Node.ELEMENT_NODE) return;
                for (const element of [node, ...node.querySelectorAll('*')]) {{
                    if (element.matches({}) && !element.closest('.transport')) __found.push(element.outerHTML.slice(0, 120));
                    for (const attribute of element.attributes) {{
                        if (attribute.name.startsWith('on')) __found.push(attribute.name + '=' + attribute.value.slice(0, 80));
                        if (attribute.name === 'href' && element.matches('a[target=_blank][rel=\"noopener noreferrer nofollow\"]')
                            && /^(https?|mailto):/.test(attribute.value)) continue;
                        if (['href', 'src', 'xlink:href', 'action', 'formaction', 'style', 'id', 'name'].includes(attribute.name)
                            && /__pwned|x\\.invalid|javascript:/i.test(attribute.value)) __found.push(attribute.name + '=' + attribute.value.slice(0, 80));
                    }}
                }}
            }};
            new MutationObserver((records) => {{ for (const record of records) for (const node of record.addedNodes) look(node); }})
                .observe(__test.feed().shadowRoot, {{ subtree: true, childList: true }});
            look(document.documentElement.querySelector('body'));
            window.__found = [];",
            json!(FORBIDDEN)
        ))
        .await;
    stage.show("/hostile.jsonl").await;
    scroll_to_share(stage, 0.0).await;
    // Through the whole session, every card opened on the way.
    let walked: Value = stage
        .tab
        .eval("(async () => {
            const scroller = __test.feed().scroller;
            let texts = '', steps = 0, opened = 0;
            for (; steps < 4000; steps += 1) {
                await __test.frames(2);
                for (const button of __test.all('.row [aria-expanded=false]', __test.feed().shadowRoot)) { button.click(); opened += 1; }
                await __test.frames(2);
                texts += __test.rows().map((row) => row.textContent).join('\\n');
                if (scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 2) break;
                scroller.scrollTop += scroller.clientHeight * 0.9;
            }
            return { steps, opened, seen: (texts.match(/__pwned/g) ?? []).length, ended: steps < 4000 };
        })()")
        .await;
    assert_eq!(
        walked["ended"],
        json!(true),
        "the walk came to its end: {walked}"
    );
    assert!(
        walked["opened"].as_u64().unwrap_or(0) > 50,
        "cards were opened: {walked}"
    );
    assert!(
        walked["seen"].as_u64().unwrap_or(0) > 100,
        "the content was shown, as text: {walked}"
    );
    let text: String = stage
        .tab
        .eval("__test.feed().serializeRows({ maskTimes: true })")
        .await;
    assert!(
        text.contains("window.__pwned"),
        "and is in the serialized rows"
    );
    let found: Vec<String> = stage.tab.eval("__found").await;
    assert!(found.is_empty(), "content became markup: {found:#?}");
    let pwned: bool = stage.tab.eval("'__pwned' in window").await;
    assert!(!pwned, "content ran");
    let address: String = stage.tab.eval("location.href").await;
    assert_eq!(
        address.trim_end_matches('/'),
        stage.site.url,
        "the page was not led away"
    );
    stage.assert_no_request_out();
    let asked: Vec<String> = stage.site.asked();
    assert!(
        asked.iter().all(|line| [
            "GET /",
            "GET /page.css",
            "GET /hostile.jsonl",
            "GET /calm.jsonl"
        ]
        .contains(&line.as_str())),
        "{asked:?}"
    );
}

/// Every `step`-th text of the corpus where it lies beside the checkout, else a few of each sort.
pub(crate) fn hostile_payloads(step: usize) -> Vec<String> {
    // Without it there are a few texts of our own.
    let Some(path) = shared("corpora/own/xss-feed.jsonl") else {
        return HOSTILE.map(str::to_owned).to_vec();
    };
    let text = std::fs::read_to_string(path).expect("the corpus");
    let payloads = text.lines().step_by(step).map(|line| {
        let line: Value = serde_json::from_str(line).expect("a line of the corpus");
        // Length is another test's subject.
        let payload = line["payload"].as_str().expect("a payload");
        payload.chars().take(1500).collect()
    });
    payloads.collect()
}

/// Each payload in a turn of its own, in every place where content is shown.
pub(crate) fn hostile_log(payloads: &[String]) -> String {
    let mut writer = Writer::new("hostile");
    for (at, bad) in payloads.iter().enumerate() {
        let turn = json!({"turnId": format!("t{at}{bad}")});
        let place = json!({"turnId": format!("t{at}{bad}"), "responseId": format!("r{at}{bad}"), "agentId": bad});
        let call = |name: &str| format!("{name}{at}{bad}");
        writer.event("session_start", &json!({}), &json!({"agent": bad, "model": bad, "cwd": bad, "title": bad, "gitBranch": bad, "provider": "x"}));
        writer.event("turn_start", &turn, &json!({"trigger": bad}));
        writer.event(
            "user_message",
            &turn,
            &json!({"text": bad, "attachments": [{"name": bad, "mediaType": bad, "data": bad}]}),
        );
        writer.event("thinking_done", &place, &json!({"text": bad}));
        writer.event(
            "assistant_chunk",
            &place,
            &json!({"text": format!("{bad} ")}),
        );
        writer.event("assistant_done", &place, &json!({"text": format!("{bad}\n\n# {bad}\n\n```{bad}\n{bad}\n```\n\n[{bad}]({bad}) ![{bad}]({bad})"), "part": 1}));
        writer.event("tool_call", &place, &json!({"toolCallId": call("a"), "toolName": bad, "title": bad, "kind": "execute", "args": {"command": bad, bad.as_str(): bad}}));
        writer.event(
            "tool_output_chunk",
            &place,
            &json!({"toolCallId": call("a"), "chunk": bad}),
        );
        writer.event(
            "tool_result",
            &place,
            &json!({"toolCallId": call("a"), "result": bad, "summary": bad}),
        );
        writer.event("tool_call", &place, &json!({"toolCallId": call("b"), "toolName": "Read", "kind": "read", "args": {"file_path": bad}}));
        writer.event("tool_result", &place, &json!({"toolCallId": call("b"), "result": {"content": bad, bad.as_str(): [bad]}, "error": {"code": bad, "message": bad}}));
        let diff = format!("--- a/{bad}\n+++ b/{bad}\n@@ -1 +1 @@ {bad}\n-{bad}\n+{bad}{bad}\n");
        writer.event("file_edit", &place, &json!({"toolCallId": call("c"), "filePath": bad, "oldPath": format!("{bad}.old"), "changeType": "renamed", "linesAdded": 1, "linesRemoved": 1, "diffPreview": diff, "fullDiff": diff, "fullDiffAvailable": true, "fullDiffSize": diff.len()}));
        writer.event("agent_message", &place, &json!({"messageId": call("m"), "targetAgentId": bad, "targetSessionId": bad, "message": bad, "wait": true}));
        writer.event("agent_callback", &place, &json!({"messageId": call("m"), "fromAgentId": bad, "fromSessionId": bad, "result": bad}));
        writer.event("permission_request", &place, &json!({"requestId": call("p"), "toolName": bad, "title": bad, "args": {"command": bad}, "reason": bad, "options": [{"id": bad, "label": bad, "kind": bad}]}));
        writer.event("question_request", &place, &json!({"requestId": call("q"), "questions": [{"id": "1", "header": bad, "text": bad, "options": [{"label": bad, "description": bad}]}]}));
        writer.event(
            "plan",
            &place,
            &json!({"entries": [{"content": bad, "status": bad}]}),
        );
        writer.event("progress", &place, &json!({"message": bad}));
        writer.event("error", &place, &json!({"code": bad, "message": bad}));
        writer.event(
            "notice",
            &place,
            &json!({"level": "warning", "text": bad, "source": bad}),
        );
        writer.event(
            "raw",
            &place,
            &json!({"format": bad, "value": {bad.as_str(): bad}}),
        );
        writer.event(bad, &place, &json!({"text": bad}));
        writer.event("interrupt", &turn, &json!({"reason": bad}));
        writer.event("turn_end", &turn, &json!({"outcome": bad}));
    }
    writer.take()
}
