//! What is told of a history.

use chat_event::pack::{Pack, Packer, Unpacker};

use super::{EventIdx, History, Lengths, RowMarks, UsageCounted};
use crate::replica::{
    Replicate, hear_appended, hear_list, hear_list_by, hear_value, tell_appended, tell_list,
    tell_list_by, tell_value,
};

impl Replicate for History {
    fn tell(&self, told: &mut History, out: &mut Packer) {
        // Between two events nothing is held.
        tell_value(&self.event, &mut told.event, out);
        tell_value(&self.n_changes, &mut told.n_changes, out);
        self.order.tell(&mut told.order, out);
        tell_list_by(
            &self.rows,
            &mut told.rows,
            out,
            RowMarks::is_still,
            tell_marks,
        );
        tell_appended(&self.row_records, &mut told.row_records, out);
        tell_appended(&self.gone, &mut told.gone, out);
        tell_appended(&self.beside, &mut told.beside, out);
        tell_appended(&self.turns_began, &mut told.turns_began, out);
        tell_list(&self.newest_of_turns, &mut told.newest_of_turns, out);
        tell_list(&self.turns_held, &mut told.turns_held, out);
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
        hear_list_by(&mut self.rows, input, hear_marks);
        hear_appended(&mut self.row_records, input);
        hear_appended(&mut self.gone, input);
        hear_appended(&mut self.beside, input);
        hear_appended(&mut self.turns_began, input);
        hear_list(&mut self.newest_of_turns, input);
        hear_list(&mut self.turns_held, input);
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

/// The numbers anew, and of where its text ended what is more.
fn tell_marks(now: &RowMarks, told: Option<&mut RowMarks>, out: &mut Packer) {
    for number in now.numbers() {
        number.pack(out);
    }
    now.ends.is_some().pack(out);
    if let Some(ends) = &now.ends {
        let mut none = Lengths::default();
        let told = told.and_then(|told| told.ends.as_deref_mut());
        ends.tell(told.unwrap_or(&mut none), out);
    }
}

fn hear_marks(known: Option<&mut RowMarks>, input: &mut Unpacker<'_>) -> Option<RowMarks> {
    let [came, changed, stamp, newest, gone, held] = std::array::from_fn(|_| u32::unpack(input));
    let mut ends = known.and_then(|known| known.ends.take());
    if bool::unpack(input) {
        ends.get_or_insert_default().hear(input);
    }
    Some(RowMarks {
        came,
        changed,
        stamp,
        newest,
        gone,
        held,
        ends,
    })
}

impl History {
    /// What was said of tokens and cost, in the order it was counted.
    pub(crate) fn all_usage_notes(&self) -> &[(EventIdx, UsageCounted)] {
        &self.usage
    }
}
