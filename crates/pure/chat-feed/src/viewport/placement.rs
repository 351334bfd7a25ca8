//! Where the block of mounted rows stands: some space above its first row, and its own top edge.

/// The most space above the first row, in px. The block is as much higher than its rows.
const MOST_ABOVE_PX: u32 = 8_192;
/// Chromium lays out in such parts of a px, and so do screens with whole pixels.
const PARTS_PER_PX: u32 = 64;
const MOST_ABOVE: u32 = MOST_ABOVE_PX * PARTS_PER_PX;

/// Where the block of mounted rows stands in the list. The space above its first row takes up what comes and goes there,
/// so that the rows that stay are not moved within the block, and what was laid out and painted of them holds.
///
/// ```
/// use chat_feed::viewport::Placement;
///
/// let before = Placement::default().at(1_000.0);
/// // A row of 20 px came above, and so the first one is as much higher.
/// let after = before.moved(Some(-20.0)).at(980.0);
/// assert_eq!(after.block_px(), before.block_px());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    above: u32,
    block_px: f64,
}

impl Default for Placement {
    fn default() -> Placement {
        Placement {
            above: MOST_ABOVE / 2,
            block_px: 0.0,
        }
    }
}

impl Placement {
    /// Space above the first row, in px.
    #[must_use]
    pub fn above_px(&self) -> f64 {
        f64::from(self.above) / f64::from(PARTS_PER_PX)
    }

    /// The same with all its digits, as CSS has it.
    #[must_use]
    pub fn above_css(&self) -> String {
        let millionths = self.above % PARTS_PER_PX * (1_000_000 / PARTS_PER_PX);
        format!("{}.{millionths:06}px", self.above / PARTS_PER_PX)
    }

    /// Top edge of the block in the list, in px.
    #[must_use]
    pub fn block_px(&self) -> f64 {
        self.block_px
    }

    /// Another row is the first, so far below the one that was, above where negative; `None` where that is not known.
    ///
    /// Where the space above comes to its end, or is not known, all rows move within the block this once.
    #[must_use]
    pub fn moved(self, by_px: Option<f64>) -> Placement {
        let above_px = self.above_px() + by_px.unwrap_or(0.0);
        let above = match by_px {
            None => MOST_ABOVE / 2,
            Some(_) if above_px < 0.0 => MOST_ABOVE,
            Some(_) if above_px > f64::from(MOST_ABOVE_PX) => 0,
            // Within the bounds just seen. Two sums of the same heights differ in their last digits.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            Some(_) => (above_px * f64::from(PARTS_PER_PX)).round() as u32,
        };
        let moved = Placement { above, ..self };
        moved.at(self.block_px + above_px)
    }

    /// The first row belongs here, in px from the top of the list.
    #[must_use]
    pub fn at(self, top_px: f64) -> Placement {
        let block_px = top_px - self.above_px();
        let stays = (block_px - self.block_px).abs() < 1.0 / f64::from(PARTS_PER_PX);
        Placement {
            block_px: if stays { self.block_px } else { block_px },
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PART_PX: f64 = 1.0 / 64.0;

    fn steps() -> impl Strategy<Value = Vec<(Option<f64>, f64)>> {
        let by_px = prop_oneof![
            6 => (-40_000..40_000_i32).prop_map(|parts| Some(f64::from(parts) / 64.0)),
            1 => (-1e7..1e7_f64).prop_map(Some),
            1 => Just(None),
        ];
        proptest::collection::vec((by_px, -1e8..1e8_f64), 1..40)
    }

    proptest! {
        #[test]
        fn the_first_row_stands_where_it_belongs_whatever_was_before(steps in steps()) {
            let mut placement = Placement::default();
            for (by_px, top_px) in steps {
                placement = placement.moved(by_px).at(top_px);
                let stands_px = placement.above_px() + placement.block_px();
                prop_assert!((stands_px - top_px).abs() < PART_PX * 1.01, "{stands_px} and not {top_px}");
                prop_assert!((0.0..=f64::from(MOST_ABOVE_PX)).contains(&placement.above_px()));
                let css: f64 = placement.above_css().trim_end_matches("px").parse().unwrap();
                prop_assert_eq!(css, placement.above_px());
            }
        }

        #[test]
        fn rows_that_stay_are_not_moved_where_there_is_space(steps in steps()) {
            let mut top_px = 5_000.0;
            let mut placement = Placement::default().at(top_px);
            for (by_px, _) in steps {
                let Some(by_px) = by_px else { continue };
                top_px += by_px;
                let after = placement.moved(Some(by_px));
                let is_room = (0.0..=f64::from(MOST_ABOVE_PX)).contains(&(placement.above_px() + by_px));
                if is_room && by_px * 64.0 == (by_px * 64.0).round() {
                    prop_assert_eq!(after.above_px(), placement.above_px() + by_px);
                    prop_assert_eq!(after.block_px(), placement.block_px());
                }
                // What the heights say is where it is already.
                prop_assert!((after.at(top_px).block_px() - after.block_px()).abs() < PART_PX * 2.0);
                placement = after.at(top_px);
            }
        }
    }
}
