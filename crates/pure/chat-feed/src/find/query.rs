//! What somebody who looks for something writes: words, `"a phrase"`, `/a pattern/`, `tool:bash`, `file:src/**`,
//! `is:error`, `agent:explore`, and `-` before what must not be there. All of it must hold of a block.
//!
//! Which texts a block has is for `words`; what is found is for [`super::Find`].

use std::fmt;
use std::ops::Range;

use super::glob::Glob;
use super::kinds::Kinds;
use super::needle::Needle;
use super::pattern::Pattern;
use super::sought::How;
use super::tokens::{Key, Reader, Token};

/// Longer questions are not read: nobody writes them.
const QUERY_BYTES: usize = 1_000;
/// Texts and patterns in one question: one bit each is kept for each block.
pub(super) const MOST_TEXTS: usize = 32;

/// A question that was read.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// What is looked for in the texts of a block; a bit stands for each.
    pub(super) texts: Vec<Wanted<Text>>,
    /// What is asked of its facts.
    pub(super) facts: Vec<Wanted<Fact>>,
}

/// What is wanted, or not.
#[derive(Clone, Debug)]
pub(super) struct Wanted<T> {
    pub(super) what: T,
    /// Whether it must not be there.
    pub(super) not: bool,
}

/// A text that is looked for.
#[derive(Clone, Debug)]
pub(super) enum Text {
    Plain(Needle),
    Pattern(Box<Pattern>),
}

/// A fact that is asked for.
#[derive(Clone, Debug)]
pub(super) enum Fact {
    Is(Kinds),
    Tool(Needle),
    File(Glob),
    Agent(Needle),
}

/// Why a question could not be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// The character it is about, from 0.
    pub at: usize,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at character {})", self.what, self.at + 1)
    }
}

impl std::error::Error for QueryError {}

impl Query {
    /// Reads a question.
    ///
    /// ```
    /// use chat_feed::find::Query;
    /// assert!(Query::parse("tool:bash -is:error \"cargo test\"").is_ok());
    /// let error = Query::parse("x is:odd").unwrap_err();
    /// assert_eq!(error.at, 5);
    /// ```
    ///
    /// # Errors
    ///
    /// Where a pattern cannot be read, a name behind `is:` is not known, or it is too long.
    pub fn parse(text: &str) -> Result<Query, QueryError> {
        let error = |at: usize, what: String| QueryError {
            at: text[..at].chars().count(),
            what,
        };
        if text.len() > QUERY_BYTES {
            let at = text.floor_char_boundary(QUERY_BYTES);
            return Err(error(at, format!("over the limit of {QUERY_BYTES} bytes")));
        }
        let mut query = Query::default();
        for token in Reader::new(text) {
            query
                .take(&token)
                .map_err(|what| error(token.value_at, what))?;
            if query.texts.len() > MOST_TEXTS {
                return Err(error(token.at, format!("more than {MOST_TEXTS} texts")));
            }
        }
        Ok(query)
    }

    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.facts.is_empty()
    }

    /// Where a text has what is looked for, in bytes, in order and without overlaps; not more than `most` of them.
    pub fn marks(&self, text: &str, most: usize) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for wanted in self.texts.iter().filter(|wanted| !wanted.not) {
            let mut from = 0;
            while found.len() < most
                && let Some(range) = wanted.what.find(text, from)
            {
                from = range.end;
                if !range.is_empty() {
                    found.push(range);
                } else if from < text.len() {
                    // A pattern may match nothing; the next place begins behind the next character.
                    from = text.ceil_char_boundary(from + 1);
                } else {
                    break;
                }
            }
        }
        found.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
        let mut end = 0;
        found.retain(|range| {
            let apart = range.start >= end;
            if apart {
                end = range.end;
            }
            apart
        });
        found
    }

    /// Whether anything of it is looked for in texts that must be there: else there is nothing to mark.
    pub fn has_marks(&self) -> bool {
        self.texts.iter().any(|wanted| !wanted.not)
    }

    pub(super) fn asks_for_agent(&self) -> bool {
        let agent = |wanted: &Wanted<Fact>| matches!(wanted.what, Fact::Agent(_));
        self.facts.iter().any(agent)
    }

    /// Whether it is asked what turns are undone.
    pub(super) fn asks_for_undone(&self) -> bool {
        let undone = |wanted: &Wanted<Fact>| match wanted.what {
            Fact::Is(kinds) => kinds.meets(Kinds::UNDONE),
            Fact::Tool(_) | Fact::File(_) | Fact::Agent(_) => false,
        };
        self.facts.iter().any(undone)
    }

    /// How far before its end a text that grew must be read again; `None` where all of it must.
    pub(super) fn longest_text(&self) -> Option<usize> {
        let len = |wanted: &Wanted<Text>| match &wanted.what {
            // What a character folds to may be shorter than itself.
            Text::Plain(needle) => Some(needle.text().len() * 4),
            Text::Pattern(_) => None,
        };
        self.texts
            .iter()
            .map(len)
            .try_fold(0, |most, len| Some(most.max(len?)))
    }

    fn take(&mut self, token: &Token<'_>) -> Result<(), String> {
        let not = token.not;
        let value = token.value.as_ref();
        let fact = match token.key {
            Key::None => {
                self.texts.push(Wanted {
                    what: Text::Plain(Needle::smart(value)),
                    not,
                });
                return Ok(());
            }
            Key::Pattern => {
                let what = Text::Pattern(Box::new(Pattern::read(value)?));
                self.texts.push(Wanted { what, not });
                return Ok(());
            }
            Key::Is if value.is_empty() => {
                return Err(format!("`is:` expects one of {}", is_words()));
            }
            Key::Tool | Key::File | Key::Agent if value.is_empty() => {
                return Err("a name is missing behind the colon".to_owned());
            }
            Key::Is => {
                let word = value.to_lowercase();
                // `is:errors` is what people write, too.
                let word = word.strip_suffix('s').unwrap_or(&word);
                let known = Kinds::WORDS.iter().find(|(name, _)| *name == word);
                let (_, kinds) =
                    known.ok_or_else(|| format!("`is:{value}` is none of {}", is_words()))?;
                Fact::Is(*kinds)
            }
            Key::Tool => Fact::Tool(Needle::either_case(value)),
            Key::File => Fact::File(Glob::new(value)),
            Key::Agent => Fact::Agent(Needle::either_case(value)),
        };
        self.facts.push(Wanted { what: fact, not });
        Ok(())
    }
}

impl Text {
    /// Reads it as somebody else was asked for it.
    pub(super) fn read(text: &str, how: How) -> Result<Text, String> {
        Ok(match how {
            How::AnyCase => Text::Plain(Needle::either_case(text)),
            How::Exact => Text::Plain(Needle::exact(text)),
            How::Pattern => Text::Pattern(Box::new(Pattern::read(text)?)),
        })
    }

    /// What [`Text::read`] takes to make the same.
    pub(super) fn written(&self) -> (&str, How) {
        match self {
            Text::Plain(needle) if needle.is_exact() => (needle.text(), How::Exact),
            Text::Plain(needle) => (needle.text(), How::AnyCase),
            Text::Pattern(pattern) => (pattern.written(), How::Pattern),
        }
    }

    /// Whether it stands in a text; how many bytes were read for that is added to `cost`.
    pub(super) fn is_in(&self, text: &str, cost: &mut usize) -> bool {
        *cost = cost.saturating_add(text.len());
        match self {
            Text::Plain(needle) => needle.is_in(text),
            Text::Pattern(pattern) => pattern.is_in(text, cost),
        }
    }

    pub(super) fn find(&self, text: &str, from: usize) -> Option<Range<usize>> {
        match self {
            Text::Plain(needle) => needle.find(text, from),
            Text::Pattern(pattern) => pattern.find(text, from),
        }
    }
}

fn is_words() -> String {
    let names: Vec<&str> = Kinds::WORDS.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}
