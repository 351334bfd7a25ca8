//! The height index against a plain vector and a sum.

use chat_feed::viewport::{HeightIndex, RowId};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Rows in a vector: everything is found by walking it.
#[derive(Clone, Debug, Default)]
struct Naive {
    rows: Vec<Row>,
    next_id: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    id: RowId,
    height_px: f64,
    measured: bool,
    /// Estimated before the last invalidation, so that `restate` owes it a new estimate.
    due: bool,
}

#[derive(Clone, Debug)]
enum Edit {
    InsertRun {
        at: f64,
        n_rows: u32,
        height_px: f64,
    },
    InsertScattered {
        n_rows: u32,
        stride: usize,
        height_px: f64,
    },
    Append {
        n_rows: u32,
        height_px: f64,
    },
    RemoveRun {
        at: f64,
        n_rows: usize,
    },
    RemoveScattered {
        n_rows: usize,
        stride: usize,
    },
    Measure {
        at: f64,
        n_rows: usize,
        height_px: f64,
    },
    Estimate {
        at: f64,
        height_px: f64,
    },
    Invalidate,
    InvalidateEstimates,
    Restate {
        max_rows: usize,
    },
    Clear,
}

fn height_px() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (0u32..64 * 2000).prop_map(|units| f64::from(units) / 64.0),
        1 => Just(0.0),
        1 => Just(1_000_000.25),
    ]
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = || 0.0..1.0f64;
    prop_oneof![
        4 => (at(), 1u32..300, height_px())
            .prop_map(|(at, n_rows, height_px)| Edit::InsertRun { at, n_rows, height_px }),
        3 => (1u32..300, 1usize..97, height_px())
            .prop_map(|(n_rows, stride, height_px)| Edit::InsertScattered { n_rows, stride, height_px }),
        2 => (1u32..1500, height_px()).prop_map(|(n_rows, height_px)| Edit::Append { n_rows, height_px }),
        4 => (at(), 1usize..1200).prop_map(|(at, n_rows)| Edit::RemoveRun { at, n_rows }),
        4 => (1usize..900, 1usize..9).prop_map(|(n_rows, stride)| Edit::RemoveScattered { n_rows, stride }),
        4 => (at(), 1usize..60, height_px())
            .prop_map(|(at, n_rows, height_px)| Edit::Measure { at, n_rows, height_px }),
        2 => (at(), height_px()).prop_map(|(at, height_px)| Edit::Estimate { at, height_px }),
        1 => Just(Edit::Invalidate),
        1 => Just(Edit::InvalidateEstimates),
        2 => (1usize..3000).prop_map(|max_rows| Edit::Restate { max_rows }),
        1 => Just(Edit::Clear),
    ]
}

/// Puts rows after the last one.
fn append(index: &mut HeightIndex, rows: impl IntoIterator<Item = (RowId, f64)>) {
    let mut last = index.last();
    for (id, height_px) in rows {
        assert!(index.insert_after(last, id, height_px));
        last = Some(id);
    }
}

fn restated_px(id: RowId) -> f64 {
    f64::from(id.0 % 500) + 0.5
}

impl Naive {
    fn rank(&self, at: f64) -> usize {
        (at * self.rows.len() as f64) as usize
    }

    fn insert(&mut self, index: &mut HeightIndex, rank: usize, height_px: f64) {
        let id = RowId(self.next_id);
        self.next_id += 1;
        let after = rank.checked_sub(1).map(|rank| self.rows[rank].id);
        assert!(index.insert_after(after, id, height_px));
        self.rows.insert(
            rank,
            Row {
                id,
                height_px,
                measured: false,
                due: false,
            },
        );
    }

    fn remove(&mut self, index: &mut HeightIndex, rank: usize) {
        let row = self.rows.remove(rank);
        assert_eq!(index.remove(row.id), Some(row.height_px));
        assert_eq!(index.remove(row.id), None);
    }

    fn apply(&mut self, index: &mut HeightIndex, edit: &Edit) {
        match edit {
            Edit::InsertRun {
                at,
                n_rows,
                height_px,
            } => {
                let start = self.rank(*at);
                for place in 0..*n_rows as usize {
                    self.insert(index, start + place, height_px + place as f64);
                }
            }
            Edit::InsertScattered {
                n_rows,
                stride,
                height_px,
            } => {
                for place in 0..*n_rows as usize {
                    self.insert(index, (place * stride) % (self.rows.len() + 1), *height_px);
                }
            }
            Edit::Append { n_rows, height_px } => {
                for place in 0..*n_rows {
                    let height_px = height_px + f64::from(place % 7);
                    self.insert(index, self.rows.len(), height_px);
                }
            }
            Edit::RemoveRun { at, n_rows } => {
                let start = self.rank(*at);
                for _ in 0..(*n_rows).min(self.rows.len() - start) {
                    self.remove(index, start);
                }
            }
            Edit::RemoveScattered { n_rows, stride } => {
                for place in 0..(*n_rows).min(self.rows.len()) {
                    let rank = (place * stride) % self.rows.len();
                    self.remove(index, rank);
                }
            }
            Edit::Measure {
                at,
                n_rows,
                height_px,
            } => {
                let start = self.rank(*at);
                for row in self.rows.iter_mut().skip(start).take(*n_rows) {
                    assert_eq!(
                        index.set_measured(row.id, *height_px),
                        height_px - row.height_px
                    );
                    (row.height_px, row.measured) = (*height_px, true);
                }
            }
            Edit::Estimate { at, height_px } => {
                let rank = self.rank(*at);
                if let Some(row) = self.rows.get_mut(rank) {
                    assert_eq!(
                        index.set_estimate(row.id, *height_px),
                        height_px - row.height_px
                    );
                    *row = Row {
                        id: row.id,
                        height_px: *height_px,
                        measured: false,
                        due: false,
                    };
                }
            }
            Edit::Invalidate => {
                index.invalidate();
                for row in &mut self.rows {
                    (row.measured, row.due) = (false, true);
                }
            }
            Edit::InvalidateEstimates => {
                index.invalidate_estimates();
                for row in &mut self.rows {
                    row.due = true;
                }
            }
            Edit::Restate { max_rows } => {
                let mut asked = BTreeSet::new();
                let done = index.restate(*max_rows, |id, _| {
                    assert!(asked.insert(id), "a row was estimated twice in one pass");
                    restated_px(id)
                });
                for row in &mut self.rows {
                    if asked.contains(&row.id) {
                        assert!(!row.measured, "a measured row was estimated");
                        (row.height_px, row.due) = (restated_px(row.id), false);
                    }
                    assert!(
                        !done || row.measured || !row.due,
                        "row {:?} was forgotten",
                        row.id
                    );
                }
            }
            Edit::Clear => {
                index.clear();
                self.rows.clear();
            }
        }
    }

    fn compare(&self, index: &HeightIndex) {
        assert_eq!(index.check(), Ok(()));
        assert_eq!(index.len(), self.rows.len());
        assert_eq!(index.is_empty(), self.rows.is_empty());
        assert_eq!(index.first(), self.rows.first().map(|row| row.id));
        assert_eq!(index.last(), self.rows.last().map(|row| row.id));
        let total_px: f64 = self.rows.iter().map(|row| row.height_px).sum();
        assert_eq!(index.total_px(), total_px);
        let mut top_px = 0.0;
        for (rank, row) in self.rows.iter().enumerate() {
            assert_eq!(index.rank_of(row.id), Some(rank));
            assert_eq!(index.at_rank(rank), Some(row.id));
            assert_eq!(index.top_of(row.id), Some(top_px));
            assert_eq!(index.height_of(row.id), Some(row.height_px));
            assert_eq!(index.is_measured(row.id), row.measured);
            assert_eq!(
                index.next(row.id),
                self.rows.get(rank + 1).map(|row| row.id)
            );
            assert_eq!(
                index.prev(row.id),
                rank.checked_sub(1).map(|rank| self.rows[rank].id)
            );
            if row.height_px > 0.0 {
                for share in [0.0, 0.37, 0.999] {
                    let within_px = row.height_px * share;
                    let found = index.at_offset(top_px + within_px);
                    assert!(found.is_some_and(|(id, found_px)| {
                        id == row.id && (found_px - within_px).abs() < 1e-5
                    }));
                }
            }
            top_px += row.height_px;
        }
        assert_eq!(index.at_rank(self.rows.len()), None);
        let last = self.rows.last().map(|row| (row.id, row.height_px));
        for beyond_px in [total_px, total_px + 1.0, f64::INFINITY] {
            assert_eq!(index.at_offset(beyond_px), last);
        }
        if total_px > 0.0 {
            let first = self
                .rows
                .iter()
                .find(|row| row.height_px > 0.0)
                .map(|row| (row.id, 0.0));
            assert_eq!(index.at_offset(-5.0), first);
        }
        if let Some(middle) = self.rows.get(self.rows.len() / 2) {
            let rest = self.rows[self.rows.len() / 2..]
                .iter()
                .map(|row| (row.id, row.height_px));
            assert!(index.iter_from(middle.id).eq(rest));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_edits_give_what_a_plain_sum_gives(
        n_rows in 0u32..5000,
        edits in prop::collection::vec(edit(), 1..24),
    ) {
        let (mut naive, mut index) = (Naive::default(), HeightIndex::new());
        naive.apply(&mut index, &Edit::Append { n_rows, height_px: 20.25 });
        for edit in &edits {
            naive.apply(&mut index, edit);
            prop_assert_eq!(index.check(), Ok(()), "after {:?}", edit);
        }
        naive.compare(&index);
        // What is left of a width change is brought up to date in the end, and the sums hold then, too.
        naive.apply(&mut index, &Edit::Restate { max_rows: usize::MAX });
        naive.compare(&index);
    }
}

#[test]
fn a_deep_tree_shrinks_to_nothing_and_grows_again() {
    let (mut naive, mut index) = (Naive::default(), HeightIndex::new());
    naive.apply(
        &mut index,
        &Edit::Append {
            n_rows: 1500,
            height_px: 3.5,
        },
    );
    for _ in 0..30 {
        naive.apply(
            &mut index,
            &Edit::InsertScattered {
                n_rows: 3000,
                stride: 61,
                height_px: 7.0,
            },
        );
    }
    naive.compare(&index);
    for stride in [7, 3, 1] {
        naive.apply(
            &mut index,
            &Edit::RemoveScattered {
                n_rows: 30_000,
                stride,
            },
        );
        naive.compare(&index);
    }
    let all = naive.rows.len();
    naive.apply(
        &mut index,
        &Edit::RemoveRun {
            at: 0.0,
            n_rows: all,
        },
    );
    naive.compare(&index);
    naive.apply(
        &mut index,
        &Edit::InsertRun {
            at: 0.0,
            n_rows: 5000,
            height_px: 1.0,
        },
    );
    naive.compare(&index);
}

#[test]
fn rows_put_first_one_by_one_come_out_in_order() {
    let mut index = HeightIndex::new();
    for id in 0..5000 {
        assert!(index.insert_after(None, RowId(id), 1.0));
    }
    assert_eq!(index.check(), Ok(()));
    assert_eq!(index.at_rank(0), Some(RowId(4999)));
    assert_eq!(index.top_of(RowId(0)), Some(4999.0));
}

#[test]
fn unknown_and_doubled_rows_change_nothing() {
    let mut index = HeightIndex::new();
    append(&mut index, [(RowId(0), 10.0), (RowId(1), 20.0)]);
    assert!(!index.insert_after(Some(RowId(7)), RowId(8), 5.0));
    assert!(!index.insert_after(None, RowId(1), 5.0));
    assert_eq!(index.set_measured(RowId(9), 5.0), 0.0);
    assert_eq!(index.remove(RowId(9)), None);
    assert_eq!(index.top_of(RowId(u32::MAX)), None);
    assert_eq!((index.len(), index.total_px()), (2, 30.0));
}

#[test]
fn heights_that_are_none_count_as_zero_and_endless_ones_are_cut() {
    let mut index = HeightIndex::new();
    append(
        &mut index,
        [(RowId(0), f64::NAN), (RowId(1), -3.0), (RowId(2), 5.0)],
    );
    assert_eq!(index.total_px(), 5.0);
    assert_eq!(index.at_offset(0.0), Some((RowId(2), 0.0)));
    assert_eq!(index.at_offset(f64::NAN), Some((RowId(2), 0.0)));
    index.set_measured(RowId(0), f64::INFINITY);
    assert!(index.total_px() < 33_554_440.0);
    assert_eq!(index.check(), Ok(()));
}

#[test]
fn a_million_rows_take_at_most_sixteen_bytes_each() {
    let mut index = HeightIndex::new();
    append(&mut index, (0..1_000_000).map(|id| (RowId(id), 24.0)));
    assert!(
        index.capacity_bytes() <= 16_000_000,
        "{} bytes",
        index.capacity_bytes()
    );
    assert_eq!(index.total_px(), 24_000_000.0);
    assert_eq!(index.at_offset(12_000_001.0), Some((RowId(500_000), 1.0)));
}

#[test]
fn a_new_width_touches_no_row_and_restates_some_at_a_time() {
    let mut index = HeightIndex::new();
    append(&mut index, (0..10_000).map(|id| (RowId(id), 24.0)));
    index.set_measured(RowId(77), 100.0);
    index.invalidate();
    assert!(!index.is_measured(RowId(77)));
    assert_eq!(index.total_px(), 9_999.0 * 24.0 + 100.0);
    index.set_measured(RowId(5000), 60.0);
    let mut n_frames = 0;
    while !index.restate(1000, |_, old_px| old_px + 6.0) {
        n_frames += 1;
        assert!(n_frames < 40);
    }
    assert!(n_frames >= 8);
    assert_eq!(index.height_of(RowId(77)), Some(106.0));
    assert_eq!(index.height_of(RowId(5000)), Some(60.0));
    assert_eq!(index.total_px(), 9_998.0 * 30.0 + 106.0 + 60.0);
}

#[test]
fn leaves_of_two_layouts_merge_into_the_present_one() {
    for (thin, other) in [(0..64u32, 64..128u32), (64..128, 0..64)] {
        let mut index = HeightIndex::new();
        append(&mut index, (0..128).map(|id| (RowId(id), 10.0)));
        index.set_measured(RowId(thin.start), 20.0);
        index.invalidate();
        index.set_measured(RowId(other.start), 30.0);
        // Both leaves become thin enough to be one.
        for id in thin.skip(1).chain(other.clone().skip(10)) {
            index.remove(RowId(id));
        }
        assert_eq!(index.check(), Ok(()));
        assert!(index.is_measured(RowId(other.start)));
        assert!(!index.is_measured(RowId(64 - other.start)));
    }
}

#[test]
fn rows_that_move_behind_the_walk_are_restated_too() {
    let mut index = HeightIndex::new();
    append(&mut index, (0..192).map(|id| (RowId(id), 10.0)));
    index.invalidate();
    assert!(!index.restate(1, |_, _| 25.0));
    // What is left of the second leaf goes into the first, which was done.
    for id in (0..40).chain(66..128) {
        index.remove(RowId(id));
    }
    while !index.restate(64, |_, _| 25.0) {}
    assert_eq!(index.total_px(), index.len() as f64 * 25.0);
}
