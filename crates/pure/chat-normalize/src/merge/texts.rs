//! Texts and thoughts, in pieces and whole: who told a part may word it anew, and one source tells its pieces.

use chat_event::{ChatEvent, Payload};

use super::facts::Part;
use super::{Merge, Strength};

/// Who tells the pieces of a part, and the ids of those that may have to be taken back.
#[derive(Debug)]
pub(super) struct Chunks {
    by: usize,
    ids: Vec<String>,
}

impl Merge {
    /// The whole text of a part.
    pub(super) fn tell_whole(
        &mut self,
        part: Option<Part>,
        words: u64,
        guess: bool,
        source: usize,
        event: ChatEvent,
        out: &mut Vec<ChatEvent>,
    ) {
        let fresh = self.told.count(words, source);
        let strength = Strength::of(guess);
        let Some(Part(part)) = part else {
            return self.tell_if(fresh, source, event, out);
        };
        let before = self.once.get(&part).copied();
        if before.is_some_and(|before| before >= strength) {
            // Who told it corrects it; what another one says of it is another wording.
            let told = self.wholes.get_mut(&part).filter(|_| !guess);
            match told.filter(|(by, now)| *by == source && *now != words) {
                Some((_, now)) => {
                    *now = words;
                    self.write(source, event, out);
                }
                None => self.dropped += 1,
            }
            return;
        }
        self.once.insert(part, strength);
        let chunks = self.chunks.remove(&part);
        if fresh || before.is_some() {
            self.wholes.insert(part, (source, words));
            self.write(source, event, out);
            return;
        }
        self.dropped += 1;
        // The words stand in a message that another source names otherwise: the pieces of this one go.
        if let Some(chunks) = chunks.filter(|chunks| !chunks.ids.is_empty()) {
            self.take_back(chunks.ids, &event, source, out);
        }
    }

    /// A piece of a part, or of what a call gives.
    pub(super) fn tell_chunk(
        &mut self,
        part: Part,
        source: usize,
        event: ChatEvent,
        out: &mut Vec<ChatEvent>,
    ) {
        let Part(part) = part;
        if self.once.contains_key(&part) {
            self.dropped += 1;
            return;
        }
        let chunks = self.chunks.entry(part).or_insert(Chunks {
            by: source,
            ids: Vec::new(),
        });
        if chunks.by != source {
            self.dropped += 1;
            return;
        }
        let keeps = matches!(
            event.payload,
            Payload::AssistantChunk(_) | Payload::ThinkingChunk(_)
        );
        let id = self.write(source, event, out);
        if keeps && let Some(chunks) = self.chunks.get_mut(&part) {
            chunks.ids.push(id);
        }
    }
}
