//! Which sessions a ChatEvent log holds, and where in it their lines stand: of several, each can be read by itself.
//!
//! Lines are looked at as far as their session is named, and not read. A line that names none is of the session before it.

use std::ops::Range;

/// So much of a line is looked at: what it bears stands behind its session.
const HEAD_BYTES: usize = 4096;
/// Sessions whose lines alternate more often are not told apart.
const MOST_SPANS: usize = 10_000;

/// One session of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogSession {
    /// Its id.
    pub session_id: String,
    /// Its lines, in bytes of the log.
    pub spans: Vec<Range<u64>>,
    /// How many lines it has.
    pub n_lines: u64,
}

/// Finds the sessions of a log.
///
/// ```
/// use chat_normalize::LogSessions;
/// let mut sessions = LogSessions::default();
/// sessions.push(b"{\"id\":\"a\",\"sessionId\":\"one\",\"payload\":{}}\n{\"id\":\"a\",\"sessi");
/// sessions.push(b"onId\":\"other\",\"payload\":{}}\n");
/// let found = sessions.finish();
/// assert_eq!((found[0].session_id.as_str(), &found[0].spans[..]), ("one", &[0..42][..]));
/// assert_eq!((found[1].session_id.as_str(), &found[1].spans[..]), ("other", &[42..86][..]));
/// ```
#[derive(Debug, Default)]
pub struct LogSessions {
    found: Vec<LogSession>,
    /// The one whose line came last.
    newest: usize,
    n_spans: usize,
    /// The beginning of the line that is not whole yet.
    begun: Vec<u8>,
    begun_at: u64,
    at: u64,
}

impl LogSessions {
    /// Takes the next bytes of the log.
    pub fn push(&mut self, bytes: &[u8]) {
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            // Nothing comes of it any more, and to look for one of so many sessions takes long.
            if self.n_spans > MOST_SPANS {
                return;
            }
            let n_room = HEAD_BYTES.saturating_sub(self.begun.len());
            self.begun.extend(line.iter().take(n_room));
            self.at += line.len() as u64;
            if line.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    /// How many sessions there are so far.
    pub fn n_sessions(&self) -> usize {
        self.found.len()
    }

    /// There are no more bytes: the sessions, as they begin; none where they cannot be told apart.
    pub fn finish(mut self) -> Vec<LogSession> {
        if self.at > self.begun_at {
            self.end_line();
        }
        match self.n_spans > MOST_SPANS {
            true => Vec::new(),
            false => self.found,
        }
    }

    fn end_line(&mut self) {
        let begun = std::mem::take(&mut self.begun);
        let named = session_in(&begun);
        self.begun = begun;
        self.begun.clear();
        let nth = match named {
            Some(id) => self.nth(&id),
            None => self.newest,
        };
        // What stands before the first session is of it.
        let Some(session) = self.found.get_mut(nth) else {
            return;
        };
        session.n_lines += 1;
        let line = self.begun_at..self.at;
        self.begun_at = self.at;
        self.newest = nth;
        match session.spans.last_mut() {
            Some(last) if last.end == line.start => last.end = line.end,
            _ if self.n_spans > MOST_SPANS => {}
            _ => {
                self.n_spans += 1;
                session.spans.push(line);
            }
        }
    }

    /// The place of this session, which may be a new one.
    fn nth(&mut self, id: &str) -> usize {
        let is_it = |session: &LogSession| session.session_id == id;
        if self.found.get(self.newest).is_some_and(is_it) {
            return self.newest;
        }
        self.found.iter().position(is_it).unwrap_or_else(|| {
            // More of them than spans are none that can be told apart.
            if self.found.len() > MOST_SPANS {
                return self.newest;
            }
            self.found.push(LogSession {
                session_id: id.to_owned(),
                ..LogSession::default()
            });
            self.found.len() - 1
        })
    }
}

/// The session that a line names before what it bears.
fn session_in(line: &[u8]) -> Option<String> {
    let line = String::from_utf8_lossy(line);
    let head = line.split("\"payload\"").next()?;
    let (_, rest) = head.split_once("\"sessionId\"")?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start();
    let (id, _) = value.strip_prefix('"')?.split_once('"')?;
    (!id.is_empty() && !id.contains('\\')).then(|| id.to_owned())
}
