//! A session that can be read again and again, each time the same: what came after the first time is left out.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use chat_event::ChatEvent;
use chat_normalize::Dialect;
use tempfile::NamedTempFile;

use super::Stop;
use crate::convert::inputs::{self, Input};
use crate::convert::{Bodies, Session, open_input, shown};
use crate::draft::{self, FileId};
use crate::trace::{Named, find, gives_once};

/// One session.
pub(super) struct Source {
    input: Input,
    from: Option<Dialect>,
    name: String,
    /// What it had when it was read first.
    had: Option<Had>,
    /// Whether it is told to who reads it: the time of its file is none of the session's.
    pub(super) is_transcript: bool,
    faults: Vec<String>,
    /// What standard input gave, or a pipe.
    spooled: Option<NamedTempFile>,
    /// The file that standard input is, where it is read from that.
    stdin: Option<FileId>,
}

/// How many events a session had.
#[derive(Clone, Copy)]
struct Had {
    /// Before its end.
    n_told: u64,
    /// With those that only its end makes. In the place of these, one that grew meanwhile has others.
    n_all: u64,
}

impl Source {
    /// Finds a file, a session of the data folder, or reads all of standard input, or of a pipe.
    ///
    /// # Errors
    ///
    /// Where there is no such session.
    pub(super) fn open(
        named: &Path,
        data: Option<PathBuf>,
        from: Option<Dialect>,
    ) -> Result<Source, String> {
        let name = shown(named);
        match find(named, data)? {
            Named::Stdin => {
                let name = "standard input".to_owned();
                let mut source = Source::of_stream(&mut io::stdin().lock(), from, name)?;
                source.stdin = FileId::of(None);
                Ok(source)
            }
            Named::File(path) if gives_once(&path) => {
                let opened = File::open(&path);
                let mut pipe = opened.map_err(|why| format!("could not open: {why}: {name}"))?;
                Source::of_stream(&mut pipe, from, name)
            }
            Named::File(path) => Source::of_file(&path, from, name),
            Named::Log(path) => Source::of_file(&path, Some(Dialect::ChatEvents), name),
        }
    }

    /// What gives all it has once is put into a file.
    fn of_stream(
        stream: &mut dyn Read,
        from: Option<Dialect>,
        name: String,
    ) -> Result<Source, String> {
        let spooled = spool(stream).map_err(|why| format!("could not read: {why}: {name}"))?;
        let mut source = Source::of_file(spooled.path(), from, name)?;
        source.spooled = Some(spooled);
        Ok(source)
    }

    fn of_file(path: &Path, from: Option<Dialect>, name: String) -> Result<Source, String> {
        let mut refused = Vec::new();
        let inputs = inputs::list(&[path.to_owned()], &mut |why| refused.push(why));
        let input = inputs.into_iter().next();
        let input = input.ok_or_else(|| {
            let first = refused.first().cloned();
            first.unwrap_or_else(|| format!("no session: {name}"))
        })?;
        Ok(Source {
            input,
            from,
            name,
            had: None,
            is_transcript: false,
            faults: refused,
            spooled: None,
            stdin: None,
        })
    }

    /// Shows each event, with its bodies where they were.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, is no session, or what `show` refuses.
    pub(super) fn read(
        &mut self,
        show: &mut dyn FnMut(&ChatEvent) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let name = &self.name;
        let mut session = open_input(&self.input, self.from)
            .map_err(|why| format!("could not open: {why}: {name}"))?;
        let had = self.had.unwrap_or(Had {
            n_told: u64::MAX,
            n_all: u64::MAX,
        });
        let (mut n_told, mut n_events) = (0, 0);
        let mut events = Vec::new();
        let mut bodies = Bodies::beside([&self.input]);
        loop {
            let more = session
                .read(&mut events)
                .map_err(|why| format!("{why}: {name}"))?;
            let most = if more { had.n_told } else { had.n_all };
            let has_grown = events.len() as u64 > most.saturating_sub(n_events);
            for mut event in events.drain(..) {
                if n_events >= most {
                    break;
                }
                n_events += 1;
                if self.is_transcript && session.is_untimed() {
                    event.timestamp = None;
                }
                bodies.put_back(&mut event);
                show(&event)?;
            }
            if !more || has_grown {
                break;
            }
            n_told = n_events;
        }
        if n_events == 0 {
            return Err(format!("there is nothing in it: {name}").into());
        }
        if self.had.is_none() {
            self.had = Some(Had {
                n_told,
                n_all: n_events,
            });
            let faults = bodies.faults().into_iter().chain(session.faults());
            let named = faults.map(|fault| format!("{fault}: {name}"));
            self.faults.extend(named);
        }
        Ok(())
    }

    /// Whether that is a file that it is read from.
    pub(super) fn is_read_from(&self, path: &Path) -> bool {
        let Some(place) = FileId::of(Some(path)) else {
            return false;
        };
        let stdin = self.stdin.clone();
        self.input.files().chain(stdin).any(|file| file == place)
    }

    /// What could not be read of it.
    pub(super) fn faults(&self) -> Vec<String> {
        self.faults.clone()
    }
}

/// All of a stream, in a file that goes with the program.
fn spool(stream: &mut dyn Read) -> io::Result<NamedTempFile> {
    let mut file = draft::going_with_us(NamedTempFile::new)?;
    io::copy(stream, &mut file)?;
    file.flush()?;
    Ok(file)
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]
mod tests {
    use super::*;

    fn ids(source: &mut Source) -> Vec<String> {
        let mut ids = Vec::new();
        let read = source.read(&mut |event| {
            ids.push(event.id.clone());
            Ok(())
        });
        assert!(read.is_ok(), "{read:?}");
        ids
    }

    #[test]
    fn what_comes_while_a_session_is_exported_takes_the_place_of_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let line = |id: &str| {
            format!(
                r#"{{"type":"user","uuid":"{id}","sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":"Hello"}}}}"#
            ) + "\n"
        };
        std::fs::write(&path, line("u1")).unwrap();
        let mut source = Source::open(&path, None, None).unwrap();
        let first = ids(&mut source);
        assert_eq!(ids(&mut source), first, "with what its end makes");
        std::fs::write(&path, line("u1") + &line("u2")).unwrap();
        let second = ids(&mut source);
        assert!(second.iter().any(|id| id.starts_with("u1")), "{second:?}");
        assert!(second.len() < first.len() && first.starts_with(&second));
    }
}
