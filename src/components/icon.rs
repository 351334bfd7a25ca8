//! Icons: 16 × 16, drawn as nodes, named by what they show.

use leptos::prelude::*;
use leptos::svg;

/// What an icon shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Icon {
    Terminal,
    Pencil,
    Plus,
    Minus,
    File,
    Search,
    Globe,
    List,
    Branch,
    Plug,
    Dotted,
    Shield,
    Question,
    Alert,
    Arrows,
    Chevron,
    Down,
    Unfold,
    Copy,
    Cross,
    Check,
    Ring,
    Dot,
    Live,
    Clock,
    Retry,
    Loop,
    Rewind,
    Off,
    Broken,
    Running,
    Done,
    Failed,
    Stopped,
    Brackets,
    Link,
    Sliders,
    Columns,
    Wrap,
    Space,
    More,
    PanelRight,
    Save,
    GoTo,
    Play,
    Pause,
    /// One step on, or back.
    Step(bool),
    /// To the next mark, or back.
    Markers(bool),
    End,
    Full,
}

impl Icon {
    /// The strokes, in the 16 × 16 grid.
    pub(super) fn path(self) -> &'static str {
        match self {
            Icon::Terminal => "M2.5 4.5 6 8l-3.5 3.5M8 12h5.5",
            Icon::Pencil => {
                "m3 13 .6-2.7L10.9 3a1.2 1.2 0 0 1 1.7 0l.4.4a1.2 1.2 0 0 1 0 1.7L5.7 12.4 3 13Z"
            }
            Icon::Plus => "M8 3v10M3 8h10",
            Icon::Minus => "M3 8h10",
            Icon::File => {
                "M9 2H4.5A1.5 1.5 0 0 0 3 3.5v9A1.5 1.5 0 0 0 4.5 14h7a1.5 1.5 0 0 0 1.5-1.5V6L9 2Zm0 0v4h4"
            }
            Icon::Search => "M11.5 7a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0Zm-1.3 3.2L14 14",
            Icon::Globe => {
                "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0ZM2 8h12M8 2c1.7 1.8 2.4 3.8 2.4 6S9.700 12.200 8 14C6.300 12.200 5.600 10.200 5.600 8S6.300 3.800 8 2Z"
            }
            Icon::List => "m2 4 1 1 2-2M2 8l1 1 2-2M2 12l1 1 2-2M8 4h6M8 8h6M8 12h6",
            Icon::Branch => {
                "M4.500 5.500v5M6 4a1.500 1.500 0 1 1-3 0 1.500 1.500 0 0 1 3 0Zm0 8a1.500 1.500 0 1 1-3 0 1.500 1.500 0 0 1 3 0Zm7-6a1.500 1.500 0 1 1-3 0 1.500 1.500 0 0 1 3 0Zm-1.500 1.500C11.500 9.500 9 9.500 4.500 10.500"
            }
            Icon::Plug => "M6 2v3M10 2v3M4 5h8v2.500a4 4 0 0 1-8 0V5Zm4 6.500V14",
            Icon::Dotted => {
                "M8 2a6 6 0 0 1 2.300.5M12.200 3.800a6 6 0 0 1 1.300 1.900M14 8a6 6 0 0 1-.5 2.300M12.200 12.200a6 6 0 0 1-1.900 1.300M8 14a6 6 0 0 1-2.300-.5M3.800 12.200a6 6 0 0 1-1.300-1.900M2 8a6 6 0 0 1 .5-2.300M3.800 3.800a6 6 0 0 1 1.900-1.300"
            }
            Icon::Shield => "M8 2 3 4v4c0 3 2 5 5 6 3-1 5-3 5-6V4L8 2Z",
            Icon::Question => {
                "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0ZM6.300 6.500a1.700 1.700 0 1 1 2.500 1.500c-.5.300-.8.600-.8 1.200M8 11.300v.1"
            }
            Icon::Alert => "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0ZM8 5v3.500M8 11v.1",
            Icon::Arrows => {
                "M3 5.500h10M10.500 3 13 5.500 10.500 8M13 10.500H3M5.500 8 3 10.500 5.500 13"
            }
            Icon::Chevron => "m6 3.500 4.500 4.500L6 12.500",
            Icon::Down => "M8 3v10M4 9l4 4 4-4",
            Icon::Unfold => "M2 8h12M8 2v3.500M6 4l2 2 2-2M8 14v-3.500M6 12l2-2 2 2",
            Icon::Copy => {
                "M5.500 5.500v-2A1.500 1.500 0 0 1 7 2h5.500A1.500 1.500 0 0 1 14 3.500V9a1.500 1.500 0 0 1-1.500 1.500h-2M3.500 5.500H9A1.500 1.500 0 0 1 10.500 7v5.500A1.500 1.500 0 0 1 9 14H3.500A1.500 1.500 0 0 1 2 12.500V7a1.500 1.500 0 0 1 1.500-1.500Z"
            }
            Icon::Cross => "m4 4 8 8M12 4l-8 8",
            Icon::Check => "m3 8.500 3.200 3L13 4.500",
            Icon::Ring => "M13 8A5 5 0 1 1 3 8a5 5 0 0 1 10 0Z",
            Icon::Dot => "M13 8A5 5 0 1 1 3 8a5 5 0 0 1 10 0ZM9 8a1 1 0 1 1-2 0 1 1 0 0 1 2 0Z",
            Icon::Live => {
                "M4.100 12a5.500 5.500 0 0 1 0-8M11.900 4a5.500 5.500 0 0 1 0 8M6 10a2.800 2.800 0 0 1 0-4M10 6a2.800 2.800 0 0 1 0 4M8 8v.1"
            }
            Icon::Clock => "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0ZM8 4.500V8l2.500 1.500",
            Icon::Retry => "M13 8a5 5 0 1 1-1.500-3.500L13 6M13 2.500V6H9.500",
            Icon::Loop => {
                "M2.500 7.500v-1A2.500 2.500 0 0 1 5 4h8.500M11 1.500 13.500 4 11 6.500M13.500 8.500v1A2.500 2.500 0 0 1 11 12H2.500M5 9.500 2.500 12 5 14.500"
            }
            Icon::Rewind => "M3 8a5 5 0 1 0 1.500-3.500L3 6M3 2.500V6h3.500M8 5.500V8l2 1.200",
            Icon::Off => {
                "M2 2l12 12M3 7a7 7 0 0 1 3-1.700M13 7a7 7 0 0 0-5-2M5.500 9.500a3.500 3.500 0 0 1 3-.9M8 12v.1"
            }
            Icon::Broken => {
                "M3 8V3.500A1.500 1.500 0 0 1 4.500 2H9l4 4v2M9 2v4h4M3 11v1.500A1.500 1.500 0 0 0 4.500 14h7a1.500 1.500 0 0 0 1.500-1.500V11M2 9.500l3 1 3-2 3 2 3-1"
            }
            Icon::Running => {
                "M8 2a6 6 0 1 1-4.200 1.800M9.500 8a1.500 1.500 0 1 1-3 0 1.500 1.500 0 0 1 3 0Z"
            }
            Icon::Done => "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0ZM5.500 8.200l1.700 1.700 3.300-3.600",
            Icon::Failed => {
                "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0ZM5.800 5.800l4.400 4.400M10.200 5.800l-4.400 4.400"
            }
            Icon::Stopped => "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0ZM4.500 11.500l7-7",
            Icon::Link => {
                "M6.500 9.500l3-3M7.500 4.500 9 3a2.800 2.800 0 0 1 4 4l-1.500 1.500M8.500 11.500 7 13a2.800 2.800 0 0 1-4-4l1.500-1.500"
            }
            Icon::Sliders => "M2 5h5M11 5h3M2 11h2.500M8.500 11H14M9 3v4M6.500 9v4",
            Icon::Save => "M8 2.500v7.500M4.500 7 8 10.500 11.500 7M2.500 13.500h11",
            Icon::Columns => "M3 3h10v10H3ZM8 3v10",
            Icon::Wrap => {
                "M2.500 4h11M2.500 8h9a2 2 0 0 1 0 4H8M9.500 10.500 8 12l1.500 1.500M2.500 12h2.500"
            }
            Icon::Space => "M2.500 9v3h11v-3",
            Icon::More => "M3 8h.1M8 8h.1M13 8h.1",
            Icon::PanelRight => {
                "M3.500 2.500h9a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-9a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1ZM10 2.500v11"
            }
            Icon::GoTo => {
                "M6 4H4.500A1.500 1.500 0 0 0 3 5.500v6A1.500 1.500 0 0 0 4.500 13h6a1.500 1.500 0 0 0 1.500-1.500V10M9 3h4v4M13 3 7.500 8.500"
            }
            Icon::Play => "M5 3v10l8-5-8-5Z",
            Icon::Pause => "M5.500 3v10M10.500 3v10",
            Icon::Step(true) => "M5 4l4 4-4 4M11.500 4v8",
            Icon::Step(false) => "M11 4 7 8l4 4M4.500 4v8",
            Icon::Markers(true) => "M3.500 4l4 4-4 4M8.500 4l4 4-4 4",
            Icon::Markers(false) => "M12.500 4l-4 4 4 4M7.500 4l-4 4 4 4",
            Icon::End => "M4 3.500v9l6.500-4.500L4 3.500ZM12.500 3.500v9",
            Icon::Full => "M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3",
            Icon::Brackets => {
                "M6 3H5a1.500 1.500 0 0 0-1.500 1.500v2L2 8l1.500 1.500v2A1.500 1.500 0 0 0 5 13h1M10 3h1a1.500 1.500 0 0 1 1.500 1.500v2L14 8l-1.500 1.500v2A1.500 1.500 0 0 1 11 13h-1"
            }
        }
    }
}

/// The icon as nodes; silent for those who listen, since a word always stands beside it.
pub(crate) fn icon(icon: Icon) -> impl IntoView {
    drawn(icon, "icon")
}

/// The icon with another class beside its own.
pub(crate) fn icon_with(icon: Icon, class: &'static str) -> impl IntoView {
    drawn(icon, class)
}

fn drawn(icon: Icon, class: &'static str) -> impl IntoView {
    svg::svg()
        .attr("class", class)
        .attr("viewBox", "0 0 16 16")
        .attr("aria-hidden", "true")
        .child(svg::path().attr("d", icon.path()))
}
