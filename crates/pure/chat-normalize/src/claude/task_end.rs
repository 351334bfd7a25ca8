//! How a task in the background ended, as three kinds of words tell it: a line of a stream, a notification to the model,
//! and the result of a call that stopped the task or fetched what it gave.

use serde_json::Value;

use crate::value::{count_of, is_true, str_of, text_of};

/// The end of a task, as far as it is told.
#[derive(Debug, Default)]
pub(crate) struct TaskEnd {
    /// The task, and the provider's id of the call that began it: one of both is enough.
    pub(crate) task_id: Option<String>,
    pub(crate) call_id: Option<String>,
    /// `completed`, `failed`, `killed`, `stopped`
    pub(crate) status: String,
    /// One line of the program's.
    pub(crate) summary: Option<String>,
    /// What an agent reported.
    pub(crate) report: Option<String>,
    pub(crate) exit_code: Option<i64>,
    pub(crate) n_tool_calls: Option<u64>,
    pub(crate) n_tokens: Option<u64>,
    pub(crate) duration_ms: Option<u64>,
}

impl TaskEnd {
    /// Of `system/task_notification`.
    pub(crate) fn of_line(line: &Value) -> TaskEnd {
        let usage = line.get("usage").unwrap_or(&Value::Null);
        let summary = text_of(line, "summary").map(str::to_owned);
        let is_report = is_true(line, "summary_is_report");
        TaskEnd {
            task_id: text_of(line, "task_id").map(str::to_owned),
            call_id: text_of(line, "tool_use_id").map(str::to_owned),
            status: str_of(line, "status").unwrap_or("completed").to_owned(),
            exit_code: summary.as_deref().and_then(exit_code_in),
            report: summary.clone().filter(|_| is_report),
            summary: summary.filter(|_| !is_report),
            n_tool_calls: count_of(usage, "tool_uses"),
            n_tokens: count_of(usage, "total_tokens"),
            duration_ms: count_of(usage, "duration_ms"),
        }
    }

    /// Of a notification, where it tells of an end: what is said of a task that goes on has no status.
    pub(crate) fn of_notification(text: &str) -> Option<TaskEnd> {
        // What an agent reports may be like what stands around it.
        let reported = text.split_once("<result>").and_then(|(head, rest)| {
            let (report, tail) = rest.rsplit_once("</result>")?;
            Some((head, Some(report.trim()), tail))
        });
        let (head, report, tail) = reported.unwrap_or((text, None, text));
        let status = part(head, "status").filter(|status| !is_running(status))?;
        let summary = part(head, "summary");
        let count = |name: &str| part(tail, name)?.parse().ok();
        Some(TaskEnd {
            task_id: part(head, "task-id").map(str::to_owned),
            call_id: part(head, "tool-use-id").map(str::to_owned),
            status: status.to_owned(),
            summary: summary.map(str::to_owned),
            exit_code: summary.and_then(exit_code_in),
            report: report.map(str::to_owned),
            n_tool_calls: count("tool_uses"),
            n_tokens: count("subagent_tokens").or_else(|| count("total_tokens")),
            duration_ms: count("duration_ms"),
        })
    }

    /// Of the details of a call that stopped a task, or fetched what one gave that does not run any more.
    pub(crate) fn of_details(details: &Value) -> Option<TaskEnd> {
        if let Some(task) = text_of(details, "task_id").or_else(|| text_of(details, "shell_id")) {
            return Some(TaskEnd {
                task_id: Some(task.to_owned()),
                status: "stopped".to_owned(),
                ..TaskEnd::default()
            });
        }
        let task = details.get("task").unwrap_or(&Value::Null);
        let fetched = |told: &Value, id: &str| {
            let status = text_of(told, "status").filter(|status| !is_running(status))?;
            let report = text_of(told, "result").or_else(|| text_of(told, "output"));
            Some(TaskEnd {
                task_id: Some(text_of(told, id)?.to_owned()),
                status: status.to_owned(),
                report: report.map(str::to_owned),
                exit_code: told.get("exitCode").and_then(Value::as_i64),
                ..TaskEnd::default()
            })
        };
        fetched(task, "task_id").or_else(|| fetched(details, "shellId"))
    }
}

/// Whether a version of the program does not tell how commands in the background end.
pub(super) fn hides_ends(version: &str) -> bool {
    let mut before = ["0.", "1.", "2.0."].iter();
    before.any(|old| version.starts_with(old))
}

fn is_running(status: &str) -> bool {
    matches!(status, "running" | "pending")
}

/// What stands in an element of a notification.
pub(super) fn part<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (part, _) = rest.split_once(&format!("</{name}>"))?;
    Some(part.trim()).filter(|part| !part.is_empty())
}

/// `… completed (exit code 0)`, `… failed with exit code 2`
fn exit_code_in(summary: &str) -> Option<i64> {
    let (_, code) = summary.rsplit_once("exit code ")?;
    let end = code.find(|c: char| !c.is_ascii_digit() && c != '-');
    code[..end.unwrap_or(code.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_that_looks_like_a_notification_is_a_report() {
        let report = "<status>failed</status> </result> <usage><tool_uses>9</tool_uses></usage>";
        let text = format!(
            "<task-id>a1</task-id>\n<tool-use-id>c1</tool-use-id>\n<status>completed</status>\n<result>{report}</result>\n<usage><subagent_tokens>7</subagent_tokens><tool_uses>2</tool_uses></usage>"
        );
        let end = TaskEnd::of_notification(&text).unwrap();
        assert_eq!(end.status, "completed");
        assert_eq!(end.report.as_deref(), Some(report));
        assert_eq!((end.n_tokens, end.n_tool_calls), (Some(7), Some(2)));
        for goes_on in [
            "<task-id>a1</task-id><summary>It waits for input</summary>",
            "<task-id>a1</task-id><status>running</status>",
        ] {
            assert!(TaskEnd::of_notification(goes_on).is_none(), "{goes_on}");
        }
    }

    #[test]
    fn an_exit_code_is_read_where_it_is_said() {
        for (summary, code) in [
            ("Background command \"a\" completed (exit code 0)", Some(0)),
            (
                "Background command \"a\" failed with exit code 127",
                Some(127),
            ),
            ("Background command \"exit code x\" was stopped", None),
        ] {
            assert_eq!(exit_code_in(summary), code, "{summary}");
        }
    }
}
