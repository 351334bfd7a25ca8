//! Which paths make one session, and which stay beside it.

use chat_normalize::SessionFolder;

#[test]
fn paths_make_sessions() {
    let folder = SessionFolder::group([
        "./p/s1.jsonl",
        "p\\s1\\subagents\\agent-a1.jsonl",
        "p/s1/subagents/agent-a1.meta.json",
        "p/s1/subagents/workflows/w/agent-a2.jsonl",
        "p/s1/tool-results/r.txt",
        "p/s2.jsonl",
        "p/agent-b1.jsonl",
        "t/agent-c1.jsonl",
        "q/rollout.json",
        "r/s3/subagents/agent-d1.jsonl",
        "readme.md",
        ".hidden.jsonl",
    ]);
    let told: Vec<(&str, Option<&str>, Vec<&str>, usize)> = folder
        .sessions
        .iter()
        .map(|session| {
            let agents = session
                .agents
                .iter()
                .map(|agent| agent.agent_id.as_str())
                .collect();
            (
                session.name.as_str(),
                session.main.as_deref(),
                agents,
                session.results.len(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("p/s1", Some("./p/s1.jsonl"), vec!["a2", "a1", "b1"], 1),
            ("p/s2", Some("p/s2.jsonl"), vec!["b1"], 0),
            ("q/rollout", Some("q/rollout.json"), vec![], 0),
            ("r/s3", None, vec!["d1"], 0),
            ("t/agent-c1", Some("t/agent-c1.jsonl"), vec![], 0),
        ]
    );
    assert_eq!(folder.others, [".hidden.jsonl", "readme.md"]);
}

#[test]
fn the_two_histories_of_a_task_are_one_session() {
    let paths = [
        "tasks/1/ui_messages.json",
        "tasks/1/api_conversation_history.json",
        "tasks/1/task_metadata.json",
        // Of a task whose messages are gone there is only what the model was told.
        "tasks/2/api_conversation_history.json",
        "ui_messages.json",
        "sessions/3/3.messages.json",
        "sessions/3/3.json",
        "sessions/3/agent_a.messages.json",
        "sessions/4/4.json",
    ];
    let folder = SessionFolder::group(paths);
    let names: Vec<&str> = folder.sessions.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "sessions/3/3",
            "sessions/3/agent_a",
            "sessions/4/4",
            "tasks/1",
            "tasks/2/api_conversation_history",
            "ui_messages"
        ]
    );
    let main = folder.sessions[3].main.as_deref();
    assert_eq!(main, Some("tasks/1/ui_messages.json"));
    let beside = [
        "sessions/3/3.json",
        "tasks/1/api_conversation_history.json",
        "tasks/1/task_metadata.json",
    ];
    assert_eq!(folder.others, beside);
}

#[test]
fn a_folder_of_one_task_is_one_session_and_a_namesake_is_its_own() {
    let names = |paths: &[&str]| -> Vec<String> {
        let folder = SessionFolder::group(paths.iter().copied());
        folder.sessions.into_iter().map(|it| it.name).collect()
    };
    // The task's own folder was given, and not the one above it.
    let task = [
        "ui_messages.json",
        "api_conversation_history.json",
        "task_metadata.json",
    ];
    assert_eq!(names(&task), ["ui_messages"]);
    assert_eq!(names(&["3.messages.json", "3.json"]), ["3"]);
    // Names alone make no notes: these lie in a folder of another name.
    let others = [
        "logs/a.messages.json",
        "logs/a.json",
        "tasks/1/ui_messages.json",
        "tasks/1.json",
    ];
    assert_eq!(names(&others).len(), 4, "{:?}", names(&others));
}

#[test]
fn agents_beside_thousands_of_sessions_are_told_once() {
    let sessions = (0..1000).map(|n| format!("p/s{n}.jsonl"));
    let agents = (0..1000).map(|n| format!("p/agent-a{n}.jsonl"));
    let metas = (0..1000).map(|n| format!("p/agent-a{n}.meta.json"));
    let paths: Vec<String> = sessions.chain(agents).chain(metas).collect();
    let folder = SessionFolder::apart(paths.iter().map(String::as_str));
    let n_own: usize = folder.sessions.iter().map(|one| one.agents.len()).sum();
    assert_eq!((folder.sessions.len(), n_own), (1000, 0));
    assert_eq!(folder.beside.len(), 1);
    assert_eq!(folder.beside["p"].len(), 1000);
    let has_meta = folder.beside["p"].iter().all(|agent| agent.meta.is_some());
    assert!(has_meta);
    // One of these with what lies beside it is what it would be by itself.
    let beside = folder.beside["p"].iter().map(|agent| agent.path.as_str());
    let one = SessionFolder::group(beside.chain(["p/s7.jsonl"]));
    assert_eq!(one.sessions.len(), 1);
    assert_eq!(one.sessions[0].agents.len(), 1000);
    assert!(one.beside.is_empty());
}
