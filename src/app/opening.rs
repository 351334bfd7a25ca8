//! Opening: what the address says, a session, several, dropped files; what is open is shown, and looked at.

use std::rc::Rc;

use leptos::prelude::*;

use super::{Open, Page, State, first, local, sessions};
use crate::element::NOTHING;
use crate::platform::{clock, dom, folder, location};
use crate::transport::lines;
use crate::transport::readers::READERS;

impl Page {
    pub(super) fn open_from_address(self: &Rc<Self>, opened: first::Opened) {
        if let first::Opened::Log(src) = opened {
            self.show(Open::Other(src));
        } else if let first::Opened::Refused(src) = opened {
            self.state.problem.set(Some(format!(
                "Only logs of this page's own origin are opened: {src}"
            )));
        } else if let Some(address) = location::query("live") {
            self.show(Open::Other(address.clone()));
            let feed = self.feed.clone();
            let socket = lines::of_socket(&address, move |bytes| {
                dom::call_with_bytes(&feed, "append", bytes)
            });
            *self.socket.borrow_mut() = socket;
        } else if let Some(sessions) = location::fragment("sessions") {
            let ids = sessions.split(',').filter(|id| !id.is_empty());
            self.watch(ids.map(str::to_owned).collect());
        } else if let Some(session) = location::fragment("session") {
            // The event stays in the address: it is where the reader is about to be.
            let event = location::fragment("e");
            self.open_session(&session);
            if let Some(event) = event {
                location::set_in_fragment("e", &event);
            }
        }
        self.go_to_address();
    }

    /// Goes to the event that the address names.
    pub(super) fn go_to_address(&self) {
        if let Some(event) = location::fragment("e") {
            dom::call_with_text(&self.feed, "goTo", &event);
        }
    }

    pub(super) fn open_session(&self, session: &str) {
        self.socket.borrow_mut().take();
        self.show(Open::Session(session.to_owned()));
        location::replace_fragment(&[("session", session)]);
        dom::remove_attribute(&self.feed, "src");
        dom::write_attribute(&self.feed, "session", session);
    }

    /// Shows several sessions beside each other; of one that is left, all.
    pub(super) fn watch(&self, mut ids: Vec<String>) {
        let mut known = std::collections::HashSet::new();
        ids.retain(|id| known.insert(id.clone()));
        ids.truncate(sessions::MOST_TOGETHER);
        self.state.chosen.set(Vec::new());
        match ids.as_slice() {
            [] => self.leave(),
            [id] => self.open_session(id),
            ids => {
                self.socket.borrow_mut().take();
                dom::remove_attribute(&self.feed, "src");
                dom::remove_attribute(&self.feed, "session");
                location::replace_fragment(&[("sessions", &ids.join(","))]);
                self.show(Open::Together(ids.to_vec()));
            }
        }
    }

    /// Lists the sessions of dropped files before all others, and opens the only or newest one.
    pub(super) fn take_files(self: &Rc<Self>, dropped: folder::Dropped) {
        let page = self.clone();
        leptos::task::spawn_local(async move {
            let (files, more) = dropped.files().await;
            let problem = page.state.problem;
            let lacks = move |lack| problem.set(Some(format!("{lack}. Drop the files again")));
            let readers = READERS.needed(lacks).await;
            let sessions = local::sessions_of(readers, files);
            let Some(newest) = sessions.first().map(|session| session.name.clone()) else {
                let problem = "There is no session in what was dropped: .jsonl and .json files are read, packed by gzip or zstd too";
                return page.state.problem.set(Some(problem.to_owned()));
            };
            page.state.local.set(sessions);
            page.open_local(&newest);
            if more {
                page.state.problem.set(Some(format!(
                    "Only the first {} files are listed",
                    folder::MOST_FILES
                )));
            }
            local::read_titles(readers, page.state.local).await;
        });
    }

    /// Opens a session of the dropped files.
    pub(super) fn open_local(&self, name: &str) {
        let files = self.state.local.with_untracked(|sessions| {
            let found = sessions.iter().find(|session| session.name == name);
            found.map(|session| session.files.clone())
        });
        let Some(files) = files else { return };
        self.socket.borrow_mut().take();
        self.show(Open::Local(name.to_owned()));
        location::replace_fragment(&[]);
        dom::remove_attribute(&self.feed, "src");
        dom::remove_attribute(&self.feed, "session");
        dom::call_with_files(&self.feed, "load", &files);
    }

    /// Back to where nothing is open.
    pub(super) fn leave(&self) {
        dom::remove_attribute(&self.feed, "session");
        dom::remove_attribute(&self.feed, "src");
        location::replace_fragment(&[]);
        self.show(Open::Nothing);
    }

    /// Where nothing of what is open is shown, other ways are.
    pub(super) fn note_failure(&self) {
        if dom::attribute(&self.feed, NOTHING).is_none() {
            return;
        }
        self.state.failed.set(true);
        if let Open::Local(name) = self.state.open.get_untracked() {
            self.state.local.update(|sessions| {
                let found = sessions.iter_mut().find(|session| session.name == name);
                if let Some(session) = found {
                    session.failed = true;
                }
            });
        }
    }

    fn show(&self, open: Open) {
        self.state.problem.set(None);
        self.state.failed.set(false);
        let is_elsewhere = matches!(open, Open::Nothing | Open::Together(_));
        dom::toggle_attribute(&self.feed, "hidden", is_elsewhere);
        self.title.borrow_mut().take();
        self.write_title();
        self.state.open.set(open);
        self.look();
    }

    /// What is open is seen as it is now.
    pub(super) fn look(&self) {
        let State {
            open, rows, seen, ..
        } = self.state;
        let open = match open.get_untracked() {
            Open::Session(id) => vec![id],
            Open::Together(ids) => ids,
            Open::Nothing | Open::Local(_) | Open::Other(_) => return,
        };
        let now_ms = clock::epoch_ms();
        let mut kept = false;
        seen.update(|seen| {
            rows.with_untracked(|rows| {
                for row in open.iter().filter_map(|id| rows.get(id)) {
                    // While it runs nothing of it is unread, and each event would be written down.
                    let is_news = seen.look(&row.id, row.at_ms());
                    kept |= is_news && !sessions::works(row, now_ms);
                }
            });
        });
        if kept {
            seen.with_untracked(sessions::keep_seen);
        }
    }

    /// Whether one of these sessions is looked at.
    pub(super) fn is_one_open<'a>(&self, mut ids: impl Iterator<Item = &'a str>) -> bool {
        self.state.open.with_untracked(|open| match open {
            Open::Session(open) => ids.any(|id| id == open),
            Open::Together(open) => ids.any(|id| open.iter().any(|open| id == open)),
            Open::Nothing | Open::Local(_) | Open::Other(_) => false,
        })
    }
}
