//! Programs that draw on a screen.

use super::*;

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
