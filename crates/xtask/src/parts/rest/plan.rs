//! What goes where.

use std::collections::{BTreeMap, BTreeSet};

use wasmparser::{Parser, ValType, ValidPayload, Validator};

use super::Seen;
use super::body::Body;
use super::cold::{self, Stretch};
use super::survey::{self, Survey};

/// What is decided of a module.
pub(super) struct Plan<'a> {
    pub(super) survey: Survey,
    /// Functions of the rest.
    pub(super) late: BTreeSet<u32>,
    /// Functions of which stretches are the rest's.
    pub(super) parted: BTreeMap<u32, Parted<'a>>,
    /// Those stretches, in the order of their functions: function, number of the stretch, type.
    pub(super) moved: Vec<(u32, usize, u32)>,
    /// Functions of the rest that the first part knows, and their places in the shared table.
    pub(super) stood_in: BTreeMap<u32, u32>,
    /// Functions of the first part that the rest knows, and their places behind those and the stretches.
    pub(super) lent: BTreeMap<u32, u32>,
    /// Numbers in the first part.
    pub(super) in_first: BTreeMap<u32, u32>,
    /// Numbers in the rest.
    pub(super) in_rest: BTreeMap<u32, u32>,
    /// Types of stretches.
    pub(super) kinds: Vec<Kind>,
}

/// What a function takes and gives.
pub(super) type Kind = (Vec<ValType>, Vec<ValType>);

/// A function of which stretches are moved.
pub(super) struct Parted<'a> {
    pub(super) body: Body<'a>,
    pub(super) stretches: Vec<Stretch>,
    /// The place of its first stretch in the shared table.
    pub(super) place: u32,
}

impl<'a> Plan<'a> {
    pub(super) fn of(
        wasm: &'a [u8],
        seen: impl Fn(&str, u32) -> Seen,
        least_gain_bytes: i64,
    ) -> Option<Plan<'a>> {
        let survey = Survey::of(wasm)?;
        let mut plan = Plan {
            late: BTreeSet::new(),
            parted: BTreeMap::new(),
            moved: Vec::new(),
            stood_in: BTreeMap::new(),
            lent: BTreeMap::new(),
            in_first: BTreeMap::new(),
            in_rest: BTreeMap::new(),
            kinds: Vec::new(),
            survey,
        };
        plan.part(wasm, seen, least_gain_bytes)?;
        plan.place();
        Some(plan)
    }

    /// Finds what is the rest's.
    fn part(
        &mut self,
        wasm: &'a [u8],
        seen: impl Fn(&str, u32) -> Seen,
        least_gain_bytes: i64,
    ) -> Option<()> {
        let mut validator = Validator::new();
        let mut numbers = self.survey.own_numbers();
        for payload in Parser::new(0).parse_all(wasm) {
            let ValidPayload::Func(validated, body) = validator.payload(&payload.ok()?).ok()?
            else {
                continue;
            };
            let function = numbers.next()?;
            let own = self.survey.own(function)?;
            let name = self.survey.names.get(&function).map_or("", String::as_str);
            match seen(name, own.shape) {
                Seen::Unknown => {}
                Seen::NotRun if own.is_bound => {}
                Seen::NotRun => {
                    self.late.insert(function);
                }
                Seen::Run(blocks) => {
                    let body = Body::read(validated, &body)?;
                    let was_run = |block: usize| blocks.get(block).copied().unwrap_or(true);
                    let stretches =
                        cold::stretches(&body, &was_run, &survey::is_bound, least_gain_bytes);
                    if !stretches.is_empty() {
                        let place = 0;
                        let parted = Parted {
                            body,
                            stretches,
                            place,
                        };
                        self.parted.insert(function, parted);
                    }
                }
            }
        }
        Some(())
    }

    /// Gives everything its number.
    fn place(&mut self) {
        let survey = &self.survey;
        // What each half calls.
        let (mut by_first, mut by_rest) = (BTreeSet::new(), BTreeSet::new());
        by_first.extend(survey.known_elsewhere.iter().copied());
        by_first.extend(survey.in_table.iter().map(|(_, function)| *function));
        for function in survey.own_numbers() {
            let calls = survey.own(function).into_iter().flat_map(|it| &it.calls);
            if self.late.contains(&function) {
                by_rest.extend(calls.copied());
            } else if let Some(parted) = self.parted.get(&function) {
                for (at, called) in parted.body.calls() {
                    let is_moved = parted.stretches.iter().any(|it| it.operators.contains(&at));
                    match is_moved {
                        true => by_rest.insert(called),
                        false => by_first.insert(called),
                    };
                }
            } else {
                by_first.extend(calls.copied());
            }
        }
        let is_own = |function: &u32| *function >= survey.n_imported;
        let mut places = 0..;
        let stood_in = by_first.intersection(&self.late).copied();
        self.stood_in = stood_in.zip(&mut places).collect();
        for (function, parted) in &mut self.parted {
            parted.place = places.start;
            for (number, stretch) in parted.stretches.iter().enumerate() {
                places.next();
                let kind = stretch.kind(&parted.body.locals);
                let known = self.kinds.iter().position(|it| *it == kind);
                let kind_number = known.unwrap_or_else(|| {
                    self.kinds.push(kind);
                    self.kinds.len() - 1
                });
                // Behind the type of functions that take and give nothing.
                let kind_number = survey.n_values.len() + 1 + kind_number;
                self.moved.push((*function, number, kind_number as u32));
            }
        }
        let for_parts = survey.for_parts.iter().map(|(_, function)| *function);
        let lent = by_rest.iter().copied().filter(is_own).chain(for_parts);
        let lent: BTreeSet<u32> = lent.filter(|it| !self.late.contains(it)).collect();
        by_first.extend(lent.iter().copied().filter(|it| !is_own(it)));
        self.lent = lent.into_iter().zip(&mut places).collect();

        let outside = |used: &BTreeSet<u32>| -> Vec<u32> {
            used.range(..survey.n_imported).copied().collect()
        };
        self.in_first = outside(&by_first).into_iter().zip(0..).collect();
        // One more comes from outside: what fetches the rest.
        let behind = self.in_first.len() as u32 + 1;
        let own = survey.own_numbers();
        let kept = own.filter(|it| !self.late.contains(it) || self.stood_in.contains_key(it));
        self.in_first.extend(kept.zip(behind..));
        let in_rest = outside(&by_rest)
            .into_iter()
            .chain(self.late.iter().copied());
        self.in_rest = in_rest.zip(0..).collect();
    }

    pub(super) fn n_shared(&self) -> u64 {
        (self.stood_in.len() + self.moved.len() + self.lent.len()) as u64
    }

    /// Where the functions begin in the shared table that the first part fills.
    pub(super) fn lent_from(&self) -> i32 {
        (self.stood_in.len() + self.moved.len()) as i32
    }

    pub(super) fn kind_of(&self, function: u32) -> u32 {
        self.survey.types[function as usize]
    }

    /// The type of functions that take nothing and give nothing: behind all others.
    pub(super) fn plain_kind(&self) -> u32 {
        self.survey.n_values.len() as u32
    }

    /// The number of what fetches the rest, in the first part.
    pub(super) fn fetch(&self) -> u32 {
        self.in_first.range(..self.survey.n_imported).count() as u32
    }

    /// The number of the function that makes sure of the rest, behind all others of the first part.
    pub(super) fn make_sure(&self) -> u32 {
        self.in_first.len() as u32 + 1
    }
}
