//! What the element's class asks of its feed: attributes, files and lines, places to go to, numbers, rows as text.

use std::future::Future;

use chat_feed::arrangement::{Thinking, Verbosity};
use chat_feed::export::Form;
use leptos::prelude::Set;

use super::{FeedElement, NOTHING, Streams};
use crate::components::announce::Announced;
use crate::components::around::AROUND;
use crate::components::diff::Split;
use crate::components::feed::Shortcuts;
use crate::components::{later, markup};
use crate::platform::custom_element::{Answer, Answering, Feed, Unpacking};
use crate::platform::save::Pieces;
use crate::platform::stream::Blob;
use crate::platform::{clock, dom, frame, style};
use crate::transport::again::Origin;
use crate::transport::pushed::Pushed;
use crate::transport::readers::READERS;
use crate::transport::{Failure, Running, Update, replay};

/// Rows mounted at once while the whole session is written out.
const STRETCH_ROWS: usize = 100;

/// So often it is looked whether another walk through all rows is over.
const WALK_MS: u32 = 20;

impl Feed for FeedElement {
    fn attribute_changed(&self, name: &str, value: Option<&str>) {
        let value = value.map(str::to_owned);
        // Frameworks write "" before they know what it is.
        let named = || value.clone().filter(|value| !value.is_empty());
        match name {
            "src" | "session" => {
                let named = named();
                let mut attributes = self.attributes.borrow_mut();
                let was_session = attributes.names_session();
                let is_session = name == "session";
                if named.is_some() {
                    attributes.session_last = is_session;
                }
                let is_shown = named.is_some() || was_session == is_session;
                match is_session {
                    true => attributes.session = named,
                    false => attributes.src = named,
                }
                drop(attributes);
                // Of both, the one that is not shown may go.
                if is_shown {
                    self.leave_link();
                    self.open_soon();
                }
            }
            "endpoint" => {
                self.attributes.borrow_mut().endpoint = value;
                if self.attributes.borrow().names_session() {
                    self.open_soon();
                }
            }
            "follow" => {
                self.attributes.borrow_mut().follow = value;
                self.view.set_following(self.follows());
            }
            "bar" => self
                .view
                .bar
                .shown
                .set(!matches!(value.as_deref(), Some("none" | "false"))),
            "shortcuts" => self.view.set_shortcuts(Shortcuts::of(value.as_deref())),
            "announce" => self.view.set_announced(Announced::of(value.as_deref())),
            "filter" => {
                self.attributes.borrow_mut().filter = named();
                if matches!(self.state.get(), "ready" | "live" | "ended") {
                    self.filter_as_told();
                }
            }
            "thinking" => self.arrange(|mode| {
                mode.thinking = match value.as_deref() {
                    Some("expanded") => Thinking::Expanded,
                    Some("hidden") => Thinking::Hidden,
                    _ => Thinking::Collapsed,
                };
            }),
            "memory" => self.attributes.borrow_mut().memory = value,
            "density" => self.view.relayout(),
            "readonly" => {
                self.attributes.borrow_mut().readonly = value.is_some();
                self.offer_answers();
            }
            "verbosity" => self.arrange(|mode| {
                mode.verbosity = match value.as_deref() {
                    Some("quiet") => Verbosity::Quiet,
                    Some("verbose") => Verbosity::Verbose,
                    _ => Verbosity::Normal,
                };
            }),
            "fold" => self.arrange(|mode| mode.fold = value.as_deref() != Some("none")),
            "diff-view" => {
                let split = Split::of(value.as_deref());
                self.view.context.diffs.set_split(split);
            }
            "wrap" => {
                let wrap = value.is_some_and(|value| !matches!(value.as_str(), "false" | "off"));
                self.view.context.diffs.set_wrap(wrap);
            }
            "speed" | "loop" | "pause-on-markers" | "controls" | "idle-limit" => {
                self.set_playing(name, value.as_deref())
            }
            // One that is asked for stands over what is opened next.
            "poster" if value.is_none() => self.view.context.read_instead(),
            "token" => {
                *self.token.borrow_mut() = value;
                if self.state.get() == "error" {
                    self.open_soon();
                }
            }
            "markers" => self.set_markers(&value.unwrap_or_default()),
            "event" => {
                *self.going_to.borrow_mut() = value;
                // What is shown may be about to go.
                let known =
                    !self.opening.get() && matches!(self.state.get(), "ready" | "live" | "ended");
                self.go_on(known && self.store.event_count() > 0 && self.is_all_here());
            }
            // A stream that the page gave; why.
            "broken" => {
                self.fail(&Failure::new(value.unwrap_or_default(), ""));
            }
            "group" => self.arrange(|mode| mode.group = value.as_deref() != Some("none")),
            _ => {}
        }
    }

    fn load(&self, files: Vec<(String, Blob)>) {
        self.forget_named();
        if !self.begin_reading() {
            return;
        }
        *self.origin.borrow_mut() = Some(Origin::Files(files.clone()));
        if let [(_, file)] = files.as_slice() {
            let running = replay::of_file(file.clone(), self.limits(), self.sink());
            *self.running.borrow_mut() = Some(running);
            return;
        }
        let (me, sink) = (self.me.clone(), self.sink());
        *self.running.borrow_mut() = Some(Running::begin(async move {
            let readers = READERS.needed(|lack| sink(Update::Lacks(lack))).await;
            let Some(me) = me.upgrade() else { return };
            match (readers.files)(files, me.limits(), me.sink()) {
                Ok(running) => *me.running.borrow_mut() = Some(running),
                Err(failure) => me.fail(&failure),
            }
        }));
    }

    fn append(&self, bytes: &[u8], is_open: bool, begins: bool) -> bool {
        if self.refused.get() && !begins {
            return false;
        }
        self.forget_named();
        let goes_on = self.pushed.borrow().is_some();
        let failed = self.state.get() == "error";
        if self.running.borrow_mut().take().is_some() || (failed && !goes_on) {
            self.show_nothing();
        }
        self.streams.set(match is_open {
            true => Streams::Open,
            false => Streams::None,
        });
        if failed {
            // Another stream broke off: what it brought, and the note that says so, stay.
            dom::toggle_attribute(&self.host, NOTHING, false);
        }
        let pushed = self
            .pushed
            .borrow_mut()
            .get_or_insert_with(|| {
                let kept = self.pushed_bytes.borrow().clone();
                Pushed::new(self.sink(), self.limits().most_bytes, kept)
            })
            .clone();
        match pushed.push(bytes, begins) {
            Ok(events) if events.is_empty() => {}
            Ok(events) => self.take(Update::Events(events)),
            Err(failure) => self.take(Update::Failed(failure)),
        }
        !self.refused.get()
    }

    fn unpack(&self, stream: u32, packed: &[u8], is_whole: bool) -> Unpacking {
        let before = self.packed_streams.borrow_mut().remove(&stream);
        let mut unpacks = before.unwrap_or_default();
        let (packed, sink) = (packed.to_vec(), self.sink());
        let (most_bytes, me) = (self.limits().most_bytes, self.me.clone());
        Box::pin(async move {
            match unpacks.next(&packed, is_whole, most_bytes, &sink).await {
                Ok(unpacked) => {
                    if let Some(me) = me.upgrade() {
                        me.packed_streams.borrow_mut().insert(stream, unpacks);
                    }
                    Some(unpacked)
                }
                Err(failure) => {
                    sink(Update::Failed(failure));
                    None
                }
            }
        })
    }

    fn act(&self, what: &str, value: f64) -> f64 {
        // Rows and events are counted in 32 bits, what follows the last of them as well.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let event_idx = (value >= 0.0).then_some((value as u32).min(u32::MAX - 1));
        let row = match what {
            "clear" => {
                if self.pushed.borrow().is_some() {
                    self.going_to.borrow_mut().take();
                }
                self.forget_named();
                self.show_nothing();
                return 0.0;
            }
            "given" => {
                self.streams.set(Streams::Done);
                self.end_given();
                return 0.0;
            }
            // A packed stream is at its end, or nobody wants more of it.
            "unpacked" => {
                // The numbers of streams are counted up from 1.
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                self.packed_streams.borrow_mut().remove(&(value as u32));
                return 0.0;
            }
            "disconnect" => {
                self.running.borrow_mut().take();
                self.view.close();
                return 0.0;
            }
            "adopted" => {
                style::adopt_anew(&self.root);
                return 0.0;
            }
            "moved" => {
                self.view.list().stand_again();
                return 0.0;
            }
            "badge" => return self.view.badge().into(),
            "events" => return self.store.event_count().into(),
            "rows" => return self.view.row_count().into(),
            "coloured" => return u8::from(later::is_drawn(&self.view.context)).into(),
            "time" | "duration" | "rate" | "paused" | "ended" => return self.playing_value(what),
            "event" => event_idx.and_then(|event_idx| self.view.go_to_event(event_idx)),
            "as-of" => {
                self.view.surround();
                self.show_as_of(event_idx)
            }
            command => {
                self.view.surround();
                self.play_command(command, value);
                return 0.0;
            }
        };
        row.map_or(-1.0, f64::from)
    }

    fn pieces(&self) -> Pieces {
        self.pushed_bytes.borrow().clone()
    }

    fn ask(&self, what: &str, text: &str) -> Answering {
        match what {
            "rows" => {
                let rows = self.all_rows(!text.is_empty());
                Box::pin(async move { Ok(Answer::Text(rows.await)) })
            }
            "export" | "export-whole" => match Form::of_ending(text) {
                Some(form) => {
                    let file = self.exported(form, what == "export");
                    Box::pin(async move { Ok(Answer::File(file.await?)) })
                }
                None => {
                    let why = format!("expected html, md, jsonl or json: {text}");
                    Box::pin(async { Err(why) })
                }
            },
            _ => {
                let (view, sink) = (self.view.clone(), self.sink());
                let (what, text) = (what.to_owned(), text.to_owned());
                Box::pin(async move {
                    view.surround_now();
                    let around = AROUND.needed(|lack| sink(Update::Lacks(lack))).await;
                    if view.is_closed() {
                        return Err("the element is in no page".to_owned());
                    }
                    Ok(Answer::Text((around.script)(&view, &what, &text).await?))
                })
            }
        }
    }
}

impl FeedElement {
    /// Shows what the attribute asks for, of the session that is there; the reader may ask for something else from then on.
    pub(super) fn filter_as_told(&self) {
        let question = self.attributes.borrow().filter.clone();
        // With nothing asked for, what the reader looks for stays.
        if question.is_none() && !self.filtered.get() {
            return;
        }
        self.filtered.set(question.is_some());
        let asked = self.ask("filter", &question.unwrap_or_default());
        wasm_bindgen_futures::spawn_local(async move {
            // Another question may be asked meanwhile: it counts then.
            let _ = asked.await;
        });
    }

    /// A link's event is one of the session that it named, and not of another that is opened after it.
    fn leave_link(&self) {
        let is_shown = self.origin.borrow().is_some() || self.pushed.borrow().is_some();
        if is_shown && !self.opening.get() {
            self.going_to.borrow_mut().take();
        }
    }

    /// The rows of the whole session as text.
    fn all_rows(&self, mask_times: bool) -> impl Future<Output = String> + use<> {
        let (view, walks) = (self.view.clone(), self.walks.clone());
        async move {
            later::here(&view.context).await;
            // One walk behind the other: each has rows of its own in the page.
            while walks.replace(true) {
                frame::sleep(WALK_MS).await;
            }
            view.settle();
            clock::learn();
            let list = view.list().clone();
            let mut text = String::new();
            // What is mounted now may be a frame behind; what is mounted from here on is not.
            list.force(Some(0..0));
            let mut from = 0;
            while from < list.len() {
                let to = (from + STRETCH_ROWS).min(list.len());
                list.force(Some(from..to));
                markup::coloured().await;
                text.push_str(&later::outline_of(list.window(), mask_times));
                from = to;
            }
            list.force(None);
            walks.set(false);
            text
        }
    }
}
