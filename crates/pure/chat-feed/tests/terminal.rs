//! What programs print, as lines: colours, progress, links, hostile sequences; the same lines whatever the pieces.

use chat_feed::terminal::contrast::{self, DARK, LEAST_CONTRAST, LIGHT, Look};
use chat_feed::terminal::{Color, Line, Printed, Stream, Terminal, screen};
use proptest::prelude::*;

mod bounds;
mod colours;
mod laws;
mod on_screen;

fn read(printed: Printed<'_>) -> Terminal {
    let mut terminal = Terminal::new();
    assert!(terminal.read(printed, usize::MAX));
    terminal
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
fn tabs_and_wide_characters_keep_their_columns() {
    assert_eq!(texts("a\tb\u{1b}[9GX"), ["a\tX"]);
    assert_eq!(texts("漢字x\u{1b}[5Gy"), ["漢字y"]);
    assert_eq!(texts("漢字\u{1b}[2Gy"), [" y字"]);
    assert_eq!(texts("ne\u{301}e\u{1b}[3Gx"), ["ne\u{301}x"]);
    assert_eq!(texts("a\tb\u{1b}[3Gx"), ["a x     b"]);
}

fn lines_of(text: &str) -> Vec<Line> {
    let printed = Printed::text(text);
    let terminal = read(printed);
    terminal.lines(printed, 0..terminal.n_lines())
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
fn what_stands_behind_a_jump_is_of_the_stream_that_wrote_it() {
    for text in [
        "\u{1b}[5Cerror",
        "abc\r\u{1b}[2Xerror",
        "a\tb\u{1b}[3Gerror",
    ] {
        let printed = Printed {
            bytes: text.as_bytes(),
            switches: &[(0, Stream::Stderr)],
        };
        let lines = read(printed).lines(printed, 0..1);
        assert!(lines[0].stderr, "{text:?}");
        assert!(
            lines[0].runs.iter().all(|run| run.style.stderr()),
            "{text:?}"
        );
    }
}

#[test]
fn a_last_line_of_which_only_the_ground_is_seen_is_one() {
    let lines = lines_of("abc\r\u{1b}[41m\u{1b}[3X");
    assert_eq!(lines[0].text, "   ");
    assert_eq!(lines[0].runs[0].style.background, Color::Indexed(1));
    assert_eq!(texts("abc\r\u{1b}[3X"), Vec::<String>::new());
    // A screen that is cleared leaves it, too.
    assert_eq!(texts("abc\r\u{1b}[41m\u{1b}[3X\u{1b}cx"), ["   ", "x"]);
}

/// What is left unread at the end is a character that is not whole.
fn read_all(printed: Printed<'_>) -> Terminal {
    let mut terminal = Terminal::new();
    terminal.read(printed, usize::MAX);
    assert!(terminal.n_read() + 4 > printed.bytes.len());
    terminal
}

fn lines(terminal: &Terminal, printed: Printed<'_>) -> Vec<Line> {
    terminal.lines(printed, 0..terminal.n_lines())
}
