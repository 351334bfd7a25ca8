//! Every recorded run that has two or three sources, in many orders.

use std::collections::BTreeSet;

use chat_event::ChatEvent;

use super::runs::{live, other_runs, runs};
use super::said::{differences, most, told};
use super::{Random, log_of, merge};

#[test]
fn recorded_runs_say_everything_once_in_any_order() {
    let runs = runs();
    let mut wrong = Vec::new();
    for run in &runs {
        let sources = run.events();
        let wanted = most(&sources);
        let n = sources.len();
        let mut check = |how: String, merged: Vec<ChatEvent>| {
            let mut ids = BTreeSet::new();
            for event in &merged {
                assert!(
                    ids.insert(event.id.clone()),
                    "{}: {} stands twice",
                    run.name,
                    event.id
                );
            }
            for difference in differences(&told(&merged), &wanted) {
                wrong.push(format!("{} {how}: {difference}", run.name));
            }
        };
        // One source after another, in every order.
        for first in 0..n {
            for second in (0..n).filter(|at| *at != first) {
                let order: Vec<usize> = [first, second]
                    .into_iter()
                    .chain((0..n).filter(|at| *at != first && *at != second))
                    .collect();
                let merged = merge(&sources, |open| {
                    let at = order.iter().find(|at| open.contains(at)).unwrap();
                    open.iter().position(|other| other == at).unwrap()
                });
                let names: Vec<&str> = order.iter().map(|at| run.sources[*at].0.as_str()).collect();
                check(format!("{names:?}"), merged);
            }
        }
        // A command that the program answers itself is a turn of some sources only; read more than a turn apart, it can
        // be taken for another one. The right answer is none of these.
        let by_program = run.name.ends_with("/compact") || run.name.ends_with("/controls");
        for seed in 0..if by_program { 0 } else { 8 } {
            let mut random = Random(seed);
            check(
                format!("seed {seed}"),
                merge(&sources, |open| random.below(open.len())),
            );
        }
    }
    let n = wrong.len();
    wrong.truncate(60);
    assert!(wrong.is_empty(), "{n} differences:\n{}", wrong.join("\n"));
}

/// Of programs whose sources share few ids: read one after another, without the times of what was printed.
#[test]
fn other_programs_runs_say_everything_once() {
    let mut wrong = Vec::new();
    for run in other_runs() {
        let sources = run.events();
        let mut reversed = sources.clone();
        reversed.reverse();
        for sources in [sources, reversed] {
            let merged = merge(&sources, |_| 0);
            for difference in differences(&told(&merged), &most(&sources)) {
                wrong.push(format!("{}: {difference}", run.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn other_programs_sources_that_go_on_say_everything_once() {
    let mut wrong = Vec::new();
    for run in live(other_runs()) {
        let wanted = most(&run.events());
        for seed in 0..12 {
            let log = log_of(&run, &mut Random(seed), seed % 2 == 1, false);
            let mut told = told(&log);
            // Each process that goes on with a session ends it once more.
            if let Some(ends) = told.get_mut("session end") {
                *ends = 1;
            }
            for difference in differences(&told, &wanted) {
                wrong.push(format!("{} seed {seed}: {difference}", run.name));
            }
        }
    }
    let n = wrong.len();
    wrong.truncate(60);
    assert!(wrong.is_empty(), "{n} differences:\n{}", wrong.join("\n"));
}
