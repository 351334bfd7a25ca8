//! Tokens of servers that serve the same sessions: what is made at one of them is good at all, and what is taken back at one of
//! them is good at none.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::Refusal;
use super::file::{MAX_TOKENS, Record, change, read};

/// What came of [`merge`].
#[derive(Debug, Default)]
pub(crate) struct Merged {
    /// Whether tokens were made or taken back elsewhere.
    pub(crate) is_changed: bool,
    /// Tokens that were made elsewhere, and for which there is no room.
    pub(crate) left_out: usize,
    /// Those of here that are not known there as they are here: their ids, and their records as JSON.
    pub(crate) unknown_there: Vec<(String, String)>,
    /// Those that are over for so long that nobody needs to know of them any more: their ids.
    pub(crate) forgotten: Vec<String>,
}

/// Takes what other servers know of their tokens, records as JSON by their ids. What one of them took back is taken back.
///
/// # Errors
///
/// Where the file refuses or is damaged.
pub(crate) fn merge(dir: &Path, theirs: &BTreeMap<String, String>) -> Result<Merged, Refusal> {
    let theirs = theirs
        .iter()
        .filter_map(|(id, told)| Some((id.as_str(), serde_json::from_str::<Record>(told).ok()?)))
        .filter(|(id, record)| record.is_sound(id));
    let (forgotten, theirs): (BTreeMap<&str, Record>, BTreeMap<&str, Record>) =
        theirs.partition(|(_, record)| record.is_forgotten());
    let ours = read(dir)?;
    let mut merged = Merged {
        forgotten: forgotten.into_keys().map(str::to_owned).collect(),
        ..Merged::default()
    };
    for record in ours.iter().filter(|record| !record.is_forgotten()) {
        let told = theirs.get(record.id.as_str());
        if told.is_none_or(|told| !told.is_revoked() && record.is_revoked()) {
            let told = serde_json::to_string(record).map_err(|why| Refusal::Io(why.to_string()))?;
            merged.unknown_there.push((record.id.clone(), told));
        }
    }
    let known: HashMap<&str, bool> = ours
        .iter()
        .map(|ours| (ours.id.as_str(), ours.is_revoked()))
        .collect();
    let is_news = |theirs: &Record| match known.get(theirs.id.as_str()) {
        Some(is_revoked) => !is_revoked && theirs.is_revoked(),
        None => true,
    };
    let news = theirs.into_values().filter(|theirs| is_news(theirs));
    let (revoked, made): (Vec<Record>, Vec<Record>) = news.partition(Record::is_revoked);
    // What is taken back makes room, here and elsewhere.
    let n_held = known.values().filter(|is_revoked| !**is_revoked).count();
    let is_held = |theirs: &&Record| known.contains_key(theirs.id.as_str());
    let n_taken = revoked.iter().filter(is_held).count();
    let room = MAX_TOKENS.saturating_sub(n_held - n_taken);
    merged.left_out = made.len().saturating_sub(room);
    if revoked.is_empty() && (made.is_empty() || room == 0) {
        return Ok(merged);
    }
    merged.is_changed = true;
    change(dir, |ours| {
        // What was taken back counts first, whatever room there is.
        for theirs in revoked {
            match ours.iter_mut().find(|ours| ours.id == theirs.id) {
                Some(ours) => ours.revoked_ms = ours.revoked_ms.or(theirs.revoked_ms),
                None => ours.push(theirs),
            }
        }
        for theirs in made.into_iter().take(room) {
            if ours.iter().all(|ours| ours.id != theirs.id) {
                ours.push(theirs);
            }
        }
        Ok(())
    })?;
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use super::super::{Wanted, create, list, revoke};
    use super::*;
    use crate::scope::Scope;

    /// Two servers tell each other what they know, until neither has news.
    fn meet(here: &Path, there: &Path, known: &mut BTreeMap<String, String>) {
        for dir in [here, there, here] {
            let merged = merge(dir, known).unwrap();
            known.extend(merged.unknown_there);
        }
        for dir in [here, there] {
            let merged = merge(dir, known).unwrap();
            assert!(!merged.is_changed && merged.unknown_there.is_empty());
        }
    }

    fn ids(dir: &Path) -> Vec<String> {
        let mut ids: Vec<String> = list(dir).unwrap().into_iter().map(|it| it.id).collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn what_is_made_anywhere_is_known_everywhere_and_what_is_taken_back_stays_so() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [here, there] = folders.each_ref().map(tempfile::TempDir::path);
        let mut known = BTreeMap::new();
        meet(here, there, &mut known);
        let made = |dir| {
            let scopes = vec![Scope::Read];
            let wanted = Wanted {
                scopes,
                ..Wanted::default()
            };
            create(dir, wanted).unwrap().1.id
        };
        let mut all = vec![made(here), made(there), made(there)];
        meet(here, there, &mut known);
        all.sort_unstable();
        assert_eq!((ids(here), ids(there)), (all.clone(), all.clone()));
        // Taken back while the two could not tell each other, and another is made.
        let gone = all.remove(0);
        assert_eq!(revoke(there, |record| record.id == gone).unwrap(), 1);
        all.push(made(here));
        all.sort_unstable();
        meet(here, there, &mut known);
        assert_eq!((ids(here), ids(there)), (all.clone(), all.clone()));
        assert_eq!(revoke(here, |record| record.id == gone).unwrap(), 0);
        // A store that lost what it had is told again, of what is taken back as well.
        let mut known = BTreeMap::new();
        meet(here, there, &mut known);
        assert_eq!((ids(here), ids(there)), (all.clone(), all));
        assert!(known.contains_key(&gone));
        // What is over for long is to be forgotten there, too, and is told by nobody again.
        let mut old: serde_json::Value = serde_json::from_str(&known[&gone]).unwrap();
        old["expiresMs"] = 1.into();
        let before = known.insert(gone.clone(), old.to_string()).unwrap();
        assert_eq!(merge(here, &known).unwrap().forgotten, [&*gone]);
        known.insert(gone.clone(), before);
        assert!(merge(here, &known).unwrap().forgotten.is_empty());
        // What is no record is passed by.
        known.insert("odd".to_owned(), "[1]".to_owned());
        // Nor is one that would open more than a token does, or stands where another belongs.
        let mut record: serde_json::Value = serde_json::from_str(&known[&gone]).unwrap();
        record.as_object_mut().unwrap().remove("revokedMs");
        known.insert("t1".to_owned(), record.to_string());
        for id in ["", "fleet"] {
            record["id"] = id.into();
            known.insert(id.to_owned(), record.to_string());
        }
        assert!(!merge(here, &known).unwrap().is_changed);
    }
}
