//! Markdown as nodes: what each kind of block gives, that nothing else can come of any text, and that changes lead from
//! any nodes to any others.

use chat_feed::prose::{self, Change, Element, Node, Nodes};
use chat_feed::{Align, TextKind};
use proptest::prelude::*;

fn settled(source: &str) -> String {
    prose::nodes_of_text(source).to_string()
}

fn open(source: &str) -> String {
    prose::nodes(&TextKind::Paragraph, source, true).to_string()
}

fn check(source: &str, expected: &str) {
    assert_eq!(settled(source), expected, "for {source:?}");
}

#[test]
fn blocks_become_elements() {
    check(
        "a *b* **c** ~~d~~ `e`\nf",
        r#"p("a " em("b") " " strong("c") " " del("d") " " code("e") "\nf")"#,
    );
    check(
        "me@box:~$ ls\nfoo\nme@box:~$ *cat*",
        r#"p("me@box:~$ ls\nfoo\nme@box:~$ " em("cat"))"#,
    );
    check("a ~b ~~c~~ d~ e", r#"p("a ~b " del("c") " d~ e")"#);
    check("## Title ##", r#"h2("Title")"#);
    check("> a\n> - b", r#"quote(p("a") ul(li("b")))"#);
    check("3. a\n4. b", r#"ol[3](li("a") li("b"))"#);
    check("- [x] a\n- [ ] b", r#"ul(li(done "a") li(todo "b"))"#);
    check("---", "hr");
    check("a  \nb", r#"p("a" br "b")"#);
    check(
        "|a|b|\n|-|-:|\n|1|`|`|\n|2|",
        r#"scroller(table(thead(tr(th("a") th>("b"))) tbody(tr(td("1") td>("`")) tr(td("2") td>()))))"#,
    );
    check(
        "```rust\nlet a;\n\nb\n```",
        r#"pre[rust](line("let a;\n") line("\n") line("b"))"#,
    );
    check("> ```\n> x\n> ```", r#"quote(pre(line("x\n")))"#);
}

#[test]
fn html_is_text_and_images_are_links() {
    check("<b>x</b> <script>y", r#"p("<b>x</b> <script>y")"#);
    check(
        "<div onclick=1>\n*x*\n</div>",
        r#"p("<div onclick=1>\n*x*\n</div>")"#,
    );
    check(
        "![cat](https://a.example/c.png)",
        r#"p(a[https://a.example/c.png]("cat" aside(" (a.example)")))"#,
    );
    check(
        "![](data:image/png;base64,AA)",
        r#"p("image" aside(" (data:image/png;base64,AA)"))"#,
    );
}

#[test]
fn links_show_where_they_lead() {
    check(
        "[docs](https://docs.rs/x)",
        r#"p(a[https://docs.rs/x]("docs" aside(" (docs.rs)")))"#,
    );
    check(
        "[docs.rs/x](https://docs.rs/x)",
        r#"p(a[https://docs.rs/x]("docs.rs/x"))"#,
    );
    check(
        "[https://good.example](https://evil.example/)",
        r#"p(a[https://evil.example/]("https://good.example" aside(" (evil.example)")))"#,
    );
    check(
        "[good.example](https://good.example.evil.example)",
        r#"p(a[https://good.example.evil.example]("good.example" aside(" (good.example.evil.example)")))"#,
    );
    check(
        "[x](javascript:alert(1))",
        r#"p("x" aside(" (javascript:alert(1))"))"#,
    );
    check(
        "see [x](javascript:1), [y *z*](a.rs)",
        r#"p("see x" aside(" (javascript:1)") ", y " em("z") aside(" (a.rs)"))"#,
    );
    check(
        "[main](src/main.rs:12)",
        r#"p("main" aside(" (src/main.rs:12)"))"#,
    );
    check("[src/main.rs](src/main.rs)", r#"p("src/main.rs")"#);
    check(
        "https://u@evil.example/",
        r#"p(a![https://u@evil.example/]("https://u@evil.example/" aside(" (evil.example)")))"#,
    );
}

#[test]
fn bare_addresses_are_links() {
    check(
        "See (https://docs.rs/a_b(c)), or http://x.example.",
        r#"p("See (" a[https://docs.rs/a_b(c)]("https://docs.rs/a_b(c)") "), or " a[http://x.example]("http://x.example") ".")"#,
    );
    check(
        "xhttps://a.example `https://a.example`",
        r#"p("xhttps://a.example " code("https://a.example"))"#,
    );
    // What is still being written is no link yet.
    let link = r#"a[https://a.example/b]("https://a.example/b")"#;
    for (before, after) in [
        ("见 ", "。然后运行测试"),
        ("（", "）"),
        ("“", "”、"),
        ("", "：x"),
        ("", "…"),
    ] {
        check(
            &format!("{before}https://a.example/b{after}"),
            &format!("p(\"{before}\" {link} \"{after}\")").replace("\"\" ", ""),
        );
    }
    check(
        "https://a.example。更多",
        r#"p(a[https://a.example]("https://a.example") "。更多")"#,
    );
    assert_eq!(open("see https://docs.r"), r#"p("see https://docs.r")"#);
}

#[test]
fn what_names_an_address_is_shown() {
    check(
        "a [b][1]\n\n[1]: https://c.example \"d\"",
        r#"p("a [b][1]") p("[1]: " a[https://c.example]("https://c.example") " \"d\"")"#,
    );
    check("[^1]: a note", r#"p("[^1]: a note")"#);
    // However often it is named, but for what is code.
    check(
        "- [a]: b\n- [a]: b\n  [A]: c 'd\n  e'\n- [ ] [a]: f\n- [x](y) [a]",
        r#"ul(li("[a]: b") li("[a]: b\n[A]: c 'd\ne'") li(todo "[a]: f") li("x" aside(" (y)") " [a]"))"#,
    );
    check(
        "> [a]: b\n> [a]: c\n>\n> \\[a]: d\n>\n> ```\n> [a]: e\n> ```\n>\n> [a]: f",
        r#"quote(p("[a]: b\n[a]: c") p("[a]: d") pre(line("[a]: e\n")) p("[a]: f"))"#,
    );
}

#[test]
fn an_address_is_named_thousands_of_times_without_a_parser_for_each() {
    for (line, n_lines) in [("- [a]:b\n", 4_000), (">- [a]:b\n", 3_600)] {
        let kind = if line.starts_with('>') {
            TextKind::Quote { resumes: "".into() }
        } else {
            TextKind::List {
                indent: 0,
                depth: 0,
                number: None,
            }
        };
        let nodes = prose::nodes(&kind, &line.repeat(n_lines), false);
        assert!(nodes.len() > n_lines, "it is no plain text");
        assert_eq!(nodes.text(), "[a]:b".repeat(n_lines));
    }
}

#[test]
fn what_stands_in_an_item_by_a_tab_stands_there_behind_code() {
    check(
        "- item\n\t```sh\n\tcmd\n\t```\n\tThen restart.\n",
        r#"ul(li("item")) pre[sh](line("cmd")) p("Then restart.")"#,
    );
    check(
        "1. First\n\t```\n\tx\n\t\ty\n\t```\n\t- sub\n\t\t- deep",
        r#"ol[1](li("First")) pre(line("x\n") line("\ty")) ul(li("sub" ul(li("deep"))))"#,
    );
    check(
        "- item\n  ```\n\tx\n  \ty\n  ```\n  \tThen",
        r#"ul(li("item")) pre(line("  x\n") line("\ty")) p("Then")"#,
    );
}

#[test]
fn code_is_copied_as_it_is_shown() {
    let needed = "❤\u{fe0f} 👩\u{200d}💻 می\u{200c}خواهم\n";
    assert_eq!(prose::code_text(needed, 0), needed);
    assert!(!prose::code_has_marks(needed));
    assert_eq!(prose::code_text("  a\u{200d}b\u{202e}\r\n  c", 2), "ab\nc");
    assert!(prose::code_has_marks("a\u{200d}b"));
    assert!(!prose::code_has_marks("a\r\nb"));
}

#[test]
fn hidden_characters_are_marked_and_languages_are_not() {
    check(
        "a\u{202e}b `c\u{200b}`",
        r#"p("a" mark("U+202E") "b " code("c" mark("U+200B")))"#,
    );
    check("שלום **عالم**", r#"p("שלום " strong("عالم"))"#);
    check("```\nx\u{2066}\n```", r#"pre(line("x" mark("U+2066")))"#);
}

#[test]
fn rows_behind_a_cut_go_on() {
    let table = TextKind::Table {
        columns: [Align::Start, Align::End].into(),
        begins: false,
    };
    assert_eq!(
        prose::nodes(&table, "|1|2|", false).to_string(),
        r#"scroller(table(tbody(tr(td("1") td>("2")))))"#
    );
    let list = TextKind::List {
        indent: 2,
        depth: 1,
        number: Some(7),
    };
    assert_eq!(
        prose::nodes(&list, "  1. a\n     - b\n  1. c", false).to_string(),
        r#"ol[7](li("a" ul(li("b"))) li("c"))"#
    );
}

#[test]
fn markup_that_was_begun_shows_what_it_will_be() {
    for (source, expected) in [
        ("a **b", r#"p("a " strong("b"))"#),
        ("a **b ", r#"p("a " strong("b"))"#),
        ("a **", r#"p("a")"#),
        ("a **b*", r#"p("a " strong("b"))"#),
        ("a **b**", r#"p("a " strong("b"))"#),
        ("a *b **c", r#"p("a " em("b " strong("c")))"#),
        ("2 * 3", r#"p("2 * 3")"#),
        ("a_b_", r#"p("a_b_")"#),
        ("`a", r#"p(code("a"))"#),
        ("``a`", r#"p(code("a"))"#),
        ("x `", r#"p("x")"#),
        ("see [the", r#"p("see the")"#),
        ("see [the](https://d", r#"p("see the")"#),
        ("see [the]", r#"p("see the")"#),
        ("see [the] end", r#"p("see [the] end")"#),
        ("an ![im", r#"p("an im")"#),
        ("~~a", r#"p(del("a"))"#),
        ("~5", r#"p("~5")"#),
        (
            "first *a\n\nsecond **b",
            r#"p("first *a") p("second " strong("b"))"#,
        ),
    ] {
        assert_eq!(open(source), expected, "for {source:?}");
    }
}

#[test]
fn a_table_is_one_from_its_first_line_on() {
    let head = r#"scroller(table(thead(tr(th("a") th("b")))))"#;
    for source in ["|a|b", "|a|b|", "|a|b|\n", "|a|b|\n|-", "|a|b|\n|---|"] {
        assert_eq!(open(source), head, "for {source:?}");
    }
}

#[test]
fn a_token_of_plain_text_is_one_change_of_one_text_node() {
    let nodes = |source: &str| prose::nodes(&TextKind::Paragraph, source, true);
    for (before, after, more) in [
        ("It begins", "It begins here", " here"),
        ("a **b", "a **b c", " c"),
        ("a <b>w", "a <b>w</b>", "</b>"),
        ("`let a", "`let a = 1", " = 1"),
    ] {
        let change = nodes(after).change_from(&nodes(before)).unwrap();
        assert!(change.only_text, "{before:?}: {change:?}");
        assert_eq!(change.words, more);
        assert_eq!(change.codes, [2 | (more.len() as u32) << 8]);
    }
    assert_eq!(nodes("same").change_from(&nodes("same")), None);
}

/// A tree as a page would have it.
#[derive(Clone, Debug, PartialEq)]
enum Tree {
    Element(u32, String, Vec<Tree>),
    Text(String),
    Leaf(u32),
}

fn apply(root: &mut Vec<Tree>, change: &Change) {
    let words: Vec<u16> = change.words.encode_utf16().collect();
    let mut used = 0;
    let mut take = |n_units: u32| {
        let from = used;
        used += n_units as usize;
        String::from_utf16(&words[from..used]).unwrap()
    };
    let mut path: Vec<usize> = change.place.iter().map(|&at| at as usize).collect();
    let keep = path.pop().unwrap();
    if change.only_text {
        match &mut reach(root, &path)[keep - 1] {
            Tree::Text(text) => text.push_str(&change.words),
            other => panic!("{other:?} is no text"),
        }
        return;
    }
    for depth in 0..path.len() {
        reach(root, &path[..depth]).truncate(path[depth] + 1);
    }
    reach(root, &path).truncate(keep);
    for &code in &change.codes {
        let (kind, argument) = (code & 0xff, code >> 8);
        let here = reach(root, &path);
        match kind {
            0 => {
                path.pop();
            }
            1 => here.push(Tree::Text(take(argument))),
            2 => match here.last_mut().unwrap() {
                Tree::Text(text) => text.push_str(&take(argument)),
                other => panic!("{other:?} is no text"),
            },
            3..=5 => here.push(Tree::Leaf(code)),
            12 | 21 | 32..=36 => {
                here.push(Tree::Element(kind, take(argument), Vec::new()));
                path.push(here.len() - 1);
            }
            _ => {
                here.push(Tree::Element(code, String::new(), Vec::new()));
                path.push(here.len() - 1);
            }
        }
    }
    assert_eq!(used, words.len());
}

fn reach<'r>(root: &'r mut Vec<Tree>, path: &[usize]) -> &'r mut Vec<Tree> {
    path.iter()
        .fold(root, |children, &at| match &mut children[at] {
            Tree::Element(_, _, children) => children,
            other => panic!("{other:?} has no children"),
        })
}

fn tree(nodes: &Nodes) -> Vec<Tree> {
    let mut root = Vec::new();
    if let Some(change) = nodes.change_from(&Nodes::default()) {
        apply(&mut root, &change);
    }
    root
}

const WORDS: &str = "(\\*\\*|\\*|_|`|```\n|~~|\\[|\\]|\\(|\\)|!|<b>|<|>|&amp;|\\\\|http://a.b/|https://x|javascript:|\\||\n\n|\n|- |1\\. |> |# |\\[x\\] |    |\u{202e}|é|漢|a|b | |---\n|\\|-\\|-\\|\n)";

fn kinds() -> [TextKind; 7] {
    [
        TextKind::Paragraph,
        TextKind::Heading(1),
        TextKind::Quote { resumes: "".into() },
        TextKind::LongLine,
        TextKind::List {
            indent: 2,
            depth: 1,
            number: Some(3),
        },
        TextKind::Table {
            columns: [Align::Start, Align::Center].into(),
            begins: false,
        },
        TextKind::Code {
            language: "x".into(),
            indent: 2,
            depth: 1,
            begins: true,
            ends: true,
        },
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn changes_lead_from_any_nodes_to_any_others(
        parts in proptest::collection::vec(WORDS, 0..30),
        others in proptest::collection::vec(WORDS, 0..30),
    ) {
        // As it streams, token by token, and then something else altogether.
        for kind in kinds() {
            let mut now = Nodes::default();
            let mut page = Vec::new();
            let mut source = String::new();
            let tokens = parts.iter().map(|part| (part, true));
            let settles = parts.last().map(|_| (String::new(), false));
            let settles = settles.iter().map(|(part, open)| (part, *open));
            for (part, open) in tokens.chain(settles) {
                source.push_str(part);
                let next = prose::nodes(&kind, &source, open);
                if let Some(change) = next.change_from(&now) {
                    apply(&mut page, &change);
                }
                prop_assert_eq!(&page, &tree(&next));
                now = next;
            }
            let other = prose::nodes(&kind, &others.concat(), false);
            if let Some(change) = other.change_from(&now) {
                apply(&mut page, &change);
            }
            prop_assert_eq!(&page, &tree(&other));
        }
    }

    #[test]
    fn no_text_makes_another_node_or_address(parts in proptest::collection::vec(WORDS, 0..60)) {
        let source = parts.concat();
        for nodes in [prose::nodes_of_text(&source), prose::nodes(&TextKind::Paragraph, &source, true)] {
            let mut depth = 0_usize;
            for node in nodes.iter() {
                match node {
                    Node::Open(Element::Link(_), href) => {
                        prop_assert!(href.starts_with("http://") || href.starts_with("https://") || href.starts_with("mailto:"));
                        prop_assert!(href.bytes().all(|byte| matches!(byte, 0x21..=0x7e) && !b"\"'<>`".contains(&byte)));
                        depth += 1;
                    }
                    Node::Open(..) => depth += 1,
                    Node::Close => depth = depth.checked_sub(1).expect("what closes was open"),
                    Node::Text(text) => prop_assert!(!text.is_empty()),
                    Node::Break | Node::Rule | Node::Checkbox(_) => {}
                }
            }
            prop_assert_eq!(depth, 0);
        }
    }
}
