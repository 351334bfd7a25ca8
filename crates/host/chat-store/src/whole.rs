//! Pages for those who want every body where it was: exporters, and what works a whole log out.
//!
//! Readers that show a session are better off with the references, and fetch what somebody asks for.

use chat_event::{ChatEvent, bodies};

use crate::error::Error;
use crate::log::{Page, PageRequest};
use crate::store::Session;

/// Bodies that are put back into one page, together. A page with more ends earlier; of one event alone those that fit are
/// put back, and a longer one stays a reference: it can be had by itself, in parts.
const WHOLE_BYTES: u64 = 16 * 1024 * 1024;

impl Session {
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
            let mut all_fit = true;
            bodies::put_back(&mut event, &mut |reference| {
                if reference.bytes > room_bytes {
                    all_fit &= reference.bytes > WHOLE_BYTES;
                    return Ok(None);
                }
                let body = self.blob(&reference.sha256)?;
                room_bytes -= body.as_ref().map_or(0, |body| body.len() as u64);
                Ok::<_, Error>(body)
            })?;
            if !all_fit && before_bytes < WHOLE_BYTES {
                page.cut_to(at);
                break;
            }
            event.extra.remove("c");
            page.lines[at] = event.to_line();
        }
        Ok(page)
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
