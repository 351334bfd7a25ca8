//! What is written to choose sessions.

use super::*;

#[test]
fn words_and_names_are_found() {
    let session = Row {
        title: Some("Bound the Replay Buffer".to_owned()),
        agent: Some("Claude Code 2.1".to_owned()),
        cwd: Some("/home/m/tidepool".to_owned()),
        git_branch: Some("fix/replay-ring".to_owned()),
        ..row("one", "idle", 5)
    };
    assert_eq!(session.agent_name(), Some("Claude Code"));
    assert_eq!(session.project(), Some("tidepool"));
    let rows = of(vec![session, row("two", "idle", 6)]);
    let finds = |text: &str| rows.arrange(&Filter::parse(text), CLOCK).n_shown == 1;
    for text in [
        "replay",
        "BUFFER bound",
        "tdpl",
        "project:tide agent:claude",
        "agent:\"claude code\"",
        "branch:ring replay",
        "is:idle replay",
    ] {
        assert!(finds(text), "{text}");
    }
    for text in ["replays", "dpl", "project:home", "is:failed", "agent:codex"] {
        assert_eq!(
            rows.arrange(&Filter::parse(text), CLOCK).n_shown,
            0,
            "{text}"
        );
    }
    // What is not typed to its end hides nothing.
    assert_eq!(rows.arrange(&Filter::parse("agent:"), CLOCK).n_shown, 2);
}

#[test]
fn a_chosen_value_is_the_whole_name() {
    let session = |id: &str, agent: &str, cwd: &str| Row {
        agent: Some(agent.to_owned()),
        cwd: Some(cwd.to_owned()),
        ..row(id, "idle", 5)
    };
    let rows = of(vec![
        session("one", "Claude Code 2.1", "/w/app"),
        session("two", "Claude Code Router 1", "/w/my app"),
        session("three", "Codex", "/w/app-server"),
    ]);
    let n_shown = |text: &str| rows.arrange(&Filter::parse(text), CLOCK).n_shown;
    for (facet, value, others) in [
        (Facet::Project, "app", 3),
        (Facet::Project, "my app", 1),
        (Facet::Agent, "Claude Code", 2),
        (Facet::Agent, "Codex", 1),
    ] {
        let text = Filter::with("", facet, Some(value));
        assert_eq!(n_shown(&text), 1, "{text}");
        let filter = Filter::parse(&text);
        assert_eq!(filter.value(facet), Some(&*value.to_lowercase()));
        // What is typed, or has an open quote, is a part.
        let open = text.strip_suffix('"').unwrap();
        assert_eq!(n_shown(open), others, "{open}");
        assert_eq!(Filter::parse(open).value(facet), None);
        assert_eq!(Filter::with(&text, facet, None), "");
    }
    assert_eq!(n_shown("agent:\"claude code 2.1\""), 1);
}

#[test]
fn a_state_that_there_is_not_is_refused_with_those_there_are() {
    let refusal = |text: &str| Filter::parse(text).refusal();
    for text in ["", "is:", "is:done x", "is:LIVE", "project:odd"] {
        assert_eq!(refusal(text), None, "{text}");
    }
    assert_eq!(
        refusal("is:idle is:open").as_deref(),
        Some(
            "`is:open` is none of waiting, needs-you, running, quiet, idle, live, failed, cancelled, interrupted, done"
        )
    );
}

#[test]
fn what_a_row_says_is_found() {
    let failed = Row {
        outcome: Some("failed".to_owned()),
        failure: Some("Bad request: the model is gone".to_owned()),
        ..row("one", "idle", 5)
    };
    let doing = Doing {
        tool: "Bash".to_owned(),
        object: "cargo bench".to_owned(),
        ..Doing::default()
    };
    let runs = Row {
        doing: Some(doing),
        ..row("two", "busy", 5)
    };
    let asks = Row {
        asks: 1,
        ask: Some(Ask {
            tool: "Bash".to_owned(),
            text: "rm -rf Target".to_owned(),
            ..Ask::default()
        }),
        ..row("six", "busy", 5)
    };
    let rows = of(vec![failed, runs, asks]);
    let finds = |text: &str| -> Vec<String> {
        let sections = ids(&rows, text).into_iter();
        sections.flat_map(|(_, ids)| ids).collect()
    };
    for (text, expected) in [
        ("bad request", vec!["one"]),
        ("failed", vec!["one"]),
        ("Fail gone", vec!["one"]),
        ("running", vec!["two"]),
        ("cargo", vec!["two"]),
        ("needs you", vec!["six"]),
        ("rm target", vec!["six"]),
        ("bash", vec!["six", "two"]),
        ("done", vec![]),
        // Letters of a text are no shorter way to write it.
        ("bdrqst", vec![]),
    ] {
        assert_eq!(finds(text), expected, "{text}");
    }
}

#[test]
fn a_menu_writes_what_could_be_typed() {
    let text = Filter::with(
        "replay agent:codex is:failed",
        Facet::Agent,
        Some("Claude Code"),
    );
    assert_eq!(text, "replay is:failed agent:\"Claude Code\"");
    assert_eq!(
        Filter::parse(&text).value(Facet::Agent),
        Some("claude code")
    );
    assert_eq!(Filter::with(&text, Facet::Agent, None), "replay is:failed");
}
