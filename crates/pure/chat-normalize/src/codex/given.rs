//! What the text that a tool gives back says of its end.

use chat_event::Json;
use serde_json::Value;

use crate::value::str_of;

/// What stands in place of the output of a call that the person stopped.
pub(crate) const ABORTED: &str = "aborted by user";

/// What a tool gave back, as its text tells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Given {
    pub(crate) text: String,
    /// Images beside it.
    pub(crate) attachments: Option<Json>,
    pub(crate) exit_code: Option<i64>,
    pub(crate) duration_ms: Option<u64>,
    /// The command runs on.
    pub(crate) runs_on: bool,
    /// The number of the session that it runs on in.
    pub(crate) shell: Option<u64>,
    /// It says that it failed.
    pub(crate) failed: bool,
    /// The person stopped it.
    pub(crate) interrupted: bool,
}

/// Reads the three ways in which the shell tool says how a command ended.
pub(crate) fn given(text: &str) -> Given {
    if text.starts_with('{')
        && let Ok(value) = serde_json::from_str::<Value>(text)
        && let (Some(output), Some(metadata)) = (str_of(&value, "output"), value.get("metadata"))
    {
        return Given {
            text: output.to_owned(),
            exit_code: metadata.get("exit_code").and_then(Value::as_i64),
            duration_ms: metadata
                .get("duration_seconds")
                .and_then(Value::as_f64)
                .map(millis),
            ..Given::default()
        };
    }
    let mut given = Given::default();
    let mut at = 0;
    for line in text.split_inclusive('\n').take(8) {
        at += line.len();
        let line = line.trim_end();
        let rest = |prefix: &str| line.strip_prefix(prefix);
        if line == "Output:" {
            given.text = text.get(at..).unwrap_or("").to_owned();
            return given;
        }
        if let Some(code) = rest("Exit code: ").or_else(|| rest("Process exited with code ")) {
            given.exit_code = code.trim().parse().ok();
        } else if let Some(time) = rest("Wall time: ")
            .or_else(|| rest("Wall time "))
            .or_else(|| rest("Duration: "))
        {
            let seconds = time
                .split(' ')
                .next()
                .and_then(|time| time.parse::<f64>().ok());
            given.duration_ms = seconds.map(millis);
        } else if let Some(shell) = rest("Process running with session ID") {
            given.runs_on = true;
            given.shell = shell.trim().parse().ok();
        } else if line == "Script failed" {
            given.failed = true;
        } else if line.starts_with(ABORTED) && text.len() == at {
            line.clone_into(&mut given.text);
            given.interrupted = true;
            return given;
        } else if line != "Script completed"
            && rest("Chunk ID: ").is_none()
            && rest("Original token count: ").is_none()
            && rest("Total output lines: ").is_none()
        {
            break;
        }
    }
    Given {
        text: text.to_owned(),
        ..Given::default()
    }
}

// `as` saturates, which is what is wanted here.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn millis(seconds: f64) -> u64 {
    (seconds * 1000.0).round() as u64
}

/// Whether that is said of a call that was not let run.
pub(crate) fn is_refusal(output: &str) -> bool {
    let output = output.trim();
    output == "exec command rejected by user"
        || (output.starts_with("exec_command failed") && output.contains("rejected by user"))
        || (output.starts_with("patch rejected") && !output.contains('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_command_is_read_in_every_form() {
        let new = "Chunk ID: e8\nWall time: 0.1253 seconds\nProcess exited with code 3\nOriginal token count: 0\nOutput:\na\nb\n";
        let made = given(new);
        assert_eq!(
            (made.text.as_str(), made.exit_code, made.duration_ms),
            ("a\nb\n", Some(3), Some(125))
        );
        let old =
            given("{\"output\":\"x\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.5}}");
        assert_eq!(
            (old.text.as_str(), old.exit_code, old.duration_ms),
            ("x", Some(0), Some(500))
        );
        assert!(
            given("Wall time: 1 seconds\nProcess running with session ID 5\nOutput:\n").runs_on
        );
        let script = given("Script failed\nWall time 0.5 seconds\nOutput:\n\nboom");
        assert!(script.failed && script.text == "\nboom" && script.duration_ms == Some(500));
        assert_eq!(given("Exit codeless").text, "Exit codeless");
    }

    #[test]
    fn a_refusal_is_told_from_what_a_command_prints() {
        assert!(is_refusal("exec command rejected by user"));
        assert!(is_refusal(
            "patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings"
        ));
        assert!(!is_refusal("patch rejected\nby a program of that name"));
        assert!(is_refusal(
            r#"exec_command failed: CreateProcess { message: "Rejected(\"rejected by user\")" }"#
        ));
        assert!(!is_refusal("rejected by user"));
    }
}
