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
            }
        }
    }

    async fn send_list(&mut self, sub: u64, seen: u64) -> Result<(), End> {
        let (newest, mut changed) = self.state.list.since(seen);
        if seen == 0 {
            // Whatever changes later has a log.
            let removed = self.state.removed().await;
            changed.retain(|id| !removed.contains(id));
        }
        let rows: Vec<Arc<Summary>> = changed
            .iter()
            .filter(|id| self.grant.sees(id.as_str()))
            .filter_map(|id| self.state.live(id))
            .map(|live| live.row().1)
            .collect();
        // Who begins is told that there is a list, also where nothing is on it.
        let none: &[Arc<Summary>] = &[];
        let is_first_of_none = seen == 0 && rows.is_empty();
        let frames = is_first_of_none.then_some(none).into_iter();
        for rows in frames.chain(rows.chunks(ROWS_A_FRAME)) {
            let text = rows_frame(sub, rows);
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
fn rows_frame(sub: u64, rows: &[Arc<Summary>]) -> String {
    #[derive(Serialize)]
    struct Rows<'r> {
        op: &'static str,
        sub: u64,
        changed: Vec<&'r Summary>,
        gone: [&'static str; 0],
    }
    let frame = Rows {
        op: "sessions",
        sub,
        changed: rows.iter().map(|row| &**row).collect(),
        gone: [],
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
        for rows in [vec![], vec![row("s1")], vec![row("s1"), row("s2")]] {
            let changed = rows
                .iter()
                .map(|row| serde_json::to_value(&**row).unwrap().into());
            let frame = ServerFrame::Sessions(Sessions {
                sub: 3,
                changed: changed.collect(),
                gone: Vec::new(),
            });
            assert_eq!(rows_frame(3, &rows), frame.to_text());
        }
    }
}
