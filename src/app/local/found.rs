//! Which sessions files make: by their paths, and of a file that holds several each.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use chat_feed::sessions::Row;
use chat_normalize::{AgentPart, SessionFolder, SessionParts};

use super::LocalSession;
use crate::platform::folder::{Found, NamedFile};
use crate::platform::frame::{self, Slice};
use crate::transport::readers::Readers;
use crate::transport::unpacked::name_unpacked;

/// Files by their paths.
type Named = HashMap<String, NamedFile>;

/// The paths of what may be of a session, and of what was dropped by itself: it is tried whatever it is called, and
/// refused in words where it is none.
pub(in crate::app) async fn wanted(readers: Readers, found: &mut Found) -> HashSet<String> {
    name_apart(found);
    frame::yield_now().await;
    name_unpacked(found.paths().collect());
    frame::yield_now().await;
    let paths: Vec<&str> = found.paths().map(|path| path.as_str()).collect();
    let folder = (readers.group)(&paths);
    let others: HashSet<&str> = folder.others.iter().map(String::as_str).collect();
    let is_wanted = |path: &&str| !path.contains('/') || !others.contains(path);
    let wanted = paths.iter().copied().filter(is_wanted);
    wanted.map(str::to_owned).collect()
}

/// Files that come from several places may be called alike; each is one of its own.
fn name_apart(found: &mut Found) {
    let mut taken = HashSet::new();
    for path in found.paths() {
        if taken.insert(path.clone()) {
            continue;
        }
        let name = path.clone();
        let (stem, ending) = name.split_at(name.rfind('.').unwrap_or(name.len()));
        let mut nth = 1;
        while !taken.insert(path.clone()) {
            nth += 1;
            *path = format!("{stem} ({nth}){ending}");
        }
    }
}

/// The sessions that these files make, the newest first.
pub(in crate::app) async fn sessions_of(
    readers: Readers,
    files: Vec<NamedFile>,
) -> Vec<LocalSession> {
    let paths: Vec<&str> = files.iter().map(|named| named.path.as_str()).collect();
    let folder: SessionFolder = (readers.group)(&paths);
    frame::yield_now().await;
    let blobs = files.iter();
    let blobs = blobs.map(|named| (named.path.clone(), named.file.clone().into()));
    let folder = (readers.join)(folder, blobs.collect()).await;
    let by_path: Named = files
        .into_iter()
        .map(|named| (named.path.clone(), named))
        .collect();
    let beside: HashMap<String, Rc<Vec<NamedFile>>> = folder
        .beside
        .into_iter()
        .map(|(folder, agents)| {
            let paths = agents.iter().flat_map(paths_of_agent);
            (folder, Rc::new(files_at(paths, &by_path)))
        })
        .collect();
    let named = folder.others.iter().filter(|path| !path.contains('/'));
    let singles: Vec<SessionParts> = named.map(|path| SessionParts::single(path)).collect();
    let mut sessions = Vec::with_capacity(folder.sessions.len());
    let mut slice = Slice::begin();
    for parts in folder.sessions.into_iter().chain(singles) {
        let mut session = session_of(&parts, &by_path);
        if session.main.is_some() {
            let folder = parts.name.rsplit_once('/').map_or("", |(folder, _)| folder);
            session.beside = beside.get(folder).cloned();
        }
        // What lies in a folder is kept by a program, in a file of its own.
        match session.name.contains('/') {
            true => sessions.push(session),
            false => sessions.extend(each_of(readers, session).await),
        }
        slice.give_way().await;
    }
    sessions.sort_by(|one, other| other.changed_ms.total_cmp(&one.changed_ms));
    sessions
}

fn paths_of_agent(agent: &AgentPart) -> impl Iterator<Item = &String> {
    // What was written beside it may stand in it.
    let meta = agent.meta.iter().filter(|meta| **meta != agent.path);
    std::iter::once(&agent.path).chain(meta)
}

fn files_at<'p>(paths: impl Iterator<Item = &'p String>, by_path: &Named) -> Vec<NamedFile> {
    paths
        .filter_map(|path| by_path.get(path).cloned())
        .collect()
}

fn session_of(parts: &SessionParts, by_path: &Named) -> LocalSession {
    let agents = parts.agents.iter().flat_map(paths_of_agent);
    let paths = parts.main.iter().chain(agents).chain(&parts.results);
    let main = parts.main.as_ref();
    let events = parts.events.iter().filter(|path| Some(*path) != main);
    let paths = paths.chain(&parts.note).chain(events);
    let files = files_at(paths, by_path);
    let main = main.and_then(|path| by_path.get(path));
    let times = files.iter().map(|named| named.file.last_modified());
    let changed_ms = times.fold(0.0, f64::max);
    let short = parts.name.rsplit('/').next().unwrap_or(&parts.name);
    // A time is far below 2^53.
    #[allow(clippy::cast_possible_truncation)]
    let row = Row {
        id: short.to_owned(),
        last_activity_ms: Some(changed_ms as i64),
        ..Row::default()
    };
    let mut session = LocalSession {
        name: parts.name.clone(),
        main: main.map(|named| named.file.clone()),
        bytes: files.iter().map(|named| named.file.size()).sum(),
        changed_ms,
        files,
        beside: None,
        row,
        is_read: false,
        haystack: String::new(),
        failed: false,
        is_none: false,
    };
    session.write_haystack();
    session
}

/// The sessions of a file, each with its part of it; the file as it is where it holds one.
async fn each_of(readers: Readers, session: LocalSession) -> Vec<LocalSession> {
    let [named] = session.files.as_slice() else {
        return vec![session];
    };
    let found = (readers.several)(named.file.clone().into()).await;
    let parts = found.iter().map(|part| {
        let file = named.part(&part.spans)?;
        // A length is far below 2^53.
        #[allow(clippy::cast_precision_loss)]
        let bytes = part.spans.iter().map(|span| (span.end - span.start) as f64);
        let mut of_part = LocalSession {
            name: format!("{} · {}", session.name, part.session_id),
            main: Some(file.file.clone()),
            bytes: bytes.sum(),
            files: vec![file],
            row: Row {
                id: part.session_id.clone(),
                events: part.n_lines,
                ..session.row.clone()
            },
            ..session.clone()
        };
        of_part.write_haystack();
        Some(of_part)
    });
    let parts: Option<Vec<LocalSession>> = parts.collect();
    parts
        .filter(|parts| !parts.is_empty())
        .unwrap_or_else(|| vec![session])
}
