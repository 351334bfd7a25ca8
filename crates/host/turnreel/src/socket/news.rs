//! What a subscription has not had yet: events, rows of the list, and what is told in the workers' words.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::Message;
use chat_event::frame::{Head, MAX_SERVER_BYTES, Reset, ServerFrame, Sessions};
use chat_store::Summary;
use futures_util::Sink;

use super::agent::AgentFrame;
use super::{End, Follows, Socket};
use crate::error::ApiError;
use crate::live::Next;

/// Rows of the list in one frame: they are some hundred bytes each, where none says much of itself.
const ROWS_A_FRAME: usize = 200;

/// Where the rows that fit a frame are at their end, what closes it fits, too.
const ROWS_BYTES: usize = MAX_SERVER_BYTES - 64;

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
                Follows::Agent { .. } | Follows::Coming { .. } => return Ok(()),
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
                    return self.refuse_for(Some(sub), ApiError::removed()).await;
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
        if seen == 0 && rows.is_empty() {
            let (text, _) = rows_frame(sub, &rows);
            self.send(Message::Text(text.into())).await?;
        }
        let mut left = rows.as_slice();
        while !left.is_empty() {
            let (text, rest) = rows_frame(sub, left);
            left = rest;
            self.send(Message::Text(text.into())).await?;
        }
        for gone in gone.chunks(ROWS_A_FRAME) {
            let frame = ServerFrame::Sessions(Sessions {
                sub,
                changed: Vec::new(),
                gone: gone.iter().copied().map(str::to_owned).collect(),
            });
            self.send_frame(&frame).await?;
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

/// [`ServerFrame::Sessions`] with as many of the rows as fit, and the others; written without a tree of them: they may be ten
/// thousand.
fn rows_frame(sub: u64, rows: &[Arc<Summary>]) -> (String, &[Arc<Summary>]) {
    let mut text = format!(r#"{{"op":"sessions","sub":{sub},"changed":["#);
    let mut n_rows = 0;
    for row in rows.iter().take(ROWS_A_FRAME) {
        // Rows hold strings and numbers only, which always have a JSON text.
        let row = serde_json::to_string(&**row).unwrap_or_default();
        // One that fits no frame has one of its own.
        if n_rows > 0 && text.len() + row.len() > ROWS_BYTES {
            break;
        }
        if n_rows > 0 {
            text.push(',');
        }
        text.push_str(&row);
        n_rows += 1;
    }
    text.push_str(r#"],"gone":[]}"#);
    (text, &rows[n_rows..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, title: &str) -> Arc<Summary> {
        let mut row = Summary::default();
        id.clone_into(&mut row.id);
        row.title = Some(title.to_owned());
        Arc::new(row)
    }

    #[test]
    fn rows_are_told_in_the_frame_that_readers_know() {
        let row = |id: &str| row(id, "\"quoted\"\n");
        for rows in [vec![], vec![row("s1")], vec![row("s1"), row("s2")]] {
            let changed = rows
                .iter()
                .map(|row| serde_json::to_value(&**row).unwrap().into());
            let frame = ServerFrame::Sessions(Sessions {
                sub: 3,
                changed: changed.collect(),
                gone: Vec::new(),
            });
            let (text, rest) = rows_frame(3, &rows);
            assert_eq!((text, rest.len()), (frame.to_text(), 0));
        }
    }

    #[test]
    fn rows_that_say_much_of_themselves_are_told_in_frames_that_can_be_sent() {
        let rows: Vec<_> = (0..500)
            .map(|n| row(&format!("s{n}"), &"\u{1}".repeat(n * 10)))
            .collect();
        let (mut left, mut n_frames) = (rows.as_slice(), 0);
        while !left.is_empty() {
            let (text, rest) = rows_frame(u64::MAX, left);
            assert!(text.len() <= MAX_SERVER_BYTES, "{}", text.len());
            assert!(left.len() - rest.len() <= ROWS_A_FRAME);
            assert_eq!(text.matches(r#""id":"#).count(), left.len() - rest.len());
            (left, n_frames) = (rest, n_frames + 1);
        }
        // 7.5 MB of them.
        assert!((28..40).contains(&n_frames), "{n_frames}");
        // One that fits no frame is told all the same.
        let long = [row("long", &"x".repeat(MAX_SERVER_BYTES))];
        let (text, rest) = rows_frame(1, &long);
        assert!(text.len() > MAX_SERVER_BYTES && rest.is_empty());
    }
}
