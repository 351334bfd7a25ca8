//! Sessions of dropped files and folders: they lie on this machine, and are listed before those of the server.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use chat_feed::sessions::{Filter, Row, haystack_of};
use chat_feed::{ChatRenderer, units};
use chat_normalize::{AT_REST, AgentPart, SessionFolder, SessionParts};
use leptos::prelude::*;

use crate::platform::clock;
use crate::platform::folder::{Found, NamedFile};
use crate::platform::frame::{self, Slice};
use crate::platform::stream::{ByteStream, File};
use crate::transport::Sink;
use crate::transport::readers::Readers;
use crate::transport::unpacked::{Broken, Unpacked, name_unpacked};

/// Sessions whose beginning is read for a title; a folder may hold more.
const MOST_TITLED: usize = 5_000;
/// How much of a session is read for it.
const HEAD_BYTES: usize = 128 * 1024;
/// Of so many sessions the first that can be read is opened.
const MOST_TRIED: usize = 200;
/// So long titles are gathered before the list is written anew.
const GATHER_MS: f64 = 250.0;

/// One session of the files.
#[derive(Clone)]
pub(super) struct LocalSession {
    /// Its path without an ending, which no other has.
    pub(super) name: String,
    /// Its files, and those beside it that may be of any session there.
    files: Vec<NamedFile>,
    beside: Option<Rc<Vec<NamedFile>>>,
    main: Option<File>,
    bytes: f64,
    changed_ms: f64,
    /// What its beginning says of it, as a row of the list; empty as long as it was not read.
    row: Row,
    /// Its beginning was read.
    is_read: bool,
    /// What words are looked for in.
    haystack: String,
    /// It is none that can be read.
    pub(super) failed: bool,
    /// It is no session at all.
    is_none: bool,
}

/// Why the beginning of a session is not read.
struct Refused {
    /// What is wrong with its file.
    told: String,
    /// Whether it is no session at all, rather than one that is damaged.
    is_none: bool,
}

/// Files by their paths.
type Named = HashMap<String, NamedFile>;

impl LocalSession {
    /// Whether another one has its name. Only files are called alike by chance: a folder's are told apart by it.
    fn is_other(&self, other: &LocalSession) -> bool {
        let is_same = self.bytes == other.bytes && self.changed_ms == other.changed_ms;
        self.name == other.name && !self.name.contains('/') && !is_same
    }

    /// All that is read of it.
    pub(super) fn files(&self) -> Vec<NamedFile> {
        let beside = self.beside.iter().flat_map(|beside| beside.iter());
        self.files.iter().chain(beside).cloned().collect()
    }

    /// What it is called.
    pub(super) fn title(&self) -> String {
        self.row.name(&clock::day_and_time)
    }

    /// What a row says: title, folder and size, and when it changed.
    pub(super) fn told(&self) -> (String, String, i64) {
        // Where a program keeps its sessions says less than where it worked.
        let folder = self.row.project();
        let folder = folder.unwrap_or_else(|| self.name.rsplit('/').nth(1).unwrap_or("file"));
        // A size is far below 2^53.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let size = units::bytes(self.bytes as u64);
        let parts = self.row.agent_name().into_iter().chain([folder, &size]);
        let by = parts.collect::<Vec<_>>().join(" · ");
        (self.title(), by, self.row.at_ms())
    }

    /// Whether a filter shows it.
    pub(super) fn fits(&self, filter: &Filter, now_ms: i64) -> bool {
        filter.shows(&self.row, &self.haystack, now_ms)
    }

    /// It says this of itself.
    fn take_head(&mut self, head: Row) {
        self.row = Row {
            id: std::mem::take(&mut self.row.id),
            last_activity_ms: self.row.last_activity_ms,
            ..head
        };
        self.is_read = true;
        self.write_haystack();
    }

    fn refuse(&mut self, why: &Refused) {
        self.is_none = why.is_none;
        self.fail();
    }

    /// It is none that can be read.
    pub(super) fn fail(&mut self) {
        self.failed = true;
        self.row.outcome = Some("failed".to_owned());
    }

    /// Whether it lies in a folder and is no session: nobody said that it was one.
    fn is_no_news(&self) -> bool {
        self.is_none && self.name.contains('/')
    }

    fn write_haystack(&mut self) {
        self.haystack = haystack_of(&self.row);
        self.haystack.push('\n');
        self.haystack.push_str(&self.name.to_lowercase());
    }
}

/// The paths of what may be of a session, and of what was dropped by itself: it is tried whatever it is called, and
/// refused in words where it is none.
pub(super) async fn wanted(readers: Readers, found: &mut Found) -> HashSet<String> {
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
pub(super) async fn sessions_of(readers: Readers, files: Vec<NamedFile>) -> Vec<LocalSession> {
    let paths: Vec<&str> = files.iter().map(|named| named.path.as_str()).collect();
    let folder: SessionFolder = (readers.group)(&paths);
    frame::yield_now().await;
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
        sessions.push(session);
        slice.give_way().await;
    }
    sessions.sort_by(|one, other| other.changed_ms.total_cmp(&one.changed_ms));
    sessions
}

fn paths_of_agent(agent: &AgentPart) -> impl Iterator<Item = &String> {
    std::iter::once(&agent.path).chain(&agent.meta)
}

fn files_at<'p>(paths: impl Iterator<Item = &'p String>, by_path: &Named) -> Vec<NamedFile> {
    paths
        .filter_map(|path| by_path.get(path).cloned())
        .collect()
}

fn session_of(parts: &SessionParts, by_path: &Named) -> LocalSession {
    let agents = parts.agents.iter().flat_map(paths_of_agent);
    let paths = parts.main.iter().chain(agents).chain(&parts.results);
    let files = files_at(paths, by_path);
    let main = parts.main.as_ref().and_then(|path| by_path.get(path));
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

/// Puts sessions before those that are listed. A name stands for one session: one of a folder takes the place of that
/// which lay there before, and of two files of one name each has its own.
pub(super) fn add(listed: &mut Vec<Rc<LocalSession>>, mut sessions: Vec<LocalSession>) {
    // What could not be read is no way back.
    listed.retain(|listed| !listed.failed);
    let by_name: HashMap<&str, &Rc<LocalSession>> = listed
        .iter()
        .map(|listed| (listed.name.as_str(), listed))
        .collect();
    for session in &mut sessions {
        let name = session.name.clone();
        let mut nth = 1;
        while by_name
            .get(session.name.as_str())
            .is_some_and(|other| session.is_other(other))
        {
            nth += 1;
            session.name = format!("{name} ({nth})");
        }
    }
    let new: HashSet<&str> = sessions
        .iter()
        .map(|session| session.name.as_str())
        .collect();
    listed.retain(|listed| !new.contains(listed.name.as_str()));
    listed.splice(0..0, sessions.into_iter().map(Rc::new));
}

/// Which of the sessions that were dropped is to be opened: the newest that can be read, as its beginning says; else the
/// newest that may be one. An error says why none can.
pub(super) async fn first_of(
    readers: Readers,
    sessions: &mut Vec<LocalSession>,
) -> Result<usize, String> {
    let (mut refused, mut unsure) = (None, None);
    for nth in 0..sessions.len().min(MOST_TRIED) {
        let session = &mut sessions[nth];
        // Parts without the session they are of are read as they are.
        let head = match session.main.clone() {
            Some(file) => head_of(readers, &file).await,
            None => return Ok(without_none(sessions, nth)),
        };
        match head {
            Ok(head) => {
                let is_sure = head != Row::default();
                session.take_head(head);
                if is_sure {
                    return Ok(without_none(sessions, nth));
                }
                // A document that is long says what it is at its end.
                unsure.get_or_insert(nth);
            }
            Err(why) => {
                session.refuse(&why);
                let name = session.main.as_ref().map(File::name).unwrap_or_default();
                refused.get_or_insert_with(|| format!("“{name}” {}", why.told));
            }
        }
    }
    if let Some(nth) = unsure {
        return Ok(without_none(sessions, nth));
    }
    // One of them stands for what is wrong.
    let mut is_first = true;
    sessions.retain(|one| std::mem::take(&mut is_first) || !one.is_no_news());
    Err(refused.unwrap_or_default())
}

/// Leaves out what lies in a folder and is no session; where the one at `nth` is then.
fn without_none(sessions: &mut Vec<LocalSession>, nth: usize) -> usize {
    let before = sessions[..nth].iter();
    let nth = before.filter(|one| !one.is_no_news()).count();
    sessions.retain(|one| !one.is_no_news());
    nth
}

/// Reads titles one after the other, and writes them where the list still is the same. What lies in a folder and is no
/// session goes from the list: nobody said that it was one. It ends where
/// that is wanted no more.
pub(super) async fn read_titles(
    readers: Readers,
    sessions: RwSignal<Vec<Rc<LocalSession>>, LocalStorage>,
    is_wanted: impl Fn() -> bool,
) {
    let wanted: Vec<(String, Option<File>)> = sessions.with_untracked(|sessions| {
        let wanted = sessions.iter().take(MOST_TITLED);
        let wanted = wanted.filter(|session| !session.is_read && !session.failed);
        wanted
            .map(|session| (session.name.clone(), session.main.clone()))
            .collect()
    });
    let mut heads = HashMap::new();
    let mut gathered_ms = frame::now_ms();
    for (name, file) in wanted {
        let Some(file) = file else { continue };
        if !is_wanted() {
            break;
        }
        heads.insert(name, head_of(readers, &file).await);
        if frame::now_ms() - gathered_ms > GATHER_MS {
            write_heads(sessions, &mut heads);
            // Input and frames come first.
            frame::yield_now().await;
            gathered_ms = frame::now_ms();
        }
    }
    write_heads(sessions, &mut heads);
}

fn write_heads(
    sessions: RwSignal<Vec<Rc<LocalSession>>, LocalStorage>,
    heads: &mut HashMap<String, Result<Row, Refused>>,
) {
    sessions.update(|sessions| {
        sessions.retain_mut(|session| {
            let Some(head) = heads.remove(&session.name) else {
                return true;
            };
            let session = Rc::make_mut(session);
            match head {
                Ok(head) => session.take_head(head),
                Err(why) => session.refuse(&why),
            }
            !session.is_no_news()
        });
    });
    heads.clear();
}

/// What the first bytes of a session say of it, up to its title.
async fn head_of(readers: Readers, file: &File) -> Result<Row, Refused> {
    let broken = |why: &str| Refused {
        told: format!("cannot be read: {why}"),
        is_none: false,
    };
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
            Err(_) if !renderer.feed().is_empty() => return Ok(Row::default()),
            Err(Broken::Source(why) | Broken::Packing(why)) => return Err(broken(&why)),
        };
        let read = match &piece {
            Some(piece) => {
                let piece = &piece[..piece.len().min(HEAD_BYTES - n_read)];
                n_read += piece.len();
                reader.push(piece, AT_REST, &mut events)
            }
            None => reader.finish(AT_REST, &mut events),
        };
        read.map_err(|failure| Refused {
            told: format!("is {}", failure.what),
            is_none: failure.no_session,
        })?;
        for event in events.drain(..) {
            renderer.render_event(&event);
        }
        let session = renderer.feed().session();
        if session.title.is_some() || piece.is_none() || n_read >= HEAD_BYTES {
            return Ok(Row {
                title: session.title.clone(),
                agent: session.agent.clone(),
                model: session.model.clone(),
                cwd: session.cwd.clone(),
                git_branch: session.git_branch.clone(),
                started_ms: session.first_ms,
                ..Row::default()
            });
        }
    }
}
