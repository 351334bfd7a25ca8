//! Looking at what lies there: all of it in turn, and what is hot in between; and which of it is to be read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::agent::Agent;
use super::document::is_document;
use super::file::Facts;
use super::holders::Holders;
use super::session::Session;
use super::tree::{Seen, Tree};
use super::{
    FORGET, Follow, HOT, Known, LONGEST_PAUSE, LOOK, MOST_SOON, REST, REST_PER_LOOK, TICK, Taker,
    duration_ms,
};
use crate::pipe::now_ms;

impl Follow {
    pub(super) fn look_around(&mut self, taker: &mut dyn Taker) {
        let began = Instant::now();
        let mut seen = Vec::new();
        let mut faults = Vec::new();
        for tree in &mut self.trees {
            tree.look(&|path| self.kept.has(path), &mut seen, &mut faults);
        }
        for fault in faults {
            self.warn_once(fault, taker);
        }
        self.find_databases();
        let is_first = !std::mem::replace(&mut self.began, true);
        let mut here = BTreeSet::new();
        let mut parts = BTreeSet::new();
        for seen in seen {
            let set = if seen.is_main { &mut here } else { &mut parts };
            set.insert(seen.path.clone());
            self.see(seen, is_first);
        }
        for (path, known) in &mut self.known {
            let was_gone = known.is_gone();
            known.gone_since = match here.contains(path) {
                true => None,
                false => known.gone_since.or(Some(began)),
            };
            known.parts.retain(|part, _| parts.contains(part));
            // One that is back as it was has not changed, and what was to be read of it when it went is still to be read.
            let is_back = was_gone && !known.is_gone() && known.wanted && !known.is_first;
            if is_back && !self.kept.is_at(path, known.facts, &known.parts) {
                self.changed.insert(path.clone());
            }
        }
        self.leave_moved();
        self.forget_gone();
        if is_first {
            self.plan();
        }
        // Looking through all processes has a pause of its own: new files are looked for no later for it.
        let took = began.elapsed();
        self.see_holders();
        self.see_what_is_over();
        self.next_look = Instant::now() + (took * REST_PER_LOOK).clamp(LOOK, LONGEST_PAUSE);
        self.next_tick = Instant::now() + TICK;
    }

    /// A session of Qwen Code that was put away, or taken out again, goes on where it lies now: where it lay it does not end.
    fn leave_moved(&mut self) {
        let lies_at = |path: &Path| self.known.get(path).is_some_and(|known| !known.is_gone());
        let is_moved = |path: &&PathBuf| {
            let known = self.known.get(*path);
            let is_gone = known.is_some_and(|it| it.agent == Agent::Qwen && it.is_gone());
            is_gone && put_away_or_out(path).is_some_and(|path| lies_at(&path))
        };
        let moved: Vec<PathBuf> = self.loaded.keys().filter(is_moved).cloned().collect();
        for path in moved {
            self.unload(&path);
            self.changed.remove(&path);
        }
    }

    /// Forgets files that are gone for long. Where their whole folder is gone, as on a disk that is not there now, it may come
    /// back.
    fn forget_gone(&mut self) {
        let away = self.trees.iter().filter(|tree| !tree.is_there());
        let away: Vec<&Path> = away.map(Tree::root).collect();
        let is_over = |path: &PathBuf, known: &Known| {
            let is_long = known.gone_since.is_some_and(|at| at.elapsed() >= FORGET);
            is_long && !away.iter().any(|root| path.starts_with(root))
        };
        let over = self.known.iter().filter(|(path, it)| is_over(path, it));
        // One that is held ends first.
        let over = over.filter(|(path, _)| !self.loaded.contains_key(*path));
        let over: Vec<PathBuf> = over.map(|(path, _)| path.clone()).collect();
        for path in over {
            self.known.remove(&path);
            self.changed.remove(&path);
            self.backlog.retain(|it| *it != path);
            self.kept.forget(&path);
        }
    }

    pub(super) fn see(&mut self, seen: Seen, is_first: bool) {
        let Seen {
            agent,
            path,
            main,
            facts,
            is_main,
        } = seen;
        // It is what it was, as far as that is known.
        let Some(facts) = facts else { return };
        let kept = self.kept.get(&main);
        let since_ms = self.since_ms();
        let known = self.known.entry(main.clone()).or_insert_with(|| Known {
            agent,
            facts: Facts::default(),
            parts: BTreeMap::new(),
            wanted: kept.is_some(),
            is_first: false,
            refused: false,
            gone_since: None,
            not_before: None,
            held_since: None,
            holders: Holders::of(kept.and_then(|it| it.holders.as_ref())),
            n_soon: MOST_SOON,
            read_to_end: None,
            first_bytes: 0,
        });
        let before = if is_main {
            Some(std::mem::replace(&mut known.facts, facts))
        } else {
            known.parts.insert(path, facts)
        };
        if before == Some(facts) {
            return;
        }
        known.holders.note_write(facts.changed_ms);
        // What changes while we look on is of interest whenever it began.
        known.wanted |= !is_first || facts.changed_ms >= since_ms;
        if known.is_unseen(now_ms()) {
            self.unseen.insert(main.clone());
        }
        if is_main && before.is_some_and(|before| may_be_other(&main, before, facts)) {
            known.refused = false;
        }
        if known.wanted && !known.is_first && !is_first {
            self.changed.insert(main);
        }
    }

    /// What is read first, and in which order.
    pub(super) fn plan(&mut self) {
        let mut plan: Vec<(i64, PathBuf)> = Vec::new();
        let at_ms = now_ms();
        for (path, known) in self.known.iter_mut().filter(|(_, known)| known.wanted) {
            // What an earlier start read to its end is left alone, unless it is to end now.
            let is_told = self.kept.is_at(path, known.facts, &known.parts);
            if is_told && (self.kept.is_ended(path) || known.rests(at_ms) < REST) {
                continue;
            }
            known.is_first = true;
            known.first_bytes =
                known.facts.len + known.parts.values().map(|it| it.len).sum::<u64>();
            self.progress.all_bytes += known.first_bytes;
            plan.push((known.changed_ms(), path.clone()));
        }
        plan.sort();
        self.progress.all_sessions = plan.len();
        self.backlog = plan.into_iter().map(|(_, path)| path).collect();
    }

    pub(super) fn look_at_hot(&mut self) {
        let at_ms = now_ms();
        let mut is_any_hot = self.databases.iter().any(|it| it.rests() <= HOT);
        for (path, known) in &mut self.known {
            if known.is_gone() || !known.wanted || known.rests(at_ms) > HOT {
                continue;
            }
            is_any_hot = true;
            let before = known.facts;
            let own = std::iter::once((path, &mut known.facts));
            let mut is_changed = false;
            for (path, facts) in own.chain(&mut known.parts) {
                if let Some(now) = Facts::of(path).filter(|now| now != facts) {
                    *facts = now;
                    is_changed = true;
                }
            }
            let is_unsure = |session: &Session| session.is_unsure(known.facts);
            let is_unsure = self.loaded.get(path).is_some_and(is_unsure);
            if is_changed {
                known.refused &= !may_be_other(path, before, known.facts);
                known.holders.note_write(known.facts.changed_ms);
                if known.is_unseen(at_ms) {
                    self.unseen.insert(path.clone());
                }
            }
            if (is_changed || is_unsure) && !known.is_first {
                self.changed.insert(path.clone());
            }
        }
        // Without any nobody is woken for them; databases are looked at all the same.
        self.next_tick = Instant::now() + if is_any_hot { TICK } else { LOOK };
    }

    pub(super) fn since_ms(&self) -> i64 {
        now_ms().saturating_sub(duration_ms(self.settings.newer_than))
    }
}

/// Whether a file that was no session may be one now. One that grew is what it was.
fn may_be_other(path: &Path, before: Facts, now: Facts) -> bool {
    before != now && (now.len < before.len || now.inode != before.inode || is_document(path))
}

/// Where a session's own file lies that is put away, or taken out again.
fn put_away_or_out(path: &Path) -> Option<PathBuf> {
    const AWAY: &str = "archive";
    let (folder, name) = (path.parent()?, path.file_name()?);
    Some(match folder.ends_with(AWAY) {
        true => folder.with_file_name(name),
        false => folder.join(AWAY).join(name),
    })
}
