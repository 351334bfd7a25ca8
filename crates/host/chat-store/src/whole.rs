//! Pages and events for those who want every body where it was: exporters, and what works a whole log out.
//!
//! Readers that show a session are better off with the references, and fetch what somebody asks for.

use chat_event::{ChatEvent, bodies};

use crate::blobs::BodyText;
use crate::error::Error;
use crate::log::{Page, PageRequest};
use crate::store::Session;

/// Bodies that are put back into one page, or one event, together, in bytes, whatever a log claims of them. A page with more
/// ends earlier; of one event alone those that fit are put back, and a longer one stays a reference: it can be had by itself,
/// in parts.
pub const WHOLE_BYTES: u64 = 16 * 1024 * 1024;

impl Session {
    /// The event with that id, with the bodies where they were that fit into [`WHOLE_BYTES`].
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn event_whole(&self, event_id: &str) -> Result<Option<ChatEvent>, Error> {
        let Some(mut event) = self.event(event_id)? else {
            return Ok(None);
        };
        let mut room_bytes = WHOLE_BYTES;
        self.put_back(&mut event, &mut room_bytes, &mut false)?;
        Ok(Some(event))
    }

    /// A page of events with the bodies that stand beside the log put back. It may be shorter than was asked for.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn page_whole(&self, request: PageRequest) -> Result<Page, Error> {
        let mut page = self.page(request)?;
        let mut room_bytes = WHOLE_BYTES;
        for at in 0..page.lines.len() {
            // A body that is told of has this in its line; most lines have none, and are not read for it.
            if !page.lines[at].contains("\"$body\":") {
                continue;
            }
            let Ok(mut event) = ChatEvent::from_json(&page.lines[at]) else {
                continue;
            };
            let before_bytes = room_bytes;
            let all_fit = self.put_back(&mut event, &mut room_bytes, &mut page.lacks_bodies)?;
            if !all_fit && before_bytes < WHOLE_BYTES {
                page.cut_to(at);
                break;
            }
            page.lines[at] = event.to_line();
        }
        Ok(page)
    }

    /// Puts the event's bodies back for which there is room, and takes that from it; whether all are but those that are too
    /// long for any. Those that are not there yet are told by `lacks`.
    fn put_back(
        &self,
        event: &mut ChatEvent,
        room_bytes: &mut u64,
        lacks: &mut bool,
    ) -> Result<bool, Error> {
        let mut all_fit = true;
        bodies::put_back(event, &mut |reference| {
            match self.body_text(reference, *room_bytes) {
                Ok(BodyText::Text(body)) => {
                    *room_bytes = room_bytes.saturating_sub(body.len() as u64);
                    return Ok(Some(body));
                }
                Ok(BodyText::TooLong(bytes)) => all_fit &= bytes > WHOLE_BYTES,
                Err(why @ Error::Elsewhere { .. }) => return Err(why),
                // It stays a reference that nobody can follow.
                Ok(BodyText::NoText) => {}
                Ok(BodyText::Missing) | Err(_) => *lacks = true,
            }
            Ok(None)
        })?;
        // It is another line than the log's.
        event.extra.remove("c");
        Ok(all_fit)
    }
}

impl Page {
    /// Ends the page behind its first `n_lines` events, of which there must be one.
    fn cut_to(&mut self, n_lines: usize) {
        self.lines.truncate(n_lines);
        let last = self.lines.last().map(|line| ChatEvent::from_json(line));
        if let Some(Ok(ChatEvent { seq: Some(seq), .. })) = last {
            self.next = seq;
            self.gaps.retain(|gap| gap.to < seq);
        }
    }
}
