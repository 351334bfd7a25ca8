//! What a call changed: what is searched and what replaces it, a unified diff, a patch, or a whole file.

use chat_diff::{Change, from_unified};
use chat_event::payload::FileEdit;
use serde_json::Value;

use crate::codex::{Files, of_patch_text};
use crate::edit::{file_edit, named_edit, piece_edit, shown_path};
use crate::untold_edits::edit_by_args;
use crate::value::{list_of, text_of};

/// The edits that a call made; none where its tool changes no file.
pub(super) fn of(call_id: &str, name: &str, args: &Value, cwd: Option<&str>) -> Vec<FileEdit> {
    let batch = list_of(args, "batchDiffs");
    if !batch.is_empty() {
        let edits = batch.iter().filter_map(|one| edit(call_id, name, one, cwd));
        return edits.collect();
    }
    edit(call_id, name, args, cwd).into_iter().collect()
}

fn edit(call_id: &str, name: &str, told: &Value, cwd: Option<&str>) -> Option<FileEdit> {
    let path = text_of(told, "path")?;
    let change = match name {
        "newFileCreated" => Change::Created,
        "fileDeleted" => return Some(named_edit(call_id, path, Change::Deleted)),
        _ => Change::Modified,
    };
    // The one that is a diff tells the most, whichever member has it.
    let members = ["content", "diff"].map(|key| text_of(told, key));
    let texts = || members.into_iter().flatten();
    let shown = shown_path(cwd, path);
    if let Some(diff) = texts().find_map(|text| from_unified(&shown, None, change, text)) {
        return Some(file_edit(call_id, path, &diff));
    }
    if let Some(pieces) = texts().find_map(replaced) {
        let pieces: Vec<_> = pieces.iter().map(|(old, new)| (&**old, &**new)).collect();
        return Some(piece_edit(call_id, path, &pieces));
    }
    if let Some(changes) = texts().find_map(|text| of_patch_text(text, None)) {
        let told = changes.iter().find(|change| path.ends_with(&change.path));
        let edit = told.map(|change| Files::default().edit(call_id, cwd, change));
        return Some(edit.unwrap_or_else(|| named_edit(call_id, path, change)));
    }
    if let (Change::Created, Some(content)) = (change, texts().next()) {
        let args = serde_json::json!({"path": path, "content": content});
        return Some(edit_by_args(call_id, "create", &args, path));
    }
    Some(named_edit(call_id, path, change))
}

/// More blocks of one call are not shown.
const MAX_BLOCKS: usize = 100;

/// What is searched for in a file and what replaces it, block by block: `------- SEARCH`, `=======`, `+++++++ REPLACE`, or
/// with `<` and `>`; Roo Code has lines that tell where between the first and a line of dashes.
fn replaced(text: &str) -> Option<Vec<(String, String)>> {
    let is_mark = |line: &str, signs: [char; 2], word: &str| {
        let line = line.trim_end();
        let rest = line.trim_start_matches(signs);
        line.len() - rest.len() >= 3 && rest.trim_end_matches('>').trim() == word
    };
    let mut blocks = Vec::new();
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        if !is_mark(line, ['-', '<'], "SEARCH") {
            continue;
        }
        while lines
            .next_if(|line| line.starts_with(":start_line:") || line.starts_with(":end_line:"))
            .is_some()
        {}
        lines.next_if(|line| line.trim_end() == "-------");
        let mut block = (String::new(), String::new());
        let mut is_new = false;
        for line in lines.by_ref() {
            if is_mark(line, ['+', '>'], "REPLACE") {
                break;
            }
            if !is_new && line.trim_end() == "=======" {
                is_new = true;
            } else if is_new {
                block.1.push_str(line);
            } else {
                block.0.push_str(line);
            }
        }
        blocks.push(block);
        if blocks.len() == MAX_BLOCKS {
            break;
        }
    }
    (!blocks.is_empty()).then_some(blocks)
}
