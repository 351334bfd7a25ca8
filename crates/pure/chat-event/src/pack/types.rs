//! How the types that state is made of are written.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};
use std::ops::Range;
use std::sync::Arc;

use super::{Pack, Packer, Unpacker};
use crate::{Body, BodyRef, Extra, Json, Text};

macro_rules! pack_numbers {
    ($($ty:ty),*) => {
        $( impl Pack for $ty {
            fn pack(&self, out: &mut Packer) {
                out.number(*self as u64);
            }
            fn unpack(input: &mut Unpacker<'_>) -> Self {
                input.number_as()
            }
        } )*
    };
}

pack_numbers!(u16, u32, u64, usize);

impl Pack for u8 {
    fn pack(&self, out: &mut Packer) {
        out.byte(*self);
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        input.byte()
    }
}

impl Pack for bool {
    fn pack(&self, out: &mut Packer) {
        out.byte(u8::from(*self));
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        input.byte() != 0
    }
}

impl Pack for i64 {
    /// Small ones are short on either side of zero.
    fn pack(&self, out: &mut Packer) {
        out.number(((*self << 1) ^ (*self >> 63)).cast_unsigned());
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        let number = input.number();
        (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
    }
}

impl Pack for f64 {
    fn pack(&self, out: &mut Packer) {
        for byte in self.to_le_bytes() {
            out.byte(byte);
        }
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        f64::from_le_bytes(std::array::from_fn(|_| input.byte()))
    }
}

impl Pack for String {
    fn pack(&self, out: &mut Packer) {
        out.text(self);
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        input.text().to_owned()
    }
}

impl Pack for Box<str> {
    fn pack(&self, out: &mut Packer) {
        out.text(self);
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        input.text().into()
    }
}

impl<T: Pack> Pack for Option<T> {
    fn pack(&self, out: &mut Packer) {
        out.byte(u8::from(self.is_some()));
        if let Some(value) = self {
            value.pack(out);
        }
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        (input.byte() != 0).then(|| T::unpack(input))
    }
}

impl<T: Pack> Pack for Box<T> {
    fn pack(&self, out: &mut Packer) {
        T::pack(self, out);
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        Box::new(T::unpack(input))
    }
}

impl<T: Pack> Pack for Arc<T> {
    /// What several share each of them has for itself on the other side.
    fn pack(&self, out: &mut Packer) {
        T::pack(self, out);
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        Arc::new(T::unpack(input))
    }
}

impl<T: Pack> Pack for Vec<T> {
    fn pack(&self, out: &mut Packer) {
        pack_all(self.iter(), out);
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        unpack_all(input)
    }
}

impl<T: Pack> Pack for Box<[T]> {
    fn pack(&self, out: &mut Packer) {
        pack_all(self.iter(), out);
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        Vec::unpack(input).into()
    }
}

impl<A: Pack, B: Pack> Pack for (A, B) {
    fn pack(&self, out: &mut Packer) {
        self.0.pack(out);
        self.1.pack(out);
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        (A::unpack(input), B::unpack(input))
    }
}

impl<A: Pack, B: Pack, C: Pack> Pack for (A, B, C) {
    fn pack(&self, out: &mut Packer) {
        self.0.pack(out);
        self.1.pack(out);
        self.2.pack(out);
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        (A::unpack(input), B::unpack(input), C::unpack(input))
    }
}

impl Pack for Range<usize> {
    fn pack(&self, out: &mut Packer) {
        self.start.pack(out);
        self.end.pack(out);
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        input.size()..input.size()
    }
}

impl<K: Pack + Ord, V: Pack> Pack for BTreeMap<K, V> {
    fn pack(&self, out: &mut Packer) {
        pack_pairs(self.iter(), out);
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        unpack_all::<(K, V), _>(input)
    }
}

impl<K: Pack + Ord> Pack for BTreeSet<K> {
    fn pack(&self, out: &mut Packer) {
        pack_all(self.iter(), out);
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        unpack_all(input)
    }
}

impl<K: Pack + Eq + Hash, V: Pack, S: BuildHasher + Default> Pack for HashMap<K, V, S> {
    #[allow(
        clippy::disallowed_methods,
        reason = "a table is read into a table: its order is not seen"
    )]
    fn pack(&self, out: &mut Packer) {
        pack_pairs(self.iter(), out);
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        unpack_all::<(K, V), _>(input)
    }
}

impl<K: Pack + Eq + Hash, S: BuildHasher + Default> Pack for HashSet<K, S> {
    #[allow(
        clippy::disallowed_methods,
        reason = "a table is read into a table: its order is not seen"
    )]
    fn pack(&self, out: &mut Packer) {
        pack_all(self.iter(), out);
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        unpack_all(input)
    }
}

/// Writes how many items there are, and each.
fn pack_all<'i, T: Pack + 'i>(items: impl ExactSizeIterator<Item = &'i T>, out: &mut Packer) {
    out.number(items.len() as u64);
    items.for_each(|item| item.pack(out));
}

/// The same, of keys with their values.
fn pack_pairs<'i, K: Pack + 'i, V: Pack + 'i>(
    pairs: impl ExactSizeIterator<Item = (&'i K, &'i V)>,
    out: &mut Packer,
) {
    out.number(pairs.len() as u64);
    pairs.for_each(|(key, value)| {
        key.pack(out);
        value.pack(out);
    });
}

/// Reads what either wrote.
fn unpack_all<T: Pack, C: FromIterator<T>>(input: &mut Unpacker<'_>) -> C {
    let count = input.count();
    (0..count).map(|_| T::unpack(input)).collect()
}

impl Pack for Extra {
    fn pack(&self, out: &mut Packer) {
        out.number(self.iter().count() as u64);
        for (key, value) in self.iter() {
            out.text(key);
            value.pack(out);
        }
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        let mut extra = Extra::default();
        for _ in 0..input.count() {
            let key = input.text();
            // Each was there once.
            extra.push(key, Json::unpack(input));
        }
        extra
    }
}

impl Pack for Json {
    fn pack(&self, out: &mut Packer) {
        // Nothing is no JSON, and stands for `null`.
        out.cold_text(self.text().unwrap_or(&Text::default()));
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        Json::of_text(input.cold_text())
    }
}

impl Pack for Text {
    fn pack(&self, out: &mut Packer) {
        out.cold_text(self);
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        input.cold_text()
    }
}

impl Pack for Body {
    fn pack(&self, out: &mut Packer) {
        pack_body(self, out, |text, out| out.text(&text.read()));
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        let tag = input.byte();
        unpack_body(tag, input, |input| input.text().into())
    }
}

const INLINE: u8 = 0;
const REFERENCE: u8 = 1;
const NONE: u8 = 2;

fn pack_body(body: &Body, out: &mut Packer, pack_text: fn(&Text, &mut Packer)) {
    match body {
        Body::Inline(text) => {
            out.byte(INLINE);
            pack_text(text, out);
        }
        Body::Ref { body } => {
            out.byte(REFERENCE);
            body.pack(out);
        }
    }
}

fn unpack_body(tag: u8, input: &mut Unpacker<'_>, text: fn(&mut Unpacker<'_>) -> Text) -> Body {
    match tag {
        INLINE => Body::Inline(text(input)),
        REFERENCE => Body::Ref {
            body: BodyRef::unpack(input),
        },
        _ => {
            input.fail();
            Body::default()
        }
    }
}

/// Writes a body that is seldom looked at.
pub(crate) fn pack_cold(body: &Option<Body>, out: &mut Packer) {
    match body {
        None => out.byte(NONE),
        Some(body) => pack_body(body, out, Text::pack),
    }
}

/// Reads what [`pack_cold`] wrote.
pub(crate) fn unpack_cold(input: &mut Unpacker<'_>) -> Option<Body> {
    let tag = input.byte();
    (tag != NONE).then(|| unpack_body(tag, input, Text::unpack))
}
