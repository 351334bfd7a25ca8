//! Lines of an output in the theme's colours.

use chat_feed::link::Target;
use chat_feed::terminal::contrast::{Look, Paint};
use chat_feed::terminal::{Line, Run, Terminal};
use chat_feed::units;
use leptos::html::{a, br, div, span};
use leptos::prelude::*;

use crate::components::seen;

/// Lines in a frame of their own.
pub(super) fn well(terminal: &Terminal, lines: Vec<Line>) -> AnyView {
    div()
        .class("well terminal__lines")
        .attr("tabindex", "0")
        .attr("role", "group")
        .attr("aria-label", "Output")
        .child(line_views(terminal, lines))
        .into_any()
}

/// Lines as nodes.
pub(super) fn line_views(terminal: &Terminal, lines: Vec<Line>) -> Vec<AnyView> {
    let mut stderr = false;
    let views = lines.into_iter().map(|line| {
        // The word stands at the first of several lines.
        let begins = line.stderr && !stderr;
        stderr = line.stderr;
        line_view(terminal, &line, begins)
    });
    views.collect()
}

fn line_view(terminal: &Terminal, line: &Line, begins_errors: bool) -> AnyView {
    let mut start = 0;
    let mut runs = Vec::with_capacity(line.runs.len());
    for run in &line.runs {
        let text = line.text.get(start..run.end).unwrap_or_default();
        start = run.end;
        runs.push(run_view(terminal, run, text));
    }
    // A line without a text is left out of what browsers copy.
    let blank = line.text.is_empty().then(br);
    let label = begins_errors.then(|| span().class("terminal__label").child("stderr"));
    let cut = (line.cut_bytes > 0).then(|| {
        let more = units::bytes(line.cut_bytes);
        span()
            .class("terminal__cut")
            .child(format!(" … {more} more in this line"))
    });
    div()
        .class(if line.stderr {
            "terminal__line terminal__line--stderr"
        } else {
            "terminal__line"
        })
        .child((label, runs, blank, cut))
        .into_any()
}

fn run_view(terminal: &Terminal, run: &Run, text: &str) -> AnyView {
    let shown = styled_text(run, text);
    let Some(url) = terminal.link(run) else {
        return shown;
    };
    // A text that names another place than it leads to does not hide where that is.
    let host = match Target::of(url) {
        Target::Link(link) => (!link.is_shown_by(text)).then_some(link.host),
        Target::Path | Target::Text => None,
    };
    a().class("terminal__link")
        .attr("href", url.to_string())
        .attr("title", url.to_string())
        .attr("target", "_blank")
        .attr("rel", "noopener noreferrer nofollow")
        .attr("data-host", host)
        .child(shown)
        .into_any()
}

fn styled_text(run: &Run, text: &str) -> AnyView {
    let style = &run.style;
    let look = Look::of(style);
    let mut class = String::new();
    for (name, on) in [
        ("ansi-bold", style.bold()),
        ("ansi-italic", style.italic()),
        ("ansi-underline", style.underline()),
        ("ansi-strike", style.strike()),
    ] {
        if on {
            class.push_str(name);
            class.push(' ');
        }
    }
    match look {
        Look::Plain if class.is_empty() => seen::text(text),
        Look::Plain => span().class(class).child(seen::text(text)).into_any(),
        Look::Themed(index) => span()
            .class(format!("{class}ansi-{index}"))
            .child(seen::text(text))
            .into_any(),
        Look::Painted { light, dark } => {
            let grounds = light.ground.zip(dark.ground);
            class.push_str(if grounds.is_some() {
                "ansi-own ansi-own-ground"
            } else {
                "ansi-own"
            });
            let ground = grounds.map_or_else(String::new, |(light, dark)| in_themes(light, dark));
            span()
                .class(class)
                .style(("--ansi-text", text_in_themes(light, dark)))
                .style(("--ansi-ground", ground))
                .child(seen::text(text))
                .into_any()
        }
    }
}

fn text_in_themes(light: Paint, dark: Paint) -> String {
    in_themes(light.text, dark.text)
}

fn in_themes(light: (u8, u8, u8), dark: (u8, u8, u8)) -> String {
    let hex = |(red, green, blue): (u8, u8, u8)| format!("#{red:02x}{green:02x}{blue:02x}");
    format!("light-dark({}, {})", hex(light), hex(dark))
}
