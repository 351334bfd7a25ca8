//! Where one block of a function ends and the next begins: what is within one is run as a whole or not at all.

use wasmparser::{FunctionBody, Operator, Parser, Payload};

/// Whether another block begins behind this.
pub(super) fn ends(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::If { .. }
            | Operator::Else
            | Operator::End
            | Operator::Loop { .. }
            | Operator::Br { .. }
            | Operator::BrIf { .. }
            | Operator::BrTable { .. }
            | Operator::Return
            | Operator::Unreachable
    )
}

/// The shape of a function with one operator more: what kinds of operators it is made of, in which order. Numbers do not
/// count: they are other ones wherever something else of the program has changed.
pub(super) fn shape(shape: u32, operator: &Operator<'_>) -> u32 {
    let kind = match operator {
        Operator::Call { .. } => 1,
        Operator::Br { relative_depth } => 16 + relative_depth,
        Operator::BrIf { relative_depth } => 0x1000 + relative_depth,
        Operator::If { .. } => 2,
        Operator::Else => 3,
        Operator::End => 4,
        Operator::Block { .. } => 5,
        Operator::Loop { .. } => 6,
        Operator::BrTable { targets } => 0x10_0000 + targets.len(),
        Operator::Return => 7,
        Operator::Unreachable => 8,
        Operator::CallIndirect { .. } => 9,
        _ => return shape,
    };
    // FNV-1a.
    (shape ^ kind).wrapping_mul(0x0100_0193)
}

/// The blocks of a function.
pub(super) fn n_in(body: &FunctionBody<'_>) -> Option<u32> {
    let mut n_blocks = 0;
    let mut begins = true;
    for operator in body.get_operators_reader().ok()? {
        n_blocks += u32::from(begins);
        begins = ends(&operator.ok()?);
    }
    Some(n_blocks)
}

/// The blocks of all functions.
pub(super) fn n_in_module(wasm: &[u8]) -> Option<u32> {
    let mut n_blocks = 0;
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::CodeSectionEntry(body) = payload.ok()? {
            n_blocks += n_in(&body)?;
        }
    }
    Some(n_blocks)
}
