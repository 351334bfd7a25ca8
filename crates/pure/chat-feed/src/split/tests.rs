//! What the cut gives, and that it is the same however the text came.

#![allow(clippy::disallowed_methods, reason = "a test may read files")]

use super::*;
use proptest::prelude::*;

fn label(kind: &TextKind) -> String {
    match kind {
        TextKind::Paragraph => "p".to_owned(),
        TextKind::Heading(level) => format!("h{level}"),
        TextKind::Code {
            language,
            indent,
            depth,
            ..
        } => format!("code {language} {indent}/{depth}"),
        TextKind::List {
            indent,
            depth,
            number,
        } => match number {
            Some(number) => format!("list {indent}/{depth} {number}"),
            None => format!("list {indent}/{depth}"),
        },
        TextKind::Quote { resumes } => format!("quote {}", resumes.trim_end())
            .trim_end()
            .to_owned(),
        TextKind::Table { columns, begins } => format!("table {} {begins}", columns.len()),
        TextKind::Rule => "rule".to_owned(),
        TextKind::LongLine => "long".to_owned(),
    }
}

fn shown(text: &str) -> Vec<(String, &str)> {
    Splitter::whole(text)
        .into_iter()
        .map(|piece| (label(&piece.kind), &text[piece.range]))
        .collect()
}

fn check(text: &str, expected: &[(&str, &str)]) {
    let shown = shown(text);
    let shown: Vec<_> = shown
        .iter()
        .map(|(label, text)| (label.as_str(), *text))
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn blocks_are_told_apart() {
    check(
        "# Plan\nfirst\nstill first\n\nsecond\n```rust\nlet a = 1;\n\nlet b = 2;\n```\nafter\n> said\nlazily\n\n* * *\nTitle\n===\n",
        &[
            ("h1", "# Plan"),
            ("p", "first\nstill first"),
            ("p", "second"),
            ("code rust 0/0", "let a = 1;\n\nlet b = 2;"),
            ("p", "after"),
            ("quote", "> said\nlazily"),
            ("rule", "* * *"),
            ("h1", "Title\n==="),
        ],
    );
}

#[test]
fn a_table_needs_its_second_line_and_ends_with_an_empty_one() {
    check(
        "text\n| a | b |\n|---|--:|\n| 1 | 2 |\n3 | 4\n\n| no | table |\n",
        &[
            ("p", "text"),
            ("table 2 true", "| a | b |\n|---|--:|\n| 1 | 2 |\n3 | 4"),
            ("p", "| no | table |"),
        ],
    );
}

#[test]
fn code_in_an_item_has_a_row_of_its_own_and_the_list_goes_on() {
    check(
        "1. one\n   ```sh\n   ls\n   ```\n   then\n2. two\n   - deep\n     ~~~\n     x\n     ~~~\n3. three\nend\n\nout",
        &[
            ("list 0/0 1", "1. one"),
            ("code sh 3/1", "   ls"),
            ("list 3/1", "   then"),
            ("list 0/0 2", "2. two\n   - deep"),
            ("code  5/2", "     x"),
            ("list 0/0 3", "3. three\nend"),
            ("p", "out"),
        ],
    );
    check(
        "- ```\n  a\n```\n- b",
        &[
            ("list 0/0", "- "),
            ("code  2/1", "  a"),
            ("list 0/0", "- b"),
        ],
    );
}

#[test]
fn code_behind_several_marks_of_one_line_is_code_of_the_innermost_item() {
    check(
        "- 1. ```sh\n     cmd\n     ```\n\n  after\n- next",
        &[
            ("list 0/0", "- 1. "),
            ("code sh 5/2", "     cmd"),
            ("list 2/1", "  after"),
            ("list 0/0", "- next"),
        ],
    );
    // Columns go on over the marks, also where tabs stand between them.
    check(
        "-\t1.\t~~~\n\t\tcmd\n\t\t~~~\n\t2. two\n\t   ~~~\n\t   x",
        &[
            ("list 0/0", "-\t1.\t"),
            ("code  8/2", "\t\tcmd"),
            ("list 4/1 2", "\t2. two"),
            ("code  7/2", "\t   x"),
        ],
    );
    let deep = format!("{}```\nx", "- ".repeat(40));
    assert_eq!(shown(&deep), [("list 0/0".to_owned(), deep.as_str())]);
    let deep = format!("{}```\nx", "- ".repeat(16));
    assert_eq!(shown(&deep)[1].0, "code  32/16");
}

#[test]
fn an_indented_line_is_code_and_does_not_interrupt() {
    check(
        "    let a;\n\n    let b;\ntext\n    more",
        &[
            ("code  4/0", "    let a;\n\n    let b;"),
            ("p", "text\n    more"),
        ],
    );
}

#[test]
fn an_unfinished_fence_is_code_at_once() {
    check("look:\n~~~\nx", &[("p", "look:"), ("code  0/0", "x")]);
    check("```ru", &[("code ru 0/0", "")]);
}

#[test]
fn two_dashes_under_a_text_are_no_heading_while_they_are_written() {
    check("text\n-", &[("p", "text\n-")]);
    check("text\n--", &[("p", "text\n--")]);
    check("text\n- a", &[("p", "text"), ("list 0/0", "- a")]);
    check("text\n--\n", &[("h2", "text\n--")]);
}

#[test]
fn long_blocks_become_several_rows() {
    let code = format!("```\n{}```\n", "line\n".repeat(130));
    let flags: Vec<_> = Splitter::whole(&code)
        .iter()
        .map(|row| match row.kind {
            TextKind::Code { begins, ends, .. } => (begins, ends),
            _ => (false, false),
        })
        .collect();
    assert_eq!(flags, [(true, false), (false, false), (false, true)]);

    let list: String = (1..600)
        .map(|n| format!("{n}. an item of some length\n"))
        .collect();
    let labels: Vec<_> = shown(&list).into_iter().map(|(label, _)| label).collect();
    assert!(labels.len() > 3, "{labels:?}");
    assert_eq!(labels[0], "list 0/0 1");
    assert!(labels[1].starts_with("list 0/0 1"), "{labels:?}");
    for (label, text) in shown(&list) {
        let number = text.split_once('.').unwrap().0;
        assert_eq!(label, format!("list 0/0 {number}"), "numbers go on");
    }

    let table = format!("|a|b|\n|-|-|\n{}", "| some | cells |\n".repeat(900));
    let labels: Vec<_> = shown(&table).into_iter().map(|(label, _)| label).collect();
    assert_eq!(labels[..2], ["table 2 true", "table 2 false"]);
}

#[test]
fn quoted_code_goes_on_as_code_where_its_quote_is_cut() {
    for (opening, line, closing, resumes) in [
        (
            "> text\n>\n> ```rust x\n",
            "> let a = 1;\n>\n",
            "> ```\n",
            "> ```rust\n",
        ),
        (">~~~~\n", "> let a = 1;\n>\n", "> ~~~~~\n", ">~~~~\n"),
        // Code of an item ends with the item, however far in that is.
        (
            "> - ```sh\n",
            ">   let a = 1;\n>\n",
            ">   ```\n>\n",
            "> - ```sh\n",
        ),
        (
            "> 10. ```sh\n",
            ">     let a = 1;\n>\n",
            ">     ```\n>\n",
            "> 10. ```sh\n",
        ),
        ("> - - ~~~\n", ">     let a = 1;\n>\n", "", "> - - ~~~\n"),
        // So it is where the fence stands on a later line of it.
        (
            "> 10. text\n> lazy\n>\n>     ```sh\n",
            ">     let a = 1;\n>\n",
            ">     ```\n>\n",
            "> 10. ```sh\n",
        ),
        (
            "> - one\n>   - two\n>      ~~~\n",
            ">     let a = 1;\n>\n",
            "",
            "> - - ~~~\n",
        ),
        (
            "> -\n>   ```\n",
            ">   let a = 1;\n>\n",
            ">   ```\n",
            "> - ```\n",
        ),
        (
            "> - one\n>\n> text\n>\n>   ```\n",
            ">   let a = 1;\n>\n",
            ">   ```\n",
            ">   ```\n",
        ),
    ] {
        let quote = format!("{opening}{}{closing}> after\n", line.repeat(1_000));
        let pieces = Splitter::whole(&quote);
        assert!(pieces.len() > 1);
        for (nth, piece) in pieces.iter().enumerate() {
            let expected = if nth == 0 { "" } else { resumes };
            let TextKind::Quote { resumes } = &piece.kind else {
                panic!("{piece:?}")
            };
            assert_eq!(&**resumes, expected, "{opening:?}");
            let nodes = crate::prose::nodes(&piece.kind, &quote[piece.range.clone()], false);
            let outside = nodes.to_string().split("pre").next().unwrap().to_owned();
            assert!(!outside.contains("let"), "{nth}: {nodes}");
        }
        let last = pieces.last().unwrap();
        let nodes = crate::prose::nodes(&last.kind, &quote[last.range.clone()], false);
        assert!(nodes.to_string().ends_with("p(\"after\"))"), "{nodes}");
    }
    // Code of an inner quote ends with it, and nothing lazy goes on with it.
    check(
        "> > ```\n> x\n\n> ```\nlazy",
        &[("quote", "> > ```\n> x"), ("quote", "> ```"), ("p", "lazy")],
    );
    check(
        "> - ```sh\n>   x\n> text\nlazy",
        &[("quote", "> - ```sh\n>   x\n> text\nlazy")],
    );
    check(
        "> - a\n>   ```\n> text\nlazy",
        &[("quote", "> - a\n>   ```\n> text\nlazy")],
    );
    let long = format!("> > ```\n> out\n{}", "> text\n".repeat(2_000));
    assert!(shown(&long).iter().all(|(label, _)| label == "quote"));
}

#[test]
fn a_fence_is_one_whatever_stands_behind_it() {
    let info = format!("sh {}", "x".repeat(400));
    check(
        &format!("```{info}\ncode\n```\ntext"),
        &[("code sh 0/0", "code"), ("p", "text")],
    );
    let word = "é".repeat(150);
    let label = format!("code {} 0/0", "é".repeat(100));
    check(
        &format!("~~~{word}\ncode\n~~~\ntext"),
        &[(&label, "code"), ("p", "text")],
    );
}

/// The examples of the specification, from the corpora beside the checkout.
fn examples() -> Vec<String> {
    let shared = std::env::var_os("TURNREEL_SHARED").map_or_else(
        || std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../../shared"),
        std::path::PathBuf::from,
    );
    let path = shared.join("corpora/cmark-gfm/test/spec.txt");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: no {} (set TURNREEL_SHARED)", path.display());
        return Vec::new();
    };
    let fence = format!("\n{}", "`".repeat(32));
    let parts = text.split(&fence).skip(1).step_by(2);
    let sources = parts.filter_map(|part| part.split_once('\n')?.1.split_once("\n.\n"));
    sources
        .map(|(source, _)| source.replace('→', "\t"))
        .collect()
}

#[test]
fn any_two_pieces_of_an_example_give_the_blocks_of_the_whole_and_no_word_is_lost() {
    let examples = examples();
    for source in &examples {
        for cut in 0..=source.len() {
            assert_eq!(in_pieces(source, vec![cut]), Ok(()), "{source:?}");
        }
        let mut left = source.clone();
        for piece in Splitter::whole(source).iter().rev() {
            left.replace_range(piece.range.clone(), "");
        }
        // What no block has are fences and what stands behind them.
        let is_word = |line: &&str| line.contains(char::is_alphanumeric);
        let is_fence = |line: &str| line.contains("```") || line.contains("~~~");
        let lost: Vec<&str> = left.lines().filter(is_word).collect();
        assert!(
            lost.iter().all(|line| is_fence(line)),
            "{source:?}: {lost:?}"
        );
    }
    assert!(
        examples.is_empty() || examples.len() > 600,
        "{}",
        examples.len()
    );
}

#[test]
fn no_block_is_long_whatever_its_lines() {
    let most = MOST_BYTES_PER_ROW + LINE_BYTES + 2;
    for unit in [
        "word ",
        "- a\n  b\n",
        "> q\n",
        "> ```\n> x\n",
        "漢",
        "|",
        "  \t",
        "1. ",
        "x\n",
    ] {
        for before in ["", "```\n", "- ", "> ", "|a|b|\n|-|-|\n", "    "] {
            let text = format!("{before}{}", unit.repeat(200_000 / unit.len()));
            for piece in Splitter::whole(&text) {
                assert!(piece.range.len() <= most, "{before:?} {unit:?}: {piece:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn any_pieces_give_the_blocks_of_the_whole(
        lines in proptest::collection::vec(
            "(```|~~~~|# |```a b|> ```|> > ~~~|> - ```|  x|    y|é\r?|\u{20ac}y|- |  - |- 1\\. ~~~|-\t|\t|1\\. |7\\) |   |> |\\|a\\|b\\||\\|-\\|-\\||---|===|\\* \\* \\*|)[a`~# |-]{0,3}",
            0..40,
        ),
        cuts in proptest::collection::vec(0usize..400, 0..12),
    ) {
        let text = lines.join("\n");
        prop_assert_eq!(in_pieces(&text, cuts), Ok(()));
    }

    #[test]
    fn any_pieces_of_long_lines_give_the_blocks_of_the_whole(
        parts in proptest::collection::vec(("(```\n|- |> |\\|a\\|b\\|\n\\|-\\|-\\|\n|\n|\r\n|    )", "(x|é |漢|\\| )", 1usize..9000), 1..6),
        cuts in proptest::collection::vec(0usize..40_000, 0..12),
    ) {
        let text: String = parts.iter().map(|(before, unit, n)| format!("{before}{}", unit.repeat(*n))).collect();
        prop_assert_eq!(in_pieces(&text, cuts), Ok(()));
    }
}

fn in_pieces(text: &str, mut cuts: Vec<usize>) -> Result<(), String> {
    let mut closed = Vec::new();
    let mut splitter = Splitter::default();
    cuts.retain(|&cut| cut <= text.len() && text.is_char_boundary(cut));
    cuts.sort_unstable();
    cuts.push(text.len());
    for cut in cuts {
        let so_far = &text[..cut];
        let rest = splitter.push(so_far, &mut closed);
        let mut now = closed.clone();
        now.extend(splitter.tail(so_far));
        let whole = Splitter::whole(so_far);
        if now != whole {
            return Err(format!("at {cut}: {now:?} is not {whole:?}"));
        }
        if let Some((at, n_closed)) = rest {
            let mut anew = closed[..n_closed].to_vec();
            let mut from_rest = Splitter::resting(at);
            from_rest.push(so_far, &mut anew);
            anew.extend(from_rest.tail(so_far));
            if anew != whole {
                return Err(format!("from {at}: {anew:?} is not {whole:?}"));
            }
        }
        let in_order = now
            .windows(2)
            .all(|two| two[0].range.end <= two[1].range.start);
        if !in_order {
            return Err(format!("at {cut}: {now:?} overlap"));
        }
    }
    Ok(())
}
