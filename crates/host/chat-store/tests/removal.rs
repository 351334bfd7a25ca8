//! Removing sessions: all of one goes, nothing of another, and of the bodies those that nobody names.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chat_event::ChatEvent;
use chat_event::payload::UserMessage;
use chat_store::{
    Among, Error, Freed, HeldFolder, Options, Removal, SessionId, Store, Sweep, Unnamed, sizes,
};

use crate::support::{all, chunk, id, log_path, memory_dir, numbered, open};

/// An event whose text is so long that it stands beside the log.
fn long(n: u64, text: &str) -> ChatEvent {
    let payload = UserMessage {
        text: text.repeat(200_000 / text.len()).into(),
        ..UserMessage::default()
    };
    ChatEvent::new(format!("e{n}"), n as i64, "s1", payload)
}

fn names(dir: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

/// All bodies, and what says what is kept in the place of one.
fn bodies(dir: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(dir.join("blobs")).unwrap();
    let folders = folders.map(|folder| folder.unwrap().path());
    let mut bodies: Vec<PathBuf> = folders
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|file| file.unwrap().path())
        .collect();
    bodies.sort();
    bodies
}

/// Makes all bodies a day old.
fn age_bodies(dir: &Path) {
    let day = Duration::from_secs(24 * 60 * 60);
    for path in bodies(dir) {
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - day).unwrap();
    }
}

/// What a sweep removes of bodies that are an hour old.
fn swept(store: &Store, among: Among<'_>) -> Unnamed {
    let sweep = Sweep {
        among,
        rest: Duration::from_secs(60 * 60),
        ..of_all()
    };
    store.blobs().sweep(&sweep).unwrap()
}

/// A sweep of all bodies, however old they are.
fn of_all() -> Sweep<'static> {
    static NONE: BTreeSet<String> = BTreeSet::new();
    Sweep {
        among: Among::All,
        rest: Duration::ZERO,
        without: &NONE,
        is_dry: false,
    }
}

#[test]
fn all_of_a_session_goes_and_nothing_of_another_whose_name_begins_so() {
    let dir = memory_dir();
    let options = Options {
        segment_bytes: 4096,
        ..Options::default()
    };
    let store = Store::open(dir.path(), options).unwrap();
    for session in ["s1", "s1-2", "S1"] {
        let session = store.session_or_new(&id(session)).unwrap();
        for n in 1..=100 {
            session.append(vec![chunk(n)], false, 1).unwrap();
        }
    }
    let stem = id("s1").stem();
    for ending in [
        "torn-1",
        "aside-1",
        "0001.aside-1",
        "packed.json",
        "restored",
        "compacting",
    ] {
        std::fs::write(dir.path().join(format!("{stem}.{ending}")), "x").unwrap();
    }
    std::fs::create_dir_all(dir.path().join("restoring")).unwrap();
    std::fs::write(dir.path().join(format!("restoring/{stem}.torn-1")), "x").unwrap();
    let is_of_it = |name: &String| name.starts_with(&format!("{stem}."));
    let before = names(dir.path());
    let others: BTreeSet<String> = before.iter().filter(|it| !is_of_it(it)).cloned().collect();
    let sized = sizes(dir.path()).unwrap()[&stem];
    let session = store.session(&id("s1")).unwrap();
    let epoch = session.position().0;

    let Removal { freed, bodies } = store.remove(&id("s1")).unwrap();
    // And one that was being restored.
    assert_eq!(freed.files, sized.files + 1);
    assert_eq!(freed.bytes, sized.bytes + 1);
    assert!(freed.files > 8, "{before:?}");
    assert!(bodies.is_empty());
    assert_eq!(names(dir.path()), others);
    assert!(names(&dir.path().join("restoring")).is_empty());
    // Who holds it finds that it is gone, and no number is given twice under one epoch.
    let request = chat_store::PageRequest {
        after: 0,
        limit: 10,
        max_bytes: 1000,
    };
    assert!(matches!(session.page(request), Err(Error::Gone { .. })));
    session.append(vec![chunk(1)], false, 1).unwrap();
    assert_ne!(session.position().0, epoch);
    assert_eq!(all(&session).len(), 1);
    for other in ["s1-2", "S1"] {
        assert_eq!(all(&store.session(&id(other)).unwrap()), numbered(100));
    }
    assert_eq!(store.remove(&id("none")).unwrap(), Removal::default());
    assert!(!store.has_files(&id("none")).unwrap() && store.has_files(&id("s1")).unwrap());
}

#[test]
fn what_was_begun_is_ended_by_who_opens_the_folder_wherever_it_stopped() {
    let dir = memory_dir();
    let options = Options {
        segment_bytes: 1024,
        ..Options::default()
    };
    let store = Store::open(dir.path(), options).unwrap();
    let [session, other] = ["s1", "s2"].map(|it| store.session_or_new(&id(it)).unwrap());
    for n in 1..=40 {
        session.append(vec![chunk(n)], false, 1).unwrap();
        other.append(vec![chunk(n)], false, 1).unwrap();
    }
    store.close();
    drop((session, other, store));
    let stem = id("s1").stem();
    let whole = dir.path().to_owned();
    let files: Vec<String> = names(&whole)
        .into_iter()
        .filter(|name| name.starts_with(&format!("{stem}.")))
        .collect();
    assert!(files.len() > 3, "{files:?}");
    for n_gone in 0..=files.len() {
        let copy = memory_dir();
        for name in names(&whole) {
            if whole.join(&name).is_file() && !files[..n_gone].contains(&name) {
                std::fs::copy(whole.join(&name), copy.path().join(&name)).unwrap();
            }
        }
        File::create(copy.path().join(format!("{stem}.removing"))).unwrap();
        let store = Store::open(copy.path(), options).unwrap();
        assert!(store.session(&id("s1")).is_none(), "{n_gone}");
        assert_eq!(all(&store.session(&id("s2")).unwrap()), numbered(40));
        assert_eq!(store.unopened_logs(), 0);
        assert!(!names(copy.path()).iter().any(|name| name.contains(&stem)));
    }
}

#[test]
fn bodies_that_no_file_names_go_and_all_others_stay() {
    let dir = memory_dir();
    let store = open(dir.path());
    let put = |session: &str, events: Vec<ChatEvent>| {
        let session = store.session_or_new(&id(session)).unwrap();
        session.append(events, false, 1).unwrap();
    };
    let texts = ["own", "both", "aside", "spooled"];
    let events = texts.iter().zip(1..).map(|(text, n)| long(n, text));
    put("s1", events.collect());
    put("s2", vec![long(1, "both")]);
    let of = |text: &str| chat_store::sha256_hex(text.repeat(200_000 / text.len()).as_bytes());
    // What was set aside of a log, and what waits to be sent, names bodies as well.
    let aside = dir.path().join(format!("{}.aside-1", id("s3").stem()));
    let line = |text: &str| format!(r#"{{"text": {{"$body": {{"sha256": "{}"}}}}}}"#, of(text));
    std::fs::write(aside, line("aside")).unwrap();
    std::fs::create_dir_all(dir.path().join("spool/to/x")).unwrap();
    std::fs::write(dir.path().join("spool/to/x/s4-1.jsonl"), line("spooled")).unwrap();
    // Nobody named it, as where a session's files were removed by hand.
    store.blobs().put(b"orphan").unwrap();
    assert_eq!(bodies(dir.path()).len(), 5);

    let removal = store.remove(&id("s1")).unwrap();
    let named: BTreeSet<String> = texts.map(of).into();
    assert_eq!(removal.bodies, named);
    // They were stored just now: an event that names one may be on its way.
    let young = swept(&store, Among::These(&removal.bodies));
    assert_eq!((young.bodies, young.young), (0, named.clone()));
    age_bodies(dir.path());
    // Who is told that one is here is about to name it.
    assert_eq!(store.blobs().claim(&of("own")).unwrap(), Some(199_998));
    assert_eq!(store.blobs().claim(&of("nothing")).unwrap(), None);
    let claimed = swept(&store, Among::These(&removal.bodies));
    assert_eq!((claimed.bodies, claimed.young.len()), (0, 1));
    age_bodies(dir.path());
    let dry = Sweep {
        without: &[id("s2").stem()].into(),
        is_dry: true,
        ..of_all()
    };
    assert_eq!(store.blobs().sweep(&dry).unwrap().bodies, 3);
    let gone = swept(&store, Among::These(&removal.bodies));
    assert_eq!((gone.bodies, gone.bytes), (1, 199_998));
    assert!(store.blobs().open_body(&of("own")).unwrap().is_none());
    for text in ["both", "aside", "spooled"] {
        assert!(
            store.blobs().open_body(&of(text)).unwrap().is_some(),
            "{text}"
        );
    }
    // All others only where all are looked at.
    assert_eq!(bodies(dir.path()).len(), 4);
    assert_eq!(swept(&store, Among::All).bytes, 6);
    assert_eq!(bodies(dir.path()).len(), 3);
}

#[test]
fn a_body_that_is_kept_as_another_is_named_by_either() {
    let dir = memory_dir();
    let store = open(dir.path());
    let sent = chat_store::sha256_hex(b"a secret");
    let keep = |sent: &str| {
        let mut upload = store.blobs().begin_rewritten(sent).unwrap();
        upload.sent(b"a secret");
        upload.write("[masked]").unwrap();
        upload.finish(store.blobs()).unwrap().body.sha256
    };
    let kept = keep(&sent);
    let log = log_path(dir.path());
    for name in [&sent, &kept] {
        age_bodies(dir.path());
        std::fs::write(&log, format!("\"{name}\"")).unwrap();
        assert_eq!(swept(&store, Among::All).bodies, 0);
        assert_eq!(bodies(dir.path()).len(), 2);
    }
    std::fs::remove_file(&log).unwrap();
    // By the name that a log had for it, both go.
    assert_eq!(swept(&store, Among::These(&[sent].into())).bodies, 1);
    assert!(bodies(dir.path()).is_empty());
}

#[test]
fn no_body_goes_where_a_log_cannot_be_read() {
    let dir = memory_dir();
    let store = open(dir.path());
    let hash = store.blobs().put(b"a body").unwrap();
    age_bodies(dir.path());
    let log = log_path(dir.path());
    std::fs::write(&log, "\n").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o0)).unwrap();
        // Who may read all has nothing to see here.
        if File::open(&log).is_err() {
            let why = store.blobs().sweep(&of_all()).unwrap_err().to_string();
            assert!(why.contains("events.jsonl"), "{why}");
            assert_eq!(bodies(dir.path()).len(), 1);
        }
    }
    std::fs::remove_file(&log).unwrap();
    assert_eq!(swept(&store, Among::These(&[hash].into())).bodies, 1);
}

#[test]
fn a_folder_is_held_by_one_and_no_log_that_another_has_goes() {
    let dir = memory_dir();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    session.append(vec![chunk(1)], false, 1).unwrap();
    assert!(matches!(
        HeldFolder::take(dir.path()),
        Err(Error::Locked { .. })
    ));
    drop((session, store));
    let log = log_path(dir.path());
    let held = File::open(&log).unwrap();
    held.lock().unwrap();
    let folder = HeldFolder::take(dir.path()).unwrap();
    let remove = || folder.remove([&id("s1")], &mut |_| {}).unwrap().remove(0);
    assert!(matches!(remove(), Err(Error::Locked { .. })));
    drop(held);
    let removal = remove().unwrap();
    assert!(removal.freed.files >= 1 && !log.exists());
    assert_eq!(remove().unwrap().freed, Freed::default());
}

#[test]
fn of_many_that_are_removed_together_each_goes_as_it_would_alone() {
    let dir = memory_dir();
    let store = open(dir.path());
    let ids = ["s1", "held", "none", "unmarked", "s2", "stays"].map(id);
    for (id, n) in ids.iter().zip(1..).filter(|(id, _)| id.as_str() != "none") {
        let session = store.session_or_new(id).unwrap();
        let event = match id.as_str() {
            "s2" => long(n, "own"),
            _ => chunk(n),
        };
        session.append(vec![event], false, 1).unwrap();
    }
    store.close();
    drop(store);
    let held = File::open(dir.path().join(format!("{}.events.jsonl", ids[1].stem()))).unwrap();
    held.lock().unwrap();
    let mark = dir.path().join(format!("{}.removing", ids[3].stem()));
    std::fs::create_dir(&mark).unwrap();
    let sized = sizes(dir.path()).unwrap();
    let folder = HeldFolder::take(dir.path()).unwrap();
    let mut begun = Vec::new();
    let mut begin = |id: &SessionId| begun.push(id.clone());
    let removed = folder.remove(&ids[..5], &mut begin).unwrap();
    assert_eq!(begun, [0, 2, 3, 4].map(|at| ids[at].clone()));
    let of = |at: usize| removed[at].as_ref().map(|removal| removal.freed);
    for at in [0, 4] {
        assert_eq!(of(at).unwrap(), sized[&ids[at].stem()], "{at}");
    }
    assert!(matches!(of(1), Err(Error::Locked { .. })));
    assert_eq!(of(2).unwrap(), Freed::default());
    assert!(matches!(of(3), Err(Error::Io { .. })));
    assert_eq!(removed[4].as_ref().unwrap().bodies.len(), 1);
    std::fs::remove_dir(&mark).unwrap();
    drop((held, folder));
    let store = open(dir.path());
    let left: Vec<_> = store.sessions().iter().map(|it| it.id().clone()).collect();
    assert_eq!(left, [&ids[1], &ids[5], &ids[3]].map(Clone::clone));
    assert!(
        !names(dir.path())
            .iter()
            .any(|name| name.ends_with(".removing"))
    );
}

#[test]
fn what_was_half_written_when_somebody_was_killed_goes_with_the_next_start() {
    let (dir, log) = crate::support::log_of(3);
    let stem = id("s1").stem();
    for ending in ["compacting", "0001.compacting", "idx.new", "packing.new"] {
        std::fs::write(dir.path().join(format!("{stem}.{ending}")), &log).unwrap();
    }
    // What was torn off or set aside is nothing of the kind.
    let kept = format!("{stem}.torn-1");
    std::fs::write(dir.path().join(&kept), "x").unwrap();
    let store = open(dir.path());
    assert_eq!(all(&store.session(&id("s1")).unwrap()), numbered(3));
    let left = names(dir.path());
    assert!(left.contains(&kept));
    let is_half = |name: &String| name.ends_with(".new") || name.ends_with("compacting");
    assert!(!left.iter().any(is_half), "{left:?}");
}

#[test]
fn what_is_to_be_looked_at_again_is_noted_until_nothing_is() {
    let dir = memory_dir();
    let store = open(dir.path());
    let blobs = store.blobs();
    assert!(blobs.noted_unnamed().is_empty());
    blobs.note_unnamed(&BTreeSet::new()).unwrap();
    let noted: BTreeSet<String> = ["a", "b"].map(|digit| digit.repeat(64)).into();
    blobs.note_unnamed(&noted).unwrap();
    assert_eq!(blobs.noted_unnamed(), noted);
    // What is no hash is not looked at.
    let path = dir.path().join("blobs/.unnamed");
    std::fs::write(&path, format!("../token\n{}\n\n", "a".repeat(64))).unwrap();
    assert_eq!(
        blobs.noted_unnamed(),
        [noted.first().unwrap().clone()].into()
    );
    blobs.note_unnamed(&BTreeSet::new()).unwrap();
    assert!(!path.exists());
}

#[cfg(unix)]
#[test]
fn no_body_goes_where_a_link_leads_to_what_is_away() {
    let dir = memory_dir();
    let store = open(dir.path());
    store.blobs().put(b"a body").unwrap();
    age_bodies(dir.path());
    let log = log_path(dir.path());
    std::os::unix::fs::symlink(dir.path().join("away/log"), &log).unwrap();
    let why = store.blobs().sweep(&of_all()).unwrap_err().to_string();
    assert!(why.contains("events.jsonl"), "{why}");
    assert_eq!(bodies(dir.path()).len(), 1);
    std::fs::remove_file(&log).unwrap();
    assert_eq!(store.blobs().sweep(&of_all()).unwrap().bodies, 1);
}

#[cfg(unix)]
#[test]
fn nothing_is_stored_in_a_session_that_is_removed_by_half() {
    use std::os::unix::fs::PermissionsExt;
    let dir = memory_dir();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    session.append(vec![chunk(1)], false, 1).unwrap();
    let epoch = session.position().0;
    let mode = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(dir.path(), permissions).unwrap();
    };
    // The mark is there, and nothing else can go.
    let mark = dir.path().join(format!("{}.removing", id("s1").stem()));
    File::create(&mark).unwrap();
    mode(0o500);
    if File::create(dir.path().join("x")).is_ok() {
        // Who may write everywhere has nothing to see here.
        return mode(0o700);
    }
    store.remove(&id("s1")).unwrap_err();
    assert!(mark.exists());
    session.append(vec![chunk(2)], false, 1).unwrap_err();
    mode(0o700);
    // Once it can, the rest goes before anything is stored.
    session.append(vec![chunk(3)], false, 1).unwrap();
    assert!(!mark.exists());
    assert_ne!(session.position().0, epoch);
    drop((session, store));
    let store = open(dir.path());
    assert_eq!(all(&store.session(&id("s1")).unwrap()).len(), 1);
}

#[test]
fn a_session_that_cannot_be_marked_stays_and_goes_on() {
    let dir = memory_dir();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    session.append(vec![chunk(1)], false, 1).unwrap();
    let mark = dir.path().join(format!("{}.removing", id("s1").stem()));
    std::fs::create_dir(&mark).unwrap();
    store.remove(&id("s1")).unwrap_err();
    std::fs::remove_dir(&mark).unwrap();
    session.append(vec![chunk(2)], false, 1).unwrap();
    assert_eq!(all(&session), numbered(2));
}
