//! Where an export goes: standard output, or a file that takes its name when it is whole.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use chat_feed::export::{Form, PAGE_END};
use chat_feed::projections::TextSink;
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::NamedTempFile;

use super::Stop;
use super::pieces::Pieces;
use crate::assets;
use crate::convert::shown;
use crate::draft;

/// A log in a page: packed, and in characters that are no markup.
type Packed = GzEncoder<Pieces<BufWriter<File>>>;

/// What is written.
pub(super) struct Output {
    writer: Writer,
    /// The file that takes its name at the end; `None` for standard output.
    file: Option<(NamedTempFile, PathBuf)>,
    /// Whether a terminal is written to, which would obey what stands in a session.
    cleans: bool,
    failed: Option<io::Error>,
}

enum Writer {
    Plain(BufWriter<File>),
    Packed(Box<Packed>),
}

impl Output {
    /// Begins a file of this name, or standard output.
    ///
    /// # Errors
    ///
    /// Where the place refuses, and where a page is asked for and the program has none.
    pub(super) fn begin(path: Option<&Path>, form: Form) -> Result<Output, Stop> {
        let path = path.filter(|path| path.as_os_str() != "-");
        let page = match form {
            Form::Html if path.is_none() && io::stdout().is_terminal() => {
                let why = "a page is no text for a terminal: name a file with -o";
                return Err(why.to_owned().into());
            }
            Form::Html => Some(assets::player().ok_or_else(|| {
                "the page is not in this program: build both with `cargo xtask start`".to_owned()
            })?),
            Form::Jsonl | Form::Json | Form::Markdown => None,
        };
        let name = path.map_or_else(|| "standard output".to_owned(), shown);
        let told = |why: io::Error| stop(&why, &name);
        let (file, handle) = match path {
            Some(path) => {
                let file = draft::beside(path).map_err(told)?;
                let handle = file.reopen().map_err(told)?;
                (Some((file, path.to_owned())), handle)
            }
            None => (None, stdout().map_err(told)?),
        };
        let mut plain = BufWriter::with_capacity(256 * 1024, handle);
        let writer = match page {
            None => Writer::Plain(plain),
            Some(page) => {
                plain.write_all(&page).map_err(told)?;
                let pieces = Pieces::new(plain);
                Writer::Packed(Box::new(GzEncoder::new(pieces, Compression::default())))
            }
        };
        Ok(Output {
            writer,
            cleans: file.is_none() && io::stdout().is_terminal(),
            file,
            failed: None,
        })
    }

    /// The failure so far.
    ///
    /// # Errors
    ///
    /// Where the place refused.
    pub(super) fn check(&mut self) -> Result<(), Stop> {
        match self.failed.take() {
            Some(why) => Err(stop(&why, &self.name())),
            None => Ok(()),
        }
    }

    /// All is written.
    ///
    /// # Errors
    ///
    /// Where the place refused.
    pub(super) fn end(mut self) -> Result<(), Stop> {
        self.check()?;
        let name = self.name();
        let ended = match self.writer {
            Writer::Plain(mut plain) => plain.flush(),
            Writer::Packed(packed) => {
                packed
                    .finish()
                    .and_then(Pieces::finish)
                    .and_then(|mut plain| {
                        plain.write_all(PAGE_END.as_bytes())?;
                        plain.flush()
                    })
            }
        };
        let ended = ended.and_then(|()| match self.file {
            Some((file, path)) => draft::take_place(file, &path),
            None => Ok(()),
        });
        ended.map_err(|why| stop(&why, &name))
    }

    fn name(&self) -> String {
        let name = self.file.as_ref().map(|(_, path)| shown(path));
        name.unwrap_or_else(|| "standard output".to_owned())
    }
}

impl TextSink for Output {
    fn text(&mut self, text: &str) {
        if self.failed.is_some() {
            return;
        }
        let written = match &mut self.writer {
            Writer::Plain(plain) if self.cleans => {
                text.split_inclusive('\n').try_for_each(|line| {
                    let own = line.trim_end_matches('\n');
                    let own_end = &line[own.len()..];
                    plain.write_all(chat_feed::projections::trace::clean(own).as_bytes())?;
                    plain.write_all(own_end.as_bytes())
                })
            }
            Writer::Plain(plain) => plain.write_all(text.as_bytes()),
            Writer::Packed(packed) => packed.write_all(text.as_bytes()),
        };
        self.failed = written.err();
    }

    fn restart(&mut self) {
        // No form that is exported begins again.
    }
}

fn stop(why: &io::Error, name: &str) -> Stop {
    match why.kind() {
        io::ErrorKind::BrokenPipe => Stop::Quiet,
        _ => Stop::Why(format!("could not write: {why}: {name}")),
    }
}

/// Standard output as a file of its own, so that both are written in one way.
#[cfg(unix)]
fn stdout() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn stdout() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}
