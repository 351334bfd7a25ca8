//! All sessions, kept in their order; and which of them stand in which section.
//!
//! What is counted at each change follows how many sessions work or wait, and not how many there are.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::arranged::{Arranged, in_order};
use super::filter::haystack_of;
use super::settled::Settled;
use super::{Clock, Filter, Row, Section};

/// So many changes at once are sorted with all the rest; fewer are put in their places.
pub(super) const FEW: usize = 32;

/// All sessions, the newest first.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    order: Vec<Rc<Entry>>,
    by_id: BTreeMap<String, Rc<Entry>>,
    /// Those that work, or wait for an answer.
    live: BTreeMap<String, Rc<Entry>>,
    /// The agents and projects that sessions have, with how many have each.
    agents: Values,
    projects: Values,
    /// Where those stand that do not move, as they were shown last.
    settled: RefCell<Option<Settled>>,
}

/// Values with how many have each; and how often one came or went.
#[derive(Clone, Debug, Default)]
struct Values {
    counts: BTreeMap<String, usize>,
    n_changes: usize,
}

impl Values {
    fn add(&mut self, value: Option<&str>) {
        let Some(value) = value else { return };
        match self.counts.get_mut(value) {
            Some(n) => *n += 1,
            None => {
                self.counts.insert(value.to_owned(), 1);
                self.n_changes += 1;
            }
        }
    }

    fn take_out(&mut self, value: Option<&str>) {
        let Some((value, n)) = value.and_then(|value| Some((value, self.counts.get_mut(value)?)))
        else {
            return;
        };
        *n -= 1;
        if *n == 0 {
            self.counts.remove(value);
            self.n_changes += 1;
        }
    }
}

#[derive(Debug)]
struct Entry {
    row: Rc<Row>,
    haystack: String,
}

impl Entry {
    fn key(&self) -> (Reverse<i64>, &str) {
        (Reverse(self.row.order_ms()), &self.row.id)
    }
}

impl Rows {
    /// The ids of all sessions.
    pub fn ids(&self) -> BTreeSet<String> {
        self.by_id.keys().cloned().collect()
    }

    /// Takes what is new or changed, and the ids of what went.
    pub fn take(&mut self, changed: Vec<Row>, gone: &[String]) {
        let is_few = changed.len() + gone.len() <= FEW;
        if !is_few {
            self.settled.take();
        }
        for id in gone {
            if self.by_id.contains_key(id) {
                self.moves(id);
            }
            if let Some(old) = self.by_id.remove(id) {
                self.uncount(&old);
                if is_few {
                    self.take_out(&old);
                }
            }
        }
        for row in changed {
            self.moves(&row.id);
            let entry = Rc::new(Entry {
                haystack: haystack_of(&row),
                row: Rc::new(row),
            });
            let old = self.by_id.insert(entry.row.id.clone(), entry.clone());
            self.count(&entry);
            if let Some(old) = &old {
                self.agents.take_out(old.row.agent_name());
                self.projects.take_out(old.row.project());
            }
            if is_few {
                if let Some(old) = old {
                    self.take_out(&old);
                }
                let at = self.order.partition_point(|one| one.key() < entry.key());
                self.order.insert(at, entry);
            }
        }
        if !is_few {
            self.order = self.by_id.values().cloned().collect();
            self.order.sort_by(|one, other| one.key().cmp(&other.key()));
        }
    }

    /// Something comes of a session, or it goes: where it stood still, where all stand is looked for anew.
    fn moves(&mut self, id: &str) {
        let settled = self.settled.get_mut();
        let Some(now) = settled else { return };
        if !now.moving.contains(id) {
            match self.by_id.contains_key(id) {
                true => *settled = None,
                false => {
                    now.moving.insert(id.to_owned());
                }
            }
        }
    }

    fn count(&mut self, entry: &Rc<Entry>) {
        let row = &entry.row;
        self.agents.add(row.agent_name());
        self.projects.add(row.project());
        if row.is_live() {
            self.live.insert(row.id.clone(), entry.clone());
        } else {
            self.live.remove(&row.id);
        }
    }

    fn uncount(&mut self, old: &Entry) {
        self.agents.take_out(old.row.agent_name());
        self.projects.take_out(old.row.project());
        self.live.remove(&old.row.id);
    }

    fn take_out(&mut self, entry: &Entry) {
        let at = self.order.partition_point(|one| one.key() < entry.key());
        if self
            .order
            .get(at)
            .is_some_and(|one| one.row.id == entry.row.id)
        {
            self.order.remove(at);
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// A session by its id.
    pub fn get(&self, id: &str) -> Option<&Rc<Row>> {
        self.by_id.get(id).map(|entry| &entry.row)
    }

    /// All, the newest first.
    pub fn iter(&self) -> impl Iterator<Item = &Rc<Row>> {
        self.order.iter().map(|entry| &entry.row)
    }

    /// Those that work or wait for an answer, and none that came with the program.
    pub fn live(&self) -> impl Iterator<Item = &Rc<Row>> {
        let live = self.live.values().map(|entry| &entry.row);
        live.filter(|row| !row.sample)
    }

    /// Tokens, and cost in US dollars, of those that changed since then, over all their time.
    pub fn spent_since(&self, since_ms: i64) -> (u64, f64) {
        let is_newer = |row: &Row| row.order_ms() >= since_ms;
        // One that works stands by when it began to.
        let begun_before = self.live.values().map(|entry| &entry.row);
        let begun_before = begun_before.filter(|row| !is_newer(row));
        let newer = self.iter().take_while(|row| is_newer(row));
        let rows = newer.chain(begun_before);
        rows.filter(|row| row.at_ms() >= since_ms && !row.sample)
            .fold((0_u64, 0.0), |(n_tokens, usd), row| {
                let n_tokens = n_tokens.saturating_add(row.tokens.unwrap_or(0));
                (n_tokens, usd + row.cost_usd.unwrap_or(0.0))
            })
    }

    /// The sessions that a filter shows, in their sections. It costs what moves: all are gone through where one changed that
    /// stood still, or where something else is to be shown.
    pub fn arrange(&self, filter: &Filter, clock: Clock) -> Arranged {
        let shows_all = filter.is_empty();
        let shows = |row: &Row| {
            let entry = || self.by_id.get(&row.id);
            shows_all
                || entry().is_some_and(|entry| filter.shows(row, &entry.haystack, clock.now_ms))
        };
        let mut settled = self.settled.borrow_mut();
        let kept = settled
            .take()
            .filter(|it| it.holds(filter, clock, |id| self.get(id)));
        let settled =
            settled.insert(kept.unwrap_or_else(|| Settled::of(self.iter(), filter, clock, shows)));
        let mut moving: [Vec<Rc<Row>>; Section::ALL.len()] = Default::default();
        let rows = settled.moving.iter().filter_map(|id| self.get(id));
        for row in rows.filter(|row| shows(row)) {
            moving[Section::of(row, clock) as usize].push(row.clone());
        }
        let mut sections = settled.sections.clone();
        for ((section, rows), moving) in Section::ALL.into_iter().zip(&mut sections).zip(moving) {
            if moving.is_empty() {
                continue;
            }
            let mut all = moving;
            all.extend(rows.iter().cloned());
            all.sort_by(|one, other| {
                let key = |row: &Row| Reverse(row.place_ms(section));
                (key(one), &one.id).cmp(&(key(other), &other.id))
            });
            *rows = Rc::new(all);
        }
        Arranged {
            n_shown: sections.iter().map(|rows| rows.len()).sum(),
            sections: in_order(sections),
        }
    }

    /// How often an agent or a project came that no session had, or went.
    pub fn n_value_changes(&self) -> usize {
        self.agents.n_changes + self.projects.n_changes
    }

    /// What a menu of agents offers: those that sessions have, these and others beside them, the most frequent first.
    pub fn agents<'r>(
        &self,
        beside: impl IntoIterator<Item = &'r Row>,
        most: usize,
    ) -> Vec<(String, usize)> {
        let beside = beside.into_iter().filter_map(Row::agent_name);
        most_frequent(&self.agents, beside, most)
    }

    /// The same of projects.
    pub fn projects<'r>(
        &self,
        beside: impl IntoIterator<Item = &'r Row>,
        most: usize,
    ) -> Vec<(String, usize)> {
        let beside = beside.into_iter().filter_map(Row::project);
        most_frequent(&self.projects, beside, most)
    }
}

fn most_frequent<'r>(
    of: &Values,
    beside: impl Iterator<Item = &'r str>,
    most: usize,
) -> Vec<(String, usize)> {
    let mut counts = of.counts.clone();
    for value in beside {
        *counts.entry(value.to_owned()).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    counts.truncate(most);
    counts
}
