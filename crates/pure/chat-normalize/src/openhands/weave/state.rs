//! What `base_state.json` says: the model, where the agent works, how it stands, and what it used.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::WeaveLine;
use crate::value::{list_of, millis_of_rfc3339, str_of, text_of};

/// The state of a conversation, as its file says it from time to time.
#[derive(Debug, Default)]
pub struct OpenHandsState {
    value: Value,
    /// How many answers' tokens were told, by what the model is used for.
    told: BTreeMap<String, usize>,
    /// What stands behind times that name no zone, where that is known.
    pub zone: Option<String>,
    /// What the session is called, where that is noted elsewhere.
    pub title: Option<String>,
}

impl OpenHandsState {
    /// Takes what the file says now; whether it is a state as a whole.
    pub fn take(&mut self, file: &[u8]) -> bool {
        match serde_json::from_slice::<Value>(file) {
            Ok(value) if value.is_object() => {
                self.value = value;
                true
            }
            _ => false,
        }
    }

    /// How the agent stands: `running`, `waiting_for_confirmation`, `finished` and so on.
    pub fn status(&self) -> Option<&str> {
        text_of(&self.value, "execution_status")
    }

    /// Where the agent works.
    pub fn working_dir(&self) -> Option<&str> {
        let workspace = self.value.get("workspace")?;
        text_of(workspace, "working_dir")
    }

    /// The line that says what the session is, and what single answers used that was not told; `time` is as the program
    /// writes it. `with_sums` what all of them used, too, which is so far as of the last event alone.
    pub fn about(&mut self, time: &str, with_sums: bool) -> String {
        let agent = self.value.get("agent").unwrap_or(&Value::Null);
        let llm = agent.get("llm").unwrap_or(&Value::Null);
        let mut value = json!({"agent": {"llm": {"model": llm.get("model")}}});
        for name in ["id", "workspace", "agent_state"] {
            if let Some(said) = self.value.get(name) {
                value[name] = said.clone();
            }
        }
        if let Some(zone) = &self.zone {
            value[WeaveLine::ZONE] = zone.clone().into();
        }
        if let Some(title) = &self.title {
            value["title"] = title.clone().into();
        }
        value["stats"] = json!({"usage_to_metrics": self.used(with_sums)});
        // It tells the zone of what comes behind it.
        let zone = self.zone.as_deref().filter(|_| !time.ends_with('Z'));
        event(
            &format!("{time}{}", zone.unwrap_or("")),
            "full_state",
            &value,
        )
    }

    /// The same without what answers used, which is told with another line.
    pub fn nothing_used(&self, time: &str) -> String {
        let mut without = OpenHandsState {
            value: self.value.clone(),
            zone: self.zone.clone(),
            title: self.title.clone(),
            ..OpenHandsState::default()
        };
        if let Some(members) = without.value.as_object_mut() {
            members.remove("stats");
        }
        without.about(time, false)
    }

    /// The zone of a time that names none, of what was written at `written_ms` (Unix epoch in milliseconds), as it would stand
    /// behind it: zones are quarters of hours. `None` where it was not written then.
    ///
    /// ```
    /// use chat_normalize::OpenHandsState;
    /// let zone = OpenHandsState::zone_of("2026-12-01T12:00:00.250000", 1_796_121_000_300);
    /// assert_eq!(zone.as_deref(), Some("+01:30"));
    /// ```
    pub fn zone_of(time: &str, written_ms: i64) -> Option<String> {
        const QUARTER_MS: i64 = 900_000;
        // A file is written right behind its time; one that was copied is so at any time.
        const MOST_LATE_MS: i64 = 2000;
        let local_ms =
            millis_of_rfc3339(time).filter(|_| time.len() > 19 && !time.ends_with('Z'))?;
        let ahead_ms = local_ms.checked_sub(written_ms)?;
        let quarters = ahead_ms.checked_add(QUARTER_MS / 2)?.div_euclid(QUARTER_MS);
        let late_ms = quarters * QUARTER_MS - ahead_ms;
        let is_zone = quarters.abs() <= 14 * 4 && (-100..=MOST_LATE_MS).contains(&late_ms);
        let (hours, minutes) = (quarters.abs() / 4, quarters.abs() % 4 * 15);
        let sign = if quarters < 0 { '-' } else { '+' };
        is_zone.then(|| format!("{sign}{hours:02}:{minutes:02}"))
    }

    fn used(&mut self, with_sums: bool) -> Map<String, Value> {
        let stats = self.value.get("stats").unwrap_or(&Value::Null);
        let by_use = stats.get("usage_to_metrics").and_then(Value::as_object);
        let by_use = by_use.into_iter().flatten().map(|(name, metrics)| {
            let all = list_of(metrics, "token_usages");
            let told = self.told.entry(name.clone()).or_default();
            let new = all.get(*told..).unwrap_or_default().to_vec();
            *told = all.len().max(*told);
            let mut said = json!({"token_usages": new});
            if with_sums {
                for sum in ["accumulated_token_usage", "accumulated_cost"] {
                    said[sum] = metrics.get(sum).cloned().unwrap_or_default();
                }
            }
            (name.clone(), said)
        });
        by_use.collect()
    }

    /// The line that says how an agent stands.
    pub fn stands(status: &str, time: &str) -> String {
        event(time, "execution_status", &Value::from(status))
    }

    /// Whether a line says how the agent stands: a server writes that among its events.
    pub fn is_told_in(line: &str) -> bool {
        line.contains("\"ConversationStateUpdateEvent\"")
            && serde_json::from_str::<Value>(line)
                .is_ok_and(|line| str_of(&line, "key") == Some("execution_status"))
    }
}

fn event(time: &str, key: &str, value: &Value) -> String {
    let kind = "ConversationStateUpdateEvent";
    json!({"kind": kind, "source": "environment", "timestamp": time, "key": key, "value": value})
        .to_string()
}
