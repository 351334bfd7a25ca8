//! Files that are dropped or chosen, each with its path; folders are read through.
//!
//! What a drop holds can be asked for only while its event lasts, so it is taken at once and read after that.

use std::collections::HashSet;
use std::ops::Range;

use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use super::dom;
use super::frame::{self, Slice};
use super::stream::File;

/// More files than this are not looked at: a whole disk may have been dropped.
pub(crate) const MOST_FOUND: usize = 100_000;
/// Of those that are wanted no more are taken.
pub(crate) const MOST_FILES: usize = 20_000;
/// Deeper folders are not looked into.
const MOST_DEEP: usize = 16;
/// What programs keep for themselves, thousands of files in each; no agent keeps sessions there.
const PASSED_BY: [&str; 2] = ["node_modules", ".git"];
/// So many questions are asked at once. A browser answers them on the page's own thread, a millisecond for each file: 64
/// at once held the page for 130 ms, and were answered no sooner.
const AT_ONCE: usize = 8;

/// A file and where it lay, below what was dropped.
#[derive(Clone)]
pub(crate) struct NamedFile {
    pub(crate) path: String,
    pub(crate) file: File,
    /// Where it can be asked for again.
    entry: Option<web_sys::FileSystemEntry>,
}

impl NamedFile {
    /// Parts of it as a file, which is as this one was; nothing is copied.
    pub(crate) fn part(&self, spans: &[Range<u64>]) -> Option<NamedFile> {
        let parts = js_sys::Array::new();
        for span in spans {
            // A file is shorter than 2^53 bytes.
            #[allow(clippy::cast_precision_loss)]
            let [from, to] = [span.start, span.end].map(|at| at as f64);
            let part = self.file.slice_with_f64_and_f64(from, to).ok()?;
            parts.push(&part);
        }
        Some(NamedFile {
            path: self.path.clone(),
            file: File::new_with_blob_sequence(&parts, &self.file.name()).ok()?,
            entry: None,
        })
    }
}

/// What was dropped, before it is read through.
pub(crate) struct Dropped {
    entries: Vec<web_sys::FileSystemEntry>,
    files: Option<web_sys::FileList>,
}

/// What lies in what was dropped.
#[derive(Default)]
pub(crate) struct Found {
    files: Vec<(String, Place)>,
    /// There was more than is looked at.
    pub(crate) more: bool,
    /// Folders that could not be read.
    pub(crate) n_unread: usize,
}

/// Where a file is.
enum Place {
    /// It was given.
    Given(File),
    /// It is to be asked for.
    Entry(web_sys::FileSystemEntry),
}

/// Whether what is dragged, or was dropped, is files: texts and links are the browser's.
pub(crate) fn is_in(event: &dom::Event) -> bool {
    let drag = event.dyn_ref::<web_sys::DragEvent>();
    let transfer = drag.and_then(web_sys::DragEvent::data_transfer);
    transfer.is_some_and(|transfer| {
        let types = transfer.types();
        types
            .iter()
            .any(|kind| kind.as_string().as_deref() == Some("Files"))
    })
}

/// Takes what a drop or a file field holds.
pub(crate) fn take(event: &dom::Event) -> Dropped {
    let mut dropped = Dropped {
        entries: Vec::new(),
        files: None,
    };
    let Some(drag) = event.dyn_ref::<web_sys::DragEvent>() else {
        dropped.files = event.target().and_then(|target| {
            let field = target.dyn_into::<web_sys::HtmlInputElement>().ok()?;
            field.files()
        });
        return dropped;
    };
    let Some(transfer) = drag.data_transfer() else {
        return dropped;
    };
    let items = transfer.items();
    for at in 0..items.length() {
        if let Some(item) = items.get(at)
            && let Ok(Some(entry)) = item.webkit_get_as_entry()
        {
            dropped.entries.push(entry);
        }
    }
    if dropped.entries.is_empty() {
        // A drop that a program made holds files without entries.
        dropped.files = transfer.files();
    }
    dropped
}

/// Where a chosen file lies, below the folder that was chosen.
fn path_of(file: &File) -> String {
    let below = js_sys::Reflect::get(file, &"webkitRelativePath".into());
    let below = below.ok().and_then(|path| path.as_string());
    below
        .filter(|path| !path.is_empty())
        .unwrap_or_else(|| file.name())
}

impl Dropped {
    /// Looks through the folders. `told` hears how many files were found so far.
    pub(crate) async fn look(self, told: impl Fn(usize)) -> Found {
        let mut found = Found::default();
        if let Some(files) = &self.files {
            found.add_all(files, &told).await;
        }
        let mut folders = Vec::new();
        for entry in self.entries {
            found.sort(entry, 0, &mut folders);
        }
        while !folders.is_empty() && !found.more {
            let some = folders.split_off(folders.len().saturating_sub(AT_ONCE));
            let mut readers: Vec<_> = some
                .iter()
                .map(|(folder, depth)| (folder.create_reader(), *depth))
                .collect();
            // Entries come in batches; an empty one is the end.
            while !readers.is_empty() {
                let asked: Vec<_> = readers.iter().map(|(reader, _)| batch_of(reader)).collect();
                let mut unended = Vec::new();
                for ((reader, depth), asked) in readers.into_iter().zip(asked) {
                    let Some(batch) = answered::<js_sys::Array>(asked).await else {
                        found.n_unread += 1;
                        continue;
                    };
                    for entry in batch.iter() {
                        found.sort(entry.unchecked_into(), depth + 1, &mut folders);
                    }
                    if batch.length() > 0 {
                        unended.push((reader, depth));
                    }
                }
                readers = unended;
                told(found.files.len());
                frame::yield_now().await;
            }
        }
        found
    }
}

impl Found {
    fn add(&mut self, path: String, place: Place) {
        match self.files.len() < MOST_FOUND {
            true => self.files.push((path, place)),
            false => self.more = true,
        }
    }

    /// Those of a list, which may be of a whole folder.
    async fn add_all(&mut self, files: &web_sys::FileList, told: &impl Fn(usize)) {
        let mut slice = Slice::begin();
        for file in (0..files.length()).filter_map(|at| files.get(at)) {
            let path = path_of(&file);
            // What was chosen by itself is meant.
            let mut below = path.split('/').skip(1);
            if !below.any(|folder| PASSED_BY.contains(&folder)) {
                self.add(path, Place::Given(file));
            }
            if slice.is_over() {
                told(self.files.len());
                slice.give_way().await;
            }
        }
    }

    /// A file is found, and a folder is to be looked into.
    fn sort(
        &mut self,
        entry: web_sys::FileSystemEntry,
        depth: usize,
        folders: &mut Vec<(web_sys::FileSystemDirectoryEntry, usize)>,
    ) {
        if entry.is_file() {
            let path = entry.full_path().trim_start_matches('/').to_owned();
            self.add(path, Place::Entry(entry));
        } else if entry.is_directory() && depth < MOST_DEEP {
            // What was dropped by itself is meant.
            let is_passed_by = depth > 0 && PASSED_BY.contains(&entry.name().as_str());
            if !is_passed_by {
                folders.push((entry.unchecked_into(), depth));
            }
        }
    }

    /// Where the files lie. They can be called otherwise.
    pub(crate) fn paths(&mut self) -> impl Iterator<Item = &mut String> {
        self.files.iter_mut().map(|(path, _)| path)
    }

    /// The files at these paths. `told` hears how many there are so far.
    pub(crate) async fn files(
        mut self,
        wanted: &HashSet<String>,
        told: impl Fn(usize),
    ) -> (Vec<NamedFile>, Found) {
        self.files.retain(|(path, _)| wanted.contains(path));
        self.more |= self.files.len() > MOST_FILES;
        self.files.truncate(MOST_FILES);
        let mut files = Vec::with_capacity(self.files.len());
        let mut places = std::mem::take(&mut self.files).into_iter();
        loop {
            let asked = places.by_ref().take(AT_ONCE).map(|(path, place)| {
                let (asked, entry) = match place {
                    Place::Given(file) => (js_sys::Promise::resolve(&JsValue::from(file)), None),
                    Place::Entry(entry) => (file_of(&entry), Some(entry)),
                };
                (path, asked, entry)
            });
            // All of them are asked for before the first is waited for.
            let asked: Vec<_> = asked.collect();
            if asked.is_empty() {
                return (files, self);
            }
            for (path, asked, entry) in asked {
                match answered::<File>(asked).await {
                    Some(file) => files.push(NamedFile { path, file, entry }),
                    None => self.n_unread += 1,
                }
            }
            told(files.len());
            frame::yield_now().await;
        }
    }
}

/// The files as they are now: one that changed since it was listed cannot be read, for a browser gives what it was. What
/// went stays as it was, and is told where it is read.
pub(crate) async fn as_they_are(files: &mut [NamedFile]) {
    for some in files.chunks_mut(AT_ONCE) {
        let asked = some.iter().map(|named| named.entry.as_ref().map(file_of));
        let asked: Vec<_> = asked.collect();
        for (named, asked) in some.iter_mut().zip(asked) {
            if let Some(asked) = asked
                && let Some(file) = answered::<File>(asked).await
            {
                named.file = file;
            }
        }
    }
}

fn file_of(entry: &web_sys::FileSystemEntry) -> js_sys::Promise {
    let entry: &web_sys::FileSystemFileEntry = entry.unchecked_ref();
    ask(|done| entry.file_with_callback_and_callback(done, done))
}

fn batch_of(reader: &web_sys::FileSystemDirectoryReader) -> js_sys::Promise {
    ask(|done| {
        // One that cannot be asked has nothing.
        let _ = reader.read_entries_with_callback_and_callback(done, done);
    })
}

/// A call that answers through functions, begun: also what failed is an answer, for nobody waits for it yet.
fn ask(call: impl FnOnce(&js_sys::Function)) -> js_sys::Promise {
    let mut call = Some(call);
    js_sys::Promise::new(&mut |done, _| {
        if let Some(call) = call.take() {
            call(&done);
        }
    })
}

/// What came of it, where it is what was asked for.
async fn answered<T: JsCast>(asked: js_sys::Promise) -> Option<T> {
    JsFuture::from(asked).await.ok()?.dyn_into().ok()
}
