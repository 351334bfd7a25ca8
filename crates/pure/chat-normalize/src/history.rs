//! What was said so far, for APIs whose every request says the whole conversation again.
//!
//! Only fingerprints are kept: of what a request holds, that which stands at the same place as before is not said again.
//! A program may have several conversations at a time (a title is asked for, a sub-agent works): a request goes on with
//! that of the last few of which it says the most, and one that turns off leaves the other as it was.
//!
//! What a program puts before its conversations, such as a system message with the time in it, may be another in each
//! request. It is held apart: what stands behind it tells which conversation it is.

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
    /// What the request leads with and did not yet ask about: whether it was said before.
    leads: VecDeque<bool>,
    /// Where behind that the request stands.
    at: usize,
    n_talks: u64,
}

/// A request that says the conversation from its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// Of all that it says.
    pub(crate) prints: &'a [u64],
    /// How many of them lead: any conversation of the program may begin with them.
    pub(crate) n_leading: usize,
    /// How many stand between those and the first answer.
    pub(crate) n_prompts: usize,
}

#[derive(Debug, Default)]
struct Talk {
    /// The same in all that turned off from one.
    root: u64,
    leading: Vec<u64>,
    /// What stands behind that.
    said: Vec<Said>,
}

#[derive(Clone, Copy, Debug)]
struct Said {
    print: u64,
    /// It came as an answer, not in a request.
    answered: bool,
}

impl<'a> Request<'a> {
    fn leading(&self) -> &'a [u64] {
        self.prints.get(..self.n_leading).unwrap_or_default()
    }

    /// What stands behind that which leads.
    pub(crate) fn body(&self) -> &'a [u64] {
        self.prints.get(self.n_leading..).unwrap_or_default()
    }

    /// How much of what stands behind that which leads the talk said, where the request is of that conversation.
    fn n_said_of(&self, talk: &Talk) -> Option<usize> {
        let body = self.body();
        let pairs = talk.said.iter().zip(body);
        let n_same = pairs.take_while(|(said, print)| said.print == **print);
        let n_same = n_same.count();
        let is_of = if talk.leading == self.leading() {
            n_same > 0 || body.is_empty()
        } else {
            // Another task may begin with the same prompt: an answer tells, or that nothing but the prompt was heard of it.
            let is_whole = n_same == talk.said.len() && body.len() > n_same;
            n_same > self.n_prompts || (is_whole && n_same > 0 && n_same == self.n_prompts)
        };
        is_of.then_some(n_same)
    }
}

impl History {
    /// A request begins. How many of those behind what leads it were said.
    pub(crate) fn request(&mut self, request: Request<'_>) -> usize {
        self.at = 0;
        self.leads.clear();
        if request.prints.is_empty() {
            return 0;
        }
        let leading = request.leading();
        let of_talk = |(at, talk): (usize, &Talk)| {
            let n_same = request.n_said_of(talk)?;
            Some((n_same, talk.leading == leading, at))
        };
        // Of two that say as much the one that began alike, or was of use last.
        let best = self.talks.iter().enumerate().filter_map(of_talk).max();
        let known = match best {
            Some((_, _, at)) => self.talks.get(at).map(|talk| talk.leading.as_slice()),
            None => {
                let talks = self.talks.iter().map(|talk| talk.leading.as_slice());
                talks.max_by_key(|known| n_alike(known, leading))
            }
        };
        let known = known.unwrap_or_default();
        let was_led = leading.iter().enumerate();
        let was_led = was_led.map(|(at, print)| known.get(at) == Some(print));
        self.leads = was_led.collect();
        let (mut root, mut said) = (None, Vec::new());
        if let Some((n_same, _, at)) = best
            && let Some(talk) = self.talks.get(at)
        {
            root = Some(talk.root);
            if talk.said.len() == n_same {
                said = self.talks.remove(at).unwrap_or_default().said;
            } else {
                said.extend_from_slice(talk.said.get(..n_same).unwrap_or_default());
            }
        }
        let root = root.unwrap_or_else(|| {
            self.n_talks += 1;
            self.n_talks
        });
        if self.talks.len() >= MAX_TALKS {
            self.talks.pop_front();
        }
        let leading = leading.to_vec();
        let n_said = said.len();
        self.talks.push_back(Talk {
            root,
            leading,
            said,
        });
        n_said
    }

    /// A request begins that says only what is new behind the conversation that went on last.
    pub(crate) fn goes_on(&mut self) {
        self.leads.clear();
        self.at = self.n_behind();
    }

    /// What tells the conversation that goes on from those that share nothing with it.
    pub(crate) fn root(&self) -> u64 {
        self.talks.back().map_or(0, |talk| talk.root)
    }

    /// Whether what a request holds next was said before; from the first that was not, all of it is new. `leads`: a
    /// conversation may begin with it, and so may any other.
    pub(crate) fn was_said(&mut self, print: u64, leads: bool) -> bool {
        if let Some(was_said) = self.leads.pop_front() {
            return was_said;
        }
        let at = self.at;
        let talk = self.talk();
        if talk.said.get(at).is_some_and(|said| said.print == print) {
            self.at += 1;
            return true;
        }
        talk.said.truncate(at);
        // An answer that came behind another conversation's request was noted there.
        let strayed = self.take_stray(print);
        self.say(print, leads);
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
        let n_leading = self.talks.back().map_or(0, |talk| talk.leading.len());
        n_leading + self.n_behind()
    }

    fn n_behind(&self) -> usize {
        self.talks.back().map_or(0, |talk| talk.said.len())
    }

    /// Something is said behind all that is known; `leads` as in [`History::was_said`].
    pub(crate) fn say(&mut self, print: u64, leads: bool) {
        let talk = self.talk();
        if leads && talk.said.is_empty() {
            talk.leading.push(print);
        } else {
            self.push(print, false);
        }
    }

    /// Something is said behind all that is known, by an answer.
    pub(crate) fn answer(&mut self, print: u64) {
        self.push(print, true);
    }

    fn push(&mut self, print: u64, answered: bool) {
        let talk = self.talk();
        talk.said.push(Said { print, answered });
        self.at = self.n_behind();
    }

    fn talk(&mut self) -> &mut Talk {
        if self.talks.is_empty() {
            self.talks.push_back(Talk::default());
        }
        let last = self.talks.len() - 1;
        &mut self.talks[last]
    }
}

/// How many of both are the same from the start.
fn n_alike(a: &[u64], b: &[u64]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request that its first `n_leading` lead, and behind them one prompt.
    fn led_by(prints: &[u64], n_leading: usize) -> Request<'_> {
        let n_prompts = 1;
        Request {
            prints,
            n_leading,
            n_prompts,
        }
    }

    /// As [`news`], of a request that its first lead.
    fn news_behind_lead(history: &mut History, request: &[u64]) -> Vec<u64> {
        history.request(led_by(request, 1));
        let new = request
            .iter()
            .filter(|item| !history.was_said(**item, false));
        new.copied().collect()
    }

    fn news(history: &mut History, goes_on: bool, request: &[u64]) -> Vec<u64> {
        if goes_on {
            history.goes_on();
        } else {
            history.request(led_by(request, 0));
        }
        let new = request
            .iter()
            .filter(|item| !history.was_said(**item, false));
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
        assert_eq!(news_behind_lead(&mut history, &[1, 2]), [1, 2]);
        let main = history.root();
        // It is not said again all the same.
        assert_eq!(news_behind_lead(&mut history, &[1, 7]), [7]);
        assert_ne!(history.root(), main);
    }

    #[test]
    fn a_conversation_goes_on_whatever_leads_it() {
        let mut history = History::default();
        assert_eq!(news_behind_lead(&mut history, &[91, 2]), [91, 2]);
        let main = history.root();
        history.answer(3);
        assert_eq!(news_behind_lead(&mut history, &[92, 2, 3, 4]), [92, 4]);
        assert_eq!(news_behind_lead(&mut history, &[92, 2, 3, 4, 5]), [5]);
        assert_eq!(news_behind_lead(&mut history, &[93, 2, 3, 6]), [93, 6]);
        assert_eq!(history.root(), main);
        assert_eq!(history.len(), 4);
        // With the same prompt alone another task may begin, and that goes on by itself.
        assert_eq!(news_behind_lead(&mut history, &[94, 2]), [94, 2]);
        assert_ne!(history.root(), main);
        history.answer(7);
        assert_eq!(news_behind_lead(&mut history, &[94, 2, 7, 8]), [8]);
        assert_ne!(history.root(), main);
        assert_eq!(news_behind_lead(&mut history, &[95, 2, 3, 6, 9]), [95, 9]);
        assert_eq!(history.root(), main);
    }

    #[test]
    fn of_requests_without_their_answers_the_prompt_tells() {
        let mut history = History::default();
        assert_eq!(news_behind_lead(&mut history, &[91, 2]), [91, 2]);
        assert_eq!(news_behind_lead(&mut history, &[92, 2, 3, 4]), [92, 3, 4]);
        // Messages that stood by themselves, and the request that says them all.
        let mut history = History::default();
        history.say(1, true);
        history.say(2, false);
        history.answer(3);
        assert_eq!(history.len(), 3);
        assert_eq!(news_behind_lead(&mut history, &[1, 2, 3, 4]), [4]);
    }
}
