use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser};

use super::{gist, title};

/// What a reader of Markdown says is text.
fn as_read(line: &str) -> String {
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let said = Parser::new_ext(line, options).map(|event| match event {
        Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) | Event::Html(text) => {
            text.into_string()
        }
        _ => String::new(),
    });
    blanks(&said.collect::<String>())
}

/// Blanks as one each: where they collapse is not what the law is about.
fn blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Single waves are left out: here they are words.
fn line() -> impl Strategy<Value = String> {
    let signs = prop::sample::select(vec![
        "a",
        "b",
        "snake_case",
        "w x",
        " ",
        " ",
        "*",
        "**",
        "***",
        "_",
        "__",
        "~~",
        "`",
        "``",
        "[",
        "]",
        "(",
        ")",
        "](x)",
        "](<y z> \"t\")",
        "](x(y))",
        "![",
        "\\",
        "\\*",
        ".",
        "!",
        "é",
        "…",
        "“",
        "# ",
        "## ",
        "- ",
        "+ ",
        "1. ",
        "> ",
        "&amp;",
        "<https://e.org/x>",
        "[ ] ",
        "- [x] ",
        "#",
    ]);
    prop::collection::vec(signs, 0..14).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn a_line_says_what_a_reader_of_markdown_reads(line in line()) {
        // Code that is indented, and fences, are no line of words.
        prop_assume!(!["    ", "```", "~~~"].iter().any(|sign| line.contains(sign)));
        prop_assert_eq!(blanks(&gist(&line, 10_000)), as_read(line.trim()), "{:?}", line);
    }

    #[test]
    fn words_without_signs_stay_as_they_are(text in "[a-zA-Z0-9 ,;:?'/é世]{0,60}", most_chars in 1..80_usize) {
        let said = gist(&text, most_chars);
        let is_cut = text.trim().chars().count() > most_chars;
        let words = said.strip_suffix('…').unwrap_or(&said);
        prop_assert!(text.trim().starts_with(words));
        prop_assert_eq!(is_cut, said.ends_with('…'));
        prop_assert!(is_cut || said == text.trim());
    }

    #[test]
    fn no_text_is_too_much_for_it(text in ".{0,200}", most_chars in 0..40_usize, n_times in 1..200_usize) {
        let said = gist(&text.repeat(n_times), most_chars);
        prop_assert!(said.chars().count() <= most_chars + 1);
        prop_assert!(!said.contains('\n'));
    }
}

#[test]
fn the_first_line_that_says_anything_is_taken() {
    for (text, said) in [
        ("\n\n  \n# Plan\n", "Plan"),
        ("---\nname: x\n", "name: x"),
        ("***\n\n**Why**", "Why"),
        ("```rust\nfn main() {}\n```\nrest", "fn main() {}"),
        ("~~~\n~~~\n- [ ] do *it*", "do it"),
        ("> ## Quoted `code`", "Quoted code"),
        ("12) [x](y)", "x"),
        ("`` a`b ``", "a`b"),
        ("#5 is open", "#5 is open"),
        ("-5 °C", "-5 °C"),
        ("me@box:~$ ls, me@box:~$ cat", "me@box:~$ ls, me@box:~$ cat"),
        ("~~no~~ ~yes~", "no ~yes~"),
        ("__init__ and *args, **kwargs", "init and *args, **kwargs"),
        ("![a picture](data:…)", "a picture"),
        ("", ""),
        ("\u{200b}", "\u{200b}"),
    ] {
        assert_eq!(gist(text, 80), said, "{text:?}");
    }
}

#[test]
fn a_long_line_is_read_as_far_as_it_is_shown() {
    let line = format!("[{}]({}) end", "a".repeat(10), "b".repeat(100));
    assert_eq!(gist(&line, 40), "aaaaaaaaaa end");
    let drawn = format!("![a picture](data:image/png;base64,{})", "A".repeat(4_000));
    assert_eq!(gist(&drawn, 120), "a picture…");
    // Links that would be in links, which are read again and again unless that is bounded.
    let nested = "[".repeat(800) + &"]()".repeat(800);
    assert!(gist(&nested, 200).chars().count() <= 201);
    let endless = "[".repeat(100_000);
    assert_eq!(gist(&endless, 10), format!("{}…", "[".repeat(10)));
}

#[test]
fn a_title_is_the_first_line_that_leads_to_nothing_else() {
    let of_swe_agent =
        "We solve the issue. Here's its text:\nISSUE:\nTimeDelta loses precision\nHi there!";
    for (prompt, said) in [
        (of_swe_agent, Some("TimeDelta loses precision")),
        ("Fix:\n\nTodo:\n", Some("Todo:")),
        ("Fix:", Some("Fix:")),
        ("/compact keep the tests", None),
        (" /status\n", None),
        ("/status/page is empty", Some("/status/page is empty")),
        ("/review 12", Some("/review 12")),
        ("", None),
    ] {
        assert_eq!(title(prompt).as_deref(), said, "{prompt:?}");
    }
    // However many lines there are, each is looked at once.
    let long = format!("{}end", "a:\n".repeat(20_000));
    assert_eq!(title(&long).as_deref(), Some("end"));
}
