//! What is told of a feed.

use std::sync::Arc;

use chat_event::Text;
use chat_event::pack::{Pack, Packer, Unpacker};

use super::text_body::Streamed;
use super::{Feed, TextBody};
use crate::replica::{
    Replicate, hear_appended, hear_list, hear_list_by, hear_value, tell_appended, tell_list,
    tell_list_by, tell_value,
};

impl Replicate for Feed {
    fn tell(&self, told: &mut Feed, out: &mut Packer) {
        // A row or text that changed is another allocation: `told` shares the one before.
        tell_list_by(
            &self.slots,
            &mut told.slots,
            out,
            Arc::ptr_eq,
            |slot, _, out| {
                slot.pack(out);
            },
        );
        tell_list_by(&self.texts, &mut told.texts, out, Arc::ptr_eq, tell_text);
        tell_list(&self.links, &mut told.links, out);
        tell_value(&self.first, &mut told.first, out);
        tell_value(&self.last, &mut told.last, out);
        tell_value(&self.n_rows, &mut told.n_rows, out);
        tell_list(&self.turns, &mut told.turns, out);
        tell_appended(&self.responses, &mut told.responses, out);
        tell_value(&self.session, &mut told.session, out);
        tell_appended(&self.rows_of_events, &mut told.rows_of_events, out);
        tell_value(&self.context, &mut told.context, out);
        self.plan_steps.tell(&mut told.plan_steps, out);
        if let (Some(history), Some(told)) = (&self.history, &mut told.history) {
            history.tell(told, out);
        }
    }

    fn hear(&mut self, input: &mut Unpacker<'_>) {
        hear_list(&mut self.slots, input);
        hear_list_by(&mut self.texts, input, hear_text);
        hear_list(&mut self.links, input);
        hear_value(&mut self.first, input);
        hear_value(&mut self.last, input);
        hear_value(&mut self.n_rows, input);
        hear_list(&mut self.turns, input);
        hear_appended(&mut self.responses, input);
        hear_value(&mut self.session, input);
        hear_appended(&mut self.rows_of_events, input);
        hear_value(&mut self.context, input);
        self.plan_steps.hear(input);
        let Some(mut history) = self.history.take() else {
            return;
        };
        let n_counted = history.all_usage_notes().len();
        history.hear(input);
        // What was used is counted again from what was said: the counts are more than that.
        for (_, counted) in &history.all_usage_notes()[n_counted..] {
            self.usage.take(&counted.of_session);
            if let Some(note) = &counted.of_agent {
                self.agent_usage.take(note);
            }
        }
        self.history = Some(history);
    }
}

/// How a text is told: what it has more, another one, or one that stays packed.
const MORE: u8 = 0;
const ANOTHER: u8 = 1;
const COLD: u8 = 2;

fn tell_text(now: &Arc<TextBody>, told: Option<&mut Arc<TextBody>>, out: &mut Packer) {
    let mut empty = TextBody::default();
    let told = match told {
        Some(told) => Arc::make_mut(told),
        None => &mut empty,
    };
    // Once, whole, whatever of it was told before.
    match now.is_seldom_read && !told.is_seldom_read {
        true => {
            out.byte(COLD);
            now.text.to_cold().pack(out);
        }
        false => {
            let (now, told) = (now.text.read(), told.text.read());
            let grown = now.strip_prefix(&*told);
            out.byte(if grown.is_some() { MORE } else { ANOTHER });
            out.text(grown.unwrap_or(&now));
        }
    }
    now.is_seldom_read.pack(out);
    now.growth.tell(&mut told.growth, out);
    tell_appended(&now.rewrites, &mut told.rewrites, out);
    now.n_chars.pack(out);
    tell_list(&now.switches, &mut told.switches, out);
}

fn hear_text(known: Option<&mut Arc<TextBody>>, input: &mut Unpacker<'_>) -> Option<Arc<TextBody>> {
    let mut new = TextBody::default();
    let is_new = known.is_none();
    let body = match known {
        Some(known) => Arc::make_mut(known),
        None => &mut new,
    };
    match input.byte() {
        COLD => body.text = Text::unpack(input).into(),
        how => {
            let more = input.text();
            if how == ANOTHER {
                body.text = Streamed::default();
            }
            // What lies packed stays so where nothing is added to it.
            if !more.is_empty() {
                let text = body.text.open();
                // Most texts come once and whole.
                text.reserve_exact(more.len());
                text.push_str(more);
            }
        }
    }
    body.is_seldom_read = Pack::unpack(input);
    body.growth.hear(input);
    hear_appended(&mut body.rewrites, input);
    body.n_chars = Pack::unpack(input);
    hear_list(&mut body.switches, input);
    is_new.then(|| Arc::new(new))
}
