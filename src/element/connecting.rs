//! What the element says of the connection to its server: the chip, the note, the state, the DOM event.

use chat_feed::units;
use leptos::prelude::{GetUntracked, Set};

use super::FeedElement;
use crate::components::bar::{Connection, Note, Reading};
use crate::platform::clock;
use crate::platform::dom::{self, Member};
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
                let why = match why {
                    Loss::NoAnswer => "",
                    Loss::Busy => "The server is busy. ",
                    Loss::Restart => "The server restarts. ",
                };
                // The note has the seconds, once there is one.
                let text = match self.away(connection) {
                    Some(_) => format!("{why}Reconnecting"),
                    None => format!("{why}Reconnecting in {seconds} s"),
                };
                ("reconnecting", text)
            }
            Is::Offline => {
                let since = self
                    .store
                    .feed()
                    .session()
                    .last_ms
                    .map(clock::dated)
                    .unwrap_or_default();
                ("offline", format!("Offline, data as of {since}"))
            }
        };
        match connection {
            Is::Ended => self.set_state("ended"),
            Is::Live | Is::Polling => self.set_state("live"),
            Is::Connecting | Is::CatchingUp(_) | Is::Reconnecting { .. } | Is::Offline => {}
        }
        self.view.bar.away.set(self.away(connection));
        self.view.bar.progress.set(self.caught_up(connection));
        self.set_connection(state, &text);
    }

    /// What is said at length while nothing comes; a short drop is not worth it.
    fn away(&self, connection: &transport::Connection) -> Option<Note> {
        use transport::Connection as Is;
        let last = self.store.feed().session().last_ms.map(clock::dated);
        let usable = match last {
            Some(last) => format!("Last event {last}. What is shown stays usable."),
            None => "Nothing has come yet.".to_owned(),
        };
        match connection {
            Is::Reconnecting {
                attempt: attempt @ 2..,
                seconds,
                why,
            } => {
                let more = match why {
                    Loss::NoAnswer => usable,
                    Loss::Busy => format!("The server has too much to do. {usable}"),
                    Loss::Restart => format!("The server restarts. {usable}"),
                };
                let what = format!("Reconnecting — attempt {attempt}, next in {seconds}\u{a0}s");
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
            dom::dispatch(
                &self.host,
                "af-connection",
                &dom::object_of(&[("state", Member::Text(state)), ("text", Member::Text(text))]),
            );
        }
    }
}
