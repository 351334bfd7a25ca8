//! Which sessions a filter shows: words, and `agent:`, `project:`, `branch:`, `is:`.

use super::{Row, State};

/// What a filter may ask by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Facet {
    /// `agent:`
    Agent,
    /// `project:`
    Project,
    /// `branch:`
    Branch,
    /// `is:`
    Is,
}

impl Facet {
    const ALL: [Facet; 4] = [Facet::Agent, Facet::Project, Facet::Branch, Facet::Is];

    /// What stands before the value, with its colon.
    pub fn prefix(self) -> &'static str {
        match self {
            Facet::Agent => "agent:",
            Facet::Project => "project:",
            Facet::Branch => "branch:",
            Facet::Is => "is:",
        }
    }
}

/// What is asked for; all of it must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    words: Vec<String>,
    facets: Vec<(Facet, String)>,
}

impl Filter {
    /// Reads what somebody typed; quotes keep a value of several words together.
    pub fn parse(text: &str) -> Filter {
        let mut filter = Filter::default();
        for word in words_of(text) {
            let facet = Facet::ALL
                .into_iter()
                .find_map(|facet| Some((facet, word.strip_prefix(facet.prefix())?)));
            match facet {
                // Nothing is typed behind the colon yet.
                Some((_, "")) => {}
                Some((facet, value)) => filter.facets.push((facet, value.to_owned())),
                None => filter.words.push(word),
            }
        }
        filter
    }

    /// Whether all is shown.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.facets.is_empty()
    }

    /// Whether a session is shown; `haystack` is its [`haystack_of`].
    pub fn shows(&self, row: &Row, haystack: &str, now_ms: i64) -> bool {
        let state = row.state(now_ms).word().to_lowercase();
        let is_state = |word: &str| state.split(' ').any(|part| part.starts_with(word));
        let mut words = self.words.iter();
        words.all(|word| is_state(word) || found(haystack, word))
            && self.facets.iter().all(|(facet, wanted)| {
                let has = |text: Option<&str>| {
                    text.is_some_and(|text| text.to_lowercase().contains(wanted.as_str()))
                };
                match facet {
                    Facet::Agent => has(row.agent.as_deref()),
                    Facet::Project => has(row.project()),
                    Facet::Branch => has(row.git_branch.as_deref()),
                    Facet::Is => is(row.state(now_ms), wanted),
                }
            })
    }

    /// The text with a facet set to a value, or without it; all else stays as it was typed.
    pub fn with(text: &str, facet: Facet, value: Option<&str>) -> String {
        let others = split(text).filter(|word| {
            !word
                .to_lowercase()
                .trim_start_matches('"')
                .starts_with(facet.prefix())
        });
        let mut parts: Vec<String> = others.map(str::to_owned).collect();
        if let Some(value) = value {
            let prefix = facet.prefix();
            parts.push(match value.contains(char::is_whitespace) {
                true => format!("{prefix}\"{}\"", value.replace('"', "")),
                false => format!("{prefix}{value}"),
            });
        }
        parts.join(" ")
    }

    /// What a facet is set to.
    pub fn value(&self, facet: Facet) -> Option<&str> {
        let found = self.facets.iter().find(|(of, _)| *of == facet);
        found.map(|(_, value)| value.as_str())
    }
}

/// Behind this stand texts that are found by what is in them only: in so many words the letters of nearly anything are.
const TEXTS: char = '\0';

/// What words are looked for in, in small letters: what a session is called and worked on, and what its row says of it.
pub fn haystack_of(row: &Row) -> String {
    let texts = [
        row.title.as_deref(),
        row.agent.as_deref(),
        row.cwd.as_deref(),
        row.git_branch.as_deref(),
        row.model.as_deref(),
        Some(row.id.as_str()),
    ];
    let mut haystack = String::new();
    for text in texts.into_iter().flatten() {
        haystack.push_str(&text.to_lowercase());
        haystack.push('\n');
    }
    let (ask, doing) = (row.ask.as_ref(), row.doing.as_ref());
    let texts = [
        row.failure.as_deref(),
        ask.map(|ask| ask.tool.as_str()),
        ask.map(|ask| ask.text.as_str()),
        doing.map(|doing| doing.tool.as_str()),
        doing.map(|doing| doing.object.as_str()),
    ];
    for text in texts.into_iter().flatten() {
        haystack.push(TEXTS);
        haystack.push_str(&text.to_lowercase());
    }
    haystack
}

/// A word is found where it stands, or where its letters are the beginning of a word and some of the rest: `tdpl` is
/// `tidepool`.
fn found(haystack: &str, word: &str) -> bool {
    /// Fewer letters would be in nearly everything.
    const FEWEST: usize = 3;
    if haystack.contains(word) {
        return true;
    }
    let names = haystack.split(TEXTS).next().unwrap_or_default();
    word.chars().count() >= FEWEST
        && names
            .split(|c: char| !c.is_alphanumeric())
            .any(|whole| is_shortened(whole, word))
}

fn is_shortened(whole: &str, word: &str) -> bool {
    let mut letters = whole.chars();
    let mut wanted = word.chars();
    // The first letter is the word's own: nobody leaves that out.
    letters.next() == wanted.next() && wanted.all(|letter| letters.any(|other| other == letter))
}

fn is(state: State, wanted: &str) -> bool {
    match state {
        State::NeedsYou => matches!(wanted, "waiting" | "needs-you"),
        State::Running => matches!(wanted, "running" | "live"),
        State::Quiet => matches!(wanted, "quiet" | "running" | "live"),
        State::Idle => matches!(wanted, "idle" | "live"),
        State::Failed => wanted == "failed",
        State::Done => wanted == "done",
        State::Cancelled => matches!(wanted, "cancelled" | "interrupted"),
    }
}

fn words_of(text: &str) -> impl Iterator<Item = String> {
    split(text)
        .map(|word| word.replace('"', "").to_lowercase())
        .filter(|word| !word.is_empty())
}

/// Words as they are typed; white space between quotes parts nothing.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    text.split(move |c: char| {
        is_quoted ^= c == '"';
        !is_quoted && c.is_whitespace()
    })
    .filter(|word| !word.is_empty())
}
