//! Pieces and windows of anything show what the whole shows.

use super::*;

/// Text as programs print it: words, and all that moves the cursor.
fn printed_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[a-z ]{0,12}",
        1 => "[é漢\u{301}\u{200d}😀\u{85}\u{9b}\u{7f}]{0,4}",
        5 => Just("\n".to_owned()),
        1 => Just("\r\n".to_owned()),
        2 => Just("\r".to_owned()),
        1 => Just("\t".to_owned()),
        1 => Just("\u{8}".to_owned()),
        6 => (0..200u16, 0..4u16, "[ABCDEFGJKLMPX@HSTdsuhlmr`a]").prop_map(|(n, m, action)| match m {
            0 => format!("\u{1b}[{action}"),
            1 => format!("\u{1b}[{n}{action}"),
            2 => format!("\u{1b}[{};{m}{action}", n % 9),
            _ => format!("\u{1b}[{}{action}", n % 4),
        }),
        1 => Just("\u{1b}7".to_owned()),
        1 => Just("\u{1b}8".to_owned()),
        1 => Just("\u{1b}M".to_owned()),
        1 => Just("\u{1b}]8;;https://x.invalid/\u{1b}\\".to_owned()),
        1 => Just("\u{1b}]0;✳\u{7}".to_owned()),
        1 => Just("\u{1b}_✳\u{1b}\\".to_owned()),
        1 => Just("\u{1b}".to_owned()),
    ];
    prop::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_lines_are_the_same_whatever_the_pieces(
        text in printed_text(),
        repeats in 1..4usize,
        cuts in prop::collection::vec(1..200usize, 0..60),
        noise in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut bytes = text.repeat(repeats).into_bytes();
        bytes.extend(noise);
        let switches = [(bytes.len() / 3, Stream::Stderr), (bytes.len() / 2, Stream::Stdout)];
        let whole = Printed { bytes: &bytes, switches: &switches };
        let at_once = read_all(whole);
        let mut in_pieces = Terminal::new();
        let mut end = 0;
        for cut in cuts {
            end = (end + cut).min(bytes.len());
            in_pieces.read(Printed { bytes: &bytes[..end], ..whole }, usize::MAX);
        }
        while !in_pieces.read(whole, 7) && in_pieces.n_read() + 4 < bytes.len() {}
        in_pieces.read(whole, usize::MAX);
        prop_assert_eq!(&lines(&in_pieces, whole), &lines(&at_once, whole));
        prop_assert_eq!(in_pieces.is_screen(), at_once.is_screen());
        for line in lines(&at_once, whole) {
            prop_assert!(!line.text.contains(|char: char| char.is_control() && char != '\t'), "{:?}", line);
            prop_assert_eq!(line.runs.last().map_or(0, |run| run.end), line.text.len());
        }
    }

    /// Lines that went out of reach are read again, from places far before them: they are what they were.
    #[test]
    fn any_window_shows_what_the_whole_shows(
        texts in prop::collection::vec(printed_text(), 1..5),
        repeats in 1..300usize,
        starts in prop::collection::vec(0.0..1.0f64, 4),
    ) {
        let mut text = String::new();
        for nth in 0..repeats {
            text.push_str(&texts[nth % texts.len()]);
            text.push_str(&format!("\n{nth}\n"));
        }
        let printed = Printed::text(&text);
        let terminal = read_all(printed);
        let n_lines = terminal.n_lines();
        // Read from the first byte on, without the help of any place.
        let whole = terminal.lines(printed, 0..n_lines);
        prop_assert_eq!(whole.len(), n_lines);
        for start in starts {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let start = (start * n_lines as f64) as usize;
            let end = (start + 40).min(n_lines);
            prop_assert_eq!(&terminal.lines(printed, start..end), &whole[start..end]);
        }
    }

    #[test]
    fn the_screen_takes_anything(text in printed_text(), repeats in 1..6usize) {
        let text = text.repeat(repeats);
        let printed = Printed::text(&text);
        for line in screen::lines(printed, read_all(printed).screen_size()) {
            prop_assert!(!line.text.contains(char::is_control), "{:?}", line);
        }
    }
}
