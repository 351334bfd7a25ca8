//! What was said so far, for APIs whose every request says the whole conversation again.
//!
//! Only fingerprints are kept: of what a request holds, that which stands at the same place as before is not said again.
//! A program may have several conversations at a time (a title is asked for, a sub-agent works): a request goes on with
//! that of the last few of which it says the most, and one that turns off leaves the other as it was.

use std::collections::VecDeque;

/// Conversations that are kept, at most: those that a request or an answer was of last.
const MAX_TALKS: usize = 8;

/// How far from the end of another conversation an answer may stand that came behind that one's request.
const MAX_BACK: usize = 4;

/// Fingerprints of the conversations' messages or items, in order.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The one that goes on is the last.
    talks: VecDeque<Talk>,
    at: usize,
    n_talks: u64,
}

#[derive(Debug, Default)]
struct Talk {
    /// The same in all that turned off from one.
    root: u64,
    said: Vec<Said>,
}

#[derive(Clone, Copy, Debug)]
struct Said {
    print: u64,
    /// It came as an answer, not in a request.
    answered: bool,
}

impl History {
    /// A request begins that says the conversation from its start, as these `prints`; the first `n_leading` of them are
    /// what any conversation of the program may begin with. How many of them were said.
    pub(crate) fn request(&mut self, prints: &[u64], n_leading: usize) -> usize {
        self.at = 0;
        if prints.is_empty() {
            return 0;
        }
        let mut best = (0, 0);
        for (at, talk) in self.talks.iter().enumerate() {
            let pairs = talk.said.iter().zip(prints);
            let n_same = pairs.take_while(|(said, print)| said.print == **print);
            let n_same = n_same.count();
            // Of two that say as much the one that was of use last.
            if n_same > 0 && n_same >= best.1 {
                best = (at, n_same);
            }
        }
        let (at, n_same) = best;
        let is_shared = n_same > n_leading.min(prints.len().saturating_sub(1));
        let known = self.talks.get(at).filter(|_| n_same > 0);
        let goes_on = known.is_some_and(|talk| talk.said.len() == n_same) && is_shared;
        if goes_on {
            if let Some(talk) = self.talks.remove(at) {
                self.talks.push_back(talk);
            }
            return n_same;
        }
        let said = known.and_then(|talk| talk.said.get(..n_same));
        let said = said.unwrap_or_default().to_vec();
        let root = match known.filter(|_| is_shared) {
            Some(talk) => talk.root,
            None => {
                self.n_talks += 1;
                self.n_talks
            }
        };
        if self.talks.len() >= MAX_TALKS {
            self.talks.pop_front();
        }
        self.talks.push_back(Talk { root, said });
        n_same
    }

    /// A request begins that says only what is new behind the conversation that went on last.
    pub(crate) fn goes_on(&mut self) {
        self.at = self.len();
    }

    /// What tells the conversation that goes on from those that share nothing with it.
    pub(crate) fn root(&self) -> u64 {
        self.talks.back().map_or(0, |talk| talk.root)
    }

    /// Whether what a request holds next was said before; from the first that was not, all of it is new.
    pub(crate) fn was_said(&mut self, print: u64) -> bool {
        let at = self.at;
        let talk = self.talk();
        if talk.said.get(at).is_some_and(|said| said.print == print) {
            self.at += 1;
            return true;
        }
        talk.said.truncate(at);
        // An answer that came behind another conversation's request was noted there.
        let strayed = self.take_stray(print);
        self.push(print, false);
        strayed
    }

    fn take_stray(&mut self, print: u64) -> bool {
        let n_others = self.talks.len().saturating_sub(1);
        for talk in self.talks.iter_mut().take(n_others) {
            let from = talk.said.len().saturating_sub(MAX_BACK);
            let tail = talk.said.get(from..).unwrap_or_default();
            let found = |said: &Said| said.answered && said.print == print;
            if let Some(at) = tail.iter().position(found) {
                talk.said.remove(from + at);
                return true;
            }
        }
        false
    }

    /// How much was said.
    pub(crate) fn len(&self) -> usize {
        self.talks.back().map_or(0, |talk| talk.said.len())
    }

    /// Something is said behind all that is known.
    pub(crate) fn say(&mut self, print: u64) {
        self.push(print, false);
    }

    /// As [`History::say`], by an answer.
    pub(crate) fn answer(&mut self, print: u64) {
        self.push(print, true);
    }

    fn push(&mut self, print: u64, answered: bool) {
        let talk = self.talk();
        talk.said.push(Said { print, answered });
        self.at = self.len();
    }

    fn talk(&mut self) -> &mut Talk {
        if self.talks.is_empty() {
            self.talks.push_back(Talk::default());
        }
        let last = self.talks.len() - 1;
        &mut self.talks[last]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(history: &mut History, goes_on: bool, request: &[u64]) -> Vec<u64> {
        if goes_on {
            history.goes_on();
        } else {
            history.request(request, 0);
        }
        let new = request.iter().filter(|item| !history.was_said(**item));
        new.copied().collect()
    }

    #[test]
    fn only_what_stands_behind_the_known_is_new() {
        let mut history = History::default();
        let mut news = |goes_on: bool, request: &[u64]| news(&mut history, goes_on, request);
        assert_eq!(news(false, &[1, 2]), [1, 2]);
        assert_eq!(news(false, &[1, 2, 3]), [3]);
        assert_eq!(news(true, &[4]), [4]);
        assert_eq!(news(false, &[1, 2, 3, 4, 1]), [1]);
        assert_eq!(news(false, &[1, 5, 3]), [5, 3]);
        assert_eq!(news(false, &[1, 5, 3, 4]), [4]);
        // What was turned off from is still known.
        assert_eq!(news(false, &[1, 2, 3, 4, 1, 6]), [6]);
    }

    #[test]
    fn conversations_go_on_side_by_side_and_the_oldest_are_forgotten() {
        let mut history = History::default();
        assert_eq!(news(&mut history, false, &[1, 2]), [1, 2]);
        let main = history.root();
        assert_eq!(news(&mut history, false, &[7]), [7]);
        assert_ne!(history.root(), main);
        // The answer to the first comes behind the request of the second.
        history.answer(3);
        history.answer(8);
        assert_eq!(news(&mut history, false, &[1, 2, 3, 4]), [4]);
        assert_eq!(history.root(), main);
        assert_eq!(news(&mut history, false, &[7, 8, 9]), [9]);
        for n in 100..1000 {
            assert_eq!(news(&mut history, false, &[n]), [n]);
            assert!(history.talks.len() <= MAX_TALKS);
        }
        assert_eq!(news(&mut history, false, &[1, 2]), [1, 2]);
    }

    #[test]
    fn what_all_conversations_begin_with_makes_them_not_one() {
        let mut history = History::default();
        history.request(&[1, 2], 1);
        for print in [1, 2] {
            history.was_said(print);
        }
        let main = history.root();
        // It is not said again all the same.
        assert_eq!(history.request(&[1, 7], 1), 1);
        assert_ne!(history.root(), main);
    }
}
