//! Which of the stars, underlines and waves of a line are emphasis: `CommonMark`, "Emphasis and strong emphasis", with
//! GitHub's strikethrough.

/// More signs than this in a line are nobody's emphasis.
const MOST_RUNS: usize = 64;

/// The runs of signs of a line, in order.
#[derive(Default)]
pub(super) struct Emphasis {
    runs: Vec<Run>,
}

#[derive(Clone, Copy)]
struct Run {
    /// Where it stands among the words.
    at: usize,
    sign: char,
    n_signs: usize,
    /// How many of them are emphasis, at its beginning and at its end.
    closing: usize,
    opening: usize,
    opens: bool,
    closes: bool,
}

impl Run {
    fn left(&self) -> usize {
        self.n_signs - self.closing - self.opening
    }
}

impl Emphasis {
    /// Takes a run of signs that will stand at this place among the words, between these characters.
    pub(super) fn run(
        &mut self,
        at: usize,
        (sign, n_signs): (char, usize),
        before: Option<char>,
        behind: Option<char>,
    ) {
        if self.runs.len() == MOST_RUNS {
            return;
        }
        let is_blank = |char: Option<char>| char.is_none_or(char::is_whitespace);
        let is_sign = |char: Option<char>| char.is_some_and(is_punctuation);
        let left = !is_blank(behind) && (!is_sign(behind) || is_blank(before) || is_sign(before));
        let right = !is_blank(before) && (!is_sign(before) || is_blank(behind) || is_sign(behind));
        // Underlines within words are part of them. One wave is the home folder, and strikes nothing.
        let (opens, closes) = match (sign, n_signs) {
            ('_', _) => (
                left && (!right || is_sign(before)),
                right && (!left || is_sign(behind)),
            ),
            ('~', 2) => (!is_blank(behind), right),
            ('~', _) => (false, false),
            _ => (left, right),
        };
        self.runs.push(Run {
            at,
            sign,
            n_signs,
            closing: 0,
            opening: 0,
            opens,
            closes,
        });
        self.pair();
    }

    /// Finds what the last run closes.
    fn pair(&mut self) {
        let Some((closer, before)) = self.runs.split_last_mut() else {
            return;
        };
        while closer.closes && closer.left() > 0 {
            let fits = |opener: &Run| {
                let is_odd = (opener.closes || closer.opens)
                    && (opener.n_signs + closer.n_signs).is_multiple_of(3)
                    && !(opener.n_signs.is_multiple_of(3) && closer.n_signs.is_multiple_of(3));
                opener.sign == closer.sign
                    && opener.opens
                    && opener.left() > 0
                    && match opener.sign {
                        '~' => opener.n_signs == closer.n_signs,
                        _ => !is_odd,
                    }
            };
            let Some(found) = before.iter().rposition(fits) else {
                return;
            };
            let opener = &mut before[found];
            let n_signs = match opener.sign {
                '~' => closer.n_signs,
                _ => opener.left().min(closer.left()).min(2),
            };
            opener.opening += n_signs;
            closer.closing += n_signs;
            // What was opened in between is not closed outside.
            for run in &mut before[found + 1..] {
                run.opens = false;
            }
        }
    }

    /// Takes the signs that are emphasis out of the words, which begin at `start`.
    pub(super) fn take_out_of(self, words: &mut String, start: usize) {
        if self.runs.iter().all(|run| run.left() == run.n_signs) {
            return;
        }
        let line = words.split_off(start);
        let mut at = 0;
        for run in &self.runs {
            let begin = run.at - start;
            words.push_str(&line[at..begin]);
            at = begin + run.n_signs;
            words.push_str(&line[begin..begin + run.left()]);
        }
        words.push_str(&line[at..]);
    }
}

/// `CommonMark` counts symbols, too; those beyond ASCII that stand beside emphasis are few.
fn is_punctuation(char: char) -> bool {
    char.is_ascii_punctuation()
        || ('\u{2010}'..='\u{2027}').contains(&char)
        || ('\u{2030}'..='\u{205e}').contains(&char)
        || ('\u{3001}'..='\u{3003}').contains(&char)
        || ('\u{3008}'..='\u{3011}').contains(&char)
        || "¡§«¶·»¿".contains(char)
}
