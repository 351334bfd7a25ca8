//! All sessions, kept in their order; and which of them stand in which section.
//!
//! What is counted at each change follows how many sessions work or wait, and not how many there are.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::filter::haystack_of;
use super::{Clock, Filter, Row, Section};

/// So many changes at once are sorted with all the rest; fewer are put in their places.
const FEW: usize = 32;

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

/// The sessions that are shown, in their sections; none of these is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arranged {
    /// Sections in their order, each with its sessions in theirs.
    pub sections: Vec<(Section, Vec<Rc<Row>>)>,
    /// How many are shown.
    pub n_shown: usize,
}

impl Arranged {
    /// Lets those that were shown `before` stand where they stood then, as they are now. Who began to need an answer, and
    /// who is new, stands where it belongs; where many are new, as when the list is read, all do.
    pub fn hold<'b>(&mut self, before: &'b Arranged) {
        let placed = |(section, rows): &'b (Section, Vec<Rc<Row>>)| {
            let section = *section;
            rows.iter().map(move |row| (row.id.as_str(), section))
        };
        let stood: HashMap<&str, Section> = before.sections.iter().flat_map(placed).collect();
        let mut held: HashMap<&str, Rc<Row>> = HashMap::with_capacity(stood.len());
        let mut others = Vec::new();
        for (section, rows) in &self.sections {
            for row in rows {
                match stood.get_key_value(row.id.as_str()) {
                    Some((id, stood)) if *section != Section::NeedsYou || stood == section => {
                        held.insert(*id, row.clone());
                    }
                    Some(_) | None => others.push((*section, row.clone())),
                }
            }
        }
        if others.len() > FEW {
            return;
        }
        let mut sections: [Vec<Rc<Row>>; Section::ALL.len()] = Default::default();
        for (section, rows) in &before.sections {
            let rows = rows.iter().filter_map(|row| held.remove(row.id.as_str()));
            sections[*section as usize].extend(rows);
        }
        for (section, row) in others {
            let rows = &mut sections[section as usize];
            let place_ms = row.place_ms(section);
            let at = rows.iter().position(|one| one.place_ms(section) < place_ms);
            rows.insert(at.unwrap_or(rows.len()), row);
        }
        let sections = Section::ALL.into_iter().zip(sections);
        self.sections = sections.filter(|(_, rows)| !rows.is_empty()).collect();
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
        for id in gone {
            if let Some(old) = self.by_id.remove(id) {
                self.uncount(&old);
                if is_few {
                    self.take_out(&old);
                }
            }
        }
        for row in changed {
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

    /// The sessions that a filter shows, in their sections.
    pub fn arrange(&self, filter: &Filter, clock: Clock) -> Arranged {
        let mut sections: [Vec<Rc<Row>>; Section::ALL.len()] = Default::default();
        let mut n_shown = 0;
        let shows_all = filter.is_empty();
        for entry in &self.order {
            if shows_all || filter.shows(&entry.row, &entry.haystack, clock.now_ms) {
                let section = Section::of(&entry.row, clock);
                sections[section as usize].push(entry.row.clone());
                n_shown += 1;
            }
        }
        // The others are in their order already.
        let running = Section::Running;
        sections[running as usize].sort_by(|one, other| {
            let key = |row: &Row| Reverse(row.place_ms(running));
            (key(one), &one.id).cmp(&(key(other), &other.id))
        });
        let sections = Section::ALL.into_iter().zip(sections);
        Arranged {
            sections: sections.filter(|(_, rows)| !rows.is_empty()).collect(),
            n_shown,
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
