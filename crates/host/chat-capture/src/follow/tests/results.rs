//! Results that lie in files of their own.

use chat_event::Payload;

use super::*;

/// The lines of a session whose one result lies in the file `r1.txt`.
fn lines_of_result(path: &Path) -> String {
    let said = r#"{"type":"assistant","uuid":"a1","sessionId":"s1","timestamp":"2026-11-21T21:03:01.000Z","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"seq"}}]}}"#;
    let head = serde_json::json!(format!(
        "<persisted-output>\nOutput too large. Full output saved to: {}\n\nPreview",
        path.display()
    ));
    let result = format!(
        r#"{{"type":"user","uuid":"u2","sessionId":"s1","timestamp":"2026-11-21T21:03:02.000Z","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_1","content":{head}}}]}}}}"#
    );
    format!("{said}\n{result}\n")
}

/// What is told of a session whose result's file is so long: the result, and the notices behind it. `make` makes the file's
/// folder.
fn told(n_bytes: usize, make: fn(&Path) -> std::io::Result<()>) -> (String, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut follow, mut log) = followed(dir.path());
    let results = path.with_extension("").join("tool-results");
    make(&results).unwrap();
    let file = results.join("r1.txt");
    std::fs::write(&file, vec![b'x'; n_bytes]).unwrap();
    let text = format!("{}{}", prompt("s1"), lines_of_result(&file));
    std::fs::write(&path, text).unwrap();
    read_all(&mut follow, &mut log);
    let (mut result, mut notices) = (String::new(), Vec::new());
    for event in &log.events {
        match &event.payload {
            Payload::ToolResult(it) => result = it.result.as_str().unwrap().into_owned(),
            Payload::Notice(notice) if !result.is_empty() => {
                assert_eq!(event.timestamp, Some(1_795_294_982_000));
                notices.push(notice.text.replace(&*dir.path().to_string_lossy(), ""));
            }
            _ => {}
        }
    }
    (result, notices)
}

#[test]
fn a_result_that_is_too_long_is_told_in_part_and_that_is_said() {
    const MOST: usize = 16 * 1024 * 1024;
    let (result, notices) = told(MOST, |folder| std::fs::create_dir_all(folder));
    assert_eq!((result.len(), notices), (MOST, vec![]));
    let (result, notices) = told(MOST + 1, |folder| std::fs::create_dir_all(folder));
    assert_eq!(result.len(), MOST);
    let said = "/projects/-w/s1/tool-results/r1.txt is longer than 16 MiB; its beginning is shown";
    assert_eq!(notices, [said]);
}

#[cfg(unix)]
#[test]
fn a_result_in_a_folder_that_is_a_link_is_not_read() {
    let (result, _) = told(10, |folder| {
        let (own, other) = (folder.parent().unwrap(), folder.with_file_name("other"));
        std::fs::create_dir_all(own)?;
        std::fs::create_dir(&other)?;
        std::os::unix::fs::symlink(other, folder)
    });
    assert!(result.ends_with("\n\nPreview"), "{result}");
    let (result, _) = told(10, |folder| {
        let own = folder.parent().unwrap();
        let other = own.with_file_name("other");
        std::fs::create_dir_all(other.join("tool-results"))?;
        std::os::unix::fs::symlink(other, own)
    });
    assert!(result.ends_with("\n\nPreview"), "{result}");
}

/// Lines of a few bytes may name files of many MB: all of them at once may be more than there is memory for.
#[test]
fn long_results_are_told_one_after_the_other() {
    const LONG: usize = 16 * 1024 * 1024;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s1.jsonl");
    let results = path.with_extension("").join("tool-results");
    std::fs::create_dir_all(&results).unwrap();
    let file = results.join("r1.txt");
    std::fs::write(&file, vec![b'x'; LONG]).unwrap();
    let lines = lines_of_result(&file);
    let again = |nth: &str| {
        lines
            .replace("toolu_1", nth)
            .replace("\"a1", nth)
            .replace("m1", nth)
    };
    std::fs::write(
        &path,
        [prompt("s1"), again("toolu_2"), again("toolu_3")].concat(),
    )
    .unwrap();
    let mut session = Session::load(&path, Agent::Claude, None);
    let facts = Facts::of(&path).unwrap();
    let mut lens = Vec::new();
    loop {
        let mut events = Vec::new();
        let read = session.read(facts, &BTreeMap::new(), false, &mut events);
        let whole = events.iter().filter_map(|event| match &event.payload {
            Payload::ToolResult(result) => Some(result.result.as_str().unwrap().len()),
            _ => None,
        });
        lens.push(whole.collect::<Vec<_>>());
        if !read.unwrap().more {
            break;
        }
    }
    lens.retain(|lens| !lens.is_empty());
    assert_eq!(lens, [[LONG], [LONG]]);
}
