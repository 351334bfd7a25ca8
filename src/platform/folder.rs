//! Files that are dropped or chosen, each with its path; folders are read through.
//!
//! What a drop holds can be asked for only while its event lasts, so it is taken at once and read after that.

use std::cell::RefCell;
use std::rc::Rc;

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::dom;
use super::stream::File;

/// More files than this are not listed: a whole disk may have been dropped.
pub(crate) const MOST_FILES: usize = 20_000;
/// Deeper folders are not looked into.
const MOST_DEEP: usize = 16;

/// A file and where it lay, below what was dropped.
#[derive(Clone)]
pub(crate) struct NamedFile {
    pub(crate) path: String,
    pub(crate) file: File,
}

/// What was dropped, before it is read through.
pub(crate) struct Dropped {
    entries: Vec<web_sys::FileSystemEntry>,
    files: Vec<NamedFile>,
}

/// Takes what a drop or a file field holds.
pub(crate) fn take(event: &dom::Event) -> Dropped {
    let mut dropped = Dropped {
        entries: Vec::new(),
        files: Vec::new(),
    };
    let Some(drag) = event.dyn_ref::<web_sys::DragEvent>() else {
        let field = event.target().and_then(|target| {
            let field = target.dyn_into::<web_sys::HtmlInputElement>().ok()?;
            field.files()
        });
        dropped.files.extend(field.iter().flat_map(listed));
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
        dropped
            .files
            .extend(transfer.files().iter().flat_map(listed));
    }
    dropped
}

fn listed(files: &web_sys::FileList) -> Vec<NamedFile> {
    let files = (0..files.length()).filter_map(|at| files.get(at));
    files
        .map(|file| {
            let below = js_sys::Reflect::get(&file, &"webkitRelativePath".into());
            let below = below.ok().and_then(|path| path.as_string());
            NamedFile {
                path: below
                    .filter(|path| !path.is_empty())
                    .unwrap_or_else(|| file.name()),
                file,
            }
        })
        .collect()
}

impl Dropped {
    /// Reads through the folders. `true` with it where there were more files than are listed.
    pub(crate) async fn files(self) -> (Vec<NamedFile>, bool) {
        let mut files = self.files;
        let too_many = files.len() > MOST_FILES;
        files.truncate(MOST_FILES);
        let mut waiting: Vec<(web_sys::FileSystemEntry, usize)> =
            self.entries.into_iter().map(|entry| (entry, 0)).collect();
        while let Some((entry, depth)) = waiting.pop() {
            if files.len() >= MOST_FILES {
                return (files, true);
            }
            if entry.is_file() {
                if let Some(file) = file_of(entry.unchecked_ref()).await {
                    let path = entry.full_path().trim_start_matches('/').to_owned();
                    files.push(NamedFile { path, file });
                }
            } else if entry.is_directory() && depth < MOST_DEEP {
                let reader = entry
                    .unchecked_ref::<web_sys::FileSystemDirectoryEntry>()
                    .create_reader();
                // Entries come in batches; an empty one is the end.
                while let Some(batch) = batch_of(&reader).await.filter(|batch| batch.length() > 0) {
                    for entry in batch.iter() {
                        waiting.push((entry.unchecked_into(), depth + 1));
                    }
                }
            }
        }
        (files, too_many)
    }
}

async fn file_of(entry: &web_sys::FileSystemFileEntry) -> Option<File> {
    let file = answer(|done, failed| entry.file_with_callback_and_callback(done, failed)).await;
    file?.dyn_into().ok()
}

async fn batch_of(reader: &web_sys::FileSystemDirectoryReader) -> Option<js_sys::Array> {
    let batch = answer(|done, failed| {
        reader
            .read_entries_with_callback_and_callback(done, failed)
            .is_ok()
    });
    batch.await?.dyn_into().ok()
}

/// What comes of a call that answers through functions.
async fn answer<R>(
    call: impl FnOnce(&js_sys::Function, &js_sys::Function) -> R,
) -> Option<JsValue> {
    let call = Rc::new(RefCell::new(Some(call)));
    let promise = js_sys::Promise::new(&mut |done, failed| {
        if let Some(call) = call.borrow_mut().take() {
            call(&done, &failed);
        }
    });
    JsFuture::from(promise).await.ok()
}
