//! A stretch that was moved, as a function of its own, and what stands in its place.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{BlockType, Function as Code, Instruction};
use wasmparser::Operator;

use super::body::Body;
use super::cold::{Stretch, Way};

/// How a function is called from where it is called.
pub(super) trait CallWriter: Reencode<Error = Infallible> {
    /// Calls a function by its number in the whole module.
    fn call(&mut self, code: &mut Code, function: u32) -> Result<(), Error<Infallible>>;
}

/// The operators of a body, with a stretch's place taken by `stand` where one begins.
pub(super) fn with_stretches_moved<W: CallWriter>(
    writer: &mut W,
    body: &Body<'_>,
    code: &mut Code,
    stretches: &[Stretch],
    mut stand: impl FnMut(&mut Code, usize),
) -> Result<(), Error<Infallible>> {
    let mut coming = stretches.iter().enumerate().peekable();
    let mut at = 0;
    while at < body.operators.len() {
        if let Some((number, stretch)) = coming.next_if(|(_, it)| it.operators.start == at) {
            stand(code, number);
            at = stretch.operators.end;
            continue;
        }
        write(writer, code, &body.operators[at])?;
        at += 1;
    }
    Ok(())
}

fn write<W: CallWriter>(
    writer: &mut W,
    code: &mut Code,
    operator: &Operator<'_>,
) -> Result<(), Error<Infallible>> {
    match operator {
        Operator::Call { function_index } => writer.call(code, *function_index),
        other => {
            code.instruction(&writer.instruction(other.clone())?);
            Ok(())
        }
    }
}

/// What stands in a stretch's place: its function is called by `call`, and then it goes on as that says. `spare` is the
/// local for the function's result, where the stretch may have it.
pub(super) fn stand_in(
    stretch: &Stretch,
    spare: u32,
    code: &mut Code,
    call: impl FnOnce(&mut Code),
) {
    let goes_on = stretch.ways.contains(&Way::On);
    let returns = stretch.ways.contains(&Way::Return);
    let is_table = stretch.ways.len() > 2;
    let n_landings = match is_table {
        true => u32::from(goes_on) + u32::from(returns),
        false => 0,
    };
    for _ in 0..n_landings {
        code.instruction(&Instruction::Block(BlockType::Empty));
    }
    for local in &stretch.given {
        code.instruction(&Instruction::LocalGet(*local));
    }
    call(code);
    if stretch.result.is_some() {
        code.instruction(&Instruction::LocalSet(spare));
    }
    for local in stretch.returned.iter().rev() {
        code.instruction(&Instruction::LocalSet(*local));
    }
    let leave = |code: &mut Code| {
        if stretch.result.is_some() {
            code.instruction(&Instruction::LocalGet(spare));
        }
        code.instruction(&Instruction::Return);
    };
    match stretch.ways[..] {
        [] => {
            code.instruction(&Instruction::Unreachable);
        }
        [Way::On] => {}
        [Way::Up(up)] => {
            code.instruction(&Instruction::Br(up));
        }
        [Way::Return] => leave(code),
        [Way::On, Way::Up(up)] => {
            code.instruction(&Instruction::BrIf(up));
        }
        [Way::On, Way::Return] => {
            code.instruction(&Instruction::If(BlockType::Empty));
            leave(code);
            code.instruction(&Instruction::End);
        }
        [Way::Up(first), Way::Up(second)] => {
            code.instruction(&Instruction::BrIf(second));
            code.instruction(&Instruction::Br(first));
        }
        [Way::Up(up), Way::Return] => {
            code.instruction(&Instruction::I32Eqz);
            code.instruction(&Instruction::BrIf(up));
            leave(code);
        }
        ref ways => {
            let depth = |way: &Way| match way {
                Way::Return => 0,
                Way::On => u32::from(returns),
                Way::Up(up) => up + n_landings,
            };
            let mut depths: Vec<u32> = ways.iter().map(depth).collect();
            let last = depths.pop().unwrap_or_default();
            code.instruction(&Instruction::BrTable(Cow::Owned(depths), last));
            if returns {
                code.instruction(&Instruction::End);
                leave(code);
            }
            if goes_on {
                code.instruction(&Instruction::End);
            }
        }
    }
}

/// The stretch as a function.
pub(super) fn function<W: CallWriter>(
    writer: &mut W,
    body: &Body<'_>,
    stretch: &Stretch,
) -> Result<Code, Error<Infallible>> {
    let (renumbered, fresh) = stretch.new_locals(body);
    let n_locals = u32::try_from(renumbered.len()).unwrap_or_default();
    let mut locals = fresh
        .into_iter()
        .map(|kind| Ok((1, writer.val_type(kind)?)))
        .collect::<Result<Vec<_>, Error<Infallible>>>()?;
    let chosen = n_locals;
    locals.push((1, wasm_encoder::ValType::I32));
    let result = n_locals + 1;
    if let Some(kind) = stretch.result {
        locals.push((1, writer.val_type(kind)?));
    }
    let mut moving = Moving {
        body,
        stretch,
        renumbered,
        chosen,
        result,
        code: Code::new(locals),
    };
    for at in stretch.operators.clone() {
        moving.write(writer, at)?;
    }
    if stretch.ways.contains(&Way::On) {
        moving.tell(Way::On);
    }
    moving.code.instruction(&Instruction::End);
    Ok(moving.code)
}

struct Moving<'a> {
    body: &'a Body<'a>,
    stretch: &'a Stretch,
    renumbered: BTreeMap<u32, u32>,
    /// The local that holds what a table of branches chooses by.
    chosen: u32,
    /// The local that holds what the whole function is left with.
    result: u32,
    code: Code,
}

impl Moving<'_> {
    fn write<W: CallWriter>(&mut self, writer: &mut W, at: usize) -> Result<(), Error<Infallible>> {
        let local = |local: &u32| self.renumbered[local];
        let instruction = match &self.body.operators[at] {
            Operator::LocalGet { local_index } => Instruction::LocalGet(local(local_index)),
            Operator::LocalSet { local_index } => Instruction::LocalSet(local(local_index)),
            Operator::LocalTee { local_index } => Instruction::LocalTee(local(local_index)),
            Operator::Br { relative_depth } => {
                if let Some(way) = self.way(at, *relative_depth) {
                    self.leave(way);
                    return Ok(());
                }
                Instruction::Br(*relative_depth)
            }
            Operator::BrIf { relative_depth } => {
                if let Some(way) = self.way(at, *relative_depth) {
                    self.code.instruction(&Instruction::If(BlockType::Empty));
                    self.leave(way);
                    self.code.instruction(&Instruction::End);
                    return Ok(());
                }
                Instruction::BrIf(*relative_depth)
            }
            Operator::BrTable { targets } => {
                let ups: Vec<u32> = targets
                    .targets()
                    .chain([Ok(targets.default())])
                    .flatten()
                    .collect();
                self.write_table(at, &ups);
                return Ok(());
            }
            Operator::Return => {
                self.leave(Way::Return);
                return Ok(());
            }
            other => return write(writer, &mut self.code, other),
        };
        self.code.instruction(&instruction);
        Ok(())
    }

    /// The way that a branch is; `None` where it stays within.
    fn way(&self, at: usize, up: u32) -> Option<Way> {
        let n_frames = self.body.frames[self.stretch.operators.start].len();
        let frames = self.body.frames[at].len();
        let up_outside = (up as usize).checked_sub(frames - n_frames)?;
        if frames - 1 == up as usize {
            return Some(Way::Return);
        }
        u32::try_from(up_outside).ok().map(Way::Up)
    }

    /// Each way out of a table has a block of its own around it.
    fn write_table(&mut self, at: usize, ups: &[u32]) {
        let mut ways: Vec<Way> = ups.iter().filter_map(|up| self.way(at, *up)).collect();
        ways.sort_unstable();
        ways.dedup();
        let n_ways = u32::try_from(ways.len()).unwrap_or_default();
        self.code.instruction(&Instruction::LocalSet(self.chosen));
        for _ in &ways {
            self.code.instruction(&Instruction::Block(BlockType::Empty));
        }
        self.code.instruction(&Instruction::LocalGet(self.chosen));
        let depth = |up: &u32| match self.way(at, *up) {
            None => up + n_ways,
            Some(way) => (0..)
                .zip(&ways)
                .find(|(_, it)| **it == way)
                .map_or(0, |(depth, _)| depth),
        };
        let mut depths: Vec<u32> = ups.iter().map(depth).collect();
        let last = depths.pop().unwrap_or_default();
        self.code
            .instruction(&Instruction::BrTable(Cow::Owned(depths), last));
        for way in ways {
            self.code.instruction(&Instruction::End);
            self.leave(way);
        }
    }

    /// Ends the function, on a way.
    fn leave(&mut self, way: Way) {
        if way == Way::Return && self.stretch.result.is_some() {
            self.code.instruction(&Instruction::LocalSet(self.result));
        }
        self.tell(way);
        self.code.instruction(&Instruction::Return);
    }

    /// What the function gives back.
    fn tell(&mut self, way: Way) {
        if self.stretch.ways.len() > 1 {
            self.code
                .instruction(&Instruction::I32Const(self.stretch.code(way)));
        }
        for local in &self.stretch.returned {
            self.code
                .instruction(&Instruction::LocalGet(self.renumbered[local]));
        }
        if self.stretch.result.is_some() {
            self.code.instruction(&Instruction::LocalGet(self.result));
        }
    }
}
