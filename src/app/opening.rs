//! Opening: what the address says, a session, several, dropped files; what is open is shown, and looked at.

use std::rc::Rc;

use chat_feed::units;
use leptos::prelude::*;

use super::local::LocalSession;
use super::{Open, Page, State, first, local, sessions};
use crate::element::NOTHING;
use crate::platform::{clock, dom, folder, location};
use crate::transport::readers::READERS;

/// Fewer files are listed before anybody could read how far it is.
const MANY_FILES: usize = 500;

impl Page {
    pub(super) fn open_from_address(self: &Rc<Self>, opened: first::Opened) {
        self.go_to_address();
        if let first::Opened::Refused(src) = opened {
            self.state.problem.set(Some(format!(
                "Only logs of this page's own origin are opened: {src}"
            )));
        }
    }

    /// Shows what the address names, and goes to its event: at the start, and when the reader goes back or on.
    pub(super) fn go_to_address(self: &Rc<Self>) {
        if location::fragment("token").is_some()
            && let Some(token) = first::take_token()
        {
            self.connect_with(token);
        }
        let named = self.named_in_address();
        if self.state.open.with_untracked(|open| *open != named) {
            self.enter(named);
        }
        self.find_as_in_address();
        // Of files it is gone to where they are read; of nothing, or of several, there is none.
        let is_one = self
            .state
            .open
            .with_untracked(|open| matches!(open, Open::Session(_) | Open::Address(_)));
        if is_one && let Some(event) = location::fragment("e") {
            self.went.set(true);
            dom::call_with_text(&self.feed, "goTo", &event);
        }
    }

    fn named_in_address(&self) -> Open {
        let is_here = |name: &String| {
            let local = self.state.local;
            local.with_untracked(|local| local.iter().any(|session| session.name == *name))
        };
        if let Some(name) = location::kept().filter(is_here) {
            return Open::Local(name);
        }
        let src = location::query("src").filter(|src| first::address_of_log(src).is_some());
        if let Some(src) = src {
            return Open::Address(src);
        }
        if let Some(sessions) = location::fragment("sessions") {
            let ids = sessions.split(',').filter(|id| !id.is_empty());
            return several(ids.map(str::to_owned).collect());
        }
        location::fragment("session").map_or(Open::Nothing, Open::Session)
    }

    pub(super) fn open_session(&self, session: &str) {
        self.open(Open::Session(session.to_owned()));
    }

    /// Shows several sessions beside each other; of one that is left, all.
    pub(super) fn watch(&self, ids: Vec<String>) {
        self.state.chosen.set(Vec::new());
        self.state.choosing.set(false);
        self.open(several(ids));
    }

    /// Opens what the reader asks for: a step that Back goes back over.
    fn open(&self, open: Open) {
        if self.state.open.with_untracked(|now| *now == open) {
            return self.open_again();
        }
        match &open {
            Open::Session(id) => location::step(&[("session", id)], None),
            Open::Together(ids) => location::step(&[("sessions", &ids.join(","))], None),
            Open::Local(name) => location::step(&[], Some(name)),
            Open::Nothing | Open::Address(_) => location::step(&[], None),
        }
        self.enter(open);
    }

    /// Opens a session anew that could not be read on, as one does not that was removed: it may be back.
    pub(super) fn open_again(&self) {
        let has_failed = dom::attribute(&self.feed, "state").as_deref() == Some("error");
        if let (true, Open::Session(id)) = (has_failed, self.state.open.get_untracked()) {
            dom::write_attribute(&self.feed, "session", &id);
        }
    }

    /// Shows what the address says already.
    fn enter(&self, open: Open) {
        // The moment that an address names is of what it names.
        match location::fragment("t") {
            Some(time) => dom::write_attribute(&self.feed, "start-at", &time),
            None => dom::remove_attribute(&self.feed, "start-at"),
        }
        let was_local = matches!(self.state.open.get_untracked(), Open::Local(_));
        if matches!(open, Open::Local(_)) {
            // Files are looked at before they are read: what is still read by then would be told as theirs.
            dom::call_method(&self.feed, "clear");
        }
        self.show(open.clone());
        if !matches!(open, Open::Session(_)) {
            dom::remove_attribute(&self.feed, "session");
        }
        let src = location::query("src").filter(|_| matches!(open, Open::Address(_)));
        match src.as_deref().and_then(first::address_of_log) {
            // It is read already, or has failed.
            Some(address) if dom::attribute(&self.feed, "src").as_ref() == Some(&address) => {}
            Some(address) => dom::write_attribute(&self.feed, "src", &address),
            None => dom::remove_attribute(&self.feed, "src"),
        }
        match open {
            Open::Session(id) => dom::write_attribute(&self.feed, "session", &id),
            Open::Local(name) => self.load(name),
            // A dropped log may still be read.
            Open::Together(_) | Open::Nothing if was_local => {
                dom::call_method(&self.feed, "clear");
            }
            Open::Address(_) | Open::Together(_) | Open::Nothing => {}
        }
    }

    fn load(&self, name: String) {
        let files = self.state.local.with_untracked(|sessions| {
            let found = sessions.iter().find(|session| session.name == name);
            found.map(|session| session.files())
        });
        let Some(mut files) = files else { return };
        let (feed, open) = (self.feed.clone(), self.state.open);
        leptos::task::spawn_local(async move {
            folder::as_they_are(&mut files).await;
            // Another may be open by now.
            if open.with_untracked(|open| *open == Open::Local(name)) {
                dom::call_with_files(&feed, "load", &files);
                if let Some(event) = location::fragment("e") {
                    dom::call_with_text(&feed, "goTo", &event);
                }
            }
        });
    }

    /// Lists the sessions of dropped files before all others, and opens the newest that can be read; where none can be,
    /// what is open stays.
    pub(super) fn take_files(self: &Rc<Self>, dropped: folder::Dropped) {
        let page = self.clone();
        let nth = page.n_drops.get() + 1;
        page.n_drops.set(nth);
        READERS.fetch();
        leptos::task::spawn_local(async move {
            let said = page.list_files(dropped, nth).await;
            // What was dropped since says how far it is.
            if page.n_drops.get() == nth {
                page.state.looking.set(None);
            }
            if let Err(why) = said {
                page.state.problem.set(Some(why));
            }
            if let Some(readers) = READERS.get() {
                // Whoever comes next reads all that have none.
                let is_newest = || page.n_drops.get() == nth;
                local::read_titles(readers, page.state.local, is_newest).await;
            }
        });
    }

    async fn list_files(&self, dropped: folder::Dropped, nth: u32) -> Result<(), String> {
        let State {
            open,
            failed,
            looking,
            local,
            problem,
            ..
        } = self.state;
        let is_newest = || self.n_drops.get() == nth;
        let tell = |what: &str, n: usize| {
            if n >= MANY_FILES && is_newest() {
                looking.set(Some(format!("{what}: {} so far", units::grouped(n as u64))));
            }
        };
        let looked = dropped.look(|n| tell("Looking through the files", n));
        let mut found = looked.await;
        let readers = READERS.once().await;
        let readers = readers
            .map_err(|why| format!("Could not look for sessions: {why}. Drop the files again."))?;
        let wanted = local::wanted(readers, &mut found).await;
        let listed = found.files(&wanted, |n| tell("Listing the sessions", n));
        let (files, found) = listed.await;
        let mut sessions = local::sessions_of(readers, files).await;
        if sessions.is_empty() {
            return Err(match found.n_unread {
                0 => "There is no session in what was dropped: .jsonl and .json files are read, packed by gzip or zstd too, and pages that Turnreel exported.".to_owned(),
                n => format!("{} of what was dropped cannot be read: the browser may not open it.", files_or_folders(n)),
            });
        }
        let first = match local::first_of(readers, &mut sessions).await {
            Ok(first) => first,
            // Where nothing else is shown it is shown what is wrong with it.
            Err(_) if open.get_untracked() == Open::Nothing || failed.get_untracked() => 0,
            Err(why) => return Err(format!("{why}. What was open stays open.")),
        };
        let mut name = String::new();
        local.update(|listed| {
            local::add(listed, sessions);
            name.clone_from(&listed[first].name);
        });
        // What was dropped last is what somebody wants to see.
        if is_newest() {
            self.open_local(&name);
        }
        let mut left_out = Vec::new();
        if found.more {
            let [most, most_found] =
                [folder::MOST_FILES, folder::MOST_FOUND].map(|n| units::grouped(n as u64));
            left_out.push(format!("Only the first {most} files of sessions are listed, of {most_found} that are looked at."));
        }
        if found.n_unread > 0 {
            let n_unread = files_or_folders(found.n_unread);
            left_out.push(format!("Left out, for they cannot be read: {n_unread}."));
        }
        if !left_out.is_empty() {
            problem.set(Some(left_out.join(" ")));
        }
        Ok(())
    }

    /// Opens a session of the dropped files.
    pub(super) fn open_local(&self, name: &str) {
        let named = Open::Local(name.to_owned());
        match self.state.open.with_untracked(|open| *open == named) {
            // The same name may be of another file by now, and what the address names is of the one before.
            true => {
                location::remove_from_fragment("e");
                location::remove_from_fragment("t");
                self.enter(named);
            }
            false => self.open(named),
        }
    }

    /// Back to where nothing is open.
    pub(super) fn leave(&self) {
        self.open(Open::Nothing);
    }

    /// Where nothing of what is open is shown, other ways are.
    pub(super) fn note_failure(&self) {
        if dom::attribute(&self.feed, NOTHING).is_none() {
            return;
        }
        self.state.failed.set(true);
        self.change_open(LocalSession::fail);
    }

    /// All that is open was read, and its last turn ended so.
    pub(super) fn note_outcome(&self, outcome: Option<String>) {
        // One that was not there has begun.
        if self.state.failed.get_untracked() && dom::attribute(&self.feed, NOTHING).is_none() {
            self.state.failed.set(false);
        }
        self.change_open(|session| session.end(outcome));
    }

    /// Changes the session that is open, where it is of dropped files.
    fn change_open(&self, change: impl FnOnce(&mut LocalSession)) {
        let Open::Local(name) = self.state.open.get_untracked() else {
            return;
        };
        self.state.local.update(|sessions| {
            let found = sessions.iter_mut().find(|session| session.name == name);
            if let Some(session) = found {
                change(Rc::make_mut(session));
            }
        });
    }

    fn show(&self, open: Open) {
        self.state.problem.set(None);
        self.state.failed.set(false);
        let is_elsewhere = matches!(open, Open::Nothing | Open::Together(_));
        dom::toggle_attribute(&self.feed, "hidden", is_elsewhere);
        self.title.borrow_mut().take();
        self.state.open.set(open);
        self.write_title();
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
            Open::Nothing | Open::Local(_) | Open::Address(_) => return,
        };
        let now_ms = clock::server_ms();
        let mut kept = false;
        seen.update(|seen| {
            rows.with_untracked(|rows| {
                for row in open.iter().filter_map(|id| rows.get(id)) {
                    // While it runs nothing of it is unread, and each event would be written down.
                    let is_news = seen.look(&row.id, row.changed_ms());
                    kept |= is_news && !sessions::works(row, now_ms);
                }
            });
        });
        if kept {
            seen.update(sessions::keep_seen);
        }
    }

    /// Whether one of these sessions is looked at.
    pub(super) fn is_one_open<'a>(&self, mut ids: impl Iterator<Item = &'a str>) -> bool {
        self.state.open.with_untracked(|open| match open {
            Open::Session(open) => ids.any(|id| id == open),
            Open::Together(open) => ids.any(|id| open.iter().any(|open| id == open)),
            Open::Nothing | Open::Local(_) | Open::Address(_) => false,
        })
    }
}

fn files_or_folders(n: usize) -> String {
    units::count(n as u64, "file or folder", "files or folders")
}

/// Sessions beside each other, each of them once; of one, all.
fn several(mut ids: Vec<String>) -> Open {
    let mut known = std::collections::HashSet::new();
    ids.retain(|id| known.insert(id.clone()));
    ids.truncate(sessions::MOST_TOGETHER);
    match ids.as_slice() {
        [] => Open::Nothing,
        [id] => Open::Session(id.clone()),
        _ => Open::Together(ids),
    }
}
