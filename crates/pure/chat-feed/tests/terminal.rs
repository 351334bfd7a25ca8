//! What programs print, as lines: colours, progress, links, hostile sequences; the same lines whatever the pieces.

use chat_feed::terminal::contrast::{self, DARK, LEAST_CONTRAST, LIGHT, Look};
use chat_feed::terminal::{Color, Line, Printed, Stream, Terminal, screen};
use proptest::prelude::*;

fn read(printed: Printed<'_>) -> Terminal {
    let mut terminal = Terminal::new();
    assert!(terminal.read(printed, usize::MAX));
    terminal
}

fn lines_of(text: &str) -> Vec<Line> {
    let printed = Printed::text(text);
    let terminal = read(printed);
    terminal.lines(printed, 0..terminal.n_lines())
}

fn texts(text: &str) -> Vec<String> {
    lines_of(text).into_iter().map(|line| line.text).collect()
}

/// Text, with the style of each run behind it where it is not plain.
fn styled(text: &str) -> String {
    let mut out = String::new();
    for line in lines_of(text) {
        let mut start = 0;
        for run in &line.runs {
            out.push_str(&line.text[start..run.end]);
            start = run.end;
            let style = run.style;
            let mut words = Vec::new();
            for (name, color) in [("fg", style.foreground), ("bg", style.background)] {
                match color {
                    Color::Default => {}
                    Color::Indexed(index) => words.push(format!("{name} {index}")),
                    Color::Rgb(red, green, blue) => {
                        words.push(format!("{name} {red},{green},{blue}"))
                    }
                }
            }
            for (name, on) in [
                ("bold", style.bold()),
                ("dim", style.dim()),
                ("italic", style.italic()),
                ("underline", style.underline()),
                ("strike", style.strike()),
                ("inverse", style.inverse()),
            ] {
                if on {
                    words.push(name.to_owned());
                }
            }
            if !words.is_empty() {
                out.push_str(&format!("<{}>", words.join(" ")));
            }
        }
        out.push('\n');
    }
    out
}

#[test]
fn plain_text_is_its_lines() {
    assert_eq!(texts(""), Vec::<String>::new());
    assert_eq!(texts("a"), ["a"]);
    assert_eq!(texts("a\n"), ["a"]);
    assert_eq!(texts("a\r\n\r\n\tb\n\n"), ["a", "", "\tb", ""]);
}

#[test]
fn colours_and_weights_are_runs() {
    assert_eq!(styled("a\u{1b}[1;31mb\u{1b}[0mc"), "ab<fg 1 bold>c\n");
    assert_eq!(styled("\u{1b}[92;44mx\u{1b}[39;49my"), "x<fg 10 bg 4>y\n");
    assert_eq!(
        styled("\u{1b}[38;5;208mx\u{1b}[48:2::1:2:3my"),
        "x<fg 208>y<fg 208 bg 1,2,3>\n"
    );
    assert_eq!(styled("\u{1b}[38:2:9:8:7mx"), "x<fg 9,8,7>\n");
    assert_eq!(
        styled("\u{1b}[2;3;4;7;9mx\u{1b}[22;23;24;27;29my"),
        "x<dim italic underline strike inverse>y\n"
    );
    assert_eq!(styled("\u{1b}[4:3mx\u{1b}[4:0my"), "x<underline>y\n");
    // The colour of an underline is no colour of the text, and its numbers are no codes.
    assert_eq!(styled("\u{1b}[58;5;9mx\u{1b}[58:2::1:2:3my"), "xy\n");
    // A colour goes on over lines.
    assert_eq!(styled("\u{1b}[32ma\nb"), "a<fg 2>\nb<fg 2>\n");
}

#[test]
fn concealed_and_blinking_text_is_shown() {
    assert_eq!(styled("\u{1b}[8mhidden\u{1b}[28;5mafter"), "hiddenafter\n");
}

#[test]
fn progress_on_one_line_is_its_last_state() {
    assert_eq!(texts(" 10%\r 50%\r100%\ndone"), ["100%", "done"]);
    assert_eq!(texts("long line\r\u{1b}[Kok"), ["ok"]);
    assert_eq!(texts("long line\rok\u{1b}[K"), ["ok"]);
    assert_eq!(texts("long line\u{1b}[2K\rok"), ["ok"]);
    assert_eq!(texts("abc\u{1b}[1Kd"), ["   d"]);
    assert_eq!(texts("long line\rok"), ["okng line"]);
    assert_eq!(texts("|\u{8}/\u{8}-\u{8}*"), ["*"]);
    assert_eq!(
        texts("abc\u{1b}[2Gx\u{1b}[Dy\u{1b}[Cz"),
        ["ayzz".replace("yzz", "yc") + "z"]
    );
    assert_eq!(texts("abcdef\u{1b}[3D\u{1b}[2P"), ["abcf"]);
    assert_eq!(texts("abc\r\u{1b}[2@"), ["  abc"]);
}

#[test]
fn a_combining_mark_with_nothing_before_it_is_left_out_and_counted() {
    for (text, shown) in [("abc\r\u{301}", "abc"), ("abc\r\u{301}x", "xbc")] {
        let lines = lines_of(text);
        assert_eq!(
            (&*lines[0].text, lines[0].cut_bytes),
            (shown, 2),
            "{text:?}"
        );
    }
    assert_eq!(texts("abc\rx\u{301}"), ["x\u{301}bc"]);
    assert_eq!(texts("\u{301}x"), ["\u{301}x"]);
}

#[test]
fn progress_on_several_lines_is_its_last_state() {
    // npm, docker: up, erase what is below, write again.
    assert_eq!(
        texts("a 1\nb 1\n\u{1b}[2A\u{1b}[Ja 2\nb 2\n"),
        ["a 2", "b 2"]
    );
    // docker compose: up, and each line erased as it is written again.
    assert_eq!(
        texts("a 1\nb 1\n\u{1b}[2A\u{1b}[2Ka 22\n\u{1b}[2Kb 22\nend"),
        ["a 22", "b 22", "end"]
    );
    // Up into one line, and back below.
    assert_eq!(
        texts("one\ntwo\nthree\n\u{1b}[3F\u{1b}[Kuno\u{1b}[3Eend"),
        ["uno", "two", "three", "end"]
    );
    // Kept and restored.
    assert_eq!(texts("x\u{1b}7 1%\u{1b}8 2%\u{1b}8 3%"), ["x 3%"]);
    // The colours are kept as well, but neither the link nor the stream.
    assert_eq!(
        styled("\u{1b}[32mx\u{1b}7\u{1b}[1;31mabc\u{1b}8z"),
        "xz<fg 2>bc<fg 1 bold>\n"
    );
    let printed = Printed {
        bytes: b"\x1b[32m\x1b7\x1b]8;;https://x.invalid/\x07\x1b8a",
        switches: &[(7, Stream::Stderr)],
    };
    let terminal = read(printed);
    let run = terminal.lines(printed, 0..1)[0].runs[0];
    assert_eq!(run.style.foreground, Color::Indexed(2));
    assert!(run.style.stderr() && terminal.link(&run).is_some());
    // Not above the first line.
    assert_eq!(texts("a\u{1b}[99A\rb"), ["b"]);
    assert_eq!(texts("a\nb\nc\u{1b}[2A\u{1b}[M"), ["b", "c"]);
}

#[test]
fn what_stood_before_a_cleared_screen_stays() {
    for clear in [
        "\u{1b}[2J\u{1b}[H",
        "\u{1b}[H\u{1b}[2J",
        "\u{1b}[H\u{1b}[J",
        "\u{1b}[3J\u{1b}[2J\u{1b}[H",
        "\u{1b}c",
    ] {
        let text = format!("before{clear}after");
        assert_eq!(texts(&text), ["before", "after"], "{clear:?}");
        assert!(!read(Printed::text(&text)).is_screen(), "{clear:?}");
    }
}

#[test]
fn programs_that_draw_on_a_screen_are_found() {
    for text in [
        "\u{1b}[?1049h",
        "\u{1b}[?47;1h",
        "\u{1b}[3;4Hx",
        "\u{1b}[Hx",
        "\u{1b}[2;10r",
        "\u{1b}[5d",
    ] {
        assert!(read(Printed::text(text)).is_screen(), "{text:?}");
    }
    let text = "\u{1b}[?1049h\u{1b}[2J\u{1b}[2;3Hab\u{1b}[31mc";
    let printed = Printed::text(text);
    let lines = screen::lines(printed, read(printed).screen_size());
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(texts, ["", "  abc"]);
    assert_eq!(lines[1].runs[1].style.foreground, Color::Indexed(1));
    // What programs ask for to learn the size is none.
    assert_eq!(
        read(Printed::text("\u{1b}[999;999H\u{1b}[30;100H")).screen_size(),
        (100, 30)
    );
}

fn on_screen(text: &str) -> Vec<String> {
    let text = format!("\u{1b}[?1049h{text}");
    let printed = Printed::text(&text);
    let lines = screen::lines(printed, read(printed).screen_size());
    lines.into_iter().map(|line| line.text).collect()
}

#[test]
fn a_character_is_repeated_for_no_more_than_a_line_of_a_screen() {
    for begins in ["\u{1b}[", "\u{9b}", "\u{1b}[1\u{1b}[", "\u{1b}[00"] {
        let lines = on_screen(&format!("x{begins}65535b"));
        assert_eq!(lines, ["x".repeat(80), "x".to_owned()], "{begins:?}");
    }
    assert_eq!(on_screen("ab\u{1b}[3bc"), ["abbbbc"]);
    assert_eq!(on_screen("ab\u{1b}[bc"), ["abbc"]);
    // What asks for something else is left as it is.
    for other in ["?65535b", "65535$b", ";65535b", ":65535b", "65535?b"] {
        let n_repeated = if other.starts_with(';') { 1 } else { 0 };
        let line = format!("x{}y", "x".repeat(n_repeated));
        assert_eq!(on_screen(&format!("x\u{1b}[{other}y")), [line], "{other}");
    }
    // It takes no longer than as many letters do.
    let many = format!("x{}", "\u{1b}[65535b".repeat(50_000));
    assert_eq!(on_screen(&many).last().unwrap().len(), 1);
}

#[test]
fn a_screen_is_not_made_anew_without_end() {
    assert_eq!(on_screen("a\u{1b}cb\u{1b}c"), [""; 0]);
    let many = "\u{1b}c".repeat(30_000);
    assert_eq!(on_screen(&format!("{many}x\u{1b}cy\u{1b}[31mz")), ["xyz"]);
}

#[test]
fn a_string_that_never_ends_takes_no_more_than_its_line_of_a_screen() {
    for begins in [
        "\u{1b}P", "\u{1b}X", "\u{1b}^", "\u{1b}_", "\u{1b}]", "\u{90}", "\u{98}", "\u{9d}",
        "\u{9e}", "\u{9f}",
    ] {
        for ends in ["\n", "\r\n"] {
            let lost = format!("a{ends}{begins}0;lost{ends}b");
            assert_eq!(on_screen(&lost), ["a", "", "b"], "{lost:?}");
        }
        let ended = format!("a\n{begins}0;b\u{1b}\\c\n{begins}d\u{18}e\n{begins}f\u{9c}g");
        assert_eq!(on_screen(&ended), ["a", "c", "e", "g"], "{begins:?}");
    }
    assert_eq!(on_screen("\u{1b}]0;title\u{7}a\nb"), ["a", "b"]);
    // No string begins behind what only looks like its sign.
    assert_eq!(on_screen("\u{1b}(]a\nb"), ["a", "b"]);
}

#[test]
fn links_go_to_web_pages_only() {
    let link = |text: &str| {
        let printed = Printed::text(text);
        let terminal = read(printed);
        let line = terminal.lines(printed, 0..1).remove(0);
        let link = line.runs.iter().find_map(|run| terminal.link(run));
        link.map(|link| link.to_string())
    };
    let behind = |url: &str| link(&format!("\u{1b}]8;;{url}\u{1b}\\text\u{1b}]8;;\u{1b}\\"));
    assert_eq!(
        behind("https://example.com/a;b?c"),
        Some("https://example.com/a;b?c".to_owned())
    );
    assert_eq!(
        link("\u{1b}]8;id=1;http://example.com/\u{7}text"),
        Some("http://example.com/".to_owned())
    );
    for url in [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "",
        "https://exämple.com/",
        "https://e.com/a b",
    ] {
        assert_eq!(behind(url), None, "{url}");
    }
    // One that is too long to be whole is none.
    assert_eq!(
        behind(&format!("https://example.com/{}", "a".repeat(2_000))),
        None
    );
    assert_eq!(
        behind(&format!("https://example.com/{}", ";".repeat(40))),
        None
    );
}

#[test]
fn a_command_that_never_ends_swallows_no_line_but_its_own() {
    assert_eq!(texts("a\u{1b}]8;;https://x.invalid\nb\nc"), ["a", "b", "c"]);
}

#[test]
fn tabs_and_wide_characters_keep_their_columns() {
    assert_eq!(texts("a\tb\u{1b}[9GX"), ["a\tX"]);
    assert_eq!(texts("漢字x\u{1b}[5Gy"), ["漢字y"]);
    assert_eq!(texts("漢字\u{1b}[2Gy"), [" y字"]);
    assert_eq!(texts("ne\u{301}e\u{1b}[3Gx"), ["ne\u{301}x"]);
    assert_eq!(texts("a\tb\u{1b}[3Gx"), ["a x     b"]);
}

#[test]
fn lines_of_errors_are_marked() {
    let printed = Printed {
        bytes: b"out\nerr\nout \x1b[3",
        switches: &[(4, Stream::Stderr), (8, Stream::Stdout)],
    };
    let terminal = read(printed);
    let marks: Vec<bool> = terminal
        .lines(printed, 0..9)
        .iter()
        .map(|line| line.stderr)
        .collect();
    assert_eq!(marks, [false, true, false]);
    // A sequence that one stream cuts does not swallow the other's text.
    let printed = Printed {
        bytes: b"a\x1b[3err\n1mb",
        switches: &[(4, Stream::Stderr), (8, Stream::Stdout)],
    };
    let lines = read(printed).lines(printed, 0..9);
    assert_eq!(lines[0].text, "aerr");
    assert_eq!(lines[1].text, "b");
    assert_eq!(lines[1].runs[0].style.foreground, Color::Indexed(1));
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

#[test]
fn every_colour_can_be_read_on_its_ground() {
    let steps = [0, 1, 50, 100, 128, 150, 200, 254, 255];
    for theme in [LIGHT, DARK] {
        for color in theme.ansi {
            assert!(
                contrast::contrast(color, theme.ground) >= LEAST_CONTRAST,
                "{color:?}"
            );
        }
        for ground in [
            theme.ground,
            (255, 0, 0),
            (118, 118, 118),
            (128, 128, 128),
            (0, 255, 0),
        ] {
            for red in steps {
                for green in steps {
                    for blue in steps {
                        let lifted = contrast::lift((red, green, blue), ground);
                        let reached = contrast::contrast(lifted, ground);
                        assert!(
                            reached >= LEAST_CONTRAST,
                            "{red},{green},{blue} on {ground:?}: {reached}"
                        );
                    }
                }
            }
        }
    }
    // Every pair of the first 256, however it is turned.
    for foreground in 0..=255 {
        for background in (0..=255).step_by(5) {
            let line = lines_of(&format!(
                "\u{1b}[38;5;{foreground};48;5;{background}ma\u{1b}[7mb\u{1b}[2mc\u{1b}[27md"
            ))
            .remove(0);
            for run in &line.runs {
                for theme in [LIGHT, DARK] {
                    let paint = theme.paint(&run.style);
                    let ground = paint.ground.unwrap();
                    assert!(
                        contrast::contrast(paint.text, ground) >= LEAST_CONTRAST,
                        "{run:?} {paint:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_passes_is_not_changed_and_what_is_lifted_stays_on_its_side() {
    assert_eq!(contrast::lift((0, 0, 255), (255, 255, 255)), (0, 0, 255));
    let (red, green, blue) = contrast::lift((255, 255, 0), (255, 255, 255));
    assert!(red == green && red > blue, "{red},{green},{blue}");
}

#[test]
fn the_theme_s_colours_are_named_and_others_painted() {
    let look = |text: &str| Look::of(&lines_of(text)[0].runs[0].style);
    assert_eq!(look("a"), Look::Plain);
    assert_eq!(look("\u{1b}[1;3ma"), Look::Plain);
    assert_eq!(look("\u{1b}[91ma"), Look::Themed(9));
    assert!(matches!(look("\u{1b}[38;5;99ma"), Look::Painted { .. }));
    // Black on black can be read.
    let Look::Painted { light, dark } = look("\u{1b}[30;40ma") else {
        panic!("painted");
    };
    for paint in [light, dark] {
        assert!(contrast::contrast(paint.text, paint.ground.unwrap()) >= LEAST_CONTRAST);
    }
}

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

/// What is left unread at the end is a character that is not whole.
fn read_all(printed: Printed<'_>) -> Terminal {
    let mut terminal = Terminal::new();
    terminal.read(printed, usize::MAX);
    assert!(terminal.n_read() + 4 > printed.bytes.len());
    terminal
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

fn lines(terminal: &Terminal, printed: Printed<'_>) -> Vec<Line> {
    terminal.lines(printed, 0..terminal.n_lines())
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
