//! Who runs a session is seen soon after its file appears.

use super::*;

/// When a process was started, as Linux says it.
#[cfg(target_os = "linux")]
fn started(id: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let fields = stat.rsplit_once(')').unwrap().1;
    fields.split_whitespace().nth(19).unwrap().to_owned()
}

/// An agent may be killed before the next look at all processes, which are seldom.
#[cfg(target_os = "linux")]
#[test]
fn an_agent_is_seen_as_its_session_appears_and_missed_when_it_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let (_, mut follow, mut log) = followed(dir.path());
    let mut agent = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    let id = agent.id();
    let says = format!(
        r#"{{"pid":{id},"sessionId":"s2","procStart":"{}"}}"#,
        started(id)
    );
    std::fs::create_dir(dir.path().join("sessions")).unwrap();
    std::fs::write(dir.path().join("sessions/1.json"), says).unwrap();
    let path = dir.path().join("projects/-w/s2.jsonl");
    std::fs::write(&path, prompt("s2")).unwrap();
    follow.next_holders = Instant::now() + LONGEST_PAUSE;
    follow.next_soon = Instant::now();
    read_all(&mut follow, &mut log);
    assert!(follow.known[&path].holders.are_known());
    agent.kill().unwrap();
    agent.wait().unwrap();
    follow.next_holders = Instant::now();
    read_all(&mut follow, &mut log);
    assert!(follow.known[&path].holders.are_gone());
}

/// As where the agent runs in a container: it is not looked for with each line, and its session goes on.
#[test]
fn who_is_never_seen_is_looked_for_a_few_times_sooner_and_not_missed() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut follow, mut log) = followed(dir.path());
    let mut n_looks = 0;
    for nth in 0..3 * MOST_SOON {
        go_on(&path, &format!("u{nth}"), "More");
        let later = Instant::now() + LONGEST_PAUSE;
        follow.next_holders = later;
        follow.next_soon = Instant::now();
        read_all(&mut follow, &mut log);
        n_looks += u8::from(follow.next_holders != later);
    }
    assert!(n_looks > 0 && n_looks <= MOST_SOON, "{n_looks}");
    assert!(follow.unseen.is_empty() && !follow.known[&path].holders.are_gone());
}
