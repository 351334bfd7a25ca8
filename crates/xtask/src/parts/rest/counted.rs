//! A module that notes which of its blocks are run: what comes of it is what `rest` cuts by.

use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{
    CodeSection, ExportKind, ExportSection, Instruction, MemArg, MemorySection, MemoryType, Module,
};
use wasmparser::{ExportSectionReader, FunctionBody, MemorySectionReader, Parser};

use super::blocks;

/// What the memory is exported as in which a byte is 1 for each block that was run, in the order of the code.
pub(in crate::parts) const NOTES: &str = "blocks";

/// The same module, with notes.
pub(in crate::parts) fn counted(wasm: &[u8]) -> Option<Vec<u8>> {
    let mut module = Module::new();
    let mut noted = Noted {
        n_blocks: blocks::n_in_module(wasm)?,
        at: 0,
    };
    noted
        .parse_core_module(&mut module, Parser::new(0), wasm)
        .ok()?;
    Some(module.finish())
}

struct Noted {
    n_blocks: u32,
    /// Blocks that are written.
    at: u32,
}

/// The number of the memory with the notes: behind the module's own.
const MEMORY: u32 = 1;
const PAGE_BYTES: u32 = 64 * 1024;

impl Reencode for Noted {
    type Error = Infallible;

    fn parse_memory_section(
        &mut self,
        memories: &mut MemorySection,
        section: MemorySectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        utils::parse_memory_section(self, memories, section)?;
        memories.memory(MemoryType {
            minimum: u64::from(self.n_blocks.div_ceil(PAGE_BYTES)),
            maximum: None,
            memory64: false,
            shared: false,
            page_size_log2: None,
        });
        Ok(())
    }

    fn parse_export_section(
        &mut self,
        exports: &mut ExportSection,
        section: ExportSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        utils::parse_export_section(self, exports, section)?;
        exports.export(NOTES, ExportKind::Memory, MEMORY);
        Ok(())
    }

    fn parse_function_body(
        &mut self,
        code: &mut CodeSection,
        body: FunctionBody<'_>,
    ) -> Result<(), Error<Infallible>> {
        let mut function = self.new_function_with_parsed_locals(&body)?;
        let mut begins = true;
        for operator in body.get_operators_reader()? {
            let operator = operator?;
            if begins {
                function.instruction(&Instruction::I32Const(self.at as i32));
                function.instruction(&Instruction::I32Const(1));
                function.instruction(&Instruction::I32Store8(MemArg {
                    offset: 0,
                    align: 0,
                    memory_index: MEMORY,
                }));
                self.at += 1;
            }
            begins = blocks::ends(&operator);
            function.instruction(&self.instruction(operator)?);
        }
        code.function(&function);
        Ok(())
    }
}
