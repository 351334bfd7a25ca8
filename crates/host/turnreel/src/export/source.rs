//! A session that can be read again and again, each time the same: what came after the first time is left out.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use chat_event::{BodyRef, ChatEvent, bodies};
use chat_normalize::Dialect;
use chat_store::Blobs;
use tempfile::NamedTempFile;

use super::Stop;
use crate::convert::inputs::{self, Input};
use crate::convert::{Session, open_input, shown};
use crate::data_dir;
use crate::trace::log_of;

/// A longer body stays where it is: its line would be longer than a reader takes.
const BODY_BYTES: u64 = 8 * 1024 * 1024;

/// One session.
pub(super) struct Source {
    input: Input,
    from: Option<Dialect>,
    name: String,
    blobs: Option<Blobs>,
    /// So many events it had when it was read first.
    n_events: Option<u64>,
    faults: Vec<String>,
    /// What standard input gave.
    _spooled: Option<NamedTempFile>,
}

impl Source {
    /// Finds a file, a session of the data folder, or reads all of standard input.
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
        if named.as_os_str() == "-" {
            let spooled =
                spool().map_err(|why| format!("could not read: {why}: standard input"))?;
            let mut source = Source::of_file(spooled.path(), from, "standard input".to_owned())?;
            source._spooled = Some(spooled);
            return Ok(source);
        }
        if named.is_dir() {
            return Err(format!("a folder, where one session is wanted: {name}"));
        }
        if named.exists() {
            return Source::of_file(named, from, name);
        }
        let data = data_dir::resolve(data)?;
        match log_of(&data, &named.to_string_lossy())? {
            Some(path) => Source::of_file(&path, Some(Dialect::ChatEvents), name),
            None => Err(format!(
                "no file, and no session of the data folder: {name}"
            )),
        }
    }

    fn of_file(path: &Path, from: Option<Dialect>, name: String) -> Result<Source, String> {
        let mut refused = Vec::new();
        let inputs = inputs::list(&[path.to_owned()], &mut |why| refused.push(why));
        let input = inputs.into_iter().next();
        let input = input.ok_or_else(|| {
            let first = refused.first().cloned();
            first.unwrap_or_else(|| format!("no session: {name}"))
        })?;
        let folder = path.parent().filter(|folder| folder.join("blobs").is_dir());
        Ok(Source {
            input,
            from,
            name,
            blobs: folder.map(Blobs::beside),
            n_events: None,
            faults: refused,
            _spooled: None,
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
        let most = self.n_events.unwrap_or(u64::MAX);
        let mut n_events = 0;
        let mut events = Vec::new();
        let mut faults = Vec::new();
        loop {
            let more = session
                .read(&mut events)
                .map_err(|why| format!("{why}: {name}"))?;
            for mut event in events.drain(..) {
                if n_events == most {
                    break;
                }
                n_events += 1;
                self.put_back(&mut event, &mut faults);
                show(&event)?;
            }
            if !more || n_events == most {
                break;
            }
        }
        if n_events == 0 {
            return Err(format!("there is nothing in it: {name}").into());
        }
        if self.n_events.is_none() {
            self.n_events = Some(n_events);
            faults.extend(
                session
                    .faults()
                    .into_iter()
                    .map(|fault| format!("{fault}: {name}")),
            );
            self.faults.append(&mut faults);
        }
        Ok(())
    }

    /// What could not be read of it.
    pub(super) fn faults(&self) -> Vec<String> {
        self.faults.clone()
    }

    /// Puts bodies back that lie beside the log.
    fn put_back(&self, event: &mut ChatEvent, faults: &mut Vec<String>) {
        let Some(blobs) = &self.blobs else { return };
        let mut find = |reference: &BodyRef| -> Result<Option<String>, std::convert::Infallible> {
            if reference.bytes > BODY_BYTES {
                return Ok(None);
            }
            match blobs.get(&reference.sha256) {
                Ok(Some(body)) => return Ok(String::from_utf8(body).ok()),
                Ok(None) => faults.push(format!(
                    "a body is not there: {}: {}",
                    chat_feed::projections::trace::clean(&reference.sha256),
                    self.name
                )),
                Err(why) => faults.push(format!("{why}: {}", self.name)),
            }
            Ok(None)
        };
        let Ok(()) = bodies::put_back(event, &mut find);
    }
}

/// All of standard input, in a file that goes with the program.
fn spool() -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new()?;
    io::copy(&mut io::stdin().lock(), &mut file)?;
    file.flush()?;
    Ok(file)
}
