//! The sessions of a source that carries several side by side: one is read, the others wait for their next line.

use chat_event::session_id;
use serde_json::Value;

use super::Context;
use super::running::Running;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place};
use crate::sides::{Route, Router};

/// Who tells the sessions apart, and those that are not read now.
#[derive(Debug)]
pub(super) struct Beside {
    router: Box<dyn Router>,
    /// The place of the one that is read.
    here: usize,
    /// The others by their places; `None` where `here` is.
    away: Vec<Option<Away>>,
    /// The sessions' own ids, by their places.
    ids: Vec<String>,
    /// The places of the sessions that the router numbers: two that it takes for two may have one id.
    places: Vec<usize>,
    /// That there are too many was said.
    is_full: bool,
}

/// A session that waits.
#[derive(Debug)]
struct Away {
    emitter: Emitter,
    normalizer: Box<dyn Normalizer>,
}

impl Beside {
    /// `session_id` is the first session's.
    pub(super) fn new(router: Box<dyn Router>, session_id: &str) -> Self {
        Beside {
            router,
            here: 0,
            away: vec![None],
            ids: vec![session_id.to_owned()],
            places: vec![0],
            is_full: false,
        }
    }

    /// The place of the session of this number, which may begin.
    fn place_of(&mut self, number: usize) -> usize {
        while self.places.len() <= number {
            let id = session_id::from_native(self.router.name(self.places.len()));
            let known = self.ids.iter().position(|known| *known == id);
            let place = known.unwrap_or(self.ids.len());
            if known.is_none() {
                self.ids.push(id.into_owned());
                self.away.push(None);
            }
            self.places.push(place);
        }
        self.places.get(number).copied().unwrap_or(0)
    }
}

impl Running {
    /// Goes to the session that a value is of; whether it is read.
    pub(super) fn find_session(&mut self, value: &Value, arrival_ms: i64) -> bool {
        let Some(beside) = &mut self.beside else {
            return true;
        };
        let route = beside.router.route(value);
        let before = beside.router.before();
        match route {
            Route::To(number) => self.go_to(number),
            Route::Untold => self.go_to(0),
            Route::Unread(why) => {
                self.emitter.pass_over(why);
                return false;
            }
            Route::LetGo(why) => {
                self.go_to(0);
                self.emitter.begin_line(None);
                self.emitter.unreadable(why, &value.to_string());
                return false;
            }
            Route::OneTooMany => {
                let is_said = std::mem::replace(&mut beside.is_full, true);
                self.go_to(0);
                if !is_said {
                    let text =
                        "the source carries too many sessions: what comes of more is not read";
                    self.emitter.begin_line(None);
                    self.emitter
                        .notice("warning", &Place::default(), "reader", text);
                }
                self.emitter.pass_over("event of one session too many");
                return false;
            }
        }
        for early in &before {
            self.tell(early, arrival_ms);
        }
        true
    }

    /// What comes next is of the session of this number, which may begin.
    fn go_to(&mut self, number: usize) {
        if let Some(beside) = &mut self.beside {
            let place = beside.place_of(number);
            self.go_to_place(place);
        }
    }

    fn go_to_place(&mut self, place: usize) {
        let Some(beside) = self.beside.as_mut().filter(|beside| beside.here != place) else {
            return;
        };
        self.emitter.make_untold_edit();
        let waits = beside.away.get_mut(place).and_then(Option::take);
        let mut next = waits.unwrap_or_else(|| Away {
            emitter: self
                .emitter
                .beside(beside.ids.get(place).map_or("", String::as_str)),
            // What was asked, was asked in the first.
            normalizer: (self.dialect.profile().make)(&Context::default()),
        });
        self.emitter.hand_on(&mut next.emitter);
        let left = Away {
            emitter: std::mem::replace(&mut self.emitter, next.emitter),
            normalizer: std::mem::replace(&mut self.normalizer, next.normalizer),
        };
        let here = std::mem::replace(&mut beside.here, place);
        if let Some(before) = beside.away.get_mut(here) {
            *before = Some(left);
        }
    }

    /// Does the same with each session, in the order in which they began.
    pub(super) fn each_session(&mut self, mut act: impl FnMut(&mut Self)) {
        let Some(beside) = &self.beside else {
            return act(self);
        };
        let (here, n_sessions) = (beside.here, beside.away.len());
        for place in 0..n_sessions {
            self.go_to_place(place);
            act(self);
        }
        self.go_to_place(here);
    }
}
