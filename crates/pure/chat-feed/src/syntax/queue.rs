//! Which text is coloured next, what is kept, and which language is too slow: the decisions, without the worker.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use chat_event::StableHash;

use super::{COLOURED_BYTES, COLOURED_LINES, Span};

/// Answers kept: as many bytes of their texts. Spans take some times as much.
const KEPT_BYTES: usize = 2 * 1024 * 1024;

/// Texts waiting at once; a reader who scrolls past more has left the first ones.
const WAITING: usize = 400;

/// A text in a language, by a hash of both.
pub type TextKey = u64;

/// Spans by line; empty where the text stays plain.
pub type Lines = Rc<Vec<Vec<Span>>>;

/// A text to be coloured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// By which it is found again.
    pub key: TextKey,
    /// The grammar.
    pub language: &'static str,
    /// The text.
    pub text: Rc<str>,
}

/// Texts that wait, one that is being coloured, and answers.
#[derive(Debug, Default)]
pub struct Queue {
    seen: VecDeque<Job>,
    near: VecDeque<Job>,
    running: Option<Job>,
    kept: BTreeMap<TextKey, (Lines, usize)>,
    /// Keys of `kept`, oldest first.
    ages: VecDeque<TextKey>,
    kept_bytes: usize,
    slow: BTreeSet<&'static str>,
}

impl Queue {
    /// The key of a text in a language.
    pub fn key(language: &str, text: &str) -> TextKey {
        // A clash could only colour a text with spans that do not fit it, and those are refused where they are drawn.
        let mut hash = StableHash::default();
        for bytes in [language.as_bytes(), &[0], text.as_bytes()] {
            hash.take(bytes);
        }
        hash.value()
    }

    /// The answer, where it is known; else the text is asked for: before others when it is on the screen, at most once.
    pub fn ask(&mut self, job: Job, on_screen: bool) -> Option<Lines> {
        if let Some((lines, _)) = self.kept.get(&job.key) {
            return Some(lines.clone());
        }
        let too_long = job.text.len() > COLOURED_BYTES
            || job.text.bytes().filter(|&byte| byte == b'\n').count() >= COLOURED_LINES;
        if too_long || self.slow.contains(job.language) {
            return Some(Lines::default());
        }
        if self
            .running
            .as_ref()
            .is_some_and(|running| running.key == job.key)
        {
            return None;
        }
        self.seen.retain(|waiting| waiting.key != job.key);
        self.near.retain(|waiting| waiting.key != job.key);
        let line = if on_screen {
            &mut self.seen
        } else {
            &mut self.near
        };
        line.push_back(job);
        if line.len() > WAITING {
            line.pop_front();
        }
        None
    }

    /// The next text, where none is being coloured.
    pub fn begin(&mut self) -> Option<Job> {
        if self.running.is_some() {
            return None;
        }
        self.running = self.seen.pop_front().or_else(|| self.near.pop_front());
        self.running.clone()
    }

    /// Nobody waits any longer for what is being coloured.
    pub fn pass(&mut self) {
        self.running = None;
    }

    /// Whether any text waits.
    pub fn has_waiting(&self) -> bool {
        !self.seen.is_empty() || !self.near.is_empty()
    }

    /// What is being coloured.
    pub fn running(&self) -> Option<&Job> {
        self.running.as_ref()
    }

    /// The answer to what is being coloured; `None` leaves it plain. Returns its key.
    pub fn answer(&mut self, lines: Option<Vec<Vec<Span>>>) -> Option<TextKey> {
        let job = self.running.take()?;
        let lines = Rc::new(lines.unwrap_or_default());
        self.kept_bytes += job.text.len();
        self.kept.insert(job.key, (lines, job.text.len()));
        self.ages.push_back(job.key);
        while self.kept_bytes > KEPT_BYTES && self.ages.len() > 1 {
            let oldest = self.ages.pop_front();
            if let Some((_, n_bytes)) = oldest.and_then(|key| self.kept.remove(&key)) {
                self.kept_bytes -= n_bytes;
            }
        }
        Some(job.key)
    }

    /// What is being coloured took too long: its language is plain from here on. Returns the keys of all texts in it.
    pub fn too_slow(&mut self) -> Vec<TextKey> {
        let Some(job) = self.running.take() else {
            return Vec::new();
        };
        self.slow.insert(job.language);
        let mut keys = vec![job.key];
        for line in [&mut self.seen, &mut self.near] {
            line.retain(|waiting| {
                let slow = waiting.language == job.language;
                if slow {
                    keys.push(waiting.key);
                }
                !slow
            });
        }
        keys
    }

    /// Nobody colours: all that wait stay plain. Returns their keys.
    pub fn give_up(&mut self) -> Vec<TextKey> {
        let running = self.running.take();
        let waiting = self.seen.drain(..).chain(self.near.drain(..));
        running
            .into_iter()
            .chain(waiting)
            .map(|job| job.key)
            .collect()
    }

    /// Nothing breaks its own promises; for tests.
    pub fn check(&self) {
        assert_eq!(self.kept.len(), self.ages.len());
        let n_bytes: usize = self.kept.values().map(|(_, n_bytes)| n_bytes).sum();
        assert_eq!(n_bytes, self.kept_bytes);
        assert!(self.seen.len() <= WAITING && self.near.len() <= WAITING);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(language: &'static str, text: &str) -> Job {
        Job {
            key: Queue::key(language, text),
            language,
            text: text.into(),
        }
    }

    #[test]
    fn what_is_on_the_screen_comes_first_and_each_text_once() {
        let mut queue = Queue::default();
        assert_eq!(queue.ask(job("rust", "near"), false), None);
        assert_eq!(queue.ask(job("rust", "seen"), true), None);
        assert_eq!(queue.ask(job("rust", "seen"), true), None);
        assert_eq!(queue.begin(), Some(job("rust", "seen")));
        assert_eq!(queue.begin(), None, "one at a time");
        assert_eq!(queue.ask(job("rust", "seen"), true), None);
        let spans = vec![vec![(0..1, super::super::Class::Keyword)]];
        queue.answer(Some(spans.clone()));
        assert_eq!(
            queue.ask(job("rust", "seen"), true).as_deref(),
            Some(&spans)
        );
        assert_eq!(queue.begin(), Some(job("rust", "near")));
        queue.check();
    }

    #[test]
    fn a_language_that_takes_too_long_is_plain_from_then_on() {
        let mut queue = Queue::default();
        for (language, text) in [("rust", "a"), ("rust", "b"), ("go", "c")] {
            queue.ask(job(language, text), true);
        }
        queue.begin();
        assert_eq!(
            queue.too_slow(),
            [job("rust", "a").key, job("rust", "b").key]
        );
        assert_eq!(queue.ask(job("rust", "d"), true), Some(Lines::default()));
        assert_eq!(queue.begin(), Some(job("go", "c")));
        queue.check();
    }

    #[test]
    fn long_texts_stay_plain_and_answers_are_bounded() {
        let mut queue = Queue::default();
        let long = "x\n".repeat(COLOURED_LINES + 1);
        assert_eq!(queue.ask(job("rust", &long), true), Some(Lines::default()));
        for n in 0..10 {
            let text = format!("{n}{}", "x".repeat(COLOURED_BYTES - 1));
            assert_eq!(queue.ask(job("rust", &text), true), None);
            queue.begin();
            queue.answer(None);
            queue.check();
        }
        assert!(queue.kept_bytes <= KEPT_BYTES);
        assert!(
            queue
                .ask(
                    job("rust", &format!("0{}", "x".repeat(COLOURED_BYTES - 1))),
                    true
                )
                .is_none()
        );
    }
}
