//! How far the rows of a session were told, and what is to be told of it next.

use std::collections::BTreeMap;

use chat_event::ChatEvent;
use serde::{Deserialize, Serialize};

/// How far the rows of one session, and of those that work for it, were told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::follow) struct Told {
    /// The last number of each of them.
    pub(in crate::follow) seqs: BTreeMap<String, i64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::follow) ended: bool,
    /// It was taken to be idle, which its rows do not say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::follow) quiet: bool,
    /// What was said of the session itself, by its hash, where that is a row that changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::follow) about: Option<u64>,
    /// How much was told of what is written in place, in the words of its kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(in crate::follow) marks: BTreeMap<String, String>,
}

/// What is to be told of one session.
#[derive(Debug)]
pub(in crate::follow) struct News {
    pub(in crate::follow) session: String,
    pub(in crate::follow) events: Vec<ChatEvent>,
    pub(in crate::follow) is_end: bool,
    /// How far it is told then.
    pub(in crate::follow) told: Told,
}

/// What is to be told, by session.
pub(in crate::follow) type AllNews = BTreeMap<String, News>;

/// What is to be told of a session, to be added to.
pub(in crate::follow) fn news_of<'a>(news: &'a mut AllNews, session: &str) -> &'a mut News {
    news.entry(session.to_owned()).or_insert_with(|| News {
        session: session.to_owned(),
        events: Vec::new(),
        is_end: false,
        told: Told::default(),
    })
}
