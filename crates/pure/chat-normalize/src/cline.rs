//! Cline and its kin, Roo Code and Kilo Code: the messages that a task shows, `ui_messages.json` in the task's folder.
//!
//! Older versions of `cline … --json` print the same messages, a line each, and a growing one again and again. What a
//! message means stands in `task`, with what is asked in `asks` and what stands beside the talk in `asides`; which tool a
//! message is about, in `tools`, and what it changed, in `edits`. A request to the model quotes what the calls before it gave: `requests` takes that apart.
//!
//! Cline since 4 keeps its sessions in another way, `session`, and prints others lines, `stream`; both have their calls from
//! `talk`.
//!
//! `api_conversation_history.json` beside it is what the model was told. It says the same again, without times, costs and
//! answers of a person, so the shown messages lead. After the programs' sources (Cline 3 and 4, Roo Code 3, Kilo Code 4)
//! and tasks that people published, of 2025 and 2026; `session` and `stream` after runs of Cline CLI 3.0.65, too.

mod asides;
mod asks;
mod calls;
mod changes;
mod edits;
mod helpers;
mod lines;
mod requests;
mod said;
mod session;
mod stream;
mod talk;
mod task;
mod task_line;
mod tools;
mod turns;

use crate::dialect::{Form, Origin, Profile, Sessions};
use lines::{is_message, session_of};
pub(crate) use session::SESSION;
pub(crate) use stream::STREAM;
use task::ClineTask;
pub use task_line::TaskLine;

pub(crate) static TASK: Profile = Profile {
    word: "cline-task",
    name: "Cline task",
    form: Form::Document,
    origin: Origin::File,
    sessions: Sessions::One,
    // It does where the task is completed or goes on.
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_message,
    session_of,
    make: |context| Box::new(ClineTask::new(context)),
};

const FORMAT: &str = "cline";
