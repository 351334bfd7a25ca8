//! `open`: what a client asks to follow, and the `hello` that says how its resume went.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::Message;
use chat_event::Json;
use chat_event::frame::{Hello, MAX_CLIENT_BYTES, MAX_SERVER_BYTES, Open, Resume, ServerFrame};
use chat_store::SessionId;
use futures_util::Sink;
use tokio::sync::{mpsc, watch};

use super::{End, Follows, SUBS, Socket, Sub, agent, fetch};
use crate::agent_form::AgentForm;
use crate::error::{ApiError, NO_SESSION};
use crate::follow::Follower;
use crate::live::{Live, RING_EVENTS};
use crate::told::Bodies;

impl<S: Sink<Message, Error = axum::Error> + Unpin> Socket<S> {
    pub(super) async fn open(&mut self, open: Open) -> Result<(), End> {
        let sub = open.sub;
        self.end(sub);
        if self.subs.len() >= SUBS {
            let msg = format!("a socket follows at most {SUBS} sessions");
            return self.refuse(Some(sub), "too_many_subs", msg).await;
        }
        if open.session == "*" {
            return self.open_list(sub).await;
        }
        let id = SessionId::parse(&open.session).ok();
        match id.filter(|id| self.grant.sees(id.as_str())) {
            None => self.open_found(open, Ok(None)).await,
            Some(id) if fetch::is_elsewhere(&self.state, &id) => {
                self.fetch(open, id);
                Ok(())
            }
            Some(id) => {
                let live = self.state.live_or_away(&id);
                self.open_found(open, live).await
            }
        }
    }

    /// Follows the session that was looked for, where it was found.
    pub(super) async fn open_found(
        &mut self,
        open: Open,
        found: Result<Option<Arc<Live>>, ApiError>,
    ) -> Result<(), End> {
        let sub = open.sub;
        let live = match found {
            Ok(live) => live,
            Err(why) => return self.refuse_for(Some(sub), why).await,
        };
        let Some(live) = live else {
            let msg = "there is no such session".to_owned();
            return self.refuse(Some(sub), NO_SESSION, msg).await;
        };
        if open.caps.iter().any(|cap| cap == agent::CAP) {
            return self.open_agent(&open, live).await;
        }
        // Followed first: what is published from here on is in the ring.
        let following = live.follow();
        let (epoch, head, _) = live.position();
        let other_epoch = open.epoch.as_ref().is_some_and(|asked| *asked != epoch);
        // What a page gave may not have been told to followers yet.
        let is_beyond = match open.after {
            Some(seq) => live.ends_before(seq, (&epoch, head)).await,
            None => false,
        };
        let mut hole = None;
        let (resume, sent) = match open.after {
            None => (Resume::None, head),
            Some(_) if other_epoch || is_beyond => (Resume::Reset, head),
            Some(seq) if live.reaches(seq) => (Resume::Ok, seq),
            Some(seq) => {
                // What the client misses may be what nobody has: then there is nothing to page.
                hole = live.hole_behind(seq).await.unwrap_or_else(|why| {
                    tracing::warn!("could not look for holes: {}", why.message);
                    None
                });
                match &hole {
                    Some(hole) => (Resume::Ok, hole.to),
                    None => (Resume::Behind, head),
                }
            }
        };
        self.send_hello(Hello {
            sub,
            epoch: epoch.clone(),
            head: head.max(sent),
            oldest: live.oldest,
            resume,
            ..Hello::default()
        })
        .await?;
        if let Some(hole) = hole {
            let why = hole.why.to_owned();
            let (from, to) = (hole.from, hole.to);
            let gap = ServerFrame::Gap(chat_event::frame::Gap { sub, from, to, why });
            self.send_frame(&gap).await?;
        }
        self.wake_on(sub, following.released.clone());
        let follows = Follows::Session {
            live,
            epoch,
            sent,
            _following: following,
        };
        let teller = None;
        self.subs.insert(sub, Sub { follows, teller });
        self.send_news(sub).await
    }

    /// Says what was opened, with what is the same for all that one client opens.
    async fn send_hello(&mut self, opened: Hello) -> Result<(), End> {
        let hello = Hello {
            proto: 1,
            hb_ms: self.state.settings.heartbeat_ms,
            may: self.grant.may(),
            limits: limits(),
            ..opened
        };
        self.send_frame(&ServerFrame::Hello(hello)).await
    }

    async fn open_agent(&mut self, open: &Open, live: Arc<Live>) -> Result<(), End> {
        let sub = open.sub;
        // What is said of an event in the workers' words may hang on all of it.
        let follower = Follower::new(live.clone(), 0, Bodies::Whole);
        let (_, head, _) = live.position();
        let epoch = follower.epoch().to_owned();
        let other_epoch = open.epoch.as_ref().is_some_and(|asked| *asked != epoch);
        let is_beyond = match open.after {
            Some(seq) => live.ends_before(seq, (&epoch, head)).await,
            None => false,
        };
        let (resume, known) = match open.after {
            None => (Resume::None, head),
            Some(_) if other_epoch || is_beyond => (Resume::Reset, head),
            Some(seq) => (Resume::Ok, seq),
        };
        self.send_hello(Hello {
            sub,
            epoch,
            head: head.max(known),
            oldest: live.oldest,
            resume,
            ..Hello::default()
        })
        .await?;
        self.n_opened += 1;
        let opened = self.n_opened;
        let (frames, _) = self
            .agent
            .get_or_insert_with(|| mpsc::channel(agent::WAITING_FRAMES));
        let form = AgentForm::new(&live);
        let teller = Some(agent::tell(
            follower.of_reader_at(known),
            form,
            known,
            (sub, opened),
            frames.clone(),
        ));
        let follows = Follows::Agent { live, opened };
        self.subs.insert(sub, Sub { follows, teller });
        Ok(())
    }

    async fn open_list(&mut self, sub: u64) -> Result<(), End> {
        let changed = self.state.list.follow();
        self.send_hello(Hello {
            sub,
            ..Hello::default()
        })
        .await?;
        self.wake_on(sub, changed);
        let follows = Follows::List { seen: 0 };
        let teller = None;
        self.subs.insert(sub, Sub { follows, teller });
        self.send_news(sub).await
    }

    /// Wakes us when `changed` does from now on.
    fn wake_on(&mut self, sub: u64, mut changed: watch::Receiver<u64>) {
        changed.mark_unchanged();
        self.wakes.wait(sub, changed, Duration::ZERO);
    }
}

fn limits() -> Json {
    Json::from(serde_json::json!({
        "frameBytes": MAX_SERVER_BYTES,
        "messageBytes": MAX_CLIENT_BYTES,
        "ringEvents": RING_EVENTS,
        "subs": SUBS,
    }))
}
