//! Sub-agents that are sessions' files themselves, as Droid writes them: the first line of each says which call started it, so
//! that a folder of them is put together by what its files begin with.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;

use chat_normalize::{Caller, SessionFolder};

use crate::platform::frame::Slice;
use crate::platform::stream::{self, Blob};

/// Most first lines are shorter; where one is not, as much is read as holds any that names a caller.
const MOST_LINES: u64 = 4 * 1024;
/// So many are read at once: nothing of a folder is listed before.
const AT_ONCE: usize = 32;
/// So many files are asked whether those beside them name callers: one may be empty yet, or damaged.
const ASKED: usize = 4;

/// The sessions of a folder, once their files were looked into.
pub(crate) type Joined = Pin<Box<dyn Future<Output = SessionFolder>>>;

/// Puts the sessions that others' calls started under those. Of each folder one file is looked into, and the others where it
/// is one of those that say it; what is packed is not.
pub(super) fn join(mut folder: SessionFolder, files: HashMap<String, Blob>) -> Joined {
    Box::pin(async move {
        if folder.sessions.len() > 1 {
            let callers = callers_of(&folder, &files).await;
            folder.join_called(|path| callers.get(path).cloned());
        }
        folder
    })
}

async fn callers_of(
    folder: &SessionFolder,
    files: &HashMap<String, Blob>,
) -> HashMap<String, Caller> {
    let mut folders: BTreeMap<&str, Vec<(&String, &Blob)>> = BTreeMap::new();
    let mains = folder.sessions.iter().filter_map(|it| it.main.as_ref());
    for main in mains.filter(|main| main.ends_with(".jsonl")) {
        let of = main.rfind(['/', '\\']).map_or("", |end| &main[..end]);
        let file = files.get(main).map(|file| (main, file));
        folders.entry(of).or_default().extend(file);
    }
    let mut callers = HashMap::new();
    let mut slice = Slice::begin();
    for files in folders.into_values() {
        if !name_callers(&files).await {
            continue;
        }
        for files in files.chunks(AT_ONCE) {
            let heads = heads_of(files).await;
            for ((path, _), head) in files.iter().zip(&heads) {
                let caller = Caller::of_head(head);
                callers.extend(caller.map(|caller| ((*path).clone(), caller)));
            }
            slice.give_way().await;
        }
    }
    callers
}

/// Whether the files of a folder may name callers, as the first one of them says that says it.
async fn name_callers(files: &[(&String, &Blob)]) -> bool {
    for file in files.iter().take(ASKED) {
        let heads = heads_of(std::slice::from_ref(file)).await;
        if let Some(are_so) = heads.iter().find_map(|head| Caller::may_be_beside(head)) {
            return are_so;
        }
    }
    false
}

/// What files begin with, as far as a first line that names a caller. One that cannot be read is told of by who reads it.
async fn heads_of(files: &[(&String, &Blob)]) -> Vec<Vec<u8>> {
    let blobs = || files.iter().map(|(_, file)| *file);
    let mut heads = stream::heads_of_blobs(blobs(), MOST_LINES).await;
    for (file, head) in blobs().zip(&mut heads) {
        if head.len() as u64 == MOST_LINES && !head.contains(&b'\n') {
            let whole = stream::bytes_of_blob(file, 0, Caller::HEAD_BYTES).await;
            *head = whole.unwrap_or_default();
        }
    }
    heads
}
