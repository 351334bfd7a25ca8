//! How a trace looks on a terminal: colours, and what goes on now below it.
//!
//! Lines go out whole, in one write, so that none is mixed into another. What goes on is drawn again and again at the end
//! and taken away before the next line.

use std::io::{self, IsTerminal, Write};

use chat_feed::projections::trace::{LineKind, Running, Severity, Stream, TraceLine};
use terminal_size::terminal_size_of;

use crate::columns;

/// So many lines of what goes on are drawn.
const MAX_RUNNING: usize = 8;

/// The two streams of a trace.
pub(super) struct Screen {
    colours: [bool; 2],
    /// Whether what goes on is drawn.
    draws: bool,
    drawn: Vec<String>,
}

impl Screen {
    /// The terminal as the environment describes it.
    pub(super) fn new() -> Screen {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let forced = set("CLICOLOR_FORCE")
            && std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colours = |terminal: bool| !set("NO_COLOR") && (forced || (terminal && !dumb));
        let (stdout, stderr) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        Screen {
            colours: [colours(stderr), colours(stdout)],
            draws: stderr && !dumb,
            drawn: Vec::new(),
        }
    }

    /// Writes lines, each on its stream, in their order.
    pub(super) fn print(&mut self, lines: &[TraceLine]) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        self.clear()?;
        for run in lines.chunk_by(|left, right| left.stream == right.stream) {
            let Some(first) = run.first() else { continue };
            let to_stderr = first.stream == Stream::Trace;
            let [of_stderr, of_stdout] = self.colours;
            let colours = if to_stderr { of_stderr } else { of_stdout };
            let mut text = String::new();
            for line in run {
                coloured(line, colours, &mut text);
                text.push('\n');
            }
            if to_stderr {
                io::stderr().lock().write_all(text.as_bytes())?;
            } else {
                let mut stdout = io::stdout().lock();
                stdout.write_all(text.as_bytes())?;
                stdout.flush()?;
            }
        }
        Ok(())
    }

    /// Draws what goes on, with the time it takes.
    pub(super) fn show_running(&mut self, running: &[Running], now_ms: i64) -> io::Result<()> {
        if !self.draws {
            return Ok(());
        }
        let columns = columns::of_terminal(terminal_size_of(io::stderr()));
        let shown = running.iter().take(MAX_RUNNING).map(|running| {
            let elapsed = running.since_ms.map(|since_ms| (now_ms - since_ms) / 1_000);
            let elapsed = elapsed.filter(|seconds| (1..86_400).contains(seconds));
            let elapsed = elapsed.map_or_else(String::new, |seconds| format!(" {seconds}s"));
            let room = columns.saturating_sub(elapsed.len() + 1);
            format!(
                "{}{elapsed}",
                columns::fitting(&running.line.to_string(), room)
            )
        });
        let mut shown: Vec<String> = shown.collect();
        if running.len() > MAX_RUNNING {
            shown.push(format!("… and {} more", running.len() - MAX_RUNNING));
        }
        if shown == self.drawn {
            return Ok(());
        }
        self.clear()?;
        let [colours, _] = self.colours;
        let (on, off) = if colours {
            ("\u{1b}[36m", "\u{1b}[0m")
        } else {
            ("", "")
        };
        let text: String = shown
            .iter()
            .map(|line| format!("{on}{line}{off}\n"))
            .collect();
        io::stderr().lock().write_all(text.as_bytes())?;
        self.drawn = shown;
        Ok(())
    }

    /// Takes away what goes on.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        let n_lines = std::mem::take(&mut self.drawn).len();
        let text = "\u{1b}[1A\u{1b}[2K".repeat(n_lines);
        io::stderr().lock().write_all(text.as_bytes())
    }
}

fn coloured(line: &TraceLine, colours: bool, text: &mut String) {
    let code = match (line.kind, line.severity) {
        (LineKind::Added, _) => "32",
        (LineKind::Removed, _) => "31",
        (LineKind::TurnStart, _) => "1",
        (LineKind::TurnEnd, Severity::Good) => "1;32",
        (LineKind::Thinking, _) => "2;3",
        (LineKind::Ask, _) => "35",
        (LineKind::ToolRunning | LineKind::Progress, _) => "36",
        (_, Severity::Detail) => "2",
        (_, Severity::Warning) => "33",
        (_, Severity::Failure) => "31",
        (_, Severity::Info | Severity::Good) => "",
    };
    let line = line.to_string();
    if !colours || code.is_empty() {
        text.push_str(&line);
        return;
    }
    text.push_str(&format!("\u{1b}[{code}m{line}\u{1b}[0m"));
}
