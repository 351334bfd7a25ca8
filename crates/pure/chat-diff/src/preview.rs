//! The head of a diff, small enough to travel with its event.

/// Lines of a preview at most.
pub const PREVIEW_LINES: usize = 100;

/// Bytes of a preview at most.
pub const PREVIEW_BYTES: usize = 5 * 1024;

/// The first [`PREVIEW_LINES`] lines of `text`, [`PREVIEW_BYTES`] at most, cut behind a newline.
///
/// Empty where the first line alone is too long.
pub fn preview(text: &str) -> &str {
    let mut end = 0;
    for line in text.split_inclusive('\n').take(PREVIEW_LINES) {
        if end + line.len() > PREVIEW_BYTES {
            break;
        }
        end += line.len();
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_ends_on_a_line_within_both_limits() {
        assert_eq!(preview("a\nb"), "a\nb");
        let many = "x\n".repeat(101);
        assert_eq!(preview(&many).lines().count(), 100);
        let wide = format!("head\n{}\n", "é".repeat(PREVIEW_BYTES));
        assert_eq!(preview(&wide), "head\n");
        let exact = format!("{}\n", "x".repeat(PREVIEW_BYTES - 1));
        assert_eq!(preview(&exact), exact);
        assert_eq!(preview(&format!("x{exact}")), "");
    }
}
