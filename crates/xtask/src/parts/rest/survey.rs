//! What a module is made of, as far as it is decided by that what goes where.

use std::collections::BTreeMap;

use wasmparser::{
    CompositeInnerType, ConstExpr, ElementItems, ElementKind, ExternalKind, FunctionBody,
    KnownCustom, Name, Operator, Parser, Payload, TypeRef,
};

use super::blocks;

/// A module, looked at.
#[derive(Default)]
pub(super) struct Survey {
    /// Functions that come from outside: they have the first numbers.
    pub(super) n_imported: u32,
    pub(super) n_tables: u32,
    pub(super) n_globals: u32,
    /// How many values a function of each type takes.
    pub(super) n_values: Vec<u32>,
    /// The type of each function, those from outside among them.
    pub(super) types: Vec<u32>,
    /// The module's own functions.
    pub(super) functions: Vec<Function>,
    /// Functions that are called from outside: by name, or to begin with.
    pub(super) known_elsewhere: Vec<u32>,
    /// Where the first table has a function from the start: place and function.
    pub(super) in_table: Vec<(u32, u32)>,
    /// Where it has one for other parts alone.
    pub(super) for_parts: Vec<(u32, u32)>,
    /// The names of functions.
    pub(super) names: BTreeMap<u32, String>,
}

/// One of a module's own functions.
#[derive(Default)]
pub(super) struct Function {
    /// What it calls by number.
    pub(super) calls: Vec<u32>,
    /// It touches what only its own module has.
    pub(super) is_bound: bool,
    /// What tells it from a function of the same name that was compiled of something else.
    pub(super) shape: u32,
}

impl Survey {
    /// `None` where it is no module, or has something that nobody here makes.
    pub(super) fn of(wasm: &[u8]) -> Option<Survey> {
        let mut survey = Survey::default();
        for payload in Parser::new(0).parse_all(wasm) {
            survey.take(payload.ok()?)?;
        }
        Some(survey)
    }

    fn take(&mut self, payload: Payload<'_>) -> Option<()> {
        match payload {
            Payload::TypeSection(section) => {
                for group in section {
                    for kind in group.ok()?.into_types() {
                        let CompositeInnerType::Func(kind) = kind.composite_type.inner else {
                            return None;
                        };
                        self.n_values.push(u32::try_from(kind.params().len()).ok()?);
                    }
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    match import.ok()?.ty {
                        TypeRef::Func(kind) => {
                            self.types.push(kind);
                            self.n_imported += 1;
                        }
                        TypeRef::Table(_) => self.n_tables += 1,
                        TypeRef::Global(_) => self.n_globals += 1,
                        TypeRef::Memory(_) => {}
                        TypeRef::Tag(_) | TypeRef::FuncExact(_) => return None,
                    }
                }
            }
            Payload::FunctionSection(section) => {
                for kind in section {
                    self.types.push(kind.ok()?);
                }
            }
            Payload::TableSection(section) => self.n_tables += section.count(),
            Payload::GlobalSection(section) => self.n_globals += section.count(),
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export.ok()?;
                    if export.kind == ExternalKind::Func {
                        self.known_elsewhere.push(export.index);
                    }
                }
            }
            Payload::StartSection { func, .. } => self.known_elsewhere.push(func),
            Payload::ElementSection(section) => {
                for (number, element) in section.into_iter().enumerate() {
                    let element = element.ok()?;
                    let items = listed(element.items)?;
                    let ElementKind::Active {
                        table_index: None | Some(0),
                        offset_expr,
                    } = element.kind
                    else {
                        return None;
                    };
                    let places = (constant(&offset_expr)?..).zip(items);
                    let places = places.filter_map(|(place, it)| Some((place, it?)));
                    // The linker makes the first segment, and the splitter the others.
                    match number {
                        0 => self.in_table.extend(places),
                        _ => self.for_parts.extend(places),
                    }
                }
            }
            Payload::CodeSectionEntry(body) => self.functions.push(Function::of(&body)?),
            Payload::CustomSection(section) => {
                if let KnownCustom::Name(names) = section.as_known() {
                    for part in names {
                        let Name::Function(names) = part.ok()? else {
                            continue;
                        };
                        for name in names {
                            let name = name.ok()?;
                            self.names.insert(name.index, name.name.to_owned());
                        }
                    }
                }
            }
            _ => {}
        }
        Some(())
    }

    /// What a function of the module itself is made of; `None` of one that comes from outside.
    pub(super) fn own(&self, function: u32) -> Option<&Function> {
        let at = function.checked_sub(self.n_imported)?;
        self.functions.get(at as usize)
    }

    /// The numbers of the module's own functions.
    pub(super) fn own_numbers(&self) -> impl Iterator<Item = u32> + use<> {
        self.n_imported..u32::try_from(self.types.len()).unwrap_or_default()
    }
}

impl Function {
    fn of(body: &FunctionBody<'_>) -> Option<Function> {
        let mut function = Function::default();
        for operator in body.get_operators_reader().ok()? {
            let operator = operator.ok()?;
            function.shape = blocks::shape(function.shape, &operator);
            match operator {
                Operator::Call { function_index } => function.calls.push(function_index),
                other => function.is_bound |= is_bound(&other),
            }
        }
        Some(function)
    }
}

/// Whether an operator touches what only its own module has.
pub(super) fn is_bound(operator: &Operator<'_>) -> bool {
    match operator {
        // The stack's end is the first global, and the only one that both halves know.
        Operator::GlobalGet { global_index } | Operator::GlobalSet { global_index } => {
            *global_index != 0
        }
        Operator::CallIndirect { table_index, .. } => *table_index != 0,
        Operator::ReturnCall { .. }
        | Operator::ReturnCallIndirect { .. }
        | Operator::RefFunc { .. }
        | Operator::TableGet { .. }
        | Operator::TableSet { .. }
        | Operator::TableSize { .. }
        | Operator::TableGrow { .. }
        | Operator::TableFill { .. }
        | Operator::TableCopy { .. }
        | Operator::TableInit { .. }
        | Operator::ElemDrop { .. }
        | Operator::MemoryInit { .. }
        | Operator::DataDrop { .. } => true,
        _ => false,
    }
}

/// The functions that a segment lists, and `None` where it leaves a place empty.
fn listed(items: ElementItems<'_>) -> Option<Vec<Option<u32>>> {
    match items {
        ElementItems::Functions(items) => items.into_iter().map(|it| it.ok().map(Some)).collect(),
        ElementItems::Expressions(_, items) => {
            let read = |expression: ConstExpr<'_>| match expression.get_operators_reader().read() {
                Ok(Operator::RefFunc { function_index }) => Some(Some(function_index)),
                Ok(Operator::RefNull { .. }) => Some(None),
                _ => None,
            };
            items.into_iter().map(|it| read(it.ok()?)).collect()
        }
    }
}

/// The number that a segment says it begins at.
fn constant(expression: &ConstExpr<'_>) -> Option<u32> {
    match expression.get_operators_reader().read().ok()? {
        Operator::I32Const { value } => u32::try_from(value).ok(),
        _ => None,
    }
}
