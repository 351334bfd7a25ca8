//! The law of cutting: whatever is said to have been run, both halves together do what the whole did.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wasmi::{Caller, Engine, Extern, Func, Instance, Linker, Module, Ref, Store, Val};

use super::{Calls, FETCH, FIRST, NOTES, Seen, counted, cut, cut_as_seen};
use crate::parts::small;

/// Functions with loops, tables of branches, returns from within, and what else makes cutting hard. The exported ones take
/// two numbers and give one.
const WHOLE: &str = include_str!("tests/whole.wat");
const EXPORTED: [&str; 10] = [
    "sum", "choose", "early", "deep", "carried", "through", "stored", "cyclic", "ways", "kept",
];
const ARGUMENTS: [(i32, i32); 9] = [
    (0, 0),
    (1, 0),
    (2, 7),
    (3, 1),
    (4, 9),
    (5, 2),
    (7, 3),
    (11, -4),
    (-1, 5),
];

/// What a module gives for all arguments, one call after the other, and what its memory is then.
#[derive(Debug, PartialEq)]
struct Done {
    results: Vec<Result<i32, String>>,
    memory: Vec<u8>,
}

fn linker(engine: &Engine) -> Linker<()> {
    let mut linker = Linker::new(engine);
    linker
        .func_wrap("env", "twice", |value: i32| value.wrapping_mul(2))
        .expect("the name is free");
    linker
}

fn done(store: &mut Store<()>, instance: &Instance) -> Done {
    let mut results = Vec::new();
    for name in EXPORTED {
        for (one, other) in ARGUMENTS {
            let function = instance.get_func(&*store, name).expect("it is exported");
            let mut given = [Val::I32(0)];
            let called = function.call(&mut *store, &[Val::I32(one), Val::I32(other)], &mut given);
            results.push(match (called, &given) {
                (Ok(()), [Val::I32(value)]) => Ok(*value),
                (Ok(()), other) => Err(format!("{other:?}")),
                (Err(why), _) => Err(why
                    .as_trap_code()
                    .map_or(why.to_string(), |it| it.to_string())),
            });
        }
    }
    let memory = instance
        .get_memory(&*store, "memory")
        .expect("it is exported");
    let memory = memory.data(&*store)[..1024].to_vec();
    Done { results, memory }
}

fn whole_bytes() -> Vec<u8> {
    wat::parse_str(WHOLE).expect("the text is a module")
}

fn as_whole() -> Done {
    let engine = Engine::default();
    let module = Module::new(&engine, whole_bytes()).expect("the whole is valid");
    let mut store = Store::new(&engine, ());
    let instance = linker(&engine).instantiate_and_start(&mut store, &module);
    done(&mut store, &instance.expect("the whole starts"))
}

/// Runs the first half, with the rest fetched when something of it is called; how often that was is counted.
fn as_halves(first: &[u8], rest: &[u8]) -> (Done, usize) {
    let engine = Engine::default();
    let rest = Module::new(&engine, rest).expect("the rest is valid");
    let mut linker = linker(&engine);
    let mut store = Store::new(&engine, ());
    let n_fetched = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = n_fetched.clone();
    let fetch = Func::wrap(&mut store, move |mut caller: Caller<'_, ()>| {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut of_rest: Linker<()> = self::linker(caller.engine());
        let lent = [
            "memory",
            "__indirect_function_table",
            "shared",
            "__wasm_split_shared0",
        ];
        for name in lent {
            let given: Extern = caller.get_export(name).expect("the first half exports it");
            of_rest
                .define(FIRST, name, given)
                .expect("the name is free");
        }
        of_rest
            .instantiate_and_start(&mut caller, &rest)
            .expect("the rest starts");
    });
    linker
        .define("script", FETCH, fetch)
        .expect("the name is free");
    let first = Module::new(&engine, first).expect("the first half is valid");
    let instance = linker.instantiate_and_start(&mut store, &first);
    let instance = instance.expect("the first half starts");
    let done = done(&mut store, &instance);
    let n_fetched = n_fetched.load(std::sync::atomic::Ordering::Relaxed);
    if n_fetched > 0 {
        // What other parts call is in its place as soon as the rest is here.
        let table = instance.get_table(&store, "__indirect_function_table");
        let table = table.expect("it is exported");
        for (place, is_taken) in [(5, true), (6, false), (7, true)] {
            let Some(Ref::Func(function)) = table.get(&store, place) else {
                panic!("place {place} is one of functions");
            };
            assert_eq!(!function.is_null(), is_taken, "place {place}");
        }
    }
    (done, n_fetched)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_is_said_to_have_run_both_halves_do_what_the_whole_did(
        said in prop::collection::vec((0..6_u8, prop::collection::vec(any::<bool>(), 40)), 24),
        least_gain_bytes in prop_oneof![Just(i64::MIN), Just(0), Just(24)],
    ) {
        let numbers = std::cell::RefCell::new(BTreeMap::new());
        let seen = |name: &str, _| {
            let mut numbers = numbers.borrow_mut();
            let next = numbers.len();
            let (kind, blocks) = &said[*numbers.entry(name.to_owned()).or_insert(next) % said.len()];
            match kind {
                0 => Seen::Unknown,
                1 => Seen::NotRun,
                // As where a function's first block is all that is run.
                2 => Seen::Run(vec![true, false, false, false]),
                3 => Seen::Run(vec![false; 40]),
                _ => Seen::Run(blocks.clone()),
            }
        };
        let halves = cut_as_seen(&whole_bytes(), "script", seen, least_gain_bytes).expect("it can be cut");
        let shipped = |half| small(half).expect("it is a module");
        let (done, n_fetched) = as_halves(&shipped(&halves.first), &shipped(&halves.rest));
        prop_assert_eq!(done, as_whole());
        prop_assert!(n_fetched <= 1, "the rest is fetched once");
    }
}

/// Runs a module that notes what is run of it, and calls these alone.
fn noted(names: &[&str]) -> Calls {
    let engine = Engine::default();
    let bytes = counted(&whole_bytes()).expect("its blocks can be counted");
    let module = Module::new(&engine, bytes).expect("it is valid");
    let mut store = Store::new(&engine, ());
    let instance = linker(&engine)
        .instantiate_and_start(&mut store, &module)
        .expect("it starts");
    for name in names {
        let function = instance.get_func(&store, name).expect("it is exported");
        let mut given = [Val::I32(0)];
        let _ = function.call(&mut store, &[Val::I32(3), Val::I32(1)], &mut given);
    }
    let notes = instance.get_memory(&store, NOTES).expect("it has notes");
    Calls::noted(&whole_bytes(), notes.data(&store)).expect("the notes are of it")
}

#[test]
fn what_was_noted_is_run_without_the_rest() {
    let calls = noted(&["sum", "early"]);
    let kept = Calls::read(&calls.to_text());
    assert_eq!(
        kept.to_text(),
        calls.to_text(),
        "what is kept is what was noted"
    );
    let halves = cut(&whole_bytes(), "script", &kept).expect("it can be cut");
    let whole_len = whole_bytes().len();
    assert!(
        halves.first.len() < whole_len,
        "{} of {whole_len}",
        halves.first.len()
    );

    let engine = Engine::default();
    let mut linker = linker(&engine);
    linker
        .func_wrap("script", FETCH, || -> () { panic!("the rest is fetched") })
        .expect("the name is free");
    let first = Module::new(&engine, &halves.first[..]).expect("the first half is valid");
    let mut store = Store::new(&engine, ());
    let instance = linker
        .instantiate_and_start(&mut store, &first)
        .expect("it starts");
    for name in ["sum", "early"] {
        let function = instance.get_func(&store, name).expect("it is exported");
        let mut given = [Val::I32(0)];
        function
            .call(&mut store, &[Val::I32(3), Val::I32(1)], &mut given)
            .expect("nothing of the rest is needed");
    }
}

#[test]
fn notes_of_another_module_are_refused() {
    assert!(Calls::noted(&whole_bytes(), &[1, 0]).is_none());
    assert!(Calls::noted(b"\x7fELF", &[]).is_none());
    assert!(cut(b"\x7fELF", "script", &Calls::default()).is_none());
}

#[test]
fn a_function_that_was_compiled_anew_stays_whole() {
    let calls = noted(&["sum"]);
    let nothing = cut(&whole_bytes(), "script", &Calls::default()).expect("it can be cut");
    let known = cut(&whole_bytes(), "script", &calls).expect("it can be cut");
    assert!(known.first.len() < nothing.first.len());
    assert!(nothing.rest.len() < known.rest.len());
}
