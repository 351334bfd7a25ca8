use std::collections::BTreeMap;

use super::*;
use crate::{Json, Text};
use proptest::prelude::*;

#[derive(Clone, Debug, PartialEq)]
enum Tree {
    Leaf,
    Named { name: String, at: i64 },
    Pair(Box<Tree>, Box<Tree>),
}
pack_variants!(Tree { 0 => Leaf, 1 => Named { name, at }, 2 => Pair(left, right) });

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        Just(Tree::Leaf),
        (".{0,12}", any::<i64>()).prop_map(|(name, at)| Tree::Named { name, at }),
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        (inner.clone(), inner).prop_map(|(left, right)| Tree::Pair(Box::new(left), Box::new(right)))
    })
}

proptest! {
    #[test]
    fn what_was_packed_comes_out_the_same(
        tree in trees(),
        list in proptest::collection::vec((any::<u64>(), any::<bool>(), any::<i64>()), 0..20),
        map in proptest::collection::btree_map(".{0,4}", any::<Option<u32>>(), 0..9),
        number in any::<f64>(), text in ".{0,300}",
    ) {
        let json = Json::string(&text);
        let mut out = Packer::default();
        tree.pack(&mut out);
        list.pack(&mut out);
        map.pack(&mut out);
        number.pack(&mut out);
        json.pack(&mut out);
        let packed = out.into_packed();
        let mut input = Unpacker::new(&packed.bytes, packed.kept);
        prop_assert_eq!(Tree::unpack(&mut input), tree);
        prop_assert_eq!(Vec::<(u64, bool, i64)>::unpack(&mut input), list);
        prop_assert_eq!(BTreeMap::<String, Option<u32>>::unpack(&mut input), map);
        prop_assert_eq!(f64::unpack(&mut input).to_bits(), number.to_bits());
        let again = Json::unpack(&mut input);
        prop_assert_eq!(json.as_text(), serde_json::to_string(&again).unwrap());
        prop_assert_eq!(again, json);
        prop_assert_eq!(input.end(), Ok(()));
    }

    #[test]
    fn wrong_bytes_are_told_and_end(
        tree in trees(), cut in any::<proptest::sample::Index>(), noise in any::<Vec<u8>>(),
    ) {
        let mut out = Packer::default();
        tree.pack(&mut out);
        let bytes = out.into_packed().bytes;
        let mut input = Unpacker::new(&bytes[..cut.index(bytes.len())], Vec::new());
        let _ = Tree::unpack(&mut input);
        prop_assert_eq!(input.end(), Err(Broken));
        // Whatever is read of noise, reading it ends.
        let mut input = Unpacker::new(&noise, noise.clone());
        let _ = <(Tree, Vec<Tree>)>::unpack(&mut input);
    }

    #[test]
    fn texts_that_lie_packed_read_as_they_were(
        texts in proptest::collection::vec(long_texts(), 0..40), order in any::<u64>(),
    ) {
        let mut out = Packer::default();
        let written: Vec<Text> = texts.iter().map(|text| text.as_str().into()).collect();
        written.pack(&mut out);
        let packed = out.into_packed();
        let mut input = Unpacker::new(&packed.bytes, packed.kept.clone());
        let read = Vec::<Text>::unpack(&mut input);
        prop_assert_eq!(input.end(), Ok(()));
        // Their lengths are known, and each is read whichever was read before.
        let lengths = |texts: &[Text]| texts.iter().map(Text::len).collect::<Vec<_>>();
        prop_assert_eq!(lengths(&read), lengths(&written));
        for nth in 0..texts.len() {
            let nth = (nth * 7 + order as usize % 11) % texts.len();
            prop_assert_eq!(&*read[nth].read(), texts[nth].as_str());
        }
        prop_assert_eq!(&read, &written);
        // So are their parts, and what is none.
        for (read, written) in read.iter().zip(&written) {
            for part in [0..0, 0..written.len(), 1..7, std::ops::Range { start: 3, end: 2 }, 9..written.len() + 1] {
                prop_assert_eq!(&*read.read().part(part.clone()), &*written.read().part(part));
            }
        }
        // What was read can be handed on.
        let mut again = Packer::default();
        read.pack(&mut again);
        prop_assert_eq!(again.into_packed(), packed);
    }

    #[test]
    fn packed_texts_that_are_damaged_read_as_nothing_or_anything_but_end(
        texts in proptest::collection::vec(long_texts(), 1..20),
        at in any::<proptest::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        let mut out = Packer::default();
        let texts: Vec<Text> = texts.into_iter().map(Text::from).collect();
        texts.pack(&mut out);
        let mut packed = out.into_packed();
        prop_assume!(!packed.kept.is_empty());
        let at = at.index(packed.kept.len());
        match cut {
            true => packed.kept.truncate(at),
            false => packed.kept[at] = byte,
        }
        let mut input = Unpacker::new(&packed.bytes, packed.kept);
        for text in Vec::<Text>::unpack(&mut input) {
            prop_assert!(text.read().len() <= text.len());
        }
        prop_assert!(!cut || input.end().is_err());
    }
}

/// Of every length about the one from which they are packed, and long enough for some stretches.
fn long_texts() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,40}",
        ("[a-zé ]{1,9}", 1_usize..4000).prop_map(|(word, times)| word.repeat(times)),
        proptest::collection::vec(any::<char>(), 200..700).prop_map(String::from_iter),
    ]
}
