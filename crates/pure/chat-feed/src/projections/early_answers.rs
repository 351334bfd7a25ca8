//! Answers that come before the call that has to wait for them.

use std::collections::VecDeque;

use crate::renderer::seen::hash;

/// So many answers may wait for their call.
const MOST_ANSWERS: usize = 256;

/// Answers whose call is not there yet: call by its hash, turn, and when it was answered.
#[derive(Debug, Default)]
pub(super) struct EarlyAnswers(VecDeque<(u64, Option<u64>, Option<i64>)>);

impl EarlyAnswers {
    pub(super) fn note(&mut self, call_id: &str, turn: Option<u64>, at_ms: Option<i64>) {
        if self.0.len() == MOST_ANSWERS {
            self.0.pop_front();
        }
        self.0.push_back((hash(call_id), turn, at_ms));
    }

    /// When the last of what was asked for a call was answered. A source that counts its calls anew in every turn means
    /// another one in another turn.
    pub(super) fn take(&mut self, call_id: &str, turn: Option<u64>) -> Option<i64> {
        if self.0.is_empty() {
            return None;
        }
        let call = hash(call_id);
        let mut last_ms = None;
        self.0.retain(|&(id, of_turn, at_ms)| {
            if id == call && of_turn == turn {
                last_ms = last_ms.max(at_ms);
            }
            id != call
        });
        last_ms
    }
}
