//! Prompts, plans, progress, audio and notices: rows that need few others.

use std::borrow::Cow;

use chat_event::payload::{AudioChunk, LogGap, Notice, Plan, Progress, UserAudio, UserMessage};
use chat_event::{Body, ChatEvent, Json, gist};
use serde_json::json;

use super::ChatRenderer;
use crate::block::{BlockBody, BlockId, ProgressBlock, Prompt, ResponseIdx};

/// So many spoken answers of a turn may be told of in turns; each piece looks for its own among them.
const MOST_OPEN_SOUNDS: usize = 64;

impl ChatRenderer {
    #[inline(never)]
    pub(super) fn user_message(&mut self, event: &ChatEvent, message: &UserMessage) {
        let text = message.text.clone();
        self.prompt(event, text, false, message.attachments.clone());
    }

    #[inline(never)]
    pub(super) fn user_audio(&mut self, event: &ChatEvent, audio: &UserAudio) {
        let text = Body::from(audio.transcription.as_str());
        // Sound that the event holds itself is there to be heard; what lies elsewhere is not fetched.
        let own = audio.audio_ref.as_deref();
        let own = own.filter(|address| address.starts_with("data:"));
        let attachments =
            own.map(|data| Json::from(json!([{"mediaType": "audio/*", "data": data}])));
        self.prompt(event, text, true, attachments);
    }

    fn prompt(&mut self, event: &ChatEvent, text: Body, spoken: bool, attachments: Option<Json>) {
        let nested = event.parent_tool_call_id.is_some();
        if !nested && event.turn_id.is_none() {
            self.begin_unnamed_turn();
        }
        let place = self.place(event);
        self.close_unnamed_parts(&place);
        // What a program attaches in a person's name is no person's.
        let from = event.extra.get("from").and_then(|from| from.as_str());
        let trigger = match from.as_deref() {
            Some("program") => "system".into(),
            _ => self.feed.turn(place.turn).trigger.clone(),
        };
        if !nested && self.feed.session.title.is_none() {
            self.feed.session.title = gist::title(&text.head());
            self.session_changed();
        }
        let known = self.feed.turn(place.turn).prompt;
        let known = known.filter(|&id| !nested && self.feed.contains(id));
        let mut prompt = Box::new(Prompt {
            text: Some(text),
            spoken,
            attachments,
            trigger,
            before_ms: match nested || known.is_some() {
                true => self.feed.turn(place.turn).started_ms,
                false => self.prompted_before(place.turn),
            },
        });
        if let Some(id) = known
            && let BlockBody::Prompt(known) = &mut self.feed.slot(id).block.body
            && known.text.is_none()
        {
            prompt.before_ms = known.before_ms;
            *known = prompt;
            let event_id = self.event_id.as_str().into();
            self.feed.slot(id).block.event_id = event_id;
            self.update(id);
            return;
        }
        let body = BlockBody::Prompt(prompt);
        let id = match place.parent.filter(|&call| self.is_late_task(call)) {
            Some(call) => self.insert_after(&place, Some(call), body),
            None => self.insert(&place, body),
        };
        if !nested && known.is_none() {
            self.set_prompt(place.turn, id);
        }
    }

    /// Whether what is said to a sub-agent now is its task, which another source told too late: it was said before the first
    /// of its work, and there is none.
    fn is_late_task(&self, call: BlockId) -> bool {
        let first = self.feed.next(call).map(|id| self.feed.block(id));
        let first = first.filter(|first| {
            first.parent == Some(call) && !matches!(first.body, BlockBody::Prompt(_))
        });
        let times = first.and_then(|first| first.at_ms).zip(self.now_ms);
        times.is_some_and(|(first_ms, now_ms)| now_ms < first_ms)
    }

    /// A prompt of a source without turns begins one, unless a turn was begun just now and still waits for its prompt.
    fn begin_unnamed_turn(&mut self) {
        let waits = self.current_turn.is_some_and(|turn| {
            let facts = self.feed.turn(turn);
            let told = facts.prompt.is_some_and(|id| {
                matches!(&self.feed.block(id).body, BlockBody::Prompt(prompt) if prompt.text.is_some())
            });
            let closed = self.turn_works[turn.0 as usize].closed;
            !closed && facts.id.is_none() && !facts.trigger.is_empty() && !told
        });
        let named_and_open = self.current_turn.is_some_and(|turn| {
            self.feed.turn(turn).id.is_some() && !self.turn_works[turn.0 as usize].closed
        });
        if !waits && !named_and_open {
            self.new_turn(None, "user");
        }
    }

    #[inline(never)]
    pub(super) fn plan(&mut self, event: &ChatEvent, plan: &Plan) {
        let place = self.place(event);
        let changes = self.plan_changes(&place, &plan.entries);
        let body = BlockBody::Plan(plan.entries.clone());
        // A turn has one plan of each agent.
        let plans = &self.turn_works[place.turn.0 as usize].plans;
        let known = plans.get(&place.parent).copied();
        let known = known.filter(|&id| self.feed.contains(id));
        let id = match known {
            Some(id) => {
                self.feed.slot(id).block.body = body;
                self.update(id);
                id
            }
            None => {
                let id = self.insert(&place, body);
                let plans = &mut self.turn_works[place.turn.0 as usize].plans;
                plans.insert(place.parent, id);
                id
            }
        };
        self.note_plan_step(id, changes);
    }

    #[inline(never)]
    pub(super) fn progress(&mut self, event: &ChatEvent, progress: &Progress) {
        let place = self.place(event);
        let call = progress.tool_call_id.as_deref();
        if let Some(&id) = call.and_then(|call_id| self.calls.get(call_id)) {
            let call = self.call_mut(id);
            if call.status.runs() {
                call.progress = Some(progress.clone());
                self.update(id);
            }
            return;
        }
        // A step that goes on is one row.
        let last = self.end_of(&place).filter(|&last| {
            let block = self.feed.block(last);
            let same = matches!(&block.body, BlockBody::Progress(old) if old.told.tool_call_id == progress.tool_call_id);
            same && block.turn == place.turn && block.parent == place.parent
        });
        let over = self.is_over_at(place.turn, place.parent);
        let told = progress.clone();
        let body = BlockBody::Progress(ProgressBlock { told, over });
        let row = match last {
            Some(last) => {
                self.feed.slot(last).block.body = body;
                self.update(last);
                last
            }
            None => self.insert(&place, body),
        };
        if !over {
            let open = self.open_at(place.turn, place.parent);
            open.progress.insert(row);
        }
    }

    #[inline(never)]
    pub(super) fn audio_chunk(&mut self, event: &ChatEvent, chunk: &AudioChunk) {
        let id = self.audio(event, 1, None);
        let BlockBody::Audio { sound, .. } = self.feed.block(id).body else {
            return;
        };
        // Base64 may stand in lines, and each piece is kept as one.
        let data: Cow<'_, str> = match chunk.data.as_deref().unwrap_or_default() {
            data if data.contains(['\r', '\n']) => data.replace(['\r', '\n'], "").into(),
            data => data.into(),
        };
        let n_before = sound.map_or(0, |sound| self.feed.body(sound).text.len());
        // What is too long to be played whole is not played: its pieces are then fewer than it has.
        let fits = n_before.saturating_add(data.len()) as u64 <= crate::media::MOST_BYTES;
        if data.is_empty() || !fits {
            return;
        }
        let sound = sound.unwrap_or_else(|| self.new_text());
        if let BlockBody::Audio { sound: known, .. } = &mut self.feed.slot(id).block.body {
            *known = Some(sound);
        }
        let piece = format!("{} {data}\n", chunk.seq);
        self.feed.body(sound).text.open().push_str(&piece);
        self.feed.note_growth(sound, self.event);
    }

    /// Goes on with the spoken answer, or begins one; its row.
    #[inline(never)]
    pub(super) fn audio(
        &mut self,
        event: &ChatEvent,
        n_chunks: u32,
        end: Option<Option<u64>>,
    ) -> BlockId {
        let place = self.place(event);
        let work = &self.turn_works[place.turn.0 as usize];
        let is_over = work.closed;
        // What comes late is its own as well.
        let of_response = |response: ResponseIdx| self.response_works[response.0 as usize].sound;
        let named = place.response.and_then(of_response);
        // Its words, and other rows, come between its pieces.
        let mut sounds = named
            .into_iter()
            .chain(work.open_sounds.iter().rev().copied());
        let known = sounds.find(|&row| {
            self.feed.contains(row) && {
                let block = self.feed.block(row);
                let told = place.response.zip(block.response);
                block.parent == place.parent && told.is_none_or(|(one, other)| one == other)
            }
        });
        let was_whole = known.is_some_and(|row| !work.open_sounds.contains(&row));
        let id = known.unwrap_or_else(|| {
            let body = BlockBody::Audio {
                chunks: 0,
                duration_ms: None,
                done: false,
                sound: None,
            };
            self.insert(&place, body)
        });
        if let Some(response) = place.response {
            self.response_works[response.0 as usize].sound = Some(id);
        }
        let is_whole = end.is_some() || was_whole;
        let open_sounds = &mut self.turn_works[place.turn.0 as usize].open_sounds;
        match is_whole {
            true => open_sounds.remove(&id),
            false => open_sounds.insert(id),
        };
        let oldest = match open_sounds.len() > MOST_OPEN_SOUNDS {
            true => open_sounds.pop_first(),
            false => None,
        };
        if let BlockBody::Audio {
            chunks,
            duration_ms,
            done,
            ..
        } = &mut self.feed.slot(id).block.body
        {
            *chunks += n_chunks;
            *done = is_whole || is_over;
            *duration_ms = end.flatten().or(*duration_ms);
        }
        if let Some(oldest) = oldest {
            self.settle_sound(oldest);
        }
        self.update(id);
        id
    }

    /// No more of it is expected; what comes late is still its own.
    pub(super) fn settle_sound(&mut self, id: BlockId) {
        if !self.feed.contains(id) {
            return;
        }
        if let BlockBody::Audio { done, .. } = &mut self.feed.slot(id).block.body
            && !std::mem::replace(done, true)
        {
            self.update(id);
        }
    }

    #[inline(never)]
    pub(super) fn notice(&mut self, event: &ChatEvent, notice: &Notice) {
        let body = BlockBody::Notice {
            warning: notice.level != "info",
            text: notice.text.clone(),
            line: notice.line,
            source: notice.source.clone(),
            found: found(notice),
        };
        let row = self.row_of_damage(event, body);
        // Most have no more to say.
        if !notice.extra.is_empty() {
            self.set_back(row, notice);
        }
    }

    /// Lines in a row that cannot be read are one damaged place, and so is the gap that they leave in the count of events.
    fn row_of_damage(&mut self, event: &ChatEvent, body: BlockBody) -> BlockId {
        let place = self.place(event);
        let before = self.end_of(&place);
        let goes_on = before.is_some_and(|before| self.feed.block(before).body.is_damage());
        if body.is_damage() && !goes_on {
            let session = &mut self.feed.session;
            session.damaged_places = session.damaged_places.saturating_add(1);
            self.session_changed();
        }
        self.insert(&place, body)
    }

    #[inline(never)]
    pub(super) fn raw(&mut self, event: &ChatEvent, label: String, value: &Json) {
        let value = value.clone();
        self.row(event, BlockBody::Raw { label, value });
    }

    #[inline(never)]
    pub(super) fn log_gap(&mut self, event: &ChatEvent, gap: &LogGap) {
        let n_lost = gap.n_missing();
        let session = &mut self.feed.session;
        session.lost_events = session.lost_events.saturating_add(n_lost);
        self.session_changed();
        self.row_of_damage(event, BlockBody::Gap(gap.clone()));
    }
}

/// As much of a line that could not be read is kept as readers of files tell; who else tells of one may tell all of it.
const FOUND_BYTES: usize = 4096;

/// What stands in a line that could not be read, where the notice tells it.
fn found(notice: &Notice) -> Option<String> {
    let found = notice.extra.get(Notice::FOUND)?;
    let text = found.as_str()?;
    Some(text[..text.floor_char_boundary(FOUND_BYTES)].to_owned())
}
