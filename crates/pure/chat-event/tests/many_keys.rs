//! Lines of more unknown keys than anybody writes.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use chat_event::pack::{Pack, Packer, Unpacker};
use chat_event::{ChatEvent, Extra, Payload};
use proptest::prelude::*;

/// Far above what is measured, far below what a quadratic way needs.
const BOUND: Duration = Duration::from_secs(20);

fn members(keys: impl Iterator<Item = usize>) -> String {
    let mut members = String::new();
    for (nth, key) in keys.enumerate() {
        let _ = write!(members, ",\"k{key}\":{nth}");
    }
    members
}

fn line(of_event: &str, of_payload: &str) -> String {
    format!(r#"{{"id":"e1","type":"user_message","payload":{{"text":"x"{of_payload}}}{of_event}}}"#)
}

fn extras(event: &ChatEvent) -> [&Extra; 2] {
    let Payload::UserMessage(message) = &event.payload else {
        panic!("{event:?}");
    };
    [&event.extra, &message.extra]
}

proptest! {
    #[test]
    fn of_keys_that_stand_twice_the_last_counts_in_the_place_of_the_first_however_many_there_are(
        keys in prop::collection::vec(0..80_usize, 0..200),
    ) {
        let members = members(keys.iter().copied());
        let event = ChatEvent::from_json(&line(&members, &members)).unwrap();
        let mut wanted: Vec<(usize, usize)> = Vec::new();
        for (nth, key) in keys.into_iter().enumerate() {
            match wanted.iter_mut().find(|(before, _)| *before == key) {
                Some((_, value)) => *value = nth,
                None => wanted.push((key, nth)),
            }
        }
        let wanted: Vec<(String, String)> =
            wanted.into_iter().map(|(key, nth)| (format!("k{key}"), nth.to_string())).collect();
        for extra in extras(&event) {
            let read = extra.iter().map(|(key, value)| (key.to_owned(), value.as_text().to_string()));
            prop_assert_eq!(&read.collect::<Vec<_>>(), &wanted);
        }
        let again = ChatEvent::from_json(&event.to_line()).unwrap();
        prop_assert_eq!(again, event);
    }
}

#[test]
fn a_line_of_hundreds_of_thousands_of_keys_is_read_and_handed_over_in_time() {
    const N_KEYS: usize = 300_000;
    let began = Instant::now();
    let members = members((0..N_KEYS).chain(0..9));
    let event = ChatEvent::from_json(&line(&members, &members)).unwrap();
    for extra in extras(&event) {
        assert_eq!(extra.iter().count(), N_KEYS);
        let mut out = Packer::default();
        extra.pack(&mut out);
        let packed = out.into_packed();
        let mut input = Unpacker::new(&packed.bytes, packed.kept);
        assert!(Extra::unpack(&mut input) == *extra);
        assert_eq!(input.end(), Ok(()));
    }
    let mut event = ChatEvent::default();
    assert!(!event.read_plain(line(&members, "").as_bytes()));
    assert!(began.elapsed() < BOUND, "{:?}", began.elapsed());
}
