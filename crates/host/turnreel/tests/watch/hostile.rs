//! Files that lie, change under the reader or cannot be read: they are named, and the rest goes on.

use std::fs::File;
use std::process::Command;
use std::time::Duration;

use crate::support::home::{Home, append, events, ids, prompt, texts};
use crate::support::soon;

/// The name would be that of a file.
#[test]
fn a_session_that_names_itself_by_a_path_is_said_and_left_alone() {
    let home = Home::new();
    let path = ".claude/projects/-w/odd.jsonl";
    home.write(path, prompt("../odd", 1, "Odd"));
    home.write(".claude/projects/-w/good.jsonl", prompt("good", 1, "Good"));
    let server = home.watch(&[]);
    soon("the good one is read", || ids(&server).contains("good"));
    std::thread::sleep(Duration::from_secs(1));
    let ids = ids(&server);
    assert!(ids.iter().all(|id| !id.contains('/')), "{ids:?}");
}

#[test]
fn a_file_that_is_replaced_or_cut_is_read_anew_and_one_that_is_gone_stays_told() {
    let home = Home::new();
    let path = home.write(
        ".claude/projects/-w/s1.jsonl",
        prompt("s1", 1, "First") + &prompt("s1", 2, "Second"),
    );
    let _server = home.watch(&[]);
    let texts = || texts(&home.data(), "s1");
    soon("both are there", || texts() == ["First", "Second"]);
    std::fs::write(&path, prompt("s1", 1, "First")).unwrap();
    soon("it is said", || home.said().contains("another file now"));
    append(&path, prompt("s1", 3, "Third").as_bytes());
    soon("what is new is there", || {
        texts() == ["First", "Second", "Third"]
    });
    // As editors and synchronisers do.
    let new = home.path("new");
    std::fs::write(
        &new,
        prompt("s1", 9, "Begins otherwise") + &prompt("s1", 3, "Third"),
    )
    .unwrap();
    std::fs::rename(&new, &path).unwrap();
    soon("the new file is there", || {
        texts().contains(&"Begins otherwise".to_owned())
    });
    std::fs::remove_file(&path).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(texts().len(), 4);
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_is_named_and_the_rest_goes_on() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = Home::new();
    let folder = home.path(".claude/projects/-w");
    home.write(".claude/projects/-w/good.jsonl", prompt("good", 1, "Good"));
    home.write(".claude/projects/-w/empty.jsonl", "");
    home.write(
        ".claude/projects/-w/picture.jsonl",
        b"\x89PNG\r\n\x1a\n\n\n",
    );
    let secret = home.write("elsewhere/secret.jsonl", prompt("secret", 1, "Secret"));
    symlink(&secret, folder.join("link.jsonl")).unwrap();
    symlink(home.path("elsewhere"), home.path(".claude/projects/-link")).unwrap();
    let made = Command::new("mkfifo")
        .arg(folder.join("pipe.jsonl"))
        .status();
    let has_pipe = made.is_ok_and(|made| made.success());
    let odd = std::ffi::OsStr::from_bytes(b"od\xffd.jsonl");
    let has_odd = std::fs::write(folder.join(odd), prompt("odd", 1, "Odd")).is_ok();
    let closed = home.write(
        ".claude/projects/-w/closed.jsonl",
        prompt("closed", 1, "Closed"),
    );
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads everything.
    let is_closed = File::open(&closed).is_err();
    let long = format!(
        "{}{}\n{}",
        prompt("long", 1, "Before"),
        "x".repeat(20 * 1024 * 1024),
        prompt("long", 2, "Behind")
    );
    home.write(".claude/projects/-w/long.jsonl", long);
    let server = home.watch(&[]);
    soon("what can be read is", || {
        let long = events(&home.data(), "long");
        let has = |text: &str| long.iter().any(|event| event["payload"]["text"] == text);
        has("Behind") && ids(&server).contains("good")
    });
    let said = home.said();
    let mut places = vec!["link.jsonl", "-link", "picture.jsonl"];
    places.extend(has_pipe.then_some("pipe.jsonl"));
    places.extend(has_odd.then_some("no text"));
    places.extend(is_closed.then_some("closed.jsonl"));
    for place in places {
        assert!(said.contains(place), "{place}\n{said}");
    }
    assert!(!said.contains("empty.jsonl"), "{said}");
    let ids = ids(&server);
    assert!(!ids.contains("secret") && !ids.contains("odd"), "{ids:?}");
    assert_eq!(ids.contains("closed"), !is_closed);
}
