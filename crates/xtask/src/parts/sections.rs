//! The sections of a wasm module, as far as leaving some out, adding an export and renaming what goes in and out takes.

/// Bytes before the first section: the magic number and the version.
const HEADER: &[u8] = b"\0asm\x01\0\0\0";
/// The id of sections that mean nothing to an engine.
const CUSTOM: u8 = 0;
/// The id of the section of imports.
const IMPORTS: u8 = 2;
/// The id of the section of exports.
const EXPORTS: u8 = 7;
/// How an export says that it is a table.
const TABLE: u8 = 1;

/// The module without notes to people and linkers: names, producers, features, relocations. `None` where it is no wasm.
pub(super) fn without_notes(wasm: &[u8]) -> Option<Vec<u8>> {
    let mut rest = wasm.strip_prefix(HEADER)?;
    let mut kept = HEADER.to_vec();
    while let Some(&id) = rest.first() {
        let (len, n_len_bytes) = leb128(&rest[1..])?;
        let end = len.checked_add(1 + n_len_bytes)?;
        let section = rest.get(..end)?;
        if id != CUSTOM {
            kept.extend_from_slice(section);
        }
        rest = &rest[end..];
    }
    Some(kept)
}

/// The module with its first table, that of functions, under a name. `None` where it is no wasm, or exports nothing.
pub(super) fn with_table(wasm: &[u8], name: &str) -> Option<Vec<u8>> {
    let mut rest = wasm.strip_prefix(HEADER)?;
    let mut made = HEADER.to_vec();
    let mut is_added = false;
    while let Some(&id) = rest.first() {
        let (len, n_len_bytes) = leb128(&rest[1..])?;
        let content = rest.get(1 + n_len_bytes..)?.get(..len)?;
        if id == EXPORTS {
            let (n_exports, n_count_bytes) = leb128(content)?;
            let mut exports = number(n_exports + 1);
            exports.extend_from_slice(&content[n_count_bytes..]);
            exports.extend(number(name.len()));
            exports.extend_from_slice(name.as_bytes());
            exports.extend([TABLE, 0]);
            made.push(id);
            made.extend(number(exports.len()));
            made.extend(exports);
            is_added = true;
        } else {
            made.extend_from_slice(&rest[..1 + n_len_bytes + len]);
        }
        rest = &rest[1 + n_len_bytes + len..];
    }
    is_added.then_some(made)
}

/// A name by which a module and its surroundings know something.
pub(super) enum Name<'a> {
    /// What is imported from.
    Module(&'a str),
    /// What is imported, from where.
    Import(&'a str, &'a str),
    /// What is exported.
    Export(&'a str),
}

/// The modules that something is imported from. `None` where it is no wasm.
pub(super) fn import_modules(wasm: &[u8]) -> Option<Vec<String>> {
    let mut modules = Vec::new();
    renamed(wasm, &mut |name| {
        if let Name::Module(module) = name
            && !modules.iter().any(|known| known == module)
        {
            modules.push(module.to_owned());
        }
        None
    })?;
    Some(modules)
}

/// The module with other names where `rename` gives any. `None` where it is no wasm.
pub(super) fn renamed(
    wasm: &[u8],
    rename: &mut impl FnMut(Name<'_>) -> Option<String>,
) -> Option<Vec<u8>> {
    let mut rest = wasm.strip_prefix(HEADER)?;
    let mut made = HEADER.to_vec();
    while let Some(&id) = rest.first() {
        let (len, n_len_bytes) = leb128(&rest[1..])?;
        let content = rest.get(1 + n_len_bytes..)?.get(..len)?;
        let content = match id {
            IMPORTS => renamed_entries(content, &mut |from| {
                let (module, name) = (text(from)?, text(from)?);
                let described = import_described(from)?;
                let given = rename(Name::Import(module, name));
                let from = rename(Name::Module(module));
                let names = [
                    from.as_deref().unwrap_or(module),
                    given.as_deref().unwrap_or(name),
                ];
                Some((names.map(str::to_owned).to_vec(), described))
            })?,
            EXPORTS => renamed_entries(content, &mut |from| {
                let name = text(from)?;
                let described = take(from, 1)?;
                let number = take(from, leb128(from)?.1)?;
                let given = rename(Name::Export(name)).unwrap_or_else(|| name.to_owned());
                Some((vec![given], [described, number].concat()))
            })?,
            _ => content.to_vec(),
        };
        made.push(id);
        made.extend(number(content.len()));
        made.extend(content);
        rest = &rest[1 + n_len_bytes + len..];
    }
    Some(made)
}

/// The entries of a section, each its names and what is said of it.
fn renamed_entries<'a>(
    content: &'a [u8],
    entry: &mut impl FnMut(&mut &'a [u8]) -> Option<(Vec<String>, Vec<u8>)>,
) -> Option<Vec<u8>> {
    let (n_entries, n_count_bytes) = leb128(content)?;
    let mut rest = &content[n_count_bytes..];
    let mut made = number(n_entries);
    for _ in 0..n_entries {
        let (names, described) = entry(&mut rest)?;
        for name in names {
            made.extend(number(name.len()));
            made.extend_from_slice(name.as_bytes());
        }
        made.extend(described);
    }
    rest.is_empty().then_some(made)
}

/// What kind of thing is imported, to the byte.
fn import_described(from: &mut &[u8]) -> Option<Vec<u8>> {
    let kind = take(from, 1)?;
    let n_type_bytes = match kind {
        // A function or a tag: the number of its type, the latter behind one byte more.
        [0] => leb128(from)?.1,
        [4] => 1 + leb128(from.get(1..)?)?.1,
        // A table: what is in it, and how much.
        [1] => 1 + limits_len(from.get(1..)?)?,
        [2] => limits_len(from)?,
        // A global: its type, and whether it changes.
        [3] => 2,
        _ => return None,
    };
    Some([kind, take(from, n_type_bytes)?].concat())
}

/// The bytes of a least and, where the flag says so, a most.
fn limits_len(bytes: &[u8]) -> Option<usize> {
    let least = leb128(bytes.get(1..)?)?.1;
    let most = match bytes.first()? & 1 {
        0 => 0,
        _ => leb128(bytes.get(1 + least..)?)?.1,
    };
    Some(1 + least + most)
}

fn text<'a>(from: &mut &'a [u8]) -> Option<&'a str> {
    let (len, n_len_bytes) = leb128(from)?;
    take(from, n_len_bytes)?;
    std::str::from_utf8(take(from, len)?).ok()
}

fn take<'a>(from: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, rest) = from.split_at_checked(len)?;
    *from = rest;
    Some(taken)
}

/// A number as [`leb128`] reads it.
fn number(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

/// An unsigned number of 32 bits, and how many bytes it takes.
fn leb128(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0;
    for (at, byte) in bytes.iter().take(5).enumerate() {
        value |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_left_out_and_nothing_else() {
        let type_section = [1, 4, 1, 0x60, 0, 0];
        let note = [0, 5, 4, b'n', b'a', b'm', b'e'];
        let long = [&[0, 0x81, 0x01][..], &[0; 129]].concat();
        let with = [HEADER, &note, &type_section, &long].concat();
        let without = [HEADER, &type_section].concat();
        assert_eq!(without_notes(&with), Some(without.clone()));
        assert_eq!(without_notes(&without), Some(without));
    }

    #[test]
    fn the_table_is_exported_behind_all_else() {
        let with_export = |exports: &[u8]| [HEADER, &[1, 4, 1, 0x60, 0, 0], exports].concat();
        let before = with_export(&[7, 5, 1, 1, b'f', 0, 0]);
        let after = with_export(&[7, 9, 2, 1, b'f', 0, 0, 1, b't', 1, 0]);
        assert_eq!(with_table(&before, "t"), Some(after));
        assert_eq!(with_table(&with_export(&[]), "t"), None);
        assert_eq!(leb128(&number(300)), Some((300, 2)));
    }

    #[test]
    fn what_is_no_module_is_refused() {
        assert_eq!(without_notes(b"\x7fELF"), None);
        assert_eq!(without_notes(&[HEADER, &[1, 9, 0]].concat()), None);
        assert_eq!(without_notes(&[HEADER, &[1, 0xff]].concat()), None);
    }
}
