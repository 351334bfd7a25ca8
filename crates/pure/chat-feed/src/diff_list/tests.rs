//! Diffs as lists: what is shown, what is folded, and that colours change no text.

use super::*;
use crate::syntax::Class;

const DIFF: &str = "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,4 @@ fn a\n let x = 1;\n-old(word);\n+new(word);\n+more();\n }\n";

fn shown(split: bool, space: Space) -> Shown {
    Shown {
        split,
        wrap: false,
        space,
    }
}

/// A chunk as text: each `div` on a line of its own, with its numbers in front; `~` stands before what is not said.
fn drawn(list: &DiffList, colours: &BTreeMap<(u32, u32), HunkColours>) -> Vec<String> {
    let strokes = list.draw(0, colours);
    let units: Vec<u16> = strokes.words.encode_utf16().collect();
    let mut at = 0;
    let mut lines = Vec::new();
    for code in strokes.codes {
        let length = (code >> 8) as usize;
        let words = String::from_utf16_lossy(&units[at..at + length]);
        at += length;
        match code & 0xff {
            Strokes::DIV => lines.push(String::new()),
            Strokes::UNSAID => lines.last_mut().unwrap().push('~'),
            Strokes::NUMBERS => lines.last_mut().unwrap().push_str(&format!("[{words}]")),
            Strokes::TEXT => lines.last_mut().unwrap().push_str(&words),
            _ => {}
        }
    }
    assert_eq!(at, units.len(), "all words are taken");
    lines
}

/// Two changes in a file of 100 lines.
fn of_a_file() -> (DiffList, String) {
    let old: Vec<String> = (1..=100).map(|n| format!("line {n}\n")).collect();
    let mut new = old.clone();
    new[29] = "thirty\n".to_owned();
    new[79] = "eighty\n".to_owned();
    let (old, new) = (old.concat(), new.concat());
    let diff = chat_diff::diff_texts("a.rs", Some(&old), Some(&new));
    (DiffList::read(&diff.text, "").unwrap(), old)
}

fn names(list: &DiffList, hunk: Option<u32>) -> Vec<String> {
    let buttons = list.buttons(hunk);
    buttons
        .iter()
        .map(|(what, words)| format!("{} {words}", what.name()))
        .collect()
}

#[test]
fn more_of_the_file_is_offered_where_its_text_can_be_had_and_shown_where_it_was_asked_for() {
    let (mut list, old) = of_a_file();
    assert_eq!(names(&list, Some(0)), [""; 0]);
    let n_items = list.items().len();
    list.offer_widening();
    assert_eq!(list.items().len(), n_items + 1);
    assert_eq!(
        names(&list, Some(0)),
        ["above:0 ↑ Show 20 lines", "all-above:0 Show all 26 lines"]
    );
    assert_eq!(
        names(&list, Some(1)),
        [
            "below:0 ↓ Show 20 lines",
            "above:1 ↑ Show 20 lines",
            "all-above:1 Show all 43 lines"
        ]
    );
    assert_eq!(
        names(&list, None),
        ["below:1 ↓ Show 20 lines", "all-below:1 ↓ Show to the end"]
    );
    list.ask(Widening::of_name("below:0").unwrap());
    list.widen(&old).unwrap();
    assert_eq!(list.items().len(), n_items + 1 + 20);
    assert_eq!(names(&list, Some(1))[2], "all-above:1 Show all 23 lines");
    assert_eq!(names(&list, None), ["all-below:1 ↓ Show 17 lines"]);
    list.ask(Widening::Above(1));
    list.widen(&old).unwrap();
    assert_eq!(names(&list, Some(1)), ["all-above:1 ↑ Show 3 lines"]);
    // The two hunks meet, and are one from then on.
    list.ask(Widening::AllAbove(1));
    list.widen(&old).unwrap();
    assert_eq!(list.heads(false).count(), 1);
    assert_eq!(names(&list, None), ["all-below:0 ↓ Show 17 lines"]);
    list.ask(Widening::AllBelow(0));
    list.ask(Widening::AllAbove(0));
    list.widen(&old).unwrap();
    assert_eq!(names(&list, Some(0)), [""; 0]);
    // A head, 100 lines, and two that were changed.
    assert_eq!(list.items().len(), 103);
    // What was asked for is shown again by another list.
    let (mut again, _) = of_a_file();
    again.offer_widening();
    again.ask_again(list.around().to_vec());
    again.widen(&old).unwrap();
    assert_eq!(again.items(), list.items());
    // Asked out of turn nothing happens.
    again.ask(Widening::Below(7));
    again.widen(&old).unwrap();
    assert_eq!(again.items(), list.items());
}

#[test]
fn nothing_is_offered_below_what_ends_with_its_file() {
    let old: Vec<String> = (1..=100).map(|n| format!("line {n}\n")).collect();
    let mut new = old.clone();
    new[98] = "ninety-nine\n".to_owned();
    let (old, new) = (old.concat(), new.concat());
    let diff = chat_diff::diff_texts("a.rs", Some(&old), Some(&new));
    let mut list = DiffList::read(&diff.text, "").unwrap();
    list.offer_widening();
    assert!(!list.has_end());
    assert_eq!(
        names(&list, Some(0)),
        ["above:0 ↑ Show 20 lines", "all-above:0 Show all 95 lines"]
    );
    list.ask(Widening::Above(0));
    list.widen(&old).unwrap();
    assert!(!list.has_end());
}

#[test]
fn the_line_beside_a_button_is_found_again_when_more_is_shown() {
    for split in [false, true] {
        let (mut list, old) = of_a_file();
        list.offer_widening();
        list.show(shown(split, Space::Counts));
        // Three lines around the changes in lines 30 and 80.
        for (what, line, n_above) in [
            (Widening::Above(0), 27, 20),
            (Widening::Below(0), 33, 0),
            (Widening::AllAbove(1), 77, 22),
            (Widening::AllBelow(0), 83, 0),
        ] {
            let beside = list.beside(what).unwrap();
            assert_eq!(beside, [Some(line); 2], "{what:?}");
            let before = list.place_of_line(beside).unwrap();
            list.ask(what);
            list.widen(&old).unwrap();
            let after = list.place_of_line(beside).unwrap();
            assert_eq!(after - before, n_above, "{what:?}");
        }
        assert_eq!(list.beside(Widening::Above(9)), None);
    }
}

/// A file of 100 lines in which lines 20, 50 and 80 differ, and where `blank` says in white space alone.
fn of_a_file_with(blank: [bool; 3]) -> (DiffList, String) {
    let old: Vec<String> = (1..=100).map(|n| format!("line {n}\n")).collect();
    let mut new = old.clone();
    for (at, blank) in [19, 49, 79].into_iter().zip(blank) {
        new[at] = match blank {
            true => format!("  {}", old[at]),
            false => format!("new {}", old[at]),
        };
    }
    let (old, new) = (old.concat(), new.concat());
    let diff = chat_diff::diff_texts("a.rs", Some(&old), Some(&new));
    let mut list = DiffList::read(&diff.text, "").unwrap();
    list.offer_widening();
    list.show(shown(false, Space::Ignored));
    (list, old)
}

/// Buttons of all heads that are shown, and of the end.
fn all_buttons(list: &DiffList) -> Vec<Widening> {
    let heads = list.items().iter().filter_map(|item| match item {
        Item::Hunk(_, hunk) => Some(Some(*hunk)),
        Item::End(_) => Some(None),
        _ => None,
    });
    let buttons = heads.flat_map(|head| list.buttons(head));
    buttons.map(|(what, _)| what).collect()
}

#[test]
fn every_button_shows_more_where_hunks_are_hidden() {
    let (list, _) = of_a_file_with([false, true, false]);
    assert_eq!(
        names(&list, Some(2)),
        [
            "below:0 ↓ Show 20 lines",
            "above:2 ↑ Show 20 lines",
            "all-above:2 Show all 53 lines"
        ]
    );
    for blank in [
        [true, false, false],
        [false, true, false],
        [false, false, true],
        [false, true, true],
        [true, false, true],
    ] {
        let n_buttons = all_buttons(&of_a_file_with(blank).0).len();
        assert!(n_buttons >= 3);
        for nth in 0..n_buttons {
            let (mut list, old) = of_a_file_with(blank);
            let mut what = all_buttons(&list)[nth];
            let mut n_pressed = 0;
            loop {
                let n_items = list.items().len();
                list.ask(what);
                list.widen(&old).unwrap();
                assert!(list.items().len() > n_items, "{blank:?} {what:?}");
                n_pressed += 1;
                let Some(next) = all_buttons(&list).first().copied() else {
                    break;
                };
                what = next;
            }
            assert!(n_pressed < 12, "{n_pressed}");
            // A head, 100 lines, and the old ones of what was changed.
            let n_changed = blank.iter().filter(|blank| !**blank).count();
            assert_eq!(list.items().len(), 101 + n_changed, "{blank:?}");
        }
        let (mut list, old) = of_a_file_with(blank);
        list.ask(*all_buttons(&list).last().unwrap());
        list.widen(&old).unwrap();
        assert!(!list.has_end(), "{blank:?}");
    }
}

#[test]
fn a_line_that_is_hidden_is_passed_over_for_one_that_is_not() {
    let (mut list, _) = of_a_file_with([true, false, false]);
    let item = list.seek(&|line| line.contains("line 20") || line.contains("line 80"));
    let line = item.and_then(|item| list.numbers(list.items()[item]));
    assert_eq!(line, Some([Some(80), None]));
    assert_eq!(list.seek(&|line| line.contains("line 20")), None);
}

#[test]
fn another_text_is_not_shown_as_the_files() {
    let (mut list, old) = of_a_file();
    list.offer_widening();
    let before: Vec<Item> = list.items().to_vec();
    list.ask(Widening::AllAbove(0));
    assert!(list.widen(&old.replace("line 31\n", "other\n")).is_err());
    assert_eq!(list.items(), &before[..before.len() - 1]);
    assert_eq!(names(&list, Some(0)), [""; 0]);
}

#[test]
fn unified_and_split_tell_the_same_lines() {
    let mut list = DiffList::read(DIFF, "").unwrap();
    let none = BTreeMap::new();
    assert_eq!(
        drawn(&list, &none),
        [
            "@@ -1,3 +1,4 @@ fn a",
            "[1  1]let x = 1;",
            "[2   ]removed old(word);",
            "[   2]added new(word);",
            "[   3]added more();",
            "[3  4]}",
        ]
    );
    assert!(list.show(shown(true, Space::Counts)));
    assert_eq!(
        drawn(&list, &none),
        [
            "@@ -1,3 +1,4 @@ fn a",
            "",
            "~[1]let x = 1;",
            "[1]let x = 1;",
            "",
            "[2]removed old(word);",
            "[2]added new(word);",
            "",
            "",
            "[3]added more();",
            "",
            "~[3]}",
            "[4]}",
        ]
    );
    assert!(!list.show(shown(true, Space::Counts)), "nothing changed");
}

#[test]
fn colours_change_no_text() {
    let mut list = DiffList::read(DIFF, "").unwrap();
    for split in [false, true] {
        list.show(shown(split, Space::Counts));
        let plain = drawn(&list, &BTreeMap::new());
        let lines: Lines = Rc::new(vec![vec![(0..3, Class::Keyword), (2..99, Class::Type)]; 3]);
        let colours = HunkColours {
            old: Some(lines.clone()),
            new: Some(lines),
        };
        let colours = BTreeMap::from([((0, 0), colours)]);
        assert_ne!(list.draw(0, &BTreeMap::new()), list.draw(0, &colours));
        assert_eq!(drawn(&list, &colours), plain);
    }
    assert_eq!(list.language(0), Some("rust"));
    assert_eq!(
        list.side_text((0, 0), true).unwrap(),
        "let x = 1;\nold(word);\n}"
    );
    assert_eq!(
        list.side_text((0, 0), false).unwrap(),
        "let x = 1;\nnew(word);\nmore();\n}"
    );
}

#[test]
fn white_space_alone_is_said_to_be_all() {
    let mut list = DiffList::read("@@ -1,1 +1,1 @@\n-a b\n+a  b\n", "x.rs").unwrap();
    assert_eq!(list.items().len(), 3);
    list.show(shown(false, Space::Ignored));
    assert_eq!(drawn(&list, &BTreeMap::new()), ["Only white space differs"]);
}

#[test]
fn lines_that_differ_in_their_ends_alone_say_so() {
    let list = DiffList::read("@@ -1,2 +1,2 @@\n-a\r\n+a\n-b\r\n+c\r\n", "x").unwrap();
    let lines = drawn(&list, &BTreeMap::new());
    assert_eq!(
        lines[1..],
        [
            "[1   ]removed a ends with CR LF",
            "[2   ]removed b",
            "[   1]added a ends with LF",
            "[   2]added c",
        ]
    );
}

#[test]
fn made_files_binaries_and_renames_are_one_line() {
    let mut diff = String::new();
    for path in ["Cargo.lock", "b.rs"] {
        diff += &format!(
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"
        );
    }
    diff += "diff --git a/x.png b/x.png\nBinary files a/x.png and b/x.png differ\n";
    diff += "diff --git a/o.rs b/n.rs\nsimilarity index 100%\nrename from o.rs\nrename to n.rs\n";
    diff += "diff --git a/o.rs b/c.rs\nsimilarity index 100%\ncopy from o.rs\ncopy to c.rs\n";
    let mut list = DiffList::read(&diff, "").unwrap();
    let names = |list: &DiffList| drawn(list, &BTreeMap::new());
    assert_eq!(
        names(&list),
        [
            "Cargo.lock+1−1",
            "Show diff (lock file, 2 lines)",
            "b.rs+1−1",
            "@@ -1,1 +1,1 @@",
            "[1   ]removed a",
            "[   1]added b",
            "x.png",
            "Binary file: its content is not shown",
            "o.rs → n.rsrenamed",
            "Renamed, its content is the same",
            "o.rs → c.rscopied",
            "Copied, its content is the same",
        ]
    );
    list.toggle(0);
    assert_eq!(names(&list)[1], "@@ -1,1 +1,1 @@");
    list.toggle(1);
    assert_eq!(names(&list)[5], "Show diff (viewed, 2 lines)");
}

#[test]
fn what_became_of_a_mode_is_said_whatever_else_changed() {
    let lines = |diff: &str| drawn(&DiffList::read(diff, "").unwrap(), &BTreeMap::new());
    let mode = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n";
    let link =
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+x\n";
    let hunk = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(lines(mode), ["Only its mode differs (mode 644 → 755)"]);
    assert_eq!(lines(&format!("{mode}{hunk}"))[0], "mode 644 → 755");
    assert_eq!(lines(link)[..2], ["link", "@@ -0,0 +1,1 @@"]);
    let several = lines(&format!("{mode}{hunk}{link}"));
    assert_eq!(
        [&*several[0], &*several[4]],
        ["xmode 644 → 755+1−1", "lnewlink+1−0"]
    );
    for (headers, note) in [
        (
            "new file mode 100644\nindex 0000000..e69de29\n",
            "New and empty",
        ),
        ("new file mode 100755\n", "New and empty (mode 755)"),
        ("deleted file mode 100644\n", "Deleted, it was empty"),
    ] {
        assert_eq!(lines(&format!("diff --git a/x b/x\n{headers}")), [note]);
    }
    // Cut off before its lines, of a file nothing is known.
    let cut = "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n";
    assert!(DiffList::read(cut, "").is_none());
}

#[test]
fn hostile_names_and_lines_stay_text_and_hide_nothing() {
    let list = DiffList::read(
        "@@ -1 +1 @@\n-<img src=x>\n+\u{202e}evil\u{0}<script>\n",
        "x",
    )
    .unwrap();
    let lines = drawn(&list, &BTreeMap::new());
    assert_eq!(lines[1], "[1   ]removed <img src=x>");
    assert!(!lines[2].contains(['\u{202e}', '\u{0}']), "{}", lines[2]);
    assert!(lines[2].contains("<script>"));
    let long = format!("@@ -0,0 +1 @@\n+{}\n", "é".repeat(1_000_000));
    let list = DiffList::read(&long, "x").unwrap();
    assert!(list.draw(0, &BTreeMap::new()).words.len() < 5_000);
    // Nor does what stands behind the place of a hunk, or in its stead.
    for place in ["@@ -1 +1 @@ ", "@@ "] {
        let long = "é".repeat(1_000_000);
        let diff = format!("{place}fn a\u{202e}b{long}\n-a\n+b\n");
        let list = DiffList::read(&diff, "x").unwrap();
        let head = drawn(&list, &BTreeMap::new()).remove(0);
        assert!(head.contains("fn aU+202Ebé"), "{head}");
        assert!(head.ends_with("é…") && head.len() < 250, "{head}");
    }
    assert!(DiffList::read("no diff at all", "x").is_none());
    assert!(DiffList::read("", "x").is_none());
}

#[test]
fn the_name_of_a_file_is_drawn_up_to_a_length() {
    let long = |name: &str| format!("{name}/{}.rs", "é".repeat(100_000));
    let moved = format!("rename from {}\nrename to {}\n", long("a"), long("b"));
    let diff = format!("diff --git a/x b/x\nsimilarity index 100%\n{moved}{DIFF}");
    let lines = drawn(&DiffList::read(&diff, "").unwrap(), &BTreeMap::new());
    let head = lines.iter().find(|line| line.contains(" → ")).unwrap();
    assert!(head.starts_with("a/é") && head.contains("é… → b/é"), "cut");
    assert!(head.len() < 9_000, "{}", head.len());
}

#[test]
fn a_long_diff_is_drawn_a_chunk_at_a_time() {
    let mut diff = "@@ -0,0 +1,200000 @@\n".to_owned();
    for n in 0..200_000 {
        diff += &format!("+line {n}\n");
    }
    let list = DiffList::read(&diff, "x.txt").unwrap();
    assert_eq!(list.items().len(), 200_001);
    let last = list.draw(list.n_chunks() - 1, &BTreeMap::new());
    assert!(last.words.contains("line 199999") && last.words.len() < 4_000);
    assert_eq!(list.height_px(1, 80), 20.0);
    assert!(
        list.side_text((0, 0), false).is_none(),
        "too long for colours"
    );
}

#[test]
fn a_line_is_sought_in_all_files_and_shown_where_it_was_folded_away() {
    let file = |name: &str, line: &str| {
        let old = (1..=30).map(|n| format!("line {n}\n")).collect::<String>();
        let new = old.replace("line 20\n", &format!("{line}\n"));
        chat_diff::diff_texts(name, Some(&old), Some(&new)).text
    };
    let text = file("a.rs", "sought") + &file("Cargo.lock", "a name");
    let mut list = DiffList::read(&text, "").unwrap();
    let has = |list: &DiffList, item: usize, words: &str| {
        let Some(Item::Line(file, hunk, row, side)) = list.items().get(item) else {
            panic!("no line is at {item}")
        };
        let [old, new] = list.sides(*file, *hunk, *row);
        let shown = match side {
            Side::Old => [old, None],
            Side::New => [None, new],
            Side::Both => [old, new],
        };
        shown.into_iter().flatten().any(|(_, at)| {
            let line = list.line(*file, *hunk, at).unwrap();
            list.text[line.range.clone()].contains(words)
        })
    };
    for split in [false, true] {
        list.show(shown(split, Space::Counts));
        for words in ["sought", "line 20"] {
            let item = list.seek(&|line| line.contains(words)).unwrap();
            assert!(has(&list, item, words), "{words}");
        }
    }
    assert!(list.items().contains(&Item::Folded(1)) && !list.is_closed());
    let item = list.seek(&|line| line.contains("a name")).unwrap();
    assert!(has(&list, item, "a name"));
    assert!(!list.items().contains(&Item::Folded(1)));
    assert_eq!(list.seek(&|line| line.contains("nowhere")), None);
}

#[test]
fn a_diff_is_closed_while_nothing_is_seen_but_buttons() {
    let file = |path| format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n");
    let read = |text: &str| DiffList::read(text, "").unwrap();
    let mut list = read(&file("Cargo.lock"));
    assert!(list.is_closed());
    list.seek(&|line| line == "b").unwrap();
    assert!(!list.is_closed());
    assert!(!read(&file("b.rs")).is_closed());
    assert!(!read(&(file("Cargo.lock") + &file("b.rs"))).is_closed());
}
