//! Which sessions are meant: each by its id or the beginning of one, or all that are old enough.

use std::collections::BTreeMap;
use std::path::Path;

use chat_feed::projections::trace::clean;
use chat_feed::units;
use chat_store::{Freed, Rows, SessionId, Summary, now_ms, rows, sizes};

use crate::list_command::{ago, at_ms, one_line};
use crate::removal::works;
use crate::stderr;

/// What is asked for.
pub(super) struct Wanted<'w> {
    pub(super) sessions: &'w [String],
    pub(super) older_than_ms: Option<i64>,
    /// Also those that work.
    pub(super) force: bool,
}

/// One that is to be removed.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) id: SessionId,
    /// Its row in the list; `None` where its log is not here, or cannot be read.
    row: Option<Summary>,
    /// Its files in the data folder.
    pub(super) freed: Freed,
}

impl Chosen {
    /// Whether the data folder has anything of it.
    pub(super) fn is_here(&self) -> bool {
        self.freed.files > 0
    }

    pub(super) fn title(&self) -> String {
        let title = self.row.as_ref().and_then(|row| row.title.as_deref());
        title.map(one_line).unwrap_or_default()
    }

    /// Its id, how old it is, how large, and what it is called.
    pub(super) fn fields(&self) -> [String; 4] {
        let at_ms = self.row.as_ref().map_or(0, at_ms);
        let age = match at_ms {
            0 => "-".to_owned(),
            at_ms => ago(now_ms().saturating_sub(at_ms)),
        };
        let title = Some(self.title()).filter(|title| !title.is_empty());
        [
            self.id.as_str().to_owned(),
            age,
            units::bytes(self.freed.bytes),
            title.unwrap_or_else(|| if self.is_here() { "-" } else { "(not here)" }.to_owned()),
        ]
    }
}

/// The sessions that are meant, the oldest first.
///
/// # Errors
///
/// Where the folder cannot be listed, where an id is that of several, and where one that is named works.
pub(super) fn choose(dir: &Path, wanted: &Wanted<'_>) -> Result<Vec<Chosen>, String> {
    let Rows { rows, unread } = rows(dir).map_err(|why| why.to_string())?;
    for why in &unread {
        stderr::say("remove", why);
    }
    let sizes = sizes(dir).map_err(|why| why.to_string())?;
    let mut chosen = match wanted.older_than_ms {
        Some(age_ms) => older(rows, &sizes, age_ms, wanted.force),
        None => named(&rows, &sizes, wanted)?,
    };
    chosen.sort_by_key(|one| one.row.as_ref().map_or(0, at_ms));
    Ok(chosen)
}

/// Those that are chosen now, too.
pub(super) fn still(mut chosen: Vec<Chosen>, now: &[Chosen]) -> Vec<Chosen> {
    chosen.retain(|one| now.iter().any(|it| it.id == one.id));
    chosen
}

fn older(
    rows: Vec<Summary>,
    sizes: &BTreeMap<String, Freed>,
    age_ms: i64,
    force: bool,
) -> Vec<Chosen> {
    let before_ms = now_ms().saturating_sub(age_ms);
    // Of one that has no time nobody knows how old it is.
    let is_old = |row: &Summary| (1..before_ms).contains(&at_ms(row));
    let old = rows.into_iter().filter(is_old);
    let (working, resting): (Vec<_>, Vec<_>) = old.partition(|row| works(row) && !force);
    if let [first, ..] = &*working {
        let n = units::grouped(working.len() as u64);
        stderr::tell(format_args!(
            "{n} of that age stay, for they work ({}): --force removes them, too",
            first.id
        ));
    }
    let chosen = resting.into_iter().filter_map(|row| {
        let id = SessionId::parse(&row.id).ok()?;
        Some(one(id, Some(row), sizes))
    });
    chosen.collect()
}

fn named(
    rows: &[Summary],
    sizes: &BTreeMap<String, Freed>,
    wanted: &Wanted<'_>,
) -> Result<Vec<Chosen>, String> {
    let mut chosen: Vec<Chosen> = Vec::new();
    for session in wanted.sessions {
        let (id, row) = find(rows, sizes, session)?;
        if let Some(row) = row.filter(|row| works(row) && !wanted.force) {
            let (id, status) = (&row.id, &row.status);
            return Err(format!(
                "{id} works ({status}): --force removes it all the same"
            ));
        }
        if chosen.iter().all(|one| one.id != id) {
            chosen.push(one(id, row.cloned(), sizes));
        }
    }
    Ok(chosen)
}

/// The session of that id; else of the only one that begins so. One of which there is nothing here may be elsewhere.
fn find<'r>(
    rows: &'r [Summary],
    sizes: &BTreeMap<String, Freed>,
    session: &str,
) -> Result<(SessionId, Option<&'r Summary>), String> {
    let id = SessionId::parse(session).map_err(|why| why.to_string())?;
    if let Some(row) = rows.iter().find(|row| row.id == session) {
        return Ok((id, Some(row)));
    }
    // What is left of one whose log is gone, or cannot be read.
    if sizes.contains_key(&id.stem()) {
        return Ok((id, None));
    }
    let beginning = session.to_ascii_lowercase();
    let begins_so = |name: &str| name.to_ascii_lowercase().starts_with(&beginning);
    let mut found = rows.iter().filter(|row| begins_so(&row.id));
    // Which of them is meant nobody knows where one cannot be read.
    let is_told = |stem: &str| {
        rows.iter()
            .any(|row| SessionId::parse(&row.id).is_ok_and(|id| id.stem() == stem))
    };
    let unread = sizes
        .keys()
        .find(|stem| begins_so(stem) && is_stem(stem) && !is_told(stem));
    if let Some(stem) = unread {
        return Err(format!(
            "a session begins with {session} that cannot be read, or whose log is not here ({}): say the whole id",
            clean(stem)
        ));
    }
    match (found.next(), found.next()) {
        (None, _) => Ok((id, None)),
        (Some(row), None) => {
            let id = SessionId::parse(&row.id).map_err(|why| why.to_string())?;
            Ok((id, Some(row)))
        }
        (Some(first), Some(second)) => Err(format!(
            "several sessions begin with {session}: {}, {}{}",
            clean(&first.id),
            clean(&second.id),
            if found.next().is_some() { ", …" } else { "" }
        )),
    }
}

/// Whether files of that name are a session's: a hash ends it.
fn is_stem(stem: &str) -> bool {
    let hash = stem.rsplit_once('-').map_or("", |(_, hash)| hash);
    hash.len() == 8
        && hash
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn one(id: SessionId, row: Option<Summary>, sizes: &BTreeMap<String, Freed>) -> Chosen {
    let freed = sizes.get(&id.stem()).copied().unwrap_or_default();
    Chosen { id, row, freed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, status: &str, ago_ms: i64) -> Summary {
        Summary {
            id: id.to_owned(),
            status: status.to_owned(),
            last_activity_ms: Some(now_ms() - ago_ms),
            ..Summary::default()
        }
    }

    #[test]
    fn one_is_meant_by_its_id_or_by_a_beginning_that_is_its_own() {
        let rows = ["run-1", "run-10", "Run-2"].map(|id| row(id, "idle", 0));
        let left = SessionId::parse("left").unwrap();
        let files = [left.stem(), "token".to_owned()];
        let sizes = files.map(|stem| (stem, Freed::default())).into();
        let meant = |session: &str| {
            let found = find(&rows, &sizes, session);
            found.map(|(id, row)| (id.as_str().to_owned(), row.is_some()))
        };
        for (session, expected) in [
            ("run-1", ("run-1", true)),
            ("run-10", ("run-10", true)),
            ("RUN-2", ("Run-2", true)),
            ("left", ("left", false)),
            ("elsewhere", ("elsewhere", false)),
        ] {
            let (id, is_here) = expected;
            assert_eq!(meant(session), Ok((id.to_owned(), is_here)), "{session}");
        }
        assert!(meant("run").unwrap_err().contains("several sessions"));
        // What cannot be read is meant by its whole id alone, and files of others by nothing.
        assert!(meant("lef").unwrap_err().contains("cannot be read"));
        assert_eq!(meant("tok"), Ok(("tok".to_owned(), false)));
    }

    #[test]
    fn those_that_are_old_enough_and_do_not_work_are_meant() {
        const DAY_MS: i64 = 86_400_000;
        let mut rows = vec![
            row("old", "ended", 40 * DAY_MS),
            row("idle", "idle", 31 * DAY_MS),
            row("busy", "busy", 31 * DAY_MS),
            row("young", "ended", 29 * DAY_MS),
        ];
        let timeless = Summary {
            id: "timeless".to_owned(),
            ..Summary::default()
        };
        rows.push(timeless);
        let meant = |force| {
            let chosen = older(rows.clone(), &BTreeMap::new(), 30 * DAY_MS, force);
            let ids = chosen.iter().map(|one| one.id.as_str().to_owned());
            ids.collect::<Vec<_>>()
        };
        assert_eq!(meant(false), ["old", "idle"]);
        assert_eq!(meant(true), ["old", "idle", "busy"]);
        // What came while somebody was asked counts, and no other is taken for it.
        let chosen = |rows: &[Summary]| older(rows.to_vec(), &BTreeMap::new(), 30 * DAY_MS, false);
        let before = chosen(&rows);
        rows[0] = row("old", "ended", 0);
        rows[3] = row("young", "ended", 40 * DAY_MS);
        let left = still(before, &chosen(&rows));
        assert_eq!(
            left.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(),
            ["idle"]
        );
    }
}
