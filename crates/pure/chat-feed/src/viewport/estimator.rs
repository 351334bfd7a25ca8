//! The oracle: how tall a row will be that nobody has measured.
//!
//! A row's lines are counted from its characters and the width; then height = own part + lines × line height,
//! both fitted to the rows of the kind that were measured (least squares over running sums, with a few made-up
//! rows that carry the first guess). The same observations in the same order give the same answers.
//!
//! Not here: which row has which shape (the page knows its blocks), and when to estimate again
//! ([`HeightIndex::restate`](super::HeightIndex::restate)).

/// What decides a row's height, coarsely: rows of a kind share their frame, padding and line height.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKind {
    /// Prose: wraps at the width.
    Text,
    /// A heading: wraps, larger.
    Heading,
    /// A list or a quotation: prose with an indent.
    List,
    /// A prompt: wraps, and what is shown of it stands in a card.
    Prompt,
    /// Code or terminal output: one row a line, scrolls sideways.
    Code,
    /// A diff: one row a line in a frame with a header.
    Diff,
    /// A table: `lines` are its rows.
    Table,
    /// A card with a header, such as a tool call that is open; its body counts in lines.
    Card,
    /// One line whatever it says, such as a tool call that is closed.
    OneLine,
    /// A divider.
    Rule,
}

/// Number of row kinds.
const N_KINDS: usize = 10;

/// What the oracle may know of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowShape {
    /// Its kind.
    pub kind: RowKind,
    /// Characters in it; those that are as wide as two others count as two.
    pub chars: u32,
    /// Lines in its source, at least 1.
    pub lines: u32,
}

impl RowShape {
    /// The shape of a row of this kind that shows a text.
    #[must_use]
    pub fn of_text(kind: RowKind, text: &str) -> RowShape {
        let chars = text.bytes().map(|byte| match byte {
            // What goes on with a character.
            0x80..=0xbf => 0,
            // What begins one from U+3000 on: those of Chinese, Japanese and Korean, and emoji.
            0xe3.. => 2,
            _ => 1,
        });
        RowShape {
            kind,
            chars: chars.fold(0, u32::saturating_add),
            lines: u32::try_from(text.lines().count().max(1)).unwrap_or(u32::MAX),
        }
    }
}

/// Average sizes of the page's two fonts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FontMetrics {
    /// Width of an average character of prose.
    pub text_char_px: f64,
    /// Height of a line of prose.
    pub text_line_px: f64,
    /// Width of a character of code.
    pub code_char_px: f64,
    /// Height of a line of code.
    pub code_line_px: f64,
}

impl Default for FontMetrics {
    /// A 15 px interface font and a 13 px monospace one.
    fn default() -> Self {
        FontMetrics {
            text_char_px: 7.2,
            text_line_px: 23.0,
            code_char_px: 7.8,
            code_line_px: 20.0,
        }
    }
}

/// Running sums of one kind: x are lines, y heights.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fit {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    /// Own part and height of a line when `take_revised` last told of them.
    told: (f64, f64),
}

/// The oracle; see the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimator {
    metrics: FontMetrics,
    fits: [Fit; N_KINDS],
}

/// A fit forgets half when it holds so many rows: the newest thousands decide.
const MAX_ROWS_IN_FIT: f64 = 4096.0;
/// Lines of the made-up rows that carry the first guess.
const PRIOR_LINES: [f64; 3] = [1.0, 6.0, 24.0];
/// Taller rows teach nothing new and would outweigh all others.
const MAX_LINES_LEARNT: f64 = 400.0;
/// An estimate that moved by more than this share is news.
const REVISED_SHARE: f64 = 0.08;

impl Default for Estimator {
    fn default() -> Self {
        Estimator::new(FontMetrics::default())
    }
}

impl Estimator {
    /// An oracle that has seen nothing yet.
    #[must_use]
    pub fn new(metrics: FontMetrics) -> Estimator {
        let fit_of = |kind| {
            let (own_px, line_px) = first_guess(kind, &metrics);
            let mut fit = Fit {
                n: 0.0,
                x: 0.0,
                y: 0.0,
                xx: 0.0,
                xy: 0.0,
                told: (0.0, 0.0),
            };
            for lines in PRIOR_LINES {
                fit.add(lines, own_px + lines * line_px);
            }
            fit.told = fit.line();
            fit
        };
        Estimator {
            metrics,
            fits: KINDS.map(fit_of),
        }
    }

    /// The height a row will probably have at a content width.
    #[must_use]
    pub fn estimate_px(&self, shape: RowShape, width_px: f64) -> f64 {
        let (own_px, line_px) = self.fits[shape.kind as usize].line();
        let height_px = own_px + self.lines(shape, width_px) * line_px;
        if matches!(shape.kind, RowKind::Rule) {
            height_px.max(1.0)
        } else {
            height_px.max(self.metrics.code_line_px)
        }
    }

    /// Learns from a measured row. Rows that are not laid out (no height, no width) teach nothing.
    pub fn observe(&mut self, shape: RowShape, width_px: f64, measured_px: f64) {
        let lines = self.lines(shape, width_px);
        if measured_px > 0.0
            && measured_px.is_finite()
            && width_px > 0.0
            && lines <= MAX_LINES_LEARNT
        {
            self.fits[shape.kind as usize].add(lines, measured_px);
        }
    }

    /// Whether estimates have changed enough, since this was last asked, for rows to be estimated again.
    pub fn take_revised(&mut self) -> bool {
        let mut revised = false;
        for fit in &mut self.fits {
            let (now, middling_lines) = (fit.line(), fit.x / fit.n);
            let px = |(own_px, line_px): (f64, f64)| own_px + line_px * middling_lines;
            if (px(now) - px(fit.told)).abs() > REVISED_SHARE * px(fit.told) {
                fit.told = now;
                revised = true;
            }
        }
        revised
    }

    /// Lines a row will take on the screen.
    fn lines(&self, shape: RowShape, width_px: f64) -> f64 {
        let hard_lines = f64::from(shape.lines.max(1));
        match shape.kind {
            RowKind::Text | RowKind::Prompt => self.wrapped_lines(shape, width_px, 1.0),
            RowKind::Heading => self.wrapped_lines(shape, width_px, 0.75),
            RowKind::List => {
                self.wrapped_lines(shape, width_px - 2.0 * self.metrics.text_line_px, 1.0)
            }
            RowKind::Code | RowKind::Diff | RowKind::Table | RowKind::Card => hard_lines,
            RowKind::OneLine | RowKind::Rule => 1.0,
        }
    }

    /// `fit` is how many characters fit, against the text font.
    fn wrapped_lines(&self, shape: RowShape, width_px: f64, fit: f64) -> f64 {
        let hard_lines = f64::from(shape.lines.max(1));
        let chars_in_line = (width_px / self.metrics.text_char_px * fit).max(4.0);
        let full_lines = f64::from(shape.chars) / chars_in_line;
        if shape.lines <= 1 {
            return full_lines.ceil().max(1.0);
        }
        // Each hard line leaves half a line unfilled on average, where they wrap at all.
        let left_over = (hard_lines * 0.5).min(full_lines);
        (full_lines + left_over).ceil().max(hard_lines)
    }
}

/// Every kind, in the order of its number.
const KINDS: [RowKind; N_KINDS] = [
    RowKind::Text,
    RowKind::Heading,
    RowKind::List,
    RowKind::Prompt,
    RowKind::Code,
    RowKind::Diff,
    RowKind::Table,
    RowKind::Card,
    RowKind::OneLine,
    RowKind::Rule,
];

/// Own part and height of a line before anything is measured.
fn first_guess(kind: RowKind, metrics: &FontMetrics) -> (f64, f64) {
    let (text_px, code_px) = (metrics.text_line_px, metrics.code_line_px);
    match kind {
        RowKind::Text | RowKind::List => (text_px * 0.5, text_px),
        RowKind::Prompt => (text_px * 4.0, text_px),
        RowKind::Heading => (text_px * 0.75, text_px * 1.3),
        RowKind::Code => (text_px, code_px),
        RowKind::Diff | RowKind::Card => (text_px * 2.0, code_px),
        RowKind::Table => (text_px * 0.5, text_px * 1.4),
        RowKind::OneLine => (text_px * 0.25, text_px),
        RowKind::Rule => (text_px, 1.0),
    }
}

impl Fit {
    fn add(&mut self, lines: f64, height_px: f64) {
        if self.n >= MAX_ROWS_IN_FIT {
            for sum in [
                &mut self.n,
                &mut self.x,
                &mut self.y,
                &mut self.xx,
                &mut self.xy,
            ] {
                *sum *= 0.5;
            }
        }
        self.n += 1.0;
        self.x += lines;
        self.y += height_px;
        self.xx += lines * lines;
        self.xy += lines * height_px;
    }

    /// Own part and height of a line, neither below 0.
    fn line(&self) -> (f64, f64) {
        // The made-up rows differ in their lines, and no later row can undo that.
        let spread = (self.n * self.xx - self.x * self.x).max(1e-6);
        let line_px = ((self.n * self.xy - self.x * self.y) / spread).max(0.0);
        let own_px = (self.y - line_px * self.x) / self.n;
        if own_px >= 0.0 {
            (own_px, line_px)
        } else {
            (0.0, self.xy / self.xx)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Estimator, KINDS, N_KINDS, RowKind, RowShape};
    use proptest::prelude::*;

    fn shape(kind: RowKind, chars: u32, lines: u32) -> RowShape {
        RowShape { kind, chars, lines }
    }

    #[test]
    fn kinds_are_listed_by_their_number() {
        assert!(
            KINDS
                .iter()
                .enumerate()
                .all(|(place, kind)| *kind as usize == place)
        );
    }

    #[test]
    fn a_text_is_as_long_as_it_is_wide_whatever_its_script() {
        for (text, chars, lines) in [
            ("", 0, 1),
            ("one\ntwo\n", 8, 2),
            ("привет, שלום", 12, 1),
            ("“é” — ok…", 9, 1),
            ("漢字 かな 한글", 14, 1),
            ("👍", 2, 1),
        ] {
            let is = RowShape::of_text(RowKind::Text, text);
            assert_eq!(is, shape(RowKind::Text, chars, lines), "{text}");
        }
    }

    #[test]
    fn it_learns_a_page_whose_rows_are_unlike_the_first_guess() {
        let mut estimator = Estimator::default();
        let real_px = |lines: u32| 57.0 + f64::from(lines) * 13.5;
        let before_px = estimator.estimate_px(shape(RowKind::Code, 0, 40), 700.0);
        for lines in (1..60).chain(1..60) {
            estimator.observe(
                shape(RowKind::Code, lines * 30, lines),
                700.0,
                real_px(lines),
            );
        }
        for lines in [1, 10, 40, 200] {
            let estimate_px = estimator.estimate_px(shape(RowKind::Code, 0, lines), 700.0);
            let off = (estimate_px - real_px(lines)).abs() / real_px(lines);
            assert!(off < 0.05, "{estimate_px} for {}", real_px(lines));
        }
        assert!((before_px - real_px(40)).abs() / real_px(40) > 0.2);
        // Other kinds know nothing of it.
        let text = shape(RowKind::Text, 500, 1);
        assert_eq!(
            estimator.estimate_px(text, 700.0),
            Estimator::default().estimate_px(text, 700.0)
        );
    }

    #[test]
    fn a_revision_is_told_once_and_only_when_it_matters() {
        let mut estimator = Estimator::default();
        assert!(!estimator.take_revised());
        let row = shape(RowKind::OneLine, 80, 1);
        let known_px = estimator.estimate_px(row, 700.0);
        estimator.observe(row, 700.0, known_px);
        assert!(!estimator.take_revised());
        (0..50).for_each(|_| estimator.observe(row, 700.0, known_px * 2.0));
        assert!(estimator.take_revised());
        assert!(!estimator.take_revised());
    }

    #[test]
    fn rows_that_are_not_laid_out_teach_nothing() {
        let mut estimator = Estimator::default();
        for height_px in [0.0, -5.0, f64::NAN, f64::INFINITY] {
            estimator.observe(shape(RowKind::Text, 100, 1), 700.0, height_px);
        }
        estimator.observe(shape(RowKind::Text, 100, 1), 0.0, 50.0);
        assert_eq!(estimator, Estimator::default());
    }

    proptest! {
        #[test]
        fn estimates_are_sane_and_grow_with_the_text_whatever_was_seen(
            seen in prop::collection::vec((0..N_KINDS, 0u32..20_000, 0u32..500, 0.0..2000.0f64, 0.1..9000.0f64), 0..80),
            (kind, chars, lines) in (0..N_KINDS, any::<u32>(), any::<u32>()),
            width_px in prop_oneof![Just(0.0), 1.0..2000.0f64],
        ) {
            let mut estimator = Estimator::default();
            for (kind, chars, lines, width_px, height_px) in seen {
                estimator.observe(shape(KINDS[kind], chars, lines), width_px, height_px);
            }
            let small_px = estimator.estimate_px(shape(KINDS[kind], chars / 2, lines), width_px);
            let large_px = estimator.estimate_px(shape(KINDS[kind], chars, lines), width_px);
            let wide_px = estimator.estimate_px(shape(KINDS[kind], chars, lines), width_px * 2.0);
            prop_assert!(small_px >= 1.0 && large_px.is_finite());
            prop_assert!(small_px <= large_px + 1e-6 && wide_px <= large_px + 1e-6);
        }
    }
}
