//! What the element says of the connection to its server: the chip, the note, the state, the DOM event.

use chat_feed::units;
use leptos::prelude::{GetUntracked, Set};

use super::FeedElement;
use crate::components::bar::{Connection, Note, Reading};
use crate::platform::clock;
use crate::platform::dom::{self, Member};
use crate::platform::location;
use crate::transport::{self, Loss};

impl FeedElement {
    pub(super) fn show_connection(&self, connection: &transport::Connection) {
        use transport::Connection as Is;
        let (state, text) = match connection {
            Is::Connecting => ("connecting", "Connecting".to_owned()),
            Is::CatchingUp(0) => ("catching-up", "Catching up".to_owned()),
            Is::CatchingUp(behind) => {
                let behind = units::grouped(*behind);
                ("catching-up", format!("Catching up, {behind} behind"))
            }
            Is::Live => ("live", "Live".to_owned()),
            Is::Ended => ("ended", "Ended".to_owned()),
            Is::Polling => ("live", "Live, every 2 s".to_owned()),
            Is::Reconnecting { seconds, why, .. } => {
                let is_unreached = self.is_unreached(*why);
                let why = match why {
                    Loss::NoAnswer => "",
                    Loss::Busy => "The server is busy. ",
                    Loss::Restart => "The server restarts. ",
                };
                // The note has the seconds, once there is one.
                let until = match self.away(connection) {
                    Some(_) => String::new(),
                    None => format!(" in {seconds} s"),
                };
                match is_unreached {
                    true => ("unreached", ["Not reached, tried again", &until].concat()),
                    false => ("reconnecting", format!("{why}Reconnecting{until}")),
                }
            }
            Is::Offline => {
                let since = self.last_event().unwrap_or_default();
                ("offline", format!("Offline, data as of {since}"))
            }
        };
        match connection {
            Is::Ended => {
                let is_read = self.is_read();
                if !self.set_state("ended") {
                    return;
                }
                self.begin_once(is_read);
            }
            Is::Live | Is::Polling => {
                // What goes on is shown as it is, and so it stays when it ends.
                self.has_begun.set(true);
                if !self.set_state("live") {
                    return;
                }
            }
            Is::Connecting | Is::CatchingUp(_) | Is::Reconnecting { .. } | Is::Offline => {}
        }
        self.view.bar.away.set(self.away(connection));
        self.view.bar.progress.set(self.caught_up(connection));
        self.set_connection(state, &text);
    }

    /// When the newest event happened, whatever moment is shown.
    fn last_event(&self) -> Option<String> {
        let last_ms = self.store.whole(|feed, _| feed.session().last_ms);
        last_ms.map(clock::dated)
    }

    /// Whether a server that does not answer never gave anything of the session, so that nothing was lost.
    fn is_unreached(&self, why: Loss) -> bool {
        let has_begun = self.state.get() != "loading" || self.store.event_count() > 0;
        why == Loss::NoAnswer && !has_begun
    }

    /// Which server does not answer, and what may be wrong with it.
    fn unreached(&self, why: Loss) -> Option<String> {
        let answers_to = self.answers_to.borrow();
        let (_, server, _) = answers_to.as_ref().filter(|_| self.is_unreached(why))?;
        let name = server.name();
        let asked = match server.is_own() {
            true => String::new(),
            false => format!(
                ", and was it started with --embed-origin {}",
                location::origin()
            ),
        };
        Some(format!(
            "{name} does not answer this page. Is it running{asked}?"
        ))
    }

    /// What is said at length while nothing comes; a short drop is not worth it.
    fn away(&self, connection: &transport::Connection) -> Option<Note> {
        use transport::Connection as Is;
        let usable = match self.last_event() {
            Some(last) => format!("Last event {last}. What is shown stays usable."),
            None => "Nothing has come yet.".to_owned(),
        };
        match connection {
            Is::Reconnecting {
                attempt: attempt @ 2..,
                seconds,
                why,
            } => {
                let unreached = self.unreached(*why);
                let doing = match unreached {
                    Some(_) => "Not reached",
                    None => "Reconnecting",
                };
                let more = match why {
                    Loss::NoAnswer => unreached.unwrap_or(usable),
                    Loss::Busy => format!("The server has too much to do. {usable}"),
                    Loss::Restart => format!("The server restarts. {usable}"),
                };
                let what = format!("{doing} — attempt {attempt}, next in {seconds}\u{a0}s");
                Some(Note { what, more })
            }
            Is::Offline => Some(Note {
                what: "Offline — this browser has no network".to_owned(),
                more: usable,
            }),
            Is::Reconnecting { .. }
            | Is::Connecting
            | Is::CatchingUp(_)
            | Is::Live
            | Is::Polling
            | Is::Ended => None,
        }
    }

    fn caught_up(&self, connection: &transport::Connection) -> Option<Reading> {
        let &transport::Connection::CatchingUp(behind) = connection else {
            self.behind_from.set(0);
            return None;
        };
        let from = self.behind_from.get().max(behind);
        self.behind_from.set(from);
        let done = (from - behind).saturating_mul(100);
        Some(Reading {
            percent: done.checked_div(from)?,
            ..Reading::default()
        })
    }

    pub(super) fn set_connection(&self, state: &'static str, text: &str) {
        let connection = Connection {
            state,
            text: text.to_owned(),
        };
        let known = self.view.bar.connection.get_untracked();
        if known != connection {
            self.view.bar.connection.set(connection);
            let away = self.view.bar.away.get_untracked();
            let why = away.map(|note| note.more).unwrap_or_default();
            let detail = dom::object_of(&[
                ("state", Member::Text(state)),
                ("text", Member::Text(text)),
                ("why", Member::Text(&why)),
            ]);
            dom::dispatch(&self.host, "af-connection", &detail);
        }
    }
}
