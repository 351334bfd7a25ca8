//! A subscription in the workers' words: `open` with `"caps":["format=agent"]`.
//!
//! Its frames are `SystemEvent`s with the client's number in `sub`, and with `seq` where all up to there was told: that is
//! what a resume names. What they say depends on all before it, so the log is read from its first event; it is told from
//! behind the client's place on, without an end to how far that is.

use axum::extract::ws::Utf8Bytes;
use chat_event::frame::{Gap, Problem, Reset, ServerFrame};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::agent_form::{AgentForm, Told};
use crate::error::NO_SESSION;
use crate::follow::{Entry, Follower, News};

/// What `caps` says for it.
pub(super) const CAP: &str = "format=agent";

/// Frames that wait for the socket, of all such subscriptions together.
pub(super) const WAITING_FRAMES: usize = 4;

/// A frame of the subscription that was opened as the `opened`th.
pub(super) struct AgentFrame {
    pub(super) sub: u64,
    pub(super) opened: u64,
    pub(super) text: Utf8Bytes,
    /// The subscription ends with it.
    pub(super) last: bool,
}

/// Tells a session to the socket, from behind `known` on, until the log has another epoch.
pub(super) fn tell(
    mut follower: Follower,
    mut form: AgentForm,
    known: u64,
    (sub, opened): (u64, u64),
    frames: mpsc::Sender<AgentFrame>,
) -> AbortHandle {
    let telling = tokio::spawn(async move {
        loop {
            let (texts, last) = match follower.next().await {
                Ok(News::Events(entries)) => {
                    let first_new = entries.partition_point(|entry| entry.seq() <= known);
                    let (before, new): (&[Entry], &[Entry]) = entries.split_at(first_new);
                    form.look_at(before);
                    let told = form.tell(new).into_iter();
                    (told.map(|told| text_of(sub, told)).collect(), false)
                }
                Ok(News::Gap(gap)) if gap.to <= known => continue,
                Ok(News::Gap(gap)) => {
                    let why = gap.why.to_owned();
                    let (from, to) = (gap.from, gap.to);
                    let frame = ServerFrame::Gap(Gap { sub, from, to, why });
                    (vec![frame.to_text()], false)
                }
                Ok(News::Reset) => {
                    let epoch = follower.epoch().to_owned();
                    let why = "restored".to_owned();
                    let frame = ServerFrame::Reset(Reset { sub, epoch, why });
                    (vec![frame.to_text()], true)
                }
                Err(why) if why.code == NO_SESSION => {
                    let problem = Problem {
                        sub: Some(sub),
                        code: why.code.to_owned(),
                        msg: why.message,
                        fatal: false,
                        retry_after_ms: None,
                    };
                    (vec![ServerFrame::Err(problem).to_text()], true)
                }
                Err(why) => {
                    tracing::warn!("could not tell a session: {}", why.message);
                    let head = follower.head();
                    let frame = ServerFrame::Lag(chat_event::frame::Head { sub, head });
                    (vec![frame.to_text()], true)
                }
            };
            for text in texts {
                let text = text.into();
                let frame = AgentFrame {
                    sub,
                    opened,
                    text,
                    last,
                };
                if frames.send(frame).await.is_err() {
                    return;
                }
            }
            if last {
                return;
            }
        }
    });
    telling.abort_handle()
}

fn text_of(sub: u64, told: Told) -> String {
    let mut event = told.event;
    event["sub"] = sub.into();
    if let Some(seq) = told.whole_to {
        event["seq"] = seq.into();
    }
    event.to_string()
}
