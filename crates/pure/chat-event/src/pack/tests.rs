use std::collections::BTreeMap;

use super::*;
use crate::Json;
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
        prop_assert_eq!(serde_json::to_string(&again).unwrap(), json.as_text());
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
}
