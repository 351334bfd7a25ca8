//! Lines in requests that the server takes: smaller ones where they are too much for one, long bodies beside them, and what
//! would be refused each time set aside.

use chat_event::{BodyRef, ChatEvent, bodies};

use super::Sender;
use crate::client::{Endpoint, Error};
use crate::spool::Batch;

/// Lines over this are sent with their bodies beside them; the server takes requests of 8 MiB.
const LINE_BYTES: usize = 7 * 1024 * 1024;

/// Bodies over this go beside such a line.
const BODY_BYTES: usize = 128 * 1024;

impl Sender<'_> {
    /// Sends lines, in smaller batches where they are too much for one; what would be refused each time, and hold up all
    /// that follows, is kept.
    pub(super) fn send_lines(&mut self, batch: &Batch, endpoint: &Endpoint) -> Result<(), Error> {
        if batch.lines.is_empty() {
            return Ok(());
        }
        match self.post(batch, endpoint) {
            Err(Error::TooLarge) if batch.lines.len() > 1 => {
                let (first, second) = halves(batch);
                self.send_lines(&first, endpoint)?;
                return self.send_lines(&second, endpoint);
            }
            Err(Error::IdsTaken { there, .. }) => {
                let n_others = batch.lines.len() - there.len();
                self.account.there_before(batch, there.len());
                self.account.told_before(batch, n_others);
                let lines = batch.lines.iter().enumerate();
                let others = lines.filter(|(at, _)| !there.contains(at));
                let others: Vec<&str> = others.map(|(_, line)| line.as_str()).collect();
                return self.account.refuse(batch, &others);
            }
            Err(why @ (Error::TooLarge | Error::Refused { .. })) => {
                self.account.note(why.to_string());
            }
            sent => return sent,
        }
        let lines: Vec<&str> = batch.lines.iter().map(String::as_str).collect();
        self.account.refuse(batch, &lines)
    }

    fn post(&mut self, batch: &Batch, endpoint: &Endpoint) -> Result<(), Error> {
        let taken = if batch.lines.iter().any(|line| line.len() > LINE_BYTES) {
            let small = self.with_bodies_beside(batch, endpoint)?;
            self.client.post(endpoint, &small)?
        } else {
            self.client.post(endpoint, batch)?
        };
        let mut lines = Vec::new();
        for (at, why) in taken.refused {
            let note = format!("the server refused an event: {why}");
            self.account.note(note);
            lines.extend(batch.lines.get(at).map(String::as_str));
        }
        self.account.there_before(batch, taken.there.len());
        self.account.told_before(batch, taken.ids_taken.len());
        let told_before = taken.ids_taken.iter().filter_map(|at| batch.lines.get(*at));
        lines.extend(told_before.map(String::as_str));
        self.account.refuse(batch, &lines)
    }

    /// The batch with its large bodies uploaded and referred to.
    fn with_bodies_beside(&self, batch: &Batch, endpoint: &Endpoint) -> Result<Batch, Error> {
        let mut small = batch.clone();
        for line in &mut small.lines {
            let Ok(mut event) = ChatEvent::from_json(line) else {
                continue;
            };
            bodies::take_out(&mut event, BODY_BYTES, &mut |body| {
                let sha256 = self.client.put(endpoint, body)?;
                Ok::<_, Error>(BodyRef::to(body, sha256))
            })?;
            *line = event.to_line();
        }
        Ok(small)
    }
}

fn halves(batch: &Batch) -> (Batch, Batch) {
    let (first, second) = batch.lines.split_at(batch.lines.len() / 2);
    let half = |lines: &[String]| Batch {
        session_id: batch.session_id.clone(),
        lines: lines.to_vec(),
        end: batch.end,
    };
    (half(first), half(second))
}
