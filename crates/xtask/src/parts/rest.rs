//! The first part once more in two: what is run before the first rows are there, and the rest.
//!
//! Most of a program is not run while it starts, and what is can be seen by running it: `calls` knows it of functions and
//! of the blocks they are made of. What was not run goes into a module of its own, by the same memory, the same stack and
//! the same table of functions, which the page fetches with the first part that it asks for. Where something of it is
//! called sooner, the call itself fetches it: nothing is ever missing, it is late at worst.
//!
//! The two modules call each other through one more table, [`SHARED`]. Its first places are those functions of the rest
//! that the first part knows: there a small function stands in for each of them, which makes sure that the rest is here
//! and hands the call on. Next are stretches of functions of the first part, which are functions of the rest now. Behind
//! them are those functions of the first part that the rest calls.

mod blocks;
mod body;
mod calls;
mod cold;
mod counted;
mod first;
mod late;
mod moved;
mod plan;
mod survey;
#[cfg(test)]
mod tests;

use wasm_encoder::reencode::Reencode;
use wasm_encoder::{Function as Code, Instruction, Module, RefType, TableType};
use wasmparser::{Parser, Validator};

pub(super) use calls::Calls;
pub(super) use counted::{NOTES, counted};
use first::First;
use late::Late;
use plan::Plan;

/// What the first part imports to have the rest fetched at once, from the script that fetches parts.
pub(super) const FETCH: &str = "fetchRestNow";
/// What the first part exports its second table as.
pub(super) const SHARED: &str = "shared";
/// What the rest imports from what the first part exports.
pub(super) const FIRST: &str = "first";

/// A stretch is moved only if that spares the first part so many bytes: packed it is a third of them.
const LEAST_GAIN_BYTES: i64 = 24;

/// Both parts.
pub(super) struct Halves {
    pub(super) first: Vec<u8>,
    pub(super) rest: Vec<u8>,
}

/// What is known of a function.
pub(super) enum Seen {
    /// Nothing: it stays as it is.
    Unknown,
    /// It was not called.
    NotRun,
    /// It was: which of its blocks were run.
    Run(Vec<bool>),
}

/// Cuts the module, which has [`FETCH`] from `from`. `None` where it is no module, or has something that nobody here makes.
pub(super) fn cut(wasm: &[u8], from: &str, calls: &Calls) -> Option<Halves> {
    let seen = |name: &str, shape| calls.seen(name, shape);
    cut_as_seen(wasm, from, seen, LEAST_GAIN_BYTES)
}

fn cut_as_seen(
    wasm: &[u8],
    from: &str,
    seen: impl Fn(&str, u32) -> Seen,
    least_gain_bytes: i64,
) -> Option<Halves> {
    let plan = Plan::of(wasm, seen, least_gain_bytes)?;
    let mut first = Module::new();
    First { plan: &plan, from }
        .parse_core_module(&mut first, Parser::new(0), wasm)
        .ok()?;
    let halves = Halves {
        first: first.finish(),
        rest: Late { plan: &plan }.module(wasm)?,
    };
    for half in [&halves.first, &halves.rest] {
        Validator::new().validate_all(half).ok()?;
    }
    Some(halves)
}

fn shared_table(plan: &Plan<'_>) -> TableType {
    TableType {
        element_type: RefType::FUNCREF,
        table64: false,
        minimum: plan.n_shared(),
        maximum: Some(plan.n_shared()),
        shared: false,
    }
}

/// Calls what a table has at a place.
fn hand_on(body: &mut Code, place: u32, kind: u32, table: u32) {
    body.instruction(&Instruction::I32Const(place as i32));
    body.instruction(&Instruction::CallIndirect {
        type_index: kind,
        table_index: table,
    });
}
