//! Texts that are Markdown themselves: shown as such where nothing in them can reach beyond them.
//!
//! Left as it is: paragraphs, lists, tables, emphasis, links, code at the left margin. Changed: headings go below those
//! of the transcript, tags and definitions of links are shown and not taken, images are not loaded, code that is not closed is. Where code begins
//! within a list or a quote only a whole parser could say where it ends: such a text is [`Prose::Wild`].

pub(super) enum Prose {
    /// Markdown that stays within itself.
    Tame(String),
    /// To be shown word for word.
    Wild,
}

/// Headings begin below the transcript's own: title, turn.
const HEADING_LEVEL: usize = 2;

struct Fence {
    mark: char,
    len: usize,
}

/// The text as Markdown that stays within itself.
pub(super) fn tamed(text: &str) -> Prose {
    let mut tame = String::with_capacity(text.len());
    let mut fence: Option<Fence> = None;
    let mut after_text = false;
    let mut sure = true;
    for line in text.trim_end().trim_start_matches('\n').split('\n') {
        if !tame.is_empty() {
            tame.push('\n');
        }
        if let Some(open) = &fence {
            tame.push_str(line);
            if closes(line, open) {
                fence = None;
            }
            continue;
        }
        if let Some(opened) = opens(line) {
            tame.push_str(line);
            fence = Some(opened);
            (after_text, sure) = (false, true);
            continue;
        }
        if hides_a_fence(line) {
            return Prose::Wild;
        }
        let blank = line.trim().is_empty();
        if blank {
            (after_text, sure) = (false, true);
            continue;
        }
        let bare = line.trim_start_matches(' ');
        let n_marks = bare.len() - bare.trim_start_matches('#').len();
        let indented = line.len() - bare.len() > 3;
        if !indented
            && (1..=6).contains(&n_marks)
            && (bare.len() == n_marks || bare[n_marks..].starts_with([' ', '\t']))
        {
            let level = (n_marks + HEADING_LEVEL).min(6);
            tame.push_str(&"#".repeat(level));
            push_inline(&bare[n_marks..], &mut sure, &mut tame);
            (after_text, sure) = (false, true);
            continue;
        }
        let defines = bare.starts_with('[') && bare.contains("]:");
        if !indented && (defines || after_text && underlines(bare)) {
            tame.push('\\');
            push_inline(bare, &mut sure, &mut tame);
        } else {
            push_inline(line, &mut sure, &mut tame);
        }
        after_text = true;
    }
    if let Some(open) = fence {
        tame.push('\n');
        tame.extend(std::iter::repeat_n(open.mark, open.len));
    }
    Prose::Tame(tame)
}

/// The fence a line at the left margin opens.
fn opens(line: &str) -> Option<Fence> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = line.trim_start_matches(mark);
    let len = line.len() - info.len();
    (len >= 3 && !(mark == '`' && info.contains('`'))).then_some(Fence { mark, len })
}

fn closes(line: &str, open: &Fence) -> bool {
    let bare = line.trim_start_matches(' ');
    let rest = bare.trim_start_matches(open.mark);
    line.len() - bare.len() <= 3
        && bare.len() - rest.len() >= open.len
        && rest.chars().all(|c| c == ' ' || c == '\t')
}

/// Whether code may begin behind the marks of a list or a quote, or behind spaces.
fn hides_a_fence(line: &str) -> bool {
    let marks = |c: char| c.is_whitespace() || c.is_ascii_digit() || ">-+*.)".contains(c);
    let bare = line.trim_start_matches(marks);
    bare.len() < line.len() && (bare.starts_with("```") || bare.starts_with("~~~"))
}

/// Whether a line makes a heading of the line before it.
fn underlines(bare: &str) -> bool {
    let bare = bare.trim_end();
    !bare.is_empty() && (bare.chars().all(|c| c == '=') || bare.chars().all(|c| c == '-'))
}

/// Writes a line with its tags and images made harmless, but for those in code.
///
/// `sure` says whether it is known what of the line is code: not in a paragraph where a backtick of an earlier line may
/// still be open, nor in a table, whose cells end code.
fn push_inline(line: &str, sure: &mut bool, out: &mut String) {
    let spans = match line.contains('|') {
        true => None,
        false => code_spans(line),
    };
    *sure &= spans.is_some() || !line.contains('`');
    let spans = spans.filter(|_| *sure).unwrap_or_default();
    let mut spans = spans.into_iter().peekable();
    for (at, c) in line.char_indices() {
        while spans.next_if(|&(_, end)| end <= at).is_some() {}
        let in_code = spans.peek().is_some_and(|&(start, _)| start <= at);
        let next = line[at + c.len_utf8()..].chars().next();
        match (c, next) {
            _ if in_code => out.push(c),
            ('<', Some(next)) if next.is_ascii_alphabetic() || "/!?".contains(next) => {
                out.push_str("&lt;");
            }
            ('!', Some('[')) => out.push_str("&#33;"),
            _ => out.push(c),
        }
    }
}

/// The code of a line, from its first backtick to behind its last; `None` where some backtick has no partner.
fn code_spans(line: &str) -> Option<Vec<(usize, usize)>> {
    let mut spans = Vec::new();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    let bytes = line.as_bytes();
    while at < bytes.len() {
        if bytes[at] != b'`' {
            at += 1;
            continue;
        }
        let len = bytes[at..].iter().take_while(|&&byte| byte == b'`').count();
        if at > 0 && bytes[at - 1] == b'\\' {
            // Whether this is escaped depends on what is code before it.
            return None;
        }
        runs.push((at, len));
        at += len;
    }
    let mut runs = runs.into_iter();
    while let Some((start, len)) = runs.next() {
        // Looking on is linear in all, because what lies between is passed over.
        let (end, _) = runs.by_ref().find(|&(_, other)| other == len)?;
        spans.push((start, end + len));
    }
    Some(spans)
}
