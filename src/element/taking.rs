//! Taking what comes: events, long bodies, how far reading is, the end, and what went wrong.

use std::rc::Rc;

use leptos::prelude::*;

use super::{FeedElement, NOTHING, Streams};
use crate::components::bar::{Note, Reading};
use crate::components::find::Elsewhere;
use crate::components::reading::READING;
use crate::platform::dom::{self, Member};
use crate::platform::frame;
use crate::platform::stream::Blob;
use crate::transport::again::Origin;
use crate::transport::kept::{Doors, NAMED};
use crate::transport::{Failure, Progress, Sink, Update, bytes};

/// A short log is shown from its end when it took no longer than this to read.
const SHORT_LOG_MS: f64 = 150.0;

/// Of what takes longer to read it is said in words how far reading is.
const LONG_MS: f64 = 500.0;

/// How often it is said how far reading is.
const PROGRESS_MS: f64 = 100.0;

/// What is said where reading broke off.
const SHOWN_BELOW: &str = "What was read before is shown below.";

/// What is said where a script has given something for a while, and no event came of it.
const NO_EVENTS: &str = "Nothing to show yet";

/// What is said where a link leads nowhere: to no event, or to one that has no row.
const NO_ROW: &str = "No row of this session shows the event that the link leads to";

impl FeedElement {
    pub(super) fn sink(&self) -> Sink {
        let me = self.me.clone();
        Rc::new(move |update| {
            if let Some(me) = me.upgrade() {
                me.take(update);
            }
        })
    }

    pub(super) fn take(&self, update: Update) {
        match update {
            Update::Soon => self.view.hold(SHORT_LOG_MS),
            Update::Clear => {
                if self.state.get() == "error" {
                    // What was not there has begun.
                    self.view.bar.note.set(None);
                    dom::toggle_attribute(&self.host, NOTHING, false);
                }
                // All of it comes again, and none of it is news.
                if matches!(self.state.get(), "live" | "error") {
                    self.set_state("loading");
                }
                self.empty();
                self.heard.set(false);
                self.kept.borrow().clear();
                // The server says what is allowed where that changes, and it has not.
                self.offer_answers();
            }
            Update::Bodies(stretch, doors) => self.keep(stretch, doors),
            Update::Events(events) => {
                let came = !events.is_empty();
                self.store.apply(&events);
                bytes::give_back(events);
                // Who pushes does not say whether more comes, but what is pushed may.
                self.go_on_given(came);
            }
            Update::Heard(told, hear, broken) => {
                self.heard.set(true);
                let heard = self
                    .store
                    .hear(|renderer, patches| hear(renderer, told, patches));
                broken.set(heard.is_err());
            }
            Update::Progress(progress) => self.show_progress(progress),
            Update::Connection(connection) => self.show_connection(&connection),
            Update::MayAnswer(may_answer) => {
                self.may_answer.set(may_answer);
                self.offer_answers();
            }
            Update::CaughtUp => {
                self.view.settle();
                if self.set_state("live") {
                    self.go_on(true);
                    self.tell("af-ready", &[]);
                }
            }
            Update::End => {
                self.end();
            }
            Update::Stopped(failure) => {
                if self.end() {
                    self.tell_failure(&failure, "");
                }
            }
            // Where it broke off, that is what counts.
            Update::NoEvents if self.state.get() == "error" => {}
            Update::NoEvents => self.view.bar.note.set(Some(Note {
                what: NO_EVENTS.to_owned(),
                more: "What was given so far has no event that can be read. It is read on."
                    .to_owned(),
            })),
            Update::Lacks(lack) => self.view.bar.lacks.add(lack),
            // Another token has come while the first was asked with.
            Update::Failed(failure) if failure.refused && self.has_other_token() => {
                self.open_soon();
            }
            Update::Failed(failure) => {
                // What could not be read is no session that more can be added to.
                self.refused.set(self.pushed.borrow_mut().take().is_some());
                let known = self.store.event_count() > 0 || self.answers_to.borrow().is_some();
                self.fail(&failure);
                // Who heard of it may have shown something else at once.
                if known && self.state.get() == "error" {
                    self.set_connection("error", failure.word);
                }
                self.may_answer.set(false);
                self.offer_answers();
            }
        }
        self.tell_session();
    }

    /// The next long bodies of the log that is read; with the first of them others can be asked for.
    fn keep(&self, stretch: Blob, doors: Doors) {
        let kept = self.kept.borrow();
        if kept.is_empty() {
            let (fetch, show) = doors(kept.clone());
            self.view.context.wholes.fetch_by(Some(fetch), NAMED);
            self.view.context.search_by(Some(Elsewhere::Bodies(show)));
        }
        kept.add(stretch);
    }

    /// The log is at its end, or as far as it is shown; false where another session has begun when that was told.
    fn end(&self) -> bool {
        let is_read = self.is_read();
        self.store.end_of_log();
        self.view.bar.progress.set(None);
        self.view.bar.away.set(None);
        // A log opens at its end, for reading, unless the reader is already somewhere.
        if self.follows() && !self.view.reader_moved() {
            self.view.set_following(true);
        }
        self.view.settle();
        if !self.set_state("ready") {
            return false;
        }
        self.begin_once(is_read);
        self.go_on(true);
        let outcome = self
            .store
            .outcome()
            .map(|outcome| ("outcome", Member::Text(outcome)));
        self.tell("af-ready", outcome.as_slice())
    }

    pub(super) fn show_progress(&self, progress: Progress) {
        self.progress.set(progress);
        let now_ms = frame::now_ms();
        if now_ms - self.reading_since_ms.get() > LONG_MS {
            READING.fetch();
        }
        if now_ms - self.progress_told_ms.get() < PROGRESS_MS {
            return;
        }
        self.progress_told_ms.set(now_ms);
        // Whatever a header claims.
        let percent = |of_bytes| progress.n_read.saturating_mul(100).checked_div(of_bytes);
        let percent = progress.of_bytes.and_then(percent).unwrap_or(0);
        self.view.bar.progress.set(Some(Reading {
            percent: percent.min(100),
            n_read: progress.n_read,
            of_bytes: progress.of_bytes,
            fits: progress.fits,
            n_events: self.store.event_count().into(),
        }));
    }

    /// Goes where a link leads, once that is here; at the end of what is known it is given up.
    pub(super) fn go_on(&self, known_to_end: bool) {
        let Some(event_id) = self.going_to.borrow().clone() else {
            return;
        };
        self.go_to_its_moment(&event_id);
        let found = self.view.context.go_to_id(&event_id);
        if found || known_to_end {
            self.going_to.borrow_mut().take();
        }
        if found {
            self.take_back(NO_ROW);
        } else if known_to_end {
            self.view.bar.note.set(Some(Note {
                what: NO_ROW.to_owned(),
                more: event_id,
            }));
        }
    }

    /// It holds no longer.
    fn take_back(&self, what: &str) {
        let note = &self.view.bar.note;
        let is_it = |note: &Option<Note>| note.as_ref().is_some_and(|it| it.what == what);
        if note.with_untracked(is_it) {
            note.set(None);
        }
    }

    /// Goes on with what a script gave, as far as that is here; at its end it is played as the page asks. `came` says that
    /// events have just come.
    pub(super) fn go_on_given(&self, came: bool) {
        if self.pushed.borrow().is_none() {
            return;
        }
        if came {
            self.take_back(NO_EVENTS);
        }
        let (is_all_here, is_read) = (self.is_all_here(), self.is_read());
        // For a stream that gave no event nobody waits any more; one that broke off says so, until more comes.
        let is_empty = self.store.event_count() == 0;
        if came || (is_all_here && self.state.get() != "error") {
            let state = match self.has_ended() {
                true => "ended",
                // Nothing goes on that has not begun.
                false if is_empty => "ready",
                false => "live",
            };
            // The first of it is here, or there is none.
            let is_ready = self.told_ready.replace(true);
            if !self.set_state(state) || (!is_ready && !self.tell("af-ready", &[])) {
                return;
            }
        }
        self.store.set_more_comes(!is_all_here);
        if is_all_here && !is_empty && !self.has_begun.get() {
            self.view.settle();
            // The player has yet to hear of what has just come.
            self.store.set_goes_on(!self.has_ended());
            self.begin_once(is_read);
        }
        self.go_on(is_all_here);
    }

    /// The streams that a script gave are at their end: where nothing came of them it is known by now why.
    pub(super) fn end_given(&self) {
        let pushed = self.pushed.borrow().clone();
        let waits = self.state.get() != "error";
        match pushed.filter(|_| waits).map(|pushed| pushed.finish()) {
            Some(Ok(events)) if !events.is_empty() => self.take(Update::Events(events)),
            Some(Err(failure)) => self.take(Update::Failed(failure)),
            _ => self.go_on_given(false),
        }
    }

    /// Whether the reader is somewhere in the session already.
    pub(super) fn is_read(&self) -> bool {
        self.view.reader_moved() || self.store.looks_back()
    }

    /// Plays what is all here as the page asks: once, and not for who was reading it by then.
    pub(super) fn begin_once(&self, is_read: bool) {
        if !self.has_begun.replace(true) && !is_read {
            self.begin_playing();
        }
    }

    /// Whether nothing more is known to come of what a script gave; of all else it is said by how it stands.
    pub(super) fn is_all_here(&self) -> bool {
        match &*self.pushed.borrow() {
            None => true,
            Some(pushed) if pushed.waits() => false,
            Some(_) => match self.streams.get() {
                Streams::None => self.has_ended(),
                Streams::Open => false,
                Streams::Done => true,
            },
        }
    }

    /// Whether the session has ended, whatever moment is shown.
    fn has_ended(&self) -> bool {
        self.store.whole(|feed, _| feed.session().ended.is_some())
    }

    fn has_other_token(&self) -> bool {
        self.attributes.borrow().names_session()
            && *self.token.borrow() != *self.asked_with.borrow()
    }

    pub(super) fn fail(&self, failure: &Failure) {
        self.view.bar.progress.set(None);
        self.view.bar.away.set(None);
        let known = self.store.event_count() > 0;
        if !known {
            // Nothing is shown, so nothing is replayed.
            self.set_connection("", "");
        }
        dom::toggle_attribute(&self.host, NOTHING, !known);
        if self.set_state("error") {
            let shown = if known { SHOWN_BELOW } else { "" };
            self.tell_failure(failure, shown);
        }
    }

    fn tell_failure(&self, failure: &Failure, shown: &str) {
        let more = [&*failure.next, shown].into_iter();
        let more: Vec<&str> = more.filter(|text| !text.is_empty()).collect();
        let mut what = failure.what.clone();
        if failure.no_session
            && let Some(Origin::Files(files)) = &*self.origin.borrow()
            && let [(path, _)] = files.as_slice()
        {
            let name = path.rsplit('/').next().unwrap_or(path);
            what = format!("“{name}” is {what}");
        }
        let detail = dom::object_of(&[
            ("message", Member::Text(&what)),
            ("refused", Member::Is(failure.refused)),
        ]);
        let note = Some(Note {
            what,
            more: more.join(" "),
        });
        // It stands before the event: who hears that may open something else, which takes it away.
        self.view.bar.note.set(note.clone());
        // A page that tells its reader itself takes the event over.
        if !dom::asks_leave(&self.host, "af-error", &detail)
            && self.view.bar.note.get_untracked() == note
        {
            self.view.bar.note.set(None);
        }
    }
}
