//! A session read again from where it came, all of it and with its long bodies, for those who work a whole log out.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use chat_event::ChatEvent;
use chat_feed::connection::Page;
use chat_normalize::AT_REST;
use futures_util::future::{AbortHandle, Abortable};

use super::link::{Server, all_in_time};
use super::live::encoded;
use super::{Sink, Update, folder, replay};
use crate::platform::frame;
use crate::platform::reader::Source;
use crate::platform::stream::Blob;

/// Where a session came from.
#[derive(Clone)]
pub(crate) enum Origin {
    /// Files, each with its path.
    Files(Vec<(String, Blob)>),
    /// An address, and the token that opens it.
    Address(String, Option<String>),
    /// A session of a server.
    Session(Server, String),
}

impl Origin {
    /// Shows each event to `take` until it says that it has enough; nothing is read on then. What is damaged is read as
    /// far as it goes: why it goes no further. `asker` hears of parts of the page that do not come.
    ///
    /// # Errors
    ///
    /// Why it could not be read, for people.
    pub(crate) async fn read(
        &self,
        take: impl FnMut(&ChatEvent) -> bool + 'static,
        asker: &Sink,
    ) -> Result<Option<String>, String> {
        let take = RefCell::new(take);
        let failed: Rc<RefCell<Option<String>>> = Rc::default();
        let cut_off: Rc<RefCell<Option<String>>> = Rc::default();
        let (stop, registration) = AbortHandle::new_pair();
        let sink: Sink = {
            let (failed, cut_off, asker) = (failed.clone(), cut_off.clone(), asker.clone());
            let enough = Cell::new(false);
            Rc::new(move |update| match update {
                Update::Events(events) => {
                    let mut take = take.borrow_mut();
                    for event in &events {
                        if !enough.get() && !take(event) {
                            enough.set(true);
                            stop.abort();
                        }
                    }
                }
                Update::Failed(failure) => *failed.borrow_mut() = Some(failure.what),
                Update::Stopped(damage) => *cut_off.borrow_mut() = Some(damage.what),
                Update::Lacks(_) => asker(update),
                // What else is told is for those who show it.
                _ => {}
            })
        };
        // Who has enough wants to hear of nothing more.
        match Abortable::new(self.read_all(&sink), registration).await {
            Ok(read) => read?,
            Err(_) => return Ok(None),
        }
        match failed.take() {
            Some(why) => Err(why),
            None => Ok(cut_off.take()),
        }
    }

    async fn read_all(&self, sink: &Sink) -> Result<(), String> {
        match self {
            Origin::Files(files) => match files.as_slice() {
                [(_, file)] => {
                    let source = Source::File(file.clone());
                    replay::read_here(source, AT_REST, None, sink).await;
                }
                files => {
                    let files = folder::named(files.to_vec());
                    for parts in folder::sessions_of(&files).await {
                        folder::read_parts(parts, files.clone(), None, sink).await;
                    }
                }
            },
            Origin::Address(address, token) => {
                let source = Source::Address(address.clone(), token.clone());
                replay::read_here(source, AT_REST, None, sink).await;
            }
            Origin::Session(server, session) => read_session(server, session, sink).await?,
        }
        Ok(())
    }
}

/// Pages of a session of a server, with their bodies where they were.
async fn read_session(server: &Server, session: &str, sink: &Sink) -> Result<(), String> {
    let mut after = 0;
    let mut epoch = None;
    loop {
        let route = format!(
            "sessions/{}/events?after={after}&bodies=full",
            encoded(session)
        );
        let bytes = all_in_time(server, &route).await;
        let bytes = bytes.map_err(|why| format!("could not load the session: {why}"))?;
        let page = Page::read(&bytes)?;
        // What has the numbers of before is another log now.
        if epoch.get_or_insert_with(|| page.epoch.clone()) != &page.epoch {
            return Err("could not load the session: its log began anew, try again".to_owned());
        }
        let next = page
            .next
            .or_else(|| page.events.last().and_then(|event| event.seq));
        let is_last =
            page.events.is_empty() || next.is_none_or(|next| next <= after || next >= page.head);
        sink(Update::Events(page.events));
        if is_last {
            return Ok(());
        }
        after = next.unwrap_or(after);
        frame::yield_now().await;
    }
}
