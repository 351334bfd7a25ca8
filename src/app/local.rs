//! Sessions of dropped files and folders: they lie on this machine, and are listed before those of the server.

use std::collections::HashMap;
use std::rc::Rc;

use chat_feed::ChatRenderer;
use chat_feed::sessions::folder_of;
use chat_normalize::SessionParts;
use leptos::prelude::*;

use crate::platform::folder::NamedFile;
use crate::platform::stream::{ByteStream, File};
use crate::transport::Sink;
use crate::transport::readers::Readers;
use crate::transport::unpacked::{Broken, Unpacked, name_unpacked};
use chat_feed::units;

/// Sessions whose beginning is read for a title; a folder may hold thousands.
const MOST_TITLED: usize = 200;
/// How much of a session is read for it.
const HEAD_BYTES: usize = 128 * 1024;
/// Of so many sessions the first that can be read is opened.
const MOST_TRIED: usize = 20;

/// One session of the files.
#[derive(Clone)]
pub(super) struct LocalSession {
    /// Its path without an ending, which no other has.
    pub(super) name: String,
    pub(super) files: Vec<NamedFile>,
    main: Option<File>,
    bytes: f64,
    changed_ms: f64,
    pub(super) head: Head,
    /// It was opened, and is none that can be read.
    pub(super) failed: bool,
}

/// What the beginning of a session says of it.
#[derive(Clone, Default)]
pub(super) struct Head {
    pub(super) title: Option<String>,
    cwd: Option<String>,
}

impl LocalSession {
    /// Whether another one has its name. Only files are called alike by chance: a folder's are told apart by it.
    fn is_other(&self, other: &LocalSession) -> bool {
        let is_same = self.bytes == other.bytes && self.changed_ms == other.changed_ms;
        self.name == other.name && !self.name.contains('/') && !is_same
    }

    /// What a row says: title, folder and size, and when it changed.
    pub(super) fn told(&self) -> (String, String, i64) {
        let short = self.name.rsplit('/').next().unwrap_or(&self.name);
        let Head { title, cwd } = &self.head;
        let title = title.clone().unwrap_or_else(|| short.to_owned());
        // Where a program keeps its sessions says less than where it worked.
        let folder = cwd.as_deref().and_then(folder_of);
        let folder = folder.unwrap_or_else(|| self.name.rsplit('/').nth(1).unwrap_or("file"));
        // A size is far below 2^53, a time too.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let (bytes, changed_ms) = (self.bytes as u64, self.changed_ms as i64);
        (
            title,
            format!("{folder} · {}", units::bytes(bytes)),
            changed_ms,
        )
    }
}

/// The sessions that these files make, the newest first.
pub(super) fn sessions_of(readers: Readers, mut files: Vec<NamedFile>) -> Vec<LocalSession> {
    name_unpacked(files.iter_mut().map(|named| &mut named.path).collect());
    let paths: Vec<&str> = files.iter().map(|named| named.path.as_str()).collect();
    let folder = (readers.group)(&paths);
    let by_path: HashMap<String, NamedFile> = files
        .into_iter()
        .map(|named| (named.path.clone(), named))
        .collect();
    // What was dropped by itself is tried whatever it is called, and refused in words where it is none.
    let named = folder.others.iter().filter(|path| !path.contains('/'));
    let singles: Vec<SessionParts> = named.map(|path| SessionParts::single(path)).collect();
    let mut sessions: Vec<LocalSession> = folder
        .sessions
        .into_iter()
        .chain(singles)
        .map(|parts| session_of(&parts, &by_path))
        .collect();
    sessions.sort_by(|one, other| other.changed_ms.total_cmp(&one.changed_ms));
    sessions
}

fn session_of(parts: &SessionParts, by_path: &HashMap<String, NamedFile>) -> LocalSession {
    let agents = parts.agents.iter();
    let beside = agents.flat_map(|agent| std::iter::once(&agent.path).chain(&agent.meta));
    let paths = parts.main.iter().chain(beside).chain(&parts.results);
    let files: Vec<NamedFile> = paths
        .filter_map(|path| by_path.get(path).cloned())
        .collect();
    let main = parts.main.as_ref().and_then(|path| by_path.get(path));
    LocalSession {
        name: parts.name.clone(),
        main: main.map(|named| named.file.clone()),
        bytes: files.iter().map(|named| named.file.size()).sum(),
        changed_ms: files
            .iter()
            .map(|named| named.file.last_modified())
            .fold(0.0, f64::max),
        files,
        head: Head::default(),
        failed: false,
    }
}

/// Puts sessions before those that are listed. A name stands for one session: one of a folder takes the place of that
/// which lay there before, and of two files of one name each has its own.
pub(super) fn add(listed: &mut Vec<LocalSession>, mut sessions: Vec<LocalSession>) {
    // What could not be read is no way back.
    listed.retain(|listed| !listed.failed);
    for session in &mut sessions {
        let name = session.name.clone();
        let mut nth = 1;
        while listed.iter().any(|other| session.is_other(other)) {
            nth += 1;
            session.name = format!("{name} ({nth})");
        }
    }
    let is_new = |listed: &LocalSession| sessions.iter().any(|new| new.name == listed.name);
    listed.retain(|listed| !is_new(listed));
    listed.splice(0..0, sessions);
}

/// Which of the sessions that were dropped is to be opened: the newest that can be read. An error says why none can.
pub(super) async fn first_of(
    readers: Readers,
    sessions: &mut [LocalSession],
) -> Result<usize, String> {
    let mut refused = None;
    for (nth, session) in sessions.iter_mut().take(MOST_TRIED).enumerate() {
        // Parts without the session they are of are read as they are.
        let Some(file) = session.main.clone() else {
            return Ok(nth);
        };
        match head_of(readers, &file).await {
            Ok(head) => {
                session.head = head;
                return Ok(nth);
            }
            Err(why) => {
                session.failed = true;
                refused.get_or_insert_with(|| format!("“{}” {why}", file.name()));
            }
        }
    }
    Err(refused.unwrap_or_default())
}

/// Reads titles one after the other, and writes them where the list still is the same.
pub(super) async fn read_titles(
    readers: Readers,
    sessions: RwSignal<Vec<LocalSession>, LocalStorage>,
) {
    let wanted: Vec<(String, Option<File>)> = sessions.with_untracked(|sessions| {
        let wanted = sessions.iter().take(MOST_TITLED);
        let wanted = wanted.filter(|session| session.head.title.is_none() && !session.failed);
        wanted
            .map(|session| (session.name.clone(), session.main.clone()))
            .collect()
    });
    for (name, file) in wanted {
        let Some(file) = file else { continue };
        let Ok(head) = head_of(readers, &file).await else {
            continue;
        };
        sessions.update(|sessions| {
            let found = sessions.iter_mut().find(|session| session.name == name);
            if let Some(session) = found {
                session.head = head;
            }
        });
    }
}

/// What the first bytes of a session say of it, up to its title. An error says what is wrong with its file.
async fn head_of(readers: Readers, file: &File) -> Result<Head, String> {
    let broken = |why: &str| format!("cannot be read: {why}");
    // Who cannot be unpacked has no title.
    let nobody: Sink = Rc::new(|_| {});
    let bytes = ByteStream::of_blob(file).map_err(|why| broken(&why))?;
    let mut bytes = Unpacked::new(bytes, &nobody);
    let mut reader = (readers.session)();
    let mut renderer = ChatRenderer::new();
    let mut events = Vec::new();
    let mut n_read = 0;
    loop {
        let piece = match bytes.next().await {
            Ok(piece) => piece,
            // What came before the damage is shown.
            Err(_) if !renderer.feed().is_empty() => return Ok(Head::default()),
            Err(Broken::Source(why) | Broken::Packing(why)) => return Err(broken(&why)),
        };
        let read = match &piece {
            Some(piece) => {
                let piece = &piece[..piece.len().min(HEAD_BYTES - n_read)];
                n_read += piece.len();
                reader.push(piece, 0, &mut events)
            }
            None => reader.finish(0, &mut events),
        };
        read.map_err(|failure| format!("is {}", failure.what))?;
        for event in events.drain(..) {
            renderer.render_event(&event);
        }
        let session = renderer.feed().session();
        if session.title.is_some() || piece.is_none() || n_read >= HEAD_BYTES {
            return Ok(Head {
                title: session.title.clone(),
                cwd: session.cwd.clone(),
            });
        }
    }
}
