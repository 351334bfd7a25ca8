//! Logs that are packed: they look as they do unpacked, read by the page and by a worker; what is damaged is shown as
//! far as it goes, and what would not fit into the memory is stopped and said.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::compare::difference;
use crate::made_logs::Writer;
use crate::sessions::{lone_element, with_server};
use crate::stage::{LOAD_LIMIT, on_stage};
use crate::{FEED, SHORT};

fn sixty_turns(session: &str) -> String {
    let mut writer = Writer::new(session);
    for number in 0..60 {
        writer.turn(number);
    }
    writer.take()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(text.as_bytes()).expect("memory");
    packer.finish().expect("memory")
}

fn zstd(text: &str) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
}

/// In two parts, cut within a line: each packed by itself.
fn in_two(text: &str, pack: impl Fn(&str) -> Vec<u8>) -> Vec<u8> {
    let mut middle = text.len() / 2;
    while !text.is_char_boundary(middle) {
        middle += 1;
    }
    let (first, second) = text.split_at(middle);
    [pack(first), pack(second)].concat()
}

const ROWS: &str = "__test.feed().serializeRows({ maskTimes: false })";
const NOTE: &str = "__test.one('.note[role=alert]')?.textContent ?? ''";

#[test]
fn a_packed_log_looks_as_it_does_unpacked() {
    let log = sixty_turns("packed");
    on_stage("packed", FEED, Vec::new(), async |stage| {
        // By the bytes and not by the name: they are all called alike.
        let ways = [
            ("/plain", log.clone().into_bytes()),
            ("/gz", gzip(&log)),
            ("/zst", zstd(&log)),
            ("/gz2", in_two(&log, gzip)),
            ("/zst2", in_two(&log, zstd)),
        ];
        let mut plain = None;
        for (path, bytes) in ways {
            stage.site.put(path, "application/octet-stream", bytes);
            stage.show(path).await;
            let rows: String = stage.tab.eval(ROWS).await;
            assert!(rows.contains("Prompt 59"), "{path}");
            let plain = plain.get_or_insert_with(|| rows.clone());
            assert_eq!(difference(path, &rows, plain), None, "{path}");
        }
        let exported = "const file = await __test.feed().exportAs('jsonl', { mask: false }); return file.text();";
        let text: String = stage
            .tab
            .eval(&format!("(async () => {{ {exported} }})()"))
            .await;
        assert_eq!(text.lines().count(), log.lines().count());
    });
}

#[test]
fn what_a_script_gives_may_be_packed() {
    let log = sixty_turns("given");
    on_stage("packed_given", FEED, Vec::new(), async |stage| {
        let ways = [
            ("/plain", log.clone().into_bytes()),
            ("/gz", gzip(&log)),
            ("/zst", zstd(&log)),
            ("/gz2", in_two(&log, gzip)),
        ];
        for (path, bytes) in ways {
            stage.site.put(path, "application/octet-stream", bytes);
        }
        let all = format!("__test.feed().eventCount === {}", log.lines().count());
        let mut plain = None;
        for path in ["/plain", "/gz", "/zst", "/gz2"] {
            for gives in [
                "feed.append(bytes);",
                "for (let at = 0; at < bytes.length; at += 1000) feed.append(bytes.subarray(at, at + 1000));",
                "for (let at = 0; at < bytes.length; at++) feed.append(bytes.subarray(at, at + 1));",
                "feed.append(fetch(path));",
                "feed.append(new Blob([bytes]));",
                "async function* pieces() { for (let at = 0; at < bytes.length; at += 700) yield bytes.slice(at, at + 700); }
                 feed.append(pieces());",
                "async function* pieces() { for (let at = 0; at < bytes.length; at += 7) yield bytes.slice(at, at + 7); }
                 feed.append(pieces());",
            ] {
                // Of one it says all.
                let is_crumbs = gives.contains("at + 1)") || gives.contains("at + 7)");
                if path != "/gz" && is_crumbs {
                    continue;
                }
                stage
                    .tab
                    .run(&format!(
                        "const path = '{path}'; const bytes = new Uint8Array(await (await fetch(path)).arrayBuffer());
                         const feed = __test.feed(); feed.clear(); {gives}"
                    ))
                    .await;
                let what = format!("{path}: {gives}");
                stage.tab.wait_for(&what, SHORT, &all).await;
                let rows: String = stage.tab.eval(ROWS).await;
                let plain = plain.get_or_insert_with(|| rows.clone());
                assert_eq!(difference(&what, &rows, plain), None, "{what}");
            }
        }
        // A stream is unpacked as it comes: its beginning is shown while its end is not here.
        stage
            .tab
            .run(
                "const bytes = new Uint8Array(await (await fetch('/gz')).arrayBuffer());
                  const half = bytes.length >> 1; window.goOn = undefined;
                  async function* pieces() {
                      yield bytes.slice(0, half);
                      await new Promise((done) => { window.goOn = done; });
                      yield bytes.slice(half);
                  }
                  const feed = __test.feed(); feed.clear(); feed.append(pieces());",
            )
            .await;
        let begun = format!(
            "window.goOn && __test.feed().eventCount > 0 && __test.feed().eventCount < {}",
            log.lines().count()
        );
        stage.tab.wait_for("its beginning", SHORT, &begun).await;
        stage.tab.run("window.goOn()").await;
        stage.tab.wait_for("all of it", SHORT, &all).await;
        // What is read as a whole is so once all of it is unpacked.
        let list = format!("[{}]", log.lines().collect::<Vec<_>>().join(","));
        for (path, bytes) in [
            ("/list", list.clone().into_bytes()),
            ("/list.gz", gzip(&list)),
        ] {
            stage.site.put(path, "application/octet-stream", bytes);
            stage
                .tab
                .run(&format!(
                    "const feed = __test.feed(); feed.clear(); feed.append(fetch('{path}'))"
                ))
                .await;
            stage.tab.wait_for(path, SHORT, &all).await;
        }
        // It is there again where the element comes back, and lines of others may come meanwhile.
        stage
            .tab
            .run("const feed = __test.feed(); feed.remove(); await __test.frames(3); document.body.append(feed);")
            .await;
        stage.tab.wait_for("it again", SHORT, &all).await;
        stage
            .tab
            .run("const feed = __test.feed(); const text = await (await fetch('/plain')).text(); feed.clear();
                  feed.append(fetch('/gz'));
                  for (const line of text.replaceAll('\"id\":\"e', '\"id\":\"other').trim().split('\\n')) { feed.append(line); await null; }")
            .await;
        let both = format!("__test.feed().eventCount === {}", 2 * log.lines().count());
        stage.tab.wait_for("both", SHORT, &both).await;
    });
}

#[test]
fn what_a_script_gives_packed_and_damaged_is_told_and_what_came_stays() {
    let log = sixty_turns("torn");
    on_stage("packed_torn", FEED, Vec::new(), async |stage| {
        let packed = gzip(&log);
        let cut = packed.len() * 2 / 3;
        stage
            .site
            .put("/cut", "application/octet-stream", packed[..cut].to_vec());
        stage.tab.run("__test.feed().append(fetch('/cut'))").await;
        let told = format!(
            "__test.feed().state === 'error' && ({NOTE}).includes('cut off after {cut} bytes')"
        );
        stage.tab.wait_for("the damage", SHORT, &told).await;
        let rows: String = stage.tab.eval(ROWS).await;
        assert!(rows.contains("Prompt 20"), "{}", rows.len());
    });
}

#[test]
fn what_a_script_gives_fills_no_more_memory_than_it_may() {
    on_stage("packed_given_bomb", FEED, Vec::new(), async |stage| {
        stage.site.put(
            "/bomb",
            "application/octet-stream",
            gzip(&bomb(BOMB_EVENTS)),
        );
        stage
            .tab
            .run("const feed = __test.feed(); feed.memory = 35; feed.append(fetch('/bomb'))")
            .await;
        let told = format!("__test.feed().state === 'error' && ({NOTE}).includes('of memory')");
        stage
            .tab
            .wait_for("what does not fit", LOAD_LIMIT, &told)
            .await;
    });
}

#[test]
fn what_is_damaged_is_shown_as_far_as_it_goes() {
    let log = sixty_turns("cut");
    on_stage("packed_damage", FEED, Vec::new(), async |stage| {
        let packed = gzip(&log);
        let cut = packed.len() * 2 / 3;
        let mut changed = packed.clone();
        changed[cut] ^= 0x55;
        changed[cut + 1] ^= 0x55;
        let n_zstd = zstd(&log).len() / 2;
        let cut_zstd = [zstd(&log), zstd(&log)[..n_zstd].to_vec()].concat();
        let ways = [
            (
                "/cut",
                packed[..cut].to_vec(),
                format!("cut off after {cut} bytes"),
            ),
            ("/changed", changed, "the gzip file".to_owned()),
            (
                "/cut-zstd",
                cut_zstd.clone(),
                format!("cut off after {} bytes", cut_zstd.len()),
            ),
            (
                "/more",
                [gzip(&log), b"and more".to_vec()].concat(),
                "goes on with something else".to_owned(),
            ),
        ];
        for (path, bytes, why) in ways {
            stage.site.put(path, "application/octet-stream", bytes);
            stage.show(path).await;
            let note: String = stage.tab.eval(NOTE).await;
            assert!(note.contains(&why), "{path}: {note}");
            let rows: String = stage.tab.eval(ROWS).await;
            assert!(rows.contains("Prompt 20"), "{path}: {}", rows.len());
        }
        // Who hands it on is told that it is not all.
        let bytes = packed[..cut].to_vec();
        stage
            .site
            .put("/cut-off", "application/octet-stream", bytes);
        stage.show("/cut-off").await;
        stage.tab.click("__test.visible('#export-opener')").await;
        stage.tab.click("__test.visible('[data-form=jsonl]')").await;
        let review = "__test.one('dialog.export')?.textContent ?? ''";
        let told = format!(
            "({review}).includes('what could be read of the session') && ({review}).includes('cut off after {cut} bytes')"
        );
        stage.tab.wait_for("the review", SHORT, &told).await;
        stage
            .tab
            .click("__test.all('dialog.export .button').find((button) => button.textContent === 'Cancel')")
            .await;
        // Nothing can be read of it.
        stage
            .site
            .put("/none", "application/octet-stream", packed[..20].to_vec());
        stage
            .tab
            .run("__test.feed().setAttribute('src', '/none')")
            .await;
        let told = format!(
            "__test.feed().getAttribute('state') === 'error' && ({NOTE}).includes('cut off after 20 bytes')"
        );
        stage
            .tab
            .wait_for("the damage to be told", SHORT, &told)
            .await;
    });
}

#[test]
fn results_of_sessions_that_share_a_file_and_ids_come_to_their_own_calls() {
    let call = |session: &str| {
        let mut writer = Writer::new(session);
        let turn = json!({"turnId": "t1", "responseId": "r1"});
        let args = json!({"command": format!("run of {session}")});
        writer.event(
            "tool_call",
            &turn,
            &json!({"toolCallId": "c1", "toolName": "Bash", "kind": "execute", "args": args}),
        );
        writer.event(
            "tool_result",
            &turn,
            &json!({"toolCallId": "c1", "result": format!("came of {session}")}),
        );
        writer.take()
    };
    let log = call("one") + &call("other");
    on_stage("packed_two", FEED, Vec::new(), async |stage| {
        stage
            .site
            .put("/two", "application/octet-stream", gzip(&log));
        stage.show("/two").await;
        stage.tab.run("await __test.feed().expandAll()").await;
        let calls = "__test.all('.tool-call').map((call) => call.textContent)";
        let calls: Vec<String> = stage.tab.eval(calls).await;
        for session in ["one", "other"] {
            let own = calls.iter().filter(|call| {
                let [runs, came] = ["run", "came"].map(|word| format!("{word} of {session}"));
                call.contains(&runs) && call.contains(&came)
            });
            assert_eq!(own.count(), 1, "{session}: {calls:?}");
        }
    });
}

/// A session of Claude Code with a sub-agent's file beside it.
fn folder() -> [(&'static str, String); 2] {
    let line = |agent: bool, uuid: &str, role: &str, content: serde_json::Value| {
        let mut line = json!({"type": role, "sessionId": "s1", "uuid": uuid, "parentUuid": null, "isSidechain": agent,
            "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w", "version": "2.1.100", "userType": "external",
            "message": {"role": role, "content": content}});
        if agent {
            line["agentId"] = json!("a1");
        }
        line
    };
    let asked = json!([{"type": "tool_use", "id": "c1", "name": "Agent", "input": {"description": "Look", "prompt": "Look into it"}}]);
    let mut answered = line(
        false,
        "m3",
        "user",
        json!([{"type": "tool_result", "tool_use_id": "c1", "content": "The answer"}]),
    );
    answered["toolUseResult"] = json!({"agentId": "a1", "status": "completed"});
    let main = [
        line(false, "m1", "user", json!("Go on")),
        line(false, "m2", "assistant", asked),
        answered,
    ];
    let said = json!([{"type": "text", "text": "Only the sub-agent says this"}]);
    let agent = [
        line(true, "x1", "user", json!("Look into it")),
        line(true, "x2", "assistant", said),
    ];
    let text = |lines: &[serde_json::Value]| -> String {
        lines.iter().map(|line| format!("{line}\n")).collect()
    };
    [
        ("s1.jsonl", text(&main)),
        ("s1/subagents/agent-a1.jsonl", text(&agent)),
    ]
}

#[test]
fn packed_files_of_a_folder_are_one_session() {
    on_stage("packed_folder", FEED, Vec::new(), async |stage| {
        let tab = &stage.tab;
        let mut shown = Vec::new();
        for packed in [false, true] {
            let files = folder().map(|(path, text)| match packed {
                false => json!({"path": path, "bytes": text.into_bytes()}),
                true if path == "s1.jsonl" => {
                    json!({"path": format!("{path}.gz"), "bytes": gzip(&text)})
                }
                true => json!({"path": format!("{path}.zst"), "bytes": zstd(&text)}),
            });
            tab.run(&format!(
                "__test.feed().clear();
                 const files = {}.map(({{ path, bytes }}) => ({{ path, file: new File([new Uint8Array(bytes)], path) }}));
                 __test.feed().load(files);",
                json!(files)
            ))
            .await;
            let is_read =
                "__test.feed().getAttribute('state') === 'ready' && __test.feed().eventCount > 0";
            tab.wait_for("the folder", LOAD_LIMIT, is_read).await;
            tab.run("await __test.feed().expandAll()").await;
            let rows: String = tab.eval(ROWS).await;
            assert!(rows.contains("Only the sub-agent says this"), "{rows}");
            shown.push(rows);
        }
        assert_eq!(difference("packed", &shown[1], &shown[0]), None);
    });
}

/// Few bytes when packed, and much memory: each event's text is 4 KB long, too short to be kept outside of it.
fn bomb(n_events: u64) -> String {
    let mut writer = Writer::new("bomb");
    let text = "boom ".repeat(800);
    for number in 0..n_events {
        let turn = json!({"turnId": format!("t{number}"), "responseId": format!("r{number}")});
        writer.event("assistant_done", &turn, &json!({"text": text}));
    }
    writer.take()
}

/// Together 60 MB.
const BOMB_EVENTS: u64 = 15_000;

#[test]
fn what_would_not_fit_is_stopped_and_said() {
    with_server("packed_bomb", 150, async |visit, program| {
        let (_server, tab) = lone_element(&visit, &program).await;
        let packed = gzip(&bomb(BOMB_EVENTS));
        assert!(packed.len() < 1_000_000, "{} bytes", packed.len());
        let bytes = packed
            .iter()
            .map(u8::to_string)
            .collect::<Vec<_>>()
            .join(",");
        tab.run(&format!("window.__bomb = new Uint8Array([{bytes}]);"))
            .await;
        for by_worker in [true, false] {
            if !by_worker {
                tab.run("window.Worker = class { constructor() { throw new Error('no workers here'); } };")
                    .await;
            }
            tab.run(
                "__test.feed().setAttribute('memory', '35');
                 __test.feed().load([{ path: 'log.jsonl', file: new File([__bomb], 'log.jsonl') }]);",
            )
            .await;
            let stopped = format!(
                "__test.feed().getAttribute('state') === 'ready' && ({NOTE}).includes('Only the beginning is shown')"
            );
            tab.wait_for("it to be stopped", LOAD_LIMIT, &stopped).await;
            let n_events: u64 = tab.eval("__test.feed().eventCount").await;
            let some = BOMB_EVENTS / 10..BOMB_EVENTS * 9 / 10;
            assert!(some.contains(&n_events), "{n_events} events");
            let calm: bool = tab.eval("__test.rest()").await;
            assert!(calm, "the page goes on");
        }
        // A reader who has seen enough ends it: eight times the same takes long enough to be told of.
        tab.run(
            "__test.feed().removeAttribute('memory');
             const press = new MutationObserver(() => __test.one('.loading button')?.click());
             press.observe(__test.feed().shadowRoot, { childList: true, subtree: true });
             window.letBe = () => press.disconnect();
             __test.feed().load([{ path: 'log.jsonl', file: new File(Array(8).fill(__bomb), 'log.jsonl') }]);",
        )
        .await;
        let ended = format!(
            "__test.feed().getAttribute('state') === 'ready' && ({NOTE}).includes('reading was stopped')"
        );
        tab.wait_for("it to be ended", LOAD_LIMIT, &ended).await;
        tab.run("letBe()").await;
        // With the room that there is else, all of it is shown.
        tab.run(
            "__test.feed().load([{ path: 'log.jsonl', file: new File([__bomb], 'log.jsonl') }]);",
        )
        .await;
        let all = format!("__test.feed().eventCount === {BOMB_EVENTS} && ({NOTE}) === ''");
        tab.wait_for("all of it", LOAD_LIMIT, &all).await;
    });
}
