//! A reader that is given all of a log in order: from the file as long as it is behind, then as events are released.
//!
//! It keeps no queue. One that is too slow reads the file again, so nothing is lost and nothing is held for it. What a
//! reader is sent, and in which words, is for `sse`.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use chat_event::ChatEvent;
use chat_store::{Gap, Page, PageRequest};

use crate::error::ApiError;
use crate::live::{Following, Live, Missed};
use crate::told::{self, Bodies, Told};

/// Events that are read from the file at once, and their bytes.
const PAGE_EVENTS: usize = 256;
const PAGE_BYTES: usize = 256 * 1024;

/// Follows one session.
pub(crate) struct Follower {
    live: Arc<Live>,
    following: Following,
    epoch: String,
    bodies: Bodies,
    /// The last number that was given.
    given: u64,
    /// The reader has all up to this number: no event behind it is given in one line with those before.
    place: u64,
    /// Parts of a page that were read and not given yet.
    read: VecDeque<News>,
}

/// What a reader is given next.
#[derive(Debug)]
pub(crate) enum News {
    /// Events without a hole.
    Events(Vec<Entry>),
    /// Numbers whose events cannot be had.
    Gap(Gap),
    /// The log goes on under another epoch: what was given counts no more, and all is given anew.
    Reset,
}

/// One event.
#[derive(Debug)]
pub(crate) enum Entry {
    /// From memory.
    Stored(Arc<Told>, Bodies),
    /// From the file, with its bodies as the follower has them.
    Line { seq: u64, line: String },
}

impl Entry {
    pub(crate) fn seq(&self) -> u64 {
        match self {
            Entry::Stored(stored, _) => stored.seq,
            Entry::Line { seq, .. } => *seq,
        }
    }

    /// Its line, as the follower is given it.
    pub(crate) fn line(&self) -> &str {
        match self {
            Entry::Stored(stored, Bodies::Whole) => &stored.line,
            Entry::Stored(stored, Bodies::Referred) => stored.told_line(),
            Entry::Line { line, .. } => line,
        }
    }

    /// The event itself, as the log has it where the follower is given bodies whole. The log gives only lines that are one.
    pub(crate) fn event(&self) -> Option<Cow<'_, ChatEvent>> {
        match self {
            Entry::Stored(stored, _) => Some(Cow::Borrowed(&stored.event)),
            Entry::Line { line, .. } => ChatEvent::from_json(line).ok().map(Cow::Owned),
        }
    }
}

impl Follower {
    /// Follows from behind `after`, which counts in the session's epoch.
    pub(crate) fn new(live: Arc<Live>, after: u64, bodies: Bodies) -> Self {
        let following = live.follow();
        let (epoch, _, _) = live.position();
        Follower {
            live,
            following,
            epoch,
            bodies,
            given: after,
            place: after,
            read: VecDeque::new(),
        }
    }

    /// The same for a reader who has more than what it follows from behind.
    pub(crate) fn of_reader_at(self, place: u64) -> Self {
        Follower { place, ..self }
    }

    pub(crate) fn epoch(&self) -> &str {
        &self.epoch
    }

    /// The last number that readers may have.
    pub(crate) fn head(&self) -> u64 {
        self.live.position().2
    }

    /// Waits for what comes next. It may be given up half way, and loses nothing.
    ///
    /// # Errors
    ///
    /// Where the disk refuses, or the log is gone.
    pub(crate) async fn next(&mut self) -> Result<News, ApiError> {
        loop {
            if let Some(news) = self.read.pop_front() {
                self.given = match &news {
                    News::Events(entries) => entries.last().map_or(self.given, Entry::seq),
                    News::Gap(gap) => gap.to,
                    News::Reset => self.given,
                };
                return Ok(news);
            }
            // Seen before it is looked for, so that what is released between is waited for no longer.
            self.following.released.borrow_and_update();
            match self.live.next_events(&self.epoch, self.given) {
                Ok(events) if events.is_empty() => {
                    // The sender is part of what we hold, so it does not go.
                    let _ = self.following.released.changed().await;
                }
                Ok(events) => {
                    let entries = events.into_iter();
                    let entries = entries.map(|it| Entry::Stored(it, self.bodies)).collect();
                    self.read.push_back(News::Events(entries));
                }
                Err(Missed::Lag) => self.read_page().await?,
                Err(Missed::Reset) => return Ok(self.begin_anew()),
                Err(Missed::Gone) => return Err(ApiError::removed()),
            }
        }
    }

    async fn read_page(&mut self) -> Result<(), ApiError> {
        let session = self.live.session.clone();
        let request = PageRequest {
            after: self.given,
            limit: PAGE_EVENTS,
            max_bytes: PAGE_BYTES,
        };
        let (bodies, place) = (self.bodies, self.place);
        let reading = move || -> Result<Page, ApiError> {
            let mut page = session.page(request)?;
            if request.after <= place {
                told::part_at(&mut page, request.after, place);
            }
            if bodies == Bodies::Referred {
                told::shorten(&mut page);
            }
            Ok(page)
        };
        let page = tokio::task::spawn_blocking(reading).await??;
        if page.epoch == self.epoch {
            self.read = in_order(page);
        }
        if self.read.is_empty() {
            // The log goes on under another epoch, which we are told of with its next event.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    fn begin_anew(&mut self) -> News {
        self.epoch = self.live.position().0;
        self.given = 0;
        self.place = 0;
        News::Reset
    }
}

/// A page's events and holes, as they follow each other.
fn in_order(page: Page) -> VecDeque<News> {
    let mut gaps = page.gaps.into_iter().peekable();
    let mut news = VecDeque::new();
    let mut entries = Vec::new();
    let lines = page.numbers.into_iter().zip(page.lines);
    for numbered in lines.map(Some).chain([None]) {
        let up_to = numbered.as_ref().map_or(u64::MAX, |(seq, _)| *seq);
        while let Some(gap) = gaps.next_if(|gap| gap.from < up_to) {
            if !entries.is_empty() {
                news.push_back(News::Events(std::mem::take(&mut entries)));
            }
            news.push_back(News::Gap(gap));
        }
        let Some((seq, line)) = numbered else { break };
        entries.push(Entry::Line { seq, line });
    }
    if !entries.is_empty() {
        news.push_back(News::Events(entries));
    }
    news
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_stand_between_the_events_they_were_between() {
        let gap = |from, to| Gap {
            from,
            to,
            why: "disk",
        };
        let page = Page {
            epoch: "e".to_owned(),
            lines: ["a", "b", "c", "d"].map(str::to_owned).to_vec(),
            // The last stands for 11 to 14.
            numbers: vec![6, 7, 9, 14],
            next: 16,
            head: 16,
            oldest: 1,
            gaps: vec![gap(4, 5), gap(8, 8), gap(10, 10), gap(15, 16)],
            lacks_bodies: false,
        };
        let told: Vec<String> = in_order(page)
            .iter()
            .map(|news| match news {
                News::Events(entries) => entries
                    .iter()
                    .map(|entry| format!("{}{}", entry.line(), entry.seq()))
                    .collect(),
                News::Gap(gap) => format!("{}-{}", gap.from, gap.to),
                News::Reset => String::new(),
            })
            .collect();
        assert_eq!(told, ["4-5", "a6b7", "8-8", "c9", "10-10", "d14", "15-16"]);
    }
}
