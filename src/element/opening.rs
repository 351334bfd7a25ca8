//! Opening what the attributes say: a log that is read, or a session of a server that is followed.

use std::rc::{Rc, Weak};

use leptos::prelude::*;

use super::{FeedElement, NOTHING};
use crate::components::around::AROUND;
use crate::components::find::{AskServer, Elsewhere, Page};
use crate::components::whole::FetchBody;
use crate::platform::save::Pieces;
use crate::platform::{dom, frame, location};
use crate::transport::again::Origin;
use crate::transport::link::Server;
use crate::transport::live::{LIVE, Live};
use crate::transport::{Failure, Limits, Running, Update, replay};

/// The memory that a log may fill, in MB, where less is not said; a page takes it, and its worker while it reads.
// A program has 4 GiB, and a text that fills all of it takes twice as much again when it grows.
const MEMORY_MB: u64 = 1_400;

impl FeedElement {
    /// Opens what the attributes say, after all that change now have changed.
    pub(super) fn open_soon(&self) {
        if self.opening.replace(true) {
            return;
        }
        let me = self.me.clone();
        wasm_bindgen_futures::spawn_local(async move {
            if let Some(me) = me.upgrade() {
                me.opening.set(false);
                me.open();
            }
        });
    }

    fn open(&self) {
        let (src, session, endpoint) = {
            let attributes = self.attributes.borrow();
            let src = attributes.src.clone();
            (
                src.filter(|_| !attributes.names_session()),
                attributes.session.clone(),
                attributes.endpoint.clone(),
            )
        };
        if let Some(src) = src {
            if !self.begin_reading() {
                return;
            }
            let token = self.token.borrow().clone().filter(|_| {
                // The token is for the server the page came from and for no other.
                location::resolve(&src).is_some_and(|address| location::is_same_origin(&address))
            });
            let Some(address) = location::resolve(&src) else {
                let what = format!("could not load the session: no address: {src}");
                return self.fail(&Failure::new(what, "Correct the attribute src."));
            };
            self.view.context.opened.begin(address.clone());
            *self.origin.borrow_mut() = Some(Origin::Address(address.clone(), token.clone()));
            let running = replay::of_address(address, token, self.limits(), self.sink());
            *self.running.borrow_mut() = Some(running);
            self.attend();
        } else if let Some(session) = session {
            if !self.begin() {
                return;
            }
            let token = self.token.borrow().clone();
            self.asked_with.borrow_mut().clone_from(&token);
            let Some(server) = Server::new(endpoint.as_deref(), token) else {
                let named = endpoint.unwrap_or_default();
                let what = format!("could not reach a server: no address of one: {named}");
                return self.fail(&Failure::new(what, "Correct the attribute endpoint."));
            };
            self.view.context.opened.begin(server.route(&session));
            let origin = Origin::Session(server.clone(), session.clone());
            *self.origin.borrow_mut() = Some(origin);
            let (me, sink) = (self.me.clone(), self.sink());
            *self.running.borrow_mut() = Some(Running::begin(async move {
                let live = LIVE.needed(|lack| sink(Update::Lacks(lack))).await;
                if let Some(me) = me.upgrade() {
                    me.follow_session(live, server, session);
                }
            }));
        } else if !self.is_given()
            && (self.origin.borrow().is_some() || self.state.get() == "error")
        {
            self.show_nothing();
        }
    }

    /// Whether what is shown was handed over by a script, and not named by the attributes.
    fn is_given(&self) -> bool {
        let pushed = self.pushed.borrow().is_some();
        pushed || matches!(*self.origin.borrow(), Some(Origin::Files(_)))
    }

    /// A script shows something in the place of what the attributes name: that is opened when it is named again.
    pub(super) fn forget_named(&self) {
        let mut attributes = self.attributes.borrow_mut();
        (attributes.src, attributes.session) = (None, None);
    }

    /// Empties the feed; nothing follows by itself.
    pub(super) fn show_nothing(&self) {
        if self.begin() {
            self.set_connection("", "");
            self.set_state("ready");
        }
    }

    fn follow_session(&self, live: Live, server: Server, session: String) {
        let (me, from, of) = (self.me.clone(), server.clone(), session.clone());
        let fetch: FetchBody = Rc::new(move |event_id, wanted, told| {
            let event_id = event_id.to_owned();
            (live.body)(opened_by(&me, &from), of.clone(), event_id, wanted, told)
        });
        self.view.context.wholes.fetch_by(Some(fetch), "");
        let (me, from, of) = (self.me.clone(), server.clone(), session.clone());
        let ask: AskServer = Rc::new(move |text, how, after| {
            let found = (live.search)(opened_by(&me, &from), of.clone(), text, how, after);
            Box::pin(async move {
                let found = found.await?;
                let ids = found.matches.into_iter().map(|found| found.id);
                Ok(Page {
                    found: ids.collect(),
                    unread: found.unread,
                    next: found.next,
                })
            })
        });
        self.view.context.search_by(Some(Elsewhere::Server(ask)));
        *self.answers_to.borrow_mut() = Some((live, server.clone(), session.clone()));
        let (running, retry) = (live.follow)(server, session, self.sink());
        *self.running.borrow_mut() = Some(running);
        *self.retry.borrow_mut() = Some(retry);
    }

    /// Empties the feed for another session; false where who heard of that had one begin.
    pub(super) fn begin(&self) -> bool {
        let begun = self.n_begun.get().wrapping_add(1);
        self.n_begun.set(begun);
        self.running.borrow_mut().take();
        self.retry.borrow_mut().take();
        self.answers_to.borrow_mut().take();
        self.may_answer.set(false);
        self.pushed.borrow_mut().take();
        self.streams.take();
        self.refused.set(false);
        self.has_begun.set(false);
        self.filtered.set(false);
        self.told_ready.set(false);
        *self.pushed_bytes.borrow_mut() = Pieces::default();
        self.origin.borrow_mut().take();
        self.view.context.close_poster();
        self.empty();
        self.view.context.opened.end();
        self.view.keep_room(false);
        self.kept.take();
        self.view.context.wholes.fetch_by(None, "");
        self.view.context.search_by(None);
        self.view.bar.note.set(None);
        self.view.bar.away.set(None);
        self.view.bar.lacks.sift();
        self.view.bar.progress.set(None);
        self.view.bar.stop.with_value(|stop| stop.set(false));
        dom::toggle_attribute(&self.host, NOTHING, false);
        if !self.set_state("loading") {
            return false;
        }
        self.tell_facts(<[String; 3]>::default());
        self.n_begun.get() == begun
    }

    /// Empties the feed for a log that is read from its top: following it would mount every row on the way to its end. False
    /// as of `begin`.
    pub(super) fn begin_reading(&self) -> bool {
        if !self.begin() {
            return false;
        }
        let begun = self.n_begun.get();
        self.view.keep_room(true);
        self.reading_since_ms.set(frame::now_ms());
        self.progress_told_ms.set(0.0);
        self.progress.take();
        self.heard.set(false);
        self.view.set_following(false);
        self.set_connection("replay", "Replay");
        self.n_begun.get() == begun
    }

    /// Takes all rows out, and from the list at once: the names of rows are given anew from here on.
    pub(super) fn empty(&self) {
        if let Some(around) = AROUND.get() {
            (around.leave)(&self.view.context);
        }
        self.store.clear();
        self.view.context.forget();
        match self.view.list().len() {
            // Where no row stands the page need not be laid out for it.
            0 => self.view.gather(),
            _ => self.view.settle(),
        }
        // An empty list follows what comes, unless it is told not to.
        if !self.follows() {
            self.view.set_following(false);
        }
    }

    /// How much memory the session may fill, and what stops it.
    pub(super) fn limits(&self) -> Limits {
        let attributes = self.attributes.borrow();
        let said = attributes.memory.as_deref();
        let said = said.and_then(|text| text.trim().parse::<u64>().ok());
        Limits {
            most_bytes: said.map_or(MEMORY_MB, |said| said.min(MEMORY_MB)) * 1_000_000,
            stop: self.view.bar.stop.get_value(),
        }
    }
}

/// A server with the token of now: it may have been set anew since the session was opened.
pub(super) fn opened_by(me: &Weak<FeedElement>, server: &Server) -> Server {
    let token = me.upgrade().and_then(|me| me.token.borrow().clone());
    server.with_token(token)
}
