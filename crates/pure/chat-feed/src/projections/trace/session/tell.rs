//! The lines themselves, by how much is told.

use super::{SessionTrace, Told};
use crate::projections::trace::calls::TurnNth;
use crate::projections::trace::line::{LineKind, Severity, Stream, Verbosity};
use crate::projections::trace::opened;

impl SessionTrace {
    /// Text behind a bar, as deep as the call it lies in; only where all is told.
    pub(super) fn open_text(
        &mut self,
        parent: Option<&str>,
        text: &str,
        kind: LineKind,
        mark: &str,
    ) {
        if self.verbosity < Verbosity::Verbose || text.trim().is_empty() {
            return;
        }
        let depth = self.calls.depth_in(parent);
        let marked = format!("{mark}{}", text.trim_matches('\n'));
        self.tell_opened(depth, opened::text(&marked, kind));
    }

    pub(super) fn tell_opened(&mut self, depth: usize, opened: opened::Opened) {
        let indent = "  ".repeat(depth);
        for (kind, line) in opened {
            self.tell(kind, Severity::Detail, format!("{indent}{line}"));
        }
    }

    /// A line of its own that is worth telling beside tool calls.
    pub(super) fn notable(&mut self, turn: Option<TurnNth>, kind: LineKind, text: String) {
        if self.verbosity >= Verbosity::Normal {
            self.tell_turn(turn);
            let text = self.of_turn(turn, text);
            self.tell(kind, Severity::Info, text);
        }
    }

    pub(super) fn verbose(&mut self, kind: LineKind, text: String) {
        if self.verbosity == Verbosity::Verbose {
            self.tell(kind, Severity::Detail, text);
        }
    }

    pub(super) fn tell(&mut self, kind: LineKind, severity: Severity, text: String) {
        self.tell_to(Stream::Trace, kind, severity, text);
    }

    pub(super) fn tell_to(
        &mut self,
        stream: Stream,
        kind: LineKind,
        severity: Severity,
        text: String,
    ) {
        self.told.push(Told {
            stream,
            kind,
            severity,
            text,
        });
    }
}
