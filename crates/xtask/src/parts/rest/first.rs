//! The first part, written.

use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, ElementSection, Elements, EntityType, ExportKind,
    ExportSection, Function as Code, FunctionSection, ImportSection, Instruction, TableSection,
    TypeSection,
};
use wasmparser::{
    CodeSectionReader, ElementSectionReader, ExportSectionReader, FunctionBody,
    FunctionSectionReader, ImportSectionReader, Imports, TableSectionReader, TypeRef,
    TypeSectionReader,
};

use super::moved::{self, CallWriter};
use super::plan::{Parted, Plan};
use super::{FETCH, SHARED, hand_on, shared_table};

pub(super) struct First<'a> {
    pub(super) plan: &'a Plan<'a>,
    /// What fetches the rest comes from there.
    pub(super) from: &'a str,
}

impl First<'_> {
    /// The number of the shared table.
    fn shared(&self) -> u32 {
        self.plan.survey.n_tables
    }

    /// Stands in for a function of the rest.
    fn stand_in(&self, function: u32, place: u32) -> Code {
        let kind = self.plan.kind_of(function);
        let mut body = Code::new([]);
        body.instruction(&Instruction::Call(self.plan.make_sure()));
        for value in 0..self.plan.survey.n_values[kind as usize] {
            body.instruction(&Instruction::LocalGet(value));
        }
        hand_on(&mut body, place, kind, self.shared());
        body.instruction(&Instruction::End);
        body
    }

    /// Has the rest fetched where it is not here.
    fn making_sure(&self) -> Code {
        let mut body = Code::new([]);
        for instruction in [
            Instruction::I32Const(0),
            Instruction::TableGet(self.shared()),
            Instruction::RefIsNull,
            Instruction::If(BlockType::Empty),
            Instruction::Call(self.plan.fetch()),
            Instruction::End,
            Instruction::End,
        ] {
            body.instruction(&instruction);
        }
        body
    }

    /// A function without its stretches.
    fn parted(
        &mut self,
        function: u32,
        parted: &Parted<'_>,
        body: &FunctionBody<'_>,
    ) -> Result<Code, Error<Infallible>> {
        let mut locals = Vec::new();
        for declared in body.get_locals_reader()? {
            let (n_locals, kind) = declared?;
            locals.push((n_locals, self.val_type(kind)?));
        }
        let spare = parted.body.locals.len() as u32;
        if let Some(result) = parted.stretches.iter().find_map(|it| it.result) {
            locals.push((1, self.val_type(result)?));
        }
        let mut code = Code::new(locals);
        let of_function = self.plan.moved.iter().filter(|(of, _, _)| *of == function);
        let kinds: Vec<u32> = of_function.map(|(_, _, kind)| *kind).collect();
        let (shared, make_sure) = (self.shared(), self.plan.make_sure());
        moved::with_stretches_moved(
            self,
            &parted.body,
            &mut code,
            &parted.stretches,
            |code, number| {
                code.instruction(&Instruction::Call(make_sure));
                let place = parted.place + number as u32;
                moved::stand_in(&parted.stretches[number], spare, code, |code| {
                    hand_on(code, place, kinds[number], shared);
                });
            },
        )?;
        Ok(code)
    }
}

impl CallWriter for First<'_> {
    fn call(&mut self, code: &mut Code, function: u32) -> Result<(), Error<Infallible>> {
        let number = self.function_index(function)?;
        code.instruction(&Instruction::Call(number));
        Ok(())
    }
}

impl Reencode for First<'_> {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32, Error<Infallible>> {
        let number = self.plan.in_first.get(&function).copied();
        // The module is checked when it is written: a number that is none does not pass.
        Ok(number.unwrap_or(u32::MAX))
    }

    fn parse_type_section(
        &mut self,
        types: &mut TypeSection,
        section: TypeSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        super::late::write_types(self, self.plan, types, section)
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
                function += 1;
                if !self.plan.in_first.contains_key(&(function - 1)) {
                    continue;
                }
            }
            self.parse_imports(imports, Imports::Single(0, import))?;
        }
        let kind = self.plan.plain_kind();
        imports.import(self.from, FETCH, EntityType::Function(kind));
        Ok(())
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        _: FunctionSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        let own = self.plan.in_first.range(self.plan.survey.n_imported..);
        for (function, _) in own {
            functions.function(self.plan.kind_of(*function));
        }
        functions.function(self.plan.plain_kind());
        Ok(())
    }

    fn parse_table_section(
        &mut self,
        tables: &mut TableSection,
        section: TableSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        utils::parse_table_section(self, tables, section)?;
        tables.table(shared_table(self.plan));
        Ok(())
    }

    fn parse_export_section(
        &mut self,
        exports: &mut ExportSection,
        section: ExportSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        utils::parse_export_section(self, exports, section)?;
        exports.export(SHARED, ExportKind::Table, self.shared());
        Ok(())
    }

    fn parse_element_section(
        &mut self,
        elements: &mut ElementSection,
        section: ElementSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        // What other parts call is put into the table by the rest: there is none of them before it.
        if let Some(of_linker) = section.into_iter().next() {
            self.parse_element(elements, of_linker?)?;
        }
        let lent = self.plan.lent.keys();
        let lent: Vec<u32> = lent.map(|it| self.plan.in_first[it]).collect();
        elements.active(
            Some(self.shared()),
            &ConstExpr::i32_const(self.plan.lent_from()),
            Elements::Functions(lent.into()),
        );
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: CodeSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        let plan = self.plan;
        for (function, body) in plan.survey.own_numbers().zip(section) {
            let body = body?;
            if let Some(place) = plan.stood_in.get(&function) {
                code.function(&self.stand_in(function, *place));
            } else if let Some(parted) = plan.parted.get(&function) {
                code.function(&self.parted(function, parted, &body)?);
            } else if !plan.late.contains(&function) {
                self.parse_function_body(code, body)?;
            }
        }
        code.function(&self.making_sure());
        Ok(())
    }
}
