//! The patch that a run hands in, as edits: for sources that say what was changed only at their end.

use chat_diff::parse;
use chat_event::payload::FileEdit;

use crate::edit::file_edit;

/// The edits of a patch of any number of files; `call_id` is the call that handed it in, or empty.
pub(crate) fn edits_of_patch(call_id: &str, patch: &str) -> Vec<FileEdit> {
    let patch = of_terminal(patch);
    let parsed = parse(&patch);
    let diffs = parsed.files.iter().map(|file| file.to_file_diff(&patch));
    diffs
        .map(|diff| file_edit(call_id, &diff.path, &diff))
        .collect()
}

/// The text as it was before a terminal printed it, which ends every line in CR and LF.
fn of_terminal(text: &str) -> String {
    let n_ends = text.matches('\n').count();
    if n_ends > 0 && text.matches("\r\n").count() == n_ends {
        text.replace("\r\n", "\n")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use chat_event::Body;

    use super::*;

    #[test]
    fn a_patch_through_a_terminal_applies() {
        let patch =
            "\r\ndiff --git a/x b/x\r\n--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n\r\n";
        let edits = edits_of_patch("c1", patch);
        assert_eq!(edits.len(), 1);
        assert_eq!((edits[0].lines_added, edits[0].lines_removed), (1, 1));
        let diff = edits[0]
            .full_diff
            .as_ref()
            .map(Body::preview)
            .unwrap_or_default();
        assert_eq!(chat_diff::apply(&diff, "a\n"), Ok("b\n".to_owned()));
        assert!(edits_of_patch("", "no patch").is_empty());
    }
}
