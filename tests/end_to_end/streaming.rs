//! What streaming costs and what it ends in: a token changes one text node, events reach the rows once a frame, and the
//! pieces a text came in leave no trace.

use serde_json::{Value, json};

use crate::anchor::scroll_to_share;
use crate::made_logs::Writer;
use crate::stage::on_stage;
use crate::{FEED, SHORT};

/// Records what becomes of the rows from now on; `__records()` gives and forgets it.
const OBSERVE: &str = "
    const root = __test.feed().shadowRoot, kept = [];
    const inRow = (node) => !!(node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement)?.closest('.row');
    const observer = new MutationObserver((records) => kept.push(...records));
    observer.observe(root, { subtree: true, childList: true, characterData: true, attributes: true });
    window.__records = () => {
        kept.push(...observer.takeRecords());
        const rows = kept.splice(0).filter((record) => inRow(record.target));
        const count = (type) => rows.filter((record) => record.type === type).length;
        return { text: count('characterData'), lists: count('childList'), attributes: count('attributes'),
            nodes: new Set(rows.filter((record) => record.type === 'characterData').map((record) => record.target)).size };
    };";

#[test]
fn a_token_of_streamed_text_changes_one_text_node() {
    on_stage("one_text_node", FEED, vec![], async |stage| {
        let place = json!({"turnId": "t", "responseId": "r"});
        let mut writer = Writer::new("tokens");
        writer.turn(1);
        writer.event(
            "assistant_chunk",
            &place,
            &json!({"text": "It begins here"}),
        );
        stage.append(&writer.take()).await;
        stage.rest().await;
        stage.tab.run(OBSERVE).await;
        for token in [
            " and",
            " goes",
            " on with <b>words</b>",
            ", and &amp; more",
            " 漢字",
            ".",
        ] {
            writer.event("assistant_chunk", &place, &json!({"text": token}));
            stage.append(&writer.take()).await;
            stage.rest().await;
            let records: Value = stage.tab.eval("__records()").await;
            assert_eq!(
                records,
                json!({"text": 1, "lists": 0, "attributes": 0, "nodes": 1}),
                "for {token:?}"
            );
        }
        // The final text is the one the chunks built: nothing on the page changes but the mark of streaming.
        let shown: String = stage.tab.eval("__test.rows().map((row) => row.textContent).filter((text) => text.includes('It begins here')).join('|')").await;
        assert_eq!(
            shown,
            "It begins here and goes on with <b>words</b>, and & more 漢字."
        );
        // Within markup, too, a token is one change of one text node.
        writer.event("assistant_chunk", &place, &json!({"text": "\n\n- an **it"}));
        stage.append(&writer.take()).await;
        stage.rest().await;
        let _: Value = stage.tab.eval("__records()").await;
        for token in ["em", " that", "** goes", " on"] {
            let closes = token.contains("**");
            writer.event("assistant_chunk", &place, &json!({"text": token}));
            stage.append(&writer.take()).await;
            stage.rest().await;
            let records: Value = stage.tab.eval("__records()").await;
            if !closes {
                let one = json!({"text": 1, "lists": 0, "attributes": 0, "nodes": 1});
                assert_eq!(records, one, "for {token:?} in a list");
            }
        }
        // And in a block of code.
        writer.event(
            "assistant_chunk",
            &place,
            &json!({"text": "\n\n```rust\nfn main() {"}),
        );
        stage.append(&writer.take()).await;
        stage.rest().await;
        let _: Value = stage.tab.eval("__records()").await;
        writer.event("assistant_chunk", &place, &json!({"text": " println!("}));
        stage.append(&writer.take()).await;
        stage.rest().await;
        let records: Value = stage.tab.eval("__records()").await;
        assert_eq!(
            records,
            json!({"text": 1, "lists": 0, "attributes": 0, "nodes": 1}),
            "in code"
        );
    });
}

/// Each kind of block, with what may stand in it.
const DOCUMENT: &str = "# A title with `code`\n\nA paragraph with *stress*, **more**, ~~gone~~, `code`\nand a [label](https://docs.rs/x), \
https://a.example/b?c=d, <b>no markup</b> &amp; a\\* star.\n\nUnder\n---\n\n1. one\n   - [x] done\n   - [ ] to do\n2. two\n   ```sh\n   ls -la\n   ```\n   \
then\n3. three\n\n> quoted **words**\n> - and a list\n\n| left | right |\n|---|--:|\n| `a` | 1 |\n| b | **2** |\n\n***\n\n```rust\nfn main() {\n    \
println!(\"hi\");\n}\n```\n\nשלום עולם\n\n    indented();\n\n[x](javascript:alert(1)) a\u{202e}b **open";

#[test]
fn markdown_in_any_pieces_ends_in_the_nodes_of_the_whole() {
    on_stage("any_pieces", FEED, vec![], async |stage| {
        let pieces_of = |n_chars: usize| {
            let chars: Vec<char> = DOCUMENT.chars().collect();
            let pieces = chars
                .chunks(n_chars)
                .map(|piece| piece.iter().collect::<String>());
            pieces.collect::<Vec<_>>()
        };
        let mut seen: Vec<String> = Vec::new();
        for n_chars in [100_000, 1, 7, 40] {
            let place = json!({"turnId": "t", "responseId": "r"});
            let mut writer = Writer::new("pieces");
            let mut logs = Vec::new();
            for piece in pieces_of(n_chars) {
                writer.event("assistant_chunk", &place, &json!({"text": piece}));
                logs.push(writer.take());
            }
            writer.event("turn_end", &json!({"turnId": "t"}), &json!({}));
            logs.push(writer.take());
            stage
                .tab
                .run(&format!(
                    "__test.feed().clear(); for (const log of {}) {{ __test.feed().append(log); await __test.frame(); }}",
                    json!(logs)
                ))
                .await;
            stage.rest().await;
            // Which event made a row, and what the turn took, is another matter.
            let rows: String = stage
                .tab
                .eval("__test.feed().serializeRows({ maskTimes: true }).then((rows) => rows.replace(/ data-event-id=\"[^\"]*\"/g, ''))")
                .await;
            assert!(!rows.contains("caret"), "nothing streams any more: {rows}");
            seen.push(rows);
        }
        for part in [
            "h2",
            "A title",
            "table",
            "blockquote",
            "code",
            "ol",
            "task--done",
            "href=\"https://docs.rs/x\"",
            "rust",
            "U+202E",
        ] {
            let part = if part == "h2" {
                "role=\"heading\""
            } else {
                part
            };
            assert!(seen[0].contains(part), "{part} is not in {}", seen[0]);
        }
        for other in &seen[1..] {
            assert_eq!(other, &seen[0]);
        }
    });
}

#[test]
fn code_is_copied_as_it_is_seen() {
    on_stage("copy_code", FEED, vec![], async |stage| {
        let lines: String = (0..200).map(|n| format!("    let a{n} = {n};\n")).collect();
        let text = format!("1. look\n    ```rust\n{lines}    x\u{202e}y\n    ```\n");
        let mut writer = Writer::new("copy");
        writer.event(
            "assistant_done",
            &json!({"turnId": "t", "responseId": "r"}),
            &json!({"text": text}),
        );
        stage.append(&writer.take()).await;
        stage.rest().await;
        scroll_to_share(&stage, 0.0).await;
        let copied: String = stage
            .tab
            .eval(
                "(async () => {
                let copied = null;
                navigator.clipboard.writeText = async (text) => { copied = text; };
                __test.one('[aria-label=\"Copy code\"]').click();
                await __test.frames(2);
                return copied + '|' + __test.one('.code__told').textContent;
            })()",
            )
            .await;
        let expected: String = (0..200).map(|n| format!("let a{n} = {n};\n")).collect();
        assert_eq!(
            copied,
            format!("{expected}xy|Copied without hidden characters")
        );
        // Where the browser does it in neither way, nothing else is said.
        stage
            .tab
            .run(
                "navigator.clipboard.writeText = async () => { throw new Error('not allowed'); };
                 document.execCommand = () => false;
                 __test.one('[aria-label=\"Copy code\"]').click();",
            )
            .await;
        let said = "__test.one('.code__told').textContent === 'Could not copy'";
        stage.tab.wait_for("word of it", SHORT, said).await;
    });
}

#[test]
fn events_reach_the_rows_at_most_once_a_frame() {
    on_stage("once_a_frame", FEED, vec![], async |stage| {
        let place = json!({"turnId": "t", "responseId": "r"});
        let mut writer = Writer::new("burst");
        writer.event("assistant_chunk", &place, &json!({"text": "Begin"}));
        stage.append(&writer.take()).await;
        stage.rest().await;
        stage.tab.run(OBSERVE).await;
        let mut tokens = Vec::new();
        let mut expected = "Begin".to_owned();
        for at in 0..600 {
            expected.push_str(&format!(" {at}"));
            writer.event(
                "assistant_chunk",
                &place,
                &json!({"text": format!(" {at}")}),
            );
            tokens.push(writer.take());
        }
        // Each token in a task of its own, many of them within one frame.
        let burst = format!(
            "(async () => {{
                const tokens = {}, channel = new MessageChannel();
                let frames = 0, running = true;
                const tick = () => {{ frames += 1; if (running) requestAnimationFrame(tick); }};
                await __test.frames(2);
                requestAnimationFrame(tick);
                const next = () => new Promise((done) => {{ channel.port1.onmessage = done; channel.port2.postMessage(0); }});
                for (const token of tokens) {{ __test.feed().append(token); await next(); }}
                running = false;
                await __test.frames(3);
                return {{ frames, ...__records() }};
            }})()",
            json!(tokens)
        );
        let records: Value = stage.tab.eval(&burst).await;
        let (frames, changes) = (
            records["frames"].as_u64().expect("frames"),
            records["text"].as_u64().expect("changes"),
        );
        assert!(
            changes <= frames + 2,
            "{changes} changes of text in {frames} frames: {records}"
        );
        assert!(changes < 600, "tokens were gathered: {records}");
        assert_eq!(records["lists"], json!(0), "{records}");
        let shown: String = stage.tab.eval("__test.rows().map((row) => row.textContent).find((text) => text.startsWith('Begin'))").await;
        assert_eq!(shown, expected);
    });
}
