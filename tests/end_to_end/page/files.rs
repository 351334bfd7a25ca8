//! Files and folders that are dropped on the page, and what hostile names become.

use super::*;

#[test]
fn a_file_that_is_no_session_is_refused_in_words() {
    with_server("no_session", 90, async |visit, program| {
        let server = Server::start(&program).await;
        let folder = tempfile::tempdir().expect("a folder");
        let png: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\nIDATx\x9cc\0\x01\0\0\x05\0\x01";
        let cases: [(&str, &[u8], &[&str]); 4] = [
            (
                "picture.png",
                png,
                &["not a session log: it is a png picture", "opencode"],
            ),
            (
                "notes.txt",
                b"Dear diary,\ntoday nothing happened.\n",
                &["not a session log: line 1 is", "opencode"],
            ),
            (
                "other.json",
                b"{\"name\": \"something\", \"version\": 1}\n",
                &["not a session log: line 1 is", "opencode"],
            ),
            ("empty.jsonl", b"", &["not a session log"]),
        ];
        for (name, content, words) in cases {
            let path = folder.path().join(name);
            std::fs::write(&path, content).expect("a file is written");
            let tab = visit.tab(name).await;
            tab.goto(&format!("{}/#token={}", server.url, server.token))
                .await;
            tab.wait_for("the place to drop a file", SHORT, "__test.one('.drop')")
                .await;
            tab.drop_files(&[&path]).await;
            tab.wait_for(
                &format!("a word about {name}"),
                SHORT,
                "__test.visible('.note[role=alert]')?.textContent",
            )
            .await;
            let said: String = tab
                .eval("__test.visible('.note[role=alert]').textContent.toLowerCase()")
                .await;
            for word in words {
                assert!(
                    said.contains(word),
                    "{name}: {said:?} does not say {word:?}"
                );
            }
            assert!(said.contains(name), "{name}: it says of which file: {said}");
            let state: String = tab.eval("__test.feed().getAttribute('state')").await;
            assert_eq!(state, "error", "{name}");
            // There is nothing to find in, to export or to sum up; other files can be chosen, and the list says which it was.
            let ways: [bool; 3] = tab
                .eval("[!!__test.visible('.controls, .panel-toggle'), !!__test.visible('.drop input'), !!__test.one('.session .glyph--failed')]")
                .await;
            assert_eq!(ways, [false, true, true], "{name}");
            // The rest stays usable: a good file shows as if nothing had been.
            let good = folder.path().join("good.jsonl");
            let (log, n_events) = small_log("good", 2);
            std::fs::write(&good, log).expect("a file is written");
            tab.drop_files(&[&good]).await;
            settle(&tab, "a good file after a bad one", n_events).await;
            let still: bool = tab.eval("!!__test.visible('.note[role=alert]')").await;
            assert!(!still, "{name}: the word is taken back");
            // Dropped again, it takes nothing away.
            tab.drop_files(&[&path]).await;
            let stays = "__test.visible('.refused')?.textContent ?? ''";
            tab.wait_for(
                "a word that what is open stays",
                SHORT,
                &format!("({stays}).includes('What was open stays open')"),
            )
            .await;
            let said: String = tab.eval(stays).await;
            assert!(
                said.starts_with(&format!("“{name}” is not a session log")),
                "{said}"
            );
            settle(&tab, "the good file", n_events).await;
            tab.run("__test.visible('.refused button').click()").await;
            tab.wait_for("no word", SHORT, "!__test.visible('.refused')")
                .await;
            assert_nothing_uploaded(&tab);
        }
    });
}

#[test]
fn files_that_were_opened_stay_in_the_list_and_each_opens_again() {
    with_server("files_again", 90, async |visit, program| {
        let server = Server::start(&program).await;
        let folder = tempfile::tempdir().expect("a folder");
        let tab = visit.tab("files").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        tab.wait_for("the place to drop a file", SHORT, "__test.one('.drop')")
            .await;
        let mut dropped = Vec::new();
        // The last has the name of the first, and is another.
        for (place, name, n_turns) in [("a", "one", 2), ("a", "two", 5), ("b", "one", 3)] {
            let (log, n_events) = small_log(&format!("{place}-{name}"), n_turns);
            let path = folder.path().join(place).join(format!("{name}.jsonl"));
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders are made");
            std::fs::write(&path, log).expect("a log is written");
            tab.drop_files(&[&path]).await;
            settle(&tab, &format!("{place}/{name}"), n_events).await;
            dropped.push((path, n_events));
        }
        let listed = "[...document.querySelectorAll('.session')].map((row) => row.title)";
        let titles: Vec<String> = tab.eval(listed).await;
        assert_eq!(titles, ["one (2)", "two", "one"]);
        for (title, n_events) in titles.iter().rev().zip(dropped.iter().map(|(_, n)| *n)) {
            let row = format!(
                "[...document.querySelectorAll('.session')].find((row) => row.title === '{title}')"
            );
            tab.run(&format!("{row}.click()")).await;
            settle(&tab, title, n_events).await;
        }
        // The same file again is the same session.
        tab.drop_files(&[&dropped[1].0]).await;
        settle(&tab, "two, again", dropped[1].1).await;
        let titles: Vec<String> = tab.eval(listed).await;
        assert_eq!(titles, ["two", "one (2)", "one"]);
        assert_nothing_uploaded(&tab);
    });
}

#[test]
fn the_sessions_of_a_dropped_folder_are_listed_and_each_opens() {
    with_server("folder", 90, async |visit, program| {
        let server = Server::start(&program).await;
        let folder = tempfile::tempdir().expect("a folder");
        let project = folder.path().join("logs/project");
        std::fs::create_dir_all(&project).expect("folders are made");
        let mut n_events = Vec::new();
        for (name, n_turns) in [("one", 2), ("two", 5)] {
            let (log, events) = small_log(name, n_turns);
            std::fs::write(project.join(format!("{name}.jsonl")), log).expect("a log is written");
            n_events.push((name, events));
        }
        std::fs::write(project.join("notes.md"), "no session").expect("a file is written");
        let tab = visit.tab("folder").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        tab.wait_for("the place to drop a file", SHORT, "__test.one('.drop')")
            .await;
        tab.drop_files(&[&folder.path().join("logs")]).await;
        let listed = "[...document.querySelectorAll('.session')].filter((row) => row.title.startsWith('logs/project/'))";
        tab.wait_for(
            "both sessions in the list",
            SHORT,
            &format!("{listed}.length === 2"),
        )
        .await;
        for (name, events) in n_events {
            tab.run(&format!(
                "{listed}.find((row) => row.title.endsWith('/{name}')).click()"
            ))
            .await;
            settle(&tab, name, events).await;
        }
        // The titles come from the sessions' beginnings.
        tab.wait_for(
            "titles in the list",
            SHORT,
            &format!("{listed}.every((row) => !/^(one|two)$/.test(row.querySelector('.session__title').textContent))"),
        )
        .await;
        assert_nothing_uploaded(&tab);
    });
}

/// A session of Droid's that starts a sub-agent, and that one's: a file beside it, which names the call.
fn droids_files() -> [(&'static str, String); 2] {
    let entry = |n: u32, role: &str, content: serde_json::Value| {
        json!({"type": "message", "id": format!("e{n}"), "timestamp": format!("2026-11-30T10:00:{n:02}.000Z"),
            "message": {"role": role, "content": content}})
    };
    let begins = |id: &str| json!({"type": "session_start", "id": id, "title": "A title", "owner": "dev", "version": 2, "cwd": "/w"});
    let mut called = begins("child");
    called["callingSessionId"] = json!("own");
    called["callingToolUseId"] = json!("c1");
    let text = |words: &str| json!([{"type": "text", "text": words}]);
    let starts = json!([{"type": "tool_use", "id": "c1", "name": "Task", "input": {"description": "Look", "prompt": "Look into it"}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "c1", "content": "The answer"}]);
    let own = [
        begins("own"),
        entry(1, "user", text("Go on")),
        entry(2, "assistant", starts),
        entry(5, "user", result),
        entry(6, "assistant", text("Done.")),
    ];
    let child = [
        called,
        entry(3, "user", text("Look into it")),
        entry(4, "assistant", text("Only the sub-agent says this")),
    ];
    let lines = |lines: &[serde_json::Value]| -> String {
        lines.iter().map(|line| format!("{line}\n")).collect()
    };
    [("own.jsonl", lines(&own)), ("child.jsonl", lines(&child))]
}

#[test]
fn a_sub_agent_of_a_dropped_folder_of_droids_stands_in_its_call() {
    with_server("droids_folder", 90, async |visit, program| {
        let server = Server::start(&program).await;
        let folder = tempfile::tempdir().expect("a folder");
        let project = folder.path().join("sessions/-w");
        std::fs::create_dir_all(&project).expect("folders are made");
        for (name, lines) in droids_files() {
            std::fs::write(project.join(name), lines).expect("a file is written");
        }
        let tab = visit.tab("folder").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        tab.wait_for("the place to drop a file", SHORT, "__test.one('.drop')")
            .await;
        tab.drop_files(&[&folder.path().join("sessions")]).await;
        let is_read = "__test.feed()?.getAttribute('state') === 'ready' && __test.text(__test.feed()).includes('Done.')";
        tab.wait_for("the session", SHORT, is_read).await;
        let listed = "[...document.querySelectorAll('.session')].map((row) => row.title).filter((title) => title.startsWith('sessions/'))";
        let titles: Vec<String> = tab.eval(listed).await;
        assert_eq!(titles, ["sessions/-w/own"]);
        tab.run("await __test.feed().expandAll()").await;
        let says = "__test.text(__test.feed()).includes('Only the sub-agent says this')";
        tab.wait_for("what the sub-agent says", SHORT, says).await;
        assert_nothing_uploaded(&tab);
    });
}

#[test]
fn a_line_that_cannot_be_read_is_shown_where_it_stands() {
    with_server("bad_line", 60, async |visit, program| {
        let server = Server::start(&program).await;
        let (log, n_events) = small_log("damaged", 3);
        let mut lines: Vec<&str> = log.lines().collect();
        // After the first turn, so that there are rows before and behind it.
        let at = lines
            .iter()
            .position(|line| line.contains("turn_end"))
            .expect("a turn ends")
            + 1;
        lines.insert(at, "{\"id\":\"broken\", this is not JSON");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("damaged.jsonl");
        std::fs::write(&path, lines.join("\n")).expect("a file is written");
        let tab = visit.tab("page").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        tab.wait_for("the place to drop a file", SHORT, "__test.one('.drop')")
            .await;
        tab.drop_files(&[&path]).await;
        settle(&tab, "the damaged file", n_events + 1).await;
        tab.run("__test.feed().goToEvent(0)").await;
        let text: String = tab
            .eval("__test.feed().serializeRows({ maskTimes: true })")
            .await;
        let line_number = (at + 1).to_string();
        let notice = text
            .find("notice--warning")
            .unwrap_or_else(|| panic!("there is a warning in:\n{text}"));
        let around: String = text[notice..].chars().take(1500).collect();
        assert!(
            around.contains(&line_number),
            "it names line {line_number}:\n{around}"
        );
        let (before, behind) = (text.find("Prompt 1:"), text.find("Prompt 2:"));
        assert!(
            before < Some(notice) && Some(notice) < behind,
            "it stands between its neighbours"
        );
        assert!(text.contains("Prompt 3:"), "and the rest goes on");
        assert_nothing_uploaded(&tab);
    });
}

#[test]
fn hostile_titles_and_file_names_are_text_in_the_list_and_on_the_page() {
    with_server("hostile_names", 60, async |visit, program| {
        let server = Server::start(&program).await;
        let bad = "<img src=x onerror=window.__pwned=1>\"'><script>window.__pwned=1</script>";
        let mut writer = Writer::new("hostile");
        let facts = json!({"title": bad, "agent": bad, "model": bad, "cwd": format!("/{bad}"), "gitBranch": bad});
        writer.event("session_start", &json!({}), &facts);
        writer.turn(1);
        let log = writer.take();
        pipe_all(&server, &log).await;
        let folder = tempfile::tempdir().expect("a folder");
        // A slash is the only character of it that a file's name cannot hold.
        let path = folder
            .path()
            .join(format!("{}.jsonl", bad.replace('/', "\u{2215}")));
        std::fs::write(&path, &log).expect("a file is written");

        let tab = visit.tab("page").await;
        tab.goto(&format!("{}/#token={}", server.url, server.token))
            .await;
        let own: usize = tab
            .eval("document.querySelectorAll('img, iframe, object').length")
            .await;
        open_from_list(&tab, "hostile").await;
        tab.wait_for(
            "the title to be shown as it is written",
            SHORT,
            "__test.one('.session__title')?.textContent.includes('<img src=x') && __test.one('.bar__title')?.textContent.includes('<img src=x')",
        )
        .await;
        tab.drop_files(&[&path]).await;
        tab.wait_for(
            "the file to be read",
            SHORT,
            "__test.feed().getAttribute('state') === 'ready'",
        )
        .await;
        let made: usize = tab.eval("__test.all('img, iframe, object').length").await;
        assert_eq!(made, own, "no text became an element");
        let ran: bool = tab.eval("'__pwned' in window").await;
        assert!(!ran, "no text ran");
        assert_nothing_uploaded(&tab);
        let elsewhere: Vec<_> = tab
            .requests()
            .into_iter()
            .filter(|sent| !sent.url.starts_with(&server.url) && !sent.url.starts_with("data:,"))
            .collect();
        assert!(elsewhere.is_empty(), "{elsewhere:?}");
    });
}
