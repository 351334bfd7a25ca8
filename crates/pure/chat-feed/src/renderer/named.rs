//! Names of rows for links: an event's id is its first row, `id.2` its second. An answer is one event and a row for each
//! paragraph.

use super::ChatRenderer;
use crate::block::BlockId;
use crate::feed::Feed;

impl ChatRenderer {
    /// The row that a link names; where the event has fewer rows than it says, its last.
    pub fn block_named(&self, name: &str) -> Option<BlockId> {
        let (event_id, nth, last) = match self.block_of_id(name) {
            Some(last) => (name, 1, last),
            None => {
                let (event_id, nth) = name.rsplit_once('.')?;
                (
                    event_id,
                    nth.parse::<u32>().ok()?,
                    self.block_of_id(event_id)?,
                )
            }
        };
        let feed = &self.feed;
        let is_of_it = |block: &BlockId| *feed.block(*block).event_id == *event_id;
        let mut at = last;
        while let Some(before) = feed.prev(at).filter(is_of_it) {
            at = before;
        }
        for _ in 1..nth {
            match feed.next(at).filter(is_of_it) {
                Some(next) => at = next,
                None => break,
            }
        }
        Some(at)
    }
}

impl Feed {
    /// The name of a row; see [`ChatRenderer::block_named`].
    pub fn name_of(&self, block: BlockId) -> String {
        let event_id = &self.block(block).event_id;
        let mut at = block;
        let mut nth = 1_u32;
        while let Some(before) = self.prev(at)
            && self.block(before).event_id == *event_id
        {
            (at, nth) = (before, nth + 1);
        }
        match nth {
            1 => event_id.to_string(),
            nth => format!("{event_id}.{nth}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use chat_event::ChatEvent;
    use serde_json::json;

    use super::*;

    #[test]
    fn each_row_of_an_answer_has_a_name_that_leads_to_it_and_the_event_leads_to_its_first() {
        let mut renderer = ChatRenderer::default();
        let answer = "One.\n\n# Two\n\n- three\n\nFour.";
        for (seq, id, kind, payload) in [
            (1, "a", "user_message", json!({"text": "Ask"})),
            (2, "b.2", "assistant_done", json!({"text": answer})),
            (3, "c", "turn_end", json!({"outcome": "completed"})),
        ] {
            let event = json!({"seq": seq, "id": id, "timestamp": seq, "sessionId": "s", "type": kind, "turnId": "t",
                               "payload": payload});
            let event = ChatEvent::from_json(&event.to_string()).unwrap();
            renderer.apply(&event, &mut Vec::new());
        }
        let feed = renderer.feed();
        let rows: Vec<BlockId> = feed.rows().map(|block| block.id).collect();
        let of_answer: Vec<String> = rows
            .iter()
            .filter(|row| *feed.block(**row).event_id == *"b.2")
            .map(|row| feed.name_of(*row))
            .collect();
        // An id may have a full stop itself.
        assert_eq!(of_answer, ["b.2", "b.2.2", "b.2.3", "b.2.4"]);
        for row in &rows {
            assert_eq!(renderer.block_named(&feed.name_of(*row)), Some(*row));
        }
        assert_eq!(renderer.block_named("b.2.9"), renderer.block_named("b.2.4"));
        for nothing in ["", "b", "b.", "d", "a.x", ".2"] {
            assert_eq!(renderer.block_named(nothing), None, "{nothing}");
        }
    }
}
