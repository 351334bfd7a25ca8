//! What is told of a history.

use chat_event::pack::{Packer, Unpacker};

use super::{EventIdx, History, UsageCounted};
use crate::replica::{
    Replicate, hear_appended, hear_list, hear_value, tell_appended, tell_list, tell_value,
};

impl Replicate for History {
    fn tell(&self, told: &mut History, out: &mut Packer) {
        // Between two events nothing is held.
        tell_value(&self.event, &mut told.event, out);
        tell_value(&self.n_changes, &mut told.n_changes, out);
        self.order.tell(&mut told.order, out);
        tell_list(&self.rows, &mut told.rows, out);
        tell_appended(&self.row_records, &mut told.row_records, out);
        tell_appended(&self.gone, &mut told.gone, out);
        tell_appended(&self.beside, &mut told.beside, out);
        tell_appended(&self.turns_began, &mut told.turns_began, out);
        tell_list(&self.newest_of_turns, &mut told.newest_of_turns, out);
        tell_appended(&self.turn_records, &mut told.turn_records, out);
        tell_value(&self.session, &mut told.session, out);
        tell_appended(&self.sessions, &mut told.sessions, out);
        tell_value(&self.context, &mut told.context, out);
        tell_appended(&self.contexts, &mut told.contexts, out);
        tell_appended(&self.usage, &mut told.usage, out);
        self.times.tell(&mut told.times, out);
        tell_appended(&self.whole_texts, &mut told.whole_texts, out);
    }

    fn hear(&mut self, input: &mut Unpacker<'_>) {
        hear_value(&mut self.event, input);
        hear_value(&mut self.n_changes, input);
        self.order.hear(input);
        hear_list(&mut self.rows, input);
        hear_appended(&mut self.row_records, input);
        hear_appended(&mut self.gone, input);
        hear_appended(&mut self.beside, input);
        hear_appended(&mut self.turns_began, input);
        hear_list(&mut self.newest_of_turns, input);
        hear_appended(&mut self.turn_records, input);
        hear_value(&mut self.session, input);
        hear_appended(&mut self.sessions, input);
        hear_value(&mut self.context, input);
        hear_appended(&mut self.contexts, input);
        hear_appended(&mut self.usage, input);
        self.times.hear(input);
        hear_appended(&mut self.whole_texts, input);
    }
}

impl History {
    /// What was said of tokens and cost, in the order it was counted.
    pub(crate) fn all_usage_notes(&self) -> &[(EventIdx, UsageCounted)] {
        &self.usage
    }
}
