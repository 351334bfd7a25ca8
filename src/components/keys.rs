//! The keys: one table that binds them and that the help sheet is drawn from.
//!
//! What a command does is for `feed`; keys of text fields, and of a card being answered, are their own.

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    NextRow,
    PreviousRow,
    NextArticle,
    PreviousArticle,
    NextPrompt,
    PreviousPrompt,
    NextTool,
    PreviousTool,
    NextError,
    PreviousError,
    NextWaiting,
    Toggle,
    ToggleKind,
    CloseKind,
    Top,
    End,
    Before,
    Behind,
    Follow,
    Find,
    NextHit,
    PreviousHit,
    Copy,
    CopyAnswer,
    CopyLink,
    OpenFile,
    Sides,
    Wrap,
    NextHunk,
    PreviousHunk,
    NextFile,
    PreviousFile,
    Viewed,
    Verbosity,
    Sessions,
    Panel,
    Help,
    Leave,
    PlayOrPause,
    NextEvent,
    PreviousEvent,
    NextTurn,
    PreviousTurn,
    NextMarker,
    PreviousMarker,
    NextChunk,
    PreviousChunk,
    Tenth,
    Faster,
    Slower,
    SkipIdle,
    Live,
    Back,
    On,
    First,
    Last,
    TenthBack,
    TenthOn,
}

/// One line of the table.
pub(crate) struct Binding {
    /// The keys, any of which will do: `j`, `Ctrl+f`, `g g`.
    pub(crate) keys: &'static [&'static str],
    /// What they ask for.
    pub(crate) command: Command,
    /// The same in words.
    pub(crate) words: &'static str,
}

/// Where keys act; what the focus is in goes before what is around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Within {
    /// All of a feed.
    Feed,
    /// The lines of a diff.
    Diff,
    /// The bar of a replay.
    Bar,
}

/// Lines that belong together.
pub(crate) struct Section {
    /// What they are about.
    pub(crate) title: &'static str,
    /// Where they act.
    pub(crate) within: Within,
    /// The lines.
    pub(crate) bindings: &'static [Binding],
}

const fn bind(keys: &'static [&'static str], command: Command, words: &'static str) -> Binding {
    Binding {
        keys,
        command,
        words,
    }
}

/// All keys, as they are shown.
pub(crate) const TABLE: &[Section] = &[
    Section {
        title: "Move",
        within: Within::Feed,
        bindings: &[
            bind(&["j", "ArrowDown"], Command::NextRow, "Next item"),
            bind(&["k", "ArrowUp"], Command::PreviousRow, "Previous item"),
            bind(
                &["PageDown"],
                Command::NextArticle,
                "Next item, from anywhere in one",
            ),
            bind(
                &["PageUp"],
                Command::PreviousArticle,
                "Previous item, from anywhere in one",
            ),
            bind(&["J"], Command::NextPrompt, "Next prompt"),
            bind(&["K"], Command::PreviousPrompt, "Previous prompt"),
            bind(&["t"], Command::NextTool, "Next tool call"),
            bind(&["T"], Command::PreviousTool, "Previous tool call"),
            bind(&["e"], Command::NextError, "Next error"),
            bind(&["E"], Command::PreviousError, "Previous error"),
            bind(&["p"], Command::NextWaiting, "What waits for an answer"),
            bind(&["g g"], Command::Top, "To the top"),
            bind(&["G", "End"], Command::End, "To the end, and follow"),
            bind(
                &["Ctrl+Home"],
                Command::Before,
                "Out of the feed, to what is before it",
            ),
            bind(
                &["Ctrl+End"],
                Command::Behind,
                "Out of the feed, to what comes after it",
            ),
            bind(&["f"], Command::Follow, "Follow, or stop"),
        ],
    },
    Section {
        title: "Find",
        within: Within::Feed,
        bindings: &[
            bind(&["/", "Ctrl+f"], Command::Find, "Find in the session"),
            bind(&["n"], Command::NextHit, "Next hit"),
            bind(&["N"], Command::PreviousHit, "Previous hit"),
            bind(
                &["Escape"],
                Command::Leave,
                "Close what is open above the feed",
            ),
        ],
    },
    Section {
        title: "Item",
        within: Within::Feed,
        bindings: &[
            bind(&["Enter"], Command::Toggle, "Open or close"),
            bind(
                &["Shift+click"],
                Command::ToggleKind,
                "Open or close all of its kind",
            ),
            bind(&["x"], Command::CloseKind, "Close all of this kind"),
            bind(&["y"], Command::Copy, "Copy its text"),
            bind(&["Y"], Command::CopyAnswer, "Copy the whole answer"),
            bind(&["l"], Command::CopyLink, "Copy a link to it"),
            bind(&["o"], Command::OpenFile, "Open its file, or copy the path"),
            bind(&["s"], Command::Sides, "Its diff side by side, or not"),
            bind(&["w"], Command::Wrap, "Wrap its diff's long lines, or not"),
        ],
    },
    Section {
        title: "In a diff",
        within: Within::Diff,
        bindings: &[
            bind(&["n"], Command::NextHunk, "Next hunk"),
            bind(&["p"], Command::PreviousHunk, "Previous hunk"),
            bind(&["]"], Command::NextFile, "Next file"),
            bind(&["["], Command::PreviousFile, "Previous file"),
            bind(&["v"], Command::Viewed, "Fold its file away, or show it"),
        ],
    },
    Section {
        title: "Replay",
        within: Within::Feed,
        bindings: &[
            bind(&["Space"], Command::PlayOrPause, "Play or pause"),
            bind(&["ArrowRight"], Command::NextEvent, "Next event"),
            bind(&["ArrowLeft"], Command::PreviousEvent, "Previous event"),
            bind(&["Shift+ArrowRight"], Command::NextTurn, "Next turn"),
            bind(&["Shift+ArrowLeft"], Command::PreviousTurn, "Previous turn"),
            bind(&["]"], Command::NextMarker, "Next marker"),
            bind(&["["], Command::PreviousMarker, "Previous marker"),
            bind(&["."], Command::NextChunk, "Next piece of text"),
            bind(&[","], Command::PreviousChunk, "Previous piece of text"),
            bind(
                &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
                Command::Tenth,
                "To so many tenths of the session",
            ),
            bind(&[">"], Command::Faster, "Faster"),
            bind(&["<"], Command::Slower, "Slower"),
            bind(&["i"], Command::SkipIdle, "Skip idle stretches, or not"),
            bind(&["L"], Command::Live, "To the newest"),
        ],
    },
    Section {
        title: "In the bar of a replay",
        within: Within::Bar,
        bindings: &[
            bind(&["k"], Command::PlayOrPause, "Play or pause"),
            bind(&["j"], Command::Back, "10 seconds back"),
            bind(&["l"], Command::On, "10 seconds on"),
            bind(&["ArrowUp"], Command::NextEvent, "On the strip: next event"),
            bind(
                &["ArrowDown"],
                Command::PreviousEvent,
                "On the strip: previous event",
            ),
            bind(&["PageUp"], Command::TenthBack, "A tenth back"),
            bind(&["PageDown"], Command::TenthOn, "A tenth on"),
            bind(&["Home"], Command::First, "To the beginning"),
            bind(&["End"], Command::Last, "To the end"),
        ],
    },
    Section {
        title: "View",
        within: Within::Feed,
        bindings: &[
            bind(&["d"], Command::Verbosity, "Show less, or more"),
            bind(&["b"], Command::Sessions, "Sessions"),
            bind(&["r"], Command::Panel, "Side panel"),
            bind(&["?"], Command::Help, "These keys"),
        ],
    },
];

/// What a key asks for.
pub(crate) enum Asked {
    /// This; single letters can be turned off.
    Command(Command, Letter),
    /// Something, together with the next key.
    Begins,
}

/// Whether a key is a letter or sign by itself, which speech input and typing hit by chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Letter {
    Yes,
    No,
}

/// What a key asks for in a part of the feed that has keys of its own.
pub(crate) fn asked_in(within: Within, name: &str) -> Option<Command> {
    let mut all = of(within);
    let binding = all.find(|binding| binding.keys.contains(&name))?;
    Some(binding.command)
}

fn of(within: Within) -> impl Iterator<Item = &'static Binding> {
    let sections = TABLE.iter().filter(move |section| section.within == within);
    sections.flat_map(|section| section.bindings)
}

/// What a key asks for in all of the feed, after `before` that began something.
pub(crate) fn asked(name: &str, control: bool, before: Option<char>) -> Option<Asked> {
    let written = match (name, control) {
        (" ", _) => "Space".to_owned(),
        (name, true) => format!("Ctrl+{name}"),
        (name, false) => name.to_owned(),
    };
    let letter = if !control && name.chars().count() == 1 {
        Letter::Yes
    } else {
        Letter::No
    };
    let sequence = before.map(|before| format!("{before} {written}"));
    let bindings = || of(Within::Feed);
    let bound = |keys: &str| bindings().find(|binding| binding.keys.contains(&keys));
    if let Some(binding) = sequence
        .as_deref()
        .and_then(bound)
        .or_else(|| bound(&written))
    {
        return Some(Asked::Command(binding.command, letter));
    }
    let begins = |key: &&str| {
        key.strip_prefix(&written)
            .is_some_and(|rest| rest.starts_with(' '))
    };
    let mut all = bindings().flat_map(|binding| binding.keys);
    (letter == Letter::Yes && all.any(begins)).then_some(Asked::Begins)
}

/// A key as it is written on key caps, part by part.
pub(crate) fn caps(key: &str) -> Vec<&str> {
    let parts = key.split([' ', '+']).filter(|part| !part.is_empty());
    parts
        .map(|part| match part {
            "ArrowDown" => "↓",
            "ArrowUp" => "↑",
            "PageDown" => "PgDn",
            "PageUp" => "PgUp",
            "Escape" => "Esc",
            "ArrowRight" => "→",
            "ArrowLeft" => "←",
            "f" if key.starts_with("Ctrl") => "F",
            part => part,
        })
        .collect()
}
