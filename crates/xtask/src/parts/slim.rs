//! A part without what the splitter leaves in it: numbers that are written longer than they are, and the types of all
//! other parts.

use std::collections::BTreeMap;
use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{Module, TypeSection};
use wasmparser::{Parser, TypeSectionReader};

/// The same part in fewer bytes; `None` where it is no wasm.
pub(super) fn slim(wasm: &[u8]) -> Option<Vec<u8>> {
    let mut noted = Types::Noted(BTreeMap::new());
    noted
        .parse_core_module(&mut Module::new(), Parser::new(0), wasm)
        .ok()?;
    let Types::Noted(mut used) = noted else {
        return None;
    };
    for (number, given) in (0..).zip(used.values_mut()) {
        *given = number;
    }
    let mut module = Module::new();
    Types::Given(used)
        .parse_core_module(&mut module, Parser::new(0), wasm)
        .ok()?;
    Some(module.finish())
}

/// The types that something is of, by the numbers they had.
enum Types {
    /// They are looked for.
    Noted(BTreeMap<u32, u32>),
    /// They have new numbers, and the others are left out.
    Given(BTreeMap<u32, u32>),
}

impl Reencode for Types {
    type Error = Infallible;

    fn type_index(&mut self, number: u32) -> Result<u32, Error<Infallible>> {
        match self {
            Types::Noted(used) => {
                used.insert(number, number);
                Ok(number)
            }
            Types::Given(used) => Ok(used.get(&number).copied().unwrap_or(number)),
        }
    }

    fn parse_type_section(
        &mut self,
        types: &mut TypeSection,
        section: TypeSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        for (number, group) in (0..).zip(section) {
            let is_kept = match self {
                Types::Noted(_) => true,
                Types::Given(used) => used.contains_key(&number),
            };
            if is_kept {
                self.parse_recursive_type_group(types.ty(), group?)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_used_and_not_needed_goes() {
        let header = b"\0asm\x01\0\0\0";
        // Two types, of which the second is used by a function that calls itself, its number written in five bytes.
        let types = [1, 8, 2, 0x60, 1, 0x7f, 0, 0x60, 0, 0];
        let functions = [3, 2, 1, 1];
        let code = [10, 10, 1, 8, 0, 0x10, 0x80, 0x80, 0x80, 0x80, 0, 0x0b];
        let wide = [&header[..], &types, &functions, &code].concat();
        let types = [1, 4, 1, 0x60, 0, 0];
        let functions = [3, 2, 1, 0];
        let code = [10, 6, 1, 4, 0, 0x10, 0, 0x0b];
        let slimmed = [&header[..], &types, &functions, &code].concat();
        assert_eq!(slim(&wide), Some(slimmed.clone()));
        assert_eq!(slim(&slimmed), Some(slimmed));
        assert_eq!(slim(b"\x7fELF"), None);
    }
}
