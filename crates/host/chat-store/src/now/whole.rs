//! Which requests the list has room for, with all that is asked and all that can be answered. Who answers one of the others
//! would not have seen what to.

use std::collections::BTreeMap;

use chat_event::Json;
use chat_event::payload::{PermissionRequest, QuestionRequest};
use serde::Serialize;
use serde::de::IgnoredAny;

use super::{TEXT_CHARS, Whole};

/// More answers than these have no room.
const MOST_ANSWERS: usize = 4;
/// Nor have longer ones.
const ANSWER_CHARS: usize = 60;
/// And all together with their ids, and what is said of each, in bytes: a row is sent to all who follow the list.
const ANSWERS_BYTES: usize = 4 * 1024;
/// An id is given with a row up to this length.
const ID_BYTES: usize = 256;
/// Arguments beside the one that is shown which change nothing of what is allowed.
const SAYS_NO_MORE: [&str; 5] = ["description", "timeout", "timeout_ms", "cwd", "workdir"];

/// Of a permission: the argument that is shown fits, there is no reason beside it, and no other argument that changes what
/// is done.
pub(super) fn of_permission(request: &PermissionRequest, shown: &str) -> Option<Whole> {
    let args: BTreeMap<String, IgnoredAny> = request.args.as_ref().and_then(Json::parse)?;
    let telling = args.keys().filter(|name| !says_no_more(name)).count();
    let has_reason = request.reason.as_ref().is_some_and(|why| !why.is_empty());
    let mut labels = request.options.iter().map(|option| &option.label);
    let fits = request.answerable != Some(false)
        && telling == 1
        && !has_reason
        && fits_line(shown, TEXT_CHARS)
        && request.options.len() <= MOST_ANSWERS
        && labels.all(|label| label.is_empty() || fits_line(label, ANSWER_CHARS))
        && fits_row(&request.options)
        && is_given(&request.request_id);
    fits.then(|| Whole {
        request_id: request.request_id.clone(),
        permit: request.options.clone(),
        ..Whole::default()
    })
}

/// Of a question: there is no other beside it, and one of a few answers is chosen.
pub(super) fn of_question(request: &QuestionRequest) -> Option<Whole> {
    let [question] = request.questions.as_slice() else {
        return None;
    };
    let mut labels = question.options.iter().map(|option| &option.label);
    let fits = request.answerable != Some(false)
        && question.multi != Some(true)
        && question.secret != Some(true)
        && fits_line(&question.text, TEXT_CHARS)
        && (1..=MOST_ANSWERS).contains(&question.options.len())
        && labels.all(|label| fits_line(label, ANSWER_CHARS))
        && fits_row(&question.options)
        && is_given(&request.request_id);
    fits.then(|| Whole {
        request_id: request.request_id.clone(),
        choose: question.options.clone(),
        ..Whole::default()
    })
}

fn says_no_more(name: &str) -> bool {
    SAYS_NO_MORE.contains(&name)
}

/// Whether a text is one line that is shown whole: nothing of it is cut, and no character turns its order round.
fn fits_line(text: &str, most_chars: usize) -> bool {
    let is_odd = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    !text.trim().is_empty() && text.chars().count() <= most_chars && !text.trim().contains(is_odd)
}

fn fits_row<T: Serialize>(answers: &[T]) -> bool {
    let told = serde_json::to_vec(answers);
    told.is_ok_and(|told| told.len() <= ANSWERS_BYTES)
}

fn is_given(id: &str) -> bool {
    (1..=ID_BYTES).contains(&id.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use chat_event::payload::{PermissionOption, Question, QuestionOption};
    use serde_json::{Value, json};

    fn permission(args: &Value) -> PermissionRequest {
        PermissionRequest {
            request_id: "r1".to_owned(),
            tool_name: "Bash".to_owned(),
            args: Some(Json::from(args)),
            ..PermissionRequest::default()
        }
    }

    fn is_whole(request: &PermissionRequest) -> bool {
        let ask = super::super::asks::of_permission(request);
        ask.whole.is_some()
    }

    #[test]
    fn a_permission_is_whole_where_nothing_of_it_is_left_out() {
        let plain = permission(&json!({"command": "ls", "description": "List", "timeout": 5}));
        assert!(is_whole(&plain));
        let long = "x".repeat(TEXT_CHARS + 1);
        for args in [
            json!({"command": long}),
            json!({"command": "ls\nrm -rf ."}),
            json!({"command": "ls \u{202e}fr- mr"}),
            json!({"command": "ls", "dangerouslyDisableSandbox": true}),
            json!({"file_path": "a.rs", "old_string": "a", "new_string": "b"}),
            json!({"content": "a"}),
            json!({"command": ["ls"], "path": "a"}),
            json!({}),
            json!("ls"),
        ] {
            assert!(!is_whole(&permission(&args)), "{args}");
        }
        let with = |change: &dyn Fn(&mut PermissionRequest)| {
            let mut request = plain.clone();
            change(&mut request);
            is_whole(&request)
        };
        assert!(!with(&|it| it.args = None));
        assert!(!with(
            &|it| it.reason = Some("outside the sandbox".to_owned())
        ));
        assert!(!with(&|it| it.request_id = "r".repeat(ID_BYTES + 1)));
        let option = |label: &str| PermissionOption::new("a", label, "allow_once");
        assert!(with(&|it| it.options = vec![option("Yes"), option("")]));
        assert!(!with(&|it| it.options = vec![option(&long)]));
        let with_id = |n_bytes| vec![PermissionOption::new(&"i".repeat(n_bytes), "Yes", "")];
        assert!(with(&|it| it.options = with_id(ANSWERS_BYTES / 2)));
        assert!(!with(&|it| it.options = with_id(ANSWERS_BYTES)));
        assert!(!with(
            &|it| it.options = vec![option("Yes"); MOST_ANSWERS + 1]
        ));
    }

    #[test]
    fn a_question_is_whole_where_one_answer_of_a_few_is_chosen() {
        let question = |labels: &[&str]| Question {
            text: "Which?".to_owned(),
            options: labels
                .iter()
                .map(|label| QuestionOption {
                    label: (*label).to_owned(),
                    ..QuestionOption::default()
                })
                .collect(),
            ..Question::default()
        };
        let is_whole = |questions: Vec<Question>| {
            let request = QuestionRequest {
                request_id: "r1".to_owned(),
                questions,
                ..QuestionRequest::default()
            };
            of_question(&request).is_some()
        };
        let two = question(&["A", "B"]);
        assert!(is_whole(vec![two.clone()]));
        assert!(!is_whole(vec![two.clone(), two.clone()]));
        assert!(!is_whole(vec![question(&[])]));
        assert!(!is_whole(vec![question(&["A", "B", "C", "D", "E"])]));
        assert!(!is_whole(vec![question(&["A\nB"])]));
        let mut described = two.clone();
        described.options[0].description = Some("d".repeat(ANSWERS_BYTES));
        assert!(!is_whole(vec![described]));
        let (mut multi, mut secret, mut long) = (two.clone(), two.clone(), two);
        multi.multi = Some(true);
        secret.secret = Some(true);
        long.text = "?".repeat(TEXT_CHARS + 1);
        for odd in [multi, secret, long] {
            assert!(!is_whole(vec![odd]));
        }
    }
}
