//! Crush: what `crush session show ID --json` prints, and the rows of its database `crush.db`.
//!
//! Both say the same messages and parts; what these mean stands in `talk` and the modules beside it, how each form brings
//! them in `show` and `rows`. A message has a list of parts: in the database JSON in a text, each as `{type, data}`, printed
//! without the `data`. What is printed lacks what calls changed, why a request failed and which message is a summary.
//! After charmbracelet/crush 0.90.0 (`internal/message`, `internal/session`, `internal/agent`, `internal/cmd/session.go`).

mod answers;
mod asks;
mod calls;
mod ends;
mod message;
mod row_sessions;
mod rows;
mod shapes;
mod show;
mod speech;
mod talk;
mod tools;

use crate::dialect::{Form, Origin, Profile, Sessions};
use row_sessions::RowSessions;
use rows::CrushRows;
use show::CrushShow;

pub(crate) static SESSION: Profile = Profile {
    word: "crush-session",
    name: "Crush session",
    form: Form::Document,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: |value| shapes::is_shown(value).then_some(true),
    session_of: show::session_of,
    make: |_| Box::new(CrushShow::new()),
};

pub(crate) static ROWS: Profile = Profile {
    word: "crush-rows",
    name: "Crush database rows",
    form: Form::Lines,
    origin: Origin::File,
    sessions: Sessions::SideBySide(|| Box::<RowSessions>::default()),
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: |value| shapes::is_whole_row(value).then_some(true),
    session_of: rows::session_of,
    make: |context| Box::new(CrushRows::new(context)),
};

const FORMAT: &str = "crush";
