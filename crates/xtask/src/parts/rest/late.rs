//! The rest, written.

use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{
    CodeSection, ConstExpr, ElementSection, Elements, Function as Code, FunctionSection,
    GlobalType, ImportSection, Instruction, MemoryType, Module, RefType, StartSection, TableType,
    TypeSection, ValType,
};
use wasmparser::{
    FunctionBody, ImportSectionReader, Imports, Operator, Parser, Payload, TypeRef,
    TypeSectionReader,
};

use super::moved::{self, CallWriter};
use super::plan::Plan;
use super::{FIRST, SHARED, hand_on, shared_table};

/// The number of the shared table, behind that of functions.
const SHARED_TABLE: u32 = 1;

pub(super) struct Late<'a> {
    pub(super) plan: &'a Plan<'a>,
}

/// All types of the module, that of functions that take and give nothing, and those of stretches.
pub(super) fn write_types<W: Reencode<Error = Infallible>>(
    writer: &mut W,
    plan: &Plan<'_>,
    types: &mut TypeSection,
    section: TypeSectionReader<'_>,
) -> Result<(), Error<Infallible>> {
    utils::parse_type_section(writer, types, section)?;
    types.ty().function([], []);
    for (given, results) in &plan.kinds {
        let given = writer.val_types(given.clone())?;
        let results = writer.val_types(results.clone())?;
        types.ty().function(given, results);
    }
    Ok(())
}

impl Late<'_> {
    pub(super) fn module(mut self, wasm: &[u8]) -> Option<Vec<u8>> {
        let plan = self.plan;
        let mut types = TypeSection::new();
        let mut imports = ImportSection::new();
        let mut code = CodeSection::new();
        let mut own = plan.survey.own_numbers();
        for payload in Parser::new(0).parse_all(wasm) {
            match payload.ok()? {
                Payload::TypeSection(section) => {
                    write_types(&mut self, plan, &mut types, section).ok()?;
                }
                Payload::ImportSection(section) => {
                    self.parse_import_section(&mut imports, section).ok()?;
                }
                // Each body has its number, whichever half it is of.
                Payload::CodeSectionEntry(body) if plan.late.contains(&own.next()?) => {
                    self.parse_function_body(&mut code, body).ok()?;
                }
                _ => {}
            }
        }
        let mut functions = FunctionSection::new();
        for function in &plan.late {
            functions.function(plan.kind_of(*function));
        }
        for (function, number, kind) in &plan.moved {
            let parted = &plan.parted[function];
            let stretch = &parted.stretches[*number];
            code.function(&moved::function(&mut self, &parted.body, stretch).ok()?);
            functions.function(*kind);
        }
        functions.function(plan.plain_kind());
        code.function(&self.lending());
        let n_imported = plan.in_rest.len() - plan.late.len();
        let function_index = (plan.in_rest.len() + plan.moved.len()) as u32;
        self.import_first(&mut imports);
        let mut module = Module::new();
        module
            .section(&types)
            .section(&imports)
            .section(&functions)
            .section(&StartSection { function_index })
            .section(&self.elements(n_imported + plan.late.len()))
            .section(&code);
        Some(module.finish())
    }

    /// Memory, stack and tables are those of the first part.
    fn import_first(&self, imports: &mut ImportSection) {
        let functions = TableType {
            element_type: RefType::FUNCREF,
            table64: false,
            minimum: 0,
            maximum: None,
            shared: false,
        };
        let memory = MemoryType {
            minimum: 0,
            maximum: None,
            memory64: false,
            shared: false,
            page_size_log2: None,
        };
        let stack = GlobalType {
            val_type: ValType::I32,
            mutable: true,
            shared: false,
        };
        imports.import(FIRST, "__indirect_function_table", functions);
        imports.import(FIRST, SHARED, shared_table(self.plan));
        imports.import(FIRST, "memory", memory);
        imports.import(FIRST, "__wasm_split_shared0", stack);
    }

    /// What the rest has for the tables; the first stretch has the number `first_moved`.
    fn elements(&self, first_moved: usize) -> ElementSection {
        let plan = self.plan;
        let mut elements = ElementSection::new();
        let stood_in = plan.stood_in.keys().map(|it| plan.in_rest[it]);
        let moved = (first_moved as u32..).take(plan.moved.len());
        let shared: Vec<u32> = stood_in.chain(moved).collect();
        elements.active(
            Some(SHARED_TABLE),
            &ConstExpr::i32_const(0),
            Elements::Functions(shared.into()),
        );
        // Where the function itself can stand, nothing stands in for it any more.
        let mut late: Vec<(u32, u32)> = plan
            .survey
            .in_table
            .iter()
            .chain(&plan.survey.for_parts)
            .filter(|(_, function)| plan.late.contains(function))
            .map(|(place, function)| (*place, plan.in_rest[function]))
            .collect();
        late.sort_unstable();
        for run in late.chunk_by(|one, next| one.0 + 1 == next.0) {
            let functions: Vec<u32> = run.iter().map(|(_, function)| *function).collect();
            elements.active(
                None,
                &ConstExpr::i32_const(run[0].0 as i32),
                Elements::Functions(functions.into()),
            );
        }
        elements
    }

    /// Puts those functions of the first part into the table of functions that other parts call.
    fn lending(&self) -> Code {
        let mut body = Code::new([]);
        for (place, function) in &self.plan.survey.for_parts {
            if let Some(lent) = self.plan.lent.get(function) {
                body.instruction(&Instruction::I32Const(*place as i32));
                body.instruction(&Instruction::I32Const(*lent as i32));
                body.instruction(&Instruction::TableGet(SHARED_TABLE));
                body.instruction(&Instruction::TableSet(0));
            }
        }
        body.instruction(&Instruction::End);
        body
    }
}

impl CallWriter for Late<'_> {
    fn call(&mut self, code: &mut Code, function: u32) -> Result<(), Error<Infallible>> {
        match self.plan.lent.get(&function) {
            Some(place) if !self.plan.in_rest.contains_key(&function) => {
                hand_on(code, *place, self.plan.kind_of(function), SHARED_TABLE);
            }
            _ => {
                let number = self.function_index(function)?;
                code.instruction(&Instruction::Call(number));
            }
        }
        Ok(())
    }
}

impl Reencode for Late<'_> {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32, Error<Infallible>> {
        let number = self.plan.in_rest.get(&function).copied();
        // The module is checked when it is written: a number that is none does not pass.
        Ok(number.unwrap_or(u32::MAX))
    }

    fn parse_import_section(
        &mut self,
        imports: &mut ImportSection,
        section: ImportSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        let mut function = 0;
        for import in section.into_imports() {
            let import = import?;
            if matches!(import.ty, TypeRef::Func(_)) {
                if self.plan.in_rest.contains_key(&function) {
                    self.parse_imports(imports, Imports::Single(0, import))?;
                }
                function += 1;
            }
        }
        Ok(())
    }

    fn parse_function_body(
        &mut self,
        code: &mut CodeSection,
        body: FunctionBody<'_>,
    ) -> Result<(), Error<Infallible>> {
        let mut function = self.new_function_with_parsed_locals(&body)?;
        for operator in body.get_operators_reader()? {
            match operator? {
                Operator::Call { function_index } => self.call(&mut function, function_index)?,
                other => {
                    function.instruction(&self.instruction(other)?);
                }
            }
        }
        code.function(&function);
        Ok(())
    }
}
