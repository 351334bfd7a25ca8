//! How the types that state is made of are written.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};
use std::ops::Range;
use std::sync::Arc;

use super::{KEPT_BYTES, Pack, Packer, Unpacker};
use crate::{Body, BodyRef, Extra, Json};

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
            extra.insert(key, Json::unpack(input));
        }
        extra
    }
}

impl Pack for Json {
    fn pack(&self, out: &mut Packer) {
        let text = self.as_text();
        let is_long = text.len() >= KEPT_BYTES;
        is_long.pack(out);
        if is_long {
            out.number(text.len() as u64);
            out.kept.extend_from_slice(text.as_bytes());
        } else {
            out.text(text);
        }
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        if bool::unpack(input) {
            let (from, len) = (input.kept_upto, input.size());
            let to = from.saturating_add(len);
            if to > input.kept.len() {
                input.fail();
                return Json::default();
            }
            input.kept_upto = to;
            return Json::kept(&input.kept, from..to);
        }
        match input.text() {
            // Nothing is no JSON.
            "" => Json::default(),
            text => Json::of(text),
        }
    }
}

impl Pack for Body {
    fn pack(&self, out: &mut Packer) {
        match self {
            Body::Inline(text) => {
                out.byte(0);
                out.text(text);
            }
            Body::Ref { body } => {
                out.byte(1);
                body.pack(out);
            }
        }
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        match input.byte() {
            0 => Body::Inline(String::unpack(input)),
            _ => Body::Ref {
                body: BodyRef::unpack(input),
            },
        }
    }
}
