//! Which sessions a filter shows: words, and `agent:`, `project:`, `branch:`, `is:`. A value is a part of a name; in quotes it
//! is the whole name.

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
    facets: Vec<Wanted>,
}

/// A value that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    facet: Facet,
    value: String,
    /// Whether it is the whole name, and no part of one.
    is_whole: bool,
}

/// What `is:` may ask for, and the states that are so.
const STATES: [(&str, &[State]); 10] = [
    ("waiting", &[State::NeedsYou]),
    ("needs-you", &[State::NeedsYou]),
    ("running", &[State::Running, State::Quiet]),
    ("quiet", &[State::Quiet]),
    ("idle", &[State::Idle]),
    ("live", &[State::Running, State::Quiet, State::Idle]),
    ("failed", &[State::Failed]),
    ("cancelled", &[State::Cancelled]),
    ("interrupted", &[State::Cancelled]),
    ("done", &[State::Done]),
];

impl Filter {
    /// Reads what somebody typed; quotes keep a value of several words together.
    pub fn parse(text: &str) -> Filter {
        let mut filter = Filter::default();
        for typed in split(text) {
            let word = plain(typed);
            let facet = Facet::ALL
                .into_iter()
                .find_map(|facet| Some((facet, word.strip_prefix(facet.prefix())?)));
            match facet {
                // Nothing is typed behind the colon yet.
                Some((_, "")) => {}
                Some((facet, value)) => filter.facets.push(Wanted {
                    facet,
                    value: value.to_owned(),
                    // A quote that is still open is part of what is being typed.
                    is_whole: typed.contains(":\"") && typed.ends_with('"'),
                }),
                None if word.is_empty() => {}
                None => filter.words.push(word),
            }
        }
        filter
    }

    /// Why nothing is shown, where a state is asked for that there is not.
    pub fn refusal(&self) -> Option<String> {
        let mut asked = self.facets.iter().filter(|it| it.facet == Facet::Is);
        let unknown = asked.find(|it| STATES.iter().all(|(name, _)| it.value != *name))?;
        let names = STATES.map(|(name, _)| name).join(", ");
        Some(["`is:", &unknown.value, "` is none of ", &names].concat())
    }

    /// Whether all is shown.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.facets.is_empty()
    }

    /// Whether a session is shown; `haystack` is its [`haystack_of`].
    pub fn shows(&self, row: &Row, haystack: &str, now_ms: i64) -> bool {
        let state = row.state(now_ms);
        let is_state = |word: &str| {
            let begins = |part: &str| {
                let head = part.get(..word.len());
                head.is_some_and(|head| head.eq_ignore_ascii_case(word))
            };
            state.word().split(' ').any(begins)
        };
        let mut words = self.words.iter();
        words.all(|word| is_state(word) || found(haystack, word))
            && self.facets.iter().all(|wanted| {
                let has = |text: Option<&str>| text.is_some_and(|text| wanted.is_in(text));
                match wanted.facet {
                    Facet::Agent => has(row.agent_name()) || has(row.agent.as_deref()),
                    Facet::Project => has(row.project()),
                    Facet::Branch => has(row.git_branch.as_deref()),
                    Facet::Is => STATES
                        .iter()
                        .any(|(name, states)| wanted.value == *name && states.contains(&state)),
                }
            })
    }

    /// The text with a facet set to a whole value, or without it; all else stays as it was typed.
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
            parts.push(match facet {
                // A state has no parts.
                Facet::Is => [prefix, value].concat(),
                _ => [prefix, "\"", &value.replace('"', ""), "\""].concat(),
            });
        }
        parts.join(" ")
    }

    /// The whole value that a facet is set to.
    pub fn value(&self, facet: Facet) -> Option<&str> {
        let mut set = self.facets.iter().filter(|it| it.facet == facet);
        let found = set.find(|it| it.is_whole || facet == Facet::Is);
        found.map(|it| it.value.as_str())
    }
}

impl Wanted {
    fn is_in(&self, text: &str) -> bool {
        match self.is_whole {
            true => plain(text) == self.value,
            false => text.to_lowercase().contains(&self.value),
        }
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

/// As it is compared: a value between quotes has none within.
fn plain(text: &str) -> String {
    text.replace('"', "").to_lowercase()
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
