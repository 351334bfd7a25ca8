//! Of plans that one holds which is of no such turn.

use super::*;

/// What a plan's entries are, with their marks: `a✓ b`.
fn entries(feed: &Feed) -> (String, usize) {
    let plan = plan(feed, 100);
    let entry = |entry: &chat_event::payload::PlanEntry| {
        let done = if entry.status == "completed" {
            "✓"
        } else {
            ""
        };
        format!("{}{done}", entry.content)
    };
    let entries: Vec<String> = plan.entries.iter().map(entry).collect();
    (entries.join(" "), plan.steps.len() + plan.n_older_steps)
}

/// A plan, as [`entries`] has it.
fn planned(turn: &'static str, entries: &str) -> Line {
    let entry = |word: &str| match word.strip_suffix('✓') {
        Some(word) => json!({"content": word, "status": "completed"}),
        None => json!({"content": word, "status": "pending"}),
    };
    let entries: Vec<Value> = entries.split(' ').map(entry).collect();
    ("plan", turn, json!({"entries": entries}))
}

#[test]
fn the_plan_is_the_newest_that_holds() {
    let two = [
        asks("t1"),
        planned("t1", "a b"),
        asks("t2"),
        planned("t2", "a✓ c"),
        planned("t2", "a✓ c✓"),
    ];
    let is = |more: &[Line]| entries(rendered(&[&two[..], more].concat()).feed());
    let told = |words: &str, n_steps| (words.to_owned(), n_steps);
    assert_eq!(is(&[]), told("a✓ c✓", 3));
    assert_eq!(is(&[left(&["t2"])]), told("a b", 1));
    assert_eq!(is(&[left(&["t1", "t2"])]), told("", 0));
    assert_eq!(is(&[left(&["t2"]), again(&["t2"])]), told("a✓ c✓", 3));
    assert_eq!(is(&[left(&["t2"]), planned("t3", "a✓ b")]), told("a✓ b", 2));
    // Late ones of what is undone are none.
    assert_eq!(is(&[left(&["t2"]), planned("t2", "x")]), told("a b", 1));
    // What was proposed there is not proposed any more.
    let propose = |turn, words: &str| {
        let args = json!({"plan": words});
        (
            "tool_call",
            turn,
            json!({"toolCallId": words, "toolName": "ExitPlanMode", "kind": "plan", "args": args}),
        )
    };
    let proposed = |lines: &[Line]| {
        plan(rendered(lines).feed(), 9)
            .proposed
            .map(|(_, words)| words)
    };
    let both = [
        asks("t1"),
        propose("t1", "one"),
        asks("t2"),
        propose("t2", "two"),
    ];
    assert_eq!(proposed(&both).as_deref(), Some("two"));
    assert_eq!(
        proposed(&[&both[..], &[left(&["t2"])]].concat()).as_deref(),
        Some("one")
    );
}

#[test]
fn a_step_of_a_plan_is_told_from_the_plan_that_held() {
    let lines = [
        asks("t1"),
        planned("t1", "a b"),
        asks("t2"),
        planned("t2", "a✓ c"),
        left(&["t2"]),
        // It comes late, to the plan of its own turn.
        planned("t2", "a✓ c✓"),
        asks("t3"),
        planned("t3", "a b✓"),
    ];
    let renderer = rendered(&lines);
    let changes = |at: usize| {
        let changes = renderer.feed().plan_steps()[at].changes.iter();
        let told = changes.map(|it| (it.content.clone(), it.before.is_some(), it.now.clone()));
        told.collect::<Vec<_>>()
    };
    let done = || Some("completed".to_owned());
    assert_eq!(changes(2), [("c".to_owned(), true, done())]);
    assert_eq!(changes(3), [("b".to_owned(), true, done())]);
}

#[test]
fn a_moment_has_the_plan_of_that_moment() {
    let lines = [
        asks("t1"),
        planned("t1", "a b"),
        asks("t2"),
        planned("t2", "a✓ b"),
        left(&["t2"]),
        asks("t3"),
        planned("t3", "z"),
    ];
    let renderer = rendered(&lines);
    let mut moment = Moment::now(&renderer);
    let mut arrangement = arranged(
        &renderer,
        Mode {
            fold: false,
            ..Mode::default()
        },
    );
    let wanted = ["", "", "a b", "a b", "a✓ b", "a b", "a b", "z"];
    let mut before = open_plans(&arrangement, moment.feed());
    for n_events in [7, 6, 5, 4, 3, 2, 1, 2, 4, 5, 4, 5, 7] {
        let mut patches = Vec::new();
        moment.seek(&renderer, n_events, &mut patches);
        let feed = moment.feed();
        assert_eq!(
            entries(feed).0,
            wanted[n_events as usize],
            "after {n_events}"
        );
        // It alone is open, and whose look is another than before was told of.
        let mut changes = Vec::new();
        arrangement.apply(feed, &patches, &mut changes);
        let open = open_plans(&arrangement, feed);
        let shown: Vec<_> = plan(feed, 0).block.into_iter().collect();
        assert_eq!(open, shown, "after {n_events}");
        for block in before.iter().chain(&open) {
            let id = arrangement.id_of(Row::Block(*block));
            let is_told = |change: &chat_feed::arrangement::RowChange| {
                use chat_feed::arrangement::RowChange::{Changed, Inserted};
                matches!(change, Changed(row) | Inserted(row, _) if Some(*row) == id)
            };
            let same = before.contains(block) == open.contains(block);
            assert!(
                same || id.is_none() || changes.iter().any(is_told),
                "after {n_events}: {block:?}"
            );
        }
        before = open;
    }
}

#[test]
fn a_row_may_go_in_the_frame_in_which_everything_does() {
    let renderer = rendered(&[asks("t1"), planned("t1", "a")]);
    let mut arrangement = arranged(&renderer, Mode::default());
    let last = renderer.feed().rows().last().unwrap().id;
    let patches = [FeedPatch::Remove { block: last }, FeedPatch::Clear];
    let cleared = ChatRenderer::new();
    arrangement.apply(cleared.feed(), &patches, &mut Vec::new());
    assert_eq!(arrangement.shown(cleared.feed()).count(), 0);
}

/// Were all of them looked through for each, this would take minutes.
#[test]
fn very_many_plans_of_an_undone_turn_cost_no_more_than_their_number() {
    const N: usize = 40_000;
    let plans = |turn: &'static str| {
        let told = (0..N).map(move |nth| planned(turn, &format!("w{nth}")));
        [asks(turn)].into_iter().chain(told)
    };
    let lines: Vec<Line> = plans("t1")
        .chain(plans("t2"))
        .chain([left(&["t2"])])
        .collect();
    let mut renderer = ChatRenderer::new();
    let mut patches = Vec::new();
    for event in &log(&lines) {
        renderer.apply(event, &mut patches);
    }
    let mut arrangement = Arrangement::new(Mode {
        fold: false,
        ..Mode::default()
    });
    arrangement.apply(renderer.feed(), &patches, &mut Vec::new());
    assert_eq!(arrangement.shown(renderer.feed()).count(), 5);
    let newest = format!("w{}", N - 1);
    assert_eq!(entries(renderer.feed()), (newest, N));
}

/// The plans that are open.
fn open_plans(arrangement: &Arrangement, feed: &Feed) -> Vec<chat_feed::BlockId> {
    let plans = feed
        .rows()
        .filter(|row| matches!(row.body, BlockBody::Plan(_)));
    let open = plans.filter(|row| arrangement.is_open(feed, Row::Block(row.id)));
    open.map(|row| row.id).collect()
}
