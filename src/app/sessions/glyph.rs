//! The seven glyphs of sessions: they differ in shape, not in colour alone.

use chat_feed::sessions::State;
use leptos::prelude::*;
use leptos::svg;

/// How a session stands.
pub(crate) fn glyph(state: State) -> AnyView {
    let ring = "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0Z";
    match state {
        State::NeedsYou => drawn(
            "glyph glyph--needs-you",
            "M8 1.500 14.500 8 8 14.500 1.500 8Z",
            "M8 4.700v4M8 11v.200",
        ),
        State::Running => drawn(
            "glyph glyph--running",
            "M9.500 8a1.500 1.500 0 1 1-3 0 1.500 1.500 0 0 1 3 0Z",
            "M8 2a6 6 0 1 1-4.200 1.800",
        ),
        State::Quiet => drawn(
            "glyph glyph--quiet",
            "M8 2a6 6 0 0 1 3 .800M13.200 5a6 6 0 0 1 0 6M11 13.200a6 6 0 0 1-6 0M2.800 11a6 6 0 0 1 0-6M5 2.800",
            "M8 5.500V8l1.500 1",
        ),
        State::Idle => drawn("glyph glyph--idle", ring, ""),
        State::Failed => drawn(
            "glyph glyph--failed",
            ring,
            "m5.800 5.800 4.400 4.400M10.200 5.800l-4.400 4.400",
        ),
        State::Done => drawn(
            "glyph glyph--done",
            ring,
            "m5.500 8.200 1.700 1.700 3.300-3.600",
        ),
        State::Cancelled => drawn("glyph glyph--cancelled", ring, "m4.500 11.500 7-7"),
    }
}

/// A sheet whose corner is folded.
pub(super) fn file() -> AnyView {
    drawn(
        "glyph glyph--file",
        "M9.500 2H4.500a1 1 0 0 0-1 1v10a1 1 0 0 0 1 1h7a1 1 0 0 0 1-1V5Z",
        "M9.500 2v3h3",
    )
}

/// A magnifier.
pub(super) fn search() -> AnyView {
    drawn(
        "glyph",
        "M11.500 7a4.500 4.500 0 1 1-9 0 4.500 4.500 0 0 1 9 0ZM10.200 10.200 14 14",
        "",
    )
}

/// A box that is ticked.
pub(super) fn check() -> AnyView {
    drawn(
        "glyph",
        "M4.500 2.500h7a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2h-7a2 2 0 0 1-2-2v-7a2 2 0 0 1 2-2Z",
        "m5.300 8.200 1.900 1.900 3.600-4",
    )
}

/// A question mark in a ring.
pub(super) fn question() -> AnyView {
    drawn(
        "glyph",
        "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0Z",
        "M6.300 6.300a1.800 1.800 0 1 1 2.600 1.600c-.600.300-.900.700-.900 1.300M8 11.200v.100",
    )
}

/// A page whose left part is the list.
pub(super) fn list() -> AnyView {
    drawn(
        "glyph",
        "M3.500 2.500h9a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-9a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1Z",
        "M6 2.500v11",
    )
}

/// The way back.
pub(crate) fn back() -> AnyView {
    drawn("glyph", "M10 3.500 5.500 8l4.500 4.500", "")
}

/// A lock.
pub(crate) fn lock() -> AnyView {
    drawn(
        "glyph glyph--failed",
        "M4 7h8a1 1 0 0 1 1 1v5a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V8a1 1 0 0 1 1-1Z",
        "M5.500 7V5a2.500 2.500 0 0 1 5 0v2",
    )
}

/// A funnel of three lines.
pub(super) fn filter() -> AnyView {
    drawn("glyph", "M2.500 4.500h11M4.500 8h7M6.500 11.500h3", "")
}

fn drawn(class: &'static str, ground: &'static str, sign: &'static str) -> AnyView {
    svg::svg()
        .attr("class", class)
        .attr("viewBox", "0 0 16 16")
        .attr("aria-hidden", "true")
        .child((
            svg::path().attr("class", "glyph__ground").attr("d", ground),
            svg::path().attr("class", "glyph__sign").attr("d", sign),
        ))
        .into_any()
}
