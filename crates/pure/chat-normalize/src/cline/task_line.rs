//! What who follows a task's file says of its changes, in lines of its own, and whose a task is by where it lies.

/// Lines that say how a task's or a session's document changed. What is new in it stands in lines as it does there.
///
/// ```
/// use chat_normalize::TaskLine;
/// assert_eq!(TaskLine::changed(r#"{"ts":1}"#), r#"{"$changed":{"ts":1}}"#);
/// assert_eq!(TaskLine::left([r#"{"ts":1}"#, r#"{"ts":2}"#]), r#"{"$left":[{"ts":1},{"ts":2}]}"#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskLine;

impl TaskLine {
    pub(crate) const CHANGED: &str = "$changed";
    pub(crate) const LEFT: &str = "$left";
    /// Where the first message of a line stands in its document.
    pub const AT: &str = "$at";

    /// A message says something else than it did; `message` is as it would stand in a line if it were new.
    pub fn changed(message: &str) -> String {
        format!("{{\"{}\":{message}}}", TaskLine::CHANGED)
    }

    /// These messages are there no more. What names them is enough: `ts`, `type` and what it says, `partial`; or `id`.
    pub fn left<'a>(messages: impl IntoIterator<Item = &'a str>) -> String {
        let messages: Vec<&str> = messages.into_iter().collect();
        format!("{{\"{}\":[{}]}}", TaskLine::LEFT, messages.join(","))
    }

    /// The program whose task or session lies at a path, as far as its folders say that: an extension's, which editors call
    /// by the extension, or the program's own.
    ///
    /// ```
    /// use chat_normalize::TaskLine;
    /// let path = "Code/User/globalStorage/kilocode.kilo-code/tasks/1/ui_messages.json";
    /// assert_eq!(TaskLine::agent_at(path), Some("Kilo Code"));
    /// assert_eq!(TaskLine::agent_at("tasks/1/ui_messages.json"), None);
    /// ```
    pub fn agent_at(path: &str) -> Option<&'static str> {
        let named = |folder: &str| match folder {
            "saoudrizwan.claude-dev" | ".cline" => Some("Cline"),
            "rooveterinaryinc.roo-cline" => Some("Roo Code"),
            "kilocode.kilo-code" | ".kilocode" => Some("Kilo Code"),
            _ => None,
        };
        path.rsplit(['/', '\\']).skip(1).find_map(named)
    }
}
