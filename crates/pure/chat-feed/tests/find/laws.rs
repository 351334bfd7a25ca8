//! However it is sliced and whenever events come, what is found is what a new search would find.

use super::*;

/// Questions that the generated sessions have answers to.
const QUESTIONS: &[&str] = &[
    "",
    "a",
    "ab",
    "x y",
    "é -ab",
    "-x",
    "/[ab]+/",
    "-/^x/ a",
    "is:error",
    "is:running",
    "-is:answer",
    "tool:bash",
    "tool:task ls",
    "file:a",
    "agent:b",
    "is:edit -is:tool",
    "done",
    "is:undone",
    "-is:undone a",
];

fn chips(nth: usize) -> Kinds {
    match Kinds::CHIPS.get(nth) {
        Some(chip) => chip.kinds,
        None => Kinds::default(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn what_is_found_does_not_depend_on_slices_or_on_when_events_came(
        events in log(60).prop_shuffle(),
        question in prop::sample::select(QUESTIONS),
        chip in 0usize..14,
        steps in proptest::collection::vec((1usize..6, 0usize..600), 1..60),
    ) {
        let mut renderer = ChatRenderer::new();
        let mut find = Find::new(Query::parse(question).unwrap());
        find.choose(renderer.feed(), chips(chip));
        let mut heard = std::collections::BTreeSet::new();
        let mut rest = &events[..];
        for (n_events, budget) in steps.into_iter().cycle() {
            let (batch, later) = rest.split_at(n_events.min(rest.len()));
            rest = later;
            let mut patches = Vec::new();
            for event in batch {
                renderer.apply(event, &mut patches);
            }
            find.note(renderer.feed(), &patches);
            let mut changed = Vec::new();
            let done = find.search(renderer.feed(), budget, &mut changed);
            for block in changed {
                if find.is_hit(block) {
                    heard.insert(block);
                } else {
                    heard.remove(&block);
                }
            }
            prop_assert_eq!(done, find.is_done(renderer.feed()));
            if rest.is_empty() && (done || budget == 0) {
                break;
            }
        }
        find.search(renderer.feed(), usize::MAX, &mut Vec::new());
        let anew = from_scratch(renderer.feed(), question, chips(chip));
        prop_assert_eq!(ids(&find), ids(&anew));
        prop_assert_eq!(find.totals(), anew.totals());
        let in_order: Vec<BlockId> = renderer
            .feed()
            .rows()
            .map(|block| block.id)
            .filter(|&id| find.is_hit(id))
            .collect();
        prop_assert_eq!(ids(&find), in_order);
    }

    #[test]
    fn each_change_of_what_is_found_is_told_once(
        events in log(50),
        question in prop::sample::select(QUESTIONS),
    ) {
        let mut renderer = ChatRenderer::new();
        let mut find = Find::new(Query::parse(question).unwrap());
        let mut heard = std::collections::BTreeSet::new();
        for event in &events {
            let patches = renderer.render_event(event);
            find.note(renderer.feed(), &patches);
            let mut changed = Vec::new();
            find.search(renderer.feed(), usize::MAX, &mut changed);
            for block in changed {
                if find.is_hit(block) {
                    prop_assert!(heard.insert(block));
                } else {
                    heard.remove(&block);
                }
            }
            // A row that is gone is no hit, and nobody has to be told.
            heard.retain(|&block| renderer.feed().contains(block));
            let found: std::collections::BTreeSet<BlockId> = find.hits().collect();
            prop_assert_eq!(&heard, &found);
        }
    }

    #[test]
    fn any_question_is_read_or_refused_at_a_place_within_it(
        text in "([-\"/:* a-z\\\\()\\[é]|is:|tool:|file:|agent:|error|/[a-z]?[*?$^|]*/){0,20}",
    ) {
        match Query::parse(&text) {
            Ok(query) => {
                for range in query.marks(&text, 100) {
                    prop_assert!(text.get(range).is_some());
                }
            }
            Err(error) => prop_assert!(error.at <= text.chars().count()),
        }
    }

    #[test]
    fn going_on_meets_every_hit_and_begins_again(events in log(40)) {
        let mut renderer = ChatRenderer::new();
        renderer.replay_events(&events);
        let feed = renderer.feed();
        let find = from_scratch(feed, "a", Kinds::default());
        let hits = ids(&find);
        for forward in [true, false] {
            let mut met = Vec::new();
            let mut at = None;
            for _ in &hits {
                at = find.next(feed, at, forward);
                met.extend(at);
            }
            if !forward {
                met.reverse();
            }
            prop_assert_eq!(&met, &hits);
            if let (Some(first), Some(last)) = (hits.first(), hits.last()) {
                let (end, begin) = if forward { (last, first) } else { (first, last) };
                prop_assert_eq!(find.next(feed, Some(*end), forward), Some(*begin));
            }
        }
        // From anywhere: the nearest in that direction.
        for block in feed.rows() {
            let order: Vec<BlockId> = feed.rows().map(|row| row.id).collect();
            let at = order.iter().position(|&id| id == block.id).unwrap();
            let after = order[at + 1..].iter().copied().find(|&id| find.is_hit(id));
            prop_assert_eq!(find.next(feed, Some(block.id), true), after.or(hits.first().copied()));
            let before = order[..at].iter().rev().copied().find(|&id| find.is_hit(id));
            prop_assert_eq!(find.next(feed, Some(block.id), false), before.or(hits.last().copied()));
        }
    }
}

#[test]
fn chips_are_counted_whatever_is_chosen() {
    let story = story();
    let mut find = from_scratch(story.feed(), "", chips(0));
    let expected = [2, 1, 1, 1, 1, 0, 1, 1, 1];
    assert_eq!(find.totals().by_chip, expected);
    assert_eq!(find.len(), 2);
    find.choose(story.feed(), chips(3).with(chips(6)));
    assert_eq!((find.len(), find.totals().by_chip), (1, expected));
    find.choose(story.feed(), Kinds::default());
    assert!(find.is_empty() && find.is_idle());
    assert_eq!(
        from_scratch(story.feed(), "lamp", Kinds::default())
            .totals()
            .by_chip[0],
        2
    );
    assert_eq!(Totals::default().by_chip.len(), Kinds::CHIPS.len());
}
