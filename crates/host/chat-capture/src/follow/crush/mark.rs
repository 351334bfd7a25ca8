//! How much of a message was told that still grows: who reads it anew gives its reader that much of it first.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What was told of it, by what stood there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Mark {
    /// Bytes of its texts and of its thoughts.
    text: usize,
    thought: usize,
    /// Whether the thoughts were over.
    thought_over: bool,
    /// How many calls stood there, and how many of them whole.
    calls: usize,
    whole_calls: usize,
    /// How it ended.
    finish: Option<String>,
}

impl Mark {
    pub(super) fn of(parts: &[Value]) -> Mark {
        let mut mark = Mark::default();
        for part in parts {
            let data = &part["data"];
            let len = |key: &str| data[key].as_str().map_or(0, str::len);
            match part["type"].as_str().unwrap_or("") {
                "text" => mark.text += len("text"),
                "reasoning" => {
                    mark.thought += len("thinking");
                    mark.thought_over |= data["finished_at"].as_i64().is_some_and(|at| at > 0);
                }
                "tool_call" => {
                    mark.calls += 1;
                    mark.whole_calls += usize::from(data["finished"] == true);
                }
                "finish" => mark.finish = data["reason"].as_str().map(str::to_owned),
                _ => {}
            }
        }
        mark
    }

    pub(super) fn read(text: &str) -> Option<Mark> {
        serde_json::from_str(text).ok()
    }

    pub(super) fn write(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether more of it may come, but for another end.
    pub(super) fn is_open(&self) -> bool {
        self.finish.is_none()
    }

    /// Whether it ended to call tools.
    pub(super) fn calls_more(&self) -> bool {
        self.finish.as_deref() == Some("tool_use")
    }

    /// The parts as they stood there then.
    pub(super) fn cut(&self, parts: &[Value]) -> Vec<Value> {
        let mut left = self.clone();
        let mut kept = Vec::new();
        for part in parts {
            let mut part = part.clone();
            if !part.get("data").is_some_and(Value::is_object) {
                kept.push(part);
                continue;
            }
            let kind = part["type"].as_str().unwrap_or("").to_owned();
            let data = &mut part["data"];
            match kind.as_str() {
                "text" if left.text > 0 => cut_text(data, "text", &mut left.text),
                "reasoning" if left.thought > 0 => {
                    cut_text(data, "thinking", &mut left.thought);
                    if !self.thought_over
                        && let Some(members) = data.as_object_mut()
                    {
                        members.remove("finished_at");
                    }
                }
                "tool_call" if left.calls > 0 => {
                    left.calls -= 1;
                    match left.whole_calls {
                        0 => data["finished"] = Value::Bool(false),
                        _ => left.whole_calls -= 1,
                    }
                }
                "finish" => match left.finish.take() {
                    Some(reason) => data["reason"] = Value::from(reason),
                    None => continue,
                },
                "text" | "reasoning" | "tool_call" => continue,
                _ => {}
            }
            kept.push(part);
        }
        kept
    }
}

/// What of a text stood there.
fn cut_text(data: &mut Value, key: &str, left: &mut usize) {
    let text = data[key].as_str().unwrap_or("");
    let mut len = text.len().min(*left);
    // What stood there then may have been another text.
    while !text.is_char_boundary(len) {
        len -= 1;
    }
    *left -= len.min(*left);
    if let Some(cut) = text.get(..len).map(str::to_owned) {
        data[key] = Value::from(cut);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_told_of_a_message_is_cut_from_what_it_became() {
        let thinks =
            |text: &str| json!({"type": "reasoning", "data": {"thinking": text, "started_at": 1}});
        let says = |text: &str| json!({"type": "text", "data": {"text": text}});
        let call = |finished: bool| json!({"type": "tool_call", "data": {"id": "c", "finished": finished}});
        let whole = [
            json!({"type": "reasoning", "data": {"thinking": "Hm, so.", "started_at": 1, "finished_at": 2}}),
            says("Grüße"),
            call(true),
            json!({"type": "finish", "data": {"reason": "canceled", "time": 3}}),
        ];
        for before in [
            vec![],
            vec![thinks("Hm")],
            vec![thinks("Hm, so."), says("Grü")],
            vec![whole[0].clone(), says("Grüße"), call(false)],
            vec![whole[0].clone(), says("Grüße"), call(true)],
            whole.to_vec(),
        ] {
            let mark = Mark::of(&before);
            assert_eq!(Mark::read(&mark.write()), Some(mark.clone()));
            assert_eq!(mark.cut(&whole), before);
        }
        // An end that was told as another.
        let mut before = whole.to_vec();
        before[3]["data"]["reason"] = json!("tool_use");
        assert_eq!(Mark::of(&before).cut(&whole), before);
    }

    #[test]
    fn a_message_that_is_another_now_is_cut_all_the_same() {
        let mark = Mark::of(&[json!({"type": "text", "data": {"text": "a"}})]);
        let cut = mark.cut(&[
            json!({"type": "text", "data": {"text": "ä"}}),
            json!(3),
            json!({"type": "text"}),
        ]);
        assert_eq!(cut[0]["data"]["text"], "");
    }
}
