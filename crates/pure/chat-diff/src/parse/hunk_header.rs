//! The line that begins a hunk.

/// Parents of a merge read at most; git makes no such merges.
const PARENTS: usize = 64;

/// `@@ -1,2 +1,3 @@ section`, or of a merge `@@@ -1,2 -1,2 +1,3 @@@`.
pub(super) struct HunkHeader<'a> {
    /// Start and count; `None` where the header says nothing of them.
    pub(super) old: Option<(u32, u32)>,
    pub(super) new: Option<(u32, u32)>,
    /// Signs in front of each line: one for each parent.
    pub(super) columns: usize,
    pub(super) section: &'a str,
}

impl<'a> HunkHeader<'a> {
    /// Reads it; `None` where a line that begins with `@@` is no such header. What is written by hand may lack spaces,
    /// and all behind the numbers.
    pub(super) fn read(content: &'a str) -> Option<Self> {
        let marks = content.bytes().take_while(|byte| *byte == b'@').count();
        let columns = marks
            .checked_sub(1)
            .filter(|columns| (1..=PARENTS).contains(columns))?;
        let mut rest = &content[marks..];
        let mut old = None;
        for _ in 0..columns {
            let range;
            (range, rest) = read_range(rest.trim_start_matches(' ').strip_prefix('-')?)?;
            old = old.or(Some(range));
        }
        let new;
        (new, rest) = read_range(rest.trim_start_matches(' ').strip_prefix('+')?)?;
        let section = match rest.trim_start_matches(' ') {
            "" => "",
            rest => rest.strip_prefix(&content[..marks])?,
        };
        let section = section.strip_prefix(' ').unwrap_or(section);
        Some(Self {
            old,
            new: Some(new),
            columns,
            section,
        })
    }
}

fn read_range(text: &str) -> Option<((u32, u32), &str)> {
    let (start, rest) = read_number(text)?;
    let (lines, rest) = match rest.strip_prefix(',') {
        Some(rest) => read_number(rest)?,
        None => (1, rest),
    };
    Some(((start, lines), rest))
}

/// Numbers too large for any file stand for the largest one.
fn read_number(text: &str) -> Option<(u32, &str)> {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(len);
    (len > 0).then(|| (digits.parse().unwrap_or(u32::MAX), rest))
}
