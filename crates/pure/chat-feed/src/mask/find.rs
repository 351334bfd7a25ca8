//! Everything that is found in one text.

use std::ops::Range;
use std::sync::LazyLock;

use super::command::{self, COMMANDS, Command};
use super::context::{self, Name};
use super::credentials;
use super::entropy;
use super::keywords::Keywords;
use super::named;
use super::personal;
use super::phrase;
use super::piped;
use super::private_key;
use super::rules::{Check, SERVICES, SHAPES, Shape};
use super::runs::{Class, Runs, looks_random};
use super::stated;
use super::value::Value;
use super::views::{self, View};
use super::within;

/// How sure it is what was found; where two things overlap, the surer one names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Of whom it tells.
    Personal,
    /// A text that looks random.
    Random,
    /// A value that its name tells.
    Named,
    /// A secret that tells itself.
    Shape,
}

/// Something to be masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Where it stands, in bytes.
    pub(super) range: Range<usize>,
    /// What it is called.
    pub(super) kind: &'static str,
    /// What it reads; the same value has the same label.
    pub(super) value: Value,
    pub(super) rank: Rank,
}

impl Found {
    /// A value that its place tells, which stands at `at`.
    pub(super) fn named(at: usize, value: &str, kind: &'static str) -> Found {
        Found {
            range: at..at + value.len(),
            kind,
            value: Value::of(value),
            rank: Rank::Named,
        }
    }
}

/// Where to look closer.
#[derive(Clone, Copy, Debug)]
enum Sign {
    /// How it began, too.
    Shape(&'static Shape, &'static str),
    Name(Name),
    /// In the middle of a secret.
    Within(within::Middle),
    PrivateKey,
    PuttyKey,
    Address,
    Bearer,
    Basic,
    Command(&'static Command),
    /// With the word that says so.
    Stated(stated::Place, &'static str),
    Piped(&'static str),
    Phrase(&'static str),
    Home,
}

struct Signs {
    table: Keywords,
    signs: Vec<Sign>,
}

static SIGNS: LazyLock<Signs> = LazyLock::new(|| {
    let shapes = SHAPES.iter().flat_map(|shape| {
        let literals = shape.literals.iter();
        literals.map(move |&literal| (literal, Sign::Shape(shape, literal)))
    });
    let within = within::MIDDLES
        .iter()
        .map(|&(word, middle)| (word, Sign::Within(middle)));
    let services = SERVICES.iter();
    let services = services.map(|service| (service.name, Sign::Name(Name::Service(service))));
    let names = context::NAMES.iter();
    let names = names.map(|&(word, name)| (word, Sign::Name(name)));
    let others = [
        ("-----begin", Sign::PrivateKey),
        ("private-lines: ", Sign::PuttyKey),
        ("://", Sign::Address),
        ("bearer ", Sign::Bearer),
        ("basic ", Sign::Basic),
    ];
    let commands = COMMANDS.iter();
    let commands = commands.map(|command| (command.word, Sign::Command(command)));
    let stated = stated::PLACES.iter();
    let stated = stated.map(|&(word, place)| (word, Sign::Stated(place, word)));
    let piped = piped::READERS.iter();
    let piped = piped.map(|&word| (word, Sign::Piped(word)));
    let phrases = phrase::NAMES.iter();
    let phrases = phrases.map(|&name| (name, Sign::Phrase(name)));
    let homes = personal::HOMES.iter().map(|&home| (home, Sign::Home));
    let all = shapes
        .chain(services)
        .chain(names)
        .chain(others)
        .chain(commands)
        .chain(within)
        .chain(stated)
        .chain(piped)
        .chain(phrases)
        .chain(homes);
    let (words, signs): (Vec<&str>, Vec<Sign>) = all.unzip();
    Signs {
        table: Keywords::new(words.iter().map(|word| word.as_bytes())),
        signs,
    }
});

/// So much of a run tells whether it is a secret: of one that goes on and on, every part may begin one.
const MOST_BYTES: usize = 4_000;

/// How often escapes within escapes are undone.
const DEPTH: u8 = 4;

/// All that is to be masked in a text; some of it may overlap.
pub(super) fn find(text: &str) -> Vec<Found> {
    let mut all = Vec::new();
    look(text, DEPTH, &mut all);
    all
}

fn look(text: &str, depth: u8, all: &mut Vec<Found>) {
    let Some((view, unseen)) = views::without_orders(text) else {
        look_at_plain(text, depth, all);
        return;
    };
    // It has all that the text has. What reads as an order only without those within it is none to a terminal, and stays: a
    // text may hold as many in each other as it is long.
    look_in(&view, all, |text, all| look_at_plain(text, depth, all));
    for range in unseen {
        let n_before = all.len();
        look_at_plain(&text[range.clone()], depth, all);
        for found in &mut all[n_before..] {
            found.range = found.range.start + range.start..found.range.end + range.start;
        }
    }
}

/// Looks at a text the orders of which were taken out, or that had none.
fn look_at_plain(text: &str, depth: u8, all: &mut Vec<Found>) {
    find_in(text, all);
    if depth == 0 {
        return;
    }
    let views = [views::unescaped(text), views::percent_decoded(text)];
    for view in views.into_iter().flatten() {
        look_in(&view, all, |text, all| look(text, depth - 1, all));
    }
}

fn look_in(view: &View, all: &mut Vec<Found>, look: impl FnOnce(&str, &mut Vec<Found>)) {
    let n_before = all.len();
    look(&view.text, all);
    for found in &mut all[n_before..] {
        found.range = view.in_source(&found.range);
    }
}

/// What overlaps is one: as long as all of it together, and named by what is surest, then longest.
pub(super) fn apart(mut all: Vec<Found>) -> Vec<Found> {
    all.retain(|found| !found.range.is_empty());
    all.sort_by(|one, other| {
        let by_place = one.range.start.cmp(&other.range.start);
        by_place
            .then(other.range.end.cmp(&one.range.end))
            .then(other.rank.cmp(&one.rank))
    });
    let mut apart: Vec<Found> = Vec::with_capacity(all.len());
    for found in all {
        match apart
            .last_mut()
            .filter(|last| found.range.start < last.range.end)
        {
            Some(last) => {
                let end = last.range.end.max(found.range.end);
                if (found.rank, found.value.len()) > (last.rank, last.value.len()) {
                    let start = last.range.start;
                    *last = found;
                    last.range.start = start;
                }
                last.range.end = end;
            }
            None => apart.push(found),
        }
    }
    apart
}

fn find_in(text: &str, all: &mut Vec<Found>) {
    let bytes = text.as_bytes();
    let mut runs = Runs::default();
    let signs = &*SIGNS;
    let mut told = within::Told::default();
    let mut end_of_last = 0;
    signs.table.each(bytes, |word, at| {
        let Some(sign) = signs.signs.get(word) else {
            return;
        };
        // Within what a shape told there is nothing else to tell.
        if at < end_of_last && matches!(sign, Sign::Shape(..)) {
            return;
        }
        match sign {
            Sign::Shape(shape, literal) => {
                if let Some(range) = shaped(shape, literal, text, at, &mut runs) {
                    end_of_last = range.end;
                    all.push(Found {
                        value: Value::of(&text[range.clone()]),
                        range,
                        kind: shape.kind,
                        rank: Rank::Shape,
                    });
                }
            }
            Sign::Name(name) => named::find(*name, text, at, &mut runs, all),
            Sign::PuttyKey => private_key::find_putty(text, at, all),
            Sign::PrivateKey => private_key::find(text, at, all),
            Sign::Address => credentials::in_address(text, at + 3, all),
            Sign::Bearer => credentials::bearer(text, at + 7, &mut runs, all),
            Sign::Basic => credentials::basic(text, at + 6, &mut runs, all),
            Sign::Command(command) => command::find(command, text, at, all),
            Sign::Within(middle) => {
                within::find(*middle, text, at, (&mut runs, &mut told), all);
            }
            Sign::Stated(place, word) => stated::find(*place, word, text, at, all),
            Sign::Piped(word) => piped::find(word, text, at, all),
            Sign::Phrase(name) => phrase::find(text, at + name.len(), all),
            Sign::Home => personal::home(text, at, all),
        }
    });
    personal::mail(text, &mut runs, all);
    personal::addresses(text, all);
    entropy::find(text, all);
}

/// The secret of a shape that may begin here.
fn shaped(
    shape: &Shape,
    literal: &str,
    text: &str,
    at: usize,
    runs: &mut Runs,
) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let behind = at + literal.len();
    if text.get(at..behind)? != literal {
        return None;
    }
    // A beginning that is a word like others must begin one.
    let tells = literal.len() >= 4 && literal.ends_with(['_', '-', '.', '/', '=', '~']);
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    if !tells && before.is_some_and(|&byte| Class::Word.has(byte)) {
        return None;
    }
    let end = match shape.class {
        // A sentence's end is not the secret's.
        Class::Token | Class::Wide | Class::Address => {
            runs.end_before_slash(bytes, behind, shape.class)
        }
        class => runs.end(bytes, behind, class),
    };
    let len = end - behind;
    // Words in the middle of a text are cut nowhere; what is cut shows its end.
    let is_cut =
        end == bytes.len() || text[end..].starts_with('…') || text[end..].starts_with("...");
    let least = if is_cut && tells {
        shape.least.min(8)
    } else {
        shape.least
    };
    if len < least {
        return None;
    }
    let rest = &text[behind..end.min(behind + MOST_BYTES)];
    let holds = match shape.check {
        Check::None => true,
        Check::Random => looks_random(rest, 3.0),
        Check::Holds(part) => rest.contains(part),
        Check::Exactly(n_bytes) => end - at == n_bytes,
        Check::RandomExactly(n_bytes) => end - at == n_bytes && looks_random(rest, 3.0),
    };
    (holds && !is_placeholder(rest)).then_some(at..end)
}

/// Whether a text stands for a secret and is none: `xxxx`, `****`, `…`.
pub(super) fn is_placeholder(text: &str) -> bool {
    let mut bytes = text.bytes();
    let Some(first) = bytes.next() else {
        return true;
    };
    bytes.all(|byte| byte == first) || text.starts_with("${") || text.starts_with("{{")
}
