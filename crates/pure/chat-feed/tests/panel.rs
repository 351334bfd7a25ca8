//! Promises of the panel: each of its values follows from the feed alone, and its figures are those of the rows.

mod agents;
mod figures;
mod files;
mod plan;
mod raw;
mod timeline;

use crate::support::{late_and_twice, log};
use chat_event::ChatEvent;
use chat_feed::inbox::Inbox;
use chat_feed::panel::{
    AgentState, ChangedFile, FileChange, Scope, Sum, TreeRowKind, agents, edits_of, files, plan,
    raw_events, statistics, timeline,
};
use chat_feed::projections::trace::Verbosity;
use chat_feed::projections::{to_markdown, to_session_summary, to_tool_trace};
use chat_feed::{BlockBody, BlockId, ChatRenderer, Feed};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A session of these events, a second apart: `(type, payload)`, or with fields of the envelope.
fn session(lines: &[(&str, Value)]) -> (Vec<ChatEvent>, ChatRenderer) {
    let event = |(nth, (event_type, payload)): (usize, &(&str, Value))| {
        let mut payload = payload.clone();
        let mut line = json!({"id": format!("e{nth}"), "seq": nth + 1, "sessionId": "s", "timestamp": 1_000 * (nth as i64 + 1), "type": event_type});
        for field in ["timestamp", "turnId", "responseId", "parentToolCallId"] {
            if let Some(value) = payload.as_object_mut().unwrap().remove(field) {
                line[field] = value;
            }
        }
        line["payload"] = payload;
        ChatEvent::from_json(&line.to_string()).unwrap()
    };
    let events: Vec<ChatEvent> = lines.iter().enumerate().map(event).collect();
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(&events);
    (events, renderer)
}

fn edit(path: &str, old: Option<&str>, new: Option<&str>) -> (&'static str, Value) {
    let diff = chat_diff::diff_texts(path, old, new);
    (
        "file_edit",
        json!({
            "filePath": path, "changeType": diff.change.as_str(), "linesAdded": diff.lines_added,
            "linesRemoved": diff.lines_removed, "diffPreview": chat_diff::preview(&diff.text),
            "fullDiff": diff.text, "fullDiffAvailable": true, "fullDiffSize": diff.text.len(),
        }),
    )
}

fn tree(feed: &Feed) -> Vec<String> {
    let files = files(feed, Scope::Session);
    let line = |row: &chat_feed::panel::TreeRow| {
        let counts = match row.kind {
            TreeRowKind::Folder(_) => String::new(),
            TreeRowKind::File(at) => {
                let file: &ChangedFile = &files.files[at];
                format!(
                    " {} +{} -{}",
                    file.change.as_str(),
                    file.lines_added,
                    file.lines_removed
                )
            }
        };
        format!("{}{}{counts}", "  ".repeat(row.depth.into()), row.name)
    };
    files.tree.iter().map(line).collect()
}

/// All values of the panel, as text.
fn panel(feed: &Feed) -> String {
    let ids: Vec<BlockId> = feed.rows().map(|block| block.id).collect();
    let raw: Vec<_> = ids.iter().map(|&id| raw_events(feed, id)).collect();
    let files = files(feed, Scope::Session);
    let sums: Vec<Sum> = files
        .files
        .iter()
        .map(|file| edits_of(feed, file, |_| None::<&str>))
        .collect();
    format!(
        "{files:?}\n{sums:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{raw:?}",
        plan(feed, 100),
        agents(feed),
        timeline(feed),
        statistics(feed),
        feed.context(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn the_panel_is_the_same_however_the_events_came(
        events in log(60),
        jitter in proptest::collection::vec((0usize..40, any::<bool>()), 60),
    ) {
        let mut inbox = Inbox::default();
        let mut live = ChatRenderer::new();
        for event in late_and_twice(&events, &jitter) {
            let mut ready = Vec::new();
            inbox.push(event.clone(), &mut ready);
            for event in &ready {
                live.handle_new_event(event);
                // Looking at it changes nothing.
                let _ = panel(live.feed());
            }
        }
        let mut replayed = ChatRenderer::new();
        replayed.replay_events(&events);
        prop_assert_eq!(panel(live.feed()), panel(replayed.feed()));
    }

    #[test]
    fn any_events_in_any_order_have_a_panel(events in log(60).prop_shuffle()) {
        let mut renderer = ChatRenderer::new();
        for event in &events {
            renderer.render_event(event);
        }
        let feed = renderer.feed();
        let _ = panel(feed);
        let line = timeline(feed);
        for pair in line.bars.windows(2) {
            prop_assert!(pair[0].start_ms <= pair[1].start_ms);
        }
        for (nth, bar) in line.bars.iter().enumerate() {
            prop_assert!(bar.start_ms <= bar.run_ms && bar.run_ms <= bar.end_ms);
            prop_assert!(bar.lane < line.n_lanes);
            for other in &line.bars[..nth] {
                prop_assert!(other.lane != bar.lane || other.end_ms <= bar.start_ms);
            }
        }
    }

    #[test]
    fn the_counts_of_files_are_the_sums_of_their_edits(
        edits in proptest::collection::vec(("[ab](/[ab]){0,3}", "(created|modified|deleted|renamed)", 0u32..9, 0u32..9, proptest::option::of("[ab]")), 0..30),
    ) {
        let lines: Vec<(&str, Value)> = edits
            .iter()
            .map(|(path, change, added, removed, old)| {
                ("file_edit", json!({"filePath": path, "changeType": change, "linesAdded": added, "linesRemoved": removed, "oldPath": old}))
            })
            .collect();
        let (events, renderer) = session(&lines);
        let files = files(renderer.feed(), Scope::Session);
        let sum = |of: fn(&ChangedFile) -> u64| files.files.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(|file| file.edits.len() as u64), edits.len() as u64);
        prop_assert_eq!(sum(|file| file.lines_added), edits.iter().map(|edit| u64::from(edit.2)).sum::<u64>());
        prop_assert_eq!(files.lines_added, sum(|file| file.lines_added));
        prop_assert_eq!(files.lines_removed, sum(|file| file.lines_removed));
        prop_assert_eq!(files.lines_removed, to_session_summary(&events).lines_removed);
        let leaves = files.tree.iter().filter(|row| matches!(row.kind, TreeRowKind::File(_))).count();
        prop_assert_eq!(leaves, files.files.len());
    }
}
