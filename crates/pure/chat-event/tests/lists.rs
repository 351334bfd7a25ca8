//! Laws of lines that are lists of events: what is damaged or no event costs itself and nothing else, and is told.

use chat_event::ChatEvent;
use chat_event::jsonl::salvage_list;
use chat_event::payload::UserMessage;
use proptest::prelude::*;

fn event(nth: usize, text: &str) -> String {
    let payload = UserMessage {
        text: text.into(),
        ..UserMessage::default()
    };
    ChatEvent::new(format!("e{nth}"), 1, "s1", payload).to_line()
}

#[derive(Clone, Debug)]
enum Item {
    Event(String),
    /// A value that is no event.
    Other(&'static str),
    /// An event that breaks off.
    Torn(String, prop::sample::Index),
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let text = "[a-z,{}\\[\\]\"]{0,8}";
    let item = prop_oneof![
        4 => text.prop_map(Item::Event),
        1 => prop::sample::select(vec![
            "7 ", "null ", "{}", "\"text\"", "{\"type\":5}", "{\"id\":5,\"type\":\"turn_end\",\"payload\":{}}",
        ]).prop_map(Item::Other),
        1 => (text, any::<prop::sample::Index>()).prop_map(|(text, cut)| Item::Torn(text, cut)),
    ];
    prop::collection::vec(item, 0..12)
}

proptest! {
    #[test]
    fn all_whole_events_of_a_list_are_found_and_all_else_is_told(
        items in items(), between in prop::sample::select(vec![",", "", " , ", "\n,\n"]), in_brackets in any::<bool>(),
    ) {
        let mut wanted = Vec::new();
        let mut n_damaged = 0;
        let mut parts = Vec::new();
        for (nth, item) in items.iter().enumerate() {
            parts.push(match item {
                Item::Event(text) => {
                    wanted.push(format!("e{nth}"));
                    event(nth, text)
                }
                Item::Other(text) => (*text).to_owned(),
                Item::Torn(text, cut) => {
                    n_damaged += 1;
                    let whole = event(nth, text);
                    whole[..1 + cut.index(whole.len() - 1)].to_owned()
                }
            });
        }
        let list = parts.join(between);
        let list = if in_brackets { format!("[{list}]") } else { list };
        let mut found = Vec::new();
        let mut n_told = 0;
        let mut passed_over = String::new();
        let mut end = 0;
        salvage_list(&list, &mut |within, piece| {
            passed_over.push_str(&list[end..within.start]);
            end = within.end;
            match piece {
                Ok(event) => found.push(event.id),
                Err(why) => {
                    assert!(!why.is_empty());
                    n_told += 1;
                }
            }
        });
        passed_over.push_str(&list[end..]);
        prop_assert_eq!(found, wanted);
        prop_assert!(passed_over.chars().all(|c| ",[] \n".contains(c)), "{}", passed_over);
        let n_others = items.iter().filter(|item| matches!(item, Item::Other(_))).count();
        prop_assert!(n_told <= n_damaged + n_others);
        if n_damaged == 0 {
            prop_assert_eq!(n_told, n_others);
        }
    }
}

#[test]
fn a_hostile_list_costs_time_in_proportion_to_its_length() {
    for unit in [
        "7,",
        "{},",
        "[",
        "{\"a\":",
        "{\n\"",
        "{   ",
        "{\"type\":5},",
        "7 x ",
    ] {
        let line = unit.repeat(1024 * 1024 / unit.len());
        let mut n_pieces = 0;
        salvage_list(&line, &mut |_, _| n_pieces += 1);
        assert!(n_pieces <= line.len(), "{unit}");
    }
    // Each stretch of damage stands between two events.
    let line = format!("{}x", event(1, "")).repeat(20_000);
    let mut n_pieces = 0;
    salvage_list(&line, &mut |_, _| n_pieces += 1);
    assert_eq!(n_pieces, 40_000);
}
