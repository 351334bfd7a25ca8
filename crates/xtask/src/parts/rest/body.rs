//! A function's body, read as far as it takes to move stretches of it elsewhere: what nests in what, how much lies on the
//! stack where, and which locals are still read.

use std::collections::BTreeSet;

use wasmparser::{
    BlockType, FuncToValidate, FuncValidatorAllocations, FunctionBody, Operator, ValType,
    WasmModuleResources,
};

use super::blocks;

/// The body of a function.
pub(super) struct Body<'a> {
    pub(super) operators: Vec<Operator<'a>>,
    /// How many bytes each operator takes.
    pub(super) byte_lens: Vec<usize>,
    /// The block that each operator is of.
    pub(super) blocks: Vec<usize>,
    /// The types of its values and its own locals.
    pub(super) locals: Vec<ValType>,
    pub(super) results: Vec<ValType>,
    /// Of what opens a frame, where it is closed; the function itself is closed by the last operator.
    pub(super) closed_at: Vec<usize>,
    /// The frames each operator is in, of the function itself at first, by what opened them. What opens or closes one
    /// is in the frames around it.
    pub(super) frames: Vec<Vec<Option<usize>>>,
    /// Values that lie on the stack of the innermost frame before each operator; `None` where none is reached.
    pub(super) n_stacked: Vec<Option<usize>>,
    /// The locals that are read from each operator on, before they are written.
    live: Vec<BTreeSet<u32>>,
}

impl<'a> Body<'a> {
    /// `None` where it is not valid.
    pub(super) fn read<T: WasmModuleResources>(
        validated: FuncToValidate<T>,
        body: &FunctionBody<'a>,
    ) -> Option<Body<'a>> {
        let kind = validated.resources.sub_type_at(validated.ty)?;
        let kind = kind.composite_type.unwrap_func().clone();
        let mut validator = validated.into_validator(FuncValidatorAllocations::default());
        let mut reader = body.get_binary_reader();
        validator.read_locals(&mut reader).ok()?;
        let locals = (0..validator.len_locals())
            .map(|local| validator.get_local_type(local))
            .collect::<Option<_>>()?;
        let mut read = Body {
            operators: Vec::new(),
            byte_lens: Vec::new(),
            blocks: Vec::new(),
            locals,
            results: kind.results().to_vec(),
            closed_at: Vec::new(),
            frames: Vec::new(),
            n_stacked: Vec::new(),
            live: Vec::new(),
        };
        let mut open = vec![None];
        let (mut block, mut begins) = (0, false);
        let mut operators = body.get_operators_reader().ok()?;
        while !operators.eof() {
            let from = operators.original_position();
            let operator = operators.read().ok()?;
            let at = read.operators.len();
            let frame = validator.get_control_frame(0)?;
            let height = validator.operand_stack_height() as usize - frame.height;
            read.n_stacked.push((!frame.unreachable).then_some(height));
            validator.op(from, &operator).ok()?;
            block += usize::from(begins);
            begins = blocks::ends(&operator);
            read.blocks.push(block);
            read.byte_lens.push(operators.original_position() - from);
            read.closed_at.push(at);
            if let Operator::End | Operator::Else = operator
                && let Some(opened) = open.pop()?
            {
                // An `if` is closed by its `else` at first, and then both by the end.
                read.closed_at[opened] = at;
            }
            read.frames.push(open.clone());
            match operator {
                Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => {
                    open.push(Some(at));
                }
                Operator::Else => open.push(Some(at)),
                _ => {}
            }
            read.operators.push(operator);
        }
        read.find_live();
        Some(read)
    }

    /// Where a branch goes, so many frames up from an operator; `None` where it leaves the function.
    pub(super) fn target(&self, at: usize, up: u32) -> Option<usize> {
        let frames = &self.frames[at];
        let opened = frames[frames.len() - 1 - up as usize]?;
        match self.operators[opened] {
            Operator::Loop { .. } => Some(opened + 1),
            _ => Some(self.end_of(opened) + 1),
        }
    }

    /// Whether a branch to the frame so many up from an operator takes values along.
    pub(super) fn takes_values(&self, at: usize, up: u32) -> bool {
        let frames = &self.frames[at];
        match frames[frames.len() - 1 - up as usize] {
            None => !self.results.is_empty(),
            Some(opened) => match self.operators[opened] {
                Operator::Loop { blockty } => matches!(blockty, BlockType::FuncType(_)),
                Operator::Block { blockty } | Operator::If { blockty } => {
                    blockty != BlockType::Empty
                }
                // That of its `if` is not known here.
                _ => true,
            },
        }
    }

    /// Where what was opened ends, whatever is between.
    pub(super) fn end_of(&self, opened: usize) -> usize {
        let closed = self.closed_at[opened];
        match self.operators[closed] {
            Operator::Else => self.closed_at[closed],
            _ => closed,
        }
    }

    /// What is called by number, and where.
    pub(super) fn calls(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let operators = self.operators.iter().enumerate();
        operators.filter_map(|(at, operator)| match operator {
            Operator::Call { function_index } => Some((at, *function_index)),
            _ => None,
        })
    }

    /// The locals that are read from here on, before they are written.
    pub(super) fn live(&self, at: usize) -> &BTreeSet<u32> {
        &self.live[at]
    }

    /// What may be done next.
    fn next(&self, at: usize) -> Vec<usize> {
        let mut next: Vec<Option<usize>> = Vec::new();
        match &self.operators[at] {
            Operator::Br { relative_depth } => next.push(self.target(at, *relative_depth)),
            Operator::BrIf { relative_depth } => {
                next.extend([Some(at + 1), self.target(at, *relative_depth)]);
            }
            Operator::BrTable { targets } => {
                let all = targets.targets().flatten().chain([targets.default()]);
                next.extend(all.map(|up| self.target(at, up)));
            }
            Operator::If { .. } => next.extend([Some(at + 1), Some(self.closed_at[at] + 1)]),
            Operator::Else => next.push(Some(self.closed_at[at] + 1)),
            Operator::Return | Operator::Unreachable => {}
            _ => next.push(Some(at + 1)),
        }
        let len = self.operators.len();
        next.into_iter()
            .flatten()
            .filter(|next| *next < len)
            .collect()
    }

    /// Back from the end, as often as loops add something.
    fn find_live(&mut self) {
        let len = self.operators.len();
        self.live = vec![BTreeSet::new(); len];
        let next: Vec<Vec<usize>> = (0..len).map(|at| self.next(at)).collect();
        let mut changes = true;
        while changes {
            changes = false;
            for at in (0..len).rev() {
                let mut live = BTreeSet::new();
                for next in &next[at] {
                    live.extend(&self.live[*next]);
                }
                match self.operators[at] {
                    Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                        live.remove(&local_index);
                    }
                    Operator::LocalGet { local_index } => {
                        live.insert(local_index);
                    }
                    _ => {}
                }
                if live != self.live[at] {
                    self.live[at] = live;
                    changes = true;
                }
            }
        }
    }
}
