//! Texts that are Markdown themselves: shown as such where nothing in them can reach beyond them.
//!
//! Left as it is: paragraphs, lists, tables, emphasis, links, code at the left margin. Changed: headings go below those
//! of the transcript, also within lists and quotes, tags and definitions of links are shown and not taken, images are not
//! loaded, code that is not closed is. Where code begins within a list or a quote, or may be what looks like a heading or a
//! definition there, only a whole parser could say which it is and where it ends: such a text is [`Prose::Wild`].

pub(super) enum Prose {
    /// Markdown that stays within itself.
    Tame(String),
    /// To be shown word for word.
    Wild,
}

/// Headings begin below the transcript's own: title, turn.
const HEADING_LEVEL: usize = 2;

/// What Markdown takes for blanks: a line of other white space is text.
const BLANKS: [char; 2] = [' ', '\t'];

struct Fence {
    mark: char,
    len: usize,
}

/// The text as Markdown that stays within itself.
pub(super) fn tamed(text: &str) -> Prose {
    let mut tame = String::with_capacity(text.len());
    let mut fence: Option<Fence> = None;
    let (mut after_text, mut after_blank) = (false, true);
    let mut in_list = false;
    let mut sure = true;
    let text = text.trim_end_matches([' ', '\t', '\n']);
    for line in text.trim_start_matches('\n').split('\n') {
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
            (after_text, in_list, sure) = (false, false, true);
            continue;
        }
        if hides_a_fence(line) {
            return Prose::Wild;
        }
        if is_blank(line) {
            (after_text, after_blank, sure) = (false, true, true);
            continue;
        }
        let Marked {
            bare,
            has_quote,
            has_list,
            is_deep,
        } = marked(line);
        let before = &line[..line.len() - bare.len()];
        // What is not indented, and follows nothing that it may go on, is in no list.
        in_list &= !after_blank || line.starts_with([' ', '\t', '>']);
        let level = heading_level(bare);
        let reaches = level.is_some() || begins_a_label(bare) || after_text && underlines(bare);
        if reaches && is_deep && in_list {
            // Within a list it may be code, or not.
            return Prose::Wild;
        }
        in_list |= has_list;
        after_blank = false;
        if bare.is_empty() && has_quote {
            tame.push_str(line);
            (after_text, sure) = (false, true);
            continue;
        }
        match level {
            Some(n_marks) if !is_deep => {
                tame.push_str(before);
                let level = (n_marks + HEADING_LEVEL).min(6);
                tame.push_str(&"#".repeat(level));
                push_inline(&bare[n_marks..], &mut sure, &mut tame);
                in_list &= !before.is_empty();
                (after_text, sure) = (false, true);
                continue;
            }
            _ if reaches && !is_deep => {
                tame.push_str(before);
                tame.push('\\');
                push_inline(bare, &mut sure, &mut tame);
            }
            _ => push_inline(line, &mut sure, &mut tame),
        }
        after_text = true;
    }
    if let Some(open) = fence {
        tame.push('\n');
        tame.extend(std::iter::repeat_n(open.mark, open.len));
    }
    Prose::Tame(tame)
}

/// A line behind the marks of the lists and quotes that it stands in.
struct Marked<'l> {
    bare: &'l str,
    has_quote: bool,
    has_list: bool,
    /// It is indented so far that it may be code, or go on with a paragraph.
    is_deep: bool,
}

fn marked(line: &str) -> Marked<'_> {
    let mut marked = Marked {
        bare: line,
        has_quote: false,
        has_list: false,
        is_deep: false,
    };
    // Behind a mark one space belongs to the mark.
    let (mut column, mut most_spaces) = (0, 3);
    loop {
        let bare = marked.bare.trim_start_matches(BLANKS);
        let spaces = &marked.bare[..marked.bare.len() - bare.len()];
        let begin = column;
        for space in spaces.chars() {
            column = match space {
                '\t' => (column / 4 + 1) * 4,
                _ => column + 1,
            };
        }
        marked.is_deep |= column - begin > most_spaces;
        marked.bare = bare;
        most_spaces = 4;
        let rest = if let Some(rest) = bare.strip_prefix('>') {
            marked.has_quote = true;
            rest
        } else if let Some(rest) = behind_list_mark(bare) {
            marked.has_list = true;
            // A mark with nothing behind it may as well underline.
            if is_blank(rest) {
                return marked;
            }
            rest
        } else {
            return marked;
        };
        column += bare.len() - rest.len();
        marked.bare = rest;
    }
}

fn is_blank(line: &str) -> bool {
    line.trim_start_matches(BLANKS).is_empty()
}

/// What follows the mark of a list's item, where the line begins with one.
fn behind_list_mark(bare: &str) -> Option<&str> {
    let rest = bare.strip_prefix(['-', '+', '*']).or_else(|| {
        let numberless = bare.trim_start_matches(|c: char| c.is_ascii_digit());
        let has_number = (1..=9).contains(&(bare.len() - numberless.len()));
        numberless.strip_prefix(['.', ')']).filter(|_| has_number)
    })?;
    (rest.is_empty() || rest.starts_with(BLANKS)).then_some(rest)
}

/// How many marks of a heading a line begins with, where it is one.
fn heading_level(bare: &str) -> Option<usize> {
    let rest = bare.trim_start_matches('#');
    let n_marks = bare.len() - rest.len();
    let is_one = (1..=6).contains(&n_marks) && (rest.is_empty() || rest.starts_with(BLANKS));
    is_one.then_some(n_marks)
}

/// Whether a line begins what is the name of a link, or may be once the next lines are read.
fn begins_a_label(bare: &str) -> bool {
    let Some(label) = bare.strip_prefix('[') else {
        return false;
    };
    let mut rest = label.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            ']' => return rest.as_str().starts_with(':'),
            _ => {}
        }
    }
    true
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
    line.len() - bare.len() <= 3 && bare.len() - rest.len() >= open.len && is_blank(rest)
}

/// Whether code may begin behind the marks of a list or a quote, or behind spaces.
fn hides_a_fence(line: &str) -> bool {
    let marks = |c: char| c.is_ascii_digit() || " \t>-+*.)".contains(c);
    let bare = line.trim_start_matches(marks);
    bare.len() < line.len() && (bare.starts_with("```") || bare.starts_with("~~~"))
}

/// Whether a line makes a heading of the line before it.
fn underlines(bare: &str) -> bool {
    let bare = bare.trim_end_matches(BLANKS);
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
