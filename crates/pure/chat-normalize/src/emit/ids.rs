//! Ids of events: of the line they are of, in the characters an id may have, and each once in a session.

use super::{Emitter, hash};

/// How many bytes an event id has at most, after `design/protocol.md` 5.1.
const MAX_ID_BYTES: usize = 128;

/// A line that events are of: where it stands, what it is called, when it was.
#[derive(Debug)]
pub(crate) struct Line {
    no: u64,
    pub(super) id: String,
    pub(super) n_of_line: u32,
    pub(super) time_ms: i64,
}

impl Emitter {
    /// Begins a line; `native_id` is the id its source gave it.
    pub(crate) fn begin_line(&mut self, native_id: Option<&str>) {
        self.line_id = match native_id {
            Some(id) if !id.is_empty() => clean_id(id),
            _ => match &self.run {
                Some(run) => format!("l{}.{run}", self.line_no),
                None => format!("l{}", self.line_no),
            },
        };
        self.n_of_line = 0;
    }

    /// The id of the line that is read now.
    pub(crate) fn line_id(&self) -> &str {
        &self.line_id
    }

    /// The line that is read now, for what is said of it later.
    pub(crate) fn this_line(&self) -> Line {
        Line {
            no: self.line_no,
            id: self.line_id.clone(),
            n_of_line: self.n_of_line,
            time_ms: self.time_ms,
        }
    }

    /// What is added now is of `line`; gives the line that was read.
    pub(crate) fn go_to(&mut self, line: Line) -> Line {
        let current = self.this_line();
        self.line_no = line.no;
        self.line_id = line.id;
        self.n_of_line = line.n_of_line;
        self.time_ms = line.time_ms;
        current
    }

    /// Whether the ids of what is added are kept by the line that is read now.
    pub(crate) fn keep_ids(&mut self, keep: bool) {
        self.keeps_ids = keep;
    }

    /// The ids kept by the line `uuid`.
    pub(crate) fn ids_of(&self, uuid: &str) -> Vec<String> {
        self.kept_ids
            .get(&clean_id(uuid))
            .cloned()
            .unwrap_or_default()
    }

    /// `id`, or where it was used before, `id` with a number behind it.
    pub(super) fn unused(&mut self, id: &str) -> String {
        let mut id = clean_id(id);
        if !self.used_ids.insert(hash(id.as_bytes())) {
            // The number is kept: a source that says one id all the time must not be counted through each time.
            let n = self.repeats.entry(&id);
            *n = (*n).max(1);
            let stem = id;
            loop {
                *n += 1;
                id = clean_id(&format!("{stem}:n{n}"));
                if self.used_ids.insert(hash(id.as_bytes())) {
                    break;
                }
            }
        }
        if self.keeps_ids {
            self.kept_ids.entry(&self.line_id).push(id.clone());
        }
        id
    }

    pub(super) fn next_tag(&mut self, stem: &str) -> String {
        self.n_of_line += 1;
        numbered(stem, self.n_of_line)
    }
}

/// What tells the events of a line apart that are called alike: from the second on, its number.
pub(crate) fn numbered(stem: &str, nth: u32) -> String {
    match nth {
        1 => stem.to_owned(),
        nth => format!("{stem}{nth}"),
    }
}

/// `id` in the characters and length an event id may have; an id that must be changed gets a hash of the old one.
pub(crate) fn clean_id(id: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-');
    if !id.is_empty() && id.len() <= MAX_ID_BYTES && id.chars().all(fits) {
        return id.to_owned();
    }
    let clean: String = id
        .chars()
        .map(|c| if fits(c) { c } else { '-' })
        .take(MAX_ID_BYTES - 20)
        .collect();
    format!("{clean}-{:016x}", hash(id.as_bytes()))
}

/// Whether an event's id names a line by its number, which says nothing outside its source.
pub(crate) fn is_line_number(id: &str) -> bool {
    let head = id.split(':').next().unwrap_or_default();
    let head = head.strip_prefix("end.").unwrap_or(head);
    head.strip_prefix('l')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// What tells one text from others: short, for it stands in many ids.
pub(crate) fn short_hash(text: &str) -> String {
    format!("{:08x}", hash(text.as_bytes()) >> 32)
}
