//! Missing agents that are gone, and ending what is over: sessions that rest, and those whose processes ended.

use std::time::Instant;

use super::agent::Tells;
use super::holders::{self, Sought};
use super::running::{running, running_beside};
use super::session::Session;
use super::{
    Follow, HOT, LONGEST_PAUSE, LOOK_FOR_HOLDERS, MOST_SOON, REST, REST_PER_LOOK, REST_PER_SOON,
    TICK, TRY_AGAIN,
};
use crate::pipe::now_ms;

impl Follow {
    /// Looks who writes to the sessions.
    pub(super) fn see_holders(&mut self) {
        let began = Instant::now();
        if began < self.next_holders {
            return;
        }
        self.see_running();
        self.see_processes();
        for (path, known) in &mut self.known {
            if let Some(noted) = known.holders.noted() {
                self.kept.hold(path, noted);
            }
        }
        for database in &self.databases {
            if let Some(noted) = database.holders().noted() {
                self.kept.hold_database(&database.path, noted);
            }
        }
        self.count_soon();
        let took = began.elapsed();
        self.next_soon = Instant::now() + (took * REST_PER_SOON).clamp(TICK, LONGEST_PAUSE);
        self.next_holders =
            Instant::now() + (took * REST_PER_LOOK).clamp(LOOK_FOR_HOLDERS, LONGEST_PAUSE);
    }

    /// Looks sooner, where somebody writes to a session whom nobody saw: an agent that lives between two looks alone is missed
    /// by none, and its session would go on for good once it was killed. More than who is seen this does not take to be gone.
    pub(super) fn see_holders_soon(&mut self) {
        if !self.unseen.is_empty() && Instant::now() >= self.next_soon {
            self.next_holders = Instant::now();
            self.see_holders();
        }
    }

    /// Each look counts for those that it was for. One whose folder is not read yet is not found before.
    fn count_soon(&mut self) {
        let (known, loaded) = (&mut self.known, &self.loaded);
        self.unseen.retain(|path| {
            let Some(known) = known.get_mut(path) else {
                return false;
            };
            known.n_soon = match known.holders.are_known() {
                true => MOST_SOON,
                false => known.n_soon.saturating_sub(1),
            };
            let is_read = loaded.get(path).and_then(Session::works_in).is_some();
            let waits = matches!(known.agent.tells(), Tells::Name(_)) && !is_read;
            waits && known.n_soon > 0 && !known.holders.are_known()
        });
    }

    /// Reads what agents say of their own processes, as Claude Code and Qwen Code do; that costs a small file for each of
    /// them.
    fn see_running(&mut self) {
        let at_ms = now_ms();
        for (path, known) in &mut self.known {
            if known.agent.tells() != Tells::Beside || known.is_gone() {
                continue;
            }
            // Nobody looks for who runs what rests for long, and was not seen before.
            let is_asked = known.holders.are_known() || known.rests(at_ms) <= REST;
            if is_asked && known.holders.are_due() {
                known
                    .holders
                    .see(running_beside(path).into_iter().collect());
            }
        }
        for tree in &self.trees {
            if tree.agent().tells() != Tells::Processes || !tree.is_there() {
                continue;
            }
            let mut running = running(tree.folder());
            for (path, known) in &mut self.known {
                let is_here = known.agent == tree.agent() && path.starts_with(tree.root());
                let session = path.file_stem().and_then(|stem| stem.to_str());
                let Some(session) = session.filter(|_| is_here) else {
                    continue;
                };
                let now = running.remove(session).unwrap_or_default();
                if now.is_empty() && !known.holders.are_due() {
                    continue;
                }
                known.holders.see(now);
            }
        }
    }

    /// Looks through the processes for those that have sessions' files open, or an agent's name. That costs most where
    /// nobody is seen, and is done only for what changed lately, and for whom we miss.
    fn see_processes(&mut self) {
        let at_ms = now_ms();
        let mut sought = Vec::new();
        for (path, known) in &mut self.known {
            let session = self.loaded.get(path);
            let is_watched = session.is_some() || self.unseen.contains(path);
            let is_hot = is_watched && known.rests(at_ms) <= HOT;
            let is_missed = known.holders.are_known() && !self.kept.is_ended(path);
            if known.is_gone() || !(is_hot || is_missed) || !known.holders.are_due() {
                continue;
            }
            let folder = session.and_then(Session::works_in);
            match (known.agent.tells(), folder) {
                (Tells::OpenFile, _) => {
                    sought.push((Sought::File(path.clone()), &mut known.holders));
                }
                (Tells::OpenBeside, _) => {
                    let folder = path.parent().unwrap_or(path).to_owned();
                    sought.push((Sought::HoldIn(folder), &mut known.holders));
                }
                (Tells::Name(names), Some(folder)) => {
                    let folder = folder.to_owned();
                    sought.push((Sought::Named { names, folder }, &mut known.holders));
                }
                // Its folder is not known before it is read again, and who was seen is gone.
                (Tells::Name(_), None) => known.holders.see(Vec::new()),
                (Tells::Processes | Tells::Beside | Tells::Nothing, _) => {}
            }
        }
        for database in &mut self.databases {
            sought.extend(database.holders_to_look_at(HOT));
        }
        if !sought.is_empty() {
            holders::look(sought);
        }
    }

    /// Sessions that rest and are not held, as after a new start, are read for their end; where a call waits in one, that
    /// is not yet.
    pub(super) fn see_what_is_over(&mut self) {
        let at_ms = now_ms();
        for (path, known) in &mut self.known {
            let is_idle = known.wanted && !known.is_first && !known.refused && !known.is_gone();
            let ends = known.is_over(at_ms, true);
            let pause = if ends { TRY_AGAIN } else { REST };
            if is_idle
                && (ends || known.rests(at_ms) >= REST)
                && known.read_to_end.is_none_or(|at| at.elapsed() >= pause)
                && !self.loaded.contains_key(path)
                && self.kept.has(path)
                && !self.kept.is_ended(path)
            {
                known.read_to_end = Some(Instant::now());
                self.changed.insert(path.clone());
            }
        }
    }
}
