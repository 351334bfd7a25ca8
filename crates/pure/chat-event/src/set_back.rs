//! A conversation that was set back, as a notice tells it.

use crate::extra::Extra;
use crate::json::Json;
use crate::payload::Notice;

/// The members of a notice that say it.
const LEFT: &str = "leftTurnIds";
const AGAIN: &str = "againTurnIds";
const FILES_RESTORED: &str = "filesRestored";
const CLEARED: &str = "cleared";

/// Turns that a session left behind when its user went back, and turns that stand again.
///
/// ```
/// use chat_event::{ChatEvent, Payload, SetBack};
/// let line = r#"{"id":"e1","timestamp":1,"sessionId":"s","type":"notice","payload":{"text":"the user went back","leftTurnIds":["t2"]}}"#;
/// let Payload::Notice(notice) = ChatEvent::from_json(line).unwrap().payload else { panic!() };
/// assert_eq!(SetBack::of(&notice).unwrap().left, ["t2"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetBack {
    /// The turns that were left, by their ids.
    pub left: Vec<String>,
    /// Turns that were left before, and stand again.
    pub again: Vec<String>,
    /// Whether the agent put back the files that were changed in what was left.
    pub files_restored: bool,
    /// Whether the conversation was begun anew: the agent knows no more of what was left, and nobody went back behind it.
    pub cleared: bool,
}

impl SetBack {
    /// Who tells of it, as the notices say.
    pub const SOURCE: &str = "branch";

    /// What a notice tells of it; `None` where it names no turn. What is no id in its lists is passed over.
    pub fn of(notice: &Notice) -> Option<SetBack> {
        let ids = |name| -> Vec<String> {
            let list: Option<Vec<Json>> = notice.extra.get(name).and_then(|list| list.parse());
            let ids = list.iter().flatten().filter_map(Json::as_str);
            ids.map(|id| id.into_owned()).collect()
        };
        let (left, again) = (ids(LEFT), ids(AGAIN));
        if left.is_empty() && again.is_empty() {
            return None;
        }
        let is_told = |name| notice.extra.get(name).and_then(|told| told.parse()) == Some(true);
        Some(SetBack {
            left,
            again,
            files_restored: is_told(FILES_RESTORED),
            cleared: is_told(CLEARED),
        })
    }

    /// The turns that the user went back behind, as a notice tells it: whatever was open in them is over, also where nobody
    /// said so. What a conversation that began anew left is not among them: a context is made shorter while a turn goes on.
    pub fn undone_by(notice: &Notice) -> Vec<String> {
        // Most have no more to say.
        if notice.extra.is_empty() {
            return Vec::new();
        }
        let told = SetBack::of(notice).filter(|told| !told.cleared);
        told.map_or_else(Vec::new, |told| told.left)
    }

    /// Gives the turns that a notice names other ids, where turns are named otherwise.
    pub fn rename(notice: &mut Notice, name: impl FnMut(&mut String)) {
        let Some(before) = SetBack::of(notice) else {
            return;
        };
        let mut told = before.clone();
        let ids = told.left.iter_mut().chain(&mut told.again);
        ids.for_each(name);
        if told != before {
            told.write(&mut notice.extra);
        }
    }

    /// Writes it into a notice.
    pub fn write(&self, extra: &mut Extra) {
        let list = |ids: &[String]| Json::from(serde_json::Value::from(ids.to_vec()));
        for (name, ids) in [(LEFT, &self.left), (AGAIN, &self.again)] {
            if !ids.is_empty() {
                extra.insert(name, list(ids));
            }
        }
        for (name, is_so) in [
            (FILES_RESTORED, self.files_restored),
            (CLEARED, self.cleared),
        ] {
            if is_so {
                extra.insert(name, Json::from(serde_json::Value::Bool(true)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn notice(members: &[(&str, Value)]) -> Notice {
        let mut notice = Notice::default();
        for (name, value) in members {
            notice.extra.insert(name, Json::from(value.clone()));
        }
        notice
    }

    #[test]
    fn what_is_written_is_read_again() {
        let told = SetBack {
            left: vec!["t1".to_owned(), "\"é".to_owned()],
            again: vec!["t3".to_owned()],
            files_restored: true,
            cleared: true,
        };
        let mut notice = Notice::default();
        told.write(&mut notice.extra);
        assert_eq!(SetBack::of(&notice), Some(told));
        let mut none = Notice::default();
        SetBack::default().write(&mut none.extra);
        assert_eq!(none, Notice::default());
    }

    #[test]
    fn turns_are_renamed_and_nothing_else_is() {
        let mut told = notice(&[
            ("leftTurnIds", json!(["t1"])),
            ("againTurnIds", json!(["t2"])),
            ("filesRestored", json!(true)),
        ]);
        SetBack::rename(&mut told, |id| id.insert(0, 's'));
        let wanted = SetBack {
            left: vec!["st1".to_owned()],
            again: vec!["st2".to_owned()],
            files_restored: true,
            cleared: false,
        };
        assert_eq!(SetBack::of(&told), Some(wanted));
        // Where no name is another it stays as it was written.
        let mut same = notice(&[("leftTurnIds", json!([7, "t1"]))]);
        let before = same.clone();
        SetBack::rename(&mut same, |_| {});
        assert_eq!(same, before);
    }

    #[test]
    fn what_names_no_turn_tells_nothing() {
        for members in [
            vec![],
            vec![("leftTurnIds", json!([]))],
            vec![("leftTurnIds", json!("t1"))],
            vec![
                ("leftTurnIds", json!({"t1": 1})),
                ("againTurnIds", json!(null)),
            ],
            vec![("leftTurnIds", json!([1, null, ["t1"]]))],
            vec![("filesRestored", json!(true))],
        ] {
            assert_eq!(SetBack::of(&notice(&members)), None, "{members:?}");
        }
        let some = notice(&[
            ("leftTurnIds", json!([7, "t1"])),
            ("filesRestored", json!("yes")),
        ]);
        let told = SetBack {
            left: vec!["t1".to_owned()],
            ..SetBack::default()
        };
        assert_eq!(SetBack::of(&some), Some(told));
    }
}
