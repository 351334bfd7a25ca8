//! How two texts differ, for people: the first lines that are not the same, with some that are before them.

/// Lines shown before the first difference, and from it on.
const BEFORE: usize = 6;
const FROM: usize = 6;
const LINE_CHARS: usize = 220;

/// `None` where the texts are equal, byte for byte.
pub(crate) fn difference(what: &str, left: &str, right: &str) -> Option<String> {
    if left == right {
        return None;
    }
    let (left_lines, right_lines): (Vec<&str>, Vec<&str>) =
        (left.lines().collect(), right.lines().collect());
    let same = left_lines
        .iter()
        .zip(&right_lines)
        .take_while(|(left, right)| left == right)
        .count();
    let mut text = format!(
        "{what}: not the same from line {} on ({} and {} lines, {} and {} bytes)\n",
        same + 1,
        left_lines.len(),
        right_lines.len(),
        left.len(),
        right.len()
    );
    for line in &left_lines[same.saturating_sub(BEFORE)..same] {
        text.push_str(&format!("    {}\n", shown(line)));
    }
    for (mark, lines) in [('<', &left_lines), ('>', &right_lines)] {
        for line in lines.iter().skip(same).take(FROM) {
            text.push_str(&format!("  {mark} {}\n", shown(line)));
        }
    }
    Some(text)
}

fn shown(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}
