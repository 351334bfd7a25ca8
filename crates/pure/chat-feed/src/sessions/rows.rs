//! All sessions, kept in their order; and which of them stand in which section.

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
    pub fn hold(&mut self, before: &Arranged) {
        let placed = |(section, rows): &(Section, Vec<Rc<Row>>)| {
            let section = *section;
            let ids = rows.iter().map(move |row| (row.id.clone(), section));
            ids.collect::<Vec<_>>()
        };
        let stood: HashMap<String, Section> = before.sections.iter().flat_map(placed).collect();
        let mut held: HashMap<String, Rc<Row>> = HashMap::new();
        let mut others = Vec::new();
        for (section, rows) in &self.sections {
            for row in rows {
                match stood.get(&row.id) {
                    Some(stood) if *section != Section::NeedsYou || stood == section => {
                        held.insert(row.id.clone(), row.clone());
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
            let rows = rows.iter().filter_map(|row| held.remove(&row.id));
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
            if let Some(old) = self.by_id.remove(id)
                && is_few
            {
                self.take_out(&old);
            }
        }
        for row in changed {
            let entry = Rc::new(Entry {
                haystack: haystack_of(&row),
                row: Rc::new(row),
            });
            let old = self.by_id.insert(entry.row.id.clone(), entry.clone());
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

    /// The sessions that a filter shows, in their sections.
    pub fn arrange(&self, filter: &Filter, clock: Clock) -> Arranged {
        let mut sections: [Vec<Rc<Row>>; Section::ALL.len()] = Default::default();
        let mut n_shown = 0;
        for entry in &self.order {
            if filter.shows(&entry.row, &entry.haystack, clock.now_ms) {
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

    /// What a menu offers: the values that sessions have, the most frequent first; of these, and of others beside them.
    pub fn values<'r>(
        &'r self,
        beside: impl IntoIterator<Item = &'r Row>,
        of: impl Fn(&Row) -> Option<&str>,
        most: usize,
    ) -> Vec<(String, usize)> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let own = self.order.iter().map(|entry| &*entry.row);
        for row in own.chain(beside) {
            if let Some(value) = of(row) {
                *counts.entry(value).or_default() += 1;
            }
        }
        let mut counts: Vec<(String, usize)> = counts
            .into_iter()
            .map(|(value, n)| (value.to_owned(), n))
            .collect();
        counts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        counts.truncate(most);
        counts
    }
}
