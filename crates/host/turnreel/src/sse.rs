//! A session as Server-Sent Events: all of it in order, and then live, for as long as the reader stays.
//!
//! The stream is made piece by piece as the connection takes it: a reader that is slow holds one piece, and goes on from
//! the log. It is never told to page for itself.
//!
//! | while | when | then |
//! |---|---|---|
//! | begun | | `hello`, which says how the resume went; after `reset` all is told from the first event |
//! | told | an event | one message with `id: v1.<epoch>.<seq>`, in the words of the form |
//! | told | events are missing for good | `gap` with both ends |
//! | told | another epoch | `reset`; all is told from the first event |
//! | told | heartbeat is due | `hb` |
//! | told | the token is over, the log is gone, the disk refuses | `err`, the end |
//! | told | the server stops | `bye`, the end |
//!
//! The end of the session is not the end of the stream: a session may be taken up again.

use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;

use axum::body::Bytes;
use chat_event::cursor::Cursor;
use chat_event::frame::Resume;
use futures_util::Stream;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::follow::{Follower, News};
use crate::live::Live;
use crate::scope::Grant;
use crate::seats::Place;
use crate::socket::{heartbeat_period, reconnect_after_ms};
use crate::state::{State, stopped};

mod form;

pub(crate) use form::Form;

/// A connection that is lost is opened again after so long.
const RETRY_MS: u64 = 1000;

/// Where a reader wants to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// From the first event.
    Beginning,
    /// From what comes next.
    Now,
    /// Behind an event, in the epoch where one is named.
    Cursor(Option<String>, u64),
}

struct Teller {
    state: State,
    /// What its token allows, for as long as it holds.
    grant: Arc<Grant>,
    /// Room for it among those who follow.
    _place: Place,
    follower: Follower,
    form: Form,
    /// The reader has what comes up to this number: it is only looked at.
    known: u64,
    heartbeat: Interval,
    stopping: watch::Receiver<bool>,
    /// What is said first.
    greeting: Option<String>,
    ended: bool,
}

/// The stream for one reader.
pub(crate) async fn tell(
    state: State,
    grant: Arc<Grant>,
    place: Place,
    live: Arc<Live>,
    form: Form,
    from: From,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    let (epoch, head, _) = live.position();
    // Who is cut off before the first event goes on behind this, not with what comes next then.
    let at = match from {
        From::Now => id_line(&epoch, head),
        From::Beginning | From::Cursor(..) => String::new(),
    };
    let (resume, known) = match from {
        From::Beginning => (Resume::None, 0),
        From::Now => (Resume::None, head),
        From::Cursor(of, seq) => {
            let is_other = of.is_some_and(|of| of != epoch);
            match is_other || live.ends_before(seq, (&epoch, head)).await {
                true => (Resume::Reset, 0),
                false => (Resume::Ok, seq),
            }
        }
    };
    // A form that remembers is shown all there was, or what comes would mean nothing to it.
    let after = if form.remembers() { 0 } else { known };
    let greeting = form.greeting(&json!({
        "proto": 1,
        "epoch": epoch,
        "head": head,
        "oldest": live.oldest,
        "resume": resume,
        "hbMs": state.settings.heartbeat_ms,
    }));
    let mut heartbeat = interval(heartbeat_period(state.settings.heartbeat_ms));
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    heartbeat.reset();
    let teller = Teller {
        stopping: state.stopping.subscribe(),
        state,
        grant,
        _place: place,
        follower: Follower::new(live, after, form.bodies()).of_reader_at(known),
        form,
        known,
        heartbeat,
        greeting: Some(format!("retry: {RETRY_MS}\n{at}{greeting}")),
        ended: false,
    };
    futures_util::stream::unfold(teller, |mut teller| async {
        let text = teller.next().await?;
        Some((Ok(Bytes::from(text)), teller))
    })
}

impl Teller {
    /// The next piece of the stream; `None` at its end.
    async fn next(&mut self) -> Option<String> {
        if let Some(greeting) = self.greeting.take() {
            return Some(greeting);
        }
        let mut text = String::new();
        while text.is_empty() {
            if self.ended {
                return None;
            }
            tokio::select! {
                () = stopped(&mut self.stopping) => text = self.say_bye(),
                _ = self.heartbeat.tick() => text = self.beat(),
                news = self.follower.next() => match news {
                    Ok(_) if !self.still_holds() => text = self.over(),
                    Ok(news) => self.tell(&news, &mut text),
                    Err(why) => text = self.fail(why.code, &why.message),
                },
            }
        }
        Some(text)
    }

    fn tell(&mut self, news: &News, text: &mut String) {
        match news {
            News::Events(entries) => {
                let first_new = entries.partition_point(|entry| entry.seq() <= self.known);
                let (known, new) = entries.split_at(first_new);
                self.form.look_at(known);
                let epoch = self.follower.epoch();
                self.form.tell(new, &|seq| id_line(epoch, seq), text);
            }
            News::Gap(gap) if gap.to <= self.known => {}
            News::Gap(gap) => {
                text.push_str(&id_line(self.follower.epoch(), gap.to));
                message(text, "gap", &json!(gap));
            }
            News::Reset => {
                self.form.forget();
                self.known = 0;
                let reset = json!({"epoch": self.follower.epoch(), "why": "restored"});
                message(text, "reset", &reset);
            }
        }
    }

    fn beat(&mut self) -> String {
        match self.still_holds() {
            true => self.form.heartbeat(self.follower.head()),
            false => self.over(),
        }
    }

    /// Whether the reader's token still opens what it did: nothing is told to one that was taken back.
    fn still_holds(&self) -> bool {
        self.state.access.tokens.holds(&self.grant)
    }

    fn over(&mut self) -> String {
        self.fail("unauthorized", "the token is over")
    }

    fn fail(&mut self, code: &str, msg: &str) -> String {
        self.ended = true;
        let mut text = String::new();
        message(
            &mut text,
            "err",
            &json!({"code": code, "msg": msg, "fatal": true}),
        );
        text
    }

    fn say_bye(&mut self) -> String {
        self.ended = true;
        let after_ms = reconnect_after_ms(&self.state).max(1);
        let mut text = format!("retry: {after_ms}\n");
        let bye = json!({"why": "restart", "reconnectAfterMs": after_ms});
        message(&mut text, "bye", &bye);
        text
    }
}

/// What a reader resumes by: it names the last event that it has.
fn id_line(epoch: &str, seq: u64) -> String {
    let epoch = epoch.to_owned();
    format!("id: {}\n", Cursor { epoch, seq })
}

/// One message with a name. JSON is one line.
fn message(text: &mut String, name: &str, data: &Value) {
    // Writing to a string cannot fail.
    let _ = write!(text, "event: {name}\ndata: {data}\n\n");
}
