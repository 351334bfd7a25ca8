//! Places that the page has named.

use super::*;

fn named(label: &str, at: NamedAt) -> Named {
    Named {
        label: label.into(),
        at,
    }
}

fn by_event(label: &str, event_id: &str) -> Named {
    named(label, NamedAt::Event(event_id.into()))
}

fn by_time(label: &str, elapsed_ms: f64) -> Named {
    named(label, NamedAt::Elapsed(elapsed_ms))
}

/// The labels of what is named, in order, with the event that each stands at.
fn placed(stops: &Stops) -> Vec<(&str, u32)> {
    let markers = stops.markers().iter();
    let placed = markers.filter_map(|marker| Some((stops.label(marker.kind)?, marker.event)));
    placed.collect()
}

#[test]
fn a_place_is_an_event_or_what_comes_first_from_a_time_on() {
    let mut stage = Stage::new(&session());
    stage.stops.set_named(vec![
        by_event("the file", "e7"),
        by_time("the call", 900.0),
        by_time("exactly there", 61_000.0),
        by_time("while nothing happens", 30_000.0),
        by_time("the start", 0.0),
        by_time("behind the end", 62_001.0),
        by_event("none", "e99"),
    ]);
    stage.come(&[]);
    let expected = [
        ("the start", 0),
        ("the call", 5),
        ("exactly there", 6),
        ("while nothing happens", 6),
        ("the file", 7),
    ];
    assert_eq!(placed(&stage.stops), expected);
    // What has no name has no label.
    assert_eq!(stage.stops.label(MarkerKind::Edit), None);
}

#[test]
fn what_is_named_begins_a_chapter_and_is_stepped_to() {
    let mut stage = Stage::new(&session());
    stage.stops.set_named(vec![by_time("the call", 900.0)]);
    stage.come(&[]);
    let chapters = stage.stops.chapters().iter();
    let kinds: Vec<_> = chapters.map(|marker| marker.kind).collect();
    assert_eq!(kinds, [MarkerKind::Prompt, MarkerKind::Named(0)]);
    assert_eq!(stage.stops.chapter_at(5), Some(0));
    assert_eq!(stage.stops.chapter_at(6), Some(1));
    stage.ask(Command::SeekTo(2));
    assert_eq!(stage.ask(Command::Step(Stop::Marker, Direction::On)), 6);
    // Other names are all there are then.
    stage.stops.set_named(Vec::new());
    stage.ask(Command::SeekTo(2));
    assert_eq!(stage.ask(Command::Step(Stop::Marker, Direction::On)), 7);
    assert_eq!(stage.stops.chapters().len(), 1);
}

#[test]
fn names_are_looked_for_in_the_next_session() {
    let mut stage = Stage::new(&session());
    stage.stops.set_named(vec![by_event("it", "e7")]);
    stage.come(&[]);
    stage.stops.forget_session();
    assert_eq!(placed(&stage.stops), []);
    let Stage { stops, .. } = stage;
    let mut next = Stage {
        stops,
        ..Stage::new(&[])
    };
    next.come(&session()[..7]);
    assert_eq!(placed(&next.stops), []);
    next.come(&session()[7..]);
    assert_eq!(placed(&next.stops), [("it", 7)]);
}

#[test]
fn where_times_are_made_up_only_until_some_pass_places_follow_those_that_passed() {
    let still: Vec<_> = (0..20)
        .map(|nth| {
            event(
                nth,
                1_000_000,
                "user_message",
                &json!({"text": nth.to_string()}),
            )
        })
        .collect();
    let late = event(20, 1_090_000, "user_message", &json!({"text": "late"}));
    let mut stage = Stage::new(&[]);
    stage
        .stops
        .set_named(vec![by_time("after a minute", 500.0)]);
    stage.come(&still);
    let made_up = placed(&stage.stops).len();
    stage.come(&[late]);
    assert_eq!(placed(&stage.stops), [("after a minute", 20)]);
    assert_eq!(made_up, 1, "a made-up pace has places, too");
}

/// What stands where; the row that shows an event may be another one later.
fn places(stops: &Stops) -> Vec<(MarkerKind, u32)> {
    let places = [stops.markers(), stops.chapters()].into_iter().flatten();
    places.map(|marker| (marker.kind, marker.event)).collect()
}

fn is_of_event(kind: MarkerKind, n_times: usize) -> bool {
    matches!(kind, MarkerKind::Named(nth) if nth as usize >= n_times)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn places_are_the_same_however_events_come_and_whenever_they_are_named(
        events in crate::support::log(60),
        batches in proptest::collection::vec(1usize..9, 60),
        named_after in 0usize..9,
        times in proptest::collection::vec(0.0f64..200_000.0, 0..6),
        ids in proptest::collection::vec(0usize..70, 0..6),
    ) {
        let by_times = times.iter().map(|&elapsed_ms| by_time("t", elapsed_ms));
        let ids = ids.iter().filter_map(|&nth| events.get(nth));
        let by_ids = ids.map(|event| by_event("e", &event.id));
        let all: Vec<Named> = by_times.chain(by_ids).collect();
        let mut whole = Stage::new(&events);
        whole.stops.set_named(all.clone());
        whole.come(&[]);
        let mut stage = Stage::new(&[]);
        let mut rest = events.as_slice();
        for (nth, batch) in batches.into_iter().enumerate() {
            if nth == named_after {
                stage.stops.set_named(all.clone());
            }
            let (now, later) = rest.split_at(batch.min(rest.len()));
            stage.come(now);
            rest = later;
        }
        let (of_events, of_times): (Vec<_>, Vec<_>) = places(&whole.stops)
            .into_iter()
            .partition(|(kind, _)| is_of_event(*kind, times.len()));
        let came = places(&stage.stops);
        let came_by_time = came.iter().filter(|(kind, _)| !is_of_event(*kind, times.len()));
        prop_assert!(came_by_time.eq(&of_times));
        // A row that was found may be taken back later, and is found no more then.
        prop_assert!(of_events.iter().all(|place| came.contains(place)));
        prop_assert!(whole.stops.markers().is_sorted_by_key(|marker| marker.event));
    }
}
