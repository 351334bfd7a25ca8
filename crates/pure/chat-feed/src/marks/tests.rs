//! What is marked and what is left as it is, by script and by sign.

use super::*;

fn marked(text: &str) -> String {
    written_in(stretches(text))
}

fn written_in<'t>(stretches: impl Iterator<Item = Stretch<'t>>) -> String {
    stretches
        .map(|stretch| match stretch {
            Stretch::Plain(plain) => plain.to_owned(),
            Stretch::Hidden(char) => format!("<{}>", name(char)),
        })
        .collect()
}

#[test]
fn where_a_line_may_be_broken_is_no_secret_in_a_sentence() {
    let sentence = "Donau\u{ad}dampf\u{ad}schiff, 5\u{2060}–\u{2060}7 und漢\u{2060}字";
    assert_eq!(written_in(stretches_of_sentences(sentence)), sentence);
    assert!(has_any(sentence) && !has_any("Donau"));
    for (text, shown) in [
        ("user\u{ad}_name \u{ad}a", "user<U+00AD>_name <U+00AD>a"),
        ("a\u{ad}\u{ad}b", "a<U+00AD><U+00AD>b"),
        ("pass\u{2060}word", "pass<U+2060>word"),
        ("a\u{202e}b\u{200b}", "a<U+202E>b<U+200B>"),
    ] {
        assert_eq!(written_in(stretches_of_sentences(text)), shown);
    }
    assert_eq!(marked("user\u{ad}name"), "user<U+00AD>name", "in code");
}

proptest::proptest! {
    #[test]
    fn marks_before_a_settled_end_stay_whatever_comes_behind(
        text in "[a-b \n\u{202e}\u{200d}\u{200b}\u{200f}\u{5d0}\u{627}\u{e01}\u{1100}\u{115f}\u{3164}\u{2600}\u{ad}]{0,40}",
        tail in "[a-b \u{5d0}\u{627}\u{e01}\u{1100}\u{2600}]{0,24}",
        more in "[a-b \n\u{5d0}\u{627}\u{e01}\u{1100}\u{2600}]{0,24}",
    ) {
        let text = format!("{text}{tail}");
        if let Some(end) = settled_end(&text).filter(|&end| end > 0) {
            let whole = format!("{text}{more}");
            proptest::prop_assert_eq!(settled_end(&whole), Some(end));
            let (before, behind) = (marked(&text[..end]), &whole[end..]);
            proptest::prop_assert_eq!(marked(&whole), format!("{before}{behind}"));
        }
    }
}

#[test]
fn an_end_is_settled_once_no_letter_near_can_make_spelling_of_a_mark() {
    let far = "and so it goes on.";
    assert_eq!(settled_end("plain \u{627}\u{200d}"), Some(0));
    assert_eq!(settled_end("a\u{202e}"), None);
    assert_eq!(settled_end("a\u{202e}b"), None);
    let text = format!("a\u{202e}{far}");
    assert_eq!(settled_end(&text), Some(text.len() - 1));
}

#[test]
fn what_cannot_be_seen_is_marked() {
    assert_eq!(
        marked("a\u{202e}b\u{0}\u{200b}"),
        "a<U+202E>b<U+0000><U+200B>"
    );
    assert_eq!(marked("x\u{200d}y"), "x<U+200D>y");
    assert_eq!(marked("\u{e0041}"), "<U+E0041>");
}

#[test]
fn scripts_and_emoji_are_left_as_they_are() {
    for text in [
        "שלום עולם",
        "مرحبا بالعالم",
        "می\u{200c}خواهم",
        "👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}",
        "क्\u{200d}ष",
        "a\tb\n漢字\u{3000}\u{a0}",
        // Flags of parts of a country.
        "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}🏴\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}!",
        // Letters that are joined, or not, at the end of a word or beside another script.
        "അവന്\u{200d} വന്നു.",
        "র\u{200d}্য ක්\u{200d}ර ه\u{200d}. PDF\u{200c}ها",
        // Variants of letters and signs.
        "葛\u{e0100}飾 﨑\u{fe00} ∩\u{fe00} 0\u{fe00} ᠭ\u{180b}\u{180e}ᠠ",
        "សួស្តី\u{200b}ពិភពលោក",
        // To which words a sign belongs.
        "שלום\u{200f}! C++\u{200e} טוב، \u{61c}-5 سلام",
        // Syllables that lack a letter.
        "\u{115f}\u{1161} \u{1100}\u{1160} \u{115f}\u{1160}\u{11a8} \u{3164}ㄱㅏ\u{3164} \u{ffa0}\u{ffa1}",
    ] {
        assert_eq!(marked(text), text);
    }
}

#[test]
fn what_no_script_is_written_with_is_marked_beside_any() {
    for (text, shown) in [
        ("🏴\u{e0067}\u{e0062}x", "🏴<U+E0067><U+E0062>x"),
        ("x\u{e0067}\u{e007f}", "x<U+E0067><U+E007F>"),
        ("葛\u{e0100}\u{e0101}", "葛\u{e0100}<U+E0101>"),
        ("a\u{fe00}\u{e0100}", "a<U+FE00><U+E0100>"),
        ("漢\u{200d}字 a\u{200c}", "漢<U+200D>字 a<U+200C>"),
        ("א\u{200f}\u{200e}\u{202e}ב", "א\u{200f}<U+200E><U+202E>ב"),
        ("ชา\u{200b}x", "ชา<U+200B>x"),
        ("x = 1 \u{200f}y", "x = 1 <U+200F>y"),
        ("a\u{3164} 가\u{3164}", "a<U+3164> 가<U+3164>"),
        ("가\u{115f}\u{1160}나", "가<U+115F><U+1160>나"),
    ] {
        assert_eq!(marked(text), shown);
    }
    let many = "\u{1160}".repeat(9);
    assert!(marked(&format!("\u{1100}{many}\u{11a8}")).contains("<U+1160><U+1160>"));
    let long = format!("🏴{}\u{e007f}", "\u{e0061}".repeat(7));
    assert!(marked(&long).starts_with("🏴<"));
}

#[test]
fn json_says_the_same_escaped() {
    let json = "{\n  \"a\u{9b}\": \"\u{202e}\u{e0041}é\"\n}";
    let escaped = escaped(json);
    assert!(escaped.contains("\\u009b") && !escaped.contains('\u{202e}'));
    let value = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
    assert_eq!(value(&escaped), value(json));
}

#[test]
fn ranges_are_in_order() {
    assert!(HIDDEN.windows(2).all(|two| two[0].1 < two[1].0));
}
