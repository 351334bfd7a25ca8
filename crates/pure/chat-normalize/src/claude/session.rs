//! What both dialects of Claude Code keep while they are read: open turns, open tool calls, open messages.
//!
//! | state | what happens | next |
//! |---|---|---|
//! | no turn | `open_turn` | turn open |
//! | turn open | `open_turn` | two turns open; new events go to the newest |
//! | turn open | `close_turn` | its open parts and calls are closed, then it is |
//! | any | `close_all` (the source ended) | every open turn is closed as interrupted |

mod agents;
mod background;
mod calls;
mod messages;
mod open;
mod turns;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chat_event::Extra;
use chat_event::payload::Retract;
use serde_json::Value;

use super::permissions::Asks;
use super::plan::Tasks;
use super::seen::Seen;
use super::task_end::TaskEnd;
use super::usage::Spent;
use crate::emit::{Emitter, Place};
use crate::facts::Facts;
use crate::recent::{LATE_LARGE, Recent};
use agents::Agents;
use background::LeftRunning;
pub(crate) use background::{lost_result, result_of as task_result};
pub(crate) use calls::Call;
pub(crate) use messages::{Message, OpenMessage, Parts};
use open::OpenIndex;
pub(crate) use turns::Turn;

/// The state of one session. Of what is over, that is kept which a late line may name: of the last 28,672 calls and
/// responses at least, and of the last 7,168 messages.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) format: &'static str,
    pub(crate) facts: Facts,
    pub(crate) seen: Seen,
    pub(crate) turns: Vec<Turn>,
    /// The open calls, by the provider's id.
    pub(crate) calls: BTreeMap<String, Call>,
    open_calls: OpenIndex,
    /// Calls that left something running, by the ids of the tasks.
    background: BTreeMap<String, LeftRunning>,
    /// Tasks that were told to be in the background, by the provider's ids of the calls whose results are to come.
    pub(crate) sent_to_background: Recent<String>,
    /// Ends of tasks that were told before the results of the calls that began them, by the provider's ids of those.
    pub(crate) ended_early: Recent<TaskEnd, LATE_LARGE>,
    /// The program does not tell how commands in the background end: before 2.1.
    pub(crate) hides_ends: bool,
    /// How many calls of the main agent were made and have no result, by the turn they were made in.
    waited_for: HashMap<String, u64>,
    pub(crate) messages: HashMap<String, Message>,
    n_messages: u64,
    /// With so many messages those that are whole and far back are forgotten; 0 at the beginning.
    forget_at: usize,
    /// Those of which chunks came whose whole text did not.
    pub(crate) open_messages: BTreeSet<OpenMessage>,
    pub(crate) asks: Asks,
    pub(crate) tasks: Tasks,
    pub(crate) spent: Spent,
    agents: Agents,
    n_turns: u64,
    /// The id of the turn that was opened last.
    newest_turn: String,
    n_calls: u64,
    /// Provider ids of calls that are over, and the number of calls each stood for.
    uses: Recent<u32>,
    /// Provider id → the id its events bear, where that differs.
    renamed: Recent<String>,
    /// Calls whose result came: a second result of theirs is shown, not paired.
    finished: Recent<()>,
    /// Calls that were taken back: a result of theirs is of nothing.
    taken_back: Recent<()>,
    response_ids: Recent<u32>,
    /// Call id → the turn it was made in; sub-agents' events go there.
    call_turns: Recent<String>,
    /// Paths that were read and held nothing: a file "created" there was there before.
    pub(crate) empty_files: Recent<()>,
    /// Times are the source's, so that differences mean something.
    pub(crate) has_times: bool,
    /// Requests have lines of their own: a call asks nobody by itself.
    pub(crate) has_requests: bool,
}

impl Session {
    /// `has_times` for a source whose lines bear times.
    pub(crate) fn new(format: &'static str, has_times: bool) -> Self {
        Session {
            format,
            has_times,
            ..Session::default()
        }
    }

    /// The place of what the main agent does now, or of what the sub-agent does that `parent` started.
    pub(crate) fn place(&self, parent: Option<&str>, agent_id: Option<&str>) -> Place {
        let newest = self.turns.last().map(|turn| turn.id.clone());
        let parent = parent.map(|id| self.call_id(id));
        let of_parent = parent
            .as_ref()
            .and_then(|id| self.call_turns.get(id))
            .cloned();
        let turn_id = match of_parent {
            Some(id) if newest.is_none() || self.turns.iter().any(|turn| turn.id == id) => Some(id),
            _ => newest,
        };
        Place {
            turn_id,
            response_id: None,
            agent_id: agent_id.map(str::to_owned),
            parent_tool_call_id: parent,
        }
    }

    /// Takes back what the lines with these ids said.
    pub(crate) fn retract(&mut self, emitter: &mut Emitter, place: &Place, uuids: &[Value]) {
        let event_ids: Vec<String> = uuids
            .iter()
            .filter_map(Value::as_str)
            .flat_map(|uuid| emitter.ids_of(uuid))
            .collect();
        if event_ids.is_empty() {
            return;
        }
        for call_id in event_ids.iter().filter_map(|id| id.strip_suffix(":call")) {
            self.take_back_call(emitter, call_id);
        }
        emitter.add(
            "retract",
            place,
            Retract {
                event_ids,
                extra: Extra::default(),
            },
        );
    }
}
