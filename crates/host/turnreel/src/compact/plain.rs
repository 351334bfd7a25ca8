//! Compacting a file of ChatEvents, or standard input, into another place. The input is only read.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::Path;

use chat_event::compaction::Folded;
use chat_event::{ChatEvent, Payload};
use chat_store::{Folding, LogBytes, fold, has_checksum};

use super::{report, shown, view_of};
use crate::draft::{self, FileId};
use crate::trace::gives_once;
use crate::unpack::unpacked;

/// Compacts `what` into `output`, or to standard output; nothing is to be said where who reads that has seen enough.
pub(super) fn compact(what: &Path, output: Option<&Path>) -> Result<Option<String>, String> {
    let is_stdin = what.as_os_str() == "-";
    // Asked before it is read: a pipe may be gone with who wrote to it.
    let is_once = is_stdin || gives_once(what);
    let name = match is_stdin {
        true => "standard input".to_owned(),
        false => shown(what),
    };
    let could_not_compact = |why: io::Error| format!("could not compact: {why}: {name}");
    let could_not_read = |why: io::Error| format!("could not read: {why}: {name}");
    let open = || -> io::Result<Box<dyn Read>> {
        let bytes: Box<dyn Read> = match is_stdin {
            true => Box::new(io::stdin()),
            false => Box::new(LogBytes::open(what)?),
        };
        Ok(unpacked(bytes)?.0)
    };
    let Some(output) = output.filter(|path| path.as_os_str() != "-") else {
        if io::stdout().is_terminal() {
            return Err("the shorter log needs a place: -o".to_owned());
        }
        let mut to = Place::new(BufWriter::new(io::stdout().lock()));
        let mut said = Said::default();
        let folding = said.fold(open().map_err(could_not_read)?, &mut to);
        let folding = folding.and_then(|folding| to.flush().map(|()| folding));
        let folding = match (folding, to.refused) {
            (_, Some(why)) if why.kind() == io::ErrorKind::BrokenPipe => return Ok(None),
            (_, Some(why)) => return Err(format!("could not write: {why}: standard output")),
            (folding, None) => folding.map_err(could_not_compact)?,
        };
        said.check(&name)?;
        return Ok(Some(report(&name, folding)));
    };
    let could_not_write = |why: io::Error| format!("could not write: {why}: {}", shown(output));
    let input = FileId::of((!is_stdin).then_some(what));
    if input.is_some() && input == FileId::of(Some(output)) {
        return Err(format!("the input and the output are one file: {name}"));
    }
    let named = draft::beside(output).map_err(could_not_write)?;
    let mut said = Said::default();
    let folding = {
        let mut to = Place::new(BufWriter::new(named.as_file()));
        let folding = said.fold(open().map_err(could_not_read)?, &mut to);
        let folding = folding.and_then(|folding| to.flush().map(|()| folding));
        match to.refused {
            Some(why) => return Err(could_not_write(why)),
            None => folding.map_err(could_not_compact)?,
        }
    };
    said.check(&name)?;
    named.as_file().sync_all().map_err(could_not_write)?;
    // Read back: the same events, and nothing left to fold.
    let mut again = Said::default();
    let written = || File::open(named.path());
    let folded_again = again
        .fold(written().map_err(could_not_write)?, &mut io::sink())
        .map_err(could_not_write)?;
    let is_same = again.digest.finish() == said.digest.finish() && !folded_again.is_shorter();
    // What gives what it has once cannot be looked at again.
    let looks_same = is_once || {
        let of = |bytes| view_of(bytes).map_err(could_not_read);
        let new = written().map_err(could_not_write)?;
        of(open().map_err(could_not_read)?)? == of(Box::new(new))?
    };
    if !(is_same && looks_same) {
        return Err(format!(
            "read back it is not the same, and is left out: {name}"
        ));
    }
    draft::take_place(named, output).map_err(could_not_write)?;
    Ok(Some(report(&name, folding)))
}

/// Where the shorter log goes. It keeps why it refused: a failure of folding may be that of what is read.
struct Place<W> {
    to: W,
    refused: Option<io::Error>,
}

impl<W: Write> Place<W> {
    fn new(to: W) -> Self {
        Place { to, refused: None }
    }

    fn note<T>(&mut self, written: io::Result<T>) -> io::Result<T> {
        written.map_err(|why| {
            let kind = why.kind();
            if kind != io::ErrorKind::Interrupted {
                self.refused = Some(why);
            }
            io::Error::from(kind)
        })
    }
}

impl<W: Write> Write for Place<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes);
        self.note(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.to.flush();
        self.note(flushed)
    }
}

/// What a log says, as a number that does not depend on what was folded.
#[derive(Default)]
struct Said {
    digest: DefaultHasher,
    n_known: u64,
    n_other: u64,
}

impl Said {
    fn fold(&mut self, from: impl Read, to: &mut dyn Write) -> io::Result<Folding> {
        fold(from, to, &mut |line| self.take(line))
    }

    fn take(&mut self, line: &[u8]) -> Option<ChatEvent> {
        let read = || ChatEvent::from_json(std::str::from_utf8(line).ok()?).ok();
        // A checksum that is wrong says that the line is not what was written.
        let event = read().filter(|event| event.extra.get("c").is_none() || has_checksum(line));
        match &event {
            None => {
                line.hash(&mut self.digest);
                self.n_other += u64::from(!line.trim_ascii().is_empty());
            }
            Some(event) => {
                let is_known = !matches!(event.payload, Payload::Unknown { .. });
                self.n_known += u64::from(is_known);
                self.n_other += u64::from(!is_known);
                match Folded::of(event) {
                    Some(folded) => folded.events().for_each(|event| self.note(event)),
                    None => self.note(event.clone()),
                }
            }
        }
        event
    }

    fn note(&mut self, mut event: ChatEvent) {
        event.recv = None;
        event.extra.remove("c");
        event.to_line().hash(&mut self.digest);
    }

    /// Whether it was a log of ChatEvents.
    fn check(&self, name: &str) -> Result<(), String> {
        if self.n_known > 0 && self.n_known >= self.n_other {
            return Ok(());
        }
        Err(format!(
            "no log of ChatEvents, `turnreel convert` makes one of other formats: {name}"
        ))
    }
}
