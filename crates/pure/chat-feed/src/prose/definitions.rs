//! What names an address for elsewhere in a block (CommonMark 0.31, 4.7) would vanish: it is shown as it was written.

use std::iter;

use pulldown_cmark::{Event, Parser, Tag};

/// One finds the definitions, one shows that none is left, and one is for what only their escaping made one.
pub(super) const MOST_ROUNDS: usize = 3;

/// The source with a backslash before each definition. The parser tells only the first of each name, but all of them are
/// what no node comes from.
pub(super) fn escaped(source: &str, parser: Parser<'_>) -> String {
    let mut escaped = String::with_capacity(source.len() + 64);
    let end = (Event::SoftBreak, source.len()..source.len());
    let mut from = 0;
    for (event, range) in parser.into_offset_iter().chain(iter::once(end)) {
        let is_around = matches!(
            event,
            Event::End(_) | Event::Start(Tag::List(_) | Tag::Item | Tag::BlockQuote(_))
        );
        if is_around || range.end < from {
            continue;
        }
        for line in source[from..range.start.max(from)].split_inclusive('\n') {
            let (before, definition) = line.split_at(line.find('[').unwrap_or(line.len()));
            escaped.push_str(before);
            if !definition.is_empty() {
                escaped.push('\\');
            }
            escaped.push_str(definition);
        }
        escaped.push_str(&source[range.start.max(from)..range.end]);
        from = range.end;
    }
    escaped
}
