//! The sessions that are shown, in their sections; and how they stand still while somebody points at them.

use std::collections::HashMap;
use std::rc::Rc;

use super::rows::FEW;
use super::settled::InSection;
use super::{Row, Section};

/// The sessions that are shown, in their sections; none of these is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arranged {
    /// Sections in their order, each with its sessions in theirs. One of which nothing changed is the same as before.
    pub sections: Vec<(Section, Rc<Vec<Rc<Row>>>)>,
    /// How many are shown.
    pub n_shown: usize,
}

impl Arranged {
    /// Lets those that were shown `before` stand where they stood then, as they are now. Who began to need an answer, and
    /// who is new, stands where it belongs; where many are new, as when the list is read, all do. Sections that are the same
    /// are not gone through.
    pub fn hold(&mut self, before: &Arranged) {
        let is_same = |of: &Arranged, (section, rows): &(Section, InSection)| {
            let mut others = of.sections.iter();
            others.any(|(other, others)| other == section && Rc::ptr_eq(others, rows))
        };
        let now = self.sections.iter().filter(|it| !is_same(before, it));
        let then = before.sections.iter().filter(|it| !is_same(self, it));
        let mut stood: HashMap<&str, Section> = HashMap::new();
        for (section, rows) in then.clone() {
            stood.extend(rows.iter().map(|row| (row.id.as_str(), *section)));
        }
        let mut held: HashMap<&str, Rc<Row>> = HashMap::with_capacity(stood.len());
        let mut others = Vec::new();
        for (section, rows) in now {
            for row in rows.iter() {
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
        for (section, rows) in then {
            let rows = rows.iter().filter_map(|row| held.remove(row.id.as_str()));
            sections[*section as usize].extend(rows);
        }
        for (section, row) in others {
            let rows = &mut sections[section as usize];
            let place_ms = row.place_ms(section);
            let at = rows.iter().position(|one| one.place_ms(section) < place_ms);
            rows.insert(at.unwrap_or(rows.len()), row);
        }
        let same = self.sections.iter().filter(|it| is_same(before, it));
        let mut sections = sections.map(Rc::new);
        for (section, rows) in same {
            sections[*section as usize] = rows.clone();
        }
        self.sections = in_order(sections);
    }
}

/// Those of the sections that are not empty.
pub(super) fn in_order(sections: [InSection; Section::ALL.len()]) -> Vec<(Section, InSection)> {
    let sections = Section::ALL.into_iter().zip(sections);
    sections.filter(|(_, rows)| !rows.is_empty()).collect()
}
