//! Where a form goes: standard output, a file, or files in a folder.
//!
//! A file is written beside its name and takes it when it is whole. A form that may begin again (a conversation that was
//! compacted) is kept in a temporary file before it goes to standard output.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::forms::Form;
use super::inputs::Input;
use crate::draft::{self, FileId};

/// Where all outputs go.
#[derive(Debug)]
pub(super) struct Outputs {
    place: Place,
    form: Form,
    several: bool,
    n_begun: usize,
    taken: BTreeSet<PathBuf>,
    /// The newest of them, and the files that the others are.
    newest: Option<PathBuf>,
    written: BTreeSet<FileId>,
    /// The files that are read.
    inputs: BTreeSet<FileId>,
}

#[derive(Debug)]
enum Place {
    Stdout,
    File(PathBuf),
    Folder(PathBuf),
}

impl Outputs {
    /// The place that `-o` names; a folder where there are several inputs, or where it is one.
    pub(super) fn new(
        output: Option<PathBuf>,
        form: Form,
        several: bool,
        inputs: &[Input],
    ) -> Result<Self, String> {
        let place = match output {
            None => Place::Stdout,
            Some(path) if path.as_os_str() == "-" => Place::Stdout,
            Some(path) => {
                let names_folder = path.to_string_lossy().ends_with(std::path::is_separator);
                match several || names_folder || path.is_dir() {
                    true if path.is_file() => {
                        let path = super::shown(&path);
                        return Err(format!(
                            "several sessions need a folder, this is a file: {path}"
                        ));
                    }
                    true => Place::Folder(path),
                    false => Place::File(path),
                }
            }
        };
        let inputs = match place {
            Place::Stdout => BTreeSet::new(),
            Place::File(_) | Place::Folder(_) => inputs.iter().flat_map(Input::files).collect(),
        };
        Ok(Outputs {
            place,
            form,
            several,
            n_begun: 0,
            taken: BTreeSet::new(),
            newest: None,
            written: BTreeSet::new(),
            inputs,
        })
    }

    /// Whether nothing of it is written where a person looks on.
    pub(super) fn leaves_the_terminal(&self) -> bool {
        !matches!(self.place, Place::Stdout) || !io::stdout().is_terminal()
    }

    /// What it is called in messages.
    pub(super) fn name(&self) -> String {
        match &self.place {
            Place::Stdout => "standard output".to_owned(),
            Place::File(path) | Place::Folder(path) => super::shown(path),
        }
    }

    /// The sheet of the next session.
    ///
    /// # Errors
    ///
    /// Where the place refuses.
    pub(super) fn begin(&mut self, input: &Input) -> Result<Sheet, String> {
        let first = self.n_begun == 0;
        self.n_begun += 1;
        let path = match &self.place {
            Place::Stdout => return self.begin_stdout(input, first),
            Place::File(path) => path.clone(),
            Place::Folder(folder) => {
                // It has its name by now, where it was read to its end.
                let newest = self.newest.take();
                let written = newest.and_then(|newest| FileId::of(Some(&newest)));
                self.written.extend(written);
                let path = self.free_name(folder, &input.relative);
                self.taken.insert(path.clone());
                self.newest = Some(path.clone());
                path
            }
        };
        if FileId::of(Some(&path)).is_some_and(|place| self.inputs.contains(&place)) {
            let path = super::shown(&path);
            return Err(format!("the input and the output are one file: {path}"));
        }
        let told = |why: io::Error| format!("could not write: {why}: {}", super::shown(&path));
        std::fs::create_dir_all(draft::folder_of(&path)).map_err(told)?;
        let file = draft::beside(&path).map_err(told)?;
        Ok(Sheet {
            writer: Writer::File(BufWriter::new(file), path),
            failed: None,
        })
    }

    fn begin_stdout(&self, input: &Input, first: bool) -> Result<Sheet, String> {
        let told = |why: io::Error| format!("could not write: {why}: a temporary file");
        let writer = match self.form.begins_again() {
            true => Writer::Draft(BufWriter::new(tempfile::tempfile().map_err(told)?)),
            false => Writer::Stdout(stdout()),
        };
        let mut sheet = Sheet {
            writer,
            failed: None,
        };
        if self.several && !self.form.is_json() {
            let gap = if first { "" } else { "\n" };
            // The separator of `head` and `tail`.
            sheet.heading(&format!("{gap}==> {} <==\n", input.name()));
        }
        Ok(sheet)
    }

    /// The input's name with the form's ending; two inputs never share one, nor a file. That two names are one file is the
    /// folder's to say: upper and lower case may count there or not, and so may how a letter is composed.
    fn free_name(&self, folder: &Path, relative: &Path) -> PathBuf {
        let ending = self.form.ending();
        let whole = relative.to_string_lossy().into_owned();
        let stem = relative.with_extension("").to_string_lossy().into_owned();
        let names = [format!("{stem}.{ending}"), format!("{whole}.{ending}")];
        let numbered = (2u32..).map(|n| format!("{whole}.{n}.{ending}"));
        let mut paths = names
            .into_iter()
            .chain(numbered)
            .map(|name| folder.join(name));
        paths
            .find(|path| !self.taken.contains(path) && !self.is_written(path))
            .unwrap_or_else(|| folder.join(whole))
    }

    /// Whether the file of that name is one that was written.
    fn is_written(&self, path: &Path) -> bool {
        FileId::of(Some(path)).is_some_and(|file| self.written.contains(&file))
    }
}

/// What one session is written on. A failure is kept until [`Sheet::check`] asks.
#[derive(Debug)]
pub(super) struct Sheet {
    writer: Writer,
    failed: Option<io::Error>,
}

#[derive(Debug)]
enum Writer {
    Stdout(Stdout),
    /// Goes to standard output at its end.
    Draft(BufWriter<File>),
    /// Takes its name at its end.
    File(BufWriter<NamedTempFile>, PathBuf),
}

impl Sheet {
    /// Writes on.
    pub(super) fn write(&mut self, text: &str) {
        if self.failed.is_some() {
            return;
        }
        let written = match &mut self.writer {
            Writer::Stdout(stdout) => stdout.write(text),
            Writer::Draft(file) => file.write_all(text.as_bytes()),
            Writer::File(file, _) => file.write_all(text.as_bytes()),
        };
        self.failed = written.err();
    }

    /// Takes back all that was written.
    pub(super) fn restart(&mut self) {
        if self.failed.is_some() {
            return;
        }
        let emptied = match &mut self.writer {
            // Forms that begin again are never written there.
            Writer::Stdout(_) => Ok(()),
            Writer::Draft(file) => empty(file, |file| file.set_len(0)),
            Writer::File(file, _) => empty(file, |file| file.as_file().set_len(0)),
        };
        self.failed = emptied.err();
    }

    fn heading(&mut self, text: &str) {
        let written = stdout().write(text);
        self.failed = written.err();
    }

    /// The failure so far.
    pub(super) fn check(&mut self) -> io::Result<()> {
        if let Writer::Stdout(stdout) = &mut self.writer
            && self.failed.is_none()
        {
            self.failed = stdout.flush().err();
        }
        match self.failed.take() {
            Some(why) => Err(draft::without_path(why)),
            None => Ok(()),
        }
    }

    /// All is written: it goes where it belongs.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.check()?;
        match self.writer {
            Writer::Stdout(_) => Ok(()),
            Writer::Draft(file) => {
                let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.rewind()?;
                let mut stdout = stdout();
                let mut text = Vec::new();
                let mut piece = file.take(u64::MAX);
                // Whole characters only: a terminal's text is cleaned piece by piece.
                while piece.by_ref().take(64 * 1024).read_to_end(&mut text)? > 0 {
                    let n_whole = match std::str::from_utf8(&text) {
                        Ok(whole) => whole.len(),
                        Err(cut) => cut.valid_up_to(),
                    };
                    let rest = text.split_off(n_whole);
                    stdout.write(&String::from_utf8_lossy(&text))?;
                    text = rest;
                }
                stdout.flush()
            }
            Writer::File(file, path) => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error);
                draft::take_place(file.map_err(draft::without_path)?, &path)
            }
        }
    }
}

fn empty<W: Write + Seek>(
    file: &mut BufWriter<W>,
    set_empty: impl FnOnce(&W) -> io::Result<()>,
) -> io::Result<()> {
    file.rewind()?;
    set_empty(file.get_ref())
}

/// Standard output; on a terminal, nothing in a session's text is obeyed.
#[derive(Debug)]
struct Stdout {
    buffered: BufWriter<io::Stdout>,
    cleans: bool,
}

fn stdout() -> Stdout {
    Stdout {
        buffered: BufWriter::with_capacity(64 * 1024, io::stdout()),
        cleans: io::stdout().is_terminal(),
    }
}

impl Stdout {
    fn write(&mut self, text: &str) -> io::Result<()> {
        if !self.cleans {
            return self.buffered.write_all(text.as_bytes());
        }
        for (nth, line) in text.split('\n').enumerate() {
            if nth > 0 {
                self.buffered.write_all(b"\n")?;
            }
            let line = chat_feed::projections::trace::clean(line);
            self.buffered.write_all(line.as_bytes())?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.buffered.flush()
    }
}
