//! What never ends, and what is very long.

use super::*;

#[test]
fn a_command_that_never_ends_swallows_no_line_but_its_own() {
    assert_eq!(texts("a\u{1b}]8;;https://x.invalid\nb\nc"), ["a", "b", "c"]);
}

#[test]
fn a_line_without_end_is_cut_and_counted() {
    let line = lines_of(&"é".repeat(1_000_000)).remove(0);
    assert_eq!(line.text.chars().count(), 4_000);
    assert_eq!(line.cut_bytes, 2 * 996_000);
}

#[test]
fn a_cell_with_marks_without_end_is_cut_and_counted() {
    let marks = |n: usize| "\u{301}".repeat(n);
    let line = lines_of(&format!("x\ry{}", marks(1_000_000))).remove(0);
    assert_eq!(line.text, format!("y{}", marks(16)));
    assert_eq!(line.cut_bytes, 2 * 999_984);
    // … and when a line of text becomes one of cells.
    let line = lines_of(&format!("xy{}\rz", marks(100))).remove(0);
    assert_eq!(line.text, format!("zy{}", marks(16)));
    assert_eq!(line.cut_bytes, 2 * 84);
    // Those that are kept are no less memory than letters.
    let size = |unit: &str| read(Printed::text(&format!("x\r{}", unit.repeat(4_000)))).size();
    let n_bytes = 4_000 * marks(16).len();
    assert!(size(&format!("y{}", marks(16))) > size("y") + n_bytes);
}

#[test]
fn lines_of_tabs_take_no_more_than_lines_of_wide_characters() {
    let size = |unit: &str| {
        let lines = format!("{}\rx\n", unit.repeat(4_000)).repeat(100);
        read(Printed::text(&lines)).size()
    };
    assert!(size("\t") <= size("漢"), "{}", size("\t"));
    let line = lines_of(&format!("{}\rx", "\t".repeat(4_000))).remove(0);
    assert_eq!(line.text.chars().filter(|char| *char == '\t').count(), 999);
    assert_eq!(line.cut_bytes, 3_000);
    let line = lines_of(&format!("{}\rx", "漢".repeat(4_000))).remove(0);
    assert_eq!((line.text.chars().count(), line.cut_bytes), (4_001, 0));
}

/// Whoever reads on from a later place has the line as it was there.
#[test]
fn a_line_that_was_erased_is_no_place_to_begin_from() {
    // The last line is written, erased cell by cell, and left and entered again by the line feed that ends a piece.
    let enters = "\nabc\r\u{1b}[3X\u{1b}[A\n";
    let before = "a".repeat(31) + "\n";
    let before = before.repeat(1_023) + &"b".repeat(32 - enters.len());
    let text = format!("{before}{enters}\tx\n{}", "c\n".repeat(400));
    let printed = Printed::text(&text);
    let terminal = read_all(printed);
    let whole = terminal.lines(printed, 0..terminal.n_lines());
    assert_eq!(whole[1_024].text, "        x");
    assert_eq!(terminal.lines(printed, 1_024..1_030), whole[1_024..1_030]);
}

#[test]
fn ten_megabytes_are_kept_as_places() {
    let mut text = String::new();
    for nth in 0..120_000 {
        text.push_str(&format!("\u{1b}[32mline\u{1b}[0m {nth} of an output that is long, and longer than anybody reads, to the end of it\n"));
    }
    assert!(text.len() > 10_000_000);
    let printed = Printed::text(&text);
    let terminal = read(printed);
    assert_eq!(terminal.n_lines(), 120_000);
    assert!(terminal.size() < 200_000, "{}", terminal.size());
    for first in [0, 1, 12_345, 60_000, 119_899, 119_900, 119_992] {
        let lines = terminal.lines(printed, first..first + 8);
        assert_eq!(lines.len(), 8);
        for (nth, line) in lines.iter().enumerate() {
            assert!(
                line.text.starts_with(&format!("line {} of", first + nth)),
                "{line:?}"
            );
            assert_eq!(line.runs[0].style.foreground, Color::Indexed(2));
        }
    }
}

#[test]
fn progress_of_many_megabytes_is_read_in_bounded_memory() {
    let mut text = String::new();
    for nth in 0..200_000 {
        text.push_str(&format!(
            "\u{1b}[3A\u{1b}[J{nth} one\n{nth} two\n{nth} three\n"
        ));
        if nth % 50 == 0 {
            text.push_str(&format!("step {nth}\n\n\n\n"));
        }
    }
    let printed = Printed::text(&text);
    let terminal = read(printed);
    assert!(
        terminal.size() < text.len() / 4,
        "{} of {}",
        terminal.size(),
        text.len()
    );
    let all = terminal.lines(printed, 0..terminal.n_lines());
    assert_eq!(all.len(), terminal.n_lines());
    for first in [0, 100, 1_000, all.len() - 150] {
        assert_eq!(
            terminal.lines(printed, first..first + 20),
            all[first..first + 20]
        );
    }
}

/// Whoever reads on from a later place knows what was kept before it.
#[test]
fn colours_that_were_kept_are_restored_however_many_lines_later() {
    let lines = "a line of some length\n".repeat(4_000);
    let text = format!("\u{1b}[31m\u{1b}7\u{1b}[0m{lines}\u{1b}8{lines}");
    let printed = Printed::text(&text);
    let terminal = read_all(printed);
    let whole = terminal.lines(printed, 0..terminal.n_lines());
    assert_eq!(whole[7_000].runs[0].style.foreground, Color::Indexed(1));
    for start in (0..terminal.n_lines() - 40).step_by(97) {
        let window = terminal.lines(printed, start..start + 40);
        assert_eq!(window, whole[start..start + 40], "from {start}");
    }
}

/// Whoever reads on from a later place has fewer lines above.
#[test]
fn as_many_lines_are_inserted_however_many_stand_above() {
    let mut text = String::new();
    for nth in 0..3_000 {
        text.push_str(&format!("{nth}\n\u{1b}[A\u{1b}[20L{nth}\n\n\n"));
    }
    let printed = Printed::text(&text);
    let terminal = read_all(printed);
    let whole = terminal.lines(printed, 0..terminal.n_lines());
    for start in (0..terminal.n_lines() - 40).step_by(97) {
        let window = terminal.lines(printed, start..start + 40);
        assert_eq!(window, whole[start..start + 40], "from {start}");
    }
}

#[test]
fn a_string_that_never_ends_takes_no_more_than_its_line() {
    for begins in ['P', 'X', '^', '_', ']'] {
        let printed = format!("a\n\u{1b}{begins}lost\nb\nc");
        assert_eq!(texts(&printed), ["a", "", "b", "c"], "{begins}");
        let ends = format!("a\n\u{1b}{begins}0;b\u{1b}\\\nc");
        assert_eq!(texts(&ends), ["a", "", "c"], "{begins}");
    }
}
