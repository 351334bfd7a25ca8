//! What is said of a session itself: a row of the table `sessions`, as a line of an export.

use chat_event::stable_hash;
use serde_json::{Map, Value, json};

use crate::follow::sqlite::{self, Row, Table};

/// What is said of a session itself.
pub(super) struct About {
    pub(super) rowid: i64,
    pub(super) session: String,
    pub(super) updated_ms: i64,
    pub(super) is_hidden: bool,
    /// It as in an export, without its messages.
    said: Map<String, Value>,
    created_s: Option<i64>,
    pub(super) hash: u64,
}

impl About {
    /// What a row of the sessions says; `id_at` is where its id stands.
    pub(super) fn of(table: &Table, id_at: usize, row: &Row) -> About {
        let value = |name: &str| {
            let at = table.column(name)?;
            row.values.get(at)
        };
        let text = |name: &str| {
            value(name)
                .and_then(sqlite::Value::text)
                .unwrap_or_default()
        };
        let session = row.values.get(id_at);
        let session = session.and_then(sqlite::Value::text).unwrap_or_default();
        let mut said = Map::new();
        said.insert("id".to_owned(), session.into());
        let folder = text("working_dir");
        let folder = if folder.is_empty() { "." } else { folder };
        said.insert("working_dir".to_owned(), folder.into());
        for name in ["name", "description", "session_type", "parent_session_id"] {
            said.insert(name.to_owned(), text(name).into());
        }
        for name in [
            "accumulated_input_tokens",
            "accumulated_output_tokens",
            "accumulated_cost",
        ] {
            let number = match value(name) {
                Some(sqlite::Value::Integer(n)) => json!(n),
                Some(sqlite::Value::Real(n)) => json!(n),
                _ => continue,
            };
            said.insert(name.to_owned(), number);
        }
        if let Ok(model) = serde_json::from_str::<Value>(text("model_config_json")) {
            said.insert("model_config".to_owned(), model);
        }
        About {
            rowid: row.rowid,
            session: session.to_owned(),
            updated_ms: seconds(text("updated_at")).unwrap_or_default() * 1000,
            is_hidden: text("session_type") == "hidden",
            created_s: seconds(text("created_at")),
            hash: stable_hash(Value::Object(said.clone()).to_string().as_bytes()),
            said,
        }
    }

    /// The line that says it; without what changes while a session goes on, where that is told later.
    pub(super) fn line(&self, is_first: bool, is_whole: bool) -> String {
        let mut said = self.said.clone();
        if !is_whole {
            said.retain(|name, _| matches!(name.as_str(), "id" | "working_dir"));
        }
        // By these such a line is known.
        said.insert("message_count".to_owned(), 0.into());
        said.insert("total_tokens".to_owned(), 0.into());
        if let Some(created) = self.created_s.filter(|_| is_first) {
            said.insert("created".to_owned(), created.into());
        }
        Value::Object(said).to_string() + "\n"
    }

    /// The line that says which messages stand of those that were told.
    pub(super) fn stands(&self, ids: &[String]) -> String {
        let line = self.line(false, false);
        let mut said: Value = serde_json::from_str(&line).unwrap_or_default();
        said["stands"] = json!(ids);
        said.to_string() + "\n"
    }
}

/// Seconds of the Unix epoch of a time of SQLite's, `2026-11-30 10:00:00` in UTC, or of one with `T` and an offset, of which
/// Goose writes that of UTC.
fn seconds(text: &str) -> Option<i64> {
    let number = |at: std::ops::Range<usize>| text.get(at)?.parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hours, minutes, seconds) = (number(11..13)?, number(14..16)?, number(17..19)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days since 1970 of a year that begins in March.
    let year = if month > 2 { year } else { year - 1 };
    let month = (month + 9) % 12;
    let days =
        year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 719_469;
    Some(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_the_database_is_read_as_utc() {
        for (text, wanted) in [
            ("1970-01-01 00:00:00", Some(0)),
            ("2024-02-29 12:30:45", Some(1_709_209_845)),
            ("2026-12-01T10:00:00+00:00", Some(1_796_119_200)),
            ("2026-12-01", None),
            ("2026-13-01 10:00:00", None),
            ("", None),
        ] {
            assert_eq!(seconds(text), wanted, "{text}");
        }
    }
}
