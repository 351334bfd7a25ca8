//! The sections of the list: who stands in which.

use super::{Row, State};

/// What stands between the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// Those that wait for an answer.
    NeedsYou,
    /// Those that work, or did until a moment ago and have not ended.
    Running,
    /// Those that should.
    Quiet,
    /// Of today.
    EarlierToday,
    /// Of the day before.
    Yesterday,
    /// All before.
    Older,
    /// What came with the program.
    Examples,
}

impl Section {
    /// All, in their order.
    pub const ALL: [Section; 7] = [
        Section::NeedsYou,
        Section::Running,
        Section::Quiet,
        Section::EarlierToday,
        Section::Yesterday,
        Section::Older,
        Section::Examples,
    ];

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Section::NeedsYou => "Needs you",
            Section::Running => "Running",
            Section::Quiet => "Quiet",
            Section::EarlierToday => "Earlier today",
            Section::Yesterday => "Yesterday",
            Section::Older => "Older",
            Section::Examples => "Examples",
        }
    }

    /// Where a session stands.
    pub fn of(row: &Row, clock: Clock) -> Section {
        if row.sample {
            return Section::Examples;
        }
        match row.state(clock.now_ms) {
            State::NeedsYou => Section::NeedsYou,
            State::Running => Section::Running,
            State::Idle if row.rests(clock.now_ms) => Section::Running,
            State::Quiet => Section::Quiet,
            State::Idle | State::Failed | State::Done | State::Cancelled => match row.at_ms() {
                at_ms if at_ms >= clock.today_ms => Section::EarlierToday,
                at_ms if at_ms >= clock.yesterday_ms => Section::Yesterday,
                _ => Section::Older,
            },
        }
    }
}

/// The time, and when days began where the reader is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Now.
    pub now_ms: i64,
    /// When today began.
    pub today_ms: i64,
    /// When yesterday began.
    pub yesterday_ms: i64,
}
