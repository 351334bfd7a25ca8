//! The element as a player: its attributes, methods and properties, which are those of media elements.

use chat_feed::playback::{Command, Direction, IDLE_LIMIT_MS, Named, NamedAt, Player, Stop};
use serde_json::Value;

use super::FeedElement;
use crate::components::transport::Poster;
use crate::platform::{dom, style};

impl FeedElement {
    /// A log was read to its end: it stays there, for reading, unless the page or the address says otherwise.
    pub(super) fn begin_playing(&self) {
        let context = &self.view.context;
        if !context.has_moments() {
            return;
        }
        let played_ms = |text: &str| {
            let elapsed_ms = millis_of(text)?;
            let played = |player: &Player| player.clock().played_of(elapsed_ms);
            Some(self.store.player(played))
        };
        let start_ms = context.attribute("start-at");
        let start_ms = start_ms.as_deref().and_then(played_ms);
        if let Some(start_ms) = start_ms {
            context.play(Command::SeekNear(start_ms));
        }
        // Nothing moves by itself for those who want no motion.
        if dom::attribute(&self.host, "autoplay").is_some() && !style::reduced_motion() {
            context.play(Command::Play);
        } else if let Some(poster) = context.attribute("poster") {
            let start_ms = start_ms.unwrap_or(0.0);
            let shown_ms = match poster.as_str() {
                "start" => Some(start_ms),
                "end" => None,
                other => other.strip_prefix("npt:").and_then(played_ms),
            };
            context.play(shown_ms.map_or(Command::Live, Command::SeekNear));
            context.show_poster(Poster { start_ms });
            self.view.surround();
        }
    }

    /// An attribute that says how it plays.
    pub(super) fn set_playing(&self, name: &str, value: Option<&str>) {
        match name {
            "speed" => {
                let speed = value.and_then(dom::number_of_text).unwrap_or(1.0);
                self.store.play(Command::Speed(speed));
            }
            "idle-limit" => {
                let seconds = value.and_then(dom::number_of_text);
                let seconds = seconds.filter(|seconds| *seconds > 0.0);
                // Longer than any session is as long as one.
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                let limit_ms = seconds.map(|seconds| (seconds * 1_000.0) as u64);
                self.store.set_idle_limit(limit_ms.unwrap_or(IDLE_LIMIT_MS));
            }
            "loop" => self.store.play(Command::Loop(value.is_some())),
            "pause-on-markers" => {
                self.store.play(Command::PauseOnMarkers(value.is_some()));
            }
            // What else there is changes how the bar looks.
            _ => self.store.tell_moved(),
        }
    }

    /// The places that the page names, as a list in JSON. What is none of them is left out.
    pub(super) fn set_markers(&self, list: &str) {
        let list: Vec<Value> = serde_json::from_str(list).unwrap_or_default();
        let named = list.iter().filter_map(named).collect();
        self.view.context.transport.redraw_strip();
        self.store.set_named(named);
    }

    /// Moves the player as a script asks.
    pub(super) fn play_command(&self, command: &str, value: f64) {
        let command = match command {
            "play" => Command::Play,
            "pause" => Command::Pause,
            "seek" if value.is_finite() => Command::SeekNear(value),
            "speed" => Command::Speed(value),
            "live" => Command::Live,
            "step" => return self.step(value),
            _ => return,
        };
        self.view.context.play(command);
    }

    /// So many events on, or back.
    fn step(&self, n_events: f64) {
        let direction = if n_events < 0.0 {
            Direction::Back
        } else {
            Direction::On
        };
        let mut left = n_events.abs();
        if left < 1.0 {
            return;
        }
        let context = &self.view.context;
        context.play(Command::Step(Stop::Event, direction));
        // Where the last of them leads is known without showing what lies on the way.
        let (from, most) = self
            .store
            .player(|player| (player.n_events(), player.clock().n_events()));
        let mut to = from;
        while left >= 2.0 {
            left -= 1.0;
            let next = self
                .store
                .stops(|stops| stops.next(Stop::Event, direction, to));
            let Some(next) = next else {
                // At either end there is no further step.
                to = if n_events < 0.0 { 0 } else { most };
                break;
            };
            to = next;
        }
        if to != from {
            context.play(Command::SeekTo(to));
        }
    }

    /// What the player says of itself.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn playing_value(&self, name: &str) -> f64 {
        self.store.player(|player| match name {
            "time" => player.played_ms(),
            "duration" => player.clock().length_ms() as f64,
            "rate" => player.speed(),
            "ended" => f64::from(u8::from(player.has_ended())),
            _ => f64::from(u8::from(!player.moves())),
        })
    }

    /// Shows the session as it was after an event, with its last row in view; `None` shows all of it.
    pub(super) fn show_as_of(&self, event_idx: Option<u32>) -> Option<u32> {
        let command = match event_idx {
            Some(event_idx) => Command::SeekTo(event_idx.saturating_add(1)),
            None => Command::Live,
        };
        self.view.context.close_poster();
        self.store.play(command);
        self.view.gather();
        let list = self.view.list();
        let last = list.neighbour(None, false)?;
        // What stands above the rows may come and go with them: the end stays in view.
        list.follow_end();
        list.update_now();
        u32::try_from(list.rank_of(last)?).ok()
    }

    /// Goes to the moment that brought an event, where it is not there at the one that is shown.
    pub(super) fn go_to_its_moment(&self, event_id: &str) {
        if self.store.looks_back()
            && let Some(n_events) = self.store.events_to_show(event_id)
            && n_events > self.store.player(Player::n_events)
        {
            self.store.place(Command::SeekTo(n_events));
            self.view.settle();
        }
    }
}

fn named(place: &Value) -> Option<Named> {
    let label = place.get("label")?.as_str()?.trim();
    let at = match (place.get("eventId"), place.get("time")) {
        (Some(Value::String(event_id)), _) => NamedAt::Event(event_id.as_str().into()),
        (_, Some(Value::String(time))) => NamedAt::Elapsed(millis_of(time)?),
        (_, Some(seconds)) => NamedAt::Elapsed(seconds.as_f64().filter(|it| *it >= 0.0)? * 1_000.0),
        (_, None) => return None,
    };
    let label = label.into();
    Some(Named { label, at })
}

/// `83`, `1:23` or `1:02:03` in milliseconds.
fn millis_of(text: &str) -> Option<f64> {
    let mut seconds = 0.0;
    for part in text.split(':') {
        let part = dom::number_of_text(part)?;
        seconds = seconds * 60.0 + part;
    }
    let millis = seconds * 1_000.0;
    (millis.is_finite() && millis >= 0.0).then_some(millis)
}
