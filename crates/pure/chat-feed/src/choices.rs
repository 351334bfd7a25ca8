//! What a request for permission can be answered by: each source has its own words for that, and the reader sees those of the
//! page.

use chat_event::payload::PermissionOption;

use crate::units;

/// Of a source's own label so much is shown.
const LABEL_CHARS: usize = 60;

/// One answer to a permission, as a button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What stands on it.
    pub label: String,
    /// `allow`, `deny` or `cancel`.
    pub decision: &'static str,
    /// `once`, `session` or `always`.
    pub scope: Option<&'static str>,
}

impl Choice {
    fn new(label: &str, decision: &'static str, scope: Option<&'static str>) -> Choice {
        Choice {
            label: label.to_owned(),
            decision,
            scope,
        }
    }

    /// What an option of the request means; `None` where that is not known: a guess could allow what was not meant to be.
    fn of(option: &PermissionOption) -> Option<Choice> {
        let word = if option.kind.is_empty() {
            &option.id
        } else {
            &option.kind
        };
        let word = word.to_lowercase();
        let scope = ["once", "session", "always"]
            .into_iter()
            .find(|scope| word.contains(scope));
        let begins = |words: &[&str]| words.iter().any(|begin| word.starts_with(begin));
        let (decision, usual) = if begins(&["reject", "deny", "decline"]) || word == "no" {
            ("deny", "Deny")
        } else if begins(&["cancel", "abort"]) {
            ("cancel", "Cancel")
        } else if begins(&["allow", "accept", "approve"])
            || ["yes", "once", "session", "always"].contains(&word.as_str())
        {
            let usual = match scope {
                Some("session") => "Allow in this session",
                Some("always") => "Always allow",
                Some(_) => "Allow once",
                None => "Allow",
            };
            ("allow", usual)
        } else {
            return None;
        };
        // What is sent is said in the page's own words first: a label may say something else, or the opposite.
        let label = units::first_line(&option.label, LABEL_CHARS);
        let label = match says_more(&label, usual) {
            true => format!("{usual} – “{label}”"),
            false => usual.to_owned(),
        };
        Some(Choice::new(&label, decision, scope))
    }

    /// The buttons of a request: its own, and always one to allow and one to deny.
    ///
    /// ```
    /// use chat_event::payload::PermissionOption;
    /// use chat_feed::choices::Choice;
    ///
    /// let own = [PermissionOption::new("a", "", "allow_always")];
    /// let labels: Vec<String> = Choice::all(&own).into_iter().map(|it| it.label).collect();
    /// assert_eq!(labels, ["Always allow", "Deny"]);
    /// ```
    pub fn all(options: &[PermissionOption]) -> Vec<Choice> {
        let mut choices: Vec<Choice> = options.iter().filter_map(Choice::of).collect();
        if !choices.iter().any(|choice| choice.decision == "allow") {
            choices.insert(0, Choice::new("Allow once", "allow", Some("once")));
        }
        if !choices.iter().any(|choice| choice.decision == "deny") {
            choices.push(Choice::new("Deny", "deny", None));
        }
        choices
    }
}

/// Whether a label has a word that the usual one has not.
fn says_more(label: &str, usual: &str) -> bool {
    let usual = usual.to_lowercase();
    let label = label.to_lowercase();
    let mut words = label.split_whitespace();
    words.any(|word| !usual.split(' ').any(|known| known == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(id: &str, label: &str, kind: &str) -> Option<Choice> {
        Choice::of(&PermissionOption::new(id, label, kind))
    }

    #[test]
    fn what_is_sent_is_said_in_the_pages_own_words() {
        let allow = choice("1", "Reject it", "allow_always").unwrap();
        assert_eq!(allow.decision, "allow");
        assert_eq!(allow.label, "Always allow – “Reject it”");
        assert_eq!(choice("2", "deny", "reject_once").unwrap().label, "Deny");
        // Nobody knows what it would do.
        assert_eq!(choice("3", "Allow", "perhaps"), None);
        let ids = ["yes", "no", "session", "abort"];
        let decided = ids.map(|id| choice(id, "", "").unwrap());
        assert_eq!(
            decided.map(|choice| (choice.decision, choice.scope)),
            [
                ("allow", None),
                ("deny", None),
                ("allow", Some("session")),
                ("cancel", None)
            ]
        );
    }
}
