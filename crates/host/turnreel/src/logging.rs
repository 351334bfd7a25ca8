//! What the server says on stderr: lines for people, or one JSON object a line.
//!
//! Lines for people are coloured where a terminal shows them.
//!
//! No payload and no token is ever said; `observe` says why a request is told by its route and not by its address.

use std::io::IsTerminal as _;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::stderr;

/// How a line looks.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// One object a line: `timestamp`, `level`, `message`, and the fields of the event.
    Json,
}

/// Says from now on what is at least of that level.
pub(crate) fn begin(level: LevelFilter, format: Format) {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
    let logging = tracing_subscriber::fmt()
        .with_ansi(!plain && std::io::stderr().is_terminal())
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_target(false)
        // It would be said on stderr, which is what failed: a full disk that has the log on it ends no request.
        .log_internal_errors(false);
    let begun = match format {
        Format::Text => logging.try_init(),
        Format::Json => logging.event_format(JsonLines).try_init(),
    };
    if let Err(why) = begun {
        stderr::tell(format_args!("turnreel: could not log: {why}"));
    }
}

struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let mut line = Line(Map::new());
        line.set("timestamp", time);
        line.set("level", event.metadata().level().as_str());
        event.record(&mut line);
        writeln!(writer, "{}", Value::Object(line.0))
    }
}

struct Line(Map<String, Value>);

impl Line {
    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.set(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field.name(), value);
    }
}
