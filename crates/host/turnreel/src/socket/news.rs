//! What a subscription has not had yet: events, rows of the list, and what is told in the workers' words.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::Message;
use chat_event::frame::{Head, Reset, ServerFrame};
use chat_store::Summary;
use futures_util::Sink;
use serde::Serialize;

use super::agent::AgentFrame;
use super::{End, Follows, Socket};
use crate::error::ApiError;
use crate::live::Next;

/// Rows of the list in one frame: they are some hundred bytes each.
const ROWS_A_FRAME: usize = 200;

/// Changes of the list are told at most this often.
const LIST_WINDOW: Duration = Duration::from_millis(200);

impl<S: Sink<Message, Error = axum::Error> + Unpin> Socket<S> {
    /// Sends all that the sub has not had.
    pub(super) async fn send_news(&mut self, sub: u64) -> Result<(), End> {
        self.still_holds()?;
        loop {
            let Some(entry) = self.subs.get_mut(&sub) else {
                return Ok(());
            };
            let (live, epoch, sent) = match &mut entry.follows {
                Follows::List { seen } => {
                    let seen = *seen;
                    return self.send_list(sub, seen).await;
                }
                Follows::Agent { .. } => return Ok(()),
                Follows::Session {
                    live, epoch, sent, ..
                } => (live, epoch, sent),
            };
            match live.next(epoch, *sent) {
                Next::Nothing => return Ok(()),
                Next::Events(frame) => {
                    *sent = frame.to;
                    self.send(Message::Text(frame.for_sub(sub))).await?;
                }
                Next::Lag { head } => {
                    self.state.metrics.lags.add(1);
                    self.end(sub);
                    return self.send_frame(&ServerFrame::Lag(Head { sub, head })).await;
                }
                Next::Reset { epoch } => {
                    self.end(sub);
                    let frame = ServerFrame::Reset(Reset {
                        sub,
                        epoch,
                        why: "restored".to_owned(),
                    });
                    return self.send_frame(&frame).await;
                }
                Next::Gone => {
                    self.end(sub);
                    let why = ApiError::removed();
                    return self.refuse(Some(sub), why.code, why.message).await;
                }
            }
        }
    }

    async fn send_list(&mut self, sub: u64, seen: u64) -> Result<(), End> {
        let (newest, changed) = self.state.list.since(seen);
        let (mut rows, mut gone) = (Vec::new(), Vec::new());
        for id in changed.iter().filter(|id| self.grant.sees(id.as_str())) {
            match self.state.row(id) {
                Some(row) => rows.push(row),
                // Who begins has not heard of it.
                None if seen > 0 => gone.push(id.as_str()),
                None => {}
            }
        }
        // Who begins is told that there is a list, also where nothing is on it.
        let is_first_of_none = seen == 0 && rows.is_empty();
        let none = is_first_of_none.then(|| rows_frame(sub, &[], &[]));
        let changed = rows
            .chunks(ROWS_A_FRAME)
            .map(|rows| rows_frame(sub, rows, &[]));
        let gone = gone
            .chunks(ROWS_A_FRAME)
            .map(|gone| rows_frame(sub, &[], gone));
        for text in none.into_iter().chain(changed).chain(gone) {
            self.send(Message::Text(text.into())).await?;
        }
        let Some(entry) = self.subs.get_mut(&sub) else {
            return Ok(());
        };
        entry.follows = Follows::List { seen: newest };
        // A busy session changes its row with each event. The next wake is let in only after the window.
        let mut changed = self.state.list.follow();
        if *changed.borrow_and_update() > newest {
            changed.mark_changed();
        }
        self.wakes.wait(sub, changed, LIST_WINDOW);
        Ok(())
    }

    /// Sends what was told, where the subscription it was told for is still there.
    pub(super) async fn send_agent(&mut self, frame: AgentFrame) -> Result<(), End> {
        self.still_holds()?;
        let is_there = self.subs.get(&frame.sub).is_some_and(
            |sub| matches!(sub.follows, Follows::Agent { opened, .. } if opened == frame.opened),
        );
        if !is_there {
            return Ok(());
        }
        if frame.last {
            self.end(frame.sub);
        }
        self.send(Message::Text(frame.text)).await
    }
}

/// [`ServerFrame::Sessions`] with these rows, written without a tree of them: they may be ten thousand.
fn rows_frame(sub: u64, rows: &[Arc<Summary>], gone: &[&str]) -> String {
    #[derive(Serialize)]
    struct Rows<'r> {
        op: &'static str,
        sub: u64,
        changed: Vec<&'r Summary>,
        gone: &'r [&'r str],
    }
    let frame = Rows {
        op: "sessions",
        sub,
        changed: rows.iter().map(|row| &**row).collect(),
        gone,
    };
    // Rows hold strings and numbers only, which always have a JSON text.
    serde_json::to_string(&frame).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use chat_event::frame::Sessions;

    use super::*;

    #[test]
    fn rows_are_told_in_the_frame_that_readers_know() {
        let row = |id: &str| {
            let mut row = Summary::default();
            id.clone_into(&mut row.id);
            row.title = Some("\"quoted\"\n".to_owned());
            Arc::new(row)
        };
        let none: &[&str] = &[];
        for (rows, gone) in [
            (vec![], none),
            (vec![row("s1")], none),
            (vec![row("s1"), row("s2")], none),
            (vec![], &["s3", "s4"]),
        ] {
            let changed = rows
                .iter()
                .map(|row| serde_json::to_value(&**row).unwrap().into());
            let frame = ServerFrame::Sessions(Sessions {
                sub: 3,
                changed: changed.collect(),
                gone: gone.iter().copied().map(str::to_owned).collect(),
            });
            assert_eq!(rows_frame(3, &rows, gone), frame.to_text());
        }
    }
}
