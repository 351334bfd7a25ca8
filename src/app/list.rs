//! The server's list of sessions: whether it is asked for, and what it tells.

use std::rc::Rc;

use chat_feed::sessions::Rows;
use leptos::prelude::*;

use super::Page;
use crate::platform::{clock, dom, location};
use crate::transport::list::{self, ListUpdate};

/// What says in the page that its server has sessions: any other is not asked, because browsers write each refusal down.
const SESSIONS: &str = "data-sessions";

impl Page {
    /// Follows it, where the server has one.
    pub(super) fn follow_list(self: &Rc<Self>) {
        let Some(server) = self.server() else {
            return self.take(ListUpdate::Absent);
        };
        let mut asked_for = ["session", "sessions"].into_iter();
        let is_asked_for = asked_for.any(|name| location::fragment(name).is_some());
        if !dom::page_says(SESSIONS) && server.token.is_none() && !is_asked_for {
            return self.take(ListUpdate::Absent);
        }
        let page = Rc::downgrade(self);
        let known = self.state.rows.with_untracked(Rows::ids);
        let following = list::follow(
            server,
            known,
            Rc::new(move |update| {
                if let Some(page) = page.upgrade() {
                    page.take(update);
                }
            }),
        );
        *self.following.borrow_mut() = Some(following);
    }

    fn take(&self, update: ListUpdate) {
        let state = self.state;
        let alone = matches!(update, ListUpdate::Absent);
        if state.alone.get_untracked() != alone {
            state.alone.set(alone);
        }
        match update {
            ListUpdate::Rows(changed, gone) => {
                state.now_ms.set(clock::server_ms());
                let is_open = self.is_one_open(changed.iter().map(|row| row.id.as_str()));
                let is_back = state.rows.with_untracked(|rows| {
                    let new = changed.iter().filter(|row| rows.get(&row.id).is_none());
                    self.is_one_open(new.map(|row| row.id.as_str()))
                });
                state.rows.update(|rows| rows.take(changed, &gone));
                if is_open {
                    self.look();
                    self.write_title();
                }
                if is_back {
                    self.open_again();
                }
            }
            ListUpdate::Server {
                follows,
                may_answer,
                may_remove,
                now_ms,
            } => {
                if let Some((now_ms, asked_ms)) = now_ms {
                    clock::learn_server_ms(now_ms, asked_ms);
                    state.now_ms.set(clock::server_ms());
                }
                state.follows.set(follows);
                state.may_answer.set(may_answer);
                state.may_remove.set(may_remove);
            }
            ListUpdate::Connection(connection) => state.connection.set(Some(connection)),
            ListUpdate::Refused => self.refuse(),
            ListUpdate::Absent => state.connection.set(None),
        }
    }
}
