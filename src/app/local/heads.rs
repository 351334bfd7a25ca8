//! What the beginnings of files say of their sessions, and which of them can be read.

use std::collections::HashMap;
use std::rc::Rc;

use chat_feed::ChatRenderer;
use chat_feed::sessions::Row;
use chat_normalize::AT_REST;
use leptos::prelude::*;

use super::LocalSession;
use crate::platform::frame;
use crate::platform::stream::{ByteStream, File};
use crate::transport::Sink;
use crate::transport::readers::Readers;
use crate::transport::unpacked::{Broken, Unpacked};

/// Sessions whose beginning is read for a title; a folder may hold more.
const MOST_TITLED: usize = 5_000;
/// How much of a session is read for it.
const HEAD_BYTES: usize = 128 * 1024;
/// Of so many sessions the first that can be read is opened.
const MOST_TRIED: usize = 200;
/// So long titles are gathered before the list is written anew.
const GATHER_MS: f64 = 250.0;

/// Why the beginning of a session is not read.
struct Refused {
    /// What is wrong with its file.
    told: String,
    /// Whether it is no session at all, rather than one that is damaged.
    is_none: bool,
}

/// Which of the sessions that were dropped is to be opened: the newest that can be read, as its beginning says; else the
/// newest that may be one. An error says why none can.
pub(in crate::app) async fn first_of(
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
                session.refuse(why.is_none);
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
pub(in crate::app) async fn read_titles(
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
                Err(why) => session.refuse(why.is_none),
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
