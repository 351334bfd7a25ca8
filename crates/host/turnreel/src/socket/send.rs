//! How a frame goes to the client, and the frames that are the socket's own: heartbeats, refusals, the last word.

use std::time::Duration;

use axum::extract::ws::Message;
use axum::http::StatusCode;
use chat_event::frame::{Bye, Head, Problem, ServerFrame};
use futures_util::{Sink, SinkExt};

use super::{End, Follows, Socket, reconnect_after_ms};
use crate::error::ApiError;

impl<S: Sink<Message, Error = axum::Error> + Unpin> Socket<S> {
    /// Whether the client's token still opens what it did: nothing is told to one that was taken back.
    pub(super) fn still_holds(&self) -> Result<(), End> {
        match self.state.access.tokens.holds(&self.grant) {
            true => Ok(()),
            false => Err(End::Close {
                code: 4001,
                why: "the token is over",
            }),
        }
    }

    pub(super) async fn send_heartbeats(&mut self) -> Result<(), End> {
        self.still_holds()?;
        // One that is half open takes what little it is sent, and says nothing.
        if self.heard.elapsed() > Duration::from_millis(self.state.settings.silence_ms) {
            return Err(End::Gone);
        }
        let beats: Vec<String> = self
            .subs
            .iter()
            .filter_map(|(&sub, entry)| {
                let head = match &entry.follows {
                    Follows::Session { live, .. } | Follows::Agent { live, .. } => {
                        live.position().2
                    }
                    Follows::List { .. } => 0,
                    // Nothing was said of it yet.
                    Follows::Coming { .. } => return None,
                };
                Some(ServerFrame::Hb(Head { sub, head }).to_text())
            })
            .collect();
        for beat in beats {
            self.send(Message::Text(beat.into())).await?;
        }
        self.send(Message::Ping(Vec::new().into())).await
    }

    /// The head of the one session that is followed, where it is one.
    pub(super) fn only_head(&self) -> Option<u64> {
        let mut heads = self.subs.values().filter_map(|sub| match &sub.follows {
            Follows::Session { live, .. } | Follows::Agent { live, .. } => Some(live.position().2),
            Follows::List { .. } | Follows::Coming { .. } => None,
        });
        let head = heads.next();
        head.filter(|_| heads.next().is_none())
    }

    pub(super) async fn say_bye(&mut self) -> Result<(), End> {
        let reconnect_after_ms = reconnect_after_ms(&self.state);
        let frame = ServerFrame::Bye(Bye {
            why: "restart".to_owned(),
            reconnect_after_ms,
        });
        self.send_frame(&frame).await?;
        Err(End::Close {
            code: 1012,
            why: "restart",
        })
    }

    pub(super) async fn refuse(
        &mut self,
        sub: Option<u64>,
        code: &'static str,
        msg: String,
    ) -> Result<(), End> {
        let why = ApiError::new(StatusCode::BAD_REQUEST, code, msg);
        self.refuse_for(sub, why).await
    }

    /// The same, with the time to wait that the cause has.
    pub(super) async fn refuse_for(&mut self, sub: Option<u64>, why: ApiError) -> Result<(), End> {
        self.send_frame(&ServerFrame::Err(Problem {
            sub,
            code: why.code.to_owned(),
            msg: why.message,
            fatal: false,
            retry_after_ms: why.retry_after_ms,
        }))
        .await
    }

    pub(super) async fn send_frame(&mut self, frame: &ServerFrame) -> Result<(), End> {
        self.send(Message::Text(frame.to_text().into())).await
    }

    pub(super) async fn send(&mut self, message: Message) -> Result<(), End> {
        let stall = Duration::from_millis(self.state.settings.stall_ms);
        // A clone shares the text.
        let sending = self.sink.send(message.clone());
        match self.pace.while_it_goes_on(stall, sending).await {
            Some(Ok(())) => {
                self.state.metrics.sent(&message);
                Ok(())
            }
            Some(Err(_)) => Err(End::Gone),
            None => {
                self.state.metrics.stalls.add(1);
                Err(End::Close {
                    code: 4008,
                    why: "too slow",
                })
            }
        }
    }
}
